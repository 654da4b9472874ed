"""The raw evidence that `bench parse` offers: real pages under fresh URLs with small edits, so none is a duplicate.

Of a page only what names it is touched: rel=canonical and og:url go, so that the address it was read at counts, and its
title gets a word more. Without captured pages it is those of the generated press. Nothing here is measured.
"""

from __future__ import annotations

import gzip
import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec

from cli.bench import press_items
from state_schemas.codec import pack_text
from state_schemas.fetching import Body, RawItem
from state_schemas.sources import Origin
from udfs.articles.canonical import TrackingParameters, clean
from udfs.articles.extract import Extraction, extract_page

_OWN_ADDRESS = re.compile(
    rb"<link[^<>]{0,500}\brel=[\"']?canonical\b[^<>]{0,2000}>|<meta[^<>]{0,500}[\"']og:url[\"'][^<>]{0,2000}>",
    re.IGNORECASE,
)
_SYLLABLES = tuple(first + second for first in "bdfgklmnprst" for second in "aeiou")


@dataclass(frozen=True, slots=True)
class Capture:
    """One captured page: where it was read, its HTML as received, and its title as extraction reads it."""

    item: RawItem
    html: bytes
    title: str


@dataclass(frozen=True, slots=True)
class Supply:
    """Evidence without end: `bases` in turn, each under a URL of its own. html: their pages, unpacked.

    what: for people, where they come from.
    """

    bases: tuple[RawItem, ...]
    html: tuple[bytes, ...]
    what: str

    def item(self, number: int) -> RawItem:
        """The evidence of this number: equal numbers are equal, no two numbers are one article."""
        base = self.bases[number % len(self.bases)]
        url = fresh(base.url, number)
        return msgspec.structs.replace(base, url=url, final_url=url)


def captured(folder: Path, tracking: TrackingParameters, variants: int = 3) -> Supply:
    """The pages of a folder, each in so many edits. Pages that are no article under a fresh URL are left out.

    Raises ValueError where the folder holds none.
    """
    found = list(filter(None, (_usable(capture, tracking) for capture in _captures(folder))))
    if not found:
        raise ValueError(f"{folder}: no page (*.html, *.html.gz) that is an article")
    pages = [edited(capture, word(number)) for number in range(variants) for capture in found]
    items = [
        _packed(capture.item, page)
        for capture, page in zip([capture for _ in range(variants) for capture in found], pages, strict=True)
    ]
    return Supply(tuple(items), tuple(pages[: len(found)]), f"{len(found)} captured pages in {variants} edits")


def generated(count: int) -> Supply:
    """Pages of the generated press; much smaller than real ones."""
    from state_schemas.codec import unpack_bytes

    items = tuple(
        msgspec.structs.replace(item, body=_body(_OWN_ADDRESS.sub(b"", unpack_bytes(item.body.zstd))))
        for item in press_items(count)
        if item.body
    )
    pages = tuple(unpack_bytes(item.body.zstd) for item in items if item.body)
    return Supply(items, pages, f"{len(items)} pages of the generated press")


def fresh(url: str, number: int) -> str:
    """`url` with a word more at the end of its path, one for each number; query and fragment go."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/").rpartition("/")
    name = path[2].rpartition(".")[0] or path[2]
    return urlunsplit((parts.scheme, parts.netloc, f"{path[0]}/{name}-{word(number)}", "", ""))


def word(number: int) -> str:
    """A word of letters for a number, one to one: digits in paths are taken for dates and ids."""
    letters = ""
    while True:
        number, digit = divmod(number, len(_SYLLABLES))
        letters = _SYLLABLES[digit] + letters
        if not number:
            return letters


def edited(capture: Capture, addition: str) -> bytes:
    """The page with a word more in its title, wherever that stands in it, as text, HTML or JSON."""
    page = capture.html
    written = {
        capture.title,
        html.escape(capture.title, quote=False),
        html.escape(capture.title),
        json.dumps(capture.title)[1:-1],
        json.dumps(capture.title, ensure_ascii=False)[1:-1],
    }
    for title in written if capture.title else ():
        page = page.replace(title.encode(), f"{title} {addition}".encode())
    return page


def _captures(folder: Path) -> Iterator[Capture]:
    truth = folder / "truth.jsonl"
    known: dict[str, dict[str, object]] = {}
    if truth.exists():
        for line in truth.read_text("utf-8").splitlines():
            entry = json.loads(line)
            known[str(entry["file"])] = entry
    for path in sorted((*folder.rglob("*.html"), *folder.rglob("*.html.gz"))):
        name = path.relative_to(folder).as_posix()
        told = known.get(name, {})
        page = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        host = re.sub(r"[^a-z0-9-]+", "-", path.name.split(".")[0].lower()).strip("-") or "page"
        url = str(told.get("url") or f"https://{host}.example/news/{host}")
        publisher = str(told.get("publisher") or host)
        origin = Origin(publisher=publisher, name=publisher, country=str(told.get("country", "")).upper())
        item = RawItem(
            kind="page", url=url, final_url=url, origin=origin, found_ms=1, fetched_ms=1, status=200,
            headers={"content-type": "text/html"},
        )  # fmt: skip
        yield Capture(item, _OWN_ADDRESS.sub(b"", page), "")


def _usable(capture: Capture, tracking: TrackingParameters) -> Capture | None:
    url = fresh(capture.item.url, 0)
    item = msgspec.structs.replace(capture.item, url=url, final_url=url)
    found = extract_page(item, capture.html, tracking)
    if not isinstance(found, Extraction) or found.canonical_url != clean(url, tracking):
        return None
    return Capture(capture.item, capture.html, found.title)


def _packed(item: RawItem, page: bytes) -> RawItem:
    return msgspec.structs.replace(item, body=_body(page))


def _body(page: bytes) -> Body:
    return Body(size=len(page), zstd=pack_text(page), content_type="text/html")


def encoded_bytes(items: Sequence[RawItem]) -> int:
    """Bytes of HTML an item has on average."""
    return sum(item.body.size for item in items if item.body) // max(1, len(items))
