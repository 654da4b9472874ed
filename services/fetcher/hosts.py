"""Carries out the gate: a line of waiting requests for each host, woken when the gate lets the next one start.

Nothing waits here longer than the patience; then it gets DeferredError with the instant to come again.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

from services.fetcher import gate
from services.fetcher.policy import FetchPolicy


class DeferredError(Exception):
    """The request cannot start within the patience. until_ms: when to come again (ms UTC); reason: a code."""

    def __init__(self, reason: str, until_ms: int) -> None:
        super().__init__(f"{reason} until {until_ms}")
        self.reason = reason
        self.until_ms = until_ms


# The order in a line: a request under way before urgent ones before the others.
UNDER_WAY, URGENT, ORDINARY = range(3)


@dataclass(slots=True)
class _Waiting:
    rank: int
    number: int
    start: asyncio.Future[None]
    inside: bool  # in flight at this host already
    fresh: bool  # not yet running at all: needs one of the process's places

    def __lt__(self, other: _Waiting) -> bool:
        return (self.rank, self.number) < (other.rank, other.number)


@dataclass(slots=True)
class _Line:
    host: gate.Host = field(default_factory=gate.Host)
    waiting: list[_Waiting] = field(default_factory=list)  # a heap
    wake: asyncio.TimerHandle | None = None


def monotonic_ms() -> int:
    """A clock that no correction of the time of day moves."""
    return time.monotonic_ns() // 1_000_000


class HostGates:
    """All hosts of one fetcher. Used inside one event loop."""

    def __init__(
        self,
        policy: FetchPolicy,
        *,
        clock_ms: Callable[[], int] = monotonic_ms,
        utc_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._policy = policy
        self._clock_ms = clock_ms
        self._utc_ms = utc_ms
        self._lines: dict[str, _Line] = {}
        self._numbers = count(1)
        # Hosts that may start a request but found no place in the process; urgent ones first.
        self._short: tuple[deque[str], deque[str]] = (deque(), deque())
        self._gentle_ms = 0
        self.running = 0

    @property
    def hosts(self) -> int:
        """Hosts held in memory."""
        return len(self._lines)

    async def enter(self, host: str, *, urgent: bool = False, under_way: bool = False) -> int:
        """Wait until a request to the host may start; it is in flight until `leave`, and takes a place until `free`. No
        other starts until it is `sent`, or `forgo` says, with the number returned, that it will not be.

        under_way: the request runs already and only comes to this host by a redirect: it takes no place. Raises
        DeferredError.
        """
        line = self._line(host)
        rank = UNDER_WAY if under_way else URGENT if urgent else ORDINARY
        if rank != UNDER_WAY and gate.crowded(len(line.waiting), line.host, self._policy):
            raise self._deferred(line, "host_busy")
        return await self._wait(host, line, rank, inside=False, fresh=not under_way)

    async def again(self, host: str) -> int:
        """Wait until a request that is in flight at the host may start its next hop: as for `enter`."""
        return await self._wait(host, self._line(host), UNDER_WAY, inside=True, fresh=False)

    def leave(self, host: str, how: gate.Ended) -> None:
        """A request has ended at this host. Its place in the process is free only when its answer is out: `free`."""
        line = self._line(host)
        line.host = gate.ended(line.host, how, host, self._clock_ms(), self._policy)
        self._pump(host)

    def free(self) -> None:
        """A request that was let start, and was not under way before, needs its place no more."""
        self.running -= 1
        self._fill()

    def sent(self, host: str) -> None:
        """A request to the host has just gone out."""
        line = self._line(host)
        line.host = gate.sent(line.host, self._clock_ms(), self._policy)
        if line.waiting:
            self._pump(host)

    def forgo(self, host: str, number: int) -> None:
        """The request that was let start under this number will not go out, where it has not already."""
        line = self._line(host)
        line.host = gate.forgone(line.host, number)
        self._pump(host)

    def learnt(self, host: str, how: gate.Ended) -> None:
        """Something was learnt of the host by a request that goes on."""
        line = self._line(host)
        line.host = gate.learnt(line.host, how, host, self._clock_ms(), self._policy)

    def start_gently(self) -> None:
        """Another process may have asked any host just now: let a gap pass at each that has no request in flight."""
        self._gentle_ms = self._clock_ms() + self._policy.host_gap_ms
        for line in self._lines.values():
            if not line.host.in_flight:
                line.host = replace(line.host, next_start_ms=max(line.host.next_start_ms, self._gentle_ms))

    def crawl_delay(self, host: str, delay_ms: int) -> None:
        """robots.txt asks for this gap."""
        line = self._line(host)
        if line.host.crawl_delay_ms != delay_ms:
            line.host = replace(line.host, crawl_delay_ms=delay_ms)

    def _line(self, host: str) -> _Line:
        line = self._lines.get(host)
        if line is None:
            if len(self._lines) >= self._policy.robots_hosts:
                self._sweep()
            line = self._lines[host] = _Line(gate.Host(next_start_ms=self._gentle_ms))
        return line

    def _sweep(self) -> None:
        now = self._clock_ms()
        for name, line in list(self._lines.items()):
            if not line.waiting and line.wake is None and gate.forgettable(line.host, now):
                del self._lines[name]

    def _deferred(self, line: _Line, reason: str) -> DeferredError:
        now = self._clock_ms()
        line.host, until = gate.promise(line.host, now, self._policy)
        return DeferredError(reason, self._utc_ms() + until - now)

    async def _wait(self, host: str, line: _Line, rank: int, *, inside: bool, fresh: bool) -> int:
        start = asyncio.get_running_loop().create_future()
        waiting = _Waiting(rank, next(self._numbers), start, inside, fresh)
        heapq.heappush(line.waiting, waiting)
        self._pump(host)
        if start.done():
            start.result()
            return waiting.number
        try:
            async with asyncio.timeout(self._policy.patience_ms / 1000):
                await start
        except TimeoutError:
            if not self._taken(waiting):
                raise self._deferred(line, line.host.closed or "host_busy") from None
        except BaseException:
            # Given up while it waited. Where the gate had let it start in the same instant, its place goes back.
            if self._taken(waiting):
                self._give_back(host, waiting)
            raise
        return waiting.number

    @staticmethod
    def _taken(waiting: _Waiting) -> bool:
        start = waiting.start
        if start.done():
            return not start.cancelled() and start.exception() is None
        start.cancel()
        return False

    def _give_back(self, host: str, waiting: _Waiting) -> None:
        self.forgo(host, waiting.number)
        if not waiting.inside:
            self.leave(host, "unasked")
        if waiting.fresh:
            self.free()

    def _pump(self, host: str) -> None:
        line = self._lines.get(host)
        while line is not None and line.waiting:
            first = line.waiting[0]
            if first.start.done():  # given up
                heapq.heappop(line.waiting)
                continue
            if first.fresh and self.running >= self._policy.running:
                self._short[first.rank != URGENT].append(host)
                return
            now = self._clock_ms()
            line.host, verdict = gate.ask(line.host, first.number, now, self._policy, inside=first.inside)
            if isinstance(verdict, gate.Start):
                heapq.heappop(line.waiting)
                self.running += first.fresh
                first.start.set_result(None)
            elif isinstance(verdict, gate.Defer):
                self._defer_all(line, verdict.reason)
            else:
                if verdict.until_ms is not None:
                    self._wake_at(host, line, verdict.until_ms, now)
                return

    def _defer_all(self, line: _Line, reason: str) -> None:
        while line.waiting:
            waiting = heapq.heappop(line.waiting)
            if not waiting.start.done():
                waiting.start.set_exception(self._deferred(line, reason))

    def _wake_at(self, host: str, line: _Line, until_ms: int, now_ms: int) -> None:
        if line.wake is not None:
            line.wake.cancel()
        line.wake = asyncio.get_running_loop().call_later((until_ms - now_ms) / 1000, self._woken, host)

    def _woken(self, host: str) -> None:
        line = self._lines.get(host)
        if line is not None:
            line.wake = None
            self._pump(host)

    def _fill(self) -> None:
        """Places in the process are free: hosts that found none are asked again."""
        for hosts in self._short:
            while hosts and self.running < self._policy.running:
                self._pump(hosts.popleft())
