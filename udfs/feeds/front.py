"""A section front, an HTML page whose links to the site's own articles are its entries. No network, no script is run.

Which address may be an article's says article_addresses.py; here stands which of a page's links are looked at, and what
each is called. An entry has a link and a title; everything else is on the article's own page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlsplit

import idna
from lxml import etree, html

from state_schemas.fetching import Entry
from state_schemas.ids import hash64_hex
from udfs.articles.canonical import site
from udfs.feeds.article_addresses import Likeness, likeness, word_count
from udfs.feeds.decoding import decode
from udfs.feeds.document import FeedError, ParsedFeed, ReaderPolicy
from udfs.feeds.identity import page_address
from udfs.feeds.markup import Element
from udfs.feeds.texts import absolute, clip, collapse

# Links looked at, in document order: the fullest fronts have some 1,500. Each takes some 0.2 ms.
_LINKS = 3_000
# Elements looked through for one link's title, and elements around it for what it is part of: no page needs as many.
_INSIDE = 200
_AROUND = 60
# Longer text is a whole teaser and not its headline, characters.
_TEASER = 250
# A link whose address is only likely an article's must read like a headline.
_HEADLINE_WORDS = 4
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
# What stands in a line with its neighbours; around anything else there is white space.
_INLINE = frozenset(
    ("a", "abbr", "b", "bdi", "cite", "em", "font", "i", "mark", "q", "s", "small", "strong", "sub", "sup", "u", "wbr")
)
# Around links that lead through the site rather than to its news.
_FRAMES = frozenset(("nav", "footer", "aside"))
_FRAME_ROLES = frozenset(("navigation", "contentinfo", "complementary", "search", "menu", "menubar"))
_TITLE_CLASS = re.compile(
    r"(?:^|[-_ ])(?:head(?:line|ing)|title|titre|titulo|hed)(?:$|[-_ ])|(?<=[a-z])(?:Title|Headline)"
)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
# Parameters that say where a link was clicked: beginnings, lower case.
_CLICKED = (
    "utm_", "at_", "ns_", "itm_", "wt_", "_ga", "cmp", "icid", "intcid", "intcmp", "pos", "ref", "source", "src",
    "tracking", "xtor", "link_location",
)  # fmt: skip


@dataclass(slots=True)
class _Page:
    """A page that is linked, and the best name any of its links gave it. rank: how far the name may be trusted."""

    link: str
    like: Likeness
    title: str = ""
    rank: int = -1


def read(body: bytes, url: str, content_type: str, policy: ReaderPolicy) -> ParsedFeed:
    """The articles that the page at `url` links to, in document order, each once, with their identities.

    Raises FeedError: `feed_empty`, `feed_unparsable`, `front_without_articles` (a login, a portal, a shell that fills
    itself by script).
    """
    root = _tree(body, content_type)
    title = clip(collapse(root.findtext(".//title") or ""), policy.max_title)
    pages, links = _pages(root, url)
    articles = [
        (key, page)
        for key, page in pages.items()
        if page.like is Likeness.CLEAR or word_count(page.title) >= _HEADLINE_WORDS
    ]
    if not articles:
        raise FeedError("front_without_articles", f"{links} links, none to an article, on the page {title[:100]!r}")
    related = [(link.get("rel", "").lower().split(), link.get("href", "")) for link in islice(root.iter("link"), 500)]
    return ParsedFeed(
        format="front",
        entries=tuple(
            Entry(identity=hash64_hex(key), link=page.link, title=clip(page.title, policy.max_title))
            for key, page in articles[: policy.max_front_entries]
        ),
        title=title,
        language=clip(_language(root), 40),
        dropped=max(0, len(articles) - policy.max_front_entries),
        hub=next((absolute(href, url) for rel, href in related if "hub" in rel), ""),
        topic=next((absolute(href, url) for rel, href in related if "self" in rel), ""),
    )


def _tree(body: bytes, content_type: str) -> Element:
    if "charset" not in content_type.lower() and (declared := _META_CHARSET.search(body[:8192])):
        content_type = f"charset={declared.group(1).decode('ascii')}"
    text = decode(body, content_type).replace("\0", "").strip()
    if not text:
        raise FeedError("feed_empty", f"{len(body)} bytes without a character")
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True)
    try:
        root = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError) as error:
        raise FeedError("feed_unparsable", str(error)) from None
    etree.strip_elements(root, "script", "style", "template", "svg", "noscript", with_tail=False)
    return root


def _pages(root: Element, url: str) -> tuple[dict[str, _Page], int]:
    """(pages of the same site that may be articles, by key; how many links there were)."""
    base = next((found for tag in root.iter("base") if (found := absolute(tag.get("href", ""), url))), url)
    sites: dict[str, str] = {}
    home, own = page_address(url), _site(url, sites)
    pages: dict[str, _Page] = {}
    links = 0
    for anchor in islice(root.iter("a", "area"), _LINKS):
        links += 1
        link = absolute(anchor.get("href", ""), base).partition("#")[0]
        if not link or "sponsored" in anchor.get("rel", "").lower():
            continue
        like = likeness(link)
        if like is Likeness.NONE or page_address(link) == home or _site(link, sites) != own:
            continue
        if like is Likeness.LIKELY and _in_frame(anchor):
            continue
        link = _without_clicks(link)
        page = pages.setdefault(_key(link), _Page(link, like))
        title, rank = _title(anchor)
        if (rank, len(title)) > (page.rank, len(page.title)):
            page.title, page.rank = title, rank
    return pages, links


def _site(link: str, known: dict[str, str]) -> str:
    """The registrable domain, in ASCII whichever way the host was written."""
    host = urlsplit(link).hostname or ""
    if host not in known:
        try:
            name = idna.encode(host, uts46=True).decode("ascii")
        except UnicodeError:  # idna's own error is one
            name = host
        known[host] = site(f"http://{name}/")
    return known[host]


def _without_clicks(link: str) -> str:
    path, mark, query = link.partition("?")
    kept = "&".join(pair for pair in query.split("&") if pair and not pair.lower().startswith(_CLICKED))
    return f"{path}{mark}{kept}" if kept else path


def _key(link: str) -> str:
    """What a page is told apart by: its address without the query, where the path alone names the article."""
    path = link.partition("?")[0]
    return page_address(path if likeness(path) is Likeness.CLEAR else link)


def _in_frame(anchor: Element) -> bool:
    return any(
        node.tag in _FRAMES or node.get("role", "").lower() in _FRAME_ROLES
        for node in islice(anchor.iterancestors(), _AROUND)
    )


def _title(anchor: Element) -> tuple[str, int]:
    """(text, rank): 3 a heading or what is named a title, 2 bare text, 1 a whole teaser, 0 a label or picture."""
    for node in islice(anchor.iter(etree.Element), _INSIDE):
        named = node.tag in _HEADINGS or (node is not anchor and _TITLE_CLASS.search(node.get("class", "")))
        if named and (found := _text(node)):
            return found, 3
    text = _text(anchor)
    if text:
        if any(node.tag in _HEADINGS for node in islice(anchor.iterancestors(), 4)):
            return text, 3
        return text, 2 if len(text) <= _TEASER else 1
    for node in islice(anchor.iter(etree.Element), _INSIDE):
        for name in ("aria-label", "title", "alt"):
            if found := collapse(node.get(name, "")):
                return found, 0
    return "", -1


def _text(element: Element) -> str:
    """The text inside, with white space where a block begins or ends; of a bounded number of elements.

    A span is mostly a badge or a kicker that a style sheet sets apart: it is taken for a block beside a letter.
    """
    parts: list[str] = []
    for event, node in islice(etree.iterwalk(element, events=("start", "end")), 2 * _INSIDE):
        text = str((node.text if event == "start" else "" if node is element else node.tail) or "")
        if node.tag not in _INLINE and (node.tag != "span" or text[:1].isalnum()):
            parts.append(" ")
        parts.append(text)
    return collapse("".join(parts))


def _language(root: Element) -> str:
    written = root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("xml:lang")
    if written:
        return str(written).strip()
    for meta in islice(root.iter("meta"), 500):
        if meta.get("http-equiv", "").lower() == "content-language" or meta.get("property", "") == "og:locale":
            return str(meta.get("content", "")).strip().replace("_", "-")
    return ""
