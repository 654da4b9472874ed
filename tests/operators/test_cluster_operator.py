"""Route and Cluster around the writer: keys, quarantine, rebuild from state, and the same bytes after a failure."""

from __future__ import annotations

import pytest

from state_schemas.articles import Tick, decode_normalised
from state_schemas.codec import decode_record, encode_record
from state_schemas.quarantine import Quarantined
from state_schemas.stories import StoryChange
from tests.operators.fake_flink import Harness
from tests.unit.story_samples import MINUTE, NOW, Line, article, model, removed, text
from udfs.stories.language_keys import language_key
from udfs.stories.operator import Cluster, Route
from udfs.stories.policy import ClusterPolicy

KEY = language_key("en")


def cluster() -> Harness:
    return Harness(lambda: Cluster(model(), ClusterPolicy()), now_ms=NOW)


def send(harness: Harness, *records: object) -> list[StoryChange]:
    made = []
    for record in records:
        data = record if isinstance(record, bytes) else encode_record(record)
        made += harness.send(KEY, (KEY, data))
    return [decode_record(StoryChange, bytes(row[1])) for row in made]


def refused(harness: Harness) -> list[Quarantined]:
    return [decode_record(Quarantined, bytes(row[1])) for row in harness.side["quarantine"]]


def some_records() -> list[object]:
    wire = text("alpha", "wire")
    return [
        article("one"),
        Tick(language="en", decided_ms=NOW + 1),
        article("two", at_ms=NOW + 2),
        article("wire", body=wire, at_ms=NOW + 3),
        article("copy", body=wire, at_ms=NOW + 4),
        article("other", "beta", at_ms=NOW + 5),
        article("two", version=2, title="Corrected", changed=("title",), at_ms=NOW + MINUTE),
        removed(article("one"), at_ms=NOW + 2 * MINUTE),
        article("more", "beta", at_ms=NOW + 3 * MINUTE),
    ]


@pytest.mark.parametrize(
    ("language", "key"), [("en", KEY), ("pt-BR", language_key("pt")), ("tlh", language_key("und"))]
)
def test_route_sends_a_record_to_the_key_of_its_language(language, key):
    route = Harness(Route, now_ms=NOW)
    data = encode_record(article("one", language=language))
    assert route.send("", data) == [(key, data)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff not json", "record_undecodable"),
        (b'{"kind":"article"}', "record_invalid"),
        (b'{"kind":7,"language":"en"}', "record_invalid"),
        (b'{"kind":"obituary","language":"en"}', "record_kind_unknown"),
        (b"[" * 100_000, "record_invalid"),
        (b"", "record_undecodable"),
    ],
)
def test_route_sets_aside_what_is_no_record_and_goes_on(data, reason):
    route = Harness(Route, now_ms=NOW)
    assert route.send("", data) == []
    (found,) = refused(route)
    assert (found.reason, found.stage, found.topic, found.at_ms) == (reason, "cluster", "articles.normalised", NOW)
    assert route.send("", encode_record(article("one")))


def test_cluster_writes_changes_keyed_by_language():
    harness = cluster()
    changes = send(harness, *some_records())
    assert [change.change for change in changes] == [
        "started",
        "assigned",
        "assigned",
        "copied",
        "started",
        "updated",
        "retracted",
        "assigned",
    ]
    assert {bytes(row[0]) for row in harness.main} == {b"en"}
    assert [change.sequence for change in changes] == list(range(1, 9))


def test_cluster_sets_aside_a_broken_article_and_goes_on():
    harness = cluster()
    good = encode_record(article("one"))
    broken = encode_record(article("two", embedding=b"abc"))
    assert send(harness, broken, good[:-20], good)[0].change == "started"
    assert [found.reason for found in refused(harness)] == ["vector_invalid", "record_undecodable"]


def test_the_operator_gives_the_bytes_of_the_plain_writer_whenever_it_is_killed():
    line = Line()
    for record in some_records():
        line.send(decode_normalised(encode_record(record)))
    expected = [encode_record(change) for change in line.changes]
    for killed_after in range(len(some_records())):
        harness = cluster()
        for place, record in enumerate(some_records()):
            send(harness, record)
            if place == killed_after:
                harness.checkpoint()
                harness.restart()
        assert [bytes(row[1]) for row in harness.main] == expected


def test_what_was_not_checkpointed_is_decided_again_to_the_same_bytes():
    harness = cluster()
    first, *rest = some_records()
    send(harness, first)
    harness.checkpoint()
    for record in rest:
        send(harness, record)
    whole = [bytes(row[1]) for row in harness.main]
    harness.restart(keep_output=False)
    for record in rest:
        send(harness, record)
    assert [bytes(row[1]) for row in harness.main] == whole


def test_a_timer_rebuilds_the_writer_without_input():
    harness = cluster()
    send(harness, *some_records())
    harness.checkpoint()
    harness.restart(after_ms=10 * MINUTE)
    assert not harness.function._writers
    harness.advance(0)
    assert list(harness.function._writers) == [KEY]
    assert len(harness.store.timers) == 2
    harness.advance(5 * MINUTE)
    assert len(harness.store.timers) == 2


def test_each_language_has_its_own_writer_and_numbers():
    harness = cluster()
    send(harness, article("one"))
    vietnamese = language_key("vi")
    (row,) = harness.send(vietnamese, (vietnamese, encode_record(article("hai", language="vi"))))
    change = decode_record(StoryChange, bytes(row[1]))
    assert (change.language, change.sequence) == ("vi", 1)
