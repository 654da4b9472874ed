"""The keyed state of the poll job: one row a feed. What is decided with it stands in udfs/poll/schedule.py."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Literal, NamedTuple

from state_schemas.codec import State
from state_schemas.sources import Source

Health = Literal["new", "healthy", "failing", "sick", "gone"]

HOURS_OF_WEEK = 168

# identity, link, title, stamp. The last three only tell "the same as before": a chance hit costs one re-check.
_SEEN = struct.Struct("<QIHH")
SEEN_BYTES = _SEEN.size


class SeenItem(NamedTuple):
    """What is remembered of one feed item, as hashes; 0 where the item has no such part.

    identity: 64 bits. link: 32 bits, of the address without its scheme. title, stamp: 16 bits each, of the title and
    of the latest instant the item gives itself: when one differs, the item has changed.
    """

    identity: int
    link: int = 0
    title: int = 0
    stamp: int = 0


def pack_seen(items: Iterable[SeenItem]) -> bytes:
    """Items, newest first, at SEEN_BYTES each."""
    return b"".join(_SEEN.pack(*item) for item in items)


def unpack_seen(data: bytes) -> list[SeenItem]:
    """The items of `pack_seen`'s bytes. Raises struct.error on another length: our bug."""
    return [SeenItem(*fields) for fields in _SEEN.iter_unpack(data)]


class FeedState(State, frozen=True):
    """One feed's row. Instants: ms UTC, 0 where never. Counters only grow, unless said otherwise.

    source: as registered. address: where the feed moved to, or empty. next_poll_ms: when it is due; from a release
    on, when its answer is given up as lost. released_ms, polls: the last release and how many there were; answered:
    whether that one's answer came; urgent: whether it went before others, as the pages it finds will.
    not_before_ms: a publisher's Retry-After, obeyed even by a push.
    etag, last_modified: opaque, as received; body_hash: 64 bits of the last body that was parsed.
    seen: `pack_seen` of the items last met. document_items: entries in the last document.
    count, exposure_h: new items and hours observed, both decayed to rated_ms; hourly: 168 little-endian float16, the
    same by hour of the week (Monday 00:00 UTC first), or empty.
    failures: in a row, 0 after a success. reason: of the last failure, or what is odd about the last document; empty.
    unmodified: 304s in a row. useless: bodies in a row whose validators were new and whose items were not;
    validators_useless: they are no longer sent.
    guids_useless: one guid stood for several items once: items are told apart by link. stamps_useless: items change
    their time at every poll: it says nothing.
    moved_to, moved_since_ms: where permanent redirects lead, and since when; not yet believed.
    signalled_ms: the last wish to be polled soon. hub, topic: WebSub's links in the last document.
    pending: page requests held for later.
    """

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
