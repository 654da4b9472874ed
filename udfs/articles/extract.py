"""From a page or a feed's entry to one article's fields, each with where it came from. A function of its input alone.

Order of trust, field by field: JSON-LD, OpenGraph and meta, the page's own markup and text, the feed's entry. A page
that is no article is rejected with a reason; whether the feed's entry then serves is decided in `parse.py`.
Everything here works on hostile input and may hang or crash inside native code: it runs in a killable child.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

import msgspec

from state_schemas.fetching import Entry, RawItem
from udfs.articles import authors, json_ld
from udfs.articles.body import body_text, is_bot_check, is_consent_notice
from udfs.articles.canonical import Canonical, TrackingParameters, canonical_url, clean, is_home_page
from udfs.articles.dates import instant_ms
from udfs.articles.page import Page, decoded, read_page
from udfs.articles.text import MAX_LEDE_CHARS, clean_line, folded, text_of_html, without_publisher

# A page that does not call itself an article needs this much text to be taken for one, characters.
_MIN_UNDECLARED_CHARS = 200
# An entry's content is a body, not a longer summary, from this many characters on.
_MIN_ENTRY_BODY_CHARS = 400
_MAX_KEYWORDS = 20
_MINUTE_MS = 60_000
_ROBOTS_AGENTS = ("robots", "googlebot", "googlebot-news", "broadsheet")


class Extraction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """The fields of one article as read. Instants: ms UTC, None where unknown.

    sources: field -> json_ld, og, meta, page, entry, canonical, fetched. types: schema.org types the page claims.
    language: as the page declares it. elsewhere: a canonical of another site that was not believed. rejected: why the
    page itself was not used, where the entry stands in for it.
    """

    canonical_url: str
    title: str
    lede: str = ""
    body: str = ""
    authors: tuple[str, ...] = ()
    image: str = ""
    section: str = ""
    keywords: tuple[str, ...] = ()
    published_ms: int | None = None
    modified_ms: int | None = None
    language: str = ""
    types: tuple[str, ...] = ()
    paywalled: bool = False
    noindex: bool = False
    max_snippet: int | None = None
    max_image_preview: str = ""
    elsewhere: str = ""
    from_entry: bool = False
    rejected: str = ""
    sources: dict[str, str] = {}


class Rejection(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Why something is no article: a code, and what was seen."""

    reason: str
    detail: str = ""


def extract_page(raw: RawItem, body: bytes, tracking: TrackingParameters) -> Extraction | Rejection:
    """The article on a fetched page. body: as received, transfer encodings removed."""
    kind = raw.headers.get("content-type", raw.body.content_type if raw.body else "").split(";")[0].strip().lower()
    if kind and kind not in ("text/html", "application/xhtml+xml", "text/plain", "application/xml", "text/xml"):
        return Rejection(reason="not_html", detail=kind[:100])
    fetched = raw.final_url or raw.url
    page = read_page(decoded(body, raw.headers.get("content-type", "")))
    if page is None:
        return Rejection(reason="empty_page", detail=f"{len(body)} bytes")
    address = _address(raw, page, tracking)
    if isinstance(address, Rejection):
        return address
    nodes = json_ld.nodes(page.json_ld)
    node = json_ld.article_node(nodes) or {}
    house = _house(raw, page, node)
    sources: dict[str, str] = {"canonical_url": address.source}
    title = _title(page, node, house, raw.entry, sources)
    if not title:
        return Rejection(reason="no_title", detail=address.url)
    text, sources["body"] = body_text(page, title, json_ld.string(node.get("articleBody")))
    wall = _wall(page, node, title, text, raw.entry)
    if wall:
        return Rejection(reason=wall, detail=f"{title[:200]} ({len(text)} characters)")
    language = page.language or json_ld.string(node.get("inLanguage")) or page.first("content-language", "og:locale")
    published, modified = _dates(page, node, raw.entry, language, sources)
    noindex, max_snippet, max_image_preview = _reuse(raw, page)
    return Extraction(
        canonical_url=address.url,
        title=title,
        lede=_lede(page, node, title, text, raw.entry, sources),
        body=text,
        authors=_authors(page, _stated_author(node, nodes), house, raw.entry, sources),
        image=_image(page, node, fetched, raw.entry, sources),
        section=_section(page, node, sources),
        keywords=_keywords(page, node, raw.entry, sources),
        published_ms=published,
        modified_ms=modified,
        language=language[:35],
        types=tuple(dict.fromkeys(kind for found in ([node] if node else nodes) for kind in json_ld.types(found)))[:8],
        paywalled=str(node.get("isAccessibleForFree", "")).lower() == "false",
        noindex=noindex,
        max_snippet=max_snippet,
        max_image_preview=max_image_preview,
        elsewhere=address.elsewhere,
        sources={name: source for name, source in sources.items() if source},
    )


def extract_entry(raw: RawItem, tracking: TrackingParameters, rejected: str = "") -> Extraction | Rejection:
    """The article that the feed's own entry tells of. rejected: why its page was not used."""
    entry = raw.entry
    title = _entry_title(entry, raw.origin.name) if entry else ""
    address = clean((entry.link if entry else "") or raw.url, tracking) or clean(raw.url, tracking)
    if entry is None or not title or address is None:
        return Rejection(reason="no_article", detail=rejected or "the feed's entry has no title or link")
    summary = text_of_html(entry.summary)
    content = text_of_html(entry.content)
    if len(content) < _MIN_ENTRY_BODY_CHARS and len(summary) >= _MIN_ENTRY_BODY_CHARS:
        summary, content = content, summary
    body = content if len(content) >= _MIN_ENTRY_BODY_CHARS else ""
    lede = _shortened(summary or content)
    if is_consent_notice(body):
        body = ""
    published, modified = _ordered(entry.published_ms, entry.updated_ms)
    filled: dict[str, object] = {
        "title": title, "lede": lede, "body": body, "authors": entry.authors, "image": entry.image,
        "keywords": entry.categories, "published_ms": published, "modified_ms": modified,
    }  # fmt: skip
    return Extraction(
        canonical_url=address,
        title=title,
        lede="" if lede == title else lede,
        body=body,
        authors=authors.names(entry.authors, (raw.origin.name,)),
        image=_http(entry.image, raw.url),
        keywords=_cleaned_keywords(entry.categories),
        published_ms=published,
        modified_ms=modified,
        language=entry.language[:35],
        from_entry=True,
        rejected=rejected,
        sources={"canonical_url": "entry"} | {name: "entry" for name, value in filled.items() if value},
    )


def _address(raw: RawItem, page: Page, tracking: TrackingParameters) -> Canonical | Rejection:
    fetched = raw.final_url or raw.url
    address = canonical_url(fetched, tracking, canonical=page.canonical, og=page.first("og:url"), base=page.base)
    if address is None:
        return Rejection(reason="url_invalid", detail=fetched[:500])
    asked = clean(raw.url, tracking)
    if is_home_page(address.url) and asked is not None and not is_home_page(asked):
        # A publisher that sends a missing article's readers to its front page.
        return Rejection(reason="redirected_to_home", detail=address.url)
    return address


def _house(raw: RawItem, page: Page, node: json_ld.Node) -> tuple[str, ...]:
    """The names the publisher goes by: not part of a title, nobody's byline."""
    host = (urlsplit(raw.final_url or raw.url).hostname or "").removeprefix("www.")
    named = (raw.origin.name, page.first("og:site_name"), json_ld.string(node.get("publisher")), host)
    return tuple(name for name in named if name and not name.startswith("http"))


def _title(page: Page, node: json_ld.Node, house: tuple[str, ...], entry: Entry | None, sources: dict[str, str]) -> str:
    candidates = [
        (json_ld.string(node.get("headline")) or json_ld.string(node.get("name")), "json_ld"),
        (page.first("og:title"), "og"),
        *((heading, "page") for heading in page.headings[:1]),
        (page.first("twitter:title", "parsely-title", "dc.title"), "meta"),
        (page.title, "page"),
        (entry.title if entry else "", "entry"),
    ]
    for text, source in candidates:
        title = clean_line(without_publisher(clean_line(text_of_html(text)), *house))
        if title and title not in house:
            sources["title"] = source
            return title
    return ""


def _entry_title(entry: Entry, name: str) -> str:
    return clean_line(without_publisher(clean_line(text_of_html(entry.title)), name, entry.source_name))


def _wall(page: Page, node: json_ld.Node, title: str, text: str, entry: Entry | None) -> str:
    """The reason why the page is no article, or empty."""
    if is_bot_check(title, text):
        return "bot_check"
    declared = bool(node) or page.first("og:type").lower() in ("article", "news", "newsarticle", "video.other")
    if not text and page.consent_removed and not node:
        return "consent_wall"
    if text and is_consent_notice(text):
        return "consent_wall"
    if not declared and len(text) < _MIN_UNDECLARED_CHARS and not page.first("article:published_time"):
        # Short notes exist; so do "page not found" pages, whose heading is not what the feed announced.
        announced = entry is None or folded(entry.title) == folded(title)
        return "" if page.headings and len(text) > 10 and announced else "no_article"
    if not text and not page.first("og:description", "description") and not json_ld.string(node.get("description")):
        return "consent_wall" if page.consent_removed else "no_article"
    return ""


def _lede(page: Page, node: json_ld.Node, title: str, text: str, entry: Entry | None, sources: dict[str, str]) -> str:
    for candidate, source in (
        (json_ld.string(node.get("description")), "json_ld"),
        (page.first("og:description"), "og"),
        (page.first("description", "twitter:description"), "meta"),
        (entry.summary if entry else "", "entry"),
        (text.split("\n", 1)[0], "page"),
    ):
        lede = _shortened(text_of_html(candidate)) if source != "page" else _shortened(candidate)
        if lede and lede != title and not is_consent_notice(lede):
            sources["lede"] = source
            return lede
    return ""


_SENTENCE_END = re.compile(r"[.!?…。！？؟।]+[\"'»”’)\]]*(?=\s|$)|[。！？]")


def _shortened(text: str, limit: int = 600) -> str:
    """The first sentences that fit, on one line; a single longer one is cut at a word."""
    line = clean_line(text, MAX_LEDE_CHARS)
    if len(line) <= limit:
        return line
    ends = [match.end() for match in _SENTENCE_END.finditer(line, 0, limit)]
    if ends:
        return line[: ends[-1]].rstrip()
    return line[:limit].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _stated_author(node: json_ld.Node, nodes: list[json_ld.Node]) -> object:
    """The author in JSON-LD. Where a common CMS plug-in describes a page and a person, the person wrote the page."""
    if node:
        return json_ld.resolved(node.get("author") or node.get("creator"), nodes)
    return [entry for entry in nodes if "Person" in json_ld.types(entry)]


def _authors(
    page: Page, stated: object, house: tuple[str, ...], entry: Entry | None, sources: dict[str, str]
) -> tuple[str, ...]:
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


def _image(page: Page, node: json_ld.Node, base: str, entry: Entry | None, sources: dict[str, str]) -> str:
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
        url = _http(candidate, base)
        if url:
            sources["image"] = source
            return url
    return ""


def _http(url: str, base: str) -> str:
    """An http(s) address, resolved; else empty: no data:, no javascript:."""
    url = clean_line(url, 2048)
    try:
        joined = urljoin(base, url) if url else ""
        return joined if urlsplit(joined).scheme in ("http", "https") and urlsplit(joined).hostname else ""
    except ValueError:
        return ""


def _section(page: Page, node: json_ld.Node, sources: dict[str, str]) -> str:
    for candidate, source in (
        (json_ld.string(node.get("articleSection")), "json_ld"),
        (page.first("article:section"), "og"),
        (page.first("section", "parsely-section", "cxenseparse:category", "dc.subject"), "meta"),
    ):
        section = clean_line(text_of_html(candidate), 100)
        if section:
            sources["section"] = source
            return section
    return ""


def _keywords(page: Page, node: json_ld.Node, entry: Entry | None, sources: dict[str, str]) -> tuple[str, ...]:
    for values, source in (
        (json_ld.strings(node.get("keywords")), "json_ld"),
        (page.meta.get("article:tag", []), "og"),
        (page.meta.get("news_keywords", []) or page.meta.get("keywords", []), "meta"),
        (list(entry.categories) if entry else [], "entry"),
    ):
        found = _cleaned_keywords(values)
        if found:
            sources["keywords"] = source
            return found
    return ()


def _cleaned_keywords(values: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    pieces = [piece for value in values for piece in re.split(r"[,;،、]", value[:2_000])]
    cleaned = (clean_line(text_of_html(piece), 80) for piece in pieces[:200])
    return tuple(dict.fromkeys(piece for piece in cleaned if piece))[:_MAX_KEYWORDS]


_PUBLISHED_METAS = (
    "article:published_time", "og:published_time", "datepublished", "parsely-pub-date", "sailthru.date", "date",
    "pubdate", "publishdate", "publish-date", "publication_date", "dc.date.issued", "dcterms.created", "dc.date",
    "cxenseparse:recs:publishtime", "last-modified-date", "article.published",
)  # fmt: skip
_MODIFIED_METAS = ("article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified")


def _dates(
    page: Page, node: json_ld.Node, entry: Entry | None, language: str, sources: dict[str, str]
) -> tuple[int | None, int | None]:
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
    return _ordered(published, modified)


def _ordered(published: int | None, modified: int | None) -> tuple[int | None, int | None]:
    """A modification before publication is none; nor is one within the same minute."""
    if modified is not None and published is not None and modified < published + _MINUTE_MS:
        modified = None
    return published, modified


_MAX_SNIPPET = re.compile(r"max-snippet\s*:\s*(-?\d{1,6})", re.IGNORECASE)
_NOINDEX = re.compile(r"(?:^|[\s,:])(?:noindex|none)(?:$|[\s,])")
_MAX_IMAGE = re.compile(r"max-image-preview\s*:\s*(none|standard|large)", re.IGNORECASE)


def _reuse(raw: RawItem, page: Page) -> tuple[bool, int | None, str]:
    """What robots metas, the X-Robots-Tag header and the source's own record allow, the strictest of all."""
    rules = [content for agent in _ROBOTS_AGENTS for content in page.meta.get(agent, [])]
    rules.append(raw.headers.get("x-robots-tag", ""))
    text = ",".join(rules).lower()
    snippets = [int(match[1]) for match in _MAX_SNIPPET.finditer(text) if int(match[1]) >= 0]
    if raw.origin.max_snippet is not None:
        snippets.append(raw.origin.max_snippet)
    if "nosnippet" in text:
        snippets.append(0)
    images = _MAX_IMAGE.findall(text)
    image = min(images, key=("none", "standard", "large").index) if images else ""
    plain = text.replace("max-image-preview:none", "")
    noindex = raw.origin.noindex or bool(_NOINDEX.search(plain))
    return noindex, min(snippets) if snippets else None, image
