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
        reader = _Reader(policy.links)
        reader.read(body.lstrip(_BLANK) if start == b"<" else body)
        found, base = reader.links, reader.base
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


class _Reader:
    """Reads the links of the first `wanted` entries that have one. base: the document's xml:base.

    An entry is an `entry` or `item`; its links are its own children. Names are taken as written, without namespaces:
    feeds forget to declare them. A prefix must be the entry's own.

    Only what is looked for is called back: outside entries all starts, within one its children until its link is known,
    then its end alone. Watching every element takes half as long again, in the costliest part of a delivery.
    """

    __slots__ = ("_depth", "_entry", "_kind", "_others", "_parser", "_prefix", "_text", "_wanted", "base", "links")

    def __init__(self, wanted: int) -> None:
        self.links: list[str] = []
        self.base = ""
        self._wanted = wanted
        self._entry = self._prefix = ""
        self._depth = 0  # of open elements within the entry
        self._others: dict[str, str] = {}  # of this entry: a page in another form, a guid
        self._kind = ""  # what the text that is being read is
        self._text: list[str] = []
        self._parser = expat.ParserCreate()

    def read(self, body: bytes) -> None:
        """Fill `links` and `base`."""
        parser = self._parser
        parser.StartElementHandler, parser.StartDoctypeDeclHandler = self._root, self._doctype
        try:
            parser.Parse(body, True)
        except (expat.ExpatError, _EnoughError, ValueError, LookupError):
            pass  # LookupError, ValueError: an encoding that Python does not know
        finally:
            # The parser and this object hold each other: let go, or only the collector would free them.
            parser.StartElementHandler = parser.EndElementHandler = parser.StartDoctypeDeclHandler = None
            parser.CharacterDataHandler = None

    def _doctype(self, *_: object) -> None:
        raise _EnoughError

    def _root(self, _: str, attributes: dict[str, str]) -> None:
        self.base = attributes.get("xml:base", "").strip()
        self._parser.StartElementHandler = self._outside

    def _outside(self, name: str, _: dict[str, str]) -> None:
        prefix, _colon, local = name.rpartition(":")
        if local in _ENTRIES:
            self._entry, self._prefix, self._depth = name, f"{prefix}:" if prefix else "", 0
            self._parser.StartElementHandler, self._parser.EndElementHandler = self._within, self._ends

    def _within(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > 1 or not name.startswith(self._prefix):
            return
        local = name[len(self._prefix) :]
        if local == "link" and "href" in attributes:
            if attributes.get("rel", "alternate").strip().lower() == "alternate":
                if "html" in attributes.get("type", "html"):
                    self._known(attributes["href"])
                else:
                    self._others.setdefault("form", attributes["href"])
        elif local == "link" or (local == "guid" and attributes.get("isPermaLink", "true").strip().lower() == "true"):
            self._kind = local
            self._parser.CharacterDataHandler = self._text.append

    def _ends(self, _: str) -> None:
        self._depth -= 1
        if self._depth < 0:
            self._entry_ends(self._entry)
        elif self._kind and not self._depth:
            kind, found = self._kind, "".join(self._text).strip()
            self._kind = ""
            self._text.clear()
            self._parser.CharacterDataHandler = None
            if kind == "link" and found:
                self._known(found)
            else:
                self._others.setdefault(kind, found)

    def _known(self, link: str) -> None:
        self.links.append(link)
        if len(self.links) == self._wanted:
            raise _EnoughError
        self._others.clear()
        self._parser.StartElementHandler, self._parser.EndElementHandler = None, self._entry_ends

    def _entry_ends(self, name: str) -> None:
        if name == self._entry:
            link = self._others.get("form") or self._others.get("guid")
            if link:
                self._known(link)
            self._parser.StartElementHandler, self._parser.EndElementHandler = self._outside, None


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
