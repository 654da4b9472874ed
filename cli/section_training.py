"""Fits the section classifier to publishers' own labels, and judges it on publishers that it never saw.

Beside the labelled articles two sets of ours are trained on and never judged on: invented headlines
(section_seeds.tsv), and the words of sections.toml, which carry each section into every language. Deterministic: no
random start, folds by a hash of the publisher.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cli.section_samples import Sample
from udfs.articles.encoder import Encoder
from udfs.articles.section_model import FLAGS, SectionModel, features
from udfs.sections import SECTION_IDS, Section

SECTIONS = SECTION_IDS[1:]
SEEDS = "section_seeds.tsv"
FOLDS = 10
FEW = 20  # articles; a figure on fewer says so
# Below this probability nothing is said. Shares right above other bars: docs/topics.md.
BAR = 0.4
_STEPS = 400
_RATE = 1.0
_DECAY = 2e-3  # of the weights' squares, against rows whose weights sum to 1
_SHARPNESS = 4.0  # by which features are scaled for the descent; folded into the weights afterwards
# What a text of ours weighs beside a publisher's article, and how far rare sections are raised to the frequent.
_SEED_WEIGHT, _TERMS_WEIGHT, _BALANCE = 3.0, 0.3, 0.7
_PUBLISHER_MOST = 10.0  # articles of one publisher and section count as no more than this many


@dataclass(frozen=True, slots=True)
class Rows:
    """Encoded texts: float32 vectors and flags, a section index and a weight each."""

    vectors: NDArray[np.float32]
    flags: NDArray[np.float32]
    sections: NDArray[np.int64]
    weights: NDArray[np.float64]


@dataclass(slots=True)
class Scores:
    """Right, wrong and missed, by section. A missed article is one of its publisher's first section."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    articles: Counter[str] = field(default_factory=Counter)

    def add(self, sections: Sequence[str], found: str) -> None:
        """Count one article: `sections` are those that are right for it, likeliest first; found: empty for none."""
        self.articles[sections[0]] += 1
        if found in sections:
            self.right[found] += 1
            return
        self.missed[sections[0]] += 1
        if found:
            self.wrong[found] += 1

    def as_dict(self) -> dict[str, Any]:
        """articles, answered, precision, recall, macro_f1 (over sections with articles), and each section's own."""
        by = {name: self._of(name) for name in SECTIONS if self.articles[name] or self.right[name]}
        judged = [row["f1"] for row in by.values()]
        large = [row["f1"] for row in by.values() if row["articles"] >= FEW]
        right, wrong, total = self.right.total(), self.wrong.total(), self.articles.total()
        return {
            "articles": total,
            "answered": right + wrong,
            "precision": _share(right, right + wrong),
            "recall": _share(right, total),
            "macro_f1": round(sum(judged) / len(judged), 4) if judged else 0.0,
            f"macro_f1_from_{FEW}": round(sum(large) / len(large), 4) if large else 0.0,
            "sections": by,
        }

    def _of(self, name: str) -> dict[str, Any]:
        right, wrong, missed = self.right[name], self.wrong[name], self.missed[name]
        return {
            "articles": self.articles[name],
            "precision": _share(right, right + wrong),
            "recall": _share(right, right + missed),
            "f1": round(2 * right / (2 * right + wrong + missed), 4) if right else 0.0,
        }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def seed_texts(path: Path) -> list[tuple[str, str, str]]:
    """(section, language, headline) of each line. Raises OSError, ValueError."""
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        section, language, text = [*line.split("\t"), "", "", ""][:3]
        if section not in SECTIONS or not text:
            raise ValueError(f"{path}, line {number}: section, language and headline are expected")
        found.append((section, language, text))
    return found


def term_texts(sections: Sequence[Section]) -> list[tuple[str, str, str]]:
    """(section, language, text) of each section's words in a language: its name, and its words in a row."""
    found = []
    for section in sections:
        for language, terms in section.terms.items():
            found.append((section.id, language, ", ".join(terms[:6])))
            if len(terms) > 6:
                found.append((section.id, language, ", ".join(terms[6:14])))
    return found


def rows_of_texts(texts: Sequence[tuple[str, str, str]], vectors: NDArray[np.float32], weight: float) -> Rows:
    """Rows of texts of ours: where a headline's places lie is unknown, but for what its section says."""
    flags = np.zeros((len(texts), len(FLAGS)), np.float32)
    index = np.array([SECTIONS.index(section) for section, _, _ in texts], np.int64)
    return Rows(vectors, flags, index, np.full(len(texts), weight))


def rows_of_samples(samples: Sequence[Sample], vectors: NDArray[np.float32]) -> Rows:
    """Rows of labelled articles, by each one's first section."""
    counts = Counter((sample.publisher, sample.sections[0]) for sample in samples)
    weights = [min(1.0, _PUBLISHER_MOST / counts[sample.publisher, sample.sections[0]]) for sample in samples]
    flags = np.array([sample.flags for sample in samples], np.float32).reshape(len(samples), len(FLAGS))
    index = np.array([SECTIONS.index(sample.sections[0]) for sample in samples], np.int64)
    return Rows(vectors, flags, index, np.array(weights))


def joined(*parts: Rows) -> Rows:
    """All rows of several sets."""
    return Rows(
        np.concatenate([part.vectors for part in parts]),
        np.concatenate([part.flags for part in parts]),
        np.concatenate([part.sections for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )


def fit(rows: Rows, version: str, encoder: str) -> SectionModel:
    """The softmax of least cross-entropy, rare sections raised. Full batches, Nesterov's momentum, from zero."""
    totals = np.bincount(rows.sections, weights=rows.weights, minlength=len(SECTIONS))
    balance = np.where(totals > 0, 1 / np.maximum(totals, 1e-9) ** _BALANCE, 0.0)
    weights = rows.weights * balance[rows.sections]
    weights /= weights.sum()
    mean = np.average(rows.vectors, axis=0, weights=weights).astype(np.float32)
    inputs = features(rows.vectors, rows.flags, mean).astype(np.float64) * _SHARPNESS
    inputs = np.hstack([inputs, np.ones((len(inputs), 1))])
    truth = np.zeros((len(inputs), len(SECTIONS)))
    truth[np.arange(len(inputs)), rows.sections] = 1
    found = np.zeros((len(SECTIONS), inputs.shape[1]))
    momentum = np.zeros_like(found)
    for step in range(_STEPS):
        ahead = found + 0.9 * momentum
        scores = inputs @ ahead.T
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = raised / raised.sum(axis=1, keepdims=True) - truth
        slope = (error * weights[:, None]).T @ inputs
        slope[:, :-1] += _DECAY * ahead[:, :-1]
        momentum = 0.9 * momentum - _RATE / (1 + step / _STEPS) * slope / _SHARPNESS
        found = found + momentum
    return SectionModel(
        version=version,
        encoder=encoder,
        sections=SECTIONS,
        mean=mean,
        weights=(found[:, :-1] * _SHARPNESS).astype(np.float32),
        bias=found[:, -1].astype(np.float32),
        bars=(BAR,) * len(SECTIONS),
    )


def left_out(samples: Sequence[Sample], vectors: NDArray[np.float32], ours: Rows) -> NDArray[np.float32]:
    """Probabilities, a row a sample, by a model that saw no article of the sample's publisher.

    Samples without a section are judged alike, never trained on.
    """
    folds = np.array([_fold(sample.publisher) for sample in samples])
    found = np.zeros((len(samples), len(SECTIONS)), np.float32)
    flags = np.array([sample.flags for sample in samples], np.float32)
    for fold in range(FOLDS):
        taken = [n for n, sample in enumerate(samples) if folds[n] != fold and sample.sections]
        judged = np.flatnonzero(folds == fold)
        if not len(judged):
            continue
        seen = [samples[n] for n in taken]
        model = fit(joined(rows_of_samples(seen, vectors[taken]), ours) if seen else ours, "", "")
        found[judged] = model.probabilities(features(vectors[judged], flags[judged], model.mean))
    return found


def _fold(publisher: str) -> int:
    return blake2b(publisher.encode(), digest_size=4).digest()[0] % FOLDS


def answers(probabilities: NDArray[np.float32], bar: float = 0.0) -> list[str]:
    """The likeliest section of each row; empty below the bar."""
    best = probabilities.argmax(axis=1)
    return [SECTIONS[n] if probabilities[row, n] >= bar else "" for row, n in enumerate(best)]


@dataclass(frozen=True, slots=True)
class Judged:
    """Labelled articles and, for each, the classifier's probabilities by a model that never saw its publisher."""

    samples: list[Sample]
    probabilities: NDArray[np.float32]
    model: SectionModel

    def scores(self, truth: Mapping[str, Sequence[str]] | None, said: Sequence[str], foreign: bool = False) -> Scores:
        """said: one answer a sample. truth: name -> sections, or None for the publishers' own. foreign: not English."""
        found = Scores()
        for sample, answer in zip(self.samples, said, strict=True):
            right = sample.sections if truth is None else truth.get(sample.name, ())
            if right and (not foreign or sample.language != "en"):
                found.add(right, answer)
        return found

    def alone(self, bar: float = 0.0) -> list[str]:
        """The classifier's answers, all that publishers say hidden."""
        return answers(self.probabilities, bar)

    def whole(self, bar: float = BAR) -> list[str]:
        """As production says it: the publisher's section, the classifier's where there is none."""
        return [
            one.sections[0] if one.sections else said for one, said in zip(self.samples, self.alone(bar), strict=True)
        ]


def train(samples: list[Sample], encoder: Encoder, folder: Path, sections: Sequence[Section], version: str) -> Judged:
    """Fit to all labelled samples, and judge each by a model without its publisher. folder: reference data."""
    texts = (seed_texts(folder / SEEDS), _SEED_WEIGHT), (term_texts(sections), _TERMS_WEIGHT)
    ours = joined(
        *(rows_of_texts(rows, encoder.encode([text for _, _, text in rows]), weight) for rows, weight in texts)
    )
    vectors = encoder.encode([sample.text for sample in samples])
    labelled = [n for n, sample in enumerate(samples) if sample.sections]
    rows = joined(rows_of_samples([samples[n] for n in labelled], vectors[labelled]), ours) if labelled else ours
    return Judged(samples, left_out(samples, vectors, ours), fit(rows, version, encoder.model_version))
