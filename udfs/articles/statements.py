"""What a page states of its article, field by field: which statement is believed, and where it came from.

Each field has an order of trust (`overrides.ORDER`, a publisher's own where it has one). A function of its input alone.
`sources` (field -> json_ld, og, meta, microdata, page, entry) is filled as the fields are chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from state_schemas.fetching import Entry, RawItem
from udfs.articles import authors, json_ld
from udfs.articles.dates import most_exact
from udfs.articles.no_article import is_consent_notice
from udfs.articles.overrides import NONE, Override
from udfs.articles.page import Page
from udfs.articles.sentences import whole_sentences
from udfs.articles.text import MAX_LEDE_CHARS, MAX_TITLE_CHARS, clean_line, folded, text_of_html, without_publisher

_MAX_KEYWORDS = 20
_MINUTE_MS = 60_000
# Sources whose texts are HTML; what the page's own markup says was decoded when that was parsed: never again.
_ENCODED = frozenset(("json_ld", "entry"))

Candidates = dict[str, Iterable[str]]


@dataclass(frozen=True, slots=True)
class Statements:
    """All that a page and its feed's entry state. node, micro: the article's node in JSON-LD and in microdata.

    nodes: all of the page's JSON-LD. house: the publisher's names. sources: filled while fields are chosen.
    """

    page: Page
    node: json_ld.Node
    nodes: list[json_ld.Node]
    micro: json_ld.Node
    house: tuple[str, ...]
    entry: Entry | None = None
    override: Override = NONE
    sources: dict[str, str] = field(default_factory=dict)

    def ordered(self, name: str, candidates: Candidates) -> Iterator[tuple[str, str]]:
        """(text, source) of a field's non-empty candidates, in the order of trust."""
        for source in self.override.order(name):
            for text in candidates.get(source, ()):
                if text and text.strip():
                    yield text, source


def house_names(raw: RawItem, page: Page, node: json_ld.Node) -> tuple[str, ...]:
    """The names the publisher goes by: not part of a title, nobody's byline."""
    host = (urlsplit(raw.final_url or raw.url).hostname or "").removeprefix("www.")
    named = (raw.origin.name, page.first("og:site_name"), json_ld.string(node.get("publisher")), host)
    return tuple(name for name in named if name and not name.startswith("http"))


def title_of(stated: Statements) -> str:
    """The headline, without the publisher's name; empty where there is none.

    og:title is believed first, for it is what the house wants seen under the link, unless it was made for machines:
    with the site's name in it, or cut. Then the headline in JSON-LD and the page's own come before it.
    """
    page, node, micro = stated.page, stated.node, stated.micro
    candidates: Candidates = {
        "json_ld": [json_ld.string(node.get("headline")) or json_ld.string(node.get("name"))],
        "og": [page.first("og:title")],
        "microdata": [json_ld.string(micro.get("headline")) or json_ld.string(micro.get("name"))],
        "page": page.headings[:1],
        "meta": [page.first("twitter:title", "parsely-title", "dc.title", "dcterms.title"), page.title],
        "entry": [stated.entry.title if stated.entry else ""],
    }
    found: list[tuple[str, str]] = []
    doubtful: list[tuple[str, str]] = []
    for text, source in stated.ordered("title", candidates):
        line = _line(text, source)
        title = clean_line(_spaced(without_publisher(line, *stated.house)) if source == "page" else line)
        title = _without_site(clean_line(without_publisher(title, *stated.house)), stated.house)
        if not title or title in stated.house:
            continue
        made_over = source == "og" and "title" not in stated.override.orders and title != line
        (doubtful if made_over else found).append((title, source))
    if found and found[0][1] == "og" and "title" not in stated.override.orders:
        others = [title for title, source in found if source in ("json_ld", "page")]
        if any(_goes_on(found[0][0], other) for other in others):
            doubtful.append(found.pop(0))
    for title, source in (*found[:1], *doubtful):
        stated.sources["title"] = source
        return title
    return ""


_BEFORE_COLON = re.compile(r"(?<=\w) +:(?= )")
_TAIL = re.compile(r"\s+[|–—-]\s+(?P<tail>[^|–—]{2,40})$|\s*[：｜](?P<wide>[^：｜]{2,25})$")
_ADDED = re.compile(r"\s*[|｜：]|\s+[-–—]\s")
_QUOTES = frozenset("\"'")
_LONG_TITLE = 20


def _spaced(title: str) -> str:
    """A headline of two elements, the first of which ends in a colon, as one line. French keeps its space elsewhere."""
    return _BEFORE_COLON.sub(":", title)


def _without_site(title: str, house: tuple[str, ...]) -> str:
    """`title` without a last part that has the site's name in it ("... | CBC News", of CBC)."""
    match = _TAIL.search(title)
    if match is None or match.start() < _LONG_TITLE // 2:
        return title
    tail = f" {folded(match['tail'] or match['wide'])} "
    names = [folded(name) for name in house]
    if any(len(name) > 2 and (f" {name} " in tail or (match["wide"] and name in tail)) for name in names):
        return title[: match.start()].rstrip()
    return title


def _goes_on(title: str, other: str) -> bool:
    """Whether `title` is `other` with something added or broken off: a site's part, or all from a quotation mark on."""
    mine, its = folded(title), folded(other)
    if len(its) >= _LONG_TITLE and mine.startswith(its) and mine != its:
        return bool(_ADDED.match(mine[len(its) :]))
    return len(mine) >= _LONG_TITLE and its.startswith(mine) and its[len(mine) :].strip()[:1] in _QUOTES and mine != its


def _line(text: str, source: str, limit: int = MAX_TITLE_CHARS) -> str:
    """One line of a statement, decoded once."""
    return clean_line(text_of_html(text) if source in _ENCODED else text, limit)


def lede_of(stated: Statements, title: str, text: str) -> str:
    """The standfirst: the first statement that is not the title and asks for no consent; else the first paragraph."""
    page = stated.page
    candidates: Candidates = {
        "json_ld": [json_ld.string(stated.node.get("description"))],
        "og": [page.first("og:description")],
        "meta": [page.first("description"), page.first("twitter:description", "dc.description", "parsely-summary")],
        "microdata": [json_ld.string(stated.micro.get("description"))],
        "entry": [stated.entry.summary if stated.entry else ""],
        "page": [text.split("\n", 1)[0]],
    }
    for candidate, source in stated.ordered("lede", candidates):
        lede = shortened(_line(candidate, source, MAX_LEDE_CHARS))
        if lede and lede != title and not is_consent_notice(lede):
            stated.sources["lede"] = source
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


def _stated_author(stated: Statements) -> object:
    """The author in JSON-LD. Where a common CMS plug-in describes a page and a person, the person wrote the page."""
    if stated.node:
        return json_ld.resolved(stated.node.get("author") or stated.node.get("creator"), stated.nodes)
    return [entry for entry in stated.nodes if "Person" in json_ld.types(entry)]


def authors_of(stated: Statements, signs: Iterable[str] = ()) -> tuple[str, ...]:
    """The authors' names, from the first source that has any. signs: short lines around the text.

    The house itself is named only where nobody else is and it says so itself.
    """
    meta, house = stated.page.meta, stated.house
    author = _stated_author(stated)
    for source in stated.override.order("authors"):
        if source == "json_ld":
            found = authors.from_json_ld(author, house)
        elif source == "meta":
            found = next(filter(None, (authors.names(texts, house) for texts in _author_metas(meta))), ())
        elif source == "og":
            found = authors.names(meta.get("article:author", []) or meta.get("og:article:author", []), house)
        elif source == "microdata":
            found = authors.from_json_ld(stated.micro.get("author") or stated.micro.get("creator"), house)
        elif source == "page":
            found = authors.printed(stated.page.tree, house) or authors.signed(signs, house)
        else:
            found = authors.names(stated.entry.authors, house) if stated.entry else ()
        if found:
            stated.sources["authors"] = source
            return found
    if stated.override.order("authors") and (found := authors.house_as_author(author, house)):
        stated.sources["authors"] = "json_ld"
        return found
    return ()


_DIGIT = re.compile(r"\d")


def _author_metas(meta: dict[str, list[str]]) -> Iterator[list[str]]:
    yield meta.get("author", [])
    yield meta.get("parsely-author", []) or meta.get("dc.creator", []) or meta.get("dcterms.creator", [])
    yield meta.get("sailthru.author", []) or meta.get("cxenseparse:author", [])
    # A common plug-in's "Written by": the label is in the page's language, the other label's value has a digit.
    written = meta.get("twitter:data1", [""])[0]
    if meta.get("twitter:label1") and meta.get("twitter:label2") and not _DIGIT.search(written):
        yield [written]


def image_of(stated: Statements, base: str) -> str:
    """The lead image's http(s) address, or empty."""
    page = stated.page
    candidates: Candidates = {
        "og": [page.first("og:image:secure_url"), page.first("og:image"), page.first("og:image:url")],
        "json_ld": _images(stated.node),
        "meta": [page.first("twitter:image", "twitter:image:src", "parsely-image-url", "thumbnail")],
        "microdata": _images(stated.micro),
        "entry": [stated.entry.image if stated.entry else ""],
    }
    for candidate, source in stated.ordered("image", candidates):
        url = web_address(candidate, base)
        if url:
            stated.sources["image"] = source
            return url
    return ""


def _images(node: json_ld.Node) -> Iterator[str]:
    images = node.get("image") or node.get("thumbnailUrl")
    for image in images[:5] if isinstance(images, list) else [images]:
        if isinstance(image, dict):
            image = image.get("url") or image.get("contentUrl") or image.get("@id")
        yield json_ld.string(image)


def web_address(url: str, base: str) -> str:
    """An http(s) address, resolved; else empty: no data:, no javascript:."""
    url = clean_line(url, 2048)
    try:
        parts = urlsplit(urljoin(base, url) if url else "")
        # geturl: "HTTP://" is the same scheme, and who compares it later shall not have to know.
        return parts.geturl() if parts.scheme in ("http", "https") and parts.hostname else ""
    except ValueError:
        return ""


def section_of(stated: Statements) -> str:
    """The section as the publisher calls it, or empty."""
    page = stated.page
    candidates: Candidates = {
        "json_ld": json_ld.strings(stated.node.get("articleSection"))[:1],
        "og": [page.first("article:section", "og:article:section")],
        "meta": [page.first("section", "parsely-section", "cxenseparse:category", "sailthru.section", "dc.subject")],
        "microdata": [json_ld.string(stated.micro.get("articleSection"))],
    }
    for candidate, source in stated.ordered("section", candidates):
        section = _line(candidate, source, 100)
        if section:
            stated.sources["section"] = source
            return section
    return ""


def keywords_of(stated: Statements) -> tuple[str, ...]:
    """At most 20 keywords, from the first source that has any."""
    meta = stated.page.meta
    lists = {
        "json_ld": json_ld.strings(stated.node.get("keywords")),
        "og": meta.get("article:tag", []) or meta.get("og:article:tag", []),
        "meta": meta.get("news_keywords", []) or meta.get("keywords", []) or meta.get("parsely-tags", []),
        "microdata": json_ld.strings(stated.micro.get("keywords")),
        "entry": list(stated.entry.categories) if stated.entry else [],
    }
    for source in stated.override.order("keywords"):
        found = cleaned_keywords(lists[source], source)
        if found:
            stated.sources["keywords"] = source
            return found
    return ()


def cleaned_keywords(values: list[str] | tuple[str, ...], source: str) -> tuple[str, ...]:
    """Keywords cleaned, lists in one string taken apart, each once."""
    lines = (_line(value, source, 2_000) for value in values[:200])
    cleaned = (piece.strip()[:80] for line in lines for piece in re.split(r"[,;،、]", line))
    return tuple(dict.fromkeys(piece for piece in cleaned if piece))[:_MAX_KEYWORDS]


_PUBLISHED_METAS = (
    "article:published_time", "og:article:published_time", "og:published_time", "datepublished", "parsely-pub-date",
    "sailthru.date", "cxenseparse:recs:publishtime", "cxenseparse:publishtime", "article.published", "publish_date",
    "publication_date", "publishdate", "publish-date", "pubdate", "published_at", "bt:pubdate", "rnews:datepublished",
    "vr:published_time", "originalpublicationdate", "article_date_original", "dc.date.issued", "dcterms.issued",
    "dcterms.created", "dc.date.created", "dcterms.date", "dc.date", "date",
)  # fmt: skip
_MODIFIED_METAS = (
    "article:modified_time", "og:article:modified_time", "og:updated_time", "og:modified_time", "datemodified",
    "dcterms.modified", "dc.date.modified", "last-modified-date", "last-modified", "lastmod", "revision_date",
)  # fmt: skip


def dates_of(stated: Statements, language: str) -> tuple[int | None, int | None]:
    """(published, modified), ms UTC, None where unknown."""
    page, node, micro, order = stated.page, stated.node, stated.micro, stated.override.date_order
    published, source = most_exact(
        stated.ordered(
            "published",
            {
                "json_ld": [json_ld.string(node.get("datePublished")), json_ld.string(node.get("dateCreated"))],
                "meta": [page.first(name) for name in _PUBLISHED_METAS],
                "microdata": [json_ld.string(micro.get("datePublished")), json_ld.string(micro.get("dateCreated"))],
                "page": page.times[:1],
            },
        ),
        language,
        order,
    )
    if published is None and stated.entry and "entry" in stated.override.order("published"):
        published, source = stated.entry.published_ms, "entry"
    if published is not None:
        stated.sources["published_ms"] = source
    modified, source = most_exact(
        stated.ordered(
            "modified",
            {
                "json_ld": [json_ld.string(node.get("dateModified"))],
                "meta": [page.first(name) for name in _MODIFIED_METAS],
                "microdata": [json_ld.string(micro.get("dateModified"))],
            },
        ),
        language,
        order,
    )
    published, modified = ordered(published, modified)
    if modified is not None:
        stated.sources["modified_ms"] = source
    return published, modified


def ordered(published: int | None, modified: int | None) -> tuple[int | None, int | None]:
    """A modification before publication is none; nor is one within the same minute."""
    if modified is not None and published is not None and modified < published + _MINUTE_MS:
        modified = None
    return published, modified


_FREE_NODES = frozenset(("WebPage", "WebPageElement", "ItemPage"))
_LOCKED = frozenset(("locked", "metered", "paid", "premium", "subscriber"))


def paywalled(stated: Statements) -> bool:
    """Whether the publisher says that reading costs: of the article, of a part of it, or of the page."""
    parts = stated.node.get("hasPart")
    told = [stated.node, stated.micro, *(parts if isinstance(parts, list) else [parts])]
    told += [node for node in stated.nodes if _FREE_NODES & set(json_ld.types(node))]
    for node in told:
        if isinstance(node, dict) and "isAccessibleForFree" in node:
            value = node["isAccessibleForFree"]
            text = str(value[0] if isinstance(value, list) and value else value)
            if text.rsplit("/", 1)[-1].strip().lower() in ("false", "no", "0"):
                stated.sources["paywalled"] = "microdata" if node is stated.micro else "json_ld"
                return True
    if stated.page.first("article:content_tier", "og:article:content_tier").lower() in _LOCKED:
        stated.sources["paywalled"] = "og"
        return True
    return False
