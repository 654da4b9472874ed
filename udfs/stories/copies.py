"""Which live article a new one repeats: equal content hash, or MinHash signatures met in a band of an LSH index.

Holds the index of one language's live members by article id; decides only which known article is the same text. An
article without a signature (too short a text) has no copies: the signature of nothing equals every other nothing.
Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, 3.4 (banding).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xxhash
from numpy.typing import NDArray

from state_schemas.codec import DecodeError
from udfs.stories.policy import PERMUTATIONS, ClusterPolicy

Signature = NDArray[np.uint32]


def read_signature(data: bytes) -> Signature | None:
    """An article's 100 MinHash values; None for none. Raises DecodeError on another length."""
    if not data:
        return None
    if len(data) != 4 * PERMUTATIONS:
        raise DecodeError("minhash_invalid", f"{len(data)} bytes, {4 * PERMUTATIONS} wanted")
    return np.frombuffer(data, dtype="<u4")


def estimated_jaccard(one: Signature, other: Signature) -> float:
    """The share of permutations on which both texts have the same minimum, in [0, 1]."""
    return int(np.count_nonzero(one == other)) / PERMUTATIONS


class CopyIndex:
    """Members by content hash and by band; ids are the caller's, small ordered numbers (sequences)."""

    def __init__(self, policy: ClusterPolicy) -> None:
        self._policy = policy
        self._signatures: dict[int, Signature] = {}
        self._hashes: dict[str, list[int]] = {}
        self._bands: dict[int, list[int]] = {}

    def add(self, member: int, content_hash: str, signature: Signature | None) -> None:
        """Index a member. One without a signature is found by its content hash alone."""
        if content_hash:
            self._hashes.setdefault(content_hash, []).append(member)
        if signature is not None:
            self._signatures[member] = signature
            for band in self._band_keys(signature):
                self._bands.setdefault(band, []).append(member)

    def remove(self, member: int, content_hash: str) -> None:
        """Forget a member."""
        if content_hash:
            _drop(self._hashes, content_hash, member)
        signature = self._signatures.pop(member, None)
        if signature is not None:
            for band in self._band_keys(signature):
                _drop(self._bands, band, member)

    def equal(self, content_hash: str) -> list[int]:
        """Members of exactly this text, first first."""
        return sorted(self._hashes.get(content_hash, ())) if content_hash else []

    def near(self, signature: Signature) -> list[tuple[float, int]]:
        """Members that met in a band, as (estimated Jaccard, member), nearest first, then first first."""
        met: set[int] = set()
        for band in self._band_keys(signature):
            bucket = self._bands.get(band)
            if bucket:
                met.update(bucket if len(bucket) <= self._policy.bucket else sorted(bucket)[-self._policy.bucket :])
        scored = [(estimated_jaccard(signature, self._signatures[member]), member) for member in met]
        return sorted(scored, key=lambda pair: (-pair[0], pair[1]))

    def _band_keys(self, signature: Signature) -> Iterator[int]:
        width = 4 * self._policy.rows
        data = signature.tobytes()
        for band in range(self._policy.bands):
            yield xxhash.xxh64_intdigest(data[band * width : (band + 1) * width], seed=band)


def _drop(index: dict[str, list[int]] | dict[int, list[int]], key: str | int, member: int) -> None:
    bucket = index[key]  # type: ignore[index]
    bucket.remove(member)
    if not bucket:
        del index[key]  # type: ignore[arg-type]
