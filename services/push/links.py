"""The entry links of a delivery: Atom, RSS, RSS 1.0 and JSON Feed. Pure; never text, never an error.

The document is read once, by expat: no document type (so no entities), no network, and nothing is kept of it. lxml
would keep every element's name for the life of the process, 1 MB a hostile delivery. What cannot be read gives the
links before that place, or none: the feed is polled beside it anyway.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.parsers import expat

import msgspec

from services.push.policy import PushPolicy
from udfs.poll.websub import hub_and_topic

_ENTRIES = frozenset({"entry", "item"})
_BLANK = b"\xef\xbb\xbf \t\r\n"


def entry_links(body: bytes, topic: str, policy: PushPolicy) -> tuple[str, ...]:
    """The pages that a delivery's entries are about, each once, in their order; absolute http(s) addresses.

    topic: the feed's address, against which relative links stand.
    """
    start = body[:256].lstrip(_BLANK)[:1]
    if start == b"{":
        found = _json_links(body)
        base = topic
    else:
        reader = _Reader(policy.links)
        reader.read(body.lstrip(_BLANK) if start == b"<" else body)
        found, base = reader.links, _joined(topic, reader.base)
    links: dict[str, None] = {}
    for link in found:
        address = _joined(base, link.strip())
        if _is_page(address, policy):
            links[address] = None
    return tuple(links)[: policy.links]


def names_other_topic(link_header: str, topic: str) -> bool:
    """Whether a delivery's Link header says `self` and means another feed. http and https are one feed."""
    if not link_header:
        return False
    _, named = hub_and_topic(link_header, topic)
    return bool(named) and named.partition("://")[2] != topic.partition("://")[2]


def _is_page(address: str, policy: PushPolicy) -> bool:
    if not address.startswith(("http://", "https://")) or len(address) > policy.link_chars:
        return False
    if not address.isprintable() or " " in address:
        return False
    try:
        return bool(urlsplit(address).hostname)
    except ValueError:
        return False


def _joined(base: str, link: str) -> str:
    if link.startswith(("http://", "https://")):
        return link
    try:
        return urljoin(base, link) if link else base
    except ValueError:
        return ""


# ---------------------------------------------------------------- XML


class _EnoughError(Exception):
    """Nothing more is wanted of this document."""


class _Reader:
    """Reads entries as they come: `entry` and `item`, with the links that are their own children.

    Names are taken as written, without namespaces: feeds forget to declare them. A prefix must be the entry's own.
    """

    def __init__(self, wanted: int) -> None:
        self.links: list[str] = []
        self.base = ""
        self._wanted = wanted
        self._depth = 0
        self._entry = 0  # depth of the entry that is being read; 0: none
        self._prefix = ""
        self._best: dict[str, str] = {}  # of this entry: html, plain, text, guid -> link
        self._text: list[str] = []
        self._kind = ""  # what the text being read is
        self._parser: Any = None

    def read(self, body: bytes) -> None:
        """Fill `links` and `base`."""
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._doctype
        try:
            parser.Parse(body, True)
        except (expat.ExpatError, _EnoughError, ValueError, LookupError):
            return  # LookupError, ValueError: an encoding that Python does not know
        finally:
            self._parser = None  # the parser and this object hold each other

    def _doctype(self, *_: object) -> None:
        raise _EnoughError

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1:
            self.base = attributes.get("xml:base", "").strip()
        elif not self._entry:
            prefix, _, local = name.rpartition(":")
            if local in _ENTRIES:
                self._entry, self._prefix, self._best = self._depth, f"{prefix}:" if prefix else "", {}
        elif self._depth == self._entry + 1 and name.startswith(self._prefix):
            self._child(name[len(self._prefix) :], attributes)

    def _child(self, local: str, attributes: dict[str, str]) -> None:
        if local == "link" and "href" in attributes:
            if attributes.get("rel", "alternate").strip().lower() == "alternate":
                kind = "html" if "html" in attributes.get("type", "") else "plain"
                self._best.setdefault(kind, attributes["href"])
        elif local == "link" or (local == "guid" and attributes.get("isPermaLink", "true").strip().lower() == "true"):
            self._kind, self._text = "text" if local == "link" else "guid", []
            self._parser.CharacterDataHandler = self._text.append

    def _end(self, _: str) -> None:
        if self._kind and self._depth == self._entry + 1:
            self._parser.CharacterDataHandler = None
            self._best.setdefault(self._kind, "".join(self._text).strip())
            self._kind = ""
        elif self._entry and self._depth == self._entry:
            self._entry = 0
            best = next((self._best[kind] for kind in ("html", "plain", "text", "guid") if self._best.get(kind)), "")
            if best:
                self.links.append(best)
                if len(self.links) >= self._wanted:
                    raise _EnoughError
        self._depth -= 1


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
