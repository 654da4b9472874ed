"""How likely an article and a story are about the same event: features, and the calibrated logistic over them.

Pure: reads an article and its candidates, returns numbers. All sums are of whole numbers, so the order of members or
candidates changes no digit. What each feature means stands in FEATURES; its weight in reference_data/clustering.toml.
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
from udfs.stories.mirror import LiveStory
from udfs.stories.policy import ClusterModel
from udfs.stories.terms import ENTITY, LEDE, NAME, NUMBER, TITLE, Terms

FEATURES: dict[str, str] = {
    "centroid": "cosine to the story's centroid",
    "best": "cosine to the nearest of its first and newest originals",
    "best_three": "mean of the three nearest of these",
    "title": "weighted Jaccard of title words, best original",
    "lede": "TF-IDF cosine of title and lede, best original",
    "text": "TF-IDF cosine of all terms, best original",
    "names": "weight of shared names, in decades, damped: log(1 + x)",
    "numbers": "the same of numbers",
    "entities": "the same of linked places (later people and organisations)",
    "article_covered": "share of the weight of the article's names and title words that the story has",
    "story_covered": "share of the weight of the story's core names and title words that the article has",
    "copied_text": "estimated Jaccard of the texts, best original",
    "size": "log of the number of originals",
    "single": "1 for a story of one original",
    "hours": "log(1 + hours) since the story's last article",
    "same_publisher": "1 where the story has an original of the article's publisher",
}

_SLOTS = 1 << 21  # of the table that tells a term's weight in the article: two terms share one in 2 million


@dataclass(frozen=True, slots=True)
class Subject:
    """The article that is compared. now_ms: stream time."""

    vector: vectors.Exact
    terms: Terms
    signature: Signature | None
    publisher: str
    now_ms: int


class Scorer:
    """Features and probabilities for one language; holds a scratch table, no state."""

    def __init__(self, model: ClusterModel) -> None:
        self._bias = model.bias
        self._weights = [model.weights.get(name, 0.0) for name in FEATURES]
        self._slots = np.zeros(_SLOTS, dtype=np.int32)

    def probability(self, features: Sequence[float]) -> float:
        """Of the same event, in (0, 1)."""
        total = self._bias
        for weight, value in zip(self._weights, features, strict=True):
            total += weight * value
        return 1.0 / (1.0 + math.exp(-min(max(total, -30.0), 30.0)))

    def features(self, subject: Subject, stories: Sequence[LiveStory], frequencies: Frequencies) -> list[list[float]]:
        """One row of FEATURES' values a story."""
        if not stories:
            return []
        own = frequencies.weights(subject.terms.ids, subject.terms.flags, subject.terms.priors, subject.now_ms)
        slots = subject.terms.ids & np.uint32(_SLOTS - 1)
        self._slots[slots] = own
        try:
            by_member = self._by_member(subject, own, stories)
            by_story = self._by_story(subject, own, stories, frequencies)
        finally:
            self._slots[slots] = 0
        return [
            self._row(subject, story, members, whole)
            for story, members, whole in zip(stories, by_member, by_story, strict=True)
        ]

    def _by_member(
        self, subject: Subject, own: NDArray[np.int32], stories: Sequence[LiveStory]
    ) -> list[tuple[list[float], float, float, float]]:
        """A story's (cosines sorted downwards, best title, lede and text similarity)."""
        members = [member for story in stories for member in story.recent]
        products = np.stack([member.vector for member in members]).astype(np.float32) @ subject.vector
        lengths = [len(member.terms.ids) for member in members]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        ids = np.concatenate([member.terms.ids for member in members])
        flags = np.concatenate([member.terms.flags for member in members])
        priors = np.concatenate([member.terms.priors for member in members])
        shared = self._slots[ids & np.uint32(_SLOTS - 1)].astype(np.int64)
        # A term that is not shared counts with its prior weight: its learned one would cost a look-up a term.
        full = np.where(shared > 0, shared, priors.astype(np.int64) * WEIGHT_STEP // 40)
        title, lede = flags & TITLE > 0, flags & LEDE > 0
        sums = {
            "title": (_sums(np.where(title, shared, 0), starts), _sums(np.where(title, full, 0), starts)),
            "lede": (_sums(np.where(lede, shared**2, 0), starts), _sums(np.where(lede, full**2, 0), starts)),
            "text": (_sums(shared**2, starts), _sums(full**2, starts)),
        }
        wide = own.astype(np.int64)
        own_title = int(wide[subject.terms.flags & TITLE > 0].sum())
        own_lede = int((wide[subject.terms.flags & LEDE > 0] ** 2).sum())
        own_text = int((wide**2).sum())
        found = []
        place = 0
        for story in stories:
            end = place + len(story.recent)
            cosines = sorted((products[place:end].astype(np.float64) / vectors.UNIT).tolist(), reverse=True)
            best_title = best_lede = best_text = 0.0
            for at in range(place, end):
                common, other = sums["title"][0][at], sums["title"][1][at]
                union = own_title + other - common
                best_title = max(best_title, common / union if union > 0 else 0.0)
                best_lede = max(best_lede, _cosine(sums["lede"][0][at], own_lede, sums["lede"][1][at]))
                best_text = max(best_text, _cosine(sums["text"][0][at], own_text, sums["text"][1][at]))
            found.append((cosines, best_title, min(best_lede, 1.0), min(best_text, 1.0)))
            place = end
        return found

    def _by_story(
        self, subject: Subject, own: NDArray[np.int32], stories: Sequence[LiveStory], frequencies: Frequencies
    ) -> list[tuple[float, float, float, float, float]]:
        """A story's (names, numbers, entities shared in decades; article covered, story covered)."""
        flags = subject.terms.flags
        telling = flags & (NAME | TITLE) > 0
        telling_weight = int(own[telling].sum())
        found = []
        for story in stories:
            profile = story.profile
            ids = profile.terms.ids
            places = np.searchsorted(ids, subject.terms.ids)
            places[places == len(ids)] = 0
            held = ids[places] == subject.terms.ids if len(ids) else np.zeros(len(places), dtype=bool)
            decades = [int(own[held & (flags & kind > 0)].sum()) / WEIGHT_STEP for kind in (NAME, NUMBER, ENTITY)]
            covered = int(own[held & telling].sum()) / telling_weight if telling_weight else 0.0
            core = (2 * profile.counts >= profile.members) & (profile.terms.flags & (NAME | TITLE) > 0)
            core_ids = ids[core]
            core_weights = frequencies.weights(
                core_ids, profile.terms.flags[core], profile.terms.priors[core], subject.now_ms
            )
            total = int(core_weights.sum())
            in_article = self._slots[core_ids & np.uint32(_SLOTS - 1)] > 0
            story_covered = int(core_weights[in_article].sum()) / total if total else 0.0
            found.append((decades[0], decades[1], decades[2], covered, story_covered))
        return found

    @staticmethod
    def _row(
        subject: Subject,
        story: LiveStory,
        members: tuple[list[float], float, float, float],
        whole: tuple[float, float, float, float, float],
    ) -> list[float]:
        cosines, title, lede, text = members
        names, numbers, entities, article_covered, story_covered = whole
        copied = 0.0
        if subject.signature is not None:
            signatures = (member.signature for member in story.recent)
            copied = max((estimated_jaccard(subject.signature, s) for s in signatures if s is not None), default=0.0)
        hours = max(subject.now_ms - story.row.updated_ms, 0) / 3_600_000
        return [
            vectors.cosine(subject.vector, story.centroid),
            cosines[0],
            sum(cosines[:3]) / len(cosines[:3]),
            title,
            lede,
            text,
            math.log1p(names),
            math.log1p(numbers),
            math.log1p(entities),
            article_covered,
            story_covered,
            copied,
            math.log(len(story.originals)),
            float(len(story.originals) == 1),
            math.log1p(hours),
            float(subject.publisher in story.publishers and bool(subject.publisher)),
        ]


def _sums(values: NDArray[np.int64], starts: NDArray[np.int64]) -> list[int]:
    """Sums between starts[i] and starts[i + 1]; 0 where nothing stands between."""
    running = np.concatenate(([0], np.cumsum(values)))
    return [int(total) for total in running[starts[1:]] - running[starts[:-1]]]


def _cosine(common: int, one: int, other: int) -> float:
    return common / math.sqrt(one * other) if one and other else 0.0
