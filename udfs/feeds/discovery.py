"""What a site says of its feeds: the links of a page and of a Link header, its sections, its name and language.

Bytes in, candidates and facts out. Never asks anything; never decides whether a candidate is what it seems, which
takes its document (offers.py); what an address alone says is in candidates.py. Nothing here raises, whatever the
bytes. Reading order: SiteFacts, read_site, the Link header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from udfs.articles.page import Page, decoded, read_page
from udfs.feeds.candidates import (
    Candidate,
    DiscoveryPolicy,
    LeftOut,
    address_key,
    few_hosts,
    is_comment_feed,
    is_interface,
    is_section,
    looks_like_feed,
    same_site,
)
from udfs.feeds.texts import absolute, clip, collapse


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """What a page says of its site. language: lower-case base language; country: ISO 3166 alpha-2; empty: not said.

    feeds: declared ones. anchors: links that look like feeds, pages that list feeds among them. sections: of the
    navigation. left_out: what is worth no request. hub, topic: WebSub's links of the page itself.
    """

    url: str
    name: str = ""
    language: str = ""
    country: str = ""
    feeds: tuple[Candidate, ...] = ()
    anchors: tuple[Candidate, ...] = ()
    sections: tuple[Candidate, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    hub: str = ""
    topic: str = ""


# Media types under which feeds are declared. Plain XML and JSON are used too, by few.
_FEED_TYPES = re.compile(
    r"(?:application|text)/(?:(?:x[.-])?(?:rss|atom|rdf|feed)(?:\+(?:xml|json))?|xml)", re.IGNORECASE
)
_FEED_WORDS = re.compile(r"\brss\b|\bnews ?feeds?\b|\batom feeds?\b", re.IGNORECASE)
_MENU = re.compile(r"(?:^|[\s_-])(?:nav|navigation|navbar|main-?nav|menu|mainmenu|sections)(?:$|[\s_-])", re.IGNORECASE)
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_]([a-z]{2}))?(?:[-_.@].*)?", re.IGNORECASE)
_NO_LANGUAGE = frozenset({"und", "mul", "zxx"})
# Countries' domains that are mostly sold as words, and two that are no country's: they do not say where a publisher is.
_WORDS = frozenset(
    {"ac", "ai", "cc", "co", "eu", "fm", "gg", "io", "la", "ly", "me", "nu", "sh", "su", "to", "tv", "vc"}
)

# One link of a Link header (RFC 8288): the address, then parameters, whose quoted values may hold commas.
_LINK = re.compile(
    r"<([^<>]{0,4096})>((?:\s*;\s*[^\s=;,\"<>]{1,60}(?:\s*=\s*(?:\"[^\"]{0,500}\"|[^\s\",;<>]{0,500}))?)*)"
)
_PARAMETER = re.compile(r";\s*([^\s=;,\"<>]+)\s*=\s*(?:\"([^\"]*)\"|([^\s\",;<>]*))")
_HEADER_CHARS = 8_192


def read_site(
    body: bytes, url: str, headers: Mapping[str, str] | None = None, policy: DiscoveryPolicy | None = None
) -> SiteFacts:
    """What the page that was read at `url` says of the site's feeds. headers: of the answer, lower-case names."""
    policy, headers = policy or DiscoveryPolicy(), headers or {}
    declared, hub, topic = _read_header(headers.get("link", ""), url, policy)
    page = read_page(decoded(body, headers.get("content-type", "")))
    if page is None:
        feeds, left = _sorted_out(declared, url, policy, policy.links)
        return SiteFacts(url, feeds=feeds, left_out=tuple(left), country=_country(None, url), hub=hub, topic=topic)
    base = absolute(page.base, url) or url
    anchors: list[Candidate] = []
    for element in islice(page.tree.iter("link", "a", "area"), policy.page_links):
        rels = _words(element.get("rel"))
        target = _target(element.get("href"), base)
        if not target:
            continue
        if element.tag == "link":
            hub, topic = hub or ("hub" in rels and target) or "", topic or ("self" in rels and target) or ""
        title = _title(element.get("title") or element.get("aria-label"), policy)
        if _is_declared(rels, element.get("type"), element.get("hreflang"), target):
            declared.append(Candidate(target, "link", title=title))
        elif element.tag != "link":
            title = title or _text(element, policy)
            named = len(title) <= 60 and _FEED_WORDS.search(title) and not is_interface(target)
            if (named or looks_like_feed(target)) and same_site(target, url):
                anchors.append(Candidate(target, "anchor", title=title))
    taken = {address_key(one.url) for one in declared} | {address_key(url)}
    feeds, left = _sorted_out(declared, url, policy, policy.links)
    found, more = _sorted_out([a for a in anchors if address_key(a.url) not in taken], url, policy, policy.anchors)
    return SiteFacts(
        url=url,
        name=_title(page.first("og:site_name", "application-name"), policy),
        language=_language(page),
        country=_country(page, url),
        feeds=feeds,
        anchors=found,
        sections=_sections(page, url, base, policy),
        left_out=(*left, *more),
        hub=hub,
        topic=topic,
    )


def header_links(value: str, url: str) -> list[tuple[str, dict[str, str]]]:
    """The links of a Link header: (absolute address, parameters by lower-case name), in order."""
    found = []
    for match in _LINK.finditer(value[:_HEADER_CHARS]):
        target = _target(match.group(1), url)
        if target:
            # Of a parameter that is given twice the first counts.
            parameters = reversed(_PARAMETER.findall(match.group(2)))
            found.append((target, {name.lower(): quoted or plain for name, quoted, plain in parameters}))
    return found


def websub_links(value: str, url: str) -> tuple[str, str]:
    """(hub, topic) that the Link header of `url` names; empty where it names none."""
    _, hub, topic = _read_header(value, url, DiscoveryPolicy())
    return hub, topic


def _read_header(value: str, url: str, policy: DiscoveryPolicy) -> tuple[list[Candidate], str, str]:
    declared: list[Candidate] = []
    hub = topic = ""
    for target, about in header_links(value, url):
        rels = _words(about.get("rel"))
        hub, topic = hub or ("hub" in rels and target) or "", topic or ("self" in rels and target) or ""
        if _is_declared(rels, about.get("type"), about.get("hreflang"), target):
            declared.append(Candidate(target, "header", title=_title(about.get("title"), policy)))
    return declared, hub, topic


def _is_declared(rels: frozenset[str], media_type: str | None, language: str | None, target: str) -> bool:
    """Whether a link declares a feed: an alternate of a feed's type, or of no type at an address that says feed."""
    if not rels & {"alternate", "feed"} or "stylesheet" in rels or is_interface(target):
        return False
    plain = (media_type or "").partition(";")[0].strip()[:100]
    if plain:
        by_name = plain.lower() == "application/json" and looks_like_feed(target)
        return by_name or bool(_FEED_TYPES.fullmatch(plain))
    return "feed" in rels or (not language and looks_like_feed(target))


def _sorted_out(
    found: list[Candidate], url: str, policy: DiscoveryPolicy, limit: int
) -> tuple[tuple[Candidate, ...], list[LeftOut]]:
    """Each address once, without comment feeds, `limit` at most; and what was left out."""
    once: dict[str, Candidate] = {}
    left: list[LeftOut] = []
    for one in found:
        other = once.setdefault(address_key(one.url), one)
        if one.url.startswith("https:") and not other.url.startswith("https:"):
            once[address_key(one.url)], one, other = one, other, one
        if one.url != other.url:
            left.append(LeftOut(one.url, one.via, "duplicate", f"the same address as {other.url}"))
    left += [LeftOut(one.url, one.via, "comment_feed") for one in once.values() if is_comment_feed(one.url)]
    articles = [one for one in once.values() if not is_comment_feed(one.url)]
    allowed = set(few_hosts([one.url for one in articles], url, policy.other_hosts))
    left += [
        LeftOut(one.url, one.via, "too_many_hosts", f"more than {policy.other_hosts} other hosts")
        for one in articles
        if one.url not in allowed
    ]
    kept = [one for one in articles if one.url in allowed]
    left += [LeftOut(one.url, one.via, "too_many_links", f"more than {limit}") for one in kept[limit:]]
    return tuple(kept[:limit]), left


def _sections(page: Page, url: str, base: str, policy: DiscoveryPolicy) -> tuple[Candidate, ...]:
    """Pages of the site, one or two folders deep, that its navigation names with a few words."""
    found: dict[str, Candidate] = {address_key(url): Candidate(url, "navigation", "front")}
    for place in islice(_menus(page), policy.menus):
        for link in islice(place.iter("a"), 200):
            title, target = _text(link, policy), _target(link.get("href"), base)
            if target and 0 < len(title) <= 40 and is_section(target, url):
                found.setdefault(address_key(target), Candidate(target, "navigation", "front", title))
    return tuple(found.values())[1 : policy.sections + 1]


def _menus(page: Page) -> Iterator[Any]:
    """The elements that are a navigation, by their tag first, then by their role or name."""
    yield from page.tree.iter("nav")
    yield from page.tree.iter("header")
    for element in page.tree.iter("div", "ul"):
        names = f"{element.get('role') or ''} {element.get('id') or ''} {element.get('class') or ''}"
        if _MENU.search(names[:500]):
            yield element


def _language(page: Page) -> str:
    for said in (page.language, page.first("og:locale"), page.first("content-language", "language")):
        match = _LANGUAGE.fullmatch(said.strip()[:40])
        if match and match.group(1).lower() not in _NO_LANGUAGE:
            return match.group(1).lower()
    return ""


def _country(page: Page | None, url: str) -> str:
    """The country of the domain's ending; else the region of og:locale, then of the page's language.

    The United States are not believed from a language tag: en-US is what templates come with.
    """
    ending = (urlsplit(url).hostname or "").rpartition(".")[2].lower()
    if len(ending) == 2 and ending.isascii() and ending.isalpha() and ending not in _WORDS:
        return "GB" if ending == "uk" else ending.upper()
    for said in (page.first("og:locale"), page.language) if page is not None else ():
        match = _LANGUAGE.fullmatch(said.strip()[:40])
        if match and match.group(2) and match.group(2).upper() != "US":
            return match.group(2).upper()
    return ""


def _target(href: str | None, base: str) -> str:
    """The http(s) address of a link, without its fragment; `feed:` is taken for what it wraps."""
    href = (href or "").strip().partition("#")[0]
    if href[:5].lower() == "feed:":
        rest = href[5:]
        href = rest if "://" in rest[:10] else f"http://{rest.lstrip('/')}"
    return absolute(href, base) if href else ""


def _text(element: Any, policy: DiscoveryPolicy) -> str:
    return _title("".join(map(str, islice(element.itertext(), 20))), policy)


def _title(text: str | None, policy: DiscoveryPolicy) -> str:
    return clip(collapse((text or "")[:2_000]), policy.title_bytes)


def _words(text: str | None) -> frozenset[str]:
    return frozenset((text or "")[:500].lower().split())
