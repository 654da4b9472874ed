"""Content hash and MinHash: datasketch's own numbers, and what has no signature."""

from __future__ import annotations

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st

from udfs.articles.signatures import _TOKEN as TOKEN
from udfs.articles.signatures import (
    PERMUTATIONS,
    SEED,
    SHINGLE_TOKENS,
    SignaturePolicy,
    jaccard,
    minhash,
    shingle_hashes,
    signature,
    tokens_of,
    words,
)
from udfs.articles.text import folded

POLICY = SignaturePolicy()
TEXT = " ".join(f"word{number} of the story" for number in range(60))


@given(st.lists(st.integers(0, 300), min_size=SHINGLE_TOKENS, max_size=400))
def test_signatures_are_datasketchs_bit_for_bit(numbers: list[int]) -> None:
    hashes = shingle_hashes([str(number) for number in numbers])
    reference = MinHash(num_perm=PERMUTATIONS, seed=SEED, scheme="affine32", hashfunc=int)
    reference.update_batch(hashes.tolist())
    assert minhash(hashes) == reference.hashvalues.astype("<u4").tobytes()


def test_long_texts_are_datasketchs_too() -> None:
    hashes = shingle_hashes([str(number) for number in range(1_300)])  # several blocks
    reference = MinHash(num_perm=PERMUTATIONS, seed=SEED, scheme="affine32", hashfunc=int)
    reference.update_batch(hashes.tolist())
    assert minhash(hashes) == reference.hashvalues.astype("<u4").tobytes()


@given(st.text(st.sampled_from("aZ1 _'’“…—-€ß\n\u00a0\u00b4\u0301\u200dé東のไ") | st.characters(), max_size=60))
def test_the_short_ways_to_tokens_give_those_of_the_folded_text(text: str) -> None:
    assert tokens_of(text) == TOKEN.findall(folded(text))


def test_the_estimate_is_near_the_true_similarity() -> None:
    tokens = [f"t{number}" for number in range(2_000)]
    for share in (0.9, 0.5, 0.1):
        cut = int(len(tokens) * share)
        other = tokens[:cut] + [f"u{number}" for number in range(cut, len(tokens))]
        first, second = shingle_hashes(tokens), shingle_hashes(other)
        true = len(np.intersect1d(first, second)) / len(np.union1d(first, second))
        assert abs(jaccard(minhash(first), minhash(second)) - true) < 0.15


def test_equal_words_are_equal_whatever_their_dress() -> None:
    one = signature(f"«Le café» rouvre – {TEXT}", POLICY)
    other = signature(f'"LE  CAFE\u0301" rouvre - {TEXT}\n', POLICY)
    assert one == other
    assert jaccard(one.minhash, other.minhash) == 1.0
    assert len(one.minhash) == 4 * PERMUTATIONS
    assert len(one.content_hash) == 32


@pytest.mark.parametrize("text", ["", "   ", "Short.", "Nine words are no article but a caption only.", "の" * 3])
def test_empty_is_not_equal_to_empty(text: str) -> None:
    found = signature(text, POLICY)
    assert (found.content_hash, found.minhash) == ("", b"")
    assert jaccard(found.minhash, found.minhash) == 0.0


def test_scripts_without_spaces_are_cut_into_characters() -> None:
    body = "政府は来年度の新しい予算案で合意したと閣僚らが月曜日に明らかにした。野党は反対している。"
    assert len(shingle_hashes(list("予算案で合意した"))) == 4
    edited = signature(body.replace("月曜日", "火曜日"), POLICY)
    assert 0.5 < jaccard(signature(body, POLICY).minhash, edited.minhash) < 1.0


def test_vowel_signs_belong_to_their_words() -> None:
    assert words("टोक्यो में भूकंप") == 3
    assert words("don't stop the re-opening") == 4
    assert words("東京都で地震") == 3
    assert words("") == 0


@given(st.text(max_size=300))
def test_any_text_can_be_signed(text: str) -> None:
    found = signature(text, POLICY)
    assert bool(found.content_hash) == bool(found.minhash)
