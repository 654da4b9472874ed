"""The keyed state of the poll job: one row a feed. What is decided with it stands in udfs/poll/schedule.py."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from state_schemas.codec import State, upgrades
from state_schemas.sources import Source

Health = Literal["new", "healthy", "failing", "sick", "gone"]

HOURS_OF_WEEK = 168
# The due time of a feed that has ended: beyond any clock, within msgpack's and Flink's 64 bits.
NEVER_MS = 2**62

# identity, link, title, stamp. The last three only tell "the same as before": a chance hit costs one re-check.
_WHOLE = struct.Struct("<QIHH")
_IDENTITY = struct.Struct("<Q")
_COUNT = struct.Struct("<H")


class SeenItem(NamedTuple):
    """What is remembered of one feed item, as hashes; 0 where the item has no such part.

    identity: 64 bits. link: 32 bits, of the address without its scheme. title, stamp: 16 bits each, of the title and
    of the latest instant the item gives itself: when one differs, the item has changed.
    """

    identity: int
    link: int = 0
    title: int = 0
    stamp: int = 0

    @property
    def whole(self) -> bool:
        """More than its identity is remembered: it was in the last document."""
        return bool(self.link or self.title or self.stamp)


def pack_seen(items: Iterable[SeenItem], whole: int) -> bytes:
    """Items, newest first: the first `whole` (< 65,536) at 16 bytes each, of the others the identity alone, at 8.

    What an item looked like matters while its feed still lists it; later only that it was met.
    """
    items = tuple(items)
    whole = min(whole, len(items))
    parts = [_COUNT.pack(whole), *(_WHOLE.pack(*item) for item in items[:whole])]
    parts += [_IDENTITY.pack(item.identity) for item in items[whole:]]
    return b"".join(parts)


def unpack_seen(data: bytes) -> list[SeenItem]:
    """The items of `pack_seen`'s bytes. Raises struct.error on another length: our bug."""
    if not data:
        return []
    (whole,) = _COUNT.unpack_from(data)
    border = _COUNT.size + whole * _WHOLE.size
    items = [SeenItem(*fields) for fields in _WHOLE.iter_unpack(data[_COUNT.size : border])]
    items += [SeenItem(identity) for (identity,) in _IDENTITY.iter_unpack(data[border:])]
    return items


class Subscribed(msgspec.Struct, frozen=True, array_like=True):
    """A feed's subscription at a hub. state: pending (asked for), verified, leaving (asked to end).

    token, secret: as in the Subscription record. asked_ms: the last request to the hub, or its last yes; renew_ms: when
    a verified one is asked for again.
    """

    hub: str
    topic: str
    token: str
    secret: str
    state: Literal["pending", "verified", "leaving"]
    asked_ms: int
    renew_ms: int = 0


class FeedState(State, frozen=True):
    """One feed's row. Instants: ms UTC, 0 where never. Counters only grow, unless said otherwise.

    source: as registered. address: where the feed moved to, or empty. next_poll_ms: when it is due; from a release
    on, when its answer is given up as lost; NEVER_MS for a feed that has ended. released_ms, polls: the last release
    and how many there were; answered: whether that one's answer came; urgent: whether it went before others, as the
    pages it finds will; pushed: whether a push asked for it.
    not_before_ms: a publisher's Retry-After, obeyed even by a push.
    etag, last_modified: opaque, as received; body_hash: 64 bits of the last body that was parsed.
    seen: `pack_seen` of the items last met. document_items: entries in the last document.
    count, exposure_h: new items and hours observed, both decayed to rated_ms; hourly: 168 little-endian float16, new
    items by hour of the week (udfs/poll/rhythm.py), or empty; since_ms: when they began to be counted.
    failures: in a row, 0 after a success. reason: of the last failure, or what is odd about the last document; empty.
    unmodified: 304s in a row. useless: bodies in a row whose validators were new and whose items were not;
    validators_useless: they are no longer sent.
    guids_useless: one guid stood for several items once, or guids changed under the same pages: items are told apart
    by link. stamps_useless: items change their time at every poll: it says nothing.
    moved_to, moved_since_ms: where permanent redirects lead, and since when; not yet believed.
    signalled_ms: the last wish to be polled soon. hub, topic: WebSub's links in the last document.
    pending: page requests held for later. ttl_ms: how long the last document said it stays the same, 0 where it did
    not. children_ms: the newest change of a sitemap index's children that were asked for.
    subscription: at the feed's hub, if it has one; hub_failures, hub_retry_ms: how often in a row it could not be
    had, and when it is tried again; push_misses: items that polls found while a lease was verified, since a push.
    audit_due_ms: of an audited feed, when its schedule would ask it, else 0; audit_found: when each item came that the
    schedule would not have found yet, 64-bit ms each.
    """

    VERSION: ClassVar[int] = 2

    source: Source
    next_poll_ms: int
    address: str = ""
    released_ms: int = 0
    polls: int = 0
    answered: bool = True
    urgent: bool = False
    not_before_ms: int = 0
    etag: str = ""
    last_modified: str = ""
    body_hash: int = 0
    seen: bytes = b""
    document_items: int = 0
    count: float = 0.0
    exposure_h: float = 0.0
    rated_ms: int = 0
    hourly: bytes = b""
    last_new_ms: int = 0
    last_success_ms: int = 0
    health: Health = "new"
    failures: int = 0
    reason: str = ""
    unmodified: int = 0
    useless: int = 0
    validators_useless: bool = False
    guids_useless: bool = False
    stamps_useless: bool = False
    overruns: int = 0
    moved_to: str = ""
    moved_since_ms: int = 0
    lease_until_ms: int = 0
    signalled_ms: int = 0
    burst_until_ms: int = 0
    hub: str = ""
    topic: str = ""
    pending: int = 0
    pushed: bool = False
    since_ms: int = 0
    ttl_ms: int = 0
    children_ms: int = 0
    audit_due_ms: int = 0
    audit_found: bytes = b""
    subscription: Subscribed | None = None
    hub_failures: int = 0
    hub_retry_ms: int = 0
    push_misses: int = 0


_SEEN_FIELD = 11


@upgrades(FeedState, 1)
def _whole_items(fields: list[Any]) -> list[Any]:
    """Version 1 kept every item whole, without a count of them; fields added since have defaults."""
    seen = fields[_SEEN_FIELD] if len(fields) > _SEEN_FIELD else b""
    if seen:
        fields[_SEEN_FIELD] = _COUNT.pack(len(seen) // _WHOLE.size) + seen
    return fields
