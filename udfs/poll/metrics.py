"""What the poll job tells Prometheus and `broadsheet sources health`: counts by tier, delays in buckets.

Names end as here, behind Flink's own scope and `broadsheet_poll_`; the tier is a label. Counters begin anew when the
job does. Decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from state_schemas.fetching import FetchResult
from state_schemas.polling import FeedState
from udfs.poll.actions import Found

# Seconds. Fine around the goals: a floor of a minute, two minutes for nine of ten, an hour's ceiling.
DELAY_BUCKETS_S = (15, 30, 60, 90, 120, 180, 300, 600, 1_200, 1_800, 3_600)
EDGES = [*((float(edge), str(edge)) for edge in DELAY_BUCKETS_S), (math.inf, "+Inf")]
TIERS = ("authoritative", "tail")
COUNTS = (
    "polls",  # requests sent
    "lost",  # of these, given up without an answer
    "answers",
    "not_modified",
    "wasted",  # a body travelled, and nothing in it was new
    "failures",
    "new_items",
    "late_items",  # dated from before the poll before the one that found them
    "pushed_items",  # found by a poll that a push asked for
    "overruns",  # a document without one item of the last: some were never seen
    "useless_validators",  # feeds that were found to have them
    "pages",  # page requests sent
)
# name of the histogram -> what it tells
DELAYS = {
    "discovery_delay": "from the publisher's own time, where it is believed, to the poll that found the item",
    "audit_delay": "from an audit's sight of an item to the poll that its feed's schedule would have made",
}


class Counter(Protocol):
    """Flink's counter."""

    def inc(self, n: int = 1) -> None: ...


class PollMetrics:
    """Counters of one subtask; without a metrics group (a test) they count nothing."""

    def __init__(self, group: Any, gauges: dict[str, Callable[[], int]]) -> None:
        self._counters: dict[tuple[str, str], Counter] = {}
        self._buckets: dict[tuple[str, str], list[tuple[float, Counter]]] = {}
        self._plain: dict[str, Counter] = {}
        if group is None:
            return
        ours = group.add_group("broadsheet").add_group("poll")
        self._plain = {name: ours.counter(name) for name in ("unknown_feed", "quarantined")}
        for name, read in gauges.items():
            ours.gauge(name, read)
        for tier in TIERS:
            of_tier = ours.add_group("tier", tier)
            for name in COUNTS:
                self._counters[name, tier] = of_tier.counter(name)
            for name in DELAYS:
                self._buckets[name, tier] = [
                    (edge, of_tier.add_group("le", label).counter(f"{name}_seconds_bucket")) for edge, label in EDGES
                ]

    def plain(self, name: str) -> None:
        """Count what has no tier: unknown_feed, quarantined."""
        counter = self._plain.get(name)
        if counter is not None:
            counter.inc()

    def count(self, name: str, state: FeedState, n: int = 1) -> None:
        """Count one of COUNTS for a feed's tier."""
        counter = self._counters.get((name, state.source.tier))
        if counter is not None and n:
            counter.inc(n)

    def answered(self, result: FetchResult, state: FeedState, found: Found | None) -> None:
        """Count an answer and what it brought; None: nothing of it counts."""
        self.count("answers", state)
        if result.outcome == "not_modified":
            self.count("not_modified", state)
        elif result.outcome in ("failed", "gone") or state.failures:
            self.count("failures", state)
        if found is None:
            return
        if result.outcome == "fetched" and not found.new:
            self.count("wasted", state)
        self.count("new_items", state, found.new)
        self.count("late_items", state, found.late)
        self.count("pushed_items", state, found.new if found.pushed else 0)
        self.count("overruns", state, int(found.overran))
        self.count("useless_validators", state, int(found.useless))
        self._delays("discovery_delay", state, found.delays_ms)
        self._delays("audit_delay", state, found.audited_ms)

    def _delays(self, name: str, state: FeedState, delays_ms: tuple[int, ...]) -> None:
        for delay_ms in delays_ms:
            for edge_s, counter in self._buckets.get((name, state.source.tier), ()):
                if delay_ms <= edge_s * 1000:
                    counter.inc()
