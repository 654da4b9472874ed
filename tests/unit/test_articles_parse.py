"""The whole way from raw evidence to an event, by plain calls; and all captured pages through it."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from state_schemas.codec import pack_text
from state_schemas.fetching import Body, Entry, RawItem
from state_schemas.ids import article_id
from state_schemas.sources import Origin
from udfs.articles.events import Reading, Retraction
from udfs.articles.extract import Extraction, Rejection
from udfs.articles.parse import InProcess, Parsed, Reader, Rejected, parse_raw
from udfs.articles.policy import ArticlesPolicy

ROOT = Path(__file__).parents[2]
READER = Reader(ROOT / "reference_data", ArticlesPolicy(max_page_bytes=3_000_000))
PLAIN = InProcess(READER.tracking)
HTML = """<html lang="de"><head><meta property="og:type" content="article"><title>Schleuse gesperrt</title>
<link rel="canonical" href="https://n.example/wirtschaft/schleuse"></head><body><article>
<p>Die Behörde hat die Schleuse in Hamburg am Montag gesperrt, weil ein Riss im Tor gefunden wurde.</p>
<p>Die Reparatur soll neun Tage dauern, teilte die Behörde mit, und die Schiffe müssen so lange warten.</p>
</article></body></html>"""
ENTRY = Entry(
    identity="0" * 16, title="Schleuse gesperrt", link="https://n.example/kurz?id=1&utm_source=rss", summary="Riss."
)


def raw(html: str | None = HTML, **fields: object) -> RawItem:
    body = None if html is None else Body(size=len(html), zstd=pack_text(html))
    origin = Origin(publisher="n.example", name="Bote", country="DE", language="de", authority=0.7, owner="Verlag")
    url = "https://n.example/kurz?id=1&utm_source=rss"
    known: dict[str, object] = {"kind": "page", "url": url, "body": body, "origin": origin}
    return RawItem(found_ms=10, fetched_ms=20, **(known | fields))  # type: ignore[arg-type]


def nothing(name: str) -> bytes | None:
    return None


def parsed(item: RawItem) -> Parsed:
    found = parse_raw(item, READER, PLAIN, nothing)
    assert isinstance(found, Parsed), found
    return found


def test_a_page_becomes_a_reading() -> None:
    event = parsed(raw(entry=ENTRY)).event
    assert isinstance(event, Reading)
    article = event.article
    assert article.article_id == article_id("n.example/wirtschaft/schleuse")
    assert article.canonical_url == "https://n.example/wirtschaft/schleuse"
    assert (article.language, article.topics, article.words) == ("de", ("business",), 34)
    assert [entity.name for entity in article.entities] == ["Hamburg"]
    assert (article.publisher, article.authority, article.owner, article.country) == ("n.example", 0.7, "Verlag", "DE")
    assert (article.found_ms, event.read_ms, event.from_page) == (10, 20, True)
    assert article.asked_url.endswith("utm_source=rss")
    assert event.body.startswith("Die Behörde")


def test_a_page_that_could_not_be_had_leaves_its_entry() -> None:
    event = parsed(raw(None, kind="entry", entry=ENTRY, reason="timed_out")).event
    assert isinstance(event, Reading)
    assert event.article.canonical_url == "https://n.example/kurz?id=1"
    assert (event.from_page, event.article.from_entry, event.article.lede) == (False, True, "Riss.")
    assert event.article.sources["rejected"] == "timed_out"


def test_a_page_that_is_no_article_leaves_its_entry_without_a_fuss() -> None:
    outcome = parsed(raw("<html><title>Ups</title><p>Weg.</p></html>", entry=ENTRY))
    assert isinstance(outcome.event, Reading)
    assert outcome.event.article.sources["rejected"] == "error_page"
    assert outcome.aside is None


def test_without_an_entry_it_is_rejected_with_the_pages_reason() -> None:
    assert parse_raw(raw("<html><title>Ups</title><p>Weg.</p></html>"), READER, PLAIN, nothing) == Rejected(
        "error_page", "Ups (4 characters)"
    )
    assert parse_raw(raw(None, kind="entry", reason="refused"), READER, PLAIN, nothing) == Rejected("refused", "")


class Killed:
    """An extractor whose child is killed by every page."""

    def page(self, item: RawItem, body: bytes) -> Extraction | Rejection:
        return Rejection(reason="extract_timed_out", detail="over 2000 ms")

    def entry(self, item: RawItem, rejected: str = "") -> Extraction | Rejection:
        return PLAIN.entry(item, rejected)


def test_a_killed_page_is_its_entry_and_set_aside_as_well() -> None:
    outcome = parse_raw(raw(entry=ENTRY), READER, Killed(), nothing)
    assert isinstance(outcome, Parsed)
    assert outcome.aside == Rejection(reason="extract_timed_out", detail="over 2000 ms")
    assert isinstance(outcome.event, Reading)
    assert outcome.event.article.title == "Schleuse gesperrt"
    assert parse_raw(raw(), READER, Killed(), nothing) == Rejected("extract_timed_out", "over 2000 ms")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (None, "body_missing"),
        (Body(size=5, zstd=b"no zstd frame"), "body_undecodable"),
        (Body(size=4_000_000, zstd=b""), "page_too_large"),
        (Body(size=5, zstd=pack_text("x" * 3_000_001)), "page_too_large"),
        (Body(size=5, evidence="ff" * 32), "evidence_missing"),
        (Body(size=0), "empty_page"),
    ],
)
def test_bodies_that_cannot_be_had(body: Body | None, reason: str) -> None:
    outcome = parse_raw(raw(body=body), READER, PLAIN, nothing)
    assert isinstance(outcome, Rejected)
    assert outcome.reason == reason


def test_a_large_body_is_read_from_the_evidence() -> None:
    stored = {"ff" * 32: pack_text(HTML)}  # as the fetcher writes it
    outcome = parse_raw(raw(body=Body(size=5, evidence="ff" * 32)), READER, PLAIN, stored.get)
    assert isinstance(outcome, Parsed)


def test_a_re_check_is_read_as_any_page_and_says_that_its_entry_was_not_there() -> None:
    first = parsed(raw(entry=ENTRY, feed_id="f" * 16)).event
    again = parsed(raw(recheck=True, feed_id="f" * 16)).event
    with_entry = parsed(raw(entry=ENTRY, recheck=True)).event
    assert isinstance(first, Reading)
    assert isinstance(again, Reading)
    assert isinstance(with_entry, Reading)
    assert (first.alone, again.alone, with_entry.alone) == (False, True, False)
    assert again.article.article_id == first.article.article_id
    assert (again.article.title, again.body, again.article.feed_id) == (first.article.title, first.body, "f" * 16)


@pytest.mark.parametrize(
    ("item", "left_alone"),
    [
        pytest.param(raw("<html><body></body></html>", recheck=True), True, id="no article any more"),
        pytest.param(raw("<html><body></body></html>"), False, id="a first page"),
        pytest.param(raw("x", recheck=True, body=Body(size=9, zstd=b"junk")), False, id="our own fault"),
    ],
)
def test_a_re_check_that_shows_no_article_leaves_it_alone(item: RawItem, left_alone: bool) -> None:
    found = parse_raw(item, READER, PLAIN, nothing)
    assert isinstance(found, Rejected)
    assert found.left_alone is left_alone


def test_a_retraction_names_the_article_by_its_url() -> None:
    event = parsed(
        raw(None, kind="retraction", url="http://www.n.example/wirtschaft/schleuse/?utm_source=x", reason="gone")
    ).event
    assert event == Retraction(
        article_id=article_id("n.example/wirtschaft/schleuse"),
        read_ms=20,
        found_ms=10,
        reason="gone",
        publisher="n.example",
        url="http://www.n.example/wirtschaft/schleuse/?utm_source=x",
    )
    assert parse_raw(raw(None, kind="retraction", url="ftp://n.example"), READER, PLAIN, nothing) == Rejected(
        "url_invalid", "ftp://n.example"
    )


def test_an_archive_that_lost_its_copy_takes_no_article_back() -> None:
    for address in (
        "https://web.archive.org/web/2026/https://n.example/wirtschaft/schleuse",
        "https://n-example.cdn.ampproject.org/c/s/n.example/wirtschaft/schleuse",
        "https://www.google.com/url?q=https://n.example/wirtschaft/schleuse",
    ):
        refused = parse_raw(raw(None, kind="retraction", url=address, reason="gone"), READER, PLAIN, nothing)
        assert refused == Rejected("retraction_elsewhere", address)
        by_us = parsed(raw(None, kind="retraction", url=address, reason="Court order", by_operator=True)).event
        assert isinstance(by_us, Retraction)
        assert by_us.article_id == article_id("n.example/wirtschaft/schleuse")


def test_only_addresses_of_its_own_site_are_an_articles_other_addresses() -> None:
    own = parsed(raw(url="https://amp.n.example/kurz?id=1", final_url="https://n.example/wirtschaft/schleuse?a=1"))
    assert {alias.article_id for alias in own.aliases} == {
        article_id("n.example/kurz?id=1"),
        article_id("n.example/wirtschaft/schleuse?a=1"),
    }
    # Who redirects to another's article and answers 410 later would take it back.
    led = parsed(raw(url="https://b.example/x", final_url="https://n.example/wirtschaft/schleuse"))
    assert led.aliases == ()


def test_what_others_tell_of_an_article_is_marked() -> None:
    def by_others(**fields: object) -> tuple[bool, bool]:
        event = parsed(raw(**fields)).event  # type: ignore[arg-type]
        assert isinstance(event, Reading)
        return event.by_others, event.from_page

    theirs = Origin(publisher="b.example")
    assert by_others() == (False, True)
    assert by_others(origin=theirs) == (False, True), "the page itself, whoever listed it"
    assert by_others(html=None, kind="entry", entry=ENTRY) == (False, False)
    assert by_others(html=None, kind="entry", entry=ENTRY, origin=Origin(publisher="www.n.example")) == (False, False)
    assert by_others(html=None, kind="entry", entry=ENTRY, origin=theirs) == (True, False)
    archive = "https://web.archive.org/web/2026/https://n.example/wirtschaft/schleuse"
    assert by_others(url=archive, final_url=archive) == (True, False)
    assert by_others(final_url="https://reader.cdn.example/1", url="https://n.example/wirtschaft/schleuse")[1]


def test_variants_are_the_same_article() -> None:
    bare = HTML.replace('<link rel="canonical" href="https://n.example/wirtschaft/schleuse">', "")
    forms = ("", "/amp", "?outputType=amp", "?print=1", "#top", "?utm_source=x")
    events = [parsed(raw(bare, url=f"https://n.example/wirtschaft/schleuse{form}")).event for form in forms]
    assert len({event.article.article_id for event in events if isinstance(event, Reading)}) == 1


def test_an_aggregators_entry_names_the_original_publisher() -> None:
    entry = msgspec.structs.replace(ENTRY, source_url="https://wire.example", source_name="Wire")
    event = parsed(raw(entry=entry)).event
    assert isinstance(event, Reading)
    assert event.article.source_url == "https://wire.example"


def captured() -> Path | None:
    shared = Path(os.environ.get("BROADSHEET_SHARED", ROOT.parent / "shared")) / "data" / "pages"
    return shared if (shared / "truth.jsonl").exists() else None


@pytest.mark.skipif(captured() is None, reason="no captured pages at ../shared/data/pages")
def test_captured_pages_are_read() -> None:
    folder = captured()
    assert folder is not None
    counts: Counter[str] = Counter()
    # Every fourth, for speed; all of them go through the line in tests/end_to_end.
    rows = [json.loads(line) for line in (folder / "truth.jsonl").read_text("utf-8").splitlines()[::4]]
    for row in rows:
        html = gzip.decompress((folder / row["file"]).read_bytes()).decode("utf-8", "replace")
        item = raw(html, url=row["url"], origin=Origin(publisher=row["publisher"], name=row["publisher"]))
        outcome = parse_raw(item, READER, PLAIN, nothing)
        counts["read"] += isinstance(outcome, Parsed)
        if isinstance(outcome, Parsed) and isinstance(outcome.event, Reading):
            counts["title"] += outcome.event.article.title == " ".join(row["title"].split())
            counts["dated"] += outcome.event.article.published_ms is not None
            counts["body"] += len(outcome.event.body) > 0.5 * len(row["text"])
    assert counts["read"] == len(rows)
    # Floors below what was measured on all 139 pages: titles 0.84, dates 0.98, bodies 0.98.
    assert counts["title"] >= 0.75 * len(rows)
    assert counts["dated"] >= 0.9 * len(rows)
    assert counts["body"] >= 0.9 * len(rows)


def test_an_unreadable_source_address_costs_only_itself() -> None:
    entry = msgspec.structs.replace(ENTRY, source_url="http://[bad")
    event = parsed(raw(entry=entry)).event
    assert isinstance(event, Reading)
    assert event.article.source_url == ""


def test_a_fault_of_ours_costs_its_item_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(READER.entities, "entities", fails)
    outcome = parse_raw(raw(), READER, PLAIN, nothing)
    assert outcome == Rejected("reading_failed", "IndexError: list index out of range")
