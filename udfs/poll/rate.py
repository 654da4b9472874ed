"""How many new items an hour a feed brings, and from that the interval until its next poll. No clock, no I/O.

Counts and observed hours decay alike, with one half-life, and are shrunk to a prior of the tier: a feed hardly known
is polled as its kind is. (The 168 counts by hour of the week of the row are not used yet.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec.structs import replace

from state_schemas.polling import FeedState
from udfs.poll.policy import HOUR_MS, PollPolicy


def observed(state: FeedState, new_items: int, now_ms: int, policy: PollPolicy) -> FeedState:
    """The row after `new_items` (>= 0) were counted over the time since it was last observed."""
    hours = max(0, now_ms - state.rated_ms) / HOUR_MS
    kept = 0.5 ** (hours / policy.rate_half_life_h)
    # The integral of the decay over the observed time: the hours of today's weight.
    weighed = policy.rate_half_life_h / math.log(2) * (1 - kept)
    return replace(
        state,
        count=state.count * kept + new_items,
        exposure_h=state.exposure_h * kept + weighed,
        rated_ms=max(now_ms, state.rated_ms),
        last_new_ms=now_ms if new_items else state.last_new_ms,
    )


def first_observed(state: FeedState, stamps_ms: Iterable[int | None], now_ms: int, policy: PollPolicy) -> FeedState:
    """The row after its first document, whose own dates (ms UTC or None) are all there is to go by."""
    week = 7 * 24 * HOUR_MS
    dated = sorted(at for at in stamps_ms if at is not None and now_ms - week <= at <= now_ms)
    if len(dated) < 2:
        return replace(state, rated_ms=now_ms)
    hours = max((now_ms - dated[0]) / HOUR_MS, 0.25)
    weight = min(1.0, policy.first_document_h / hours)
    return replace(
        state,
        count=len(dated) * weight,
        exposure_h=hours * weight,
        rated_ms=now_ms,
        last_new_ms=dated[-1],
    )


def items_per_hour(state: FeedState, policy: PollPolicy) -> float:
    """The expected rate, above 0."""
    prior = policy.prior_authoritative if state.source.tier == "authoritative" else policy.prior_tail
    return (state.count + prior * policy.prior_h) / (state.exposure_h + policy.prior_h)


def interval_ms(state: FeedState, now_ms: int, policy: PollPolicy) -> int:
    """Half the expected gap, sooner after a new item, within floor and ceiling; jitter included.

    Raises ValueError on a rate that is not above 0: our bug, no feed can cause it.
    """
    floor, ceiling = policy.floor_ms(state.source.tier), policy.ceiling_ms
    if now_ms < state.burst_until_ms:
        return floor
    rate = items_per_hour(state, policy)
    if not rate > 0:
        raise ValueError(f"{state.source.feed_id}: a rate of {rate} items an hour")
    wait = min(policy.gap_share * HOUR_MS / rate, ceiling)
    if state.last_new_ms:
        age = max(0, now_ms - state.last_new_ms)
        wait *= 1 - (1 - policy.soon_share) * math.exp(-age / policy.soon_ms)
    if now_ms < state.lease_until_ms:
        # Pushes bring the news; the poll only finds what a hub forgot.
        return max(floor, policy.leased_ms)
    return within(jittered(wait, state, policy), floor, ceiling)


def within(wait_ms: float, floor_ms: int, ceiling_ms: int) -> int:
    """A wait in whole ms between its bounds; the floor counts more."""
    return max(floor_ms, min(ceiling_ms, round(min(wait_ms, 2**53))))


def jittered(wait_ms: float, state: FeedState, policy: PollPolicy) -> float:
    """The wait, up to `jitter` of it sooner or later: the same for the same poll of the same feed."""
    # Any mixing will do; the multiplier is Knuth's for 64 bits.
    mixed = (int(state.source.feed_id, 16) + state.polls) * 6364136223846793005 % 2**64
    return wait_ms * (1 + policy.jitter * (mixed / 2**63 - 1))
