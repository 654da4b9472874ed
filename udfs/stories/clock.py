"""A language's stream time: the running maximum of its records' own times, guarded against one bad clock.

Decides how far a record moves the clock. Never reads a clock itself. A record more than `jump_ms` ahead only claims the
new time; the clock moves there when a second publisher claims so too, to the smaller of both claims. Ticks have no
publisher and count as one among themselves: a tick and an article confirm each other, two ticks do not.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """now_ms: stream time, ms UTC; 0 until first confirmed. claim_ms, claim_by: a jump that awaits confirmation."""

    now_ms: int = 0
    claim_ms: int = 0
    claim_by: str = ""


def advance(clock: Clock, at_ms: int, publisher: str, jump_ms: int) -> Clock:
    """The clock after a record of `publisher` ("" for a tick) that says it is `at_ms`. Never moves back."""
    if at_ms <= clock.now_ms:
        return clock
    if clock.now_ms and at_ms - clock.now_ms <= jump_ms:
        return _settled(at_ms, clock.claim_ms, clock.claim_by, jump_ms)
    if not clock.claim_ms or clock.claim_by == publisher:
        return Clock(clock.now_ms, at_ms, publisher)
    if at_ms <= clock.claim_ms:
        return _settled(at_ms, clock.claim_ms, clock.claim_by, jump_ms)
    return _settled(clock.claim_ms, at_ms, publisher, jump_ms)


def _settled(now_ms: int, claim_ms: int, claim_by: str, jump_ms: int) -> Clock:
    """The clock at `now_ms`, and a claim beyond it: taken in where it is no jump any more, else kept waiting."""
    if claim_ms <= now_ms:
        return Clock(now_ms)
    if claim_ms - now_ms <= jump_ms:
        return Clock(claim_ms)
    return Clock(now_ms, claim_ms, claim_by)
