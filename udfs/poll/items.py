"""Which entries of a document are new, which have changed, and what is remembered of them. No clock, no I/O.

An entry is known by its identity, else by its page: a site that renumbers its guids or moves to https brings nothing
new. A known one has changed when its title or its latest instant differs from what was remembered.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from state_schemas.fetching import Entry
from state_schemas.ids import hash64
from state_schemas.polling import SeenItem, pack_seen, unpack_seen
from udfs.feeds.identity import page_address
from udfs.poll.policy import PollPolicy


@dataclass(frozen=True, slots=True)
class Difference:
    """A document against what was remembered. new, changed: entries in document order, without overlap.

    seen: what to remember, packed. overlap: how many entries were known. stamps_restless: so many known entries have
    a new time under an old title that their times tell nothing.
    """

    new: tuple[Entry, ...]
    changed: tuple[Entry, ...]
    seen: bytes
    overlap: int
    stamps_restless: bool


def difference(seen: bytes, entries: tuple[Entry, ...], policy: PollPolicy, *, trust_stamps: bool) -> Difference:
    """Compare entries (with their identities set) with packed `seen`.

    Changed entries beyond `rechecks_a_poll` are left for the next poll: they stay remembered as they were.
    """
    remembered = unpack_seen(seen)
    by_identity = {item.identity: item for item in remembered}
    by_link = {item.link: item for item in remembered if item.link}
    shared = Counter(page_address(entry.link) for entry in entries if entry.link)

    known: list[tuple[Entry, SeenItem, SeenItem]] = []
    new: list[Entry] = []
    kept: list[SeenItem] = []
    for entry in entries:
        now = _seen(entry, alone=shared[page_address(entry.link)] == 1 if entry.link else False)
        before = by_identity.get(now.identity) or by_link.get(now.link)
        if before is None:
            new.append(entry)
        else:
            known.append((entry, before, now))
        kept.append(now)

    restless = sum(1 for _, before, now in known if before.stamp != now.stamp and before.title == now.title)
    stamps_restless = trust_stamps and restless >= 3 and restless >= policy.stamps_restless_share * len(known)
    changed: list[Entry] = []
    late: dict[int, SeenItem] = {}
    for entry, before, now in known:
        moved = trust_stamps and not stamps_restless and before.stamp != now.stamp
        if before.title == now.title and not moved:
            continue
        if len(changed) < policy.rechecks_a_poll:
            changed.append(entry)
        else:
            late[now.identity] = now._replace(title=before.title, stamp=before.stamp)

    kept = [late.get(item.identity, item) for item in kept]
    identities, links = {item.identity for item in kept}, {item.link for item in kept if item.link}
    kept += [item for item in remembered if item.identity not in identities and item.link not in links]
    return Difference(
        new=tuple(new),
        changed=tuple(changed),
        seen=pack_seen(kept[: max(policy.remembered, len(entries))]),
        overlap=len(known),
        stamps_restless=stamps_restless,
    )


def _seen(entry: Entry, *, alone: bool) -> SeenItem:
    """What to remember of an entry. alone: no other entry of the document has its link, so that it identifies."""
    latest = max((at for at in (entry.published_ms, entry.updated_ms) if at is not None), default=None)
    return SeenItem(
        identity=int(entry.identity, 16),
        link=(hash64(page_address(entry.link)) & 0xFFFFFFFF) if alone else 0,
        title=(hash64(entry.title) & 0xFFFF) if entry.title else 0,
        stamp=0 if latest is None else hash64(str(latest)) & 0xFFFF,
    )
