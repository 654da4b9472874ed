"""What is remembered of pages, so that checking one again costs its publisher little, and the line nothing where it
is as it was.

Decides which validators a re-check carries and whether the body that came is news. Never asks, sends or tells time.
The fetcher owns its hosts, so what it remembers of them is the last that was told; it forgets all when hosts leave.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from connectors.headers import date_ms
from state_schemas.codec import encode_record
from state_schemas.fetching import Entry, FetchRequest
from state_schemas.ids import hash64

# Validators are opaque and short; a longer one is not worth its room. Characters.
_VALIDATOR_CHARS = 256


class _Page(msgspec.Struct, frozen=True, gc=False):
    """body, entry: 64-bit hashes of the last body sent and of the entry beside it, 0 for none. unmodified: 304s since
    the last body."""

    body: int
    entry: int = 0
    etag: str = ""
    last_modified: str = ""
    unmodified: int = 0


class PageMemory:
    """The last `size` pages fetched or checked. A page is known by the address asked for."""

    def __init__(self, size: int, unmodified_run: int) -> None:
        self._size = size
        self._unmodified_run = unmodified_run
        self._pages: OrderedDict[int, _Page] = OrderedDict()

    def __len__(self) -> int:
        return len(self._pages)

    def conditional(self, request: FetchRequest) -> FetchRequest:
        """The request as it is to be asked: a re-check carries the validators of the body that was last sent.

        Not where its entry says what that body was not sent with, for the entry may be all that the article is made
        of; and not after a run of 304s, because constant validators would hide every change for good.
        """
        if request.kind != "page" or not request.recheck:
            return request
        page = self._pages.get(hash64(request.url))
        if page is None or page.unmodified >= self._unmodified_run or _entry(request.entry) not in (0, page.entry):
            return request
        return replace(request, etag=page.etag, last_modified=page.last_modified)

    def holds(self, request: FetchRequest, body: int) -> bool:
        """Whether the request is a re-check, and its body (a `digest`) and entry are those that were last sent."""
        page = self._pages.get(hash64(request.url))
        return request.recheck and page is not None and page.body == body and _entry(request.entry) in (0, page.entry)

    def keep(self, request: FetchRequest, body: int, headers: Mapping[str, str]) -> None:
        """A page was read whole, and the line has it. headers: of its answer."""
        key = hash64(request.url)
        before = self._pages.pop(key, None)
        if len(self._pages) >= self._size:
            self._pages.popitem(last=False)
        last_modified = headers.get("last-modified", "")
        modified, sent = date_ms(last_modified), date_ms(headers.get("date", ""))
        if modified is not None and sent is not None and modified > sent:
            last_modified = ""  # it would hide every later change (RFC 9110, 8.8.2.1 forbids it)
        self._pages[key] = _Page(
            body=body,
            entry=_entry(request.entry) or (before.entry if before is not None else 0),
            etag=_bounded(headers.get("etag", "")),
            last_modified=_bounded(last_modified),
        )

    def unmodified(self, request: FetchRequest) -> None:
        """The answer to a conditional request was 304."""
        key = hash64(request.url)
        page = self._pages.get(key)
        if page is not None:
            self._pages[key] = replace(page, unmodified=page.unmodified + 1)
            self._pages.move_to_end(key)

    def forget(self, request: FetchRequest) -> None:
        """The page was taken back: should the same bytes return, they are news."""
        self._pages.pop(hash64(request.url), None)

    def clear(self) -> None:
        """Hosts went to another fetcher: what it tells of them is not known here."""
        self._pages.clear()


def digest(body: bytes) -> int:
    """64 bits that tell a body from another, never 0."""
    return int.from_bytes(blake2b(body, digest_size=8).digest(), "big") or 1


def _entry(entry: Entry | None) -> int:
    """The hash of what an entry says; its times are left out, for some feeds renew them at every poll."""
    return 0 if entry is None else digest(encode_record(replace(entry, published_ms=None, updated_ms=None)))


def _bounded(validator: str) -> str:
    return validator if len(validator) <= _VALIDATOR_CHARS else ""
