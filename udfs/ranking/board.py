"""Scores every live story of a language for each of its editions, in numpy columns.

Decides scores from views and an instant; never folds changes, chooses headlines or publishes. A story's originals are
rows of one table: (story slot, publisher, authority, country, first seen). Slots and rows are reused when a story
changes, and the tables grow by half when full. Reading order: put and drop, coverage, scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from state_schemas.ranking import StoryView
from udfs.ranking.policy import RankingPolicy
from udfs.weights import RankingWeights

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
N = TypeVar("N", bound=np.generic)
_FREE = -1
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the reporting of each story slot amounts to at one instant; arrays of length slots.

    authority: the windowed sum over distinct publishers; velocity: originals of the last half hour; freshness in
    (0, 1]. by_country: the share of the story's authority that publishers of a country hold.
    """

    now_ms: int
    live: Bools
    authority: Floats
    freshness: Floats
    velocity: Floats
    publishers: Floats
    by_country: dict[str, Floats]


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of one edition; arrays of length slots, zero where not live. All parts stand for themselves."""

    score: Floats
    coverage: Floats
    relevance: Floats
    home: Floats
    home_place: Bools


class Board:
    """The live stories of one language."""

    def __init__(self, policy: RankingPolicy, weights: RankingWeights) -> None:
        self._policy = policy
        self._weights = weights
        self.slots: dict[str, int] = {}
        self.ids: list[str] = []
        self._free_slots: list[int] = []
        self._latest = np.zeros(64, np.int64)
        self._updated = np.zeros(64, np.int64)
        self._rows: dict[int, list[int]] = {}
        self._free_rows: list[int] = []
        self._row_count = 0
        self._slot_of = np.full(256, _FREE, np.int32)
        self._publisher = np.zeros(256, np.int32)
        self._country = np.zeros(256, np.int16)
        self._authority = np.zeros(256, np.float32)
        self._seen = np.zeros(256, np.int64)
        self._publishers: dict[str, int] = {}
        self._countries: dict[str, int] = {}
        self._places: dict[str, set[int]] = {}  # country -> slots of stories that happen there
        self._topics: dict[str, set[int]] = {}

    def put(self, view: StoryView) -> None:
        """Take in a story, or its new view."""
        self.drop(view.story_id)
        slot = self._free_slots.pop() if self._free_slots else len(self.ids)
        if slot == len(self.ids):
            self.ids.append(view.story_id)
            if slot >= len(self._latest):
                self._latest, self._updated = _grown(self._latest), _grown(self._updated)
        self.ids[slot] = view.story_id
        self.slots[view.story_id] = slot
        # What its publisher does not want listed lends a story neither weight nor freshness.
        counted = [member for member in view.members if not member.of and not member.noindex]
        latest = view.latest_ms
        if counted and any(member.noindex for member in view.members):
            latest = min(latest, max(member.first_seen_ms for member in counted))
        self._latest[slot], self._updated[slot] = latest, view.updated_ms
        rows = []
        for member in counted:
            row = self._new_row()
            rows.append(row)
            self._slot_of[row] = slot
            # One group's many titles count once: the owner where it is known.
            self._publisher[row] = _code(self._publishers, member.owner or member.publisher)
            self._country[row] = _code(self._countries, member.country)
            # Outside [0, 1] it is no authority; without the bound one absurd value would be an infinite score.
            self._authority[row] = min(max(member.authority, 0.0), 1.0)
            self._seen[row] = member.first_seen_ms
        self._rows[slot] = rows
        for _, _, country in view.places:
            self._places.setdefault(country, set()).add(slot)
        for topic in view.topics:
            self._topics.setdefault(topic, set()).add(slot)

    def drop(self, story: str) -> None:
        """Forget a story; one that is not here is fine."""
        slot = self.slots.pop(story, None)
        if slot is None:
            return
        rows = self._rows.pop(slot)
        self._slot_of[rows] = _FREE
        self._free_rows += rows
        self._free_slots.append(slot)
        self.ids[slot] = ""
        for slots in (*self._places.values(), *self._topics.values()):
            slots.discard(slot)

    def coverage(self, now_ms: int) -> Coverage:
        """How widely, how recently and from where each story is reported at `now_ms`."""
        weights, slots = self._weights, len(self.ids)
        used = np.zeros(slots, bool)
        used[list(self.slots.values())] = True
        live = used & (now_ms - self._updated[:slots] < self._policy.live_ms)
        count = self._row_count
        rows = np.flatnonzero(self._slot_of[:count] != _FREE)
        slot = self._slot_of[rows].astype(np.int64)
        age = now_ms - self._seen[rows]
        velocity = np.bincount(slot[age < self._policy.velocity_ms], minlength=slots)
        recent = age < weights.original_window_h * _HOUR_MS
        weight = np.where(recent, 1.0, weights.background_share) * self._authority[rows]
        # Distinct publishers: of each one's originals in a story the heaviest counts.
        order = np.lexsort((-weight, self._publisher[rows], slot))
        slot, weight = slot[order], weight[order]
        publisher, country = self._publisher[rows][order], self._country[rows][order]
        first = np.ones(len(slot), bool)
        first[1:] = (slot[1:] != slot[:-1]) | (publisher[1:] != publisher[:-1])
        slot, weight, country = slot[first], weight[first], country[first]
        authority = np.bincount(slot, weight, slots)
        by_country: dict[str, Floats] = {}
        total = np.maximum(authority, 1e-9)
        for code, number in self._countries.items():
            here = country == number
            if here.any():
                held = np.bincount(slot[here], weight[here], slots)
                by_country[code] = held / total
        quiet = np.maximum(now_ms - self._latest[:slots], 0) / (weights.freshness_half_life_h * _HOUR_MS)
        return Coverage(
            now_ms=now_ms,
            live=live,
            authority=authority.astype(np.float64),
            velocity=velocity.astype(np.float64),
            freshness=np.exp2(-quiet),
            publishers=np.bincount(slot, minlength=slots).astype(np.float64),
            by_country=by_country,
        )

    def scores(self, coverage: Coverage, regions: tuple[str, ...]) -> Scores:
        """Every story's score for an edition whose home is `regions` (ISO 3166 alpha-2).

        The formula stands in reference_data/weights.toml.
        """
        weights, slots = self._weights, len(self.ids)
        home = np.zeros(slots)
        home_place = np.zeros(slots, bool)
        for region in regions:
            if region in coverage.by_country:
                home += coverage.by_country[region]
            home_place[list(self._places.get(region, ()))] = True
        home = np.minimum(home, 1.0)
        relevance = weights.relevance_floor + weights.region_share_weight * home + weights.home_bonus * (home > 0)
        size = weights.coverage_weight * np.log1p(coverage.authority)
        size += weights.velocity_weight * np.log1p(coverage.velocity)
        score = np.where(coverage.live, size * coverage.freshness * relevance, 0.0)
        return Scores(score=score, coverage=size, relevance=relevance, home=home, home_place=home_place)

    def with_topic(self, topic: str) -> Bools:
        """Which slots hold stories of a topic."""
        mask = np.zeros(len(self.ids), bool)
        mask[list(self._topics.get(topic, ()))] = True
        return mask

    def _new_row(self) -> int:
        if self._free_rows:
            return self._free_rows.pop()
        row = self._row_count
        self._row_count += 1
        if row >= len(self._slot_of):
            self._slot_of = _grown(self._slot_of, _FREE)
            self._publisher, self._country = _grown(self._publisher), _grown(self._country)
            self._authority, self._seen = _grown(self._authority), _grown(self._seen)
        return row


def _code(codes: dict[str, int], name: str) -> int:
    return codes.setdefault(name, len(codes))


def _grown(column: NDArray[N], fill: int = 0) -> NDArray[N]:
    larger = np.full(len(column) + len(column) // 2, fill, column.dtype)
    larger[: len(column)] = column
    return larger
