"""The numbers of the ranking: reads reference_data/weights.toml, purely. The formula is written out in that file."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from udfs.reference_faults import Fault, line_of, parse_toml

FILE = "weights.toml"


def _within(low: float, high: float) -> Any:
    """A field without a default: every value stands in the file, next to its reason."""
    return field(metadata={"low": low, "high": high})


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """Values of weights.toml, where each has unit and reason. Suffixes: _h hours; shares and bonuses are 0 to 1."""

    coverage_weight: float = _within(0.0, 100.0)
    velocity_weight: float = _within(0.0, 100.0)
    freshness_half_life_h: float = _within(0.1, 168.0)
    original_window_h: int = _within(1, 168)
    background_share: float = _within(0.0, 1.0)
    relevance_floor: float = _within(0.0, 1.0)
    region_share_weight: float = _within(0.0, 1.0)
    home_bonus: float = _within(0.0, 1.0)
    nation_min_region_share: float = _within(0.0, 1.0)
    local_min_region_share: float = _within(0.0, 1.0)
    max_stories_per_section: int = _within(1, 500)
    min_stories_per_section: int = _within(0, 500)


def parse_weights(text: str, faults: list[Fault]) -> RankingWeights | None:
    """All weights, or None and the faults: one missing, unknown, out of its bounds, or without unit or reason."""
    document = parse_toml(FILE, text, faults)
    if document is None:
        return None
    found: list[Fault] = []
    values: dict[str, float | int] = {}
    known = {entry.name for entry in fields(RankingWeights)}
    for name in document:
        if name not in known:
            found.append(Fault(FILE, line_of(text, f"[{name}]"), name, "no weight of this name"))
    for entry in fields(RankingWeights):
        if entry.name not in document:
            found.append(Fault(FILE, 0, entry.name, "is missing"))
            continue
        table = document[entry.name] if isinstance(document[entry.name], dict) else {}
        line = line_of(text, f"[{entry.name}]")
        reason = _reason_against(table.get("value"), entry.type == "int", **entry.metadata)
        if reason:
            found.append(Fault(FILE, line, entry.name, reason))
        for key in ("unit", "reason"):
            if not isinstance(table.get(key), str) or not table[key].strip():
                found.append(Fault(FILE, line, entry.name, f"has no {key}"))
        found += [
            Fault(FILE, line, entry.name, f"unknown key {key}")
            for key in table
            if key not in {"value", "unit", "reason"}
        ]
        values[entry.name] = table.get("value", 0)
    faults.extend(found)
    return None if found else RankingWeights(**values)  # type: ignore[arg-type] # checked one by one above


def _reason_against(value: object, whole: bool, low: float, high: float) -> str:
    """Why the value cannot be used; empty if it can."""
    kind = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        return f"value must be {'a whole number' if whole else 'a number'} from {low:g} to {high:g}, not {value!r}"
    return ""
