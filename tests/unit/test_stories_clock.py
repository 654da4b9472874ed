"""Stream time: a running maximum that one bad clock cannot move."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from udfs.stories.clock import Clock, advance

MIN = 60_000
JUMP = 10 * MIN
T = 1_800_000_000_000


def after(clock: Clock, *claims: tuple[int, str]) -> Clock:
    for at_ms, publisher in claims:
        clock = advance(clock, at_ms, publisher, JUMP)
    return clock


def test_it_starts_when_two_publishers_agree():
    assert after(Clock(), (T, "a")).now_ms == 0
    assert after(Clock(), (T, "a"), (T + 5, "a")).now_ms == 0
    assert after(Clock(), (T, "a"), (T + 5, "b")) == Clock(T + 5)


def test_a_tick_and_an_article_agree_but_two_ticks_do_not():
    assert after(Clock(), (T, ""), (T + MIN, "")).now_ms == 0
    assert after(Clock(), (T, ""), (T + MIN, ""), (T + MIN + 1, "a")).now_ms == T + MIN + 1


def test_small_steps_need_nobody():
    assert after(Clock(T), (T + JUMP, "a"), (T + 2 * JUMP, "a")) == Clock(T + 2 * JUMP)


def test_it_never_moves_back():
    assert after(Clock(T), (T - 5, "a"), (0, "b")) == Clock(T)


def test_a_jump_waits_for_a_second_publisher_and_takes_the_smaller_claim():
    clock = after(Clock(T), (T + 100 * JUMP, "a"))
    assert clock == Clock(T, T + 100 * JUMP, "a")
    assert after(clock, (T + 3 * JUMP, "b")) == Clock(T + 3 * JUMP, T + 100 * JUMP, "a")
    assert after(clock, (T + 101 * JUMP, "b")) == Clock(T + 101 * JUMP)


def test_a_claim_that_time_catches_up_with_is_taken_in():
    clock = after(Clock(T), (T + JUMP + MIN, "a"))
    assert after(clock, (T + 2 * MIN, "b")) == Clock(T + JUMP + MIN)


@given(st.lists(st.tuples(st.integers(T, T + 300 * JUMP), st.sampled_from(["", "a", "b"])), max_size=30))
def test_it_is_never_ahead_of_what_two_have_said(claims):
    clock = Clock(T)
    for place, (at_ms, publisher) in enumerate(claims):
        moved = advance(clock, at_ms, publisher, JUMP)
        assert moved.now_ms >= clock.now_ms
        if moved.now_ms - clock.now_ms > JUMP:
            ahead = {said for when, said in claims[: place + 1] if when >= moved.now_ms - JUMP}
            assert len(ahead) > 1
        clock = moved
