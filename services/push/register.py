"""What the topics say: subscriptions by their callback's token, publishers' keys, each publisher's feeds.

Fed with the records of three compacted topics in their order, from the start on; what is removed is forgotten. Bounded:
what is beyond is left out and counted. Used inside one event loop; no I/O.
"""

from __future__ import annotations

import heapq
import sys
from dataclasses import dataclass, field
from typing import Any

import msgspec

from services.push.policy import PushPolicy
from services.push.signatures import KEYS
from state_schemas.ids import feed_id
from state_schemas.sources import Publisher, Source, Subscription
from state_schemas.topics import PUBLISHERS, SOURCES, WEBSUB_SUBSCRIPTIONS

KINDS: dict[str, type[Any]] = {
    WEBSUB_SUBSCRIPTIONS.name: Subscription,
    PUBLISHERS.name: Publisher,
    SOURCES.name: Source,
}


class Callback(msgspec.Struct, frozen=True, gc=False):
    """One subscription as the receiver needs it. The secret prints as stars."""

    token: str
    feed_id: str
    topic: str
    secret: str
    state: str

    def __repr__(self) -> str:
        return f"Callback(feed_id={self.feed_id!r}, topic={self.topic!r}, state={self.state!r}, secret='***')"


@dataclass(slots=True)
class Register:
    """The tables. left_out: records that found no room."""

    policy: PushPolicy
    left_out: int = 0
    _by_token: dict[str, Callback] = field(default_factory=dict)
    _token_of: dict[str, str] = field(default_factory=dict)  # feed id -> token
    _keys: dict[str, tuple[bytes, ...]] = field(default_factory=dict)  # publisher -> hashes
    _publisher_of: dict[str, str] = field(default_factory=dict)  # feed id -> publisher
    # publisher -> feed id -> its place among the main feeds: authoritative ones first, then as registered
    _feeds: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)

    def apply(self, record: Subscription | Publisher | Source) -> None:
        """Take in one record; it replaces the one before of the same key."""
        if isinstance(record, Subscription):
            self._subscription(record)
        elif isinstance(record, Publisher):
            self._publisher(record)
        else:
            self._source(record)

    def _subscription(self, record: Subscription) -> None:
        old = self._token_of.pop(record.feed_id, "")
        held = self._by_token.get(old)
        if held is not None and held.feed_id == record.feed_id:
            del self._by_token[old]
        if record.removed or not record.callback_token:
            return
        if len(self._by_token) >= self.policy.subscriptions:
            self.left_out += 1
            return
        token = record.callback_token
        self._by_token[token] = Callback(token, record.feed_id, record.topic, record.secret, record.state)
        self._token_of[record.feed_id] = token

    def _publisher(self, record: Publisher) -> None:
        self._keys.pop(record.publisher, None)
        hashes = tuple(found for text in record.ping_keys if (found := _hash(text)) is not None)
        if record.removed or record.blocked or not hashes:
            return
        if len(self._keys) >= self.policy.publishers:
            self.left_out += 1
            return
        self._keys[record.publisher] = hashes[-KEYS:]

    def _source(self, record: Source) -> None:
        publisher = self._publisher_of.pop(record.feed_id, "")
        feeds = self._feeds.get(publisher, {})
        feeds.pop(record.feed_id, None)
        if publisher and not feeds:
            self._feeds.pop(publisher, None)
        if record.removed or not record.origin.publisher:
            return
        if len(self._publisher_of) >= self.policy.feeds:
            self.left_out += 1
            return
        publisher = sys.intern(record.origin.publisher)  # one string a publisher, not one a feed
        feeds = self._feeds.setdefault(publisher, {})
        feeds[record.feed_id] = (0 if record.tier == "authoritative" else 1, record.registered_ms)
        self._publisher_of[record.feed_id] = publisher

    def callback(self, token: str) -> Callback | None:
        """The subscription whose callback has this token."""
        return self._by_token.get(token)

    def key_hashes(self, publisher: str) -> tuple[bytes, ...]:
        """The hashes of its valid keys; none for a publisher that is unknown, blocked or has none."""
        return self._keys.get(publisher, ())

    def feeds(self, publisher: str, feed: str = "") -> tuple[str, ...]:
        """The feed ids that a ping means: `feed` (an id or an address) if it is the publisher's, else its main feeds.

        Main feeds are the authoritative ones, or all where none is; the first registered of them.
        """
        known = self._feeds.get(publisher, {})
        if feed:
            name = feed if feed in known else feed_id(feed)
            return (name,) if name in known else ()
        first = heapq.nsmallest(self.policy.ping_feeds, ((*place, name) for name, place in known.items()))
        best = first[0][0] if first else 0
        return tuple(name for tier, _, name in first if tier == best)

    def sizes(self) -> dict[str, int]:
        """How much is held."""
        return {
            "subscriptions": len(self._by_token),
            "publishers": len(self._keys),
            "feeds": len(self._publisher_of),
            "left_out": self.left_out,
        }


def _hash(text: str) -> bytes | None:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return None
    return found if len(found) == 32 else None
