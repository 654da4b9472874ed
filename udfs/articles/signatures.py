"""Two signatures of a text for sameness: a content hash for equal texts, a MinHash for nearly equal ones.

MinHash: 100 permutations of the set of 5-token shingles, datasketch's scheme "affine32" with seed 1 (its signatures,
bit for bit, from the same shingle hashes), computed in numpy for a whole text at once. Tokens are words, or single
characters in scripts without spaces. A text with too few shingles has no signature: empty is not equal to empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import xxhash
from numpy.typing import NDArray

from udfs.articles.text import folded

PERMUTATIONS = 100  # 20 bands of 5 rows in the clusterer
SHINGLE_TOKENS = 5
SEED = 1  # datasketch's default

# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and points, which Python's word class leaves out of words: Hebrew, Arabic, the Indic scripts, joiners.
MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0970-\u0983\u09bc-\u09e3"
    "\u0a01-\u0dff\u200c\u200d"
)
_LETTER = rf"(?:[^\W_{UNSPACED}]|[{MARKS}])"
_TOKEN = re.compile(rf"[{UNSPACED}]|{_LETTER}+")
_WORD_OR_RUN = re.compile(rf"[{UNSPACED}]+|{_LETTER}+(?:['’-]{_LETTER}+)*")
# Characters of an unspaced script to one word, for `words`: about what Chinese, Japanese and Thai texts have.
_UNSPACED_WORD_CHARS = 2


def _permutations() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Odd multipliers and offsets of h -> a h + b mod 2^32, drawn as datasketch 2 draws them."""
    random = np.random.RandomState(SEED)
    factors = random.randint(0, 1 << 31, PERMUTATIONS, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    offsets = random.randint(0, 1 << 32, PERMUTATIONS, dtype=np.uint32)
    return factors, offsets


_A, _B = _permutations()
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd: Knuth's multiplicative hashing


@dataclass(frozen=True, slots=True)
class SignaturePolicy:
    """min_shingles: distinct shingles below which a text has no signature: a caption or a plea is nobody's copy."""

    min_shingles: int = 16
    max_tokens: int = 20_000  # of a text that are looked at: the longest honest articles


@dataclass(frozen=True, slots=True)
class Signature:
    """content_hash: 32 hex digits, empty for too short a text. minhash: 100 little-endian uint32, or empty."""

    content_hash: str
    minhash: bytes


def signature(body: str, policy: SignaturePolicy) -> Signature:
    """The signature of a body: of its folded words alone, so that quotes, spaces and case make no difference."""
    tokens = _TOKEN.findall(folded(body))[: policy.max_tokens]
    hashes = shingle_hashes(tokens)
    if len(hashes) < policy.min_shingles:
        return Signature("", b"")
    return Signature(text_hash(" ".join(tokens)), minhash(hashes))


def text_hash(text: str) -> str:
    """128-bit BLAKE2b of a text, 32 hex digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def shingle_hashes(tokens: list[str]) -> NDArray[np.uint32]:
    """32-bit hashes of the distinct 5-token shingles, uint32[n], sorted; empty where there are fewer than 5 tokens."""
    if len(tokens) < SHINGLE_TOKENS:
        return np.empty(0, dtype=np.uint32)
    known = {token: xxhash.xxh3_64_intdigest(token.encode("utf-8", "surrogatepass")) for token in set(tokens)}
    words = np.array([known[token] for token in tokens], dtype=np.uint64)
    count = len(tokens) - SHINGLE_TOKENS + 1
    combined = np.zeros(count, dtype=np.uint64)
    for place in range(SHINGLE_TOKENS):  # a polynomial in the multiplier: order counts
        combined = combined * _MULTIPLIER + words[place : place + count]
    combined ^= combined >> np.uint64(32)
    return np.unique(combined.astype(np.uint32))


def minhash(hashes: NDArray[np.uint32]) -> bytes:
    """The signature of hashed shingles, uint32[n], n >= 1: 100 little-endian uint32."""
    mixed = _fmix32(hashes)
    smallest = np.full(PERMUTATIONS, 0xFFFFFFFF, dtype=np.uint32)
    for start in range(0, len(mixed), 4096):  # 1.6 MB a block: stays in the cache of a core
        block = mixed[start : start + 4096]
        smallest = np.minimum(smallest, (block[None, :] * _A[:, None] + _B[:, None]).min(axis=1))
    return smallest.astype("<u4").tobytes()


def jaccard(first: bytes, second: bytes) -> float:
    """The estimated Jaccard similarity of two texts, 0 to 1, standard error at most 0.05; 0.0 where either has none."""
    if not first or not second:
        return 0.0
    return float(np.mean(np.frombuffer(first, dtype="<u4") == np.frombuffer(second, dtype="<u4")))


def words(text: str) -> int:
    """How many words a text has; in scripts without spaces, two characters are one."""
    count = 0
    for match in _WORD_OR_RUN.finditer(text):
        first = match[0][0]
        count += max(1, len(match[0]) // _UNSPACED_WORD_CHARS) if _UNSPACED_CHAR.match(first) else 1
    return count


_UNSPACED_CHAR = re.compile(rf"[{UNSPACED}]")


def _fmix32(hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """MurmurHash3's 32-bit finaliser: spreads structured input before the affine maps."""
    mixed = hashes.copy()
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(0x85EBCA6B)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    return mixed
