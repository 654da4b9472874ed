"""Hostile evidence through the whole of `parse_raw` with a real extraction child: each piece ends as an article or with a
reason, and the next page is read.

BROADSHEET_FUZZ=20000 reads so many damaged pages instead of 150; BROADSHEET_FUZZ_SEED chooses others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
import pytest
import zstandard

from state_schemas.codec import pack_text
from state_schemas.fetching import Body, Entry, RawItem
from state_schemas.sources import Origin
from tests.unit.hostile_child import ANSWERS
from tests.unit.hostile_pages import built, hostile, sound
from udfs.articles.child import ExtractionChild
from udfs.articles.parse import Parsed, Reader, Rejected, parse_raw
from udfs.articles.policy import ArticlesPolicy

REFERENCE = Path(__file__).parents[2] / "reference_data"
# A quarter of production's time, so that those that use it up take a quarter as long here.
POLICY = ArticlesPolicy(page_limit_ms=500, page_wall_ms=20_000)
READER = Reader(REFERENCE, POLICY)
URL = "https://n.example/lock"
REASON = re.compile(r"[a-z][a-z0-9_]{2,40}")
BUILT = dict(built())


def raw(page: bytes, **fields: object) -> RawItem:
    known: dict[str, object] = {
        "kind": "page", "url": URL, "origin": Origin(publisher="n.example"), "found_ms": 1, "fetched_ms": 2,
        "body": Body(size=len(page), zstd=pack_text(page)), "headers": {"content-type": "text/html"},
    }  # fmt: skip
    return RawItem(**(known | fields))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def child() -> Iterator[ExtractionChild]:
    child = ExtractionChild(POLICY, REFERENCE)
    yield child
    child.close()


def ended(item: RawItem, child: ExtractionChild) -> Parsed | Rejected:
    """The outcome; whatever it is, it can be sent on, and the page after it is read."""
    outcome = parse_raw(item, READER, child, {}.get)
    if isinstance(outcome, Rejected):
        assert REASON.fullmatch(outcome.reason), outcome
        assert outcome.reason != "reading_failed", outcome
        outcome.detail.encode()
    else:
        msgspec.msgpack.encode(outcome.event)
    return outcome


def good(child: ExtractionChild) -> None:
    outcome = parse_raw(raw(sound("A sound page").encode()), READER, child, {}.get)
    assert isinstance(outcome, Parsed), outcome
    assert outcome.event.article.title == "A sound page"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", BUILT)
def test_a_page_built_to_exhaust_ends_alone(child: ExtractionChild, name: str) -> None:
    ended(raw(BUILT[name]), child)
    good(child)


def test_damaged_pages_become_articles_or_reasons(child: ExtractionChild) -> None:
    seed = int(os.environ.get("BROADSHEET_FUZZ_SEED", "7"))
    count = int(os.environ.get("BROADSHEET_FUZZ", "150"))
    became = 0
    for number, page in enumerate(islice(hostile(seed), count)):
        became += isinstance(ended(raw(page), child), Parsed)
        if number % 50 == 0:
            good(child)
    good(child)
    assert 0 < became < count  # the damage is neither none nor total


MISBEHAVIOURS = {
    "regex": "extract_timed_out",
    "segfault": "extract_crashed",
    "memory": "extract_out_of_memory",
    "native_memory": "extract_crashed",
    "hangs": "extract_timed_out",
    "exits": "extract_crashed",
    "aborts": "extract_crashed",
    "shuts": "extract_crashed",
} | {name: "extract_timed_out" if name.startswith("half") else "extract_crashed" for name in ANSWERS}


@pytest.fixture(scope="module")
def bad_child() -> Iterator[ExtractionChild]:
    child = ExtractionChild(POLICY, REFERENCE, "tests.unit.hostile_child")
    yield child
    child.close()


@pytest.mark.parametrize("what", MISBEHAVIOURS)
def test_a_child_that_misbehaves_is_replaced(bad_child: ExtractionChild, what: str) -> None:
    bad_child.close()  # the misbehaviour is its first page
    # What hangs uses no processor time: the wall time ends it.
    late = MISBEHAVIOURS[what] == "extract_timed_out"
    bad_child._policy = ArticlesPolicy(
        page_limit_ms=500 if late else 60_000,
        page_wall_ms=1_500 if late else 120_000,
        child_memory_bytes=700 * 1024 * 1024,
    )
    before = bad_child.restarts
    outcome = ended(raw(sound(f"HOSTILE {what}").encode()), bad_child)
    assert isinstance(outcome, Rejected)
    assert outcome.reason == MISBEHAVIOURS[what]
    assert bad_child.restarts == before + 1
    bad_child._policy = POLICY
    if what in ("regex", "segfault", "memory", "hangs", "half_answer"):
        good(bad_child)


def test_the_entry_serves_where_the_page_killed_the_child(bad_child: ExtractionChild) -> None:
    entry = Entry(identity="0" * 16, title="Lock closed", link=URL)
    outcome = ended(raw(sound("HOSTILE segfault").encode(), entry=entry), bad_child)
    assert isinstance(outcome, Parsed)
    assert outcome.aside is not None
    assert outcome.aside.reason == "extract_crashed"


def _bomb(size: int) -> bytes:
    compressor = zstandard.ZstdCompressor(level=1).compressobj(size=size)
    return b"".join(compressor.compress(bytes(1 << 20)) for _ in range(size >> 20)) + compressor.flush()


def _lying(size: int, said: int) -> bytes:
    """A frame whose header says it holds `said` bytes."""
    frame = bytearray(zstandard.ZstdCompressor(level=1).compress(bytes(size)))
    assert frame[4] >> 6 == 2  # four bytes of content size, after magic and descriptor of a single segment
    frame[5:9] = said.to_bytes(4, "little")
    return bytes(frame)


BODIES = {
    "a bomb that says what it is": (Body(size=100, zstd=_bomb(1 << 30)), "body_too_large"),
    "a bomb that says it is small": (Body(size=100, zstd=_lying(1 << 24, 1_000)), "body_undecodable"),
    "a frame that says it is larger": (Body(size=100, zstd=_lying(1 << 20, 1 << 24)), "body_undecodable"),
    "a frame without a size": (Body(size=100, zstd=zstandard.ZstdCompressor(write_content_size=False).compress(b"x" * 100)), "body_too_large"),
    "over the limit once unpacked": (Body(size=100, zstd=pack_text(bytes(11_000_000))), "page_too_large"),
    "a size over the limit": (Body(size=1 << 40, zstd=pack_text("x")), "page_too_large"),
    "half a frame": (Body(size=100, zstd=pack_text(sound())[:200]), "body_undecodable"),
    "no frame": (Body(size=100, zstd=b"<html>"), "body_undecodable"),
    "evidence that is not there": (Body(size=100, evidence="0" * 64), "evidence_missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_lies_has_a_reason(child: ExtractionChild, name: str) -> None:
    body, reason = BODIES[name]
    outcome = ended(raw(b"", body=body), child)
    assert isinstance(outcome, Rejected)
    assert outcome.reason == reason
    good(child)


@pytest.mark.parametrize("size", [0, -5, 7, 10_000_000])
def test_a_wrong_size_is_not_believed(child: ExtractionChild, size: int) -> None:
    assert isinstance(ended(raw(b"", body=Body(size=size, zstd=pack_text(sound()))), child), Parsed)


@pytest.mark.parametrize(
    "packed", [_bomb(1 << 30), b"<html>", pack_text(bytes(11_000_000))], ids=["bomb", "plain", "large"]
)
def test_evidence_objects_are_bounded_as_bodies_are(packed: bytes) -> None:
    stored = {"a" * 64: packed}
    outcome = parse_raw(raw(b"", body=Body(size=5, evidence="a" * 64)), READER, _NoChild(), stored.get)
    assert isinstance(outcome, Rejected)
    assert outcome.reason in ("body_too_large", "body_undecodable", "page_too_large")


class _NoChild:
    def page(self, raw: RawItem, body: bytes) -> None:
        raise AssertionError("nothing is to be extracted")

    entry = page


ADDRESSES = ["http://" + "m." * 3_000 + "n.example/x", "https://n.example/" + ".amp" * 2_000, "https://[::1", "https://n.example:99999999999/", "//", "javascript:alert(1)", "https://" + "é" * 3_000 + ".example/", "https://n.example/" + "/.." * 2_000, "https://n.example/?" + "a=%41&" * 1_500, ""]  # fmt: skip


@pytest.mark.parametrize("url", ADDRESSES, ids=range(len(ADDRESSES)))
@pytest.mark.parametrize("kind", ["page", "retraction", "entry"])
def test_hostile_addresses(child: ExtractionChild, url: str, kind: str) -> None:
    """Of a retraction nothing is read in the child: what fails there fails the task."""
    entry = Entry(identity="0" * 16, title="T", link=url)
    ended(raw(sound().encode(), url=url, kind=kind, entry=entry), child)


TEXTS = ["a" * 400_000, "\u0301" * 100_000, "U.S." * 50_000, "「" * 100_000, "가" * 100_000, "." * 50_000 + "'" * 50_000 + "a", "\u200c" * 100_000, "А-" * 100_000, "\U0001f600" * 100_000, "Paris " * 50_000, "𠀀" * 100_000]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_texts_of_an_entry(child: ExtractionChild, text: str) -> None:
    """They reach language, places, topics and signatures, which no child protects."""
    entry = Entry(
        identity="0" * 16,
        title=text,
        link=URL,
        summary=text,
        content=text,
        authors=(text,) * 3,
        categories=(text,) * 3,
    )
    ended(raw(b"", kind="entry", body=None, entry=entry), child)
