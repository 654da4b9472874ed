"""How likely an article and a story are about the same event: the calibrated score, in two steps.

First the article and each of the story's first and newest originals: a logit from the features of the pair (pairs.py),
which knows nothing of sizes. Then article and story: a logistic over those logits and what is known of the story
as a whole. Pure; weights come from reference_data/clustering.toml.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from udfs.stories import vectors
from udfs.stories.frequencies import WEIGHT_STEP, Frequencies
from udfs.stories.mirror import LiveStory
from udfs.stories.pairs import PAIR_FEATURES, PairReader, Subject
from udfs.stories.policy import ClusterModel

STORY_FEATURES: dict[str, str] = {
    "best": "the highest logit of a pair",
    "three": "mean of the three highest, less the log of how many were compared: the best of many are high by chance",
    "all": "mean of all compared",
    "centroid": "cosine to the story's centroid",
    "leads_held": "share of the story's heaviest names (in half its originals) that the article has; 0.5 without",
    "hours": "log(1 + hours) since the story's last article",
    "same_publisher": "1 where the story has an original of the article's publisher",
    "exclusive": "weight of the article's rare terms that few other live stories have, in decades: log(1 + x)",
    "around": "log of the live stories over 100, where there are more: the more, the more are alike by chance",
}

_FEW = 100  # live stories, as many as the training sets reach
_LOGIT = 20.0  # a logit beyond it says no more


class Scorer:
    """Features and probabilities for one language."""

    def __init__(self, model: ClusterModel, frequencies: Frequencies) -> None:
        self._frequencies = frequencies
        self._pairs = PairReader(frequencies)
        self._pair_bias = model.pair_bias
        self._pair_weights = [model.pair_weights.get(name, 0.0) for name in PAIR_FEATURES]
        self._bias = model.bias
        self._weights = [model.weights.get(name, 0.0) for name in STORY_FEATURES]

    def probability(self, features: Sequence[float]) -> float:
        """Of the same event, in (0, 1), from a row of STORY_FEATURES' values."""
        total = _dot(self._bias, self._weights, features)
        return 1.0 / (1.0 + math.exp(-min(max(total, -30.0), 30.0)))

    def features(self, subject: Subject, candidates: Sequence[tuple[LiveStory, int]], live: int) -> list[list[float]]:
        """One row of STORY_FEATURES' values a candidate: a story, and the weight it shares of rare terms.

        live: how many stories are live.
        """
        if not candidates:
            return []
        members = [member for story, _ in candidates for member in story.recent]
        rows = self._pairs.features(subject, members)
        logits = [min(max(_dot(self._pair_bias, self._pair_weights, row), -_LOGIT), _LOGIT) for row in rows.tolist()]
        stories = [story for story, _ in candidates]
        found = []
        place = 0
        for (story, exclusive), leads in zip(candidates, self._leads_held(stories, subject), strict=True):
            end = place + len(story.recent)
            row = self._row(subject, story, sorted(logits[place:end], reverse=True), leads)
            found.append([*row, math.log1p(exclusive / WEIGHT_STEP), math.log(max(live, _FEW) / _FEW)])
            place = end
        return found

    def _row(self, subject: Subject, story: LiveStory, logits: list[float], leads: float) -> list[float]:
        hours = max(subject.now_ms - story.updated_ms(subject.now_ms), 0) / 3_600_000
        return [
            logits[0],
            sum(logits[:3]) / len(logits[:3]) - math.log(len(logits)),
            sum(logits) / len(logits),
            vectors.cosine(subject.vector, story.centroid),
            leads,
            math.log1p(hours),
            float(subject.publisher in story.publishers),
        ]

    def _leads_held(self, stories: Sequence[LiveStory], subject: Subject) -> list[float]:
        """Per story, the share of its leading names' weight that the article holds."""
        leads = [story.leads for story in stories]
        weights = self._frequencies.weights(
            np.concatenate([lead.ids for lead in leads]),
            np.concatenate([lead.flags for lead in leads]),
            np.concatenate([lead.priors for lead in leads]),
            subject.now_ms,
        ).tolist()
        held = set(subject.terms.ids.tolist())
        shares = []
        place = 0
        for lead in leads:
            ids = lead.ids.tolist()
            own = weights[place : place + len(ids)]
            part = sum(weight for weight, term in zip(own, ids, strict=True) if term in held)
            shares.append(part / sum(own) if sum(own) else 0.5)
            place += len(ids)
        return shares


def _dot(bias: float, weights: Sequence[float], features: Sequence[float]) -> float:
    total = bias
    for weight, value in zip(weights, features, strict=True):
        total += weight * value
    return total
