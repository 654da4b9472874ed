"""How many of a language's stories a term stood in, with decay: what makes a shared term evidence or noise.

Holds counts in one hashed table, cut into blocks for keyed state. Decides a term's weight. A story counts once, by its
first article: 400 outlets that name a place do not make the place common. Counts are folded in at fixed points of the
stream by the writer, never in between, so a rebuilt table is the table.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from udfs.stories.policy import ClusterPolicy
from udfs.stories.terms import ENTITY, MAX_IDF, STEP, Terms

BUCKETS = 1 << 18  # 1 MB; a language's live vocabulary is about 10**5, and a shared bucket only lowers a weight
BLOCK = 1 << 12
BLOCKS = BUCKETS // BLOCK
# Past this a count's weight is brought back to 1: float32 loses nothing in a shift by a power of two.
_MAX_WEIGHT = 2.0**20
# A language silent for longer than this many half-lives has forgotten all; float64 ends at 2**1024.
_MAX_HALVINGS = 1000.0

# Weights are whole, 1/64 of a decade, so that sums of them are exact in any order.
WEIGHT_STEP = 64


class Frequencies:
    """Document frequencies of one language; a count made t ms after `epoch_ms` weighs 2**(t / half life).

    epoch_ms 0: no clock is confirmed yet.
    """

    def __init__(self, policy: ClusterPolicy, epoch_ms: int = 0, documents: float = 0.0) -> None:
        self._policy = policy
        self.epoch_ms = epoch_ms
        self.documents = documents  # weight of all stories counted
        self._counts = np.zeros(BUCKETS, dtype=np.float32)
        self._touched: set[int] = set()

    def load(self, block: int, data: bytes) -> None:
        """Put a stored block back."""
        self._counts[block * BLOCK : (block + 1) * BLOCK] = np.frombuffer(data, "<f4")

    def add(self, terms: Terms, now_ms: int) -> None:
        """Count the terms of a story's first article."""
        weight = self._weight(now_ms)
        if weight > _MAX_WEIGHT:
            # By whole half-lives, so that all but what has decayed to nothing is scaled exactly.
            halvings = int(math.log2(weight))
            self._counts *= np.float32(2.0**-halvings)
            self.documents *= 2.0**-halvings
            self.epoch_ms += halvings * self._policy.half_life_ms
            weight *= 2.0**-halvings
            self._touched.update(range(BLOCKS))
        buckets = np.unique(terms.ids % BUCKETS)
        self._counts[buckets] += np.float32(weight)
        self.documents += weight
        self._touched.update((buckets // BLOCK).tolist())

    def take_touched(self) -> list[tuple[int, bytes]]:
        """The blocks that changed since the last call, in order, as bytes to be stored."""
        touched = sorted(self._touched)
        self._touched.clear()
        return [(block, self._counts[block * BLOCK : (block + 1) * BLOCK].astype("<f4").tobytes()) for block in touched]

    def weights(
        self, ids: NDArray[np.uint32], flags: NDArray[np.uint8], priors: NDArray[np.uint8], now_ms: int
    ) -> NDArray[np.int32]:
        """Inverse document frequencies in decades x WEIGHT_STEP, whole, 0 to 6 decades.

        -log10 of the share of live stories that hold the term beside the one that is compared, blended with the
        prior share. A term of a large part of the live set weighs next to nothing.
        """
        now = self._weight(now_ms)
        seen = self._counts[ids % BUCKETS].astype(np.float64) / now
        strength = np.where(flags & ENTITY, self._policy.entity_prior, self._policy.term_prior)
        share = np.maximum(seen - 1.0, 0.0) + strength * np.power(10.0, priors / -STEP)
        share /= self.documents / now + strength
        decades = np.clip(-np.log10(share), 0.0, MAX_IDF)
        whole: NDArray[np.int32] = np.rint(decades * WEIGHT_STEP).astype(np.int32)
        return whole

    def _weight(self, now_ms: int) -> float:
        if not self.epoch_ms:
            return 1.0  # no clock is confirmed yet: nothing has aged
        halvings = (now_ms - self.epoch_ms) / self._policy.half_life_ms
        return float(2.0 ** min(max(halvings, 0.0), _MAX_HALVINGS))
