"""Two signatures of a text for sameness: a content hash for equal texts, a MinHash for nearly equal ones.

MinHash: 100 permutations of the set of 5-token shingles, datasketch's scheme "affine32" with seed 1 (its signatures,
bit for bit, from the same shingle hashes), computed in numpy for a whole text at once. Tokens are words, or single
characters in scripts without spaces. A text with too few shingles has no signature: empty is not equal to empty.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import xxhash
from numpy.typing import NDArray

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
# The same tokens, sooner: where a text has none of the above, and where it is ASCII but for quotes and dashes.
_UNSPACED_OR_MARK = re.compile(rf"[{UNSPACED}{MARKS}]")
_PLAIN_TOKEN = re.compile(r"[^\W_]+")
_TYPOGRAPHIC = ("\u2018", "\u2019", "\u201c", "\u201d", "\u2013", "\u2014", "\u00ab", "\u00bb", "\u20ac", "\u00a3")
_ASCII_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum()}
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
# Shingles hashed at a time, and the permutations spread over as many columns: numpy then works through whole arrays,
# not a row at a time; the three of 200 KB stay in a core's cache.
_BLOCK = 512
_A_BLOCK, _B_BLOCK = (np.repeat(values[:, None], _BLOCK, axis=1) for values in (_A, _B))
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
    tokens = tokens_of(body)[: policy.max_tokens]
    hashes = shingle_hashes(tokens)
    if len(hashes) < policy.min_shingles:
        return Signature("", b"")
    return Signature(text_hash(" ".join(tokens)), minhash(hashes))


def tokens_of(body: str) -> list[str]:
    """The words of a text, or characters in scripts without spaces, without case and compatibility forms.

    Those of `folded`: what that makes equal besides, quotes and dashes, is no part of a word.
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", body).casefold())
    if _UNSPACED_OR_MARK.search(text):
        return _TOKEN.findall(text)
    for mark in _TYPOGRAPHIC:
        text = text.replace(mark, " ")
    if text.isascii():
        return text.translate(_ASCII_SEPARATORS).split()
    return _PLAIN_TOKEN.findall(text)


def text_hash(text: str) -> str:
    """128-bit BLAKE2b of a text, 32 hex digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def shingle_hashes(tokens: list[str]) -> NDArray[np.uint32]:
    """32-bit hashes of the distinct 5-token shingles, uint32[n], sorted; empty where there are fewer than 5 tokens."""
    if len(tokens) < SHINGLE_TOKENS:
        return np.empty(0, dtype=np.uint32)
    encoded = " ".join(tokens).encode("utf-8", "surrogatepass").split(b" ")  # no token has a space
    hashes = np.fromiter(map(xxhash.xxh3_64_intdigest, encoded), dtype=np.uint64, count=len(tokens))
    count = len(tokens) - SHINGLE_TOKENS + 1
    combined = hashes[:count].copy()
    for place in range(1, SHINGLE_TOKENS):  # a polynomial in the multiplier: order counts
        combined *= _MULTIPLIER
        combined += hashes[place : place + count]
    combined ^= combined >> np.uint64(32)
    return np.unique(combined.astype(np.uint32))


def minhash(hashes: NDArray[np.uint32]) -> bytes:
    """The signature of hashed shingles, uint32[n], n >= 1: 100 little-endian uint32."""
    mixed = _fmix32(hashes)
    smallest = np.full(PERMUTATIONS, 0xFFFFFFFF, dtype=np.uint32)
    values = np.empty((PERMUTATIONS, min(len(mixed), _BLOCK)), dtype=np.uint32)
    for start in range(0, len(mixed), _BLOCK):
        block = mixed[start : start + _BLOCK]
        columns = len(block)
        part = values[:, :columns]
        np.multiply(_A_BLOCK[:, :columns], block, out=part)
        np.add(part, _B_BLOCK[:, :columns], out=part)
        np.minimum(smallest, part.min(axis=1), out=smallest)
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
