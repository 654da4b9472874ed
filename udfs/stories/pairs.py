"""How alike two articles are: the features of a pair, of one article against many at once.

Pure. All sums are of whole numbers, so that neither the order of the others nor their number changes a digit. What
each feature means stands in PAIR_FEATURES; what it weighs, in reference_data/clustering.toml.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from udfs.stories import vectors
from udfs.stories.copies import Signature, estimated_jaccard
from udfs.stories.frequencies import WEIGHT_STEP, Frequencies
from udfs.stories.mirror import Member
from udfs.stories.terms import ENTITY, LEDE, NAME, NUMBER, STEP, TITLE, TOWN_PRIOR, Terms

PAIR_FEATURES: dict[str, str] = {
    "cosine": "of the embeddings, the language's mean removed",
    "title": "Jaccard of title words, by weight",
    "lede": "TF-IDF cosine of title and lede",
    "text": "TF-IDF cosine of all terms",
    "names": "weight of shared names, in decades, damped: log(1 + x)",
    "numbers": "the same of numbers",
    "entities": "the same of linked places (later people and organisations)",
    "names_held": "share of one's names, by weight, that the other has: the smaller of both ways; 0.5 without any",
    "title_held": "the same of title words that the other has anywhere",
    "towns_apart": "1 where both name towns in title or lede, and none is the same",
    "copied": "estimated Jaccard of the bodies from 0.4 to 0.8, as 0 to 1: boilerplate alone gives up to 0.3",
}

_SLOTS = 1 << 21  # of the table that tells a term's weight in the article: two terms share one in 2 million
_NONE = 0.5  # a share of nothing


@dataclass(frozen=True, slots=True)
class Subject:
    """The article that is compared. now_ms: stream time."""

    vector: vectors.Exact
    terms: Terms
    signature: Signature | None
    publisher: str
    now_ms: int


class PairReader:
    """Computes pair features for one language; holds scratch tables, no state."""

    def __init__(self, frequencies: Frequencies) -> None:
        self._frequencies = frequencies
        self._weights = np.zeros(_SLOTS, dtype=np.int32)
        self._flags = np.zeros(_SLOTS, dtype=np.uint8)

    def features(self, subject: Subject, members: Sequence[Member]) -> NDArray[np.float64]:
        """float64[len(members), len(PAIR_FEATURES)]."""
        terms = subject.terms
        own = self._frequencies.weights(terms.ids, terms.flags, terms.priors, subject.now_ms)
        slots = terms.ids & np.uint32(_SLOTS - 1)
        self._weights[slots], self._flags[slots] = own, terms.flags
        try:
            return self._read(subject, own, members)
        finally:
            self._weights[slots], self._flags[slots] = 0, 0

    def _read(self, subject: Subject, own: NDArray[np.int32], members: Sequence[Member]) -> NDArray[np.float64]:
        products = np.stack([member.vector for member in members]).astype(np.float32) @ subject.vector
        starts = np.concatenate(([0], np.cumsum([len(member.terms.ids) for member in members])))
        ids = np.concatenate([member.terms.ids for member in members])
        flags = np.concatenate([member.terms.flags for member in members])
        priors = np.concatenate([member.terms.priors for member in members])
        slots = ids & np.uint32(_SLOTS - 1)
        shared = self._weights[slots].astype(np.int64)
        there = self._flags[slots]
        # A term that is not shared counts with its prior weight: its learned one would cost a look-up a term.
        full = np.where(there > 0, shared, priors.astype(np.int64) * WEIGHT_STEP // STEP)
        both = flags & there
        square_shared, square_full = shared * shared, full * full

        def sums(values: NDArray[np.int64], where: NDArray[np.bool_] | None = None) -> list[int]:
            running = np.concatenate(([0], np.cumsum(values if where is None else np.where(where, values, 0))))
            return [int(total) for total in running[starts[1:]] - running[starts[:-1]]]

        title, lede, name = flags & TITLE > 0, flags & LEDE > 0, flags & NAME > 0
        town = (flags & (ENTITY | LEDE) == ENTITY | LEDE) & (priors == TOWN_PRIOR)
        one = np.ones(len(ids), dtype=np.int64)
        columns = zip(
            sums(shared, both & TITLE > 0),
            sums(full, title),
            sums(shared, title),
            sums(shared, there & TITLE > 0),
            sums(square_shared, both & LEDE > 0),
            sums(square_full, lede),
            sums(square_shared),
            sums(square_full),
            sums(shared, there & NAME > 0),
            sums(full, name),
            sums(shared, name),
            sums(shared, both & NUMBER > 0),
            sums(shared, both & ENTITY > 0),
            sums(one, town),
            sums(one, town & (both & LEDE > 0)),
            strict=True,
        )
        mine = subject.terms.flags
        wide = own.astype(np.int64)
        own_title, own_names = int(wide[mine & TITLE > 0].sum()), int(wide[mine & NAME > 0].sum())
        own_lede, own_text = int((wide[mine & LEDE > 0] ** 2).sum()), int((wide**2).sum())
        own_towns = bool(((mine & (ENTITY | LEDE) == ENTITY | LEDE) & (subject.terms.priors == TOWN_PRIOR)).any())
        rows = []
        for member, product, sum_of in zip(members, products.tolist(), columns, strict=True):
            (titles, title_full, title_in, title_of, ledes, lede_full, texts, text_full) = sum_of[:8]
            (names_of, name_full, names_in, numbers, entities, towns, towns_shared) = sum_of[8:]
            copied = 0.0
            signature = member.signature
            if subject.signature is not None and signature is not None:
                copied = estimated_jaccard(subject.signature, signature)
            union = own_title + title_full - titles
            rows.append(
                (
                    product / vectors.UNIT,
                    titles / union if union > 0 else 0.0,
                    _cosine(ledes, own_lede, lede_full),
                    _cosine(texts, own_text, text_full),
                    math.log1p(names_of / WEIGHT_STEP),
                    math.log1p(numbers / WEIGHT_STEP),
                    math.log1p(entities / WEIGHT_STEP),
                    min(_share(names_of, own_names), _share(names_in, name_full)),
                    min(_share(title_of, own_title), _share(title_in, title_full)),
                    float(own_towns and towns > 0 and not towns_shared),
                    min(max((copied - 0.4) / 0.4, 0.0), 1.0),
                )
            )
        return np.array(rows, dtype=np.float64)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else _NONE


def _cosine(common: int, one: int, other: int) -> float:
    return common / math.sqrt(one * other) if one and other else 0.0
