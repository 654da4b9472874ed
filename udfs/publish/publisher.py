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
from state_schemas.pages import CycleMark, EditionPages, Page, Pointer, cycle_key, page_key, pointer_key
from state_schemas.ranking import PublishedEdition, PublishedPage
from udfs.publish.decide import PublishPolicy, digest, moved, refusal


@dataclass(slots=True)
class Published:
    """What became of one edition's cycle; `edition` is the state to keep.

    invalid: section -> why the page itself must not go live. refused: section -> why it could not be (pinned, a newer
    cycle, the store).
    """

    edition: PublishedEdition
    invalid: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    written: int = 0
    unchanged: int = 0


async def publish(
    objects: Objects, cycle: EditionPages, known: PublishedEdition | None, now_ms: int, policy: PublishPolicy
) -> Published:
    """Publish every page of the cycle that may go live; never raises for a store that is down or slow.

    known: the state after the last cycle. A cycle at or before it is dropped: it was published already.
    """
    if known is not None and cycle.cycle <= known.cycle:
        return Published(known)
    result = Published(PublishedEdition(cycle.cycle, dict(known.pages) if known else {}))
    gate = asyncio.Semaphore(policy.in_flight)

    async def one(page: Page) -> None:
        async with gate:
            await _page(objects, page, result, now_ms, policy)

    try:
        async with asyncio.timeout(policy.deadline_ms / 1000):
            await asyncio.gather(*(one(page) for page in cycle.pages))
            await _mark(objects, cycle.edition, result.edition)
    except TimeoutError:
        result.refused["_cycle"] = "deadline_passed"
    except ObjectStoreError as error:
        result.refused["_cycle"] = f"store_failed: {error}"
    return result


async def _page(objects: Objects, page: Page, result: Published, now_ms: int, policy: PublishPolicy) -> None:
    known = result.edition.pages.get(page.section)
    seen = digest(page)
    if known is not None and known.digest == seen:
        result.unchanged += 1
        result.edition.pages[page.section] = msgspec.structs.replace(known, cycle=page.cycle)
        return
    try:
        pointer, etag = await _pointer(objects, page)
        shown = known.stories if known else await _stories(objects, pointer)
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
        numbered, data = await _write_version(
            objects, page, max(known.version if known else 0, pointer.version if pointer else 0)
        )
        key = page_key(page.edition, page.section, numbered.version)
        for _ in range(policy.tries):
            wanted = moved(pointer, numbered, key, sha256(data).hexdigest(), now_ms)
            if isinstance(wanted, str):
                result.refused[page.section] = wanted
                return
            try:
                await _put_pointer(objects, wanted, etag)
            except ObjectConflictError:
                # Somebody rolled back, pinned, or took over: read again, decide again.
                pointer, etag = await _pointer(objects, page)
                continue
            result.edition.pages[page.section] = PublishedPage(numbered.version, seen, len(page.stories), page.cycle)
            result.written += 1
            return
        result.refused[page.section] = "pointer_contended"
    except ObjectStoreError as error:
        result.refused[page.section] = f"store_failed: {error}"


async def _pointer(objects: Objects, page: Page) -> tuple[Pointer | None, str]:
    stored = await objects.get(pointer_key(page.edition, page.section))
    if stored is None:
        return None, ""
    try:
        return decode_record(Pointer, stored.data), stored.etag
    except DecodeError:
        # Not ours to read, so not ours to trust: replaced by a good one, at the ETag that was seen.
        return None, stored.etag


async def _stories(objects: Objects, pointer: Pointer | None) -> int:
    stored = await objects.get(pointer.object) if pointer else None
    if stored is None:
        return 0
    try:
        return len(decode_record(Page, stored.data).stories)
    except DecodeError:
        return 0


async def _write_version(objects: Objects, page: Page, last: int) -> tuple[Page, bytes]:
    version = last + 1
    while True:
        numbered = msgspec.structs.replace(page, version=version)
        data = encode_record(numbered)
        try:
            await objects.create(page_key(page.edition, page.section, version), data)
        except ObjectConflictError:
            # Left by a try whose pointer never moved. Doubling steps find a free one in a few requests.
            version += max(1, version - last)
            continue
        return numbered, data


async def _put_pointer(objects: Objects, pointer: Pointer, etag: str) -> str:
    key, data = pointer_key(pointer.edition, pointer.section), encode_record(pointer)
    return await (objects.replace(key, data, etag) if etag else objects.create(key, data))


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
