"""Page versions and pointers in the object store: read, written if absent, moved by compare-and-set. Decides nothing.

All raise ObjectStoreError where the store does not answer.
"""

from __future__ import annotations

import msgspec

from connectors.objects import ObjectConflictError, Objects
from state_schemas.codec import DecodeError, decode_record, encode_record
from state_schemas.pages import Page, Pointer, page_key, pointer_key


async def read_pointer(objects: Objects, edition: str, section: str) -> tuple[Pointer | None, str]:
    """The pointer and its ETag; None and "" where there is none."""
    stored = await objects.get(pointer_key(edition, section))
    if stored is None:
        return None, ""
    try:
        return decode_record(Pointer, stored.data), stored.etag
    except DecodeError:
        # Not ours to read, so not ours to trust: replaced by a good one, at the ETag that was seen.
        return None, stored.etag


async def read_page(objects: Objects, pointer: Pointer | None) -> Page | None:
    """The page that a pointer names; None where there is none that can be read."""
    stored = await objects.get(pointer.object) if pointer else None
    if stored is None:
        return None
    try:
        return decode_record(Page, stored.data)
    except DecodeError:
        return None


async def write_version(objects: Objects, page: Page, last: int) -> tuple[Page, bytes]:
    """The page under the first free version after `last`, as it was written."""
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


async def put_pointer(objects: Objects, pointer: Pointer, etag: str) -> str:
    """Move the pointer if it still is as it was read; its new ETag. Raises ObjectConflictError if it is not."""
    key, data = pointer_key(pointer.edition, pointer.section), encode_record(pointer)
    return await (objects.replace(key, data, etag) if etag else objects.create(key, data))
