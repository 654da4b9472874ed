"""From a page or a feed's entry to one article's fields, each with where it came from. A function of its input alone.

Which statement of a page is believed for which field stands in `statements.py`. A page that is no article is rejected
with a reason; whether the feed's entry then serves is decided in `parse.py`.
Everything here works on hostile input and may hang or crash inside native code: it runs in a killable child.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from state_schemas.articles import Correction, OutboundLink
from state_schemas.fetching import Entry, RawItem
from udfs.articles import authors, json_ld, microdata
from udfs.articles.body import body_text
from udfs.articles.canonical import TrackingParameters, clean, is_home_page
from udfs.articles.citations import credits_of, links, merged, stated_links
from udfs.articles.claims import Canonical, canonical_url, linked_canonical, stated_address
from udfs.articles.corrections import corrections_of
from udfs.articles.kinds import kinds_of
from udfs.articles.no_article import Candidate, is_consent_notice, no_article, of_the_article
from udfs.articles.overrides import Overrides
from udfs.articles.page import Page, decoded, read_page
from udfs.articles.reuse import may_quote, quotable, reuse_of
from udfs.articles.stated_entities import Mention, stated_mentions
from udfs.articles.statements import (
    Statements,
    authors_of,
    cleaned_keywords,
    dates_of,
    house_names,
    image_of,
    keywords_of,
    lede_of,
    ordered,
    paywalled,
    section_of,
    shortened,
    title_of,
    web_address,
)
from udfs.articles.text import clean_line, folded, text_of_html, without_publisher
from udfs.articles.traits import fragment_traits, read_traits

# An entry's content is a body, not a longer summary, from this many characters on.
_MIN_ENTRY_BODY_CHARS = 400
_NO_OVERRIDES = Overrides()


class Extraction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """The fields of one article as read. Instants: ms UTC, None where unknown.

    sources: field -> json_ld, og, meta, microdata, page, entry, canonical, fetched. types: schema.org types claimed.
    kinds: what else is said of the kind of piece (`kinds.py`).
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
    mentions: tuple[Mention, ...] = ()
    published_ms: int | None = None
    modified_ms: int | None = None
    language: str = ""
    types: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    paywalled: bool = False
    noindex: bool = False
    max_snippet: int | None = None
    max_image_preview: str = ""
    links: tuple[OutboundLink, ...] = ()
    credits: tuple[str, ...] = ()
    corrections: tuple[Correction, ...] = ()
    elsewhere: str = ""
    from_entry: bool = False
    rejected: str = ""
    sources: dict[str, str] = {}


class Rejection(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Why something is no article: a code, and what was seen."""

    reason: str
    detail: str = ""


def extract_page(
    raw: RawItem, body: bytes, tracking: TrackingParameters, overrides: Overrides = _NO_OVERRIDES
) -> Extraction | Rejection:
    """The article on a fetched page. body: as received, transfer encodings removed."""
    kind = raw.headers.get("content-type", raw.body.content_type if raw.body else "").split(";")[0].strip().lower()
    if kind and kind not in ("text/html", "application/xhtml+xml", "text/plain", "application/xml", "text/xml"):
        return Rejection(reason="not_html", detail=kind[:100])
    fetched = raw.final_url or raw.url
    source = decoded(body, raw.headers.get("content-type", ""))
    page = read_page(source)
    if page is None:
        return Rejection(reason="empty_page", detail=f"{len(body)} bytes")
    traits = read_traits(page.tree, source)
    nodes = json_ld.nodes(page.json_ld)
    node = json_ld.article_node(nodes) or {}
    address = _address(raw, page, node, tracking)
    if isinstance(address, Rejection):
        return address
    house = house_names(raw, page, node)
    sources: dict[str, str] = {"canonical_url": address.source, "canonical_refused": address.refused}
    override = overrides.of(urlsplit(fetched).hostname or "")
    micro = microdata.article_node(page.tree) if microdata.may_have(source) else {}
    stated = Statements(page, node, nodes, micro, house, raw.entry, override, sources)
    title = title_of(stated)
    found = body_text(page, title, json_ld.string(node.get("articleBody")), override)
    text, sources["body"] = found.text, found.source
    seen = Candidate(
        page=page,
        traits=traits,
        title=title,
        text=text,
        url=address.url,
        asked=raw.url,
        final=fetched,
        nodes=nodes,
        node=node,
        house=house,
        announced=_announced(raw, title, sources),
    )
    if reason := no_article(seen):
        return Rejection(reason=reason, detail=f"{title[:200] or address.url} ({len(text)} characters)")
    text = of_the_article(text)
    sources["body"] = sources["body"] if text else ""
    language = page.language or json_ld.string(node.get("inLanguage")) or page.first("content-language", "og:locale")
    published, modified = dates_of(stated, language)
    reuse = reuse_of(
        page.meta,
        raw.headers.get("x-robots-tag", ""),
        raw.fetched_ms,
        noindex=raw.origin.noindex,
        max_snippet=raw.origin.max_snippet,
    )
    lede = lede_of(stated, title, quotable(text, traits.parts))
    if not may_quote(lede, traits.parts):
        lede, sources["lede"] = shortened(quotable(text, traits.parts).split("\n", 1)[0]), "page"

    def cleaned(url: str) -> str | None:
        return clean(url, tracking)

    return Extraction(
        canonical_url=address.url,
        title=title,
        lede=lede,
        body=text,
        authors=authors_of(stated, found.signs),
        image=image_of(stated, fetched),
        section=section_of(stated),
        keywords=keywords_of(stated),
        mentions=stated_mentions(node),
        published_ms=published,
        modified_ms=modified,
        language=language[:35],
        types=_types(node, micro, nodes),
        kinds=kinds_of(stated),
        paywalled=paywalled(stated),
        noindex=reuse.noindex,
        max_snippet=reuse.max_snippet,
        max_image_preview=reuse.max_image_preview,
        links=merged(
            links(traits.sentence_links, text, page.base or fetched, address.url, cleaned),
            stated_links(node, address.url, cleaned),
        ),
        credits=credits_of(node, text, house),
        corrections=corrections_of(node, nodes, traits.notices, text, language),
        elsewhere=address.elsewhere,
        sources={name: source for name, source in sources.items() if source},
    )


def extract_entry(raw: RawItem, tracking: TrackingParameters, rejected: str = "") -> Extraction | Rejection:
    """The article that the feed's own entry tells of. rejected: why its page was not used."""
    entry = raw.entry
    title = _entry_title(entry, raw.origin.name) if entry else ""
    link = (entry.link if entry else "") or raw.url
    address = clean(link, tracking, forms=False) or clean(raw.url, tracking, forms=False)
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
    links_there = fragment_traits(entry.content or entry.summary).sentence_links if body else ()
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
        kinds=tuple(f"genre:{word}" for word in cleaned_keywords(entry.categories, "entry")[:8]),
        links=links(links_there, body, address, address, lambda url: clean(url, tracking)),
        credits=credits_of({}, body, (raw.origin.name,)),
        corrections=corrections_of({}, (), (), body, entry.language),
        from_entry=True,
        rejected=rejected,
        sources={"canonical_url": "entry"} | {name: "entry" for name, value in filled.items() if value},
    )


def _address(raw: RawItem, page: Page, node: json_ld.Node, tracking: TrackingParameters) -> Canonical | Rejection:
    fetched = raw.final_url or raw.url
    address = canonical_url(
        fetched,
        tracking,
        canonical=page.canonicals or linked_canonical(raw.headers.get("link", "")),
        og=page.first("og:url"),
        base=page.base,
        main=stated_address(node),
        asked=raw.url,
        title=page.title,
    )
    if address is None:
        return Rejection(reason="url_invalid", detail=fetched[:500])
    asked = clean(raw.url, tracking)
    if is_home_page(address.url) and asked is not None and not is_home_page(asked):
        # A publisher that sends a missing article's readers to its front page.
        return Rejection(reason="redirected_to_home", detail=address.url)
    return address


def _types(node: json_ld.Node, micro: json_ld.Node, nodes: list[json_ld.Node]) -> tuple[str, ...]:
    """The article's types; where no node is an article's, all that the page names."""
    told = [node] if node else [micro] if micro else nodes
    return tuple(dict.fromkeys(kind for one in told for kind in json_ld.types(one)))[:8]


def _announced(raw: RawItem, title: str, sources: dict[str, str]) -> bool | None:
    """Whether the feed's entry has the page's own title; None where there is no entry."""
    if raw.entry is None:
        return None
    return sources.get("title") != "entry" and folded(_entry_title(raw.entry, raw.origin.name)) == folded(title)


def _entry_title(entry: Entry, name: str) -> str:
    return clean_line(without_publisher(clean_line(text_of_html(entry.title)), name, entry.source_name))
