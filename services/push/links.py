"""The entry links of a delivery: Atom, RSS, RSS 1.0 and JSON Feed. Pure; never text, never an error.

The document is read once, by expat: no document type (so no entities), no network, and nothing is kept of it. lxml
would keep every element's name for the life of the process, 1 MB a hostile delivery. What cannot be read gives the
links before that place, or none: the feed is polled beside it anyway.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin
from xml.parsers import expat

import msgspec

from services.push.policy import PushPolicy
from udfs.poll.websub import hub_and_topic

_ENTRIES = frozenset({"entry", "item"})
_PAGE = re.compile(r"https?://[^\s/?#\\@\[\]\x00-\x1f\x7f]+(?:[/?#][^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]*)?")
_BLANK = b"\xef\xbb\xbf \t\r\n"


def entry_links(body: bytes, topic: str, policy: PushPolicy) -> tuple[str, ...]:
    """The pages that a delivery's entries are about, each once, in their order; absolute http(s) addresses.

    topic: the feed's address, against which relative links stand.
    """
    start = body[:256].lstrip(_BLANK)[:1]
    base = ""
    if start == b"{":
        found = _json_links(body)
    else:
        found, base = _xml_links(body.lstrip(_BLANK) if start == b"<" else body, policy.links)
    links: dict[str, None] = {}
    for text in found:
        link = text.strip()
        if not link.startswith(("http://", "https://")):
            link = _joined(_joined(topic, base), link)
        if len(link) <= policy.link_chars and link != topic and _PAGE.fullmatch(link):
            links[link] = None
            if len(links) == policy.links:
                break
    return tuple(links)


def names_other_topic(link_header: str, topic: str) -> bool:
    """Whether a delivery's Link header says `self` and means another feed. http and https are one feed."""
    if not link_header or f"<{topic}>" in link_header:  # as a rule; reading it takes a third of all the time
        return False
    _, named = hub_and_topic(link_header, topic)
    return bool(named) and named.partition("://")[2] != topic.partition("://")[2]


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link) if link else base
    except ValueError:
        return ""


# ---------------------------------------------------------------- XML


class _EnoughError(Exception):
    """Nothing more is wanted of this document."""


def _xml_links(body: bytes, wanted: int) -> tuple[list[str], str]:
    """The links of the first `wanted` entries that have one, and the document's xml:base.

    An entry is an `entry` or `item`; its links are its own children. Names are taken as written, without namespaces:
    feeds forget to declare them. A prefix must be the entry's own.
    """
    # Local names, not an object's: this runs for every element of every delivery.
    links: list[str] = []
    best: dict[str, str] = {}  # of this entry: html, plain, text, guid -> link
    text: list[str] = []
    base = kind = prefix = ""
    depth = entry = 0  # entry: the depth of the one that is being read
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, entry, base, kind, prefix
        depth += 1
        if entry:
            if depth != entry + 1 or not name.startswith(prefix):
                return
            local = name[len(prefix) :] if prefix else name
            if local == "link":
                if "href" not in attributes:
                    kind = "text"
                elif attributes.get("rel", "alternate").strip().lower() == "alternate":
                    best.setdefault("html" if "html" in attributes.get("type", "") else "plain", attributes["href"])
            elif local == "guid" and attributes.get("isPermaLink", "true").strip().lower() == "true":
                kind = "guid"
            if kind:
                parser.CharacterDataHandler = text.append
        elif depth == 1:
            base = attributes.get("xml:base", "").strip()
        else:
            before, _, local = name.rpartition(":")
            if local in _ENTRIES:
                entry, prefix = depth, f"{before}:" if before else ""

    def end(_: str) -> None:
        nonlocal depth, entry, kind
        if depth <= entry + 1 and entry:
            if kind and depth == entry + 1:
                parser.CharacterDataHandler = None
                best.setdefault(kind, "".join(text).strip())
                kind = ""
                text.clear()
            elif depth == entry:
                entry = 0
                link = best.get("html") or best.get("plain") or best.get("text") or best.get("guid")
                best.clear()
                if link:
                    links.append(link)
                    if len(links) == wanted:
                        raise _EnoughError
        depth -= 1

    def doctype(*_: object) -> None:
        raise _EnoughError

    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = start, end, doctype
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, _EnoughError, ValueError, LookupError):
        pass  # LookupError, ValueError: an encoding that Python does not know
    finally:
        # The parser and these functions hold each other: let go, or only the collector would free the document.
        parser.StartElementHandler = parser.EndElementHandler = parser.StartDoctypeDeclHandler = None
        parser.CharacterDataHandler = None
    return links, base


# ---------------------------------------------------------------- JSON Feed


class _Item(msgspec.Struct):
    url: Any = None


class _JsonFeed(msgspec.Struct):
    items: list[_Item] = []


_json = msgspec.json.Decoder(_JsonFeed)


def _json_links(body: bytes) -> list[str]:
    try:
        feed = _json.decode(body.lstrip(_BLANK))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    return [item.url for item in feed.items if isinstance(item.url, str) and item.url]
