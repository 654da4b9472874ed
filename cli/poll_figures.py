"""How polling does, from the poll job's own counters: waste, overruns, pushes, and how late news is found.

Pure: Flink's totals in, figures out. Names of the counters: udfs/poll/metrics.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from udfs.poll.metrics import EDGES, TIERS

JOB = "broadsheet-poll"
SCOPE = "broadsheet.poll."


@dataclass(frozen=True, slots=True)
class Delay:
    """Seconds from when an item came to the poll that found it, from counts in buckets; None without items."""

    items: int
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None


@dataclass(frozen=True, slots=True)
class TierFigures:
    """One tier since the job last started. Shares are of answers (not_modified, wasted) or new items (late, pushed).

    wasted: a body travelled and nothing in it was new. late: dated from before the poll before the one that found it.
    discovery: against publishers' own times, of items that are not late. audit: against an audit's sight of the item.
    """

    polls: int
    lost: int
    answers: int
    failures: int
    not_modified_share: float
    wasted_share: float
    new_items: int
    late_share: float
    pushed_share: float
    overruns: int
    useless_validators: int
    discovery: Delay
    audit: Delay


def tier_figures(totals: Mapping[str, float]) -> dict[str, TierFigures]:
    """The figures of each tier. totals: by name behind SCOPE, summed over subtasks; what never counted is absent."""
    return {tier: _of_tier(totals, f"tier.{tier}.") for tier in TIERS}


def _of_tier(totals: Mapping[str, float], scope: str) -> TierFigures:
    def count(name: str) -> int:
        return int(totals.get(scope + name, 0))

    answers, new = count("answers"), count("new_items")
    return TierFigures(
        polls=count("polls"),
        lost=count("lost"),
        answers=answers,
        failures=count("failures"),
        not_modified_share=_share(count("not_modified"), answers),
        wasted_share=_share(count("wasted"), answers),
        new_items=new,
        late_share=_share(count("late_items"), new),
        pushed_share=_share(count("pushed_items"), new),
        overruns=count("overruns"),
        useless_validators=count("useless_validators"),
        discovery=_delay(totals, scope, "discovery_delay"),
        audit=_delay(totals, scope, "audit_delay"),
    )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _delay(totals: Mapping[str, float], scope: str, name: str) -> Delay:
    """Quantiles as Prometheus' histogram_quantile takes them: evenly spread within a bucket, and never beyond the
    last edge."""
    edges = [edge for edge, _ in EDGES]
    below = [int(totals.get(f"{scope}le.{label}.{name}_seconds_bucket", 0)) for _, label in EDGES]
    items = below[-1]

    def quantile(share: float) -> float | None:
        if not items:
            return None
        wanted = share * items
        place = next(number for number, count in enumerate(below) if count >= wanted)
        if math.isinf(edges[place]):
            return edges[-2]
        before, start = (below[place - 1], edges[place - 1]) if place else (0, 0.0)
        return round(start + (edges[place] - start) * (wanted - before) / max(1, below[place] - before), 1)

    return Delay(items, quantile(0.5), quantile(0.9), quantile(0.99))
