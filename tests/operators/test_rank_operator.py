from __future__ import annotations

import builtins
import logging

import pytest

import udfs.publish.operator
from connectors.settings import Endpoints
from state_schemas.codec import decode_record, encode_record
from state_schemas.pages import EditionPages
from state_schemas.quarantine import Quarantined
from state_schemas.ranking import PublishedEdition
from state_schemas.sources import PollSignal
from tests.operators.fake_flink import Harness
from tests.unit.ranking_samples import NOW, change
from udfs.editions import load_reference
from udfs.publish.decide import PublishPolicy
from udfs.publish.operator import Publish
from udfs.publish.publisher import Published
from udfs.ranking.operator import Rank, Route
from udfs.ranking.policy import RankingPolicy

REFERENCE = load_reference()
CYCLE = 60_000
ENGLISH = [edition.id for edition in REFERENCE.editions if edition.language == "en"]


def _harness() -> Harness:
    return Harness(lambda: Rank(RankingPolicy(), REFERENCE), now_ms=NOW)


def _send(harness: Harness, *changes: object) -> None:
    for one in changes:
        harness.send("en", ("en", encode_record(one)))  # type: ignore[arg-type]


def _stories(emitted: list[tuple[str, bytes]]) -> dict[str, list[str]]:
    found = {}
    for edition, data in emitted:
        pages = decode_record(EditionPages, data)
        found[edition] = [story.story_id for page in pages.pages if page.section == "top" for story in page.stories]
    return found


def test_each_cycle_gives_every_edition_of_the_language_its_pages() -> None:
    harness = _harness()
    _send(harness, change(1, "started", "s1", "a"))
    stories = _stories(harness.advance(CYCLE))
    assert sorted(stories) == sorted(ENGLISH)
    assert all(ids == ["s1"] for ids in stories.values())
    assert len(harness.advance(3 * CYCLE)) == 3 * len(ENGLISH)


def test_cycles_stand_on_boundaries_and_an_overrun_is_skipped() -> None:
    harness = _harness()
    _send(harness, change(1, "started", "s1", "a"))
    emitted = harness.advance(2 * CYCLE)
    cycles = sorted({decode_record(EditionPages, data).cycle for _, data in emitted})
    assert all(cycle % CYCLE == 0 for cycle in cycles)
    assert len(cycles) == 2


def test_a_repeated_change_is_ignored() -> None:
    harness = _harness()
    started = change(1, "started", "s1", "a")
    _send(harness, started, change(2, "expired", "s1"), started)
    assert all(ids == [] for ids in _stories(harness.advance(CYCLE)).values())


def test_after_a_failure_the_stories_are_there_without_any_input() -> None:
    harness = _harness()
    _send(harness, change(1, "started", "s1", "a"), change(2, "started", "s2", "b"))
    harness.checkpoint()
    _send(harness, change(3, "started", "lost", "c"))
    harness.restart(keep_output=False)
    assert all(sorted(ids) == ["s1", "s2"] for ids in _stories(harness.advance(CYCLE)).values())
    _send(harness, change(3, "started", "s3", "c"))
    assert sorted(_stories(harness.advance(CYCLE))["en-gb"]) == ["s1", "s2", "s3"]


def test_a_new_epoch_starts_afresh_and_the_old_one_is_ignored() -> None:
    harness = _harness()
    _send(harness, change(7, "started", "old", "a"), change(1, "started", "new", "b", epoch=2))
    _send(harness, change(8, "started", "late", "c"))
    assert _stories(harness.advance(CYCLE))["en-gb"] == ["new"]


def _tombstones(emitted: list[tuple[str, bytes]]) -> dict[str, list[tuple[str, bool]]]:
    found: dict[str, list[tuple[str, bool]]] = {}
    for edition, data in emitted:
        stones = decode_record(EditionPages, data).tombstones
        found.setdefault(edition, []).extend((stone.article_id, stone.retracted) for stone in stones)
    return found


def test_the_cycle_after_a_retraction_tells_every_edition_once_even_after_a_failure() -> None:
    harness = _harness()
    _send(harness, change(1, "started", "s1", "a"))
    harness.advance(CYCLE)
    cut = change(2, "retracted", "s1", "a", summary={"originals": 0}, cause="gone")
    _send(harness, cut, change(3, "expired", "s1", cause="empty"))
    harness.checkpoint()
    harness.restart()
    assert _tombstones(harness.advance(CYCLE)) == {edition: [("a", True)] for edition in ENGLISH}, (
        "and no story is left"
    )
    assert all(not stones for stones in _tombstones(harness.advance(CYCLE)).values())
    _send(harness, change(4, "started", "s2", "a", cause="reinstated"))
    assert _tombstones(harness.advance(CYCLE))["en-gb"] == [("a", False)]


def test_a_new_date_alone_gains_no_place() -> None:
    harness = _harness()
    _send(harness, change(1, "started", "s1", "a"), change(2, "started", "s2", "b"))

    def score(data: bytes) -> dict[str, float]:
        (top,) = [page for page in decode_record(EditionPages, data).pages if page.section == "top"]
        return {story.story_id: story.score for story in top.stories}

    plain = _harness()
    _send(plain, change(1, "started", "s1", "a"), change(2, "started", "s2", "b"))
    _send(harness, change(3, "updated", "s1", "a", brief={"version": 2, "published_ms": NOW + 9 * CYCLE}))
    found = [dict(one.advance(CYCLE))["en-gb"] for one in (harness, plain)]
    assert score(found[0]) == score(found[1])
    (story,) = [
        story
        for page in decode_record(EditionPages, found[0]).pages
        if page.section == "top"
        for story in page.stories
        if story.story_id == "s1"
    ]
    assert story.representative.published_ms == NOW + 9 * CYCLE, "its readers see the date it claims"


def _asked(harness: Harness) -> list[str]:
    """The links of the signals so far; each goes out under its feed's id."""
    found = []
    for key, value in harness.side["signals"]:
        signal = decode_record(PollSignal, bytes(value))
        assert (signal.feed_id, signal.signal) == (bytes(key).decode(), "recheck")
        found += signal.links
    return found


def test_representatives_ask_for_their_page_again_and_a_restart_asks_for_no_more() -> None:
    harness = _harness()
    briefs = [(f"a{number}", {"feed_id": f"{number:016x}"} if number else {}) for number in range(8)]
    _send(
        harness,
        *(change(n + 1, "started", f"s{n}", article, brief=brief) for n, (article, brief) in enumerate(briefs)),
    )
    harness.advance(10 * CYCLE)
    assert _asked(harness) == [], "read just now"
    harness.advance(5 * CYCLE)
    harness.checkpoint()
    harness.restart()
    harness.advance(5 * CYCLE)
    assert sorted(_asked(harness)) == [f"https://a{number}.example/a" for number in range(1, 8)], (
        "the first has no feed"
    )


def test_what_cannot_be_decoded_is_set_aside_with_its_bytes() -> None:
    assert list(Route().flat_map(b"{nonsense")) == [("", b"{nonsense")]
    harness = _harness()
    harness.send("", ("", b"{nonsense"))
    (row,) = harness.side["quarantine"]
    aside = decode_record(Quarantined, bytes(row[1]))
    assert (aside.topic, aside.stage, aside.reason, aside.record) == (
        "story.changes",
        "rank",
        "record_undecodable",
        b"{nonsense",
    )


def test_a_number_that_no_column_holds_is_set_aside_and_the_job_goes_on() -> None:
    harness = _harness()
    _send(harness, change(1, "started", "s1", "a", brief={"first_seen_ms": 10**30}))
    _send(harness, change(2, "started", "s2", "b", summary={"updated_ms": -(10**30)}))
    reasons = [decode_record(Quarantined, bytes(row[1])).reason for row in harness.side["quarantine"]]
    assert reasons == ["number_out_of_range"] * 2
    _send(harness, change(3, "started", "s3", "c"))
    assert _stories(harness.advance(CYCLE))["en-gb"] == ["s3"]


def test_pages_that_cannot_be_decoded_are_set_aside() -> None:
    harness = Harness(lambda: Publish(PublishPolicy(), Endpoints()), now_ms=NOW)
    (row,) = harness.send("en-gb", ("en-gb", b'{"edition":"en-gb","cycle":null,"pages":[]}'))
    harness.function.close()
    aside = decode_record(Quarantined, bytes(row[1]))
    assert (aside.stage, aside.reason, aside.subject) == ("publish", "record_invalid", "en-gb")


def test_a_page_that_could_not_be_published_is_logged_and_the_task_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def pinned(*_: object) -> Published:
        return Published(PublishedEdition(cycle=1, pages={}), refused={"top": "pinned"})

    def print_of_a_worker(*words: object, sep: str = " ", end: str = "\n", file: object = None) -> None:
        """As PyFlink's CustomPrint, which lacks an argument of the real one."""

    monkeypatch.setattr(builtins, "print", print_of_a_worker)
    monkeypatch.setattr(udfs.publish.operator, "publish", pinned)
    harness = Harness(lambda: Publish(PublishPolicy(), Endpoints()), now_ms=NOW)
    with caplog.at_level(logging.WARNING):
        assert harness.send("en-gb", ("en-gb", encode_record(EditionPages(edition="en-gb", cycle=1, pages=())))) == []
    harness.function.close()
    assert "en-gb/top, cycle 1: pinned" in caplog.text
