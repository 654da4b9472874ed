"""Other ways to poll the same feeds: fixed intervals, Miniflux's and CommaFeed's rules. All feeds advance together.

None has pushes, bursts or a back-off; all have the same answers, outages and delays as the engine's feeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cli.polling_simulation.engine import BODY_ONLY, FAILED, NEWS, POLLS, UNMODIFIED, Outcome
from cli.polling_simulation.publishers import NEVER, Feed
from cli.polling_simulation.world import DAY_MS, HOUR_MS, World

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MINUTE_MS = 60_000
WEEK_MS = 7 * DAY_MS


class Catalogue:
    """All feeds' instants in one sorted array each, so that one search answers for many feeds."""

    def __init__(self, feeds: list[Feed], days: int) -> None:
        self.feeds = feeds
        self.end = days * DAY_MS
        # Far more than any instant, history included; items beyond the end are never looked at.
        self._stride = 4 * (self.end + 60 * DAY_MS)
        self._offset = 60 * DAY_MS
        self.visible, self.first = self._joined([feed.visible for feed in feeds])
        edits = [np.sort(feed.edited[feed.edited != NEVER]) for feed in feeds]
        self._edits, self._first_edit = self._joined(edits)
        self._out, self._first_out = self._joined(
            [np.array([start for start, _ in feed.outages], dtype=np.int64) for feed in feeds]
        )
        self._back = np.array([end for feed in feeds for _, end in feed.outages] or [0], dtype=np.int64)
        self.length = np.array([feed.length for feed in feeds], dtype=np.int64)
        self.conditional = np.array([feed.validators in ("etag", "modified") for feed in feeds])
        self.size = np.array([feed.about.weight for feed in feeds])
        self.instants = np.concatenate([feed.visible for feed in feeds]) if feeds else np.empty(0, dtype=np.int64)

    def _joined(self, parts: list[Integers]) -> tuple[Integers, Integers]:
        first = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        keys = [
            np.minimum(part, 2 * self.end + DAY_MS) + self._offset + n * self._stride for n, part in enumerate(parts)
        ]
        return np.concatenate(keys).astype(np.int64), first[:-1]

    def _key(self, feeds: Integers, at: Integers) -> Integers:
        return feeds * self._stride + at + self._offset

    def items(self, feeds: Integers, at: Integers) -> Integers:
        """How many items of each feed have appeared by its instant."""
        return np.searchsorted(self.visible, self._key(feeds, at), side="right") - self.first[feeds]

    def edits(self, feeds: Integers, at: Integers) -> Integers:
        """How many items were edited by then."""
        return np.searchsorted(self._edits, self._key(feeds, at), side="right") - self._first_edit[feeds]

    def is_out(self, feeds: Integers, at: Integers) -> NDArray[np.bool_]:
        """Which feeds do not answer at their instant."""
        begun = np.searchsorted(self._out, self._key(feeds, at), side="right")
        last = np.maximum(begun - 1, 0)
        out: NDArray[np.bool_] = (begun > self._first_out[feeds]) & (at < self._back[last])
        return out

    def visible_at(self, feeds: Integers, item: Integers) -> Integers:
        """When an item of each feed appeared."""
        # A feed without items gets another's instant, which its rule then does not use.
        instants: Integers = self.instants[np.minimum(self.first[feeds] + np.maximum(item, 0), len(self.instants) - 1)]
        return instants


# The interval in ms after an answer: (feeds, now, items so far of each feed) -> ms.
Rule = Callable[[Catalogue, Integers, Integers, Integers], Floats]


def fixed(interval_ms: float) -> Rule:
    """One interval for all."""
    return lambda catalogue, feeds, now, items: np.full(len(feeds), float(interval_ms))


def by_tier(top_ms: float, others_ms: float) -> Rule:
    """One interval for the tier `top`, another for the rest."""

    def rule(catalogue: Catalogue, feeds: Integers, now: Integers, items: Integers) -> Floats:
        tops = np.array([catalogue.feeds[n].about.tier == "top" for n in feeds.tolist()])
        return np.where(tops, float(top_ms), float(others_ms))

    return rule


def miniflux(catalogue: Catalogue, feeds: Integers, now: Integers, items: Integers) -> Floats:
    """Entry frequency: a week over the items of the last week, whole minutes, between 5 min and 24 h, factor 1.

    Source: miniflux/v2, internal/model/feed.go, ScheduleNextCheck, and the defaults of SCHEDULER_ENTRY_FREQUENCY_*.
    """
    count = items - catalogue.items(feeds, now - WEEK_MS)
    minutes = np.round(WEEK_MS / MINUTE_MS / np.maximum(count, 1))
    return np.where(count > 0, np.clip(minutes, 5.0, 24.0 * 60), 24.0 * 60) * float(MINUTE_MS)


def commafeed(catalogue: Catalogue, feeds: Integers, now: Integers, items: Integers) -> Floats:
    """Half the mean gap between the document's entries, 5 min to 1 h; 1 h, 2 h, 4 h after 7, 14, 30 days of silence.

    Source: Athou/commafeed, FeedRefreshIntervalCalculator, with the defaults of commafeed.feed-refresh since 5.6.0
    (interval 5 min, max-interval 4 h, of which a quarter bounds the empirical interval).
    """
    held = np.minimum(items, catalogue.length[feeds])
    newest = catalogue.visible_at(feeds, items - 1)
    oldest = catalogue.visible_at(feeds, items - held)
    gap = (newest - oldest) / np.maximum(held - 1, 1)
    usual = np.where(held > 1, np.clip(gap / 2, 5 * MINUTE_MS, HOUR_MS), 4 * HOUR_MS)
    silent_days = np.where(items > 0, (now - newest) // DAY_MS, 99)
    return np.select(
        [silent_days >= 30, silent_days >= 14, silent_days >= 7], [4.0 * HOUR_MS, 2.0 * HOUR_MS, 1.0 * HOUR_MS], usual
    )


def scaled(rule: Rule, factor: float) -> Rule:
    """A rule with all its intervals (bounds included) multiplied, but never below one minute."""
    return lambda catalogue, feeds, now, items: np.maximum(rule(catalogue, feeds, now, items) * factor, MINUTE_MS)


@dataclass(slots=True)
class Run:
    """What came of a rule: outcomes in the feeds' order, and weighted polls a minute."""

    outcomes: list[Outcome]
    minutes: Floats


def run(catalogue: Catalogue, rule: Rule, warm_up_days: float, seed: int, world: World) -> Run:
    """Poll every feed by a rule, each from a random instant of its first interval on, until the end."""
    count = len(catalogue.feeds)
    chance = np.random.default_rng([seed, 5])
    counts = np.zeros((count, 2, 6), dtype=np.int64)
    found = np.full(len(catalogue.instants), -1, dtype=np.int64)
    lost = np.zeros(len(catalogue.instants), dtype=np.bool_)
    minutes = np.zeros(catalogue.end // MINUTE_MS)
    feeds = np.arange(count)
    known = catalogue.items(feeds, np.zeros(count, dtype=np.int64))
    edits = catalogue.edits(feeds, np.zeros(count, dtype=np.int64))
    first = rule(catalogue, feeds, np.zeros(count, dtype=np.int64), known)
    at = (chance.random(count) * first).astype(np.int64)
    while len(feeds):
        live = at < catalogue.end
        if not live.all():
            feeds, at = feeds[live], at[live]
            continue
        # Addressed by feed, so that a feed has the same delays under each rule as far as it can.
        answered = at + np.minimum(
            world.answer_median_ms * np.exp(world.answer_spread * chance.standard_normal(len(feeds))), 20_000
        ).astype(np.int64)
        luck = chance.random(len(feeds))
        timed_out = luck < world.timed_out
        answered[timed_out] = at[timed_out] + world.time_out_ms
        failed = catalogue.is_out(feeds, answered) | (luck < world.timed_out + world.failed)
        items = catalogue.items(feeds, answered)
        now_edits = catalogue.edits(feeds, answered)
        before = known[feeds]
        news = (items > before) & ~failed
        same = (items == before) & (now_edits == edits[feeds]) & catalogue.conditional[feeds] & ~failed
        phase = (at >= warm_up_days * DAY_MS).astype(np.int64)
        column = np.select([failed, same, news], [FAILED, UNMODIFIED, NEWS], BODY_ONLY)
        counts[feeds, phase, POLLS] += 1
        counts[feeds, phase, column] += 1
        np.add.at(minutes, at // MINUTE_MS, catalogue.size[feeds])
        which = np.flatnonzero(news)
        if len(which):
            fresh = feeds[which]
            begin, stop = before[which], items[which]
            oldest = np.clip(stop - catalogue.length[fresh], begin, stop)
            _mark(lost, catalogue.first[fresh] + begin, oldest - begin, True)
            _mark(found, catalogue.first[fresh] + oldest, stop - oldest, answered[which])
        good = feeds[~failed]
        known[good] = items[~failed]
        edits[good] = now_edits[~failed]
        at = answered + np.maximum(rule(catalogue, feeds, answered, known[feeds]), 1000.0).astype(np.int64)
    outcomes = []
    for n, feed in enumerate(catalogue.feeds):
        piece = slice(int(catalogue.first[n]), int(catalogue.first[n]) + len(feed.visible))
        outcomes.append(Outcome(feed, False, counts[n], found[piece], lost[piece]))
    return Run(outcomes, minutes)


def _mark(target: NDArray[np.generic], begin: Integers, lengths: Integers, value: object) -> None:
    """Set target[begin : begin + length] for each pair; value: one, or one a pair."""
    total = int(lengths.sum())
    if not total:
        return
    offsets = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.repeat(begin, lengths) + offsets
    target[places] = np.repeat(value, lengths) if isinstance(value, np.ndarray) else value


def polls_per_second(run_: Run, days: int, warm_up_days: float) -> float:
    """Weighted polls a second after the warm-up."""
    polls = sum(int(outcome.counts[1, POLLS]) * outcome.feed.about.weight for outcome in run_.outcomes)
    return polls / ((days - warm_up_days) * DAY_MS / 1000)


def at_budget(
    catalogue: Catalogue, rule: Rule, wanted_per_s: float, days: int, warm_up_days: float, seed: int, world: World
) -> tuple[Run, float]:
    """The rule, its intervals scaled so that it makes `wanted_per_s` polls a second (within 1 %), and the factor."""
    factor = 1.0
    result = run(catalogue, rule, warm_up_days, seed, world)
    for _ in range(6):
        made = polls_per_second(result, days, warm_up_days)
        if abs(made / wanted_per_s - 1) < 0.01:
            break
        factor *= made / wanted_per_s
        result = run(catalogue, scaled(rule, factor), warm_up_days, seed, world)
    return result, factor
