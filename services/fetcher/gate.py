"""When a host may be asked: at most so many at once, a gap between starts, Retry-After, a breaker with back-off.

Pure: instants are arguments (ms of any one clock), jitter comes from a hash. `Host` is all that is known of a host;
`hosts.py` keeps one for each and carries out the verdicts.

    breaker    closed --failures in a row--> open --time--> half-open --success--> closed
                                              ^                |
                                              +----failure-----+

An open host is not asked; a half-open one is asked one request at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from services.fetcher.policy import FetchPolicy
from state_schemas.ids import hash64

Reason = Literal["", "retry_after", "breaker_open", "host_busy"]


@dataclass(frozen=True, slots=True)
class Host:
    """One host. next_start_ms: no start before it. closed_until_ms: nothing before it, for `closed` as the reason.

    opening: the number of the request that was let start and has not gone out yet, else 0: the next one's gap is
    counted from when it does.
    failures: in a row. openings: in a row, the exponent of the back-off. promised_ms: the last instant given to a
    deferred request, so that the next is given a later one. crawl_delay_ms: of robots.txt, already capped.
    """

    in_flight: int = 0
    next_start_ms: int = 0
    closed_until_ms: int = 0
    closed: Reason = ""
    failures: int = 0
    openings: int = 0
    promised_ms: int = 0
    crawl_delay_ms: int = 0
    opening: int = 0


@dataclass(frozen=True, slots=True)
class Start:
    """Go, now."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again at until_ms; None: when a request of this host has gone out or ended."""

    until_ms: int | None


@dataclass(frozen=True, slots=True)
class Defer:
    """Not within the patience: hand every waiting request back."""

    reason: Reason


Verdict = Start | Wait | Defer


@dataclass(frozen=True, slots=True)
class Throttled:
    """The host asks to be left alone: 429, or 503 with a Retry-After. retry_after_ms: as it said, else None."""

    retry_after_ms: int | None = None


Ended = Literal["answered", "failed", "unasked"] | Throttled


def gap_ms(host: Host, policy: FetchPolicy) -> int:
    """Between two starts at this host, in ms."""
    return max(policy.host_gap_ms, host.crawl_delay_ms)


def ask(host: Host, number: int, now_ms: int, policy: FetchPolicy, *, inside: bool = False) -> tuple[Host, Verdict]:
    """May this request start now? number: its own, above 0. inside: it is in flight here already, this is its next hop.

    On Start the returned host has counted it, and lets no other start until it is `sent` or given up (`forgone`).
    """
    if host.closed_until_ms - now_ms > policy.patience_ms:
        return host, Defer(host.closed)
    if host.opening:
        return host, Wait(None)
    earliest = max(host.closed_until_ms, host.next_start_ms)
    if earliest > now_ms:
        return host, Wait(earliest)
    if not inside:
        half_open = host.failures >= policy.breaker_failures
        if host.in_flight >= (1 if half_open else policy.host_requests):
            return host, Wait(None)
        host = replace(host, in_flight=host.in_flight + 1)
    return replace(host, next_start_ms=now_ms + gap_ms(host, policy), opening=number), Start()


def sent(host: Host, now_ms: int, policy: FetchPolicy) -> Host:
    """A request that was let start has gone out: the next one's gap begins now, for opening a connection takes time."""
    return replace(host, next_start_ms=max(host.next_start_ms, now_ms + gap_ms(host, policy)), opening=0)


def forgone(host: Host, number: int) -> Host:
    """This request was let start and will not go out. Its gap stays: its connection may have been opened."""
    return replace(host, opening=0) if host.opening == number else host


def ended(host: Host, how: Ended, name: str, now_ms: int, policy: FetchPolicy) -> Host:
    """A request left this host. answered: any status but 5xx and 429; unasked: nothing was learnt."""
    host = replace(host, in_flight=max(0, host.in_flight - 1))
    return learnt(host, how, name, now_ms, policy)


def learnt(host: Host, how: Ended, name: str, now_ms: int, policy: FetchPolicy) -> Host:
    """What an answer, or none, says of the host."""
    if how == "unasked":
        return host
    if how == "answered":
        return replace(host, failures=0, openings=0)
    if isinstance(how, Throttled) and how.retry_after_ms is not None:
        # What the host asks for is honoured; it is no sign that it is broken.
        until = max(host.closed_until_ms, now_ms + how.retry_after_ms)
        return replace(host, closed_until_ms=until, closed="retry_after")
    failures = host.failures + 1
    if failures < policy.breaker_failures and how == "failed":
        return replace(host, failures=failures)
    openings = host.openings + 1
    until = max(host.closed_until_ms, now_ms + backoff_ms(name, openings, policy))
    return replace(host, failures=failures, openings=openings, closed_until_ms=until, closed="breaker_open")


def backoff_ms(name: str, openings: int, policy: FetchPolicy) -> int:
    """Base doubled with each opening, at most the ceiling, times 0.75 to 1.25 by a hash of host and opening: hosts
    that failed together do not come back together."""
    whole = min(policy.backoff_base_ms << min(openings - 1, 20), policy.backoff_ceiling_ms)
    share = hash64(f"{name} {openings}") / 2**64
    return int(whole * (0.75 + share / 2))


def promise(host: Host, now_ms: int, policy: FetchPolicy) -> tuple[Host, int]:
    """When a deferred request may come again: each a gap after the one before, so that they do not all come at once."""
    earliest = max(host.closed_until_ms, now_ms + policy.patience_ms)
    until = max(earliest, host.promised_ms) + gap_ms(host, policy)
    return replace(host, promised_ms=until), until


def crowded(waiting: int, host: Host, policy: FetchPolicy) -> bool:
    """Whether so many wait already that one more could not start within the patience."""
    return waiting * gap_ms(host, policy) > policy.patience_ms


def forgettable(host: Host, now_ms: int) -> bool:
    """Whether nothing is lost when the host is forgotten (its crawl delay is in the robots cache)."""
    return (
        host.in_flight == 0
        and host.failures == 0
        and max(host.next_start_ms, host.closed_until_ms, host.promised_ms) <= now_ms
    )
