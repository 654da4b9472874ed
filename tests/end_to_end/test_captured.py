"""Captured feeds and pages of real publishers through the whole line: each ends as an article or set aside with a reason."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.line import import_sources, press, start_jobs
from cli.stack import Stack
from connectors.settings import Endpoints
from services.press.captured import CapturedSite
from state_schemas.articles import Article, decode_normalised
from state_schemas.codec import decode_record
from state_schemas.fetching import RawItem
from state_schemas.topics import ARTICLES, ITEMS_RAW
from tests.end_to_end.topics import DECISIONS, assert_decided_once, changes, quarantine, records
from udfs.articles.identity import Reading
from udfs.articles.parse import InProcess, Parsed, Reader, parse_raw
from udfs.feeds.identity import page_address
from udfs.feeds.reader import parse_feed

CHECKOUT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("BROADSHEET_SHARED", CHECKOUT.parent / "shared")) / "data"
# The largest feed has 110 entries on one host, asked at one a second; the rest is room for a busy machine.
PATIENCE_S = 600.0

pytestmark = pytest.mark.skipif(not (DATA / "feeds").exists(), reason=f"no captured feeds in {DATA}")


def _captured_addresses() -> Counter[str]:
    """Page addresses that the captured feeds and pages name, with how many entries name each."""
    site = CapturedSite(DATA)
    named: Counter[str] = Counter()
    for feed in site.feeds:
        document = parse_feed((DATA / "feeds" / feed.file).read_bytes(), f"https://{feed.host}/_captured/{feed.file}")
        named.update(page_address(entry.link) for entry in document.entries if entry.link)
    named.update(page_address(page.url) for page in site.pages)
    return named


def _raw_items(endpoints: Endpoints) -> list[RawItem]:
    return records(endpoints, ITEMS_RAW, lambda data: decode_record(RawItem, data), timeout_s=120)


def _wait(done: Callable[[], object], what: str) -> None:
    began = time.monotonic()
    while left := done():
        assert time.monotonic() - began < PATIENCE_S, f"{what}: {left}"
        time.sleep(5)


@pytest.mark.timeout(1800)
def test_every_entry_and_page_has_an_end(own_stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    endpoints = own_stack.endpoints
    port = endpoints.gateway.rpartition(":")[2]
    start_jobs(endpoints, "demo", lambda line: None)
    named = _captured_addresses()
    with press("--captured", str(DATA), "--port", port):
        import_sources(endpoints, "--captured", str(DATA), "--port", port)

        def not_asked() -> set[str]:
            return set(named) - {page_address(item.entry.link) for item in _raw_items(endpoints) if item.entry}

        _wait(lambda: len(not_asked()), "entries whose page was never asked for")

    def unended() -> list[str]:
        decided = {
            change.article.article_id for change in changes(endpoints) if change.change in DECISIONS and change.article
        }
        published = _articles(endpoints)
        met = {article.asked_url for article in published if article.article_id in decided}
        met |= {record.subject for record in quarantine(endpoints)}
        left = [item for item in _raw_items(endpoints) if item.url not in met]
        # Of two addresses of one article the second is a duplicate, and nothing more is said of it: same article id.
        return [item.url for item in left if _article_id(item, reader) not in decided]

    reader = Reader(endpoints.reference_data_folder())
    _wait(lambda: unended()[:5], "raw items without an article, a decision or a reason")

    raw, found, articles = _raw_items(endpoints), changes(endpoints), _articles(endpoints)
    assert_decided_once(found)
    kinds = Counter(change.change for change in found)
    ids = {article.article_id for article in articles}
    assert sum(kinds[kind] for kind in DECISIONS) == len(ids)
    aside = Counter(record.reason for record in quarantine(endpoints))
    with capsys.disabled():
        print(  # noqa: T201  the figures of the run, for whoever started it
            f"\ncaptured: {sum(named.values())} entries and pages name {len(named)} addresses; {len(raw)} raw items "
            f"({dict(Counter(item.kind for item in raw))}), {len(ids)} articles, decisions {dict(kinds)}, "
            f"set aside {dict(aside)}"
        )


def _articles(endpoints: Endpoints) -> list[Article]:
    return [record for record in records(endpoints, ARTICLES, decode_normalised) if isinstance(record, Article)]


def _article_id(item: RawItem, reader: Reader) -> str | None:
    end = parse_raw(item, reader, InProcess(reader.tracking), lambda _: None)
    if not isinstance(end, Parsed):
        return None
    return end.event.article.article_id if isinstance(end.event, Reading) else end.event.article_id
