"""What a page states of its article, field by field, in a fixed order of trust; each choice says where it came from.

Order: JSON-LD, OpenGraph and meta, the page's own markup and text, the feed's entry. A function of its input alone.
`sources` (field -> json_ld, og, meta, page, entry) is filled as the fields are chosen.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

from state_schemas.fetching import Entry, RawItem
from udfs.articles import authors, json_ld
from udfs.articles.dates import instant_ms
from udfs.articles.no_article import is_consent_notice
from udfs.articles.page import Page
from udfs.articles.sentences import whole_sentences
from udfs.articles.text import MAX_LEDE_CHARS, MAX_TITLE_CHARS, clean_line, text_of_html, without_publisher

_MAX_KEYWORDS = 20
_MINUTE_MS = 60_000


def house_names(raw: RawItem, page: Page, node: json_ld.Node) -> tuple[str, ...]:
    """The names the publisher goes by: not part of a title, nobody's byline."""
    host = (urlsplit(raw.final_url or raw.url).hostname or "").removeprefix("www.")
    named = (raw.origin.name, page.first("og:site_name"), json_ld.string(node.get("publisher")), host)
    return tuple(name for name in named if name and not name.startswith("http"))


def title_of(
    page: Page, node: json_ld.Node, house: tuple[str, ...], entry: Entry | None, sources: dict[str, str]
) -> str:
    """The headline, without the publisher's name; empty where there is none."""
    candidates = [
        (json_ld.string(node.get("headline")) or json_ld.string(node.get("name")), "json_ld"),
        (page.first("og:title"), "og"),
        *((heading, "page") for heading in page.headings[:1]),
        (page.first("twitter:title", "parsely-title", "dc.title"), "meta"),
        (page.title, "page"),
        (entry.title if entry else "", "entry"),
    ]
    for text, source in candidates:
        title = clean_line(without_publisher(_line(text, source), *house))
        if title and title not in house:
            sources["title"] = source
            return title
    return ""


def _line(text: str, source: str, limit: int = MAX_TITLE_CHARS) -> str:
    """One line of a statement. What the page's own markup says was decoded when that was parsed: never again."""
    return clean_line(text_of_html(text) if source in ("json_ld", "entry") else text, limit)


def lede_of(page: Page, node: json_ld.Node, title: str, text: str, entry: Entry | None, sources: dict[str, str]) -> str:
    """The standfirst: the first statement that is not the title and asks for no consent; else the first paragraph."""
    for candidate, source in (
        (json_ld.string(node.get("description")), "json_ld"),
        (page.first("og:description"), "og"),
        (page.first("description", "twitter:description"), "meta"),
        (entry.summary if entry else "", "entry"),
        (text.split("\n", 1)[0], "page"),
    ):
        lede = shortened(_line(candidate, source, MAX_LEDE_CHARS))
        if lede and lede != title and not is_consent_notice(lede):
            sources["lede"] = source
            return lede
    return ""


def shortened(text: str, limit: int = 600) -> str:
    """The first sentences that fit, on one line; a single longer one is cut at a word."""
    line = clean_line(text, MAX_LEDE_CHARS)
    if len(line) <= limit:
        return line
    if whole := whole_sentences(line, limit):
        return whole
    return line[:limit].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def stated_author(node: json_ld.Node, nodes: list[json_ld.Node]) -> object:
    """The author in JSON-LD. Where a common CMS plug-in describes a page and a person, the person wrote the page."""
    if node:
        return json_ld.resolved(node.get("author") or node.get("creator"), nodes)
    return [entry for entry in nodes if "Person" in json_ld.types(entry)]


def authors_of(
    page: Page, stated: object, house: tuple[str, ...], entry: Entry | None, sources: dict[str, str]
) -> tuple[str, ...]:
    """The authors' names, from the first source that has any."""
    for found, source in (
        (authors.from_json_ld(stated, house), "json_ld"),
        (authors.names(page.meta.get("author", []), house), "meta"),
        (authors.names(page.meta.get("article:author", []), house), "og"),
        (authors.names(page.meta.get("parsely-author", []) or page.meta.get("dc.creator", []), house), "meta"),
        (authors.names(entry.authors, house) if entry else (), "entry"),
    ):
        if found:
            sources["authors"] = source
            return found
    return ()


def image_of(page: Page, node: json_ld.Node, base: str, entry: Entry | None, sources: dict[str, str]) -> str:
    """The lead image's http(s) address, or empty."""
    image = node.get("image")
    if isinstance(image, list):
        image = image[0] if image else ""
    if isinstance(image, dict):
        image = image.get("url") or image.get("contentUrl") or image.get("@id")
    for candidate, source in (
        (page.first("og:image:secure_url", "og:image", "og:image:url"), "og"),
        (json_ld.string(image), "json_ld"),
        (page.first("twitter:image", "twitter:image:src"), "meta"),
        (entry.image if entry else "", "entry"),
    ):
        url = web_address(candidate, base)
        if url:
            sources["image"] = source
            return url
    return ""


def web_address(url: str, base: str) -> str:
    """An http(s) address, resolved; else empty: no data:, no javascript:."""
    url = clean_line(url, 2048)
    try:
        parts = urlsplit(urljoin(base, url) if url else "")
        # geturl: "HTTP://" is the same scheme, and who compares it later shall not have to know.
        return parts.geturl() if parts.scheme in ("http", "https") and parts.hostname else ""
    except ValueError:
        return ""


def section_of(page: Page, node: json_ld.Node, sources: dict[str, str]) -> str:
    """The section as the publisher calls it, or empty."""
    for candidate, source in (
        (json_ld.string(node.get("articleSection")), "json_ld"),
        (page.first("article:section"), "og"),
        (page.first("section", "parsely-section", "cxenseparse:category", "dc.subject"), "meta"),
    ):
        section = _line(candidate, source, 100)
        if section:
            sources["section"] = source
            return section
    return ""


def keywords_of(page: Page, node: json_ld.Node, entry: Entry | None, sources: dict[str, str]) -> tuple[str, ...]:
    """At most 20 keywords, from the first source that has any."""
    for values, source in (
        (json_ld.strings(node.get("keywords")), "json_ld"),
        (page.meta.get("article:tag", []), "og"),
        (page.meta.get("news_keywords", []) or page.meta.get("keywords", []), "meta"),
        (list(entry.categories) if entry else [], "entry"),
    ):
        found = cleaned_keywords(values, source)
        if found:
            sources["keywords"] = source
            return found
    return ()


def cleaned_keywords(values: list[str] | tuple[str, ...], source: str) -> tuple[str, ...]:
    """Keywords cleaned, lists in one string taken apart, each once."""
    lines = (_line(value, source, 2_000) for value in values[:200])
    cleaned = (piece.strip()[:80] for line in lines for piece in re.split(r"[,;،、]", line))
    return tuple(dict.fromkeys(piece for piece in cleaned if piece))[:_MAX_KEYWORDS]


_PUBLISHED_METAS = (
    "article:published_time", "og:published_time", "datepublished", "parsely-pub-date", "sailthru.date", "date",
    "pubdate", "publishdate", "publish-date", "publication_date", "dc.date.issued", "dcterms.created", "dc.date",
    "cxenseparse:recs:publishtime", "last-modified-date", "article.published",
)  # fmt: skip
_MODIFIED_METAS = ("article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified")


def dates_of(
    page: Page, node: json_ld.Node, entry: Entry | None, language: str, sources: dict[str, str]
) -> tuple[int | None, int | None]:
    """(published, modified), ms UTC, None where unknown."""
    published = modified = None
    for text, source in (
        (json_ld.string(node.get("datePublished")), "json_ld"),
        *((page.first(name), "meta") for name in _PUBLISHED_METAS),
        (json_ld.string(node.get("dateCreated")), "json_ld"),
        *((time, "page") for time in page.times[:1]),
    ):
        published = instant_ms(text, language)
        if published is not None:
            sources["published_ms"] = source
            break
    for text in (json_ld.string(node.get("dateModified")), *(page.first(name) for name in _MODIFIED_METAS)):
        modified = instant_ms(text, language)
        if modified is not None:
            break
    if published is None and entry and entry.published_ms is not None:
        published, sources["published_ms"] = entry.published_ms, "entry"
    return ordered(published, modified)


def ordered(published: int | None, modified: int | None) -> tuple[int | None, int | None]:
    """A modification before publication is none; nor is one within the same minute."""
    if modified is not None and published is not None and modified < published + _MINUTE_MS:
        modified = None
    return published, modified
