"""The gate's laws: never more at once than allowed, never two starts within the gap; breaker, Retry-After, promises."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.gate import (
    Defer,
    Ended,
    Host,
    Start,
    Throttled,
    Verdict,
    Wait,
    ask,
    backoff_ms,
    crowded,
    ended,
    forgettable,
    forgone,
    gap_ms,
    learnt,
    promise,
    sent,
)
from services.fetcher.policy import FetchPolicy

POLICY = FetchPolicy(host_gap_ms=1_000)
NOW = 1_000_000
NAME = "news.example"

ends = st.one_of(
    st.sampled_from(["answered", "failed", "unasked"]),
    st.builds(Throttled, st.one_of(st.none(), st.integers(0, 90_000))),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.booleans()),
        st.tuples(st.just("end"), ends),
        st.tuples(st.just("pass"), st.integers(0, 40_000)),
        st.tuples(st.just("delay"), st.integers(0, 5_000)),
        st.tuples(st.sampled_from(["send", "forgo"]), st.just(0)),
    ),
    max_size=120,
)


@given(steps)
def test_never_too_many_at_once_and_never_too_soon(steps: list[tuple[str, object]]) -> None:
    """As the host sees it: between two requests that reach it lies the gap, however long each took to be sent."""
    host, now, in_flight, number, opening = Host(), NOW, 0, 0, 0
    last: int | None = None
    for step, value in steps:
        if step == "pass":
            now += int(value)  # type: ignore[call-overload]
        elif step == "delay":
            host = replace(host, crawl_delay_ms=value)  # type: ignore[arg-type]
        elif step == "send" and opening:
            host, opening = sent(host, now, POLICY), 0
            assert last is None or now - last >= POLICY.host_gap_ms
            last = now
        elif step == "forgo" and opening:
            host, opening = forgone(forgone(host, opening + 1), opening), 0
        elif step == "end" and in_flight:
            host = ended(host, value, NAME, now, POLICY)  # type: ignore[arg-type]
            in_flight -= 1
        elif step == "ask":
            inside = bool(value) and in_flight > 0
            closed = host.closed_until_ms
            half_open = host.failures >= POLICY.breaker_failures
            number += 1
            host, verdict = ask(host, number, now, POLICY, inside=inside)
            if isinstance(verdict, Start):
                assert now >= closed
                assert not opening
                assert last is None or now - last >= POLICY.host_gap_ms
                assert inside or not half_open or in_flight == 0
                opening = number
                in_flight += not inside
            elif isinstance(verdict, Wait) and verdict.until_ms is not None:
                assert now < verdict.until_ms <= now + POLICY.patience_ms
        assert host.in_flight == in_flight <= POLICY.host_requests
        assert host.opening == opening


@given(steps)
def test_every_wait_ends(steps: list[tuple[str, object]]) -> None:
    """Whatever happened: when all has ended and time passes, the host may be asked."""
    host, now = Host(), NOW
    for step, value in steps:
        if step == "pass":
            now += int(value)  # type: ignore[call-overload]
        elif step == "end":
            host = ended(host, value, NAME, now, POLICY)  # type: ignore[arg-type]
        elif step == "ask":
            host, _ = ask(host, 1, now, POLICY)
    host = forgone(replace(host, in_flight=0), 1)
    _, verdict = ask(host, 2, now + 86_400_000 + POLICY.backoff_ceiling_ms * 2, POLICY)
    assert isinstance(verdict, Start)


def first(host: Host, now: int = NOW) -> Verdict:
    return ask(host, 1, now, POLICY)[1]


def asked(host: Host, now: int = NOW, *, inside: bool = False) -> tuple[Host, Verdict]:
    """Asked, and sent at once where it may start."""
    host, verdict = ask(host, 1, now, POLICY, inside=inside)
    return (sent(host, now, POLICY) if isinstance(verdict, Start) else host), verdict


def test_the_first_starts_the_second_after_the_gap_the_third_after_an_end() -> None:
    host, verdict = asked(Host())
    assert verdict == Start()
    assert first(host, NOW + 1) == Wait(NOW + 1_000)
    host, verdict = asked(host, NOW + 1_000)
    assert verdict == Start()
    assert first(host, NOW + 5_000) == Wait(None)
    assert first(ended(host, "answered", NAME, NOW + 5_000, POLICY), NOW + 5_000) == Start()


def test_while_a_connection_opens_no_other_starts_and_the_gap_begins_when_the_request_goes_out() -> None:
    host, _ = ask(Host(), 7, NOW, POLICY)
    assert first(host, NOW + 3_000) == Wait(None)
    assert first(sent(host, NOW + 3_000, POLICY), NOW + 3_001) == Wait(NOW + 4_000)
    assert first(forgone(host, 8), NOW + 3_000) == Wait(None), "another's giving up changes nothing"
    assert first(forgone(host, 7), NOW + 500) == Wait(NOW + 1_000)
    assert first(forgone(host, 7), NOW + 3_000) == Start()


def test_a_hop_of_a_running_request_keeps_the_gap_and_takes_no_place() -> None:
    host, _ = asked(Host())
    host, _ = asked(host, NOW + 1_000)
    host, verdict = asked(host, NOW + 2_000, inside=True)
    assert verdict == Start()
    assert host.in_flight == 2
    assert asked(host, NOW + 2_500, inside=True)[1] == Wait(NOW + 3_000)


@pytest.mark.parametrize(("delay", "gap"), [(0, 1_000), (400, 1_000), (7_000, 7_000)])
def test_a_longer_crawl_delay_is_the_gap(delay: int, gap: int) -> None:
    assert gap_ms(Host(crawl_delay_ms=delay), POLICY) == gap


def test_retry_after_closes_the_host_and_longer_than_the_patience_defers() -> None:
    host, _ = asked(Host())
    short = ended(host, Throttled(20_000), NAME, NOW, POLICY)
    assert first(short, NOW + 5_000) == Wait(NOW + 20_000)
    long = ended(host, Throttled(3_600_000), NAME, NOW, POLICY)
    assert first(long) == Defer("retry_after")
    assert first(long, NOW + 3_600_000) == Start()
    assert long.failures == 0


def test_a_shorter_retry_after_does_not_open_what_a_longer_one_closed() -> None:
    host = learnt(Host(), Throttled(60_000), NAME, NOW, POLICY)
    assert learnt(host, Throttled(1_000), NAME, NOW, POLICY).closed_until_ms == NOW + 60_000


def failed(times: int, host: Host | None = None) -> Host:
    host = host or Host()
    for _ in range(times):
        host = learnt(host, "failed", NAME, NOW, POLICY)
    return host


def test_the_breaker_opens_at_the_third_failure_in_a_row() -> None:
    assert failed(2).closed_until_ms == 0
    assert failed(3).closed == "breaker_open"
    assert failed(2, learnt(failed(2), "answered", NAME, NOW, POLICY)).closed_until_ms == 0


def test_half_open_lets_one_pass_and_a_success_closes() -> None:
    host = failed(3)
    later = host.closed_until_ms
    host, verdict = asked(host, later)
    assert verdict == Start()
    assert first(host, later + 5_000) == Wait(None)
    again = ended(host, "failed", NAME, later + 5_000, POLICY)
    assert again.closed_until_ms > later + 5_000 + POLICY.backoff_base_ms
    closed = ended(host, "answered", NAME, later + 5_000, POLICY)
    closed, _ = asked(closed, later + 6_000)
    assert first(closed, later + 7_000) == Start()


def test_throttled_without_a_time_backs_off_at_once() -> None:
    host = learnt(Host(), Throttled(None), NAME, NOW, POLICY)
    assert host.closed_until_ms > NOW + POLICY.backoff_base_ms // 2


@given(st.integers(1, 10_000), st.text(max_size=20))
def test_backoff_grows_to_its_ceiling_with_jitter(openings: int, name: str) -> None:
    wait = backoff_ms(name, openings, POLICY)
    whole = min(POLICY.backoff_base_ms * 2 ** min(openings - 1, 30), POLICY.backoff_ceiling_ms)
    assert 0.75 * whole - 1 <= wait <= 1.25 * whole


def test_hosts_that_failed_together_come_back_apart() -> None:
    waits = {backoff_ms(f"h{number}.example", 1, POLICY) for number in range(50)}
    assert max(waits) - min(waits) > POLICY.backoff_base_ms // 4


def test_promises_are_spread_by_the_gap() -> None:
    host = Host(closed_until_ms=NOW + 100_000)
    given_out = []
    for _ in range(3):
        host, until = promise(host, NOW, POLICY)
        given_out.append(until - NOW)
    assert given_out == [101_000, 102_000, 103_000]


def test_crowded_where_the_line_is_longer_than_the_patience() -> None:
    assert not crowded(30, Host(), POLICY)
    assert crowded(31, Host(), POLICY)
    assert crowded(4, Host(crawl_delay_ms=10_000), POLICY)


@pytest.mark.parametrize(
    ("host", "may_go"),
    [
        (Host(), True),
        (Host(in_flight=1), False),
        (Host(failures=1), False),
        (Host(next_start_ms=NOW + 1), False),
        (Host(closed_until_ms=NOW + 1), False),
        (Host(promised_ms=NOW + 1), False),
        (Host(next_start_ms=NOW), True),
    ],
)
def test_only_a_host_without_a_past_is_forgotten(host: Host, may_go: bool) -> None:
    assert forgettable(host, NOW) is may_go


def test_learnt_nothing_changes_nothing() -> None:
    how: Ended = "unasked"
    assert learnt(failed(2), how, NAME, NOW, POLICY) == failed(2)
