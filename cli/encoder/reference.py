"""Known vectors of the default encoder: a built model has to come near them.

Decides how near. The vectors in reference_data/encoder_vectors.json were made by the C engine of the package that
carries the weights (`python -m cli.encoder_build --renew-vectors` makes them again); the sentences are our own, in 12
scripts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

REFERENCE_FILE = Path(__file__).resolve().parents[2] / "reference_data" / "encoder_vectors.json"
LEAST_COSINE = 0.96  # of each sentence; a sound build reaches 0.975, a wrong tokenizer or layer less than 0.95


@dataclass(frozen=True, slots=True)
class ReferenceVector:
    """A sentence, its script, and its vector of length 1."""

    script: str
    text: str
    vector: NDArray[np.float32]


def read_reference(path: Path = REFERENCE_FILE) -> list[ReferenceVector]:
    """The known vectors; each is stored as float16, little-endian, in base64 (error below 0.0001 of cosine)."""
    rows = json.loads(path.read_text(encoding="utf-8"))["vectors"]
    return [ReferenceVector(row["script"], row["text"], _decode(row["vector"])) for row in rows]


def cosines(reference: Sequence[ReferenceVector], vectors: NDArray[np.float32]) -> list[float]:
    """Cosine of each known vector and the row of `vectors` (n, dimensions; length 1) for the same sentence."""
    return [float(known.vector @ row) for known, row in zip(reference, vectors, strict=True)]


def renew(engine: Callable[[str], NDArray[np.float32]], source: str, path: Path = REFERENCE_FILE) -> None:
    """Replace the vectors of all sentences in the file by those of `engine`; `source` is kept beside them."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document["source"] = source
    for row in document["vectors"]:
        row["vector"] = base64.b64encode(engine(row["text"]).astype("<f2").tobytes()).decode("ascii")
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _decode(text: str) -> NDArray[np.float32]:
    vector = np.frombuffer(base64.b64decode(text), dtype="<f2").astype(np.float32)
    return vector / np.linalg.norm(vector)
