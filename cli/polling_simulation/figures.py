"""From outcomes to figures: polls a second, shares, delays by tier, and how far they would move in another sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cli.polling_simulation.engine import BODY_ONLY, FAILED, NEWS, POLLS, UNMODIFIED, Outcome
from cli.polling_simulation.world import DAY_MS, TIERS

Floats = NDArray[np.float64]

# Items of the last hours are left out: a feed that is out for a while has no time left to bring them.
LAST_MS = 6 * 3_600_000


def delays_s(outcome: Outcome, begin_ms: float, end_ms: float) -> Floats:
    """Seconds from the instant an item appeared to the poll that saw it, of the items that appeared in between.

    Lost items are not in it; one never found counts with the time until the simulation's end.
    """
    visible = outcome.feed.visible
    chosen = (visible >= begin_ms) & (visible < end_ms - LAST_MS) & ~outcome.lost
    until = np.where(outcome.found < 0, end_ms, outcome.found)
    return np.asarray((until - visible)[chosen] / 1000, dtype=np.float64)


class Measured:
    """One schedule's outcomes over one stretch of time, by feed, so that feeds can be drawn again."""

    def __init__(self, outcomes: Sequence[Outcome], begin_ms: float, end_ms: float, phase: int = 1) -> None:
        self.outcomes = list(outcomes)
        self.seconds = (end_ms - begin_ms) / 1000
        self.weight = np.array([outcome.feed.about.weight for outcome in outcomes])
        self.tier = np.array([TIERS.index(outcome.feed.about.tier) for outcome in outcomes])
        self.counts = np.array([outcome.counts[phase] for outcome in outcomes], dtype=np.float64).reshape(-1, 6)
        self.delays = [delays_s(outcome, begin_ms, end_ms) for outcome in outcomes]
        self.lost = np.array(
            [
                np.count_nonzero(outcome.lost & (outcome.feed.visible >= begin_ms) & (outcome.feed.visible < end_ms))
                for outcome in outcomes
            ],
            dtype=np.float64,
        )
        self._totals: Floats | None = None
        self.items = np.array([len(delays) for delays in self.delays], dtype=np.float64) + self.lost

    def figures(self, drawn: NDArray[np.int64] | None = None) -> dict[str, object]:
        """All figures: for all feeds, and by tier. drawn: indices of feeds, each as often as it counts."""
        every = np.arange(len(self.outcomes)) if drawn is None else drawn
        found = self._figures(every)
        for n, tier in enumerate(TIERS):
            found[tier] = self._figures(every[self.tier[every] == n])
        return found

    def _figures(self, feeds: NDArray[np.int64]) -> dict[str, object]:
        weight = self.weight[feeds]
        sums = (self.counts[feeds] * weight[:, None]).sum(axis=0) if len(feeds) else np.zeros(6)
        polls = max(float(sums[POLLS]), 1e-9)
        lost, items = float((self.lost[feeds] * weight).sum()), float((self.items[feeds] * weight).sum())
        waits, share = self._weighted(feeds)
        p50, p90, p99 = _percentiles(waits, share, (0.5, 0.9, 0.99))
        mean = float((waits * share).sum() / share.sum()) if len(waits) else 0.0
        return {
            "polls_per_second": float(sums[POLLS]) / self.seconds,
            "not_modified_share": float(sums[UNMODIFIED]) / polls,
            "waste": float(sums[BODY_ONLY]) / polls,
            "found_nothing_share": 1 - float(sums[NEWS]) / polls,
            "failed_share": float(sums[FAILED]) / polls,
            "delay_p50_s": p50,
            "delay_p90_s": p90,
            "delay_p99_s": p99,
            "mean_delay_s": mean,
            "items_per_day": items / (self.seconds / 86_400),
            "overruns": lost / (self.seconds / 86_400),
            "overrun_share": lost / items if items else 0.0,
        }

    def _weighted(self, feeds: NDArray[np.int64]) -> tuple[Floats, Floats]:
        chosen = [self.delays[n] for n in feeds.tolist()]
        if not chosen:
            return np.empty(0), np.empty(0)
        return np.concatenate(chosen), np.repeat(self.weight[feeds], [len(part) for part in chosen])

    def p90(self, feeds: NDArray[np.int64]) -> float:
        """The 90th percentile of delays, in seconds."""
        return _percentiles(*self._weighted(feeds), (0.9,))[0]

    def redrawn(self, times: int, seed: int) -> Iterator[NDArray[np.int64]]:
        """Indices of feeds of as many samples drawn anew, tier by tier; the same for schedules of the same feeds."""
        chance = np.random.default_rng([seed, 6])
        by_tier = [np.flatnonzero(self.tier == n) for n in range(len(TIERS))]
        for _ in range(times):
            yield np.concatenate([chance.choice(feeds, len(feeds)) for feeds in by_tier if len(feeds)])

    def summed(self, drawn: NDArray[np.int64]) -> tuple[float, float]:
        """Polls a second and mean delay of the feeds drawn."""
        weight = self.weight[drawn]
        totals = np.array([delays.sum() for delays in self.delays]) if self._totals is None else self._totals
        self._totals = totals
        found = (self.items - self.lost)[drawn]
        polls = float((self.counts[drawn, POLLS] * weight).sum()) / self.seconds
        return polls, float((totals[drawn] * weight).sum()) / max(1e-9, float((found * weight).sum()))


def between(values: Sequence[float]) -> list[float]:
    """The 5th and the 95th percentile."""
    return [float(value) for value in np.percentile(values, [5, 95])]


def _percentiles(values: Floats, weight: Floats, shares: Sequence[float]) -> list[float]:
    if not len(values):
        return [0.0 for _ in shares]
    order = np.argsort(values)
    reached = np.cumsum(weight[order])
    places = np.searchsorted(reached, np.array(shares) * reached[-1])
    return [float(values[order[min(int(place), len(values) - 1)]]) for place in places]


def peak_minute(minutes: Floats, begin_ms: float) -> float:
    """The most polls a second in one minute from `begin_ms` on."""
    return float(minutes[int(begin_ms // 60_000) :].max()) / 60


def span(days: int, warm_up_days: float) -> tuple[float, float]:
    """The stretch that counts, ms."""
    return warm_up_days * DAY_MS, float(days * DAY_MS)
