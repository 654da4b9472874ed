"""The numbers of ranking that are no weights: when cycles run, how much is kept, how a representative is chosen.

The weights of the score stand in reference_data/weights.toml (udfs/editions.py, RankingWeights).
"""

from __future__ import annotations

from dataclasses import dataclass

RANKER_VERSION = "1"


@dataclass(frozen=True, slots=True)
class RankingPolicy:
    """Each value with its unit and reason; docs/ranking.md gives the formulas they stand in."""

    cycle_ms: int = 60_000  # a page a minute
    live_ms: int = 48 * 3_600_000  # as the writer's own window, should the writer stand still
    velocity_ms: int = 30 * 60_000  # originals that count as being reported now
    # Representative: a sum of weighted parts, each in [0, 1].
    centrality_weight: float = 0.4
    authority_weight: float = 0.3
    recency_weight: float = 0.15
    soundness_weight: float = 0.15
    home_boost: float = 0.1  # a publisher of the edition's own regions
    members_kept: int = 60  # newest of a story: representative and publishers are chosen among them
    top_sources: int = 5
    # Representatives ask for their page again: most corrections and retractions come in an article's first hours.
    recheck_ms: int = 30 * 60_000
    recheck_young_ms: int = 10 * 60_000  # while younger than young_ms
    young_ms: int = 2 * 3_600_000
    # Of a language. 15 English editions place 5,400 headlines: were all different, 180 a minute would be due.
    rechecks_a_cycle: int = 200
