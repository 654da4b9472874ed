"""Laws of a language's writer, over random logs: what holds of its changes whatever is sent, repeated, late or killed.

The expectations come from `Reader`, a consumer that knows the changes alone, never from the writer's own memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from state_schemas.articles import Article, Normalised, Removed
from state_schemas.clusters import ARTICLES, MEMBERS, RETIRED, STORIES
from state_schemas.ids import story_id_parts
from tests.unit.stories_samples import (
    DAY,
    FRANCE,
    HOUR,
    MINUTE,
    SECOND,
    START,
    Keeper,
    Reader,
    article,
    model,
    on_the_clock,
    removed,
    text,
    tick,
)
from udfs.stories.policy import ClusterPolicy

EVENTS = ("alder", "birch", "cedar")
PLACED = ("started", "assigned", "copied", "variant")
WIRE = {event: text(event, "wire") for event in EVENTS}
# Little enough that a short log sees frequencies folded, buckets full and stories expire a few at a time.
TIGHT = ClusterPolicy(
    fold_first=3, fold_every=6, term_prior=5.0, entity_prior=3.0, expired_at_once=2, window=3, compared=2
)
DAYS = (0, SECOND, MINUTE, 9 * MINUTE, 3 * HOUR)
WEEKS = (*DAYS, 20 * HOUR, 49 * HOUR)
quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
policies = st.sampled_from([ClusterPolicy(), TIGHT])


@st.composite
def logs(draw: st.DrawFn, steps: Sequence[int] = WEEKS) -> list[Normalised]:
    """A log in its writer's order: articles, wire copies, variants, updates, tombstones, and a tick before each.

    Each article id stays with one event and publisher, its versions grow; under a month in all.
    """
    at_ms, records = START, list[Normalised]()
    newest: dict[int, Article | Removed] = {}
    for _ in range(draw(st.integers(1, 14))):
        at_ms += draw(st.sampled_from(steps))
        number = draw(st.integers(0, 8))
        known = newest.get(number)
        version = known.version + 1 if known else 1
        made = article(
            f"n{number}",
            EVENTS[number % 3],
            at_ms,
            version,
            publisher=f"p{number % 4}.example",
            body=draw(st.sampled_from([text(EVENTS[number % 3], f"n{number}"), WIRE[EVENTS[number % 3]]])),
            changed=draw(st.sampled_from([(), ("title",), ("body",), ("labels",)])) if known else (),
            title=draw(st.sampled_from(["The council meets", f"Number {number} on the council"])),
            entities=(FRANCE,) if number % 2 else (),
        )
        what = draw(st.sampled_from(["article", "article", "article", "removed", "tick"]))
        if what == "tick":
            records.append(tick(at_ms))
        elif what == "removed" and known:
            newest[number] = removed(made, version, at_ms)
            records += on_the_clock([newest[number]])
        else:
            newest[number] = made
            records += on_the_clock([made])
    return records


def read(keeper: Keeper) -> Reader:
    reader = Reader()
    for change in keeper.changes:
        reader.take(change)
    return reader


@quick
@given(logs(), policies)
def test_changes_agree_with_all_changes_before_them(records, policy):
    """Sequences from 1 without a gap, summaries of the members told, roles, originals that copies name, expiries."""
    keeper = Keeper(policy)
    keeper.send(*records)
    read(keeper)


@quick
@given(logs(DAYS), policies)
def test_each_article_is_placed_exactly_once(records, policy):
    keeper, reader = Keeper(policy), Reader()
    sent: dict[str, bool] = {}  # article id -> whether it should be there
    for record in records:
        for change in keeper.send(record):
            reader.take(change)
        if isinstance(record, Article):
            sent[record.article_id] = True
        elif isinstance(record, Removed):
            sent[record.article_id] = False
        assert set(reader.members) == {name for name, there in sent.items() if there}


@quick
@given(logs(), policies)
def test_equal_logs_give_equal_bytes(records, policy):
    one, other = Keeper(policy), Keeper(policy)
    one.send(*records)
    other.send(*records)
    assert one.published() == other.published()
    assert one.rows == other.rows


@quick
@given(logs(), policies, st.integers(1, 3))
def test_killed_at_any_record_a_writer_goes_on_byte_for_byte(records, policy, every):
    whole, killed = Keeper(policy), Keeper(policy)
    for number, record in enumerate(records):
        whole.send(record)
        if number % every == 0:
            killed.rebuild()
        killed.send(record)
    assert killed.published() == whole.published()
    assert killed.rows == whole.rows


@quick
@given(logs(), policies)
def test_what_a_killed_writer_had_decided_but_not_stored_is_decided_again(records, policy):
    whole, killed = Keeper(policy), Keeper(policy)
    for record in records:
        whole.send(record)
        lost = killed.writer.decide(record)  # its puts and changes die with it
        killed.rebuild()
        again = killed.send(record)
        assert list(lost.changes) == again
    assert killed.published() == whole.published()
    assert killed.rows == whole.rows


@quick
@given(logs(), policies)
def test_every_record_twice_changes_nothing(records, policy):
    once, twice = Keeper(policy), Keeper(policy)
    for record in records:
        once.send(record)
        twice.send(record)
        assert twice.send(record) == []
    assert twice.published() == once.published()


@quick
@given(logs(), st.data())
def test_any_earlier_record_again_changes_nothing(records, data):
    """A topic read again from an earlier offset."""
    keeper = Keeper()
    keeper.send(*records)
    start = data.draw(st.integers(0, len(records)))
    assert keeper.send(*records[start:]) == []


@quick
@given(logs(DAYS), st.data())
def test_a_version_below_the_newest_is_ignored(records, data):
    keeper = Keeper()
    newest: dict[str, Article | Removed] = {}
    for record in records:
        keeper.send(record)
        if isinstance(record, (Article, Removed)):
            newest[record.article_id] = record
    for record in newest.values():
        if isinstance(record, Article):
            late = article(
                "late",
                "cedar",
                record.decided_ms,
                data.draw(st.integers(1, record.version)),
                article_id=record.article_id,
                title="An earlier title",
                event="update",
            )
            assert keeper.send(late) == []
            assert keeper.send(removed(late, late.version, late.decided_ms)) == []


@quick
@given(logs(DAYS), policies, st.randoms(use_true_random=False))
def test_when_all_is_retracted_every_story_has_ended(records, policy, random):
    keeper = Keeper(policy)
    keeper.send(*records)
    newest = {record.article_id: record for record in records if isinstance(record, Article)}
    at_ms = records[-1].decided_ms
    for name in random.sample(sorted(newest), len(newest)):
        keeper.send(removed(newest[name], 1_000, at_ms))
    reader = read(keeper)
    assert not reader.members
    assert not keeper.writer.live.stories
    assert not [key for name, key in keeper.rows if name == STORIES]
    assert keeper.send(*records[-3:]) == []


@quick
@given(logs(DAYS), st.integers(20 * MINUTE, 20_000 * DAY), st.integers(0, 13))
def test_one_bad_clock_expires_nothing_and_moves_time_by_no_jump(records, ahead_ms, at):
    """A publisher's records from the far future, between the others': those are decided as without it."""
    good, mixed = Keeper(), Keeper()
    first = on_the_clock([article("opening", "dogwood")])
    good.send(*first)
    mixed.send(*first)
    for number, record in enumerate(records):
        if number == at:
            bad_ms = record.decided_ms + ahead_ms
            bad = [article(f"mad{n}", f"elm{n}", bad_ms + n, publisher="mad.example") for n in range(3)]
            assert [change.change for change in mixed.send(*bad)] == ["started"] * 3
        good.send(record)
        mixed.send(record)
    assert "expired" not in [change.change for change in good.changes if change.cause != "empty"]
    ended = [change for change in mixed.changes if change.change == "expired" and change.cause != "empty"]
    assert ended == []
    latest = max(change.decided_ms for change in mixed.changes)
    # A step of up to `jump_ms` needs no confirmation, whoever takes it.
    assert latest <= max(record.decided_ms for record in (*records, *first)) + ClusterPolicy().jump_ms


@quick
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(EVENTS)), min_size=2, max_size=12))
def test_copies_add_no_original_and_name_the_first(sent):
    """Wire texts from many publishers: the first of a text is its original, a publisher's second one its variant."""
    keeper = Keeper()
    first: dict[str, str] = {}
    printed: set[tuple[str, str]] = set()
    for number, (house, event) in enumerate(sent):
        one = article(f"n{number}", event, START + number, body=WIRE[event], publisher=f"p{house}.example")
        (change,) = keeper.send(*on_the_clock([one]))
        if event not in first:
            first[event] = one.article_id
            assert change.change == "started"
        else:
            own = (one.publisher, event) in printed
            assert (change.change, change.of) == ("variant" if own else "copied", first[event])
            assert change.story.originals == 1
            assert len(change.story.publishers) == 1
        printed.add((one.publisher, event))
    read(keeper)


@quick
@given(st.lists(st.sampled_from(["", "Too short to tell.", "Photo: agency"]), min_size=2, max_size=8))
def test_texts_without_a_signature_never_match(bodies):
    """Field case dedupe/empty-is-not-equal: equal hashes of (nearly) nothing, of other publishers and other events."""
    keeper = Keeper()
    for number, body in enumerate(bodies):
        one = article(f"n{number}", f"event{number}", START + number, body=body)
        assert one.minhash == b""
        keeper.send(*on_the_clock([one]))
    assert keeper.kinds() == ["started"] * len(bodies)


@quick
@given(st.integers(1, 4), st.sampled_from([49 * HOUR, 5 * DAY, 25 * DAY]), st.booleans(), st.data())
def test_an_update_of_an_expired_story_starts_none(size, later_ms, killed, data):
    keeper = Keeper()
    members = [article(f"n{number}", "alder", START + number) for number in range(size)]
    keeper.send(*on_the_clock(members))
    ended = keeper.send(*on_the_clock([article("other", "birch", START + later_ms)]))
    assert [change.change for change in ended] == ["expired", "started"]
    if killed:
        keeper.rebuild()
    late = article("n0", "alder", START + later_ms, 2, first_seen_ms=START, changed=("title",), title="Late words")
    assert keeper.send(late) == []
    (gone,) = keeper.send(removed(members[-1], 3, START + later_ms))
    assert (gone.change, gone.story.originals, gone.cause) == ("retracted", 0, "retracted")
    assert gone.story.story_id == ended[0].story.story_id
    assert keeper.send(removed(members[-1], 4, START + later_ms)) == []
    assert keeper.send(*data.draw(st.permutations(members))) == []
    # The same event again is a new story, with an id of its own.
    (again,) = keeper.send(article("n9", "alder", START + later_ms))
    assert again.change == "started"
    assert again.story.story_id not in {change.story.story_id for change in keeper.changes[:-1]}


@settings(quick, max_examples=10)
@given(st.lists(st.integers(-365, 365), min_size=1, max_size=4), st.integers(0, 3))
def test_clocks_a_year_apart_are_survived(days, publishers):
    """Machines that disagree before the log's own time is settled: all is decided, once, and what follows too."""
    _decides_all([START + day * DAY for day in days], publishers)


@pytest.mark.parametrize(
    "at_ms",
    [
        pytest.param(1, id="a machine without a clock: 1970"),
        pytest.param(START - 20 * 365 * DAY, id="20 years behind"),
        pytest.param(START + 21 * 365 * DAY, id="21 years ahead"),
        pytest.param((1 << 42) - 1, id="the last instant an id holds"),
    ],
)
def test_a_first_record_decades_off_is_survived(at_ms):
    _decides_all([at_ms], 0)


def _decides_all(instants: Sequence[int], publishers: int) -> None:
    keeper = Keeper()
    for number, at_ms in enumerate(instants):
        keeper.send(article(f"n{number}", "alder", at_ms, publisher=f"p{number % (publishers + 1)}.example"))
    keeper.send(*on_the_clock(article(f"m{number}", f"topic{number}", START + number) for number in range(12)))
    placed = Counter(change.article.article_id for change in keeper.changes if change.article)
    assert set(placed.values()) == {1}
    assert len(placed) == len(instants) + 12


def test_one_bad_clock_at_the_start_of_a_log_does_not_date_later_stories():
    keeper = Keeper()
    keeper.send(article("mad", "elm", START + 400 * DAY))
    keeper.send(*on_the_clock([article("n0", "alder"), article("n1", "birch", START + MINUTE)]))
    minted = [story_id_parts(change.story.story_id)[0] for change in keeper.changes[1:]]
    assert minted == [START, START + MINUTE]


def test_rows_of_what_expired_are_kept_a_month_and_then_gone():
    keeper = Keeper()
    keeper.send(*on_the_clock([article("n0", "alder"), article("n1", "birch", START + 1)]))
    keeper.send(*on_the_clock([article("n2", "cedar", START + 3 * DAY)]))
    names = Counter(name for name, _ in keeper.rows)
    assert (names[ARTICLES], names[RETIRED], names[MEMBERS]) == (2, 1, 1)
    at_ms = START + 3 * DAY
    while at_ms < START + 34 * DAY:
        at_ms += 12 * HOUR
        keeper.send(*on_the_clock([article(f"d{at_ms}", "cedar", at_ms)]))
        keeper.rebuild()
    assert not keeper.rows.keys() & {(ARTICLES, article("n0", "alder").article_id)}
    assert read(keeper).gone


# --- field cases


def test_articles_of_one_country_are_no_story():
    """clustering/shared-country-is-not-a-story: five events, all in France, whatever else is live."""
    keeper = Keeper()
    others = [article(f"o{number}", f"topic{number}", START + number, entities=(FRANCE,)) for number in range(30)]
    keeper.send(*on_the_clock(others))
    events = ("pensions", "flood", "football", "trial", "merger")
    made = keeper.send(
        *on_the_clock(
            article(event, event, START + MINUTE, entities=(FRANCE,), title=f"France: {event}") for event in events
        )
    )
    assert [change.change for change in made] == ["started"] * 5


def test_ids_stay_when_the_settings_change():
    """clustering/ids-that-follow-the-settings: minted once, kept in state, whatever the threshold is later."""
    keeper = Keeper(using=model(0.45))
    first = [article(f"n{number}", f"topic{number % 9}", START + number * SECOND) for number in range(100)]
    keeper.send(*on_the_clock(first))
    told = {change.article.article_id: change.story.story_id for change in keeper.changes if change.article}
    assert len(set(told.values())) == 9
    keeper.model = model(0.9)
    keeper.rebuild()
    more = [article(f"m{number}", f"topic{number}", START + 5 * MINUTE) for number in range(3)]
    keeper.send(*on_the_clock(more))
    assert {name: member.row.story for name, member in keeper.writer.live.members.items() if name in told} == told
    again = Keeper(using=model(0.45))
    again.send(*on_the_clock(first))
    assert again.published() == keeper.published()[: len(first)]


def test_a_slow_topic_is_introduced_once():
    """clustering/back-every-morning: 4 articles on day 1, 2 on day 2, 2 on day 3, and other news between them."""
    keeper = Keeper()
    for number, after in enumerate((0, 2, 4, 9, 30, 33, 54, 57)):
        at_ms = START + after * HOUR
        keeper.send(
            *on_the_clock([article(f"n{number}", "desktop", at_ms), article(f"o{number}", f"else{number}", at_ms)])
        )
    desktop = [change for change in keeper.changes if change.article and change.article.topics == ("desktop",)]
    assert [change.change for change in desktop] == ["started"] + ["assigned"] * 7
    assert len({change.story.story_id for change in desktop}) == 1


@pytest.mark.parametrize("body", ["", "Caption only."])
def test_missing_bodies_are_no_copies(body):
    """dedupe/empty-is-not-equal, with one hash of nothing for all three, even about one event."""
    keeper = Keeper()
    keeper.send(*on_the_clock(article(name, "alder", body=body, content_hash="0" * 32) for name in ("a", "b", "c")))
    assert "copied" not in keeper.kinds()
    assert keeper.changes[-1].story.copies == 0
