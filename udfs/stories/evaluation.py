"""How well stories match labelled events: pairwise and B-cubed figures. Pure counting over (story, event) pairs.

Source of the measures: Bagga and Baldwin 1998 for B-cubed; pairs as in Manning, Raghavan, Schütze, Introduction to
Information Retrieval, 16.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class ClusterFigures:
    """All shares in [0, 1]. A share of no pairs at all is 1."""

    articles: int
    events: int
    stories: int
    pair_precision: float
    pair_recall: float
    pair_f1: float
    b3_precision: float
    b3_recall: float
    b3_f1: float
    id_stability: float

    def as_dict(self) -> dict[str, float]:
        """By name, shares rounded to 4 digits."""
        return {name: round(value, 4) for name, value in asdict(self).items()}


def figures(assigned: Sequence[tuple[str, str]], stable: Iterable[bool]) -> ClusterFigures:
    """Of articles as (story id, event). stable: whether each article's story id never changed, in the same order."""
    stories = Counter(story for story, _ in assigned)
    events = Counter(event for _, event in assigned)
    both = Counter(assigned)
    together = _pairs(both)
    pair_precision = _share(together, _pairs(stories))
    pair_recall = _share(together, _pairs(events))
    count = len(assigned)
    b3_precision = _share(sum(size * size / stories[story] for (story, _), size in both.items()), count)
    b3_recall = _share(sum(size * size / events[event] for (_, event), size in both.items()), count)
    kept = list(stable)
    return ClusterFigures(
        articles=count,
        events=len(events),
        stories=len(stories),
        pair_precision=pair_precision,
        pair_recall=pair_recall,
        pair_f1=_f1(pair_precision, pair_recall),
        b3_precision=b3_precision,
        b3_recall=b3_recall,
        b3_f1=_f1(b3_precision, b3_recall),
        id_stability=_share(sum(kept), len(kept)),
    )


def _pairs(sizes: Counter[str] | Counter[tuple[str, str]]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes.values())


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
