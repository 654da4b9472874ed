"""What is assumed of the world's feeds, each number with its source, and how many feeds stand for all of them.

Draws no items: publishers.py does. Nothing here is fitted to a schedule's figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

TierName = Literal["top", "busy", "tail"]
TIERS: tuple[TierName, ...] = ("top", "busy", "tail")

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
START_MS = 1_795_996_800_000  # a Monday, 00:00 UTC


@dataclass(frozen=True, slots=True)
class World:
    """Assumptions. "Captured": what 26 feeds of large publishers say by their own dates and headers.

    "Hmedeh": Hmedeh et al., Characterizing Web Syndication Behavior and Content (WISE 2011), 8,155 feeds, eight months.
    "Udell": J. Udell, RSS self-defense (2004), some 200 feeds. Numbers without a source are assumptions of ours.
    """

    # Rates. Captured: the logarithms of items a day have a standard deviation of 1.60 and a median of 6.6 a day. The
    # median here is lower, for most feeds belong to smaller houses: 200,000 of them bring 2.9 million feed items, as
    # two million distinct articles a day that stand in 1.5 feeds each would. Hmedeh's feeds are more uneven still (17 %
    # bring 97 % of the items), forums and microblogs included.
    median_items_a_day: float = 4.0
    rate_spread: float = 1.6
    most_items_an_hour: float = 60.0
    authoritative: int = 5_000  # of 200,000: those of the highest rates; they are `top`
    busy: int = 45_000  # of 200,000: the next

    # Rhythm. Kinds of feeds by share: a newsroom's day, a paper that brings half of its day in one early rush, hourly
    # imports, wires round the clock (more of these among the top).
    newsroom: float = 0.70
    morning: float = 0.10
    hourly: float = 0.10
    flat: float = 0.10
    flat_top: float = 0.30
    # A day at the weekend against one in the week: an aggregator of 2011 counted 9,065 items on a Wednesday and 51,813
    # in its week, about one half.
    weekend_low: float = 0.35
    weekend_high: float = 0.8
    day_spread: float = 0.25  # of the logarithm of a day's rate
    hour_spread: float = 0.4  # of the logarithm of an hour's rate
    # Captured: a tenth of the gaps are below three minutes where independent items would give a fiftieth, and a
    # tenth of the items bear the full hour.
    run_share: float = 0.08
    run_length: float = 2.0
    on_the_hour: float = 0.1

    # News events that raise the rate of a group's feeds for an hour; the ranking tells polling of them after a while.
    groups: int = 50
    events_a_day: float = 12.0
    event_reach: float = 0.4  # of the group's feeds
    event_factor: float = 4.0  # of the feed's mean rate, decaying over the hour
    event_noticed_ms: int = 6 * 60_000  # ten originals within five minutes, and a ranking cycle
    event_signal_ms: int = HOUR_MS

    # Documents. Captured: 9 to 300 items, quartiles 12, 25, 44.
    median_length: float = 25.0
    length_spread: float = 0.7
    shortest: int = 10
    longest: int = 100
    ttl_hour_share: float = 0.3  # captured: 8 of 26 say an hour or more, 4 of 26 a quarter of an hour or less
    ttl_short_share: float = 0.15
    undated: float = 0.08
    misdated: float = 0.04  # by whole hours: a zone left out

    # Answers. Udell: 35 of some 200 feeds know no conditional request.
    never_304: float = 0.12
    restless_etag: float = 0.05  # a new ETag for every answer, half of them with a new body too
    modified_only: float = 0.2  # Last-Modified without ETag
    edited: float = 0.3  # share of feeds whose items are edited in place
    edits: float = 0.25  # of their items, once, after about half an hour
    # A cache before the publisher: items appear when it is renewed; the rest of its time is the answer's max-age.
    cached: float = 0.3
    cache_ages_s: tuple[int, ...] = (60, 60, 120, 300, 300, 600)

    # WebSub. None of the captured feeds names a hub; blog hosts do (Blogger, WordPress.com, Medium).
    websub: float = 0.10
    websub_top: float = 0.05
    push_median_ms: int = 4_000
    push_spread: float = 0.8
    push_lost: float = 0.02
    lease_ms: int = 10 * DAY_MS

    # Faults.
    outages_a_week: float = 0.5
    outage_median_ms: int = 90 * 60_000
    outage_spread: float = 1.0
    failed: float = 0.004  # of single answers: 5xx
    timed_out: float = 0.002
    time_out_ms: int = 30_000
    answer_median_ms: int = 350  # from release to answer
    answer_spread: float = 0.7


@dataclass(frozen=True, slots=True)
class SampledFeed:
    """One simulated feed: its rank among all (0: the most active), its rate, and how many feeds it stands for."""

    rank: int
    tier: TierName
    items_a_day: float
    weight: float


# Shares of a sample: the top feeds make most polls for their number and most items.
_SAMPLE_SHARES: dict[TierName, float] = {"top": 0.12, "busy": 0.33, "tail": 0.55}


def tier_sizes(feeds: int, world: World) -> dict[TierName, int]:
    """How many of `feeds` (>= 3) are in each tier; the proportions of 200,000."""
    top = max(1, round(feeds * world.authoritative / 200_000))
    busy = max(1, round(feeds * world.busy / 200_000))
    return {"top": top, "busy": busy, "tail": max(1, feeds - top - busy)}


def sample(feeds: int, wanted: int, seed: int, world: World) -> list[SampledFeed]:
    """The feeds that are simulated: of each tier every n-th by rate, from a random start. wanted 0: all.

    Weights add up to `feeds`.
    """
    chance = np.random.default_rng([seed, 1])
    most = world.most_items_an_hour * 24
    rates = np.minimum(world.median_items_a_day * np.exp(world.rate_spread * chance.standard_normal(feeds)), most)
    rates = np.sort(rates)[::-1]
    chosen: list[SampledFeed] = []
    first = 0
    for tier, size in tier_sizes(feeds, world).items():
        count = size if wanted == 0 else min(size, max(1, round(wanted * _SAMPLE_SHARES[tier])))
        step = size / count
        start = float(chance.random()) * step
        for n in range(count):
            rank = first + min(size - 1, int(start + n * step))
            chosen.append(SampledFeed(rank, tier, float(rates[rank]), size / count))
        first += size
    return chosen


@dataclass(frozen=True, slots=True)
class NewsEvent:
    """An event that a group's feeds report on. start_ms: since the simulation's start."""

    number: int
    group: int
    start_ms: int


def news_events(days: int, seed: int, world: World) -> list[NewsEvent]:
    """The events of all days, in time order."""
    chance = np.random.default_rng([seed, 2])
    count = int(chance.poisson(world.events_a_day * days))
    starts: NDArray[np.float64] = np.sort(chance.random(count)) * days * DAY_MS
    groups = chance.integers(0, world.groups, count)
    return [NewsEvent(n, int(groups[n]), int(starts[n])) for n in range(count)]
