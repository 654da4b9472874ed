"""The parse operators over fake state, timers and metrics: order, failover, expiry, clocks, side outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from connectors.settings import Endpoints
from state_schemas.articles import Article, Removed, Tick, decode_normalised
from state_schemas.codec import decode_record, encode_record, pack_text, unpack_text, unpack_vector
from state_schemas.fetching import Body, Entry, RawItem
from state_schemas.quarantine import Quarantined
from state_schemas.sources import Origin
from tests.operators.fake_flink import Harness
from udfs.articles.events import Reading, Reinstatement, Retraction, id_of, pack_event, unpack_event
from udfs.articles.extract import Extraction, Rejection
from udfs.articles.identity import DAY_MS
from udfs.articles.operator import Clock, Decide, Extract, Outgoing, Sign, itself, shard_of
from udfs.articles.policy import ArticlesPolicy

ENDPOINTS = Endpoints(reference_data=str(Path(__file__).parents[2] / "reference_data"))
POLICY = ArticlesPolicy(page_limit_ms=20_000, min_shingles=8)
TEXT = "The harbour board closed the eastern lock on Monday after a crack was found in its lower gate near the wall."


def raw(title: str = "Lock closed", text: str = TEXT, **fields: object) -> RawItem:
    html = (
        f'<html lang="en"><head><meta property="og:type" content="article"><title>{title}</title></head><body><article>'
        f"<p>{text}</p></article></body></html>"
    )
    known: dict[str, object] = {
        "kind": "page",
        "url": "https://n.example/lock",
        "origin": Origin(publisher="n.example", country="GB"),
        "body": Body(size=len(html), zstd=pack_text(html)),
        "found_ms": 10,
        "fetched_ms": 20,
    }
    return RawItem(**(known | fields))  # type: ignore[arg-type]


class CountingEncoder:
    """A vector of ones, and how often one was asked for."""

    model_version = "ones"
    dimensions = 384

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        return np.ones((len(texts), 384), dtype=np.float32)


class FailingEncoder(CountingEncoder):
    def encode(self, texts: Sequence[str]) -> np.ndarray:
        raise ValueError("no such token")


@pytest.fixture(scope="module")
def extract() -> Iterator[Harness]:
    harness = Harness(lambda: Extract(POLICY, ENDPOINTS, lambda name: None))
    yield harness
    harness.function.close()


def events(extract: Harness, *items: RawItem) -> list[tuple[str, bytes]]:
    return [event for item in items for event in extract.send("", encode_record(item))]


def through(harness: Harness, keyed: Sequence[tuple[str, bytes]]) -> list[Outgoing]:
    sent = [data for key, event in keyed for data in harness.send(key, (key, event))]
    return [msgspec.msgpack.decode(data, type=Outgoing) for data in sent]


def test_extract_gives_each_article_its_shard(extract: Harness) -> None:
    ((shard, data),) = events(extract, raw())
    assert len(shard) == 3
    assert b"Lock closed" in data
    assert [key for key, _ in events(extract, raw("Other"))] == [shard]


def test_extract_sets_aside_what_it_cannot_use(extract: Harness) -> None:
    extract.clear_output()
    assert extract.send("", b'{"not": "a record"}') == []
    assert events(extract, raw(body=None)) == []
    aside = [decode_record(Quarantined, row[1]) for row in extract.side["quarantine"]]
    assert [(record.topic, record.stage, record.reason) for record in aside] == [
        ("items.raw", "parse", "record_invalid"),
        ("items.raw", "parse", "body_missing"),
    ]
    assert aside[1].subject == "https://n.example/lock"
    assert extract.metrics.counts["undecodable"] == 1
    assert extract.metrics.counts["rejected_body_missing"] == 1


def test_a_killed_page_gives_its_entry_and_a_record_in_the_quarantine(
    extract: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    extract.clear_output()

    def hangs(item: RawItem, body: bytes) -> Extraction | Rejection:
        return Rejection(reason="extract_timed_out", detail="over 2000 ms")

    monkeypatch.setattr(extract.function._child, "page", hangs)
    entry = Entry(identity="0" * 16, title="Lock closed", link="https://n.example/lock")
    ((_, data),) = events(extract, raw(entry=entry))
    assert b"Lock closed" in data
    (row,) = extract.side["quarantine"]
    assert decode_record(Quarantined, row[1]).reason == "extract_timed_out"


def test_decide_sends_versions_in_order_and_counts_every_event(extract: Harness) -> None:
    decide = Harness(lambda: Decide(POLICY))
    keyed = events(
        extract,
        raw(),
        raw(),
        raw("Lock open", fetched_ms=30),
        raw("Older", fetched_ms=5),
        raw(kind="retraction", body=None, fetched_ms=40, reason="gone"),
        raw(kind="retraction", body=None, fetched_ms=40, url="https://n.example/unknown"),
        raw(kind="reinstatement", body=None, fetched_ms=50),
    )
    sent = through(decide, keyed)
    assert [(type(out.record), out.record.version) for out in sent] == [(Article, 1), (Article, 2), (Removed, 3)]
    assert sent[1].body == TEXT
    counts = {name: number for name, number in decide.metrics.counts.items() if number}
    assert counts == {
        "new": 1, "duplicate": 1, "update": 1, "older": 1, "removed": 1, "waiting": 1, "reinstated": 1
    }  # fmt: skip


def test_a_retraction_by_the_address_asked_for_finds_the_article_that_its_page_named(extract: Harness) -> None:
    decide = Harness(lambda: Decide(POLICY))
    asked = "https://n.example/short/77"
    html = (
        '<html lang="en"><head><link rel="canonical" href="https://n.example/lock"><meta property="og:type"'
        f' content="article"><title>Lock closed</title></head><body><article><p>{TEXT}</p></article></body></html>'
    )
    page = raw(url=asked, body=Body(size=len(html), zstd=pack_text(html)))
    keyed = events(extract, page, raw(kind="retraction", url=asked, body=None, fetched_ms=40, reason="gone"))
    (article,) = [out.record for out in through(decide, keyed)]
    assert isinstance(article, Article)
    assert article.canonical_url == "https://n.example/lock"
    ((_, data),) = decide.side["forwarded"]
    item = decode_record(RawItem, bytes(data))
    assert (item.kind, item.url, item.article_id, item.fetched_ms) == ("retraction", asked, article.article_id, 40)
    (removed,) = [out.record for out in through(decide, events(extract, item))]
    assert isinstance(removed, Removed)
    assert (removed.article_id, removed.version) == (article.article_id, 2)
    assert len(decide.side["forwarded"]) == 1


def test_an_operators_retraction_is_not_undone_by_the_page(extract: Harness) -> None:
    decide = Harness(lambda: Decide(POLICY))
    keyed = events(
        extract,
        raw(),
        raw(kind="retraction", body=None, fetched_ms=40, reason="court order", by_operator=True),
        raw(fetched_ms=50),
        raw(kind="reinstatement", body=None, fetched_ms=60),
        raw(fetched_ms=70),
    )
    sent = [out.record for out in through(decide, keyed)]
    assert [type(record) for record in sent] == [Article, Removed, Article]


def test_a_flood_of_retractions_takes_bounded_room_and_the_newest_wait(extract: Harness) -> None:
    policy = ArticlesPolicy(waiting_rows=4, min_shingles=8)
    decide = Harness(lambda: Decide(policy))
    ids = [f"abc{number:029x}" for number in range(50)]
    for number, article in enumerate(ids):
        event = Retraction(article_id=article, read_ms=40 + number, found_ms=40, reason="gone")
        decide.send("abc", ("abc", pack_event(event)))
    rows = decide.store.maps["rows", "abc"]
    assert sorted(rows) == ids[-4:]
    assert decide.metrics.counts["waited_in_vain"] == 46
    assert max(map(len, rows.values())) < 200
    decide.advance(3 * DAY_MS)
    assert decide.store.maps["rows", "abc"] == {}, "two days are long enough to wait"


def test_what_the_operator_withholds_is_never_forgotten(extract: Harness) -> None:
    decide = Harness(lambda: Decide(ArticlesPolicy(waiting_rows=1, row_days=5, min_shingles=8)))
    ((key, event),) = events(extract, raw())
    never_met, met = key + "0" * 29, id_of(unpack_event(event))
    through(decide, [(key, event)])
    for article in (never_met, met):
        withheld = Retraction(article_id=article, read_ms=40, found_ms=40, reason="court order", by_operator=True)
        decide.send(key, (key, pack_event(withheld)))
    for number in range(1, 9):
        flood = Retraction(article_id=key + f"{number:029x}", read_ms=40, found_ms=40, reason="gone")
        decide.send(key, (key, pack_event(flood)))
    decide.advance(9 * DAY_MS)
    assert sorted(decide.store.maps["rows", key]) == sorted([never_met, met])
    back = Reinstatement(article_id=met, read_ms=50, found_ms=50)
    decide.send(key, (key, pack_event(back)))
    decide.advance(18 * DAY_MS)
    assert sorted(decide.store.maps["rows", key]) == [never_met]


def test_a_flood_leaves_alone_what_was_met_meanwhile(extract: Harness) -> None:
    decide = Harness(lambda: Decide(ArticlesPolicy(waiting_rows=1, min_shingles=8)))
    ((key, event),) = events(extract, raw())
    article = id_of(unpack_event(event))
    gone = Retraction(article_id=article, read_ms=15, found_ms=15, reason="gone")
    decide.send(key, (key, pack_event(gone)))
    (out,) = through(decide, [(key, event)])
    assert isinstance(out.record, Article)
    other = Retraction(article_id=key + "0" * 29, read_ms=15, found_ms=15, reason="gone")
    decide.send(key, (key, pack_event(other)))
    assert article in decide.store.maps["rows", key]
    assert decide.metrics.counts["waited_in_vain"] == 0


def test_odd_dates_are_counted(extract: Harness) -> None:
    decide = Harness(lambda: Decide(POLICY))
    now = 1_796_000_000_000
    ((key, event),) = events(extract, raw(found_ms=now, fetched_ms=now))
    reading = unpack_event(event)
    assert isinstance(reading, Reading)
    old = msgspec.structs.replace(reading.article, published_ms=now - 30 * DAY_MS)
    through(decide, [(key, pack_event(msgspec.structs.replace(reading, article=old)))])
    assert decide.metrics.counts["date_far"] == 1


@pytest.mark.parametrize("reason", ["gone", "status_404"])
def test_a_page_that_is_gone_takes_its_article_out_and_its_return_brings_it_back(extract: Harness, reason: str) -> None:
    decide = Harness(lambda: Decide(POLICY))
    entry = Entry(identity="0" * 16, title="Lock closed", link="https://n.example/lock")
    keyed = events(
        extract,
        raw(entry=entry),
        # Led to a notice: only the address asked for is the article's.
        raw(
            kind="retraction",
            body=None,
            fetched_ms=40,
            reason=reason,
            recheck=True,
            final_url="https://n.example/notice",
        ),
        raw(
            kind="retraction", body=None, fetched_ms=40, reason=reason, recheck=True, final_url="https://n.example/lock"
        ),
        raw(kind="entry", body=None, fetched_ms=50, reason="timed_out", entry=entry),
        raw(fetched_ms=60, recheck=True),
    )
    sent = [out.record for out in through(decide, keyed)]
    assert [(type(record), record.version) for record in sent] == [(Article, 1), (Removed, 2), (Article, 3)]
    assert isinstance(sent[1], Removed)
    assert (sent[1].reason, sent[1].language, sent[1].publisher) == (reason, "en", "n.example")
    assert decide.metrics.counts["waiting"] == 1


def test_a_re_check_without_an_entry_sends_only_what_changed(extract: Harness) -> None:
    decide = Harness(lambda: Decide(POLICY))
    keyed = events(
        extract,
        raw(entry=Entry(identity="0" * 16, title="Lock closed", link="https://n.example/lock", summary="In the feed.")),
        raw(fetched_ms=30, found_ms=29, recheck=True),
        raw("Lock open", fetched_ms=40, found_ms=39, recheck=True, feed_id="f" * 16),
    )
    articles = [out.record for out in through(decide, keyed)]
    assert all(isinstance(article, Article) for article in articles)
    assert [(article.version, article.title) for article in articles if isinstance(article, Article)] == [
        (1, "Lock closed"),
        (2, "Lock open"),
    ]
    assert isinstance(articles[1], Article)
    assert (articles[1].first_seen_ms, articles[1].feed_id) == (10, "f" * 16)


def test_a_re_check_that_shows_no_article_is_counted_and_set_aside_nowhere(extract: Harness) -> None:
    extract.clear_output()
    html = "<html><body></body></html>"
    wall = raw(body=Body(size=len(html), zstd=pack_text(html)), recheck=True)
    assert events(extract, wall) == []
    assert extract.side["quarantine"] == []
    assert sum(number for name, number in extract.metrics.counts.items() if name.startswith("left_alone_")) == 1


def test_decide_goes_on_from_its_checkpoint(extract: Harness) -> None:
    decide = Harness(lambda: Decide(POLICY))
    first, second = events(extract, raw(), raw("Lock open", fetched_ms=30))
    through(decide, [first])
    decide.checkpoint()
    through(decide, [second])
    decide.restart(keep_output=False)
    replayed = through(decide, [second])
    assert [(out.record.version, out.record.changed) for out in replayed if isinstance(out.record, Article)] == [
        (2, ("title",))
    ]


def test_rows_are_forgotten_ninety_days_after_they_were_last_met(extract: Harness) -> None:
    decide = Harness(lambda: Decide(POLICY))
    ((key, event),) = events(extract, raw())
    through(decide, [(key, event)])
    assert len(decide.store.timers) == 2
    decide.advance(60 * DAY_MS)
    assert through(decide, [(key, event)]) == []  # known still, and met again
    decide.advance(89 * DAY_MS)
    assert through(decide, [(key, event)]) == []
    assert len(decide.store.timers) == 2
    decide.advance(93 * DAY_MS)
    assert decide.metrics.counts["expired"] == 1
    assert [out.record.version for out in through(decide, [(key, event)])] == [1]


def outgoing(title: str = "Lock closed", body: str = TEXT, **fields: object) -> bytes:
    known: dict[str, object] = {
        "article_id": "ab" * 16, "language": "en", "version": 1, "event": "new", "canonical_url": "https://n.example/lock",
        "publisher": "n.example", "title": title, "first_seen_ms": 10, "decided_ms": 30, "parser_version": "1",
    }  # fmt: skip
    return msgspec.msgpack.encode(Outgoing(Article(**(known | fields)), body))  # type: ignore[arg-type]


def test_sign_fills_in_the_signatures_once_a_text() -> None:
    encoder = CountingEncoder()
    sign = Harness(lambda: Sign(POLICY, ENDPOINTS, lambda: encoder))
    (row,) = sign.send("", outgoing())
    assert bytes(row[0]) == b"en"
    article = decode_normalised(row[1])
    assert isinstance(article, Article)
    assert unpack_text(article.body) == TEXT
    assert (len(article.minhash), len(article.content_hash), article.encoder_version) == (400, 32, "ones")
    assert unpack_vector(article.embedding).shape == (384,)
    sign.send("", outgoing(version=2, labels=("opinion",)))
    sign.send("", outgoing("Lock open", version=3))
    assert len(encoder.texts) == 2


def test_sign_keeps_a_bounded_number_of_vectors() -> None:
    encoder = CountingEncoder()
    sign = Harness(lambda: Sign(ArticlesPolicy(signatures_kept=2), ENDPOINTS, lambda: encoder))
    for title in ("a", "b", "c", "a"):
        sign.send("", outgoing(title))
    assert len(encoder.texts) == 4
    assert len(sign.function._signer._vectors) == 2


def test_an_article_that_cannot_be_signed_stands_in_its_log_all_the_same() -> None:
    sign = Harness(lambda: Sign(POLICY, ENDPOINTS, FailingEncoder))
    (row,) = sign.send("", outgoing())
    article = decode_normalised(row[1])
    assert isinstance(article, Article)
    assert (article.embedding, article.minhash, unpack_text(article.body)) == (b"", b"", TEXT)
    (aside,) = sign.side["quarantine"]
    assert decode_record(Quarantined, aside[1]).reason == "sign_failed"


def test_a_tombstone_passes_through() -> None:
    sign = Harness(lambda: Sign(POLICY, ENDPOINTS, CountingEncoder))
    removed = Removed(article_id="ab" * 16, language="de", version=2, decided_ms=3, reason="gone")
    (row,) = sign.send("", msgspec.msgpack.encode(Outgoing(removed)))
    assert decode_normalised(row[1]) == removed
    assert sign.side["clock"] == ["de"]


def test_each_language_is_told_to_the_clock_once() -> None:
    sign = Harness(lambda: Sign(POLICY, ENDPOINTS, CountingEncoder))
    for language in ("en", "de", "en"):
        sign.send("", outgoing(language=language))
    assert sign.side["clock"] == ["en", "de"]


def ticks(rows: Sequence[object]) -> list[Tick]:
    found = [decode_normalised(row[1]) for row in rows]  # type: ignore[index]
    assert all(isinstance(tick, Tick) for tick in found)
    return found  # type: ignore[return-value]


def test_the_clock_ticks_once_a_minute_and_language() -> None:
    clock = Harness(lambda: Clock(POLICY), now_ms=1_800_000_000_000)
    assert clock.send(itself("en"), "en") == []
    clock.send("en", "en")
    clock.advance(30_000)
    clock.send("de", "de")
    found = ticks(clock.advance(150_000))
    assert [(tick.language, tick.decided_ms % 60_000) for tick in found if tick.language == "en"] == [("en", 0)] * 3
    assert len([tick for tick in found if tick.language == "de"]) == 3


def test_after_an_outage_there_is_one_tick_not_one_for_each_minute_missed() -> None:
    clock = Harness(lambda: Clock(POLICY))
    clock.send("en", "en")
    clock.checkpoint()
    clock.restart(after_ms=3_600_000)
    found = ticks(clock.advance(0))
    assert len(found) == 1
    assert found[0].decided_ms == clock.clock.now_ms


def test_the_shard_is_the_beginning_of_the_id() -> None:
    assert shard_of("abcdef") == "abc"


def test_an_instant_that_no_row_holds_is_set_aside(extract: Harness) -> None:
    extract.clear_output()
    assert events(extract, raw(found_ms=10**30)) == []
    (row,) = extract.side["quarantine"]
    assert decode_record(Quarantined, row[1]).reason == "number_out_of_range"
