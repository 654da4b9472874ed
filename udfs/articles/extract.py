"""From a page or a feed's entry to one article's fields, each with where it came from. A function of its input alone.

Which statement of a page is believed for which field stands in `statements.py`. A page that is no article is rejected
with a reason; whether the feed's entry then serves is decided in `parse.py`.
Everything here works on hostile input and may hang or crash inside native code: it runs in a killable child.
"""

from __future__ import annotations

import msgspec

from state_schemas.fetching import Entry, RawItem
from udfs.articles import authors, json_ld
from udfs.articles.body import body_text, is_bot_check, is_consent_notice
from udfs.articles.canonical import Canonical, TrackingParameters, canonical_url, clean, is_home_page
from udfs.articles.page import Page, decoded, read_page
from udfs.articles.statements import (
    authors_of,
    cleaned_keywords,
    dates_of,
    house_names,
    image_of,
    keywords_of,
    lede_of,
    ordered,
    reuse_of,
    section_of,
    shortened,
    stated_author,
    title_of,
    web_address,
)
from udfs.articles.text import clean_line, folded, text_of_html, without_publisher

# A page that does not call itself an article needs this much text to be taken for one, characters.
_MIN_UNDECLARED_CHARS = 200
# An entry's content is a body, not a longer summary, from this many characters on.
_MIN_ENTRY_BODY_CHARS = 400


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
    house = house_names(raw, page, node)
    sources: dict[str, str] = {"canonical_url": address.source}
    title = title_of(page, node, house, raw.entry, sources)
    if not title:
        return Rejection(reason="no_title", detail=address.url)
    text, sources["body"] = body_text(page, title, json_ld.string(node.get("articleBody")))
    wall = _wall(page, node, title, text, raw.entry)
    if wall:
        return Rejection(reason=wall, detail=f"{title[:200]} ({len(text)} characters)")
    language = page.language or json_ld.string(node.get("inLanguage")) or page.first("content-language", "og:locale")
    published, modified = dates_of(page, node, raw.entry, language, sources)
    noindex, max_snippet, max_image_preview = reuse_of(raw, page)
    return Extraction(
        canonical_url=address.url,
        title=title,
        lede=lede_of(page, node, title, text, raw.entry, sources),
        body=text,
        authors=authors_of(page, stated_author(node, nodes), house, raw.entry, sources),
        image=image_of(page, node, fetched, raw.entry, sources),
        section=section_of(page, node, sources),
        keywords=keywords_of(page, node, raw.entry, sources),
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
    lede = shortened(summary or content)
    if is_consent_notice(body):
        body = ""
    published, modified = ordered(entry.published_ms, entry.updated_ms)
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
        image=web_address(entry.image, raw.url),
        keywords=cleaned_keywords(entry.categories, "entry"),
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


def _entry_title(entry: Entry, name: str) -> str:
    return clean_line(without_publisher(clean_line(text_of_html(entry.title)), name, entry.source_name))
