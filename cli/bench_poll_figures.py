"""What `bench poll` makes of what it measured: the time after an outage in numbers, and figures with units and goals.

No cluster, no clock. Reading order: checkpoint_s, Hour, unit_of, figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cli.bench import Figure

# What the job is meant to reach; docs/bench-poll.md says what it does.
GOALS = {
    "polls_per_second_per_core": 1_000.0,
    "state_bytes_per_feed": 3_000.0,
    "worker_memory": 1.0,
    "restore_seconds": 30.0,
}


# What a key and a timer a feed is compared by.
COMPARED = (
    "first_documents_per_second",
    "polls_per_second_per_core",
    "polls_per_second",
    "state_bytes_per_feed",
    "restore_seconds",
    "killed_restore_seconds",
)


def checkpoint_s(checkpoints: Mapping[str, Any], which: str) -> float:
    """Seconds that completed checkpoints took, `max` or `p50`, by Flink's own summary; 0 while there is none."""
    value = float(checkpoints["summary"]["end_to_end_duration"][which])
    return value / 1000 if math.isfinite(value) else 0.0


@dataclass
class Hour:
    """What followed an outage. rates: results the job read a second, between samples."""

    rates: list[float] = field(default_factory=list)
    unread: int = 0
    _last: tuple[float, int] | None = None

    def sample(self, at_s: float, read: int, answered: int) -> None:
        """Note how many results were read and answered by `at_s`, seconds on any clock that only goes on."""
        if self._last is not None and at_s > self._last[0]:
            self.rates.append((read - self._last[1]) / (at_s - self._last[0]))
        self._last = (at_s, read)
        self.unread = max(0, answered - read)

    def end(self) -> None:
        """Forget the last span, in which there was no longer enough to do, unless there is no other."""
        if len(self.rates) > 1:
            self.rates.pop()

    def values(self, releases: dict[str, Any], checkpoints: Mapping[str, Any], feeds: int) -> dict[str, float]:
        """The figures of the time after an outage."""
        authoritative, tail = releases["authoritative"], releases["tail"]
        seconds = {int(second): count for second, count in releases["by_second"].items()}
        first = min(seconds, default=0)
        all_first = sorted(authoritative + tail)
        cleared = all_first[int(0.99 * (len(all_first) - 1))] / 1000 if all_first else first
        # The seconds at both ends are cut; what shards had saved of their budgets goes out in the first ones.
        whole = [seconds.get(second, 0) for second in range(first + 1, int(cleared))]
        enough = authoritative[int(0.99 * (len(authoritative) - 1))] if authoritative else first * 1000
        before = sum(1 for at in tail if at < enough)
        return {
            "outage_releases_per_second": sum(whole) / max(1, len(whole)),
            "outage_releases_per_second_max_10s": max(
                (sum(whole[place : place + 10]) / 10 for place in range(max(1, len(whole) - 9))), default=0.0
            ),
            "outage_feeds_released_share": (len(authoritative) + len(tail)) / feeds,
            "outage_seconds": cleared - first,
            "outage_results_per_second_least": min(self.rates, default=0.0),
            "outage_results_per_second": sum(self.rates) / max(1, len(self.rates)),
            "outage_results_unread": self.unread,
            "outage_checkpoints": checkpoints["counts"]["completed"],
            "outage_checkpoints_failed": checkpoints["counts"]["failed"],
            "outage_checkpoint_p50": checkpoint_s(checkpoints, "p50"),
            "outage_checkpoint_max": checkpoint_s(checkpoints, "max"),
            "outage_authoritative_feeds": len(authoritative),
            "outage_authoritative_99_seconds": enough / 1000 - first,
            "outage_tail_first_seconds": (tail[0] / 1000 - first) if tail else 0.0,
            "outage_tail_share_before_authoritative": before / max(1, len(tail)),
        }


def unit_of(name: str) -> str:
    """The unit that a figure's name tells."""
    if "_per_second" in name:
        return "1/s"
    if "bytes" in name:
        return "bytes"
    if "memory" in name:
        return "GB"
    if "seconds" in name or "checkpoint_" in name:
        return "s"
    return "" if "share" in name or "per_poll" in name else "cores" if "cores" in name else "number"


def figures(main: dict[str, float], other: dict[str, float], other_feeds: int) -> list[Figure]:
    """Every value with its unit, beside the alternative's where it was measured, else beside the goal."""
    found = []
    for name, value in main.items():
        against, against_value = "", None
        if name in COMPARED and name in other:
            against, against_value = f"a key and timer a feed ({other_feeds} feeds)", other[name]
        elif name in GOALS:
            against, against_value = "goal", GOALS[name]
        ratio = None
        if against_value and value:
            more_is_better = "_per_second" in name
            ratio = value / against_value if more_is_better else against_value / value
        found.append(Figure(name, value, unit_of(name), against, against_value, ratio))
    return found
