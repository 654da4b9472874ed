"""Makes an earlier version of a page count again, and keeps ranking from moving it for a while.

Refuses a version that shows an article that was retracted since; looks for tombstones before and after the move, since
publishing writes them before it looks at pages. Everything is in the object store: neither Kafka nor Flink is needed.
"""

from __future__ import annotations

import contextlib
from hashlib import sha256

from msgspec.structs import replace

from connectors.objects import ObjectConflictError, Objects
from state_schemas.codec import DecodeError, decode_record
from state_schemas.pages import Page, Pointer, page_key
from udfs.publish.decide import PublishPolicy
from udfs.publish.purge import retracted_among
from udfs.publish.versions import put_pointer, read_pointer


class RollbackError(ValueError):
    """The page cannot be rolled back: the message says why, and what to do."""


async def roll_back(
    objects: Objects, edition: str, section: str, to: int | None, pinned_until_ms: int, policy: PublishPolicy
) -> Pointer:
    """Point at version `to` (None: the one before the version that counts) until `pinned_until_ms`, ms UTC.

    Raises RollbackError, ObjectStoreError.
    """
    for _ in range(policy.tries):
        current, etag = await _current(objects, edition, section)
        version = to if to is not None else await _before(objects, current)
        data, page = await _version(objects, edition, section, version)
        await _refuse_retracted(objects, page)
        wanted = replace(
            current,
            version=version,
            object=page_key(edition, section, version),
            sha256=sha256(data).hexdigest(),
            cycle=page.cycle,
            sequence=current.sequence + 1,
            marks=("rolled_back",),
            pinned_until_ms=pinned_until_ms,
        )
        try:
            moved_to = await put_pointer(objects, wanted, etag)
        except ObjectConflictError:
            continue
        try:
            await _refuse_retracted(objects, page)
        except RollbackError:
            # Where publishing was there first, it took the article off the page that this made count.
            with contextlib.suppress(ObjectConflictError):
                await put_pointer(objects, replace(current, sequence=wanted.sequence + 1), moved_to)
            raise
        return wanted
    raise RollbackError(f"the pointer of {edition}/{section} is moved by others all the time: try again")


async def release(objects: Objects, edition: str, section: str, policy: PublishPolicy) -> Pointer:
    """End the pin: the next cycle's page counts. Raises RollbackError, ObjectStoreError."""
    for _ in range(policy.tries):
        current, etag = await _current(objects, edition, section)
        wanted = replace(current, pinned_until_ms=0, sequence=current.sequence + 1)
        try:
            await put_pointer(objects, wanted, etag)
        except ObjectConflictError:
            continue
        return wanted
    raise RollbackError(f"the pointer of {edition}/{section} is moved by others all the time: try again")


async def _current(objects: Objects, edition: str, section: str) -> tuple[Pointer, str]:
    pointer, etag = await read_pointer(objects, edition, section)
    if pointer is None:
        raise RollbackError(f"no page {edition}/{section}; `broadsheet pages list` shows those there are")
    return pointer, etag


async def _before(objects: Objects, current: Pointer) -> int:
    listed = await objects.list(f"pages/{current.edition}/{current.section}")
    names = (entry.key.rpartition("/v")[2] for entry in listed)
    earlier = [int(name) for name in names if name.isdecimal() and int(name) < current.version]
    if not earlier:
        raise RollbackError(f"{current.edition}/{current.section} has no version before v{current.version}")
    return max(earlier)


async def _version(objects: Objects, edition: str, section: str, version: int) -> tuple[bytes, Page]:
    stored = await objects.get(page_key(edition, section, version))
    if stored is None:
        raise RollbackError(f"{edition}/{section} has no version {version}")
    try:
        return stored.data, decode_record(Page, stored.data)
    except DecodeError as error:
        raise RollbackError(f"{edition}/{section} v{version} cannot be read: {error}") from None


async def _refuse_retracted(objects: Objects, page: Page) -> None:
    retracted = await retracted_among(objects, page)
    if retracted:
        shown = f"{page.edition}/{page.section} v{page.version}"
        raise RollbackError(f"{shown} shows what was retracted since ({', '.join(retracted)}); choose another --to")
