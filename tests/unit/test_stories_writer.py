"""The language writer: copies, joins, updates, retractions, expiry; and its laws: replay, restart, duplicates."""

from __future__ import annotations

import itertools
from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_schemas.articles import Command, Normalised, Tick
from state_schemas.clusters import ARTICLES, MEMBERS, RETIRED, STORIES
from state_schemas.codec import DecodeError, encode_record, pack_text
from tests.unit.story_samples import DAY, HOUR, MINUTE, NOW, Line, article, model, place, removed, text
from udfs.stories.policy import ClusterPolicy

_CUT = pack_text("words " * 400)[:-4]


def tick(at_ms: int) -> Tick:
    return Tick(language="en", decided_ms=at_ms)


def kinds(line: Line) -> list[str]:
    return [change.change for change in line.changes]


def test_first_article_starts_a_story_and_a_second_about_it_joins():
    line = Line()
    started, joined = line.send(article("one"), article("two"))
    assert (started.change, joined.change) == ("started", "assigned")
    assert joined.story.story_id == started.story.story_id
    assert joined.story.originals == 2
    assert joined.story.publishers == ("one.example", "two.example")
    assert joined.probability is not None
    assert joined.probability >= 0.5
    assert started.probability is None
    assert joined.article is not None
    assert joined.article.centrality > 0.5
    assert len(joined.story.centroid) == 768


def test_another_event_starts_another_story():
    line = Line()
    line.send(article("one", "alpha"), article("two", "beta"))
    assert kinds(line) == ["started", "started"]
    assert len({change.story.story_id for change in line.changes}) == 2


def test_a_copy_names_the_first_original_and_counts_once():
    line = Line()
    wire = text("alpha", "wire")
    first = article("one", body=wire)
    line.send(first, article("two", body=wire), article("three", body=wire + " Our reporter added a line."))
    assert kinds(line) == ["started", "copied", "copied"]
    assert [change.of for change in line.changes] == ["", first.article_id, first.article_id]
    assert (line.changes[-1].story.originals, line.changes[-1].story.copies) == (1, 2)
    assert line.changes[-1].story.publishers == ("one.example",)


def test_the_same_publishers_text_again_is_a_variant():
    line = Line()
    first = article("one", publisher="daily.example")
    amp = article("one-amp", publisher="daily.example", body=text("alpha", "one"))
    line.send(first, amp)
    assert kinds(line) == ["started", "variant"]
    assert line.changes[-1].of == first.article_id
    assert (line.changes[-1].story.originals, line.changes[-1].story.variants) == (1, 1)


def test_a_variant_of_a_copy_is_a_variant():
    line = Line()
    wire = text("alpha", "wire")
    line.send(
        article("one", body=wire),
        article("two", body=wire, publisher="daily.example"),
        article("two-amp", body=wire, publisher="daily.example"),
    )
    assert kinds(line) == ["started", "copied", "variant"]


def test_texts_too_short_for_a_signature_are_no_copies_of_each_other():
    """Field case dedupe/empty-is-not-equal: three articles without bodies, one hash of nothing."""
    line = Line()
    for name, event in (("one", "alpha"), ("two", "beta"), ("three", "gamma")):
        empty = article(name, event, body="", content_hash="d41d8cd98f00b204e9800998ecf8427e")
        assert not empty.minhash
        line.send(empty)
    assert kinds(line) == ["started"] * 3


def test_two_entries_of_one_feed_for_one_text_stay_one_article_and_one_variant():
    """Field case dedupe/flip-flop: whatever is polled again changes nothing."""
    line = Line()
    first = article("597", publisher="daily.example")
    second = article("630", publisher="daily.example", body=text("alpha", "597"))
    line.send(first, second)
    again = line.send(first, second, second, first)
    assert kinds(line) == ["started", "variant"]
    assert again == []


def test_sections_of_one_newsroom_count_as_one_publisher():
    """Field case ranking/feeds-are-not-publishers."""
    line = Line()
    line.send(*(article(name, publisher="daily.example") for name in ("world", "europe", "business", "top")))
    assert line.changes[-1].story.originals == 4
    assert line.changes[-1].story.publishers == ("daily.example",)


def test_articles_of_one_country_are_not_a_story():
    """Field case clustering/shared-country-is-not-a-story: what all share tells nothing apart."""
    line = Line()
    events = ("pensions", "flood", "football", "trial", "merger")
    line.send(*(article(event, event, entities=(place("country:FR", "FR"),)) for event in events))
    assert kinds(line) == ["started"] * 5


def test_a_slow_topic_stays_one_story_over_days():
    """Field case clustering/back-every-morning: live while updated within 48 h."""
    line = Line()
    moments = [0, HOUR, 2 * HOUR, 3 * HOUR, DAY, DAY + HOUR, 2 * DAY + HOUR, 2 * DAY + 2 * HOUR]
    for number, after in enumerate(moments):
        line.send(tick(NOW + after), article(f"desktop{number}", at_ms=NOW + after))
    assert kinds(line) == ["started"] + ["assigned"] * 7
    assert len({change.story.story_id for change in line.changes}) == 1


def test_story_ids_do_not_follow_the_settings():
    """Field case clustering/ids-that-follow-the-settings: an id is minted once, from the stream's time."""
    records = [article(f"a{number}", f"event{number % 4}", at_ms=NOW + number) for number in range(12)]
    before, after = Line(), Line(using=model(threshold=0.9))
    before.send(*records)
    before.restart()
    before.model = model(threshold=0.9)
    before.restart()
    ids = {change.story.story_id for change in before.changes}
    more = before.send(*(article(f"b{number}", f"event{number}", at_ms=NOW + 100) for number in range(3)))
    assert {change.story.story_id for change in more} <= ids | {change.story.story_id for change in more}
    assert all(change.change == "assigned" for change in more)
    after.send(*records)
    assert after.changes[0].story.story_id == before.changes[0].story.story_id


def test_an_update_stays_in_its_story_and_tells_its_new_title():
    line = Line()
    first, second = article("one"), article("two")
    line.send(first, second)
    (update,) = line.send(article("one", version=2, title="Corrected", changed=("title",), at_ms=NOW + MINUTE))
    assert update.change == "updated"
    assert update.story.originals == 2
    assert update.article is not None
    assert (update.article.title, update.article.version) == ("Corrected", 2)


def test_an_update_of_a_copy_stays_a_copy():
    line = Line()
    wire = text("alpha", "wire")
    first = article("one", body=wire)
    line.send(first, article("two", body=wire))
    (update,) = line.send(article("two", body=wire, version=2, changed=("labels",)))
    assert (update.change, update.of, update.story.copies) == ("updated", first.article_id, 1)


def test_a_version_not_above_its_own_changes_nothing():
    line = Line()
    line.send(article("one"), article("one", version=3, changed=("title",)))
    assert line.send(article("one", version=2, title="Late"), article("one", version=3, title="Again")) == []
    assert kinds(line) == ["started", "updated"]


def test_a_retraction_cuts_its_article_out():
    line = Line()
    first, second = article("one"), article("two")
    line.send(first, second)
    (cut,) = line.send(removed(first))
    assert (cut.change, cut.cause, cut.story.originals) == ("retracted", "retracted", 1)
    assert cut.article is not None
    assert cut.article.article_id == first.article_id
    assert cut.story.publishers == ("two.example",)
    assert line.send(removed(first), first) == []


def test_the_last_retraction_ends_the_story():
    line = Line()
    only = article("one")
    line.send(only)
    cut, ended = line.send(removed(only))
    assert (cut.change, ended.change) == ("retracted", "expired")
    assert cut.story.originals + cut.story.copies == 0
    assert not line.store.of(STORIES)
    (again,) = line.send(article("one", version=3))
    assert again.change == "started"


def test_a_retracted_originals_first_copy_takes_its_place():
    line = Line()
    wire = text("alpha", "wire")
    first, copy, other = article("one", body=wire), article("two", body=wire), article("three", body=wire)
    line.send(first, copy, other)
    (cut,) = line.send(removed(first))
    assert (cut.story.originals, cut.story.copies) == (1, 1)
    assert cut.story.publishers == ("two.example",)
    line.restart()
    (late,) = line.send(article("four", body=wire))
    assert (late.change, late.of) == ("copied", copy.article_id)


def test_two_addresses_of_one_text_are_an_article_and_a_variant_for_good():
    """Field case dedupe/flip-flop: chosen once, by the log's order; later polls, edits and a return change no role."""
    line = Line()
    one = text("alpha", "597")
    first, second = (article(name, publisher="n.example", body=one, title="Same title") for name in ("597", "630"))
    line.send(first, second)
    assert kinds(line) == ["started", "variant"]
    assert line.send(first, second, second, first) == []
    edits = [
        article(name, version=2, publisher="n.example", body=one, title="New title", changed=("title",))
        for name in ("630", "597")
    ]
    assert [(change.change, change.of) for change in line.send(*edits)] == [
        ("updated", first.article_id),
        ("updated", ""),
    ]
    (cut,) = line.send(removed(first, version=3))
    assert (cut.story.originals, cut.story.variants) == (1, 0)
    (again,) = line.send(article("597", version=4, publisher="n.example", body=one, title="New title"))
    assert (again.change, again.of, again.cause) == ("variant", second.article_id, "reinstated")
    line.restart()
    assert line.send(first, second, *edits) == []


def test_an_article_dated_anew_keeps_no_story_alive_and_gains_no_recency():
    """Field case dedupe/reused-guid: the date that is shown changes, and nothing that counts."""
    line = Line()
    line.send(article("one"), tick(NOW + 1), article("other", "beta", at_ms=NOW + 2))
    before = line.changes[0].story
    for hours in range(1, 47, 5):
        line.send(*(tick(NOW + hours * HOUR - step * MINUTE) for step in range(300, 0, -9)))
        dated = {"changed": ("published",), "published_ms": NOW + hours * HOUR, "first_seen_ms": NOW}
        (told,) = line.send(article("one", version=1 + hours, at_ms=NOW + hours * HOUR, **dated))
        assert told.change == "updated"
        assert told.article is not None
        assert told.article.published_ms == NOW + hours * HOUR
        assert (told.story.latest_ms, told.story.updated_ms) == (before.latest_ms, before.updated_ms)
    walk(line, NOW + 46 * HOUR, NOW + 2 * DAY + HOUR)
    assert kinds(line).count("expired") == 2


def test_a_retraction_of_an_expired_storys_article_is_told_once():
    line = Line()
    first = article("one")
    line.send(first, tick(NOW + 1), article("other", "beta", at_ms=NOW + 1))
    walk(line, NOW, NOW + 2 * DAY + HOUR)
    line.restart()
    late = NOW + 2 * DAY + HOUR
    (gone,) = line.send(removed(first, at_ms=late))
    assert (gone.change, gone.cause, gone.story.originals) == ("retracted", "retracted", 0)
    assert gone.article is not None
    assert gone.article.article_id == first.article_id
    assert line.send(removed(first, at_ms=late), removed(first, version=3, at_ms=late)) == []


def test_a_story_expires_48_hours_after_its_last_update():
    line = Line()
    line.send(article("one"), tick(NOW + 1), article("two", at_ms=NOW + 2))
    assert (
        line.send(tick(NOW + 2 * DAY - HOUR), article("far", "omega", at_ms=NOW + 2 * DAY - HOUR))[0].change
        == "started"
    )
    moved = line.send(tick(NOW + 2 * DAY - HOUR), article("far2", "omega", at_ms=NOW + 2 * DAY - HOUR))
    assert [change.change for change in moved] == ["assigned"]
    ended = line.send(*(tick(NOW + 2 * DAY - HOUR + step * 9 * MINUTE) for step in range(1, 8)))
    assert [change.change for change in ended] == ["expired"]
    assert ended[0].story.story_id == line.changes[0].story.story_id
    assert len(line.store.of(ARTICLES)) == 2


def walk(line: Line, from_ms: int, to_ms: int, step_ms: int = 9 * MINUTE) -> None:
    """Ticks, close enough together that none is a jump."""
    for at_ms in range(from_ms, to_ms, step_ms):
        line.send(tick(at_ms))


def test_an_update_to_an_expired_story_starts_nothing():
    line = Line()
    first = article("one")
    line.send(first, tick(NOW + 1), article("other", "beta", at_ms=NOW + 1))
    walk(line, NOW, NOW + 2 * DAY + HOUR)
    assert kinds(line).count("expired") == 2
    late = NOW + 2 * DAY + HOUR
    line.restart()
    assert line.send(article("one", version=2, at_ms=late, first_seen_ms=NOW, changed=("title",))) == []
    assert line.send(article("one", at_ms=late, first_seen_ms=NOW)) == []


def test_an_old_article_with_a_new_date_is_no_news():
    """Field case dedupe/reused-guid: an update to what is not known any more starts no story."""
    line = Line()
    line.send(article("one"), tick(NOW), article("two", "beta", at_ms=NOW + 1))
    old = article("ferries", "gamma", version=2, at_ms=NOW + 2, first_seen_ms=NOW - 500 * DAY)
    assert line.send(old) == []


def test_expired_articles_are_forgotten_after_30_days():
    policy = ClusterPolicy(live_ms=HOUR, known_ms=6 * HOUR)
    line = Line(policy)
    line.send(article("one"), tick(NOW + 1), article("two", "beta", at_ms=NOW + 1))
    walk(line, NOW, NOW + 2 * HOUR)
    assert len(line.store.of(ARTICLES)) == 2
    line.restart()
    walk(line, NOW + 2 * HOUR, NOW + 9 * HOUR)
    assert not line.store.of(ARTICLES)
    assert not line.store.of(RETIRED)
    assert not line.store.of(MEMBERS)


def test_one_bad_clock_expires_nothing():
    line = Line()
    line.send(article("one"), tick(NOW + 1), article("two", at_ms=NOW + 2))
    bad = article("mad", "beta", publisher="mad.example", at_ms=NOW + 400 * DAY)
    worse = article("mad2", "gamma", publisher="mad.example", at_ms=NOW + 401 * DAY)
    changes = line.send(bad, worse)
    assert [change.change for change in changes] == ["started", "started"]
    assert all(change.decided_ms < NOW + MINUTE for change in changes)


def test_a_new_article_within_the_window_needs_no_look_up():
    line = Line()
    line.send(article("one"), article("two"), article("three", "beta"))
    assert not [read for read in line.store.reads if read[0] == ARTICLES]


def test_at_most_five_rows_an_article():
    line = Line()
    puts = Counter[int]()
    for number in range(200):
        decision = line.writer.decide(article(f"a{number}", f"event{number % 40}", at_ms=NOW + number))
        line.store.apply(decision.puts)
        puts[number] = len(decision.puts)
    assert puts.total() / 200 <= 5
    assert sorted(puts.values())[100] <= 4


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"embedding": b"\0" * 10}, "embedding_invalid"),
        ({"embedding": b"\xff\x7f" * 384}, "embedding_invalid"),
        ({"minhash": b"\0" * 12}, "minhash_invalid"),
        ({"body": _CUT}, "body_undecodable"),
        ({"article_id": "not-hex"}, "article_id_invalid"),
        ({"decided_ms": -5}, "decided_ms_invalid"),
        ({"decided_ms": 1 << 50}, "decided_ms_invalid"),
    ],
)
def test_a_broken_part_is_refused_before_anything_changes(fields, reason):
    line = Line()
    line.send(article("one"))
    before = dict(line.store.rows)
    broken = msgspec.structs.replace(article("bad"), **fields)
    with pytest.raises(DecodeError) as refused:
        line.writer.decide(broken)
    assert refused.value.reason == reason
    (joined,) = line.send(article("two"))
    assert joined.sequence == 2
    assert before.keys() < line.store.rows.keys()


def test_an_article_without_embedding_or_text_gets_a_decision():
    line = Line()
    (change,) = line.send(article("bare", embedding=b"", body="", minhash=b"", content_hash=""))
    assert change.change == "started"
    assert change.story.centroid == b""
    line.restart()
    assert [change.change for change in line.send(article("two"), article("three"))] == ["started", "assigned"]


def test_commands_change_nothing_yet():
    line = Line()
    line.send(article("one"))
    assert line.send(Command(language="en", decided_ms=NOW, command="merge", stories=("a", "b"))) == []


# --- laws

EVENTS = ("alpha", "beta", "gamma")
_WIRE = text("alpha", "wire")


# One step of a log: what happens, to which of ten articles, how much later, and what an update changed. Kept as plain
# values, so that a failed example can be read.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["article", "article", "copy", "removed", "tick", "again"]),
        st.integers(0, 9),
        st.sampled_from([0, 1_000, MINUTE, 9 * MINUTE, 8 * HOUR, -MINUTE, 50 * HOUR]),
        st.sampled_from(["", "title", "body"]),
    ),
    min_size=1,
    max_size=24,
)


def log_of(steps: list[tuple[str, int, int, str]]) -> list[Normalised]:
    """A language's log: articles, copies, updates, retractions, duplicates and ticks, times going on and back."""
    at_ms = NOW
    records: list[Normalised] = []
    versions = Counter[str]()
    for what, number, later_ms, changed in steps:
        at_ms += later_ms
        name = f"a{number}"
        if what == "tick":
            records.append(tick(at_ms))
        elif what == "again" and records:
            records.append(records[number % len(records)])
        else:
            versions[name] += 1
            made = article(
                name,
                EVENTS[number % 3],
                body=_WIRE if what == "copy" else None,
                version=versions[name],
                at_ms=at_ms,
                publisher=f"p{number % 4}.example",
                changed=(changed,) if changed else (),
            )
            records.append(removed(made, versions[name], at_ms) if what == "removed" else made)
    return records


def as_bytes(line: Line) -> list[bytes]:
    return [encode_record(change) for change in line.changes]


@settings(max_examples=40, deadline=None)
@given(STEPS, st.sets(st.integers(0, 23)))
def test_a_writer_restored_at_any_record_goes_on_byte_for_byte(steps, kills):
    records = log_of(steps)
    whole, killed = Line(), Line()
    for number, record in enumerate(records):
        whole.send(record)
        killed.send(record)
        if number in kills:
            killed.restart()
    assert as_bytes(killed) == as_bytes(whole)
    assert killed.store.rows == whole.store.rows


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_changes_are_numbered_without_gap_or_double(steps):
    line = Line()
    line.send(*log_of(steps))
    assert [change.sequence for change in line.changes] == list(range(1, len(line.changes) + 1))
    assert {change.epoch for change in line.changes} <= {1}


@settings(max_examples=40, deadline=None)
@given(STEPS, st.integers(0, 23))
def test_a_duplicate_of_any_record_changes_nothing(steps, which):
    """Directly after itself, and after all that followed."""
    records = log_of(steps)
    once, twice = Line(), Line()
    for record in records:
        once.send(record)
        twice.send(record)
        twice.send(record)
    assert as_bytes(once) == as_bytes(twice)
    assert once.send(records[which % len(records)]) == []


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_counters_are_those_of_the_members(steps):
    line = Line()
    for record in log_of(steps):
        for change in line.send(record):
            members = [m for m in line.writer.live.members.values() if m.row.story == change.story.story_id]
            roles = Counter(member.row.role for member in members)
            if change.change not in ("expired", "retracted"):
                assert (change.story.originals, change.story.copies, change.story.variants) == (
                    roles[0],
                    roles[1],
                    roles[2],
                )
    for story in line.writer.live.stories.values():
        assert story.originals
        assert all(
            line.writer.live.members[member.row.of].row.role == 0 for member in story.members.values() if member.row.of
        )


def test_every_decision_of_a_burst_is_the_same_from_any_order_of_its_rows():
    """Rows come back from a map in no order: the rebuilt writer sorts them itself."""
    line = Line()
    line.send(*(article(f"a{number}", EVENTS[number % 3], at_ms=NOW + number) for number in range(40)))
    more = [article(f"b{number}", EVENTS[number % 3], at_ms=NOW + 100 + number) for number in range(12)]
    ahead = Line()
    ahead.store.rows = dict(itertools.chain(sorted(line.store.rows.items(), key=lambda row: row[1])))
    ahead.restart()
    assert [encode_record(change) for change in ahead.send(*more)] == [
        encode_record(change) for change in line.send(*more)
    ]
