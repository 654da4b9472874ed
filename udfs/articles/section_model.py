"""Which section an article belongs to, by its vector, where its publisher says nothing; empty where that is not clear.

A linear softmax on the mean-removed embedding and on where the places of title and lede are, seen from the publisher's
country. Weights: reference_data/section_model.toml, written by `broadsheet train sections` (docs/topics.md). Reads no
text and keeps nothing.
"""

from __future__ import annotations

import base64
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from state_schemas.articles import Article, Entity
from state_schemas.codec import unpack_vector
from udfs.sections import SECTION_IDS

FILE = "section_model.toml"
SOURCE = "classifier"  # what `sources` of an article says of topics that this model gave
# Share of the vector's unit length that each of the flags below weighs.
_FLAG = 0.35
FLAGS = ("home", "abroad", "placeless")
_PLACES = frozenset(("place", "country", "region"))
_FLAT = tuple[float, ...]


class SectionModelError(ValueError):
    """The model file cannot be used: write it anew with `broadsheet train sections`."""


@dataclass(frozen=True, slots=True)
class SectionModel:
    """Weights float32 of shape (sections, dimensions + flags); bars: probability from which a section is said."""

    version: str
    encoder: str
    sections: tuple[str, ...]
    mean: NDArray[np.float32]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    bars: tuple[float, ...]

    def probabilities(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """float32 of shape (rows, sections), each row summing to 1. features: as `features` gives them."""
        scores = features @ self.weights.T + self.bias
        raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
        found: NDArray[np.float32] = raised / raised.sum(axis=-1, keepdims=True)
        return found

    def section(self, vector: NDArray[np.float32], flags: _FLAT) -> str:
        """The likeliest section where its probability reaches the bar; else, or for a vector of another size, empty."""
        if vector.shape != self.mean.shape:
            return ""
        row = self.probabilities(features(vector[None], np.array([flags], np.float32), self.mean))[0]
        best = int(row.argmax())
        return self.sections[best] if row[best] >= self.bars[best] else ""


def features(
    vectors: NDArray[np.float32], flags: NDArray[np.float32], mean: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Rows for the model: the vectors without their mean, of unit length, then the weighted flags."""
    centred = vectors - mean
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.hstack([centred / np.maximum(length, 1e-9), _FLAG * flags]).astype(np.float32)


def flags_of(entities: Iterable[Entity], country: str) -> _FLAT:
    """(home, abroad, placeless), each 0 or 1: whose country the places of title and lede lie in.

    All 0 where the publisher's country is unknown.
    """
    if not country:
        return (0.0, 0.0, 0.0)
    met = {entity.country for entity in entities if entity.in_title and entity.type in _PLACES and entity.country}
    return (float(country in met), float(bool(met - {country})), float(not met))


def with_section(article: Article, model: SectionModel | None) -> Article:
    """`article` with the model's section where its publisher named none; its vector must be filled in."""
    if model is None or article.topics or not article.embedding:
        return article
    found = model.section(unpack_vector(article.embedding), flags_of(article.entities, article.country))
    if not found:
        return article
    return msgspec.structs.replace(article, topics=(found,), sources=article.sources | {"topics": SOURCE})


def load_section_model(folder: Path) -> SectionModel:
    """The model of a folder of reference data. Raises SectionModelError, OSError."""
    try:
        table = tomllib.loads((folder / FILE).read_text("utf-8"))
        sections = tuple(table["weights"])
        mean = _array(table["mean"])
        weights = np.stack([_array(table["weights"][name]) for name in sections])
        model = SectionModel(
            version=str(table["version"]),
            encoder=str(table["encoder"]),
            sections=sections,
            mean=mean,
            weights=weights,
            bias=np.array([float(table["bias"][name]) for name in sections], np.float32),
            bars=tuple(float(table["bars"][name]) for name in sections),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SectionModelError(f"{folder / FILE}: {error}: run `broadsheet train sections`") from None
    if not set(sections) <= set(SECTION_IDS[1:]) or weights.shape[1] != len(mean) + len(FLAGS):
        raise SectionModelError(f"{folder / FILE}: sections or sizes are wrong: run `broadsheet train sections`")
    return model


def written(model: SectionModel, head: Iterable[str]) -> str:
    """The model as the text of its file. head: comment lines."""
    lines = [*(f"# {line}".rstrip() for line in head), f'version = "{model.version}"', f'encoder = "{model.encoder}"']
    lines += [f'mean = "{_text(model.mean)}"', "", "[bars]"]
    lines += [f"{name} = {bar:.3f}" for name, bar in zip(model.sections, model.bars, strict=True)]
    lines += ["", "[bias]", *(f"{name} = {value:.4f}" for name, value in zip(model.sections, model.bias, strict=True))]
    lines += ["", "[weights]  # float16 in base64: the embedding's dimensions, then home, abroad, placeless"]
    lines += [f'{name} = "{_text(row)}"' for name, row in zip(model.sections, model.weights, strict=True)]
    return "\n".join(lines) + "\n"


def _text(row: NDArray[np.float32]) -> str:
    return base64.b64encode(row.astype("<f2").tobytes()).decode()


def _array(text: Any) -> NDArray[np.float32]:
    return np.frombuffer(base64.b64decode(text, validate=True), "<f2").astype(np.float32)
