"""How many new items a feed brings, and from that the interval until its next poll. No clock, no I/O.

The overall rate is a decayed count over decayed hours, shrunk to a prior of the tier: a feed hardly known is polled as
its kind is. rhythm.py spreads it over the hours of the week.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec.structs import replace

from state_schemas.polling import FeedState
from udfs.poll.policy import HOUR_MS, PollPolicy
from udfs.poll.rhythm import Rhythm, counted, kept_a_week

_WEEK_MS = 168 * HOUR_MS


def observed(state: FeedState, items_ms: Iterable[int | None], now_ms: int, policy: PollPolicy) -> FeedState:
    """The row after the time since it was last observed, in which new items came, each at the instant it gives itself
    (ms UTC, None where unknown). An instant outside that time is not believed: then it came now. Whole weeks without
    a look are no observation."""
    since = min(state.rated_ms or now_ms, now_ms)
    unwatched = (now_ms - since) // _WEEK_MS * _WEEK_MS
    since += unwatched
    came = [at if at is not None and since <= at <= now_ms else now_ms for at in items_ms]
    hours = (now_ms - since) / HOUR_MS
    kept = 0.5 ** (hours / policy.rate_half_life_h)
    # The integral of the decay over the observed time: the hours of today's weight.
    weighed = policy.rate_half_life_h / math.log(2) * (1 - kept)
    return replace(
        state,
        count=state.count * kept + len(came),
        exposure_h=state.exposure_h * kept + weighed,
        hourly=counted(state.hourly, since, now_ms, came, kept_a_week(policy.rhythm_half_life_weeks)),
        since_ms=state.since_ms + unwatched if state.since_ms else since,
        rated_ms=now_ms,
        last_new_ms=now_ms if came else state.last_new_ms,
    )


def first_observed(state: FeedState, stamps_ms: Iterable[int | None], now_ms: int, policy: PollPolicy) -> FeedState:
    """The row after its first document, whose own dates (ms UTC or None) are all there is to go by: it lists what came
    since the oldest of them, or since a week ago."""
    stamps = sorted(at for at in stamps_ms if at is not None and at <= now_ms)
    dated = [at for at in stamps if at >= now_ms - _WEEK_MS]
    if len(dated) < 2:
        return replace(state, rated_ms=now_ms, since_ms=now_ms)
    since = dated[0] if len(dated) == len(stamps) else now_ms - _WEEK_MS
    hours = max((now_ms - since) / HOUR_MS, 0.25)
    weight = min(1.0, policy.first_document_h / hours)
    # Dates that lie close together may be the document's own, and say nothing of a rhythm.
    spread = dated[-1] - dated[0] >= policy.rhythm_spread_ms
    kept = kept_a_week(policy.rhythm_half_life_weeks)
    return replace(
        state,
        count=len(dated) * weight,
        exposure_h=hours * weight,
        hourly=counted(b"", since, now_ms, dated, kept) if spread else b"",
        since_ms=since if spread else now_ms,
        rated_ms=now_ms,
        last_new_ms=dated[-1],
    )


def items_per_hour(state: FeedState, policy: PollPolicy) -> float:
    """The overall rate expected, above 0."""
    prior = policy.prior_authoritative if state.source.tier == "authoritative" else policy.prior_tail
    return (state.count + prior * policy.prior_h) / (state.exposure_h + policy.prior_h)


def rhythm(state: FeedState, policy: PollPolicy) -> Rhythm:
    """The rates by hour of the week. Raises ValueError on a rate that is not above 0: our bug, no feed can cause it."""
    overall = items_per_hour(state, policy)
    if not overall > 0:
        raise ValueError(f"{state.source.feed_id}: a rate of {overall} items an hour")
    return Rhythm(
        state.hourly,
        state.since_ms or state.rated_ms,
        state.rated_ms,
        overall,
        day_items=policy.rhythm_day_items,
        week_items=policy.rhythm_week_items,
        beside=policy.rhythm_beside,
        kept=kept_a_week(policy.rhythm_half_life_weeks),
    )


def interval_ms(state: FeedState, now_ms: int, policy: PollPolicy, *, hint_ms: int = 0) -> int:
    """Until the items expected meanwhile have waited as long as a poll is worth, sooner after a new one, within floor
    and ceiling; jitter included.

    For a steady rate r that is sqrt(2 worth / r): at a given number of polls, no other share of them among feeds makes
    items wait less in all (docs/decisions.md). hint_ms: for how long the publisher says that nothing changes; 0 where
    it does not. It lengthens the interval, up to a few floors. Raises ValueError as `rhythm` does.
    """
    floor, ceiling = policy.floor_ms(state.source.tier), policy.ceiling_ms
    if now_ms < state.burst_until_ms:
        return floor
    if now_ms < state.lease_until_ms:
        # Pushes bring the news; the poll only finds what a hub forgot.
        return max(floor, policy.leased_ms)
    wait = HOUR_MS * rhythm(state, policy).waited_h(now_ms, policy.poll_worth_ms / HOUR_MS, ceiling / HOUR_MS)
    if state.last_new_ms:
        age = max(0, now_ms - state.last_new_ms)
        wait *= 1 - (1 - policy.soon_share) * math.exp(-age / policy.soon_ms)
    wait = max(wait, min(hint_ms, policy.hint_floors * floor))
    return within(jittered(wait, state, policy), floor, ceiling)


def within(wait_ms: float, floor_ms: int, ceiling_ms: int) -> int:
    """A wait in whole ms between its bounds; the floor counts more."""
    return max(floor_ms, min(ceiling_ms, round(min(wait_ms, 2**53))))


def jittered(wait_ms: float, state: FeedState, policy: PollPolicy) -> float:
    """The wait, up to `jitter` of it sooner or later: the same for the same poll of the same feed."""
    # Any mixing will do; the multiplier is Knuth's for 64 bits.
    mixed = (int(state.source.feed_id, 16) + state.polls) * 6364136223846793005 % 2**64
    return wait_ms * (1 + policy.jitter * (mixed / 2**63 - 1))
