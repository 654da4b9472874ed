"""Where a feed stands after an answer, and how long a failing one waits. A table, for docs and tests to read too."""

from __future__ import annotations

from typing import Literal

from state_schemas.polling import FeedState, Health
from udfs.poll.policy import PollPolicy
from udfs.poll.rate import jittered, within

Event = Literal["success", "failure", "gone"]

# (health, event) -> health. A failing feed becomes sick after `sick_after` failures in a row. One that is gone (410)
# is no longer asked on schedule, until it is registered again or a push asks for it.
HEALTH: dict[tuple[Health, Event], Health] = {
    ("new", "success"): "healthy",
    ("new", "failure"): "failing",
    ("new", "gone"): "gone",
    ("healthy", "success"): "healthy",
    ("healthy", "failure"): "failing",
    ("healthy", "gone"): "gone",
    ("failing", "success"): "healthy",
    ("failing", "failure"): "failing",
    ("failing", "gone"): "gone",
    ("sick", "success"): "healthy",
    ("sick", "failure"): "sick",
    ("sick", "gone"): "gone",
    ("gone", "success"): "healthy",
    ("gone", "failure"): "failing",
    ("gone", "gone"): "gone",
}


def health_after(state: FeedState, event: Event, policy: PollPolicy) -> Health:
    """The health after one more answer; `state.failures` counts it already."""
    health = HEALTH[state.health, event]
    return "sick" if health == "failing" and state.failures >= policy.sick_after else health


def backoff_ms(state: FeedState, policy: PollPolicy) -> int:
    """The wait after `state.failures` (>= 1) failures in a row: the tier's floor, doubled each time, up to a day.

    On the way it rests at half an hour for some hours: most outages are over by then, and the news that piles up
    behind one is what a long wait loses (docs/decisions.md, "The interval").
    """
    floor = policy.floor_ms(state.source.tier)
    doubled = floor * 2 ** min(state.failures - 1, 40)
    if doubled > policy.backoff_rest_ms:
        beyond = max(0, state.failures - policy.backoff_rest_failures)
        doubled = max(floor, policy.backoff_rest_ms) * 2 ** min(beyond, 40)
    return within(jittered(doubled, state, policy), floor, policy.backoff_ceiling_ms)
