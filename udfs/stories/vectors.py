"""Vectors in which sums are exact: whole numbers held in float32, so that no order of addition changes a result.

A unit vector times 4,000, rounded, has components whose products add up below 2**24, where float32 counts every whole
number. So a dot product is the same from any BLAS, in any order, at any place in a matrix: a rebuilt writer decides bit
for bit as the one before it. Rounding costs 1e-5 of a cosine. Raw e5 cosines lie in 0.70 to 1.0; removing the
language's running mean first spreads them. No state, no I/O.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from state_schemas.codec import DecodeError, pack_vector, unpack_vector
from udfs.stories.policy import DIMENSIONS

# (4,000 + the rounding of 384 components)**2 < 2**24. Source: Cauchy-Schwarz bounds every partial sum.
SCALE = 4_000.0
UNIT = SCALE * SCALE
# Newer originals pull harder at a centroid: weights 100, 92, 85, ... whole, so that their sum is exact too.
_RECENCY = [round(100 * 0.92**age) for age in range(256)]

Exact = NDArray[np.float32]  # float32[384], whole numbers


def read_embedding(data: bytes) -> NDArray[np.float32] | None:
    """An article's embedding, float32[384]; None where it has none. Raises DecodeError on another length or NaN."""
    if not data:
        return None
    vector = unpack_vector(data)
    if vector.shape != (DIMENSIONS,) or not np.isfinite(vector).all():
        raise DecodeError("embedding_invalid", f"{vector.shape[0]} numbers, {DIMENSIONS} finite ones wanted")
    return vector


def exact(vector: NDArray[np.floating[Any]]) -> Exact:
    """The direction of `vector` as whole numbers of length SCALE; zeros for the zero vector."""
    wide = vector.astype(np.float64)
    length = float(np.sqrt(np.sum(wide * wide)))
    if length < 1e-9:
        return np.zeros(DIMENSIONS, dtype=np.float32)
    whole: Exact = np.rint(wide * (SCALE / length)).astype(np.float32)
    return whole


def centred(embedding: NDArray[np.float32] | None, mean: NDArray[np.float64]) -> Exact:
    """An embedding without the language's mean; zeros for an article without one."""
    if embedding is None:
        return np.zeros(DIMENSIONS, dtype=np.float32)
    return exact(embedding.astype(np.float64) - mean)


def centroid(vectors: NDArray[np.float32]) -> Exact:
    """Of a story's originals, newest last (float32[n, 384], n >= 1): a mean that leans to the newest."""
    weights = np.array(_RECENCY[: len(vectors)][::-1], dtype=np.float64)
    return exact(weights @ vectors.astype(np.float64))


def cosine(one: Exact, other: Exact) -> float:
    """In [-1, 1]; 0 where one of them is no direction."""
    return float(np.dot(one, other)) / UNIT


def pack(vector: Exact) -> bytes:
    """As 384 little-endian int16; empty for the zero vector."""
    return vector.astype("<i2").tobytes() if vector.any() else b""


def unpack(data: bytes) -> Exact:
    """The vector of `pack`'s bytes."""
    if not data:
        return np.zeros(DIMENSIONS, dtype=np.float32)
    return np.frombuffer(data, dtype="<i2").astype(np.float32)


def published(vector: Exact) -> bytes:
    """For a record: unit length, float16; empty for the zero vector."""
    return pack_vector(vector / np.float32(SCALE)) if vector.any() else b""


class RunningMean:
    """The mean that is removed from a language's vectors: a prior, moved by the first article of each new story.

    prior: float32[384], worth `strength` articles. weight: of the articles added; at `memory` the past is halved.
    """

    def __init__(self, prior: NDArray[np.float32], strength: float, memory: float) -> None:
        self.weight = 0.0
        self._base = prior.astype(np.float64) * strength
        self._strength = strength
        self._memory = memory
        self._sum = np.zeros(DIMENSIONS, dtype=np.float64)

    def value(self) -> NDArray[np.float64]:
        """The mean, float64[384]."""
        mean: NDArray[np.float64] = (self._base + self._sum) / (self._strength + self.weight)
        return mean

    def add(self, embedding: NDArray[np.float32]) -> None:
        """Take in one vector."""
        if self.weight >= self._memory:
            self._sum *= 0.5
            self.weight *= 0.5
        self._sum += embedding
        self.weight += 1.0

    def dump(self) -> bytes:
        """The sum, 384 little-endian float64; `weight` is stored by the caller."""
        return self._sum.astype("<f8").tobytes()

    def load(self, data: bytes) -> None:
        """Put a stored sum back."""
        self._sum = np.frombuffer(data, "<f8").copy()
