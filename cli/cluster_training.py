"""How the clusterer's model is fitted to labelled events: pairs first, then stories, then judged on a set left out.

Pairs: every pair of a set, both classes weighing the same. Stories: the candidates that the production writer met
while it ran over a set, once with the true story chosen (features of clean stories) and twice with the model's own
choice (features of stories that hold a wrong article). Signs are bounded where a feature can only speak for, or only
against. Deterministic: no randomness, no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cli.labelled_events import Labelled, assign
from state_schemas.clusters import ORIGINAL, MemberState
from state_schemas.codec import unpack_text, unpack_vector
from udfs.stories import vectors
from udfs.stories.evaluation import ClusterFigures, figures
from udfs.stories.frequencies import Frequencies
from udfs.stories.mirror import LiveStory, Member
from udfs.stories.pairs import PAIR_FEATURES, PairReader, Subject
from udfs.stories.policy import ClusterModel, ClusterPolicy
from udfs.stories.score import STORY_FEATURES, Scorer
from udfs.stories.terms import Vocabulary

# Strong: the sets are small and unlike each other, and weights that fit one closely fail on the next.
PAIR_PENALTY, STORY_PENALTY = 3.0, 100.0
ROUNDS = 3
# Speaks against one event, or for either; every other feature can only speak for it.
_AGAINST = frozenset(("towns_apart", "hours"))
_EITHER = frozenset(("same_publisher",))
# By reason, not by data: no set has as many live stories as production. Twice as many live stories hold twice as many
# chance likenesses, which is a weight of -1; half of that, since learned frequencies grow sharper meanwhile.
_GIVEN = {"around": -0.5}
_PAIRS_WEIGH = 20_000.0


@dataclass(frozen=True)
class TrainingSet:
    """A labelled set. stories: whether its events could all be live together, so that story weights learn from it."""

    name: str
    labelled: Sequence[Labelled]
    stories: bool


def train(sets: Sequence[TrainingSet], version: str, threshold: float) -> ClusterModel:
    """The model of all sets; `sets` need one with `stories`."""
    policy = ClusterPolicy()
    means = _means(sets)
    examples = [_pairs(one.labelled, means, policy) for one in sets]
    weights = np.concatenate([np.where(y > 0, 0.5 / y.sum(), 0.5 / (1 - y).sum()) * _PAIRS_WEIGH for _, y in examples])
    bias, pair_weights = _fit(
        np.concatenate([x for x, _ in examples]),
        np.concatenate([y for _, y in examples]),
        weights,
        list(PAIR_FEATURES),
        PAIR_PENALTY,
    )
    model = ClusterModel(version, bias, pair_weights, -1.0, {"three": 1.0}, threshold, means)
    learned = [one for one in sets if one.stories]
    gathered = [_met(one.labelled, model, policy, truth=True) for one in learned]
    for turn in range(ROUNDS):
        x, y, w = (np.concatenate(columns) for columns in zip(*gathered, strict=True))
        bias, story_weights = _fit(x, y, w / w.mean(), list(STORY_FEATURES), STORY_PENALTY)
        model = replace(model, bias=bias, weights=story_weights)
        if turn + 1 < ROUNDS:
            gathered += [_met(one.labelled, model, policy, truth=False) for one in learned]
    return model


def judge(one: TrainingSet, model: ClusterModel) -> ClusterFigures:
    """The figures of production's writers with `model` on a set."""
    assigned = assign(one.labelled, model, ClusterPolicy())
    return figures([(entry.story, entry.event) for entry in assigned], [entry.stable for entry in assigned])


def _means(sets: Sequence[TrainingSet]) -> dict[str, NDArray[np.float32]]:
    """The mean vector of each language with 20 articles and more; "" for others, the mean of these."""
    by_language: dict[str, list[NDArray[np.float32]]] = {}
    for one in sets:
        for entry in one.labelled:
            by_language.setdefault(entry.article.language, []).append(unpack_vector(entry.article.embedding))
    means = {
        language: np.mean(found, axis=0, dtype=np.float64).astype(np.float32)
        for language, found in sorted(by_language.items())
        if len(found) >= 20
    }
    return means | {"": np.mean(list(means.values()), axis=0, dtype=np.float64).astype(np.float32)}


def _pairs(
    labelled: Sequence[Labelled], means: Mapping[str, NDArray[np.float32]], policy: ClusterPolicy
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Features of every pair of articles, and 1 where both are about one event."""
    vocabularies: dict[str, Vocabulary] = {}
    frequencies = Frequencies(policy)
    members: list[Member] = []
    events: set[str] = set()
    for number, entry in enumerate(labelled, 1):
        article = entry.article
        vocabulary = vocabularies.setdefault(article.language, Vocabulary(article.language))
        terms = vocabulary.terms(article.title, article.lede, unpack_text(article.body), article.entities)
        mean = means.get(article.language, means[""]).astype(np.float64)
        vector = vectors.centred(vectors.read_embedding(article.embedding), mean)
        row = MemberState(
            story="",
            sequence=number,
            version=1,
            role=ORIGINAL,
            decided_ms=1,
            minhash=article.minhash,
            vector=vectors.pack(vector),
            terms=terms.ids.tobytes(),
            flags=terms.flags.tobytes(),
            priors=terms.priors.tobytes(),
        )
        members.append(Member(article.article_id, row))
        if entry.event not in events:
            events.add(entry.event)
            frequencies.add(terms, 1)
    reader = PairReader(frequencies)
    rows = []
    same: list[float] = []
    for place in range(1, len(members)):
        one = members[place]
        subject = Subject(one.vector.astype(np.float32), one.terms, one.signature, "", 1)
        rows.append(reader.features(subject, members[:place]))
        same += [float(labelled[place].event == labelled[other].event) for other in range(place)]
    return np.concatenate(rows), np.array(same)


def _met(
    labelled: Sequence[Labelled], model: ClusterModel, policy: ClusterPolicy, *, truth: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """(features, 1 where most of the story is about the article's event, weights) of all candidates of one run.

    truth: the true story is chosen, else the model's own choice. A set weighs as much as it has articles.
    """
    events = {entry.article.article_id: entry.event for entry in labelled}
    scorer = Scorer(model, Frequencies(policy))
    rows: list[Sequence[float]] = []
    same: list[float] = []

    def choose(
        article_id: str, stories: Sequence[LiveStory], features: Sequence[Sequence[float]]
    ) -> tuple[LiveStory | None, float]:
        true: LiveStory | None = None
        likeliest: tuple[LiveStory | None, float] = (None, 0.0)
        for story, row in zip(stories, features, strict=True):
            about = Counter(events[member] for member in story.members)
            own = 2 * about[events[article_id]] > len(story.members)
            rows.append(row)
            same.append(float(own))
            probability = scorer.probability(row)
            if probability > likeliest[1]:
                likeliest = story, probability
            if own and (true is None or len(story.members) > len(true.members)):
                true = story
        if truth:
            return true, 1.0
        return likeliest if likeliest[1] >= model.threshold else (None, 0.0)

    assign(labelled, model, policy, choose)
    weights = np.full(len(rows), len(labelled) / len(rows))
    return np.array(rows, dtype=np.float64), np.array(same), weights


def _fit(
    x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64], names: list[str], penalty: float
) -> tuple[float, dict[str, float]]:
    """Bias and weights of a bounded logistic regression, by accelerated projected gradient (Beck, Teboulle 2009).

    Features are standardised for the penalty; `_GIVEN` weights are added, not fitted.
    """
    middle, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    z = np.concatenate([np.ones((len(x), 1)), (x - middle) / spread], axis=1)
    ridge = np.array([0.0] + [2.0 * penalty] * len(names))
    low = np.array([-np.inf] + [-np.inf if name in _AGAINST | _EITHER else 0.0 for name in names])
    high = np.array([np.inf] + [0.0 if name in _AGAINST else np.inf for name in names])
    for place, name in enumerate(names, 1):
        if name in _GIVEN:
            low[place] = high[place] = 0.0
    step = 1.0 / (0.25 * float(np.linalg.eigvalsh((z * weights[:, None]).T @ z)[-1]) + 2.0 * penalty)
    theta = np.zeros(len(names) + 1)
    ahead, momentum = theta, 1.0
    for _ in range(5_000):
        residual = (1.0 / (1.0 + np.exp(-(z @ ahead))) - y) * weights
        following = np.clip(ahead - step * (z.T @ residual + ridge * ahead), low, high)
        speed = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = following + (momentum - 1.0) / speed * (following - theta)
        moved = float(np.abs(following - theta).max())
        theta, momentum = following, speed
        if moved < 1e-7:
            break
    fitted = theta[1:] / spread
    bias = float(theta[0] - fitted @ middle)
    return bias, {name: _GIVEN.get(name, float(weight)) for name, weight in zip(names, fitted, strict=True)}
