"""What a page says of the kind of piece it is and of where on the site it stands, gathered raw; `labels.py` reads it.

Sections and breadcrumbs beside the first section, genres, schema.org types of the page's other nodes, flags in metas.
A function of its input alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from udfs.articles import json_ld
from udfs.articles.statements import Statements
from udfs.articles.text import clean_line, folded, text_of_html

_MOST = 24
# A section's name is no longer; what is, is a headline.
_NAME_CHARS = 40
# Types that say what the page's piece is, though another node describes the article.
_TYPES = frozenset(("ClaimReview", "LiveBlogPosting", "OpinionNewsArticle", "AdvertiserContentArticle"))
_SECTIONS = ("article:section", "og:article:section", "section", "parsely-section", "cxenseparse:category")
_GENRES = ("genre", "article:type", "article_type", "articletype", "article-type", "content-type-label", "contenttype",
           "content_type", "page-type", "pagetype", "cxenseparse:articletype", "dc.type", "dcterms.type")  # fmt: skip
_FLAGS = {
    "opinion": ("article:opinion", "og:article:opinion"),
    "sponsored": ("article:sponsored", "og:article:sponsored", "sponsored", "is_sponsored", "is-sponsored"),
}
_TRUE = frozenset(("true", "1", "yes"))


def kinds_of(stated: Statements) -> tuple[str, ...]:
    """At most 24 of "type:...", "section:...", "crumb:...", "genre:...", "flag:...", each once."""
    return tuple(dict.fromkeys(_kinds(stated)))[:_MOST]


def sections_of(section: str, kinds: Iterable[str]) -> str:
    """All sections and breadcrumbs that are stated, the first first, " / " between."""
    named = (kind.partition(":")[2] for kind in kinds if kind.startswith(("section:", "crumb:")))
    return " / ".join(dict.fromkeys(filter(None, (section, *named))))


def _kinds(stated: Statements) -> Iterator[str]:
    meta = stated.page.meta
    for label, names in _FLAGS.items():
        if any(value.strip().lower() in _TRUE for name in names for value in meta.get(name, ())):
            yield f"flag:{label}"
    if stated.page.first("og:type").lower().startswith("video"):
        yield "flag:video"
    for node in stated.nodes:
        yield from (f"type:{kind}" for kind in json_ld.types(node) if kind in _TYPES)
    for node in (stated.node, stated.micro):
        yield from _named("section", json_ld.strings(node.get("articleSection"))[:6])
        yield from _named("genre", json_ld.strings(node.get("genre"))[:4])
        yield from _named("genre", json_ld.strings(node.get("additionalType"))[:2])
    yield from _named("section", [value for name in _SECTIONS for value in meta.get(name, ())][:6])
    yield from _named("genre", [value for name in _GENRES for value in meta.get(name, ())][:6])
    yield from _named("crumb", _crumbs(stated))


def _named(what: str, values: Iterable[str]) -> Iterator[str]:
    for value in values:
        name = clean_line(text_of_html(value), 100)
        if name and len(name) <= _NAME_CHARS:
            yield f"{what}:{name}"


def _crumbs(stated: Statements) -> Iterator[str]:
    """The way to the article from below the home page to above itself."""
    crumbs = next((node for node in stated.nodes if "BreadcrumbList" in json_ld.types(node)), {})
    items = crumbs.get("itemListElement")
    own = folded(json_ld.string(stated.node.get("headline")))
    house = {folded(name) for name in stated.house}
    for entry in items[:6] if isinstance(items, list) else ():
        if not isinstance(entry, dict):
            continue
        item = entry.get("item")
        named = item if isinstance(item, dict) else {}
        name = json_ld.string(entry.get("name")) or json_ld.string(named.get("name"))
        address = item if isinstance(item, str) else json_ld.string(named.get("@id") or named.get("url"))
        if not name or folded(name) in house or folded(name) == own or _is_home(address):
            continue
        yield name


def _is_home(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return bool(parts.hostname) and not parts.path.strip("/")
