"""The writer's bounds and its model: frozen values with unit and source. Reads one file, decides nothing.

Bars that mean anything only on data (the score's weights, threshold and the prior means) are in
reference_data/clustering.toml, each with the data it was set on; the rest is here.
"""

from __future__ import annotations

import base64
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from state_schemas.topics import DAY_MS

MINUTE_MS = 60_000
DIMENSIONS = 384
PERMUTATIONS = 100


@dataclass(frozen=True, slots=True)
class ClusterPolicy:
    """Bounds of a language's writer. Source of each value: the design, section 3, unless said otherwise."""

    live_ms: int = 2 * DAY_MS  # a story without an update for so long expires
    known_ms: int = 30 * DAY_MS  # how long an expired story's articles are remembered
    jump_ms: int = 10 * MINUTE_MS  # a larger step of the clock waits until a second publisher confirms it
    bands: int = 20  # x rows = PERMUTATIONS; a pair of Jaccard 0.8 meets in a band with probability 0.9996
    rows: int = 5
    copy_jaccard: float = 0.8  # estimated Jaccard above which two articles are one text
    bucket: int = 32  # articles looked at in one band's bucket, newest first: boilerplate fills buckets
    nearest: int = 10  # candidates by centroid
    lexical: int = 5  # candidates by shared rare terms: notes/clustering found 4 useful
    rare_terms: int = 12  # of an article, looked up for those
    posting: int = 64  # stories a term may stand in and still be rare
    exact_below: int = 4_000  # stories; below it every centroid is compared (0.5 ms), above it HNSW
    window: int = 24  # newest originals that make a story's centroid and profile, beside its first
    compared: int = 8  # newest originals compared one by one, beside the first
    fold_every: int = 64  # decisions after which new stories are counted in the frequencies: 64 puts, one a decision
    fold_first: int = 8  # the same for a language that knows little yet; doubled as it learns
    fold_after_ms: int = 60 * MINUTE_MS  # the same for a language with fewer
    expired_at_once: int = 2_000  # stories a minute of stream time, so that an outage's end does not block
    mean_prior: float = 300.0  # articles the prior mean weighs as much as
    mean_memory: float = 50_000.0  # at this weight the running mean's past is halved
    term_prior: float = 200.0  # stories the words' prior frequencies weigh as much as
    entity_prior: float = 50.0  # the same for entities, whose prior is a guess
    half_life_ms: int = 7 * DAY_MS  # of a document frequency
    story_topics: int = 8  # kept in a summary
    story_entities: int = 16


class ModelError(ValueError):
    """reference_data/clustering.toml cannot be used: the message says what is missing or wrong in it."""


@dataclass(frozen=True)
class ClusterModel:
    """The calibrated score, in two steps; an article joins at `threshold` and above.

    pair_bias, pair_weights: the logit that two articles are about one event, a weight a feature of pairs.py by name.
    bias, weights: the same of an article and a story, features of score.py. means: language -> float32[384], the
    vector that is removed until a language has its own running mean; "" for all others.
    """

    version: str
    pair_bias: float
    pair_weights: dict[str, float]
    bias: float
    weights: dict[str, float]
    threshold: float
    means: dict[str, NDArray[np.float32]]

    def mean(self, language: str) -> NDArray[np.float32]:
        """The prior mean of a language's vectors, float32[384]."""
        return self.means.get(language, self.means[""])


def load_model(path: Path) -> ClusterModel:
    """The model of a file like reference_data/clustering.toml. Raises ModelError on one absent or malformed."""
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        return model_of(data)
    except (OSError, tomllib.TOMLDecodeError, KeyError, ValueError, TypeError) as error:
        raise ModelError(f"{path.name}: {type(error).__name__}: {error}") from None


def model_of(data: dict[str, Any]) -> ClusterModel:
    """The model of the file's tables. Raises KeyError or ValueError on what is absent or malformed."""
    means = {
        "" if language == "default" else language: np.frombuffer(base64.b64decode(text), "<f2").astype(np.float32)
        for language, text in data["means"].items()
    }
    if "" not in means or any(mean.shape != (DIMENSIONS,) for mean in means.values()):
        raise ValueError(f"means: a default is needed, and {DIMENSIONS} float16 in each")
    pair, story = data["pair"], data["story"]
    return ClusterModel(
        version=str(data["version"]),
        pair_bias=float(pair["bias"]),
        pair_weights={str(name): float(weight) for name, weight in pair["weights"].items()},
        bias=float(story["bias"]),
        weights={str(name): float(weight) for name, weight in story["weights"].items()},
        threshold=float(story["threshold"]),
        means=means,
    )
