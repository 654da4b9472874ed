"""The Cluster operator over fake state and timers: failures at every record, bad records, routing, rows stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from state_schemas.articles import Normalised
from state_schemas.clusters import MAPS, MEMBERS
from state_schemas.codec import decode_record, encode_record
from state_schemas.quarantine import Quarantined
from state_schemas.stories import StoryChange
from tests.operators.fake_flink import FakeMapState, Harness
from tests.unit.stories_samples import MINUTE, SECOND, START, Reader, article, model, on_the_clock, removed, text, tick
from udfs.stories.language_keys import language_key
from udfs.stories.operator import Cluster, Route
from udfs.stories.policy import ClusterPolicy

EVENTS = ("alder", "birch", "cedar", "dogwood")
EN = language_key("en")


def harness() -> Harness:
    return Harness(lambda: Cluster(model(), ClusterPolicy(fold_first=4, fold_every=8)), now_ms=START)


def log() -> list[Normalised]:
    """Articles of four events with copies, variants, updates and tombstones, in two languages."""
    records: list[Normalised] = []
    for number in range(24):
        event, at_ms = EVENTS[number % 4], START + number * MINUTE
        body = text(event, "wire") if number % 5 == 0 else text(event, f"n{number}")
        language = "pt" if number % 6 == 5 else "en"
        made = article(f"n{number}", event, at_ms, publisher=f"p{number % 7}.example", body=body, language=language)
        records.append(made)
        if number % 8 == 3:
            title = f"Corrected {number}"
            records.append(
                article(f"n{number}", event, at_ms, 2, publisher=made.publisher, language=language, title=title)
            )
        if number % 8 == 7:
            records.append(removed(made, 2, at_ms))
    return on_the_clock(records)


def send(task: Harness, record: Normalised) -> list[StoryChange]:
    emitted = task.send(language_key(record.language), (language_key(record.language), encode_record(record)))
    return [decode_record(StoryChange, row[1]) for row in emitted]


def written(task: Harness) -> list[tuple[bytes, bytes]]:
    return [(row[0], row[1]) for row in task.main]


def set_aside(task: Harness) -> list[Quarantined]:
    return [decode_record(Quarantined, row[1]) for row in task.side["quarantine"]]


@pytest.fixture(scope="module")
def whole() -> Harness:
    """The task that never failed."""
    task = harness()
    for record in log():
        send(task, record)
    return task


def test_the_log_has_every_kind_of_change(whole):
    changes = [decode_record(StoryChange, data) for _, data in written(whole)]
    assert {change.change for change in changes} >= {"started", "assigned", "copied", "updated", "retracted"}
    for language in ("en", "pt"):
        reader = Reader()
        for change in changes:
            if change.language == language:
                reader.take(change)
        assert reader.members
    assert {key for key, _ in written(whole)} == {b"en", b"pt"}
    assert not set_aside(whole)


def test_killed_after_every_checkpointed_record_the_output_is_the_same(whole):
    task = harness()
    for record in log():
        send(task, record)
        task.checkpoint()
        task.restart()
    assert written(task) == written(whole)
    assert task.store.maps == whole.store.maps


@pytest.mark.parametrize("lost", [1, 2, 5])
def test_records_since_the_last_checkpoint_are_decided_again_alike(whole, lost):
    """The sink's transaction aborts, the source goes back: what is committed in the end is the same."""
    task, records = harness(), log()
    for start in range(0, len(records), 7):
        task.checkpoint()
        for record in records[start : start + lost]:
            send(task, record)
        task.restart(keep_output=False, after_ms=SECOND)
        for record in records[start : start + 7]:
            send(task, record)
    assert written(task) == written(whole)
    assert task.store.maps == whole.store.maps


def test_a_failure_before_the_first_checkpoint_begins_again(whole):
    task = harness()
    for record in log()[:9]:
        send(task, record)
    task.restart(keep_output=False)
    for record in log():
        send(task, record)
    assert written(task) == written(whole)


def _changed(**fields: Any) -> bytes:
    known = json.loads(encode_record(article("bad", "alder", START + 1)))
    return json.dumps({**known, **fields}).encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "record_undecodable"),
        (b"\xff\xfe", "record_undecodable"),
        (b'{"kind":"article","language":"en"', "record_undecodable"),
        (b'{"kind":"article","language":"en"}', "record_invalid"),
        (b'{"kind":"melody","language":"en","decided_ms":1}', "record_invalid"),
        (b'{"kind":"article","language":"en","more":' + b"[" * 100_000, "record_undecodable"),
        (_changed(version="1"), "record_invalid"),
        (_changed(article_id="../../etc"), "article_id_invalid"),
        (_changed(decided_ms=0), "decided_ms_invalid"),
        (_changed(minhash="AAAA"), "minhash_invalid"),
        (_changed(embedding="AAAA"), "vector_invalid"),
        (_changed(embedding="AAAAAAAA"), "embedding_invalid"),
        (_changed(body="AAAA"), "body_undecodable"),
    ],
)
def test_a_bad_record_is_set_aside_and_the_log_goes_on(data, reason):
    task, clean = harness(), harness()
    first, second = article("n0", "alder"), article("n1", "alder", START + 2)
    send(task, first)
    before = task.store.maps[MEMBERS, EN].copy()
    assert task.send(EN, (EN, data)) == []
    (aside,) = set_aside(task)
    assert (aside.topic, aside.stage, aside.reason) == ("articles.normalised", "cluster", reason)
    assert aside.record == data[: 64 * 1024]
    assert task.store.maps[MEMBERS, EN] == before
    send(task, second)
    send(clean, first)
    send(clean, second)
    assert written(task) == written(clean)
    assert task.store.maps == clean.store.maps


def test_a_bad_record_as_the_first_one_after_a_failure():
    task = harness()
    send(task, article("n0", "alder"))
    task.checkpoint()
    task.restart()
    task.send(EN, (EN, b"{"))
    (change,) = send(task, article("n1", "alder", START + 1))
    assert (change.change, change.sequence) == ("assigned", 2)


def test_a_rebuild_starts_from_a_timer_without_input(monkeypatch):
    task = harness()
    for record in log():
        send(task, record)
    task.checkpoint()
    task.restart(after_ms=10 * MINUTE)
    read: list[str] = []
    items = FakeMapState.items
    monkeypatch.setattr(FakeMapState, "items", lambda self: read.append(self._name) or items(self))
    assert task.advance(0) == []  # timers that were due while the task was down fire at once
    assert set(read) >= {"writer", "stories", MEMBERS}
    read.clear()
    (change,) = send(task, article("n99", "alder", START + 24 * MINUTE))
    assert change.change == "assigned"
    assert read == []  # the rebuilt writer answers; nothing is read again


def test_two_timers_a_language_stand_ahead_at_all_times():
    task = harness()
    for record in log():
        send(task, record)
    for _ in range(4):
        assert sorted(key for _, key in task.store.timers) == sorted([EN, language_key("pt")] * 2)
        assert all(task.clock.now_ms < at_ms <= task.clock.now_ms + 3 * MINUTE for at_ms, _ in task.store.timers)
        task.checkpoint()
        task.restart(after_ms=SECOND)
        task.advance(5 * MINUTE)
        send(task, tick(START + 30 * MINUTE))


def _route(*values: bytes) -> Harness:
    task = Harness(Route, now_ms=START)
    for value in values:
        task.send(None, value)
    return task


@pytest.mark.parametrize(
    ("language", "writer"),
    [("en", "en"), ("pt-BR", "pt"), ("nb", "no"), ("und", "und"), ("", "und"), ("tlh", "und"), ("xx-YY", "und")],
)
@pytest.mark.parametrize("make", [lambda tag: article("n0", "alder", language=tag), lambda tag: tick(START, tag)])
def test_each_record_goes_to_its_languages_writer(language, writer, make: Callable[[str], Normalised]):
    data = encode_record(make(language))
    task = _route(data)
    assert task.main == [(language_key(writer), data)]
    assert not task.side


def test_unknown_languages_share_one_writer_and_one_sequence():
    task = harness()
    made = [
        send(task, article(f"n{number}", "alder", START + number, language=tag))
        for number, tag in enumerate(("tlh", "xx", "und"))
    ]
    changes = [change for some in made for change in some]
    assert [change.sequence for change in changes] == [1, 2, 3]
    assert {change.language for change in changes} == {"und"}
    assert [row[0] for row in task.main] == [b"und"] * 3
    assert len({key for _, key in task.store.maps}) == 1


def test_languages_do_not_see_each_others_articles():
    task = harness()
    (english,) = send(task, article("n0", "alder"))
    (portuguese,) = send(task, article("n1", "alder", body=text("alder", "n0"), language="pt"))
    assert (english.change, portuguese.change) == ("started", "started")
    assert (english.sequence, portuguese.sequence) == (1, 1)
    assert english.story.story_id != portuguese.story.story_id


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "record_undecodable"),
        (b"no json", "record_undecodable"),
        (b'"text"', "record_invalid"),
        (b'{"kind":"article"}', "record_invalid"),
        (b'{"kind":"article","language":7}', "record_invalid"),
        (b'{"kind":"melody","language":"en"}', "record_kind_unknown"),
        (b'{"kind":"article","language":"\xff"}', "record_undecodable"),
    ],
)
def test_what_cannot_be_routed_is_set_aside(data, reason):
    task = _route(data, encode_record(tick(START)))
    (aside,) = set_aside(task)
    assert (aside.reason, aside.record) == (reason, data)
    assert [key for key, _ in task.main] == [EN]


def test_at_most_five_puts_an_article(monkeypatch):
    """A put costs 90 us; blocks of frequencies are left out, for they are shared by the articles of a fold."""
    task, puts = harness(), []
    monkeypatch.setattr(FakeMapState, "put", _counted(puts, FakeMapState.put))
    monkeypatch.setattr(FakeMapState, "remove", _counted(puts, FakeMapState.remove))
    for record in log():
        puts.clear()
        send(task, record)
        own = [key for key in puts if not key.startswith("df:")]
        assert len(own) <= 5


def test_with_the_blocks_of_frequencies_five_puts_an_article_on_average(monkeypatch):
    task = Harness(lambda: Cluster(model(), ClusterPolicy()), now_ms=START)
    puts: list[str] = []
    monkeypatch.setattr(FakeMapState, "put", _counted(puts, FakeMapState.put))
    monkeypatch.setattr(FakeMapState, "remove", _counted(puts, FakeMapState.remove))
    for number in range(400):
        send(task, article(f"n{number}", f"topic{number % 80}", START + number))
    assert len(puts) <= 5 * 400


def _counted(puts: list[str], real: Callable[..., None]) -> Callable[..., None]:
    def counting(self: FakeMapState, key: str, *value: bytes) -> None:
        puts.append(key)
        real(self, key, *value)

    return counting


def test_only_the_documented_maps_are_kept(whole):
    assert {name for name, _ in whole.store.maps} <= set(MAPS)
    assert not whole.store.values
    assert not whole.store.lists


def _kept(records: Sequence[Normalised]) -> int:
    task = harness()
    for record in records:
        send(task, record)
    return sum(len(rows) for rows in task.store.maps.values())


def test_a_log_sent_twice_keeps_no_more_rows():
    records = log()
    assert _kept([*records, *records]) == _kept(records)
