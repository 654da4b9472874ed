"""What the origin serves: follows the pointers and keeps the bytes of every page that counts, ready to send.

One LIST every two seconds finds what moved; a page is swapped in only when its object is there and its SHA-256 is the
pointer's. Whatever fails, the last good page stays. Reading order: Snapshot, PageShelf.refresh.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

import brotli
import structlog

from connectors.objects import Listed, Objects, ObjectStoreError
from state_schemas.codec import DecodeError, decode_record
from state_schemas.pages import CycleMark, Page, Pointer, cycle_key, pointed_section, pointer_key

STALE_AFTER_MS = 600_000  # a page older than this says so (design: ranking down)
BAD_POINTER_REST_MS = 30_000  # an unchanged pointer that leads to no page is looked at again this late
_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Payload:
    """One response body in every encoding offered; `etag` is strong: the hash of the plain bytes."""

    plain: bytes
    gzipped: bytes
    brotlied: bytes
    etag: str

    @classmethod
    def of(cls, plain: bytes) -> Payload:
        """Compress once, serve often. Quality 5 and 6: twice the size of nothing, a tenth of the time of the best."""
        return cls(
            plain=plain,
            gzipped=gzip.compress(plain, 6, mtime=0),
            brotlied=brotli.compress(plain, quality=5),  # type: ignore[no-untyped-call]
            etag=f'"{sha256(plain).hexdigest()[:32]}"',
        )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One page that counts: its pointer, itself, and its two forms."""

    pointer: Pointer
    page: Page
    json: Payload
    html: Payload


@dataclass(slots=True)
class PageShelf:
    """All pages. `render` makes the HTML of a page: (page, cycle ms, minutes of age once stale, else 0) -> bytes."""

    objects: Objects
    render: Callable[[Page, int, int], bytes]
    snapshots: dict[tuple[str, str], Snapshot] = field(default_factory=dict)
    cycles: dict[tuple[str, str], int] = field(default_factory=dict)  # page -> the cycle it was last seen to be right
    refreshed_ms: int = 0
    failures: int = 0
    _etags: dict[str, str] = field(default_factory=dict)
    _bad: dict[str, tuple[str, int]] = field(default_factory=dict)  # pointer -> its ETag, when it led to nothing
    _age_shown: dict[tuple[str, str], int] = field(default_factory=dict)

    async def refresh(self, now_ms: int) -> list[tuple[str, str]]:
        """Take in what moved since the last time; returns the pages swapped in. Never raises for the store's faults."""
        log = structlog.get_logger("origin")
        try:
            listed = await self.objects.list("latest")
        except ObjectStoreError as error:
            self.failures += 1
            log.warning("pointers_not_listed", reason=str(error))
            self._say_age(now_ms)
            return []
        changed = [
            entry
            for entry in listed
            if self._etags.get(entry.key) != entry.etag and not self._rests(entry.key, entry.etag, now_ms)
        ]
        gate = asyncio.Semaphore(_AT_ONCE)
        swapped: list[tuple[str, str]] = []

        async def one(entry: Listed) -> None:
            async with gate:
                try:
                    page = await self._take(entry.key)
                except ObjectStoreError as error:
                    reason = str(error)
                except DecodeError as error:
                    reason = str(error)
                    self._bad[entry.key] = (entry.etag, now_ms)
                except Exception as error:
                    # A page that cannot be rendered (an edition that is no more, an instant out of range) must not
                    # end the loop that all other pages come by.
                    reason = f"{type(error).__name__}: {error}"
                    self._bad[entry.key] = (entry.etag, now_ms)
                else:
                    self._bad.pop(entry.key, None)
                    if page is not None:
                        swapped.append(page)
                    return
                self.failures += 1
                log.warning("page_not_taken", pointer=entry.key, reason=reason)

        await asyncio.gather(*(one(entry) for entry in changed))
        self._drop_gone({entry.key for entry in listed})
        self.refreshed_ms = now_ms
        self._say_age(now_ms)
        return swapped

    def _rests(self, key: str, etag: str, now_ms: int) -> bool:
        """Whether this very pointer led to nothing a moment ago: thousands such must not cost a request each a turn."""
        seen, at_ms = self._bad.get(key, ("", 0))
        return seen == etag and 0 <= now_ms - at_ms < BAD_POINTER_REST_MS

    def cycle(self, snapshot: Snapshot) -> int:
        """The cycle a page stands for: its own, or a later one that found it unchanged."""
        return max(snapshot.page.cycle, self.cycles.get((snapshot.page.edition, snapshot.page.section), 0))

    def sections(self, edition: str) -> list[str]:
        """Sections of an edition that have a page."""
        return [section for name, section in self.snapshots if name == edition]

    async def _take(self, key: str) -> tuple[str, str] | None:
        stored = await self.objects.get(key)
        if stored is None:
            return None
        edition = key.removeprefix("latest/").partition("/")[0]
        if not pointed_section(key):
            if key == cycle_key(edition):
                mark = decode_record(CycleMark, stored.data)
                self.cycles |= {(edition, name): cycle for name, cycle in mark.sections.items()}
            self._etags[key] = stored.etag
            return None
        pointer = decode_record(Pointer, stored.data)
        found = await self.objects.get(pointer.object)
        if found is None:
            raise DecodeError("object_missing", pointer.object)
        if sha256(found.data).hexdigest() != pointer.sha256:
            raise DecodeError("sha256_differs", pointer.object)
        page = decode_record(Page, found.data)
        place = (pointer.edition, pointer.section)
        if key != pointer_key(*place) or (page.edition, page.section) != place:
            raise DecodeError("page_misplaced", f"{pointer.object} is {page.edition}/{page.section}")
        html = Payload.of(self.render(page, max(page.cycle, pointer.cycle), 0))
        self.snapshots[place] = Snapshot(pointer, page, Payload.of(found.data), html)
        self._age_shown.pop(place, None)
        self._etags[key] = stored.etag
        return place

    def _drop_gone(self, keys: set[str]) -> None:
        # A pointer is never deleted in service; an emptied bucket must not take the last good pages with it.
        for known in (self._etags, self._bad):
            for key in known.keys() - keys:
                del known[key]

    def _say_age(self, now_ms: int) -> None:
        for place, snapshot in self.snapshots.items():
            cycle = self.cycle(snapshot)
            minutes = (now_ms - cycle) // 60_000 if now_ms - cycle > STALE_AFTER_MS else 0
            if minutes != self._age_shown.get(place, 0):
                self._age_shown[place] = minutes
                try:
                    html = Payload.of(self.render(snapshot.page, cycle, minutes))
                except Exception as error:
                    # Such as a heartbeat's cycle that is no instant: the page stays as it was rendered last.
                    structlog.get_logger("origin").warning(
                        "age_not_shown", page="/".join(place), reason=f"{type(error).__name__}: {error}"
                    )
                    continue
                self.snapshots[place] = Snapshot(snapshot.pointer, snapshot.page, snapshot.json, html)
