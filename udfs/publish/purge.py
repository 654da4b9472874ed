"""Takes retracted articles off pages at once: tombstones written, pages that show them replaced, whatever ranking does.

The next cycle's page seldom shows them, but it may be refused (too short), held back (a pin), or not come at all (a
section's only story is gone): then the page that is out loses the article here. Tombstones are written first, so that
who moves a pointer and looks for them afterwards misses none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Sequence
from hashlib import sha256

from connectors.objects import ObjectConflictError, Objects
from state_schemas.codec import DecodeError, decode_record, encode_record
from state_schemas.pages import Page, Tombstone, page_key, pointed_section, tombstone_key
from state_schemas.ranking import PublishedPage
from udfs.publish.decide import PublishPolicy, digest, purged, shows, without
from udfs.publish.versions import put_pointer, read_page, read_pointer, write_version


async def keep_tombstones(objects: Objects, tombstones: Sequence[Tombstone], policy: PublishPolicy) -> None:
    """Write each, unless a later word on its article is there. Raises ObjectStoreError, ObjectConflictError."""
    gate = asyncio.Semaphore(policy.in_flight)

    async def one(tombstone: Tombstone) -> None:
        async with gate:
            await _keep(objects, tombstone)

    await asyncio.gather(*(one(tombstone) for tombstone in tombstones))


async def _keep(objects: Objects, tombstone: Tombstone) -> None:
    key, data = tombstone_key(tombstone.article_id), encode_record(tombstone)
    try:
        await objects.create(key, data)
        return
    except ObjectConflictError:
        pass
    stored = await objects.get(key)
    if stored is not None and stored.data != data and _decided_ms(stored.data) <= tombstone.decided_ms:
        await objects.replace(key, data, stored.etag)


def _decided_ms(data: bytes) -> int:
    try:
        return decode_record(Tombstone, data).decided_ms
    except DecodeError:
        return 0  # not ours to read: replaced


async def retracted_among(objects: Objects, page: Page) -> tuple[str, ...]:
    """The articles a page shows that have a tombstone, in their order. Raises ObjectStoreError, DecodeError."""
    links = (link for story in page.stories for link in (story.representative, *story.supporting))
    articles = list(dict.fromkeys(link.article_id for link in links))
    stored = await asyncio.gather(*(objects.get(tombstone_key(article)) for article in articles))
    found = ((article, one) for article, one in zip(articles, stored, strict=True) if one is not None)
    return tuple(article for article, one in found if decode_record(Tombstone, one.data).retracted)


async def sections_showing(objects: Objects, edition: str, gone: Container[str]) -> tuple[str, ...]:
    """The edition's sections whose page, as it is out now, shows any of these articles. Raises ObjectStoreError."""
    listed = await objects.list(f"latest/{edition}")
    sections = [section for section in (pointed_section(entry.key) for entry in listed) if section]

    async def showing(section: str) -> bool:
        pointer, _ = await read_pointer(objects, edition, section)
        page = await read_page(objects, pointer)
        return page is not None and shows(page, gone)

    held = await asyncio.gather(*(showing(section) for section in sections))
    return tuple(section for section, one in zip(sections, held, strict=True) if one)


async def purge(
    objects: Objects,
    edition: str,
    section: str,
    gone: Container[str],
    known: PublishedPage | None,
    policy: PublishPolicy,
) -> PublishedPage | None:
    """Replace the page that is out by one without these articles, a pinned one too; None where it shows none of them.

    Raises ObjectStoreError, and ObjectConflictError where somebody else moves the pointer each time.
    """
    for _ in range(policy.tries):
        pointer, etag = await read_pointer(objects, edition, section)
        page = await read_page(objects, pointer)
        if pointer is None or page is None or not shows(page, gone):
            return None
        last = max(pointer.version, known.version if known else 0)
        numbered, data = await write_version(objects, without(page, gone), last)
        key = page_key(edition, section, numbered.version)
        try:
            moved_to = await put_pointer(objects, purged(pointer, numbered, key, sha256(data).hexdigest()), etag)
        except ObjectConflictError:
            continue
        cycle = known.cycle if known else pointer.cycle
        return PublishedPage(numbered.version, digest(numbered), len(numbered.stories), cycle, moved_to)
    raise ObjectConflictError(f"{edition}/{section}")
