"""The rate by hour of the week, held against sums written out in full."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from state_schemas.ids import feed_id
from state_schemas.polling import HOURS_OF_WEEK, FeedState
from state_schemas.sources import Origin, Source
from udfs.poll.policy import DAY_MS, HOUR_MS, MINUTE_MS, PollPolicy
from udfs.poll.rate import first_observed, interval_ms, observed
from udfs.poll.rhythm import Rhythm, counted, hour_of_week, kept_a_week, watched_h

MONDAY = 1_795_996_800_000  # 2026-11-30 00:00 UTC
KEPT = kept_a_week(3.0)
WEEK_MS = 7 * DAY_MS
POLICY = PollPolicy(jitter=0.0, soon_share=1.0)
URL = "https://n.example/feed"
SOURCE = Source(feed_id=feed_id(URL), url=URL, origin=Origin(publisher="n"), tier="authoritative")

INSTANTS = st.integers(MONDAY, MONDAY + 40 * DAY_MS)


def written_out(cell: int, since_ms: int, until_ms: int) -> float:
    """Hours of each occurrence of the cell that were watched, each weighed by the weeks since the latest."""
    last = until_ms // HOUR_MS
    latest = last - (hour_of_week(last) - cell) % HOURS_OF_WEEK
    return sum(
        KEPT**week
        * max(
            0.0,
            min(until_ms / HOUR_MS, latest - 168 * week + 1) - max(since_ms / HOUR_MS, latest - 168 * week),
        )
        for week in range(30)
    )


def test_hours_of_the_week_begin_on_monday() -> None:
    assert hour_of_week(MONDAY // HOUR_MS) == 0
    assert hour_of_week((MONDAY - 1) // HOUR_MS) == 167
    assert hour_of_week((MONDAY + 25 * HOUR_MS) // HOUR_MS) == 25


@given(INSTANTS, st.integers(0, 60 * DAY_MS), st.integers(0, 167))
def test_watched_hours_are_the_sum_over_the_weeks(since_ms: int, for_ms: int, cell: int) -> None:
    assert watched_h(cell, since_ms, since_ms + for_ms, KEPT) == pytest.approx(
        written_out(cell, since_ms, since_ms + for_ms), abs=1e-6
    )


@given(INSTANTS, st.integers(0, 60 * DAY_MS), st.lists(st.integers(0, 50), min_size=168, max_size=168), INSTANTS)
def test_a_rate_is_shrunk_to_its_hour_of_the_day_and_that_to_the_overall_rate(
    since_ms: int, for_ms: int, counts: list[int], ahead_ms: int
) -> None:
    until_ms = since_ms + for_ms
    rhythm = Rhythm(
        struct.pack("<168e", *counts), since_ms, until_ms, 2.0, day_items=2.0, week_items=8.0, beside=0.5, kept=KEPT
    )
    for hour in (until_ms // HOUR_MS, until_ms // HOUR_MS + 1, ahead_ms // HOUR_MS):
        cell = hour_of_week(hour)

        def counted_in(cells: list[int]) -> float:
            return sum(counts[one] + 0.5 * (counts[(one - 1) % 168] + counts[(one + 1) % 168]) for one in cells)

        day = list(range(cell % 24, 168, 24))
        hours = {each: 2 * written_out(each, since_ms, until_ms) for each in day}
        of_day = (counted_in(day) + 2.0) / (sum(hours.values()) + 2.0 / 2.0)
        expected = (counted_in([cell]) + 8.0) / (hours[cell] + 8.0 / of_day)
        assert rhythm.rate(hour) == pytest.approx(expected, rel=1e-6)


@given(st.lists(st.tuples(st.integers(0, 30 * HOUR_MS), st.integers(0, 4)), max_size=40))
def test_however_often_it_is_looked_the_counts_are_those_of_the_hours(looks: list[tuple[int, int]]) -> None:
    at_ms = MONDAY
    hourly = b""
    came: list[int] = []
    for after_ms, items in looks:
        instants = [at_ms + after_ms * number // 4 for number in range(items)]
        hourly = counted(hourly, at_ms, at_ms + after_ms, instants, KEPT)
        came += instants
        at_ms += after_ms
    cells = struct.unpack("<168e", hourly or bytes(336))
    for cell, count in enumerate(cells):
        last = at_ms // HOUR_MS
        latest = last - (hour_of_week(last) - cell) % 168
        expected = sum(
            KEPT ** ((latest - instant // HOUR_MS) // 168)
            for instant in came
            if hour_of_week(instant // HOUR_MS) == cell
        )
        assert count == pytest.approx(expected, rel=0.01, abs=0.01)


def test_at_a_steady_rate_the_wait_is_the_root_of_twice_the_worth_over_the_rate() -> None:
    for rate in (0.7, 4.0, 60.0):
        steady = Rhythm(b"", MONDAY, MONDAY, rate, day_items=2.0, week_items=8.0, beside=0.5, kept=KEPT)
        for worth in (0.01, 0.5, 40.0):
            wait = steady.waited_h(MONDAY + 17 * MINUTE_MS, worth, 1_000.0)
            assert wait == pytest.approx(math.sqrt(2 * worth / rate), rel=1e-9)
    assert (
        Rhythm(b"", MONDAY, MONDAY, 0.01, day_items=2.0, week_items=8.0, beside=0.5, kept=KEPT).waited_h(
            MONDAY, 0.1, 2.0
        )
        == 2.0
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 60), min_size=168, max_size=168), st.integers(0, 168 * 60), st.floats(0.001, 5))
def test_the_waiting_of_the_items_expected_until_then_is_the_worth(
    counts: list[float], minute: int, worth: float
) -> None:
    now_ms = MONDAY + WEEK_MS + minute * MINUTE_MS
    rhythm = Rhythm(
        struct.pack("<168e", *counts),
        MONDAY,
        MONDAY + WEEK_MS,
        1.0,
        day_items=2.0,
        week_items=8.0,
        beside=0.5,
        kept=KEPT,
    )
    until_h = rhythm.waited_h(now_ms, worth, 1_000.0)
    steps = 4_000
    waited = 0.0
    for step in range(steps):
        at_h = until_h * (step + 0.5) / steps
        rate = rhythm.rate(int((now_ms / HOUR_MS + at_h) // 1))
        waited += rate * (until_h - at_h) * until_h / steps
    assert waited == pytest.approx(worth, rel=0.02)


def watched(weeks: int, morning: int = 30, tier: str = "authoritative") -> FeedState:
    """A feed watched every 20 minutes for weeks, that brings `morning` items from 6 to 7 each day and no other."""
    source = replace(SOURCE, tier=tier)
    state = FeedState(source=source, next_poll_ms=MONDAY, rated_ms=MONDAY, since_ms=MONDAY)
    at_ms = MONDAY
    while at_ms < MONDAY + weeks * WEEK_MS:
        at_ms += 20 * MINUTE_MS
        items = morning // 3 if at_ms % DAY_MS // (20 * MINUTE_MS) in (19, 20, 21) else 0
        state = observed(state, [at_ms - 1] * items, at_ms, POLICY)
    return state


def wait(state: FeedState, hour: float) -> int:
    at_ms = MONDAY + 3 * WEEK_MS + round(hour * HOUR_MS)
    return interval_ms(state, at_ms, POLICY)


def test_a_feed_is_polled_for_the_morning_rush_and_not_for_the_night() -> None:
    state = watched(3)
    assert wait(state, 1) > 20 * MINUTE_MS
    # The rush is at six, and some of it is expected from five: the poll comes a moment after that, however long before
    # that one asks.
    for hour in (4.75, 4.85, 4.95):
        assert 0 < wait(state, hour) - round((5 - hour) * HOUR_MS) < 4 * MINUTE_MS
    assert wait(state, 6.2) < 2 * MINUTE_MS < wait(state, 5.5)
    assert wait(state, 9) > 20 * MINUTE_MS


def test_the_hour_of_the_day_is_learnt_within_days() -> None:
    state = observed(
        FeedState(source=SOURCE, next_poll_ms=MONDAY, rated_ms=MONDAY, since_ms=MONDAY), [], MONDAY, POLICY
    )
    at_ms = MONDAY
    for day in range(3):
        at_ms = MONDAY + day * DAY_MS + 7 * HOUR_MS
        state = observed(state, [at_ms - number * MINUTE_MS for number in range(30)], at_ms, POLICY)
        state = observed(state, [], MONDAY + (day + 1) * DAY_MS, POLICY)
    thursday = MONDAY + 3 * DAY_MS
    rush = interval_ms(state, thursday + round(6.3 * HOUR_MS), POLICY)
    night = interval_ms(state, thursday + HOUR_MS, POLICY)
    assert rush < 3 * MINUTE_MS < 3 * rush < night


def test_a_burst_that_is_over_is_forgotten() -> None:
    state = watched(3)
    for week in range(3, 12):
        state = observed(state, [], MONDAY + week * WEEK_MS + 1, POLICY)
        state = observed(state, [], MONDAY + (week + 1) * WEEK_MS, POLICY)
    assert interval_ms(state, MONDAY + 12 * WEEK_MS + 6 * HOUR_MS, POLICY) > 5 * MINUTE_MS


def test_weeks_without_a_look_are_no_observation() -> None:
    state = watched(3)
    later = observed(state, [], state.rated_ms + 52 * WEEK_MS, POLICY)
    assert later.hourly == state.hourly
    at_ms = later.rated_ms + 6 * HOUR_MS + 12 * MINUTE_MS
    assert interval_ms(later, at_ms, POLICY) == interval_ms(state, at_ms - 52 * WEEK_MS, POLICY)


def test_an_instant_that_cannot_be_is_taken_for_now() -> None:
    state = FeedState(source=SOURCE, next_poll_ms=MONDAY, rated_ms=MONDAY, since_ms=MONDAY)
    now_ms = MONDAY + 90 * MINUTE_MS
    for claimed in (MONDAY - WEEK_MS, now_ms + DAY_MS, None):
        cells = struct.unpack("<168e", observed(state, [claimed], now_ms, POLICY).hourly)
        assert [hour for hour, count in enumerate(cells) if count] == [1]
    cells = struct.unpack("<168e", observed(state, [MONDAY + MINUTE_MS], now_ms, POLICY).hourly)
    assert cells[0] == pytest.approx(1.0)


def test_a_first_document_tells_a_rhythm_only_where_its_dates_are_spread() -> None:
    state = FeedState(source=SOURCE, next_poll_ms=MONDAY)
    now_ms = MONDAY + 12 * HOUR_MS
    spread = first_observed(state, [now_ms - hour * HOUR_MS for hour in range(10)], now_ms, POLICY)
    assert (len(spread.hourly), spread.since_ms) == (336, now_ms - 9 * HOUR_MS)
    alike = first_observed(state, [now_ms - 1] * 10, now_ms, POLICY)
    assert (alike.hourly, alike.since_ms) == (b"", now_ms)
    older = first_observed(state, [now_ms - 2 * WEEK_MS, *range(now_ms - DAY_MS, now_ms, HOUR_MS)], now_ms, POLICY)
    assert older.since_ms == now_ms - WEEK_MS


def test_a_count_never_leaves_its_cells_range() -> None:
    hourly = counted(b"", MONDAY, MONDAY, [MONDAY] * 70_000, KEPT)
    assert math.isfinite(struct.unpack("<168e", hourly)[0])
