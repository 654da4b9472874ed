"""The lines of waiting requests, in virtual time: order, places, patience, what is given up."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.fetcher.gate import Throttled
from services.fetcher.hosts import DeferredError, HostGates
from services.fetcher.policy import FetchPolicy
from tests.unit.virtual_time import now_ms, run

POLICY = FetchPolicy(host_gap_ms=1_000, running=8)
UTC = 1_796_000_000_000


def gates(policy: FetchPolicy = POLICY) -> HostGates:
    return HostGates(policy, clock_ms=now_ms, utc_ms=lambda: UTC + now_ms())


async def enter(hosts: HostGates, name: str, *, urgent: bool = False, under_way: bool = False) -> None:
    """Let start, and sent at once."""
    await hosts.enter(name, urgent=urgent, under_way=under_way)
    hosts.sent(name)


async def visit(
    hosts: HostGates, name: str, lasts_s: float, seen: list[tuple[str, int]], *, urgent: bool = False, tag: str = ""
) -> None:
    await enter(hosts, name, urgent=urgent)
    seen.append((tag or name, now_ms()))
    try:
        await asyncio.sleep(lasts_s)
    finally:
        hosts.leave(name, "answered")
        hosts.free()


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 8_000), st.integers(1, 6_000), st.booleans(), st.booleans()),
        max_size=40,
    )
)
def test_under_any_load_each_host_keeps_its_limits_and_the_process_too(
    visits: list[tuple[int, int, int, bool, bool]],
) -> None:
    """Visits: host, arrival, duration, urgent, given up half-way."""
    at_once: dict[str, int] = {}
    starts: dict[str, list[int]] = {}
    promised: list[int] = []
    policy = FetchPolicy(host_gap_ms=1_000, running=3)

    async def one(hosts: HostGates, name: str, arrives: int, lasts: int, urgent: bool) -> None:
        await asyncio.sleep(arrives / 1000)
        try:
            entered = await hosts.enter(name, urgent=urgent)
        except DeferredError as deferred:
            promised.append(deferred.until_ms - UTC - now_ms())
            return
        at_once[name] = at_once.get(name, 0) + 1
        assert at_once[name] <= policy.host_requests
        assert hosts.running <= policy.running
        sent = False
        try:
            await asyncio.sleep(lasts / 4000)  # its connection opens
            hosts.sent(name)
            sent = True
            starts.setdefault(name, []).append(now_ms())
            await asyncio.sleep(lasts / 1000)
        finally:
            at_once[name] -= 1
            if not sent:
                hosts.forgo(name, entered)
            hosts.leave(name, "answered")
            hosts.free()

    async def main() -> None:
        hosts = gates(policy)
        tasks = []
        for number, arrives, lasts, urgent, gives_up in visits:
            task = asyncio.create_task(one(hosts, f"h{number}.example", arrives, lasts, urgent))
            tasks.append(task)
            if gives_up:
                asyncio.get_running_loop().call_later((arrives + lasts / 2) / 1000, task.cancel)
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(end is None or isinstance(end, asyncio.CancelledError) for end in ends)
        assert hosts.running == 0
        assert all(count == 0 for count in at_once.values())

    run(main())
    assert all(wait > 0 for wait in promised)
    for instants in starts.values():
        assert all(b - a >= policy.host_gap_ms for a, b in pairwise(instants))


def test_urgent_requests_go_before_the_others_of_their_host() -> None:
    async def main() -> list[str]:
        hosts, seen = gates(), []
        async with asyncio.TaskGroup() as group:
            for tag, urgent in [("a", False), ("b", False), ("c", False), ("u", True)]:
                group.create_task(visit(hosts, "news.example", 0.1, seen, urgent=urgent, tag=tag))
                await asyncio.sleep(0)
        return [tag for tag, _ in seen]

    assert run(main()) == ["a", "u", "b", "c"]


def test_hosts_do_not_wait_for_one_another() -> None:
    async def main() -> list[tuple[str, int]]:
        hosts, seen = gates(), []
        began = now_ms()
        async with asyncio.TaskGroup() as group:
            for name in ("slow.example", "slow.example", "quick.example"):
                group.create_task(visit(hosts, name, 20, seen))
        return [(name, at - began) for name, at in seen]

    assert run(main()) == [("slow.example", 0), ("quick.example", 0), ("slow.example", 1_000)]


def test_what_cannot_start_within_the_patience_is_deferred_and_spread() -> None:
    async def main() -> tuple[list[tuple[str, int]], list[int]]:
        hosts, seen = gates(), []
        tasks = [asyncio.create_task(visit(hosts, "news.example", 0.1, seen)) for _ in range(40)]
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        return seen, sorted(end.until_ms for end in ends if isinstance(end, DeferredError))

    seen, later = run(main())
    assert len(seen) + len(later) == 40
    assert len(seen) in (30, 31)
    assert all(b - a >= 1_000 for a, b in pairwise(later))


def test_a_full_host_defers_after_the_patience() -> None:
    async def main() -> tuple[str, int]:
        hosts = gates()
        for _ in range(2):
            await enter(hosts, "news.example")
        began = now_ms()
        with pytest.raises(DeferredError) as raised:
            await enter(hosts, "news.example")
        return raised.value.reason, now_ms() - began

    assert run(main()) == ("host_busy", 30_000)


def test_a_host_that_closes_hands_all_its_line_back_at_once() -> None:
    async def main() -> list[tuple[str, int]]:
        hosts = gates()
        await enter(hosts, "news.example")
        waiting = [asyncio.create_task(enter(hosts, "news.example")) for _ in range(3)]
        await asyncio.sleep(0)
        hosts.leave("news.example", Throttled(3_600_000))
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        return [(end.reason, end.until_ms - UTC - now_ms()) for end in ends if isinstance(end, DeferredError)]

    assert run(main()) == [("retry_after", 3_601_000), ("retry_after", 3_602_000), ("retry_after", 3_603_000)]


def test_places_of_the_process_go_to_urgent_hosts_first() -> None:
    async def main() -> list[str]:
        hosts, seen = gates(FetchPolicy(host_gap_ms=1_000, running=1)), []
        async with asyncio.TaskGroup() as group:
            for name, urgent in [("a.example", False), ("b.example", False), ("u.example", True)]:
                group.create_task(visit(hosts, name, 1, seen, urgent=urgent))
                await asyncio.sleep(0)
        return [name for name, _ in seen]

    assert run(main()) == ["a.example", "u.example", "b.example"]


def test_the_next_hop_waits_for_the_gap_and_goes_before_the_line() -> None:
    async def main() -> list[tuple[str, int]]:
        hosts, seen = gates(), []
        began = now_ms()
        await enter(hosts, "news.example")

        async def other() -> None:
            await visit(hosts, "news.example", 0.1, seen, tag="other")

        task = asyncio.create_task(other())
        await asyncio.sleep(0.5)
        await hosts.again("news.example")
        hosts.sent("news.example")
        seen.append(("hop", now_ms()))
        hosts.leave("news.example", "answered")
        await task
        return [(tag, at - began) for tag, at in seen]

    assert run(main()) == [("hop", 1_000), ("other", 2_000)]


def test_a_request_that_comes_by_redirect_takes_a_place_at_the_host_alone() -> None:
    async def main() -> tuple[int, int]:
        hosts = gates(FetchPolicy(running=1))
        await enter(hosts, "old.example")
        await enter(hosts, "new.example", under_way=True)
        during = hosts.running
        hosts.leave("new.example", "answered")
        hosts.leave("old.example", "answered")
        hosts.free()
        return during, hosts.running

    assert run(main()) == (1, 0)


def test_forgotten_hosts_leave_the_memory_busy_ones_stay() -> None:
    async def main() -> int:
        hosts = gates(FetchPolicy(robots_hosts=10))
        await enter(hosts, "busy.example")
        for number in range(50):
            name = f"h{number}.example"
            await enter(hosts, name)
            hosts.leave(name, "answered")
            hosts.free()
            await asyncio.sleep(5)
        assert "busy.example" in hosts._lines
        return hosts.hosts

    assert run(main()) <= 11


def test_one_that_gives_up_in_line_leaves_no_trace() -> None:
    async def main() -> int:
        hosts = gates()
        await enter(hosts, "news.example")
        task = asyncio.create_task(enter(hosts, "news.example"))
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        hosts.leave("news.example", "answered")
        hosts.free()
        await asyncio.sleep(2)
        await enter(hosts, "news.example")
        await asyncio.sleep(2)
        await enter(hosts, "news.example")
        return hosts.running

    assert run(main()) == 2


def test_after_a_hand_over_a_gap_passes_before_any_host_is_asked() -> None:
    async def main() -> list[tuple[str, int]]:
        hosts, seen = gates(), []
        await visit(hosts, "known.example", 0.1, seen)
        await asyncio.sleep(60)
        hosts.start_gently()
        began = now_ms()
        async with asyncio.TaskGroup() as group:
            for name in ("known.example", "new.example"):
                group.create_task(visit(hosts, name, 0.1, seen))
        return [(name, at - began) for name, at in seen[1:]]

    assert run(main()) == [("known.example", 1_000), ("new.example", 1_000)]


def test_a_connection_that_takes_long_to_open_holds_up_its_own_host_alone() -> None:
    async def main() -> list[tuple[str, int]]:
        hosts, seen = gates(), []
        began = now_ms()
        await hosts.enter("slow.example")
        tasks = [asyncio.create_task(visit(hosts, name, 0.1, seen)) for name in ("slow.example", "quick.example")]
        await asyncio.sleep(4)
        hosts.sent("slow.example")
        await asyncio.gather(*tasks)
        return [(name, at - began) for name, at in seen]

    assert run(main()) == [("quick.example", 0), ("slow.example", 5_000)]
