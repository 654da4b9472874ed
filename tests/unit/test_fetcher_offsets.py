"""What may be committed: never past an unfinished offset, always up to the oldest one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.offsets import OffsetTracker, Partition, Ticket

P0: Partition = ("fetch.requests", 0)
P1: Partition = ("fetch.requests", 1)


def test_the_oldest_unfinished_offset_is_the_bound() -> None:
    tracker = OffsetTracker()
    tickets = [tracker.begin(P0, offset) for offset in (10, 11, 12)]
    tracker.finish(tickets[1])
    tracker.finish(tickets[2])
    assert tracker.committable() == {P0: 10}
    tracker.finish(tickets[0])
    assert tracker.committable() == {P0: 13}


def test_an_end_is_committed_once() -> None:
    tracker = OffsetTracker()
    tracker.finish(tracker.begin(P0, 4))
    offsets = tracker.committable()
    tracker.committed(offsets)
    assert offsets == {P0: 5}
    assert tracker.committable() == {}


def test_gaps_of_transaction_markers_are_no_unfinished_offsets() -> None:
    tracker = OffsetTracker()
    tracker.finish(tracker.begin(P0, 4))
    tracker.finish(tracker.begin(P0, 7))
    assert tracker.committable() == {P0: 8}


def test_a_partition_that_goes_is_committed_no_more_and_its_tickets_end() -> None:
    tracker = OffsetTracker()
    done, left, other = tracker.begin(P0, 1), tracker.begin(P0, 2), tracker.begin(P1, 5)
    tracker.finish(done)
    assert tracker.committable() == {P0: 2, P1: 5}
    tracker.give_up([P0])
    assert not tracker.holds(left)
    tracker.finish(left)
    assert tracker.committable() == {P1: 5}
    tracker.finish(other)
    assert tracker.committable() == {P1: 6}


def test_a_ticket_of_an_earlier_ownership_does_not_finish_the_same_offset_again() -> None:
    tracker = OffsetTracker()
    old = tracker.begin(P0, 2)
    tracker.give_up([P0])
    new = tracker.begin(P0, 2)
    tracker.finish(old)
    assert tracker.committable() == {P0: 2}
    tracker.finish(new)
    assert tracker.committable() == {P0: 3}


actions = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.integers(0, 2)),
        st.tuples(st.just("finish"), st.integers(0, 1_000)),
        st.tuples(st.just("commit"), st.just(0)),
        st.tuples(st.just("lose"), st.integers(0, 2)),
    ),
    max_size=200,
)


@given(actions)
def test_what_is_committed_never_passes_an_unfinished_offset(actions: list[tuple[str, int]]) -> None:
    """Against a broker that hands out each partition from its committed offset, as the real one does."""
    tracker = OffsetTracker()
    committed: dict[int, int] = {}
    position: dict[int, int] = {}
    out: list[Ticket] = []
    done: set[tuple[int, int]] = set()
    for action, value in actions:
        if action == "begin":
            offset = position.get(value, committed.get(value, 0))
            position[value] = offset + 1
            out.append(tracker.begin(("t", value), offset))
        elif action == "finish" and out:
            ticket = out.pop(value % len(out))
            if tracker.holds(ticket):
                done.add((ticket.partition[1], ticket.offset))
            tracker.finish(ticket)
        elif action == "commit":
            offsets = tracker.committable()
            committed.update({partition[1]: at for partition, at in offsets.items()})
            tracker.committed(offsets)
        elif action == "lose":
            tracker.give_up([("t", value)])
            position.pop(value, None)
        for partition, at in committed.items():
            assert all((partition, offset) in done for offset in range(at)), (partition, at)


@given(st.permutations(range(20)))
def test_when_all_is_finished_all_is_committed(order: list[int]) -> None:
    tracker = OffsetTracker()
    tickets = [tracker.begin(P0, offset) for offset in range(20)]
    for number in order:
        tracker.finish(tickets[number])
    assert tracker.committable() == {P0: 20}
    assert tracker.unfinished() == 0
