"""The killable child: pages that hang, crash or eat memory end alone, and the next page is read."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from state_schemas.fetching import Body, Entry, RawItem
from state_schemas.sources import Origin
from udfs.articles.child import ChildError, ExtractionChild
from udfs.articles.extract import Extraction, Rejection
from udfs.articles.policy import ArticlesPolicy

REFERENCE = Path(__file__).parents[2] / "reference_data"
HTML = (
    b'<html lang="en"><head><meta property="og:type" content="article"><title>Lock closed</title></head><body><article>'
    b"<p>The harbour board closed the eastern lock on Monday.</p></article></body></html>"
)
RAW = RawItem(
    kind="page",
    url="https://n.example/a",
    origin=Origin(publisher="n.example"),
    found_ms=1,
    fetched_ms=2,
    body=Body(size=3, zstd=b"abc"),
    entry=Entry(identity="0" * 16, title="Lock closed", link="https://n.example/a"),
)


@pytest.fixture
def child() -> Iterator[ExtractionChild]:
    child = ExtractionChild(ArticlesPolicy(page_limit_ms=20_000, pages_per_child=50), REFERENCE)
    yield child
    child.close()


def pid_of(child: ExtractionChild) -> int:
    assert child._process is not None
    return child._process.pid


def test_pages_and_entries_are_read(child: ExtractionChild) -> None:
    page = child.page(RAW, HTML)
    assert isinstance(page, Extraction)
    assert (page.title, page.body) == ("Lock closed", "The harbour board closed the eastern lock on Monday.")
    entry = child.entry(RAW, "timed_out")
    assert isinstance(entry, Extraction)
    assert (entry.from_entry, entry.rejected) == (True, "timed_out")
    assert child.page(RAW, HTML) == page


def test_a_child_that_dies_is_replaced(child: ExtractionChild) -> None:
    child.page(RAW, HTML)
    first = pid_of(child)
    os.kill(first, signal.SIGSEGV)
    found = child.page(RAW, HTML)
    assert isinstance(found, Rejection)
    assert found.reason == "extract_crashed"
    assert isinstance(child.page(RAW, HTML), Extraction)
    assert pid_of(child) != first
    assert child.restarts == 1


def test_a_page_over_its_wall_time_is_killed_alone(child: ExtractionChild) -> None:
    child.page(RAW, HTML)
    first = pid_of(child)
    os.kill(first, signal.SIGSTOP)  # it does not answer
    child._policy = ArticlesPolicy(page_limit_ms=50, page_wall_ms=50)
    found = child.page(RAW, HTML)
    assert found == Rejection(reason="extract_timed_out", detail="over 50 ms")
    child._policy = ArticlesPolicy(page_limit_ms=20_000)
    assert isinstance(child.page(RAW, HTML), Extraction)
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_a_page_over_its_processor_time_is_killed_alone(child: ExtractionChild) -> None:
    child.page(RAW, HTML)
    child._policy = ArticlesPolicy(page_limit_ms=100, page_wall_ms=60_000)
    found = child.page(RAW, b"<html><body>" + b"<p>word <b>word</b></p>" * 200_000)
    assert found == Rejection(reason="extract_timed_out", detail="over 100 ms")
    child._policy = ArticlesPolicy(page_limit_ms=20_000)
    assert isinstance(child.page(RAW, HTML), Extraction)


def test_a_page_over_its_memory_ends_alone() -> None:
    child = ExtractionChild(ArticlesPolicy(page_limit_ms=20_000, child_memory_bytes=420 * 1024 * 1024), REFERENCE)
    try:
        bomb = b"<html><body>" + b"<p><b>x</b></p>" * 3_000_000
        found = child.page(RAW, bomb)
        assert isinstance(found, Rejection)
        assert found.reason in ("extract_out_of_memory", "extract_crashed", "empty_page")
        assert isinstance(child.page(RAW, HTML), Extraction)
    finally:
        child.close()


def test_a_child_is_replaced_after_its_share_of_pages() -> None:
    child = ExtractionChild(ArticlesPolicy(page_limit_ms=20_000, pages_per_child=2), REFERENCE)
    try:
        pids = []
        for _ in range(4):
            child.page(RAW, HTML)
            pids.append(pid_of(child))
        assert pids[0] == pids[1] != pids[2] == pids[3]
        assert child.restarts == 0
    finally:
        child.close()


def test_a_broken_installation_is_an_error_not_a_quarantine(tmp_path: Path) -> None:
    child = ExtractionChild(ArticlesPolicy(), tmp_path)  # no list of tracking parameters
    with pytest.raises(ChildError, match="did not start"):
        child.page(RAW, HTML)
