"""What is remembered for a while is bounded, and forgotten in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.push.windows import Buckets, Waves, Window

NOW = 1_796_000_000_000


def test_a_window_holds_what_was_met_within_it() -> None:
    window = Window(1_000, 10)
    window.add("a", NOW)
    assert window.holds("a", NOW + 999)
    assert not window.holds("a", NOW + 1_000)
    assert not window.holds("b", NOW)
    window.forget("a")
    assert not window.holds("a", NOW)
    window.forget("a")


def test_a_full_window_says_so_and_drops_the_oldest() -> None:
    window = Window(1_000, 2)
    window.add("a", NOW)
    window.add("b", NOW + 500)
    assert window.full(NOW + 999)
    assert not window.full(NOW + 1_000)
    window.add("c", NOW + 1_000)
    window.add("d", NOW + 1_001)
    assert [window.holds(name, NOW + 1_001) for name in "abcd"] == [False, False, True, True]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 300)), max_size=200))
def test_a_window_is_bounded_and_agrees_with_a_list_of_all_that_was_met(steps: list[tuple[int, int]]) -> None:
    window, met, now = Window(1_000, 1_000), {}, NOW
    for name, later in steps:
        now += later
        assert window.holds(name, now) == (name in met and now - met[name] < 1_000)
        window.add(name, now)
        met[name] = now
    assert len(window) <= 51


def test_a_bucket_gives_its_burst_then_its_rate() -> None:
    buckets = Buckets(rate=2.0, burst=3, size=10)
    assert [buckets.wait_ms("a", NOW) for _ in range(4)] == [0, 0, 0, 500]
    assert buckets.wait_ms("b", NOW) == 0
    assert buckets.wait_ms("a", NOW + 500) == 0
    assert buckets.wait_ms("a", NOW + 500) > 0
    assert [buckets.wait_ms("a", NOW + 60_000) for _ in range(4)] == [0, 0, 0, 500]


def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    buckets = Buckets(rate=1.0, burst=1, size=10)
    assert buckets.wait_ms("a", NOW) == 0
    assert buckets.wait_ms("a", NOW - 10_000) > 0
    assert buckets.wait_ms("a", NOW - 9_000) == 0


def test_the_longest_unused_bucket_is_forgotten() -> None:
    buckets = Buckets(rate=0.001, burst=1, size=2)
    for name in "abac":
        buckets.wait_ms(name, NOW)
    assert len(buckets) == 2
    assert buckets.wait_ms("a", NOW) > 0
    assert buckets.wait_ms("b", NOW) == 0


@given(st.lists(st.integers(0, 5_000), max_size=100))
def test_no_bucket_gives_more_than_burst_and_rate(steps: list[int]) -> None:
    buckets, now, given_out = Buckets(rate=0.5, burst=5, size=10), NOW, 0
    for later in steps:
        now += later
        given_out += buckets.wait_ms("a", now) == 0
    assert given_out <= 5 + (now - NOW) * 0.0005 + 1e-6


def test_pings_within_the_gap_share_a_wave_at_its_end() -> None:
    waves = Waves(30_000, 10)
    assert waves.wave_ms("p", NOW) == NOW
    assert waves.wave_ms("p", NOW + 1) == NOW + 30_000
    assert waves.wave_ms("p", NOW + 29_999) == NOW + 30_000
    assert waves.wave_ms("q", NOW + 1) == NOW + 1
    # The next gap counts from that wave.
    assert waves.wave_ms("p", NOW + 30_001) == NOW + 60_000
    assert waves.wave_ms("p", NOW + 90_000) == NOW + 90_000


def test_a_wave_that_was_not_written_is_as_if_it_had_never_been() -> None:
    waves = Waves(30_000, 10)
    waves.withdraw("p", waves.wave_ms("p", NOW))
    assert waves.wave_ms("p", NOW + 5) == NOW + 5
    waves.withdraw("p", NOW)
    assert waves.wave_ms("p", NOW + 6) == NOW + 30_005


def test_a_clock_that_leapt_back_holds_nobody_up() -> None:
    waves = Waves(30_000, 10)
    waves.wave_ms("p", NOW + 86_400_000)
    assert waves.wave_ms("p", NOW) == NOW


@given(st.lists(st.integers(0, 40_000), max_size=60))
def test_waves_lie_a_gap_apart_and_none_is_further_ahead_than_one(steps: list[int]) -> None:
    waves, now, met = Waves(30_000, 10), NOW, [NOW - 30_000]
    for later in steps:
        now += later
        wave = waves.wave_ms("p", now)
        assert now <= wave <= now + 30_000
        if wave != met[-1]:
            assert wave >= met[-1] + 30_000
            met.append(wave)


def test_waves_of_many_publishers_are_bounded() -> None:
    waves = Waves(30_000, 2)
    for number in range(5):
        waves.wave_ms(str(number), NOW)
    assert waves.wave_ms("4", NOW + 1) == NOW + 30_000
    assert waves.wave_ms("0", NOW + 1) == NOW + 1
