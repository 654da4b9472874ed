"""Which entries of a document are new, which have changed, and what is remembered of them. No clock, no I/O.

An entry is known by its identity, else by its page: a site that renumbers its guids or moves to https brings nothing
new. Where both change at every poll, most entries are those of the last document by title and date, and no news.
A known one has changed when its title or its latest instant differs from what was remembered.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from state_schemas.fetching import Entry
from state_schemas.ids import hash64
from state_schemas.polling import SeenItem, pack_seen, unpack_seen
from udfs.feeds.document import Known
from udfs.feeds.identity import page_address
from udfs.poll.policy import PollPolicy


@dataclass(frozen=True, slots=True)
class Difference:
    """A document against what was remembered. new, announced, changed: entries in document order, without overlap.

    announced: a push named their page, which was asked for already; nothing else of them was known.
    seen: what to remember, packed. overlap: how many entries were known. guids_restless: so many of these are known by
    their page alone that guids tell nothing. stamps_restless: so many known entries have a new time under an old title
    that their times tell nothing.
    """

    new: tuple[Entry, ...]
    announced: tuple[Entry, ...]
    changed: tuple[Entry, ...]
    seen: bytes
    overlap: int
    guids_restless: bool
    stamps_restless: bool


def difference(
    seen: bytes,
    entries: tuple[Entry, ...],
    policy: PollPolicy,
    *,
    trust_stamps: bool,
    trust_titles: bool = True,
    one_of_several: bool = False,
) -> Difference:
    """Compare entries (with their identities set) with packed `seen`.

    trust_titles: a new title is a change; not so on a front page, where every place has its own wording.
    one_of_several: the document is one of a sitemap index's, so that what it does not list may be listed beside it.
    Changed entries beyond `rechecks_a_poll` are left for the next poll: they stay remembered as they were.
    """
    remembered = unpack_seen(seen)
    by_identity = {item.identity: item for item in remembered}
    by_link = {item.link: item for item in remembered if item.link}
    pages = [page_address(entry.link) if entry.link else "" for entry in entries]
    shared = Counter(pages)

    known: list[tuple[Entry, SeenItem, SeenItem]] = []
    new: list[tuple[Entry, SeenItem]] = []
    kept: list[SeenItem] = []
    announced: list[Entry] = []
    by_page_alone = 0
    for entry, page in zip(entries, pages, strict=True):
        now = _seen(entry, page if shared[page] == 1 else "")
        before = by_identity.get(now.identity)
        if before is None:
            before = by_link.get(now.link)
            if before is not None and before.identity == _announced(page).identity:
                announced.append(entry)
                kept.append(now)
                continue
            by_page_alone += before is not None
        if before is None:
            new.append((entry, now))
        else:
            known.append((entry, before, now))
        kept.append(now)
    new, again = _met_again(new, remembered, len(entries), policy)
    known += again

    # An item that left the document is remembered by its identity alone: what it was like is not known.
    was = [(before, now) for _, before, now in known if before.whole]
    restless = sum(1 for before, now in was if before.stamp != now.stamp and before.title == now.title)
    stamps_restless = trust_stamps and restless >= 3 and restless >= policy.restless_share * len(was)
    changed: list[Entry] = []
    late: dict[int, SeenItem] = {}
    for entry, before, now in known:
        moved = trust_stamps and not stamps_restless and before.stamp != now.stamp
        if not before.whole:
            continue
        if not (trust_titles and before.title != now.title) and not moved:
            continue
        if len(changed) < policy.rechecks_a_poll:
            changed.append(entry)
        else:
            late[now.identity] = now._replace(title=before.title, stamp=before.stamp)

    kept = [late.get(item.identity, item) for item in kept]
    identities, links = {item.identity for item in kept}, {item.link for item in kept if item.link}
    beside = [item for item in remembered if item.identity not in identities and item.link not in links]
    if one_of_several:
        most = policy.remembered_index
        whole = len(kept) + sum(1 for item in beside if item.link)
    else:
        most, whole = max(policy.remembered, len(kept)), len(kept)
    return Difference(
        new=tuple(entry for entry, _ in new),
        announced=tuple(announced),
        changed=tuple(changed),
        seen=pack_seen((kept + beside)[:most], min(whole, most)),
        overlap=len(known) + len(announced),
        guids_restless=by_page_alone >= 3 and by_page_alone >= policy.restless_share * len(known),
        stamps_restless=stamps_restless,
    )


def as_before(seen: bytes) -> Known:
    """Tells of an entry by its guid, title and times whether it is as it was remembered: the reader may be brief."""
    looks = {item.identity: (item.title, item.stamp) for item in unpack_seen(seen) if item.title}

    def known(guid: str, title: str, published_ms: int | None, updated_ms: int | None) -> bool:
        return looks.get(hash64(guid)) == (_title_hash(title), _stamp_hash(published_ms, updated_ms))

    return known


def announcement(link: str) -> SeenItem:
    """What is remembered of a page that a push named, until its feed lists it."""
    return _announced(page_address(link))


def link_hash(link: str) -> int:
    """What is remembered of a link."""
    return _page_hash(page_address(link))


def _announced(page: str) -> SeenItem:
    return SeenItem(identity=hash64(f"announced {page}"), link=_page_hash(page))


def _page_hash(page: str) -> int:
    return hash64(page) & 0xFFFFFFFF


def _met_again(
    new: list[tuple[Entry, SeenItem]], remembered: list[SeenItem], entries: int, policy: PollPolicy
) -> tuple[list[tuple[Entry, SeenItem]], list[tuple[Entry, SeenItem, SeenItem]]]:
    """Of entries with new identities and pages, those that are new, and those known by title and date.

    Only where they make up most of a document: one item of the same title and date may be another.
    """
    looks = {(item.title, item.stamp): item for item in remembered if item.title}
    again = [(entry, before, now) for entry, now in new if now.title and (before := looks.get((now.title, now.stamp)))]
    if len(again) < 3 or len(again) < policy.restless_share * entries:
        return new, []
    found = {entry.identity for entry, _, _ in again}
    return [each for each in new if each[0].identity not in found], again


def _seen(entry: Entry, page: str) -> SeenItem:
    """What to remember of an entry. page: its page's address, where no other entry of the document has the same."""
    return SeenItem(
        identity=int(entry.identity, 16),
        link=_page_hash(page) if page else 0,
        title=_title_hash(entry.title),
        stamp=_stamp_hash(entry.published_ms, entry.updated_ms),
    )


def _title_hash(title: str) -> int:
    return (hash64(title) & 0xFFFF) if title else 0


def _stamp_hash(published_ms: int | None, updated_ms: int | None) -> int:
    """Of the latest instant that an item gives itself."""
    latest = max((at for at in (published_ms, updated_ms) if at is not None), default=None)
    return 0 if latest is None else hash64(str(latest)) & 0xFFFF
