"""Which live stories an article is worth comparing with: the nearest centroids, and those that share its rare terms.

Holds two indexes of one language's live stories, rebuilt with the writer; decides only who is compared, never who
joins. Below `exact_below` stories every centroid is compared, so the answer depends on the stories alone; above it
HNSW answers (Malkov, Yashunin 2016), and the graph's history may show. Answers are ordered by story id among equals.
"""

from __future__ import annotations

from collections import Counter

import hnswlib
import numpy as np
from numpy.typing import NDArray

from udfs.stories.policy import DIMENSIONS, ClusterPolicy
from udfs.stories.vectors import SCALE, UNIT, Exact

# notes/encoder: recall@10 of 0.976 at 0.11 ms a query, 0.14 ms an insertion.
_M, _EF_CONSTRUCTION, _EF, _SEED = 16, 80, 64, 20
# A centroid that moved less than this far (cosine) keeps its place in the graph: an update costs 0.5 ms.
_MOVED = 0.98


class CentroidIndex:
    """Centroids by story id (64-bit numbers)."""

    def __init__(self, policy: ClusterPolicy) -> None:
        self._policy = policy
        self._rows: dict[int, int] = {}
        self._free: list[int] = []
        self._top = 0  # rows ever in use; the id of a free one among them is 0
        self._ids = np.zeros(64, dtype=np.uint64)
        self._vectors = np.zeros((64, DIMENSIONS), dtype=np.float32)
        self._graph: hnswlib.Index | None = None
        self._graphed: dict[int, Exact] = {}  # row -> the centroid it stands at in the graph

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, story: int, centroid: Exact) -> None:
        """Add a story, or move it."""
        row = self._rows.get(story)
        if row is None:
            row = self._rows[story] = self._free.pop() if self._free else self._top
            self._top = max(self._top, row + 1)
            if row == len(self._ids):
                self._ids = np.concatenate([self._ids, np.zeros_like(self._ids)])
                self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._ids[row] = story
        self._vectors[row] = centroid
        if self._graph is not None:
            self._into_graph(row, centroid)
        elif len(self._rows) > self._policy.exact_below:
            self._build()

    def remove(self, story: int) -> None:
        """Forget a story."""
        row = self._rows.pop(story)
        self._ids[row] = 0
        self._free.append(row)
        if self._graph is not None:
            self._graph.mark_deleted(row)
            self._graphed.pop(row)
            if len(self._rows) <= self._policy.exact_below // 2:
                self._graph = None
                self._graphed.clear()

    def nearest(self, vector: Exact, count: int) -> list[int]:
        """Up to `count` stories by cosine, nearest first; none for the zero vector."""
        if not self._rows or not vector.any():
            return []
        if self._graph is None or len(self._rows) <= self._policy.exact_below:
            products = self._vectors[: self._top] @ vector
            products[self._ids[: self._top] == 0] = -np.inf
            wanted = min(count, len(self._rows))
            bar = np.partition(products, len(products) - wanted)[len(products) - wanted]
            rows = np.flatnonzero(products >= bar)
            products = products[rows]
        else:
            wanted = min(count, len(self._rows))
            labels, _ = self._graph.knn_query(vector / np.float32(SCALE), k=wanted, num_threads=1)
            rows = labels[0].astype(np.int64)
            products = self._vectors[rows] @ vector
        order = sorted(zip((-products).tolist(), self._ids[rows].tolist(), strict=True))
        return [int(story) for _, story in order[:count]]

    def _build(self) -> None:
        self._graph = hnswlib.Index(space="ip", dim=DIMENSIONS)
        self._graph.init_index(
            max_elements=4 * self._policy.exact_below,
            M=_M,
            ef_construction=_EF_CONSTRUCTION,
            random_seed=_SEED,
            allow_replace_deleted=False,
        )
        self._graph.set_ef(_EF)
        for story in sorted(self._rows):  # one order of insertion, whatever order the stories came in
            row = self._rows[story]
            self._into_graph(row, self._vectors[row].copy())

    def _into_graph(self, row: int, centroid: Exact) -> None:
        assert self._graph is not None
        placed = self._graphed.get(row)
        if placed is not None and float(placed @ centroid) / UNIT > _MOVED:
            return
        if row >= self._graph.get_max_elements():
            self._graph.resize_index(2 * self._graph.get_max_elements())
        self._graph.add_items(centroid[None, :] / np.float32(SCALE), [row], num_threads=1)
        self._graphed[row] = centroid.copy()


class TermIndex:
    """Stories by the terms of their profiles; a term of too many stories answers nothing."""

    def __init__(self, policy: ClusterPolicy) -> None:
        self._policy = policy
        self._stories: dict[int, set[int]] = {}

    def add(self, story: int, terms: NDArray[np.uint32]) -> None:
        """Index a story under more terms; known ones change nothing."""
        for term in terms.tolist():
            self._stories.setdefault(term, set()).add(story)

    def remove(self, story: int, terms: NDArray[np.uint32]) -> None:
        """Take a story away from some terms."""
        for term in terms.tolist():
            stories = self._stories.get(term)
            if stories is not None:
                stories.discard(story)
                if not stories:
                    del self._stories[term]

    def shared(self, terms: NDArray[np.uint32], weights: NDArray[np.int32]) -> Counter[int]:
        """Story -> what it shares of the article's rare terms: each term's weight, divided among the stories with it.

        Only the article's `rare_terms` rarest of those that stand in few enough stories are asked, by order of weight.
        """
        found: Counter[int] = Counter()
        asked = 0
        for place in np.lexsort((terms, -weights)).tolist():
            stories = self._stories.get(int(terms[place]))
            if stories is None or len(stories) > self._policy.posting:
                continue
            for story in stories:
                found[story] += int(weights[place]) // len(stories)
            asked += 1
            if asked == self._policy.rare_terms:
                break
        return found
