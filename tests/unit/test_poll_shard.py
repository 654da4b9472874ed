"""Who is next in a shard: due times, the budget, held pages."""

from __future__ import annotations

from dataclasses import replace as policy_with

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from state_schemas.codec import dump_state
from state_schemas.ids import feed_id
from state_schemas.polling import FeedState
from state_schemas.sources import Origin, Source
from udfs.poll.policy import PollPolicy
from udfs.poll.schedule import release
from udfs.poll.shard import Shard, held_feed, held_key

NOW = 1_796_034_600_000
POLICY = PollPolicy()
ONE_A_SECOND = policy_with(POLICY, budget_per_s=float(POLICY.shards), budget_saved_s=1.0)


def row(number: int, due_ms: int, tier: str = "tail") -> FeedState:
    url = f"https://n{number}.example/feed"
    source = Source(feed_id=feed_id(url), url=url, origin=Origin(publisher=f"n{number}"), tier=tier)  # type: ignore[arg-type]
    return FeedState(source=source, next_poll_ms=due_ms)


def shard(*states: FeedState, policy: PollPolicy = POLICY) -> Shard:
    made = Shard((), (), NOW, policy)
    for state in states:
        made.put(state)
    return made


def ids(states: list[FeedState]) -> set[str]:
    return {state.source.feed_id for state in states}


def test_only_what_is_due_is_taken_and_only_once() -> None:
    first, second = row(1, NOW), row(2, NOW + 5)
    made = shard(first, second)
    assert made.take_due(NOW) == [first]
    made.put(replace(first, next_poll_ms=NOW + 100))
    assert made.take_due(NOW + 4) == []
    assert made.take_due(NOW + 5) == [second]


def test_a_row_put_again_counts_at_its_new_time_alone() -> None:
    state = row(1, NOW)
    made = shard(state)
    made.put(replace(state, next_poll_ms=NOW + 1_000))
    made.put(replace(state, next_poll_ms=NOW + 500))
    assert made.take_due(NOW + 400) == []
    assert len(made.take_due(NOW + 2_000)) == 1


def test_a_removed_feed_is_taken_no_more() -> None:
    state = row(1, NOW)
    made = shard(state)
    assert made.remove(state.source.feed_id)
    assert not made.remove(state.source.feed_id)
    assert made.take_due(NOW) == []
    assert (len(made), made.get(state.source.feed_id)) == (0, None)


def test_beyond_the_budget_pushes_then_bursts_then_authoritative_then_the_most_overdue() -> None:
    tail_late = replace(row(1, NOW - 60_000), released_ms=NOW - 120_000)
    tail_later = replace(row(2, NOW - 60_000), released_ms=NOW - 70_000)  # six times its interval over
    authoritative = row(3, NOW - 10, "authoritative")
    pushed = replace(row(4, NOW - 5), signalled_ms=NOW)
    burst = replace(row(5, NOW - 1), burst_until_ms=NOW + 3_600_000)
    made = shard(tail_late, tail_later, authoritative, burst, pushed, policy=ONE_A_SECOND)
    order = []
    for second in range(6):
        order += made.take_due(NOW + 1_000 * second)
    assert order == [pushed, burst, authoritative, tail_later, tail_late]
    assert made.waiting == 0


def test_what_waits_for_the_budget_keeps_its_place_over_a_change_of_its_row() -> None:
    first, second = row(1, NOW), row(2, NOW)
    made = shard(first, second, policy=ONE_A_SECOND)
    (taken,) = made.take_due(NOW)
    made.put(replace(taken, next_poll_ms=NOW + 3_600_000))
    (waiting,) = ids([first, second]) - ids([taken])
    state = made.get(waiting)
    assert state is not None
    made.put(replace(state, hub="https://hub.example/"))
    assert ids(made.take_due(NOW + 1_000)) == {waiting}


def test_an_outage_is_worked_off_at_the_budget() -> None:
    made = shard(*(row(number, NOW) for number in range(40)), policy=ONE_A_SECOND)
    taken = [len(made.take_due(NOW + 3_600_000 + 1_000 * second)) for second in range(45)]
    assert set(taken) <= {0, 1}
    assert sum(taken) == 40


def test_a_clock_that_leapt_forward_and_back_leaves_nobody_waiting() -> None:
    years = 10 * 365 * 86_400_000
    feeds = [row(number, NOW) for number in range(3)]
    made = shard(*feeds)
    assert made.after_clock_jump(NOW + years) == []
    for state in made.take_due(NOW + years):
        made.put(release(state, NOW + years, POLICY)[0])
    assert made.take_due(NOW + 1_000) == []
    steadied = made.after_clock_jump(NOW + 1_000)
    assert len(steadied) == 3
    packed = [made.put(state) for state in steadied]
    assert len(made.take_due(NOW + 1_000 + POLICY.ceiling_ms)) == 3
    assert made.after_clock_jump(NOW + 2_000) == []
    # The same over a restart between the two leaps.
    ahead = [release(state, NOW + years, POLICY)[0] for state in feeds]
    again = Shard([(state.source.feed_id, dump_state(state)) for state in ahead], (), NOW, POLICY)
    assert [dump_state(state) for state in again.after_clock_jump(NOW + 1_000)] == packed


def test_pages_held_by_a_clock_that_was_ahead_are_due_when_it_is_back() -> None:
    years = 3 * 365 * 86_400_000
    key, soon = held_key(NOW + years + 60_000, "ab" * 8, "r/1"), held_key(NOW + 60_000, "ab" * 8, "r/2")
    made = shard(row(1, NOW))
    made.after_clock_jump(NOW + years)
    made.hold(key)
    made.after_clock_jump(NOW)
    assert made.take_held(NOW) == [key]
    assert made.take_held(NOW) == []
    assert Shard((), [key, soon], NOW, POLICY).take_held(NOW) == [key]


def test_a_clock_set_back_by_a_moment_changes_nothing() -> None:
    made = shard(row(1, NOW + 5))
    assert made.after_clock_jump(NOW + 30_000) == []
    assert made.after_clock_jump(NOW) == []


def test_the_heap_does_not_grow_with_the_polls() -> None:
    made = shard(*(row(number, NOW + number) for number in range(20)), policy=policy_with(POLICY, budget_per_s=1e9))
    for poll in range(500):
        state = row(poll % 20, NOW + 3_600_000 + poll)
        made.put(state)
        made.put(replace(state, next_poll_ms=NOW + 1_000_000 + poll))
    assert len(made._heap) <= 2 * 20 + 64
    assert len(made.take_due(NOW + 2_000_000)) == 20


def test_held_pages_come_in_the_order_of_their_time() -> None:
    keys = [held_key(NOW + late, "ab" * 8, f"r/{late}") for late in (30, 10, 20)]
    made = Shard((), keys[:1], NOW, POLICY)
    made.hold(keys[1])
    made.hold(keys[2])
    assert made.take_held(NOW + 20) == [keys[1], keys[2]]
    assert made.take_held(NOW + 20) == []
    assert made.take_held(NOW + 30) == [keys[0]]
    assert held_feed(keys[0]) == "ab" * 8


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50), st.booleans()), max_size=60))
def test_the_mirror_never_loses_or_doubles_a_feed(steps: list[tuple[int, int, bool]]) -> None:
    made = Shard((), (), NOW, policy_with(POLICY, budget_per_s=1e9))
    due: dict[str, int] = {}
    now_ms = NOW
    for number, later, remove in steps:
        state = row(number, now_ms + later)
        if remove:
            made.remove(state.source.feed_id)
            due.pop(state.source.feed_id, None)
        else:
            made.put(state)
            due[state.source.feed_id] = state.next_poll_ms
        now_ms += 7
        taken = made.take_due(now_ms)
        assert ids(taken) == {name for name, at_ms in due.items() if at_ms <= now_ms}
        assert len(taken) == len(ids(taken))
        for state in taken:
            due[state.source.feed_id] = now_ms + 40
            made.put(replace(state, next_poll_ms=now_ms + 40))
