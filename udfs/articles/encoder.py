"""From an article's title and first sentences to one vector of unit length.

Decides which part of an article is encoded and how a text becomes tokens and a vector. Never fetches a model (`make
setup` builds the default one) and touches no clock, no network and no Flink; libraries are loaded with the encoder.

Read `encoder_input`, then `OnnxEncoder.encode`. A text is always run by itself: batches bring nothing on a CPU, need
padding and a mask, and would let one text's numbers change another's, because activations share a scale when they are
quantised. So a vector depends on its own text and the model alone.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from udfs.articles.sentences import sentences as split

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PREFIX = "query: "  # e5 was trained with it; "query" on both sides is its authors' advice for symmetric tasks
MAX_TOKENS = 128  # <s> and </s> included; title and three sentences take 113 on average, and cost grows with tokens
SENTENCES = 3  # of the body; the lede says what happened, who and where
SENTENCE_CHARS = 240  # characters; a longer sentence, or a script that marks no ends (Thai), is cut here at a space
TITLE_CHARS = 300  # characters; longer titles are pages' mistakes
TEXT_CHARS = 2_000  # characters of a text that are looked at: 128 tokens of any script are fewer
MANIFEST = "manifest.json"

_ENDS = ".!?…؟۔։።፧।॥။។᠃෴。！？｡．"  # a heading that has one of these needs no full stop
_SPACE = re.compile(r"\s+")


class EncoderError(Exception):
    """No usable encoder. The message is one line: what is missing and the command that builds it."""


class Encoder(Protocol):
    """Turns texts into vectors. Two encoders with one `model_version` give the same vector for the same text."""

    @property
    def model_version(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 of shape (len(texts), dimensions), each row of length 1, in the order of `texts`."""


def encoder_input(title: str, body: str, language: str = "") -> str:
    """The title and the body's first three sentences, in one line; what the clusterer's vectors are made from.

    A first sentence that only repeats the title is passed over. language: a code, which helps to split sentences.
    Returns "" for an article without words.
    """
    heading = _SPACE.sub(" ", title).strip()[:TITLE_CHARS]
    lede: list[str] = []
    for sentence in sentences(body, SENTENCES + 1, language):
        if not lede and _same(sentence, heading):
            continue
        lede.append(sentence)
    if heading and lede and heading[-1] not in _ENDS:
        heading += "."
    return " ".join(filter(None, [heading, *lede[:SENTENCES]]))


def sentences(text: str, count: int, language: str = "") -> list[str]:
    """The first `count` sentences, white space collapsed, none longer than SENTENCE_CHARS.

    Where a script marks no ends, or a sentence is too long, it is cut at the last space that fits.
    """
    found: list[str] = []
    for sentence in split(text[: (count + 2) * 4 * SENTENCE_CHARS], language, count):
        found += _bounded(sentence)
    return found[:count]


def _bounded(sentence: str) -> list[str]:
    rest = _SPACE.sub(" ", sentence).strip()
    parts = []
    while len(rest) > SENTENCE_CHARS:
        cut = rest.rfind(" ", SENTENCE_CHARS // 2, SENTENCE_CHARS + 1)
        cut = SENTENCE_CHARS if cut < 0 else cut
        parts.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*parts, rest] if rest else parts


def _same(sentence: str, heading: str) -> bool:
    return bool(heading) and sentence.rstrip(_ENDS).casefold() == heading.rstrip(_ENDS).casefold()


class OnnxEncoder:
    """The default: an int8 graph of multilingual-e5-small on one thread of ONNX Runtime, about 14 ms for 107 tokens.

    Scale by processes. The token table is mapped from its file, so processes on one machine share it.
    """

    def __init__(self, folder: Path, max_tokens: int = MAX_TOKENS) -> None:
        """Load the model in `folder`. Raises EncoderError when it is absent, incomplete or cannot be read."""
        manifest = read_manifest(folder)
        onnxruntime: Any = importlib.import_module("onnxruntime")
        from tokenizers import Tokenizer

        try:
            self.model_version = str(manifest["model_version"])
            self.dimensions = int(manifest["hidden_size"])
            self._tokenizer: Tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session = onnxruntime.InferenceSession(
                str(folder / "model.onnx"), _one_thread(onnxruntime), providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise bare Exception on a damaged file
            raise EncoderError(_cannot_use(folder, str(error).splitlines()[0])) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)

    def token_ids(self, text: str) -> list[int]:
        """Ids of `query: ` and the text, at most max_tokens, the first <s> and the last </s>."""
        return list(self._tokenizer.encode(_prefixed(text)).ids)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            ids = np.array([self.token_ids(text)], dtype=np.int64)
            inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
            vectors[row] = self._session.run(["sentence_embedding"], inputs)[0][0]
        return vectors


class SentenceTransformerEncoder:
    """Any model of the sentence-transformers library, on whatever device it finds; needs the extra of that name.

    Takes a folder or a hub name. The folder that `make setup` builds is run by that library's ONNX back end.
    """

    def __init__(self, folder_or_name: str, max_tokens: int = MAX_TOKENS) -> None:
        """Load the model. Raises EncoderError when the library or the model is missing."""
        try:
            library = importlib.import_module("sentence_transformers")  # untyped, and an extra
        except ImportError as error:
            hint = "pip install 'broadsheet[sentence-transformers]'"
            raise EncoderError(f"the sentence-transformers back end is not installed: {hint}") from error
        options: dict[str, Any] = {}
        version = Path(folder_or_name).name
        self._batch_size = 32  # texts; float models on a GPU gain by it
        if (Path(folder_or_name) / MANIFEST).is_file():
            version = str(read_manifest(Path(folder_or_name))["model_version"])
            options = {"backend": "onnx", "model_kwargs": {"file_name": "model.onnx"}}
            self._batch_size = 1  # see the module's head
        try:
            self._model = library.SentenceTransformer(folder_or_name, **options)
        except Exception as error:
            reason = str(error).splitlines()[0]
            raise EncoderError(f"sentence-transformers cannot load {folder_or_name}: {reason}") from error
        self._model.max_seq_length = max_tokens
        self.model_version = f"sentence-transformers/{version}"
        # The method's name until release 5, and since.
        old, new = "get_sentence_embedding_dimension", "get_embedding_dimension"
        self.dimensions = int(getattr(self._model, new if hasattr(self._model, new) else old)() or 0)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        vectors = self._model.encode(
            [_prefixed(text) for text in texts],
            prompt="",
            batch_size=self._batch_size,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return np.asarray(vectors, dtype=np.float32)


def load_encoder(spec: str, folder: Path) -> Encoder:
    """The encoder that `spec` names: `onnx`, or `sentence-transformers`, or `sentence-transformers:FOLDER-OR-HUB-NAME`.

    `folder`: the built model (`.stack/encoder`), for the first two. Raises EncoderError with one line to show the user.
    """
    back_end, _, name = spec.partition(":")
    if back_end == "onnx" and not name:
        return OnnxEncoder(folder)
    if back_end == "sentence-transformers":
        if not name:
            read_manifest(folder)
        return SentenceTransformerEncoder(name or str(folder))
    raise EncoderError(f"no encoder is called {spec!r}: use onnx, sentence-transformers or sentence-transformers:MODEL")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The built model's manifest. Raises EncoderError when the folder is missing or not one that `make setup` built."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise EncoderError(f"no encoder in {folder}: run `make setup` to build it") from error
    except (OSError, ValueError) as error:
        raise EncoderError(_cannot_use(folder, f"{MANIFEST}: {error}")) from error
    if not isinstance(manifest, dict) or not {"model_version", "hidden_size"} <= manifest.keys():
        raise EncoderError(_cannot_use(folder, f"{MANIFEST} lacks model_version or hidden_size"))
    return manifest


def _prefixed(text: str) -> str:
    # A lone surrogate, as an escape in JSON can give, is no character, and the tokenizer would refuse the whole text.
    return PREFIX + text[:TEXT_CHARS].encode("utf-8", "replace").decode("utf-8").strip()


def _cannot_use(folder: Path, reason: str) -> str:
    return f"the encoder in {folder} cannot be used ({reason}): remove the folder and run `make setup`"


def _one_thread(onnxruntime: Any) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.enable_mem_pattern = False  # plans are kept for each length of text, and lengths vary freely
    options.log_severity_level = 3  # errors only: a worker's log is for articles
    return options
