"""Carries an edition's cycle into the object store: versions written if absent, pointers by compare-and-set.

Holds no rule of its own (decide.py) and no Flink. Objects are written at least once and never overwritten: after a
restart the next free version is taken, and the pointer says which one counts.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from connectors.objects import ObjectConflictError, Objects, ObjectStoreError
from state_schemas.codec import DecodeError, decode_record, encode_record
from state_schemas.pages import CycleMark, EditionPages, Page, Tombstone, cycle_key, page_key, pointer_key
from state_schemas.ranking import PublishedEdition, PublishedPage
from udfs.publish.decide import PublishPolicy, digest, moved, refusal
from udfs.publish.purge import keep_tombstones, purge, sections_showing
from udfs.publish.versions import put_pointer, read_page, read_pointer, write_version


@dataclass(slots=True)
class Published:
    """What became of one edition's cycle; `edition` is the state to keep.

    invalid: section -> why the page itself must not go live. refused: section -> why it could not be (pinned, a newer
    cycle, the store). purged: pages that only lost a retracted article.
    """

    edition: PublishedEdition
    invalid: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    written: int = 0
    unchanged: int = 0
    purged: int = 0


async def publish(
    objects: Objects, cycle: EditionPages, known: PublishedEdition | None, now_ms: int, policy: PublishPolicy
) -> Published:
    """Publish every page of the cycle that may go live; never raises for a store that is down or slow.

    known: the state after the last cycle. A cycle at or before it is dropped: it was published already.
    """
    if known is not None and cycle.cycle <= known.cycle:
        return Published(known)
    tombstones = _uncleared(known, cycle)
    gone = frozenset(one.article_id for one in tombstones if one.retracted)
    result = Published(
        PublishedEdition(cycle.cycle, dict(known.pages) if known else {}, tuple(map(_stored, tombstones)))
    )
    gate = asyncio.Semaphore(policy.in_flight)
    held: tuple[str, ...] = ()

    async def one(page: Page) -> None:
        async with gate:
            await _page(objects, page, result, now_ms, policy, retracted=page.section in held)

    try:
        async with asyncio.timeout(policy.deadline_ms / 1000):
            if tombstones:
                await keep_tombstones(objects, tombstones, policy)
            if gone:
                held = await sections_showing(objects, cycle.edition, gone)
            await _forget_moved(objects, cycle.edition, result.edition)
            await asyncio.gather(*(one(page) for page in cycle.pages))
            for section in held:
                left = await purge(objects, cycle.edition, section, gone, result.edition.pages.get(section), policy)
                if left is not None:
                    result.edition.pages[section] = left
                    result.purged += 1
            result.edition = msgspec.structs.replace(result.edition, uncleared=())
            await _mark(objects, cycle.edition, result.edition)
    except TimeoutError:
        result.refused["_cycle"] = "deadline_passed"
    except ObjectConflictError as error:
        result.refused["_cycle"] = f"pointer_contended: {error}"
    except ObjectStoreError as error:
        result.refused["_cycle"] = f"store_failed: {error}"
    return result


def _uncleared(known: PublishedEdition | None, cycle: EditionPages) -> tuple[Tombstone, ...]:
    """What this cycle brings, and what an earlier one could not see to; the latest word on each article."""
    before = known.uncleared if known is not None else ()
    found = {
        article: Tombstone(article_id=article, retracted=retracted, decided_ms=at_ms, reason=reason, language=language)
        for article, retracted, at_ms, reason, language in before
    }
    found |= {one.article_id: one for one in cycle.tombstones}
    return tuple(found.values())


def _stored(one: Tombstone) -> tuple[str, bool, int, str, str]:
    return one.article_id, one.retracted, one.decided_ms, one.reason, one.language


async def _forget_moved(objects: Objects, edition: str, done: PublishedEdition) -> None:
    """A pointer that somebody else moved (a rollback) is not known any more: an unchanged page must go out again."""
    etags = {entry.key: entry.etag for entry in await objects.list(f"latest/{edition}")}
    for section, page in done.pages.items():
        if page.etag and etags.get(pointer_key(edition, section)) != page.etag:
            done.pages[section] = msgspec.structs.replace(page, digest="", etag="")


async def _page(
    objects: Objects, page: Page, result: Published, now_ms: int, policy: PublishPolicy, *, retracted: bool
) -> None:
    known = result.edition.pages.get(page.section)
    seen = digest(page)
    if known is not None and known.digest == seen:
        result.unchanged += 1
        result.edition.pages[page.section] = msgspec.structs.replace(known, cycle=page.cycle)
        return
    try:
        pointer, etag = await read_pointer(objects, page.edition, page.section)
        if known is not None:
            shown = known.stories
        else:
            last = await read_page(objects, pointer)
            shown = len(last.stories) if last is not None else 0
        since = known.cycle if known else pointer.cycle if pointer else 0
        reason = refusal(page, shown, since, policy)
        if reason is not None:
            result.invalid[page.section] = reason
            return
        early = moved(pointer, page, "", "", now_ms)
        if isinstance(early, str):
            # Before anything is written: a page pinned for a day would leave 1,440 versions that nobody reads.
            result.refused[page.section] = early
            return
        numbered, data = await write_version(
            objects, page, max(known.version if known else 0, pointer.version if pointer else 0)
        )
        key = page_key(page.edition, page.section, numbered.version)
        marks = ("retracted",) if retracted else ()
        for _ in range(policy.tries):
            wanted = moved(pointer, numbered, key, sha256(data).hexdigest(), now_ms, marks)
            if isinstance(wanted, str):
                result.refused[page.section] = wanted
                return
            try:
                etag = await put_pointer(objects, wanted, etag)
            except ObjectConflictError:
                # Somebody rolled back, pinned, or took over: read again, decide again.
                pointer, etag = await read_pointer(objects, page.edition, page.section)
                continue
            result.edition.pages[page.section] = PublishedPage(
                numbered.version, seen, len(page.stories), page.cycle, etag
            )
            result.written += 1
            return
        result.refused[page.section] = "pointer_contended"
    except ObjectStoreError as error:
        result.refused[page.section] = f"store_failed: {error}"


async def _mark(objects: Objects, edition: str, done: PublishedEdition) -> None:
    key = cycle_key(edition)
    stored = await objects.get(key)
    last = None
    if stored is not None:
        with contextlib.suppress(DecodeError):  # not ours to read: replaced
            last = decode_record(CycleMark, stored.data)
    if last is not None and last.cycle >= done.cycle:
        return
    sections = {section: page.cycle for section, page in sorted(done.pages.items())}
    mark = CycleMark(edition=edition, cycle=done.cycle, sequence=last.sequence + 1 if last else 1, sections=sections)
    with contextlib.suppress(ObjectConflictError):  # another writer's mark: it knows better than we do
        data = encode_record(mark)
        await (objects.replace(key, data, stored.etag) if stored else objects.create(key, data))
