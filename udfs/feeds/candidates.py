"""Addresses that may be feeds, news sitemaps or section fronts: what an address alone says, and where to look.

Addresses and robots.txt in, candidates out, in the order in which they are worth a request. Never asks anything.
Whether a candidate is what it seems takes its document: offers.py. Nothing here raises on an address that
`texts.absolute` gave. Reading order: DiscoveryPolicy, Candidate, what an address says, robots_sitemaps, places.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urljoin, urlsplit

from state_schemas.sources import SourceKind
from udfs.articles.canonical import site
from udfs.feeds.document import Child
from udfs.feeds.texts import absolute

Via = Literal["given", "link", "header", "anchor", "directory", "robots", "index", "place", "navigation"]


@dataclass(frozen=True, slots=True)
class DiscoveryPolicy:
    """Bounds on what is taken from a site, so that it costs the site and us little; numbers are counts."""

    # Of 140 captured pages of news sites most declare one or two feeds, one 22; a page that lists feeds has up to 100.
    links: int = 24  # rel=alternate of the page and of the Link header
    anchors: int = 16  # links in the text that look like feeds
    directories: int = 2  # pages of the site that list its feeds
    sitemaps: int = 6  # of robots.txt, the likeliest first; large sites name dozens
    children: int = 6  # of all sitemap indexes together
    sections: int = 100  # of the navigation; newspapers' name 20 to 150
    fronts: int = 8  # of them that are asked for
    other_hosts: int = 4  # beside the site's own: feed services, content networks
    page_links: int = 20_000  # of one page that are looked at; the front pages of newspapers have some 500
    menus: int = 40  # elements of one page that may be its navigation
    title_bytes: int = 200


@dataclass(frozen=True, slots=True)
class Candidate:
    """An address worth asking. kind: what it should be; title: the link's own words."""

    url: str
    via: Via
    kind: SourceKind = "feed"
    title: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An address that is not offered. reason: a code; detail: for people."""

    url: str
    via: Via
    reason: str
    detail: str = ""


# Addresses that only feeds have, by the habits of publishing systems.
_FEED_FOLDERS = frozenset({"feed", "feeds", "rss", "rss2", "atom", "rdf", "newsfeed", "newsfeeds", "outboundfeeds"})
_FEED_ENDINGS = (".rss", ".atom", ".rdf")
_DOCUMENT_ENDINGS = (".xml", ".json", ".php", ".asp", ".aspx", ".ashx", ".cms")
_FEED_QUERY = re.compile(r"(?:^|&)(?:feed|format|type|output|alt)=(?:rss2?|atom|rdf|feed)(?:&|$)", re.IGNORECASE)
_FEED_HOST = re.compile(r"(?:feeds?|rss)\d?\.", re.IGNORECASE)
# Readers' comments: WordPress, Blogger, Drupal.
_COMMENTS = re.compile(
    r"/comments/(?:feed|rss2?|atom|default)(?:/|$)|/feeds/(?:\d{1,20}/)?comments/|/crss(?:/|$)|(?:^|&)feed=comments",
    re.IGNORECASE,
)
# The interfaces that WordPress and embedders declare as alternates too.
_INTERFACE = re.compile(r"/wp-json(?:/|$)|oembed|/opensearch|/xmlrpc", re.IGNORECASE)
_NEWS = re.compile(r"news|noticias|actu|nachrichten|breaking|latest", re.IGNORECASE)
_NO_NEWS = re.compile(
    r"video|image|photo|gallery|author|tag|categor|topic|archiv|product|page|static|section|podcast|recipe",
    re.IGNORECASE,
)
# Links of a navigation that lead to no news.
_SERVICE = re.compile(
    r"/(?:about|abo|account|advert\w*|agb|anmelden|apps?|careers?|checkout|contact\w*|cookies?|datenschutz|donate|e-?paper|events"
    r"|faq|games?|gewinnspiele|help|hilfe|impressum|imprint|jobs?|kontakt|legal|log-?in|marktplatz|members?\w*"
    r"|mentions-legales|my(?:-\w+)?|newsletters?|podcasts?"
    r"|privacy\w*|puzzles?|register|search|shop|sign-?(?:in|up)|sitemap|subscri\w*|suscri\w*|support|terms\w*|tickets"
    r"|tv|user|videos?|weather|wetter|wp-\w+)(?:[/.]|$)",
    re.IGNORECASE,
)

# (path, whose habit it is), the commonest first. Asked only where the site declares no feed.
FEED_PLACES = (
    ("/feed", "WordPress, Substack, Medium"),
    ("/rss.xml", "Drupal, many newspapers' own systems"),
    ("/rss", "Ghost, Tumblr; also pages that list feeds"),
    ("/feed.xml", "Jekyll"),
    ("/atom.xml", "Hexo, Movable Type"),
    ("/index.xml", "Hugo"),
    ("/feeds", "pages that list feeds"),
    ("/?feed=rss2", "WordPress without rewritten addresses"),
    ("/feeds/posts/default", "Blogger"),
    ("/arc/outboundfeeds/rss/?outputType=xml", "Arc, the system of many newspapers"),
    ("/index.rdf", "Movable Type's RSS 1.0"),
    ("/feed.json", "JSON Feed"),
)
# The same where the page given is a folder of its own (a blog under a company's site).
FOLDER_PLACES = ("feed", "rss.xml", "index.xml", "atom.xml")
# Asked only where robots.txt names no news sitemap.
SITEMAP_PLACES = (
    ("/news-sitemap.xml", "Yoast's and other extensions of WordPress"),
    ("/sitemap-news.xml", "generators of sitemaps"),
    ("/sitemap_news.xml", "many newspapers' own systems"),
    ("/news_sitemap.xml", "the same"),
    ("/sitemap_index.xml", "Yoast's index"),
    ("/sitemap.xml", "the protocol's usual place, mostly an index"),
    ("/arc/outboundfeeds/news-sitemap/?outputType=xml", "Arc"),
    ("/googlenews.xml", "older systems"),
)


def looks_like_feed(url: str) -> bool:
    """Whether the address alone says feed, or a page that lists feeds."""
    parts = urlsplit(url)
    path = parts.path.lower()
    if is_interface(url):
        return False
    folders = path.rstrip("/").split("/")
    last = folders[-1]
    return bool(
        not _FEED_FOLDERS.isdisjoint(folders)
        or last.endswith(_FEED_ENDINGS)
        or last == "index.xml"
        or (last.endswith(_DOCUMENT_ENDINGS) and any(word in last for word in ("rss", "feed", "atom")))
        or _FEED_QUERY.search(parts.query)
        or _FEED_HOST.match(parts.netloc)
    )


def is_interface(url: str) -> bool:
    """Whether the address is one for programs that are no feed readers."""
    return bool(_INTERFACE.search(urlsplit(url).path))


def is_comment_feed(url: str) -> bool:
    """Whether the address is that of a feed of readers' comments."""
    parts = urlsplit(url)
    return bool(_COMMENTS.search(parts.path) or _COMMENTS.search(parts.query))


def is_section(url: str, home: str) -> bool:
    """Whether a link of the navigation may lead to a section: one or two short folders of the site, no service."""
    parts = urlsplit(url)
    folders = [part for part in parts.path.split("/") if part]
    return (
        1 <= len(folders) <= 2
        and not parts.query
        # Articles have numbers, dates and long names.
        and all(len(part) <= 30 and not re.search(r"\d{3}", part) for part in folders)
        and not _SERVICE.search(parts.path)
        and not looks_like_feed(url)
        and same_site(url, home)
    )


def same_site(left: str, right: str) -> bool:
    """Whether two addresses belong to one registrable domain."""
    return urlsplit(left).netloc == urlsplit(right).netloc or site(left) == site(right)


def address_key(url: str) -> str:
    """What an address is compared by: without scheme, default port, `www.`, fragment and a slash at the end."""
    parts = urlsplit(url)
    port = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    host = parts.netloc.lower().removesuffix(port).removeprefix("www.")
    return f"{host}{parts.path.rstrip('/')}{'?' + parts.query if parts.query else ''}"


def few_hosts(addresses: Iterable[str], home: str, limit: int) -> list[str]:
    """The addresses of the site itself and of the first `limit` other hosts, in order."""
    others: set[str] = set()
    kept = []
    for address in addresses:
        host = urlsplit(address).netloc.lower()
        if not same_site(address, home):
            if host not in others and len(others) == limit:
                continue
            others.add(host)
        kept.append(address)
    return kept


def robots_sitemaps(body: bytes, url: str, policy: DiscoveryPolicy | None = None) -> tuple[Candidate, ...]:
    """The sitemaps that the robots.txt at `url` names, likely news sitemaps first, then indexes, then the others."""
    policy = policy or DiscoveryPolicy()
    lines = body.removeprefix(b"\xef\xbb\xbf")[:512_000].decode("utf-8", "replace").splitlines()
    named = [absolute(value, url) for line in lines if (value := _sitemap_line(line))]
    ranked = sorted(dict.fromkeys(filter(None, named)), key=_news_rank)
    return tuple(Candidate(address, "robots", "sitemap") for address in few_hosts(ranked, url, policy.other_hosts))


def _sitemap_line(line: str) -> str:
    name, _, value = line.partition(":")
    return value.partition(" #")[0].strip() if name.strip().lower() in ("sitemap", "sitemaps", "site-map") else ""


def news_children(children: Iterable[Child]) -> tuple[Candidate, ...]:
    """The sitemaps of an index in the order in which they are likely to hold news: by name, then the last changed."""
    ranked = sorted(children, key=lambda child: (_news_rank(child.url), -(child.modified_ms or 0)))
    return tuple(Candidate(child.url, "index", "sitemap") for child in ranked)


def _news_rank(url: str) -> int:
    """0 for an address that says news, 1 for an index, 2 for any other, 3 for one that says something else."""
    path = urlsplit(url).path
    if _NEWS.search(path):
        return 0
    return 1 if "index" in path.lower() else 3 if _NO_NEWS.search(path) else 2


def feed_places(url: str) -> tuple[Candidate, ...]:
    """Where feeds often are: in the folder of `url`, and on its host."""
    folder = urlsplit(url).path.rstrip("/")
    own = [f"{folder}/{name}" for name in FOLDER_PLACES] if folder and "." not in folder.rpartition("/")[2] else []
    return _places(url, [*own, *(path for path, _ in FEED_PLACES)], "feed")


def sitemap_places(url: str) -> tuple[Candidate, ...]:
    """Where news sitemaps often are on the host of `url`."""
    return _places(url, [path for path, _ in SITEMAP_PLACES], "sitemap")


def _places(url: str, paths: Iterable[str], kind: SourceKind) -> tuple[Candidate, ...]:
    found = dict.fromkeys(absolute(path, urljoin(url, "/")) for path in paths)
    return tuple(Candidate(address, "place", kind) for address in found if address)
