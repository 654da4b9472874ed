"""The sentence encoder at run time: what is encoded, how failures end, and the vectors of the built model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.encoder.reference import LEAST_COSINE, cosines, read_reference
from udfs.articles.encoder import (
    MAX_TOKENS,
    SENTENCE_CHARS,
    EncoderError,
    OnnxEncoder,
    SentenceTransformerEncoder,
    encoder_input,
    load_encoder,
    sentences,
)

FOLDER = Path(os.environ.get("BROADSHEET_ENCODER", Path(__file__).parents[2] / ".stack" / "encoder"))
THAI = "เจ้าหน้าที่ปิดสะพานข้ามแม่น้ำหลังพบรอยร้าวที่เสาสองต้น ประชาชนต้องใช้เรือข้ามฟากชั่วคราว "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("One. Two! Three? Four.", ["One.", "Two!", "Three?"], id="Latin"),
        pytest.param("“Stop!” He did. Now.", ["“Stop!”", "He did.", "Now."], id="closing quote goes along"),
        pytest.param(
            "Mr. Orr met J. Lind at 3 p.m. in the U.S. today. It rained.",
            ["Mr. Orr met J. Lind at 3 p.m. in the U.S. today.", "It rained."],
            id="abbreviations",
        ),
        pytest.param(
            "Up 3.5 percent on example.org. Down.", ["Up 3.5 percent on example.org.", "Down."], id="stops inside words"
        ),
        pytest.param("Dateline\nBody of it.", ["Dateline", "Body of it."], id="line break"),
        pytest.param("  A \t b.\r\n\r\n  C.  ", ["A b.", "C."], id="white space"),
        pytest.param(
            "昨日は雨。今日は晴れ！明日は？",
            ["昨日は雨。", "今日は晴れ！", "明日は？"],
            id="Han and Kana need no space",
        ),
        pytest.param("कल बारिश हुई। आज धूप है। बाकी", ["कल बारिश हुई।", "आज धूप है।", "बाकी"], id="Devanagari"),
        pytest.param("هل وصل القطار؟ نعم. شکریہ۔ آخر", ["هل وصل القطار؟", "نعم.", "شکریہ۔"], id="Arabic and Urdu"),
        pytest.param("비가 왔다. 오늘은 맑다.", ["비가 왔다.", "오늘은 맑다."], id="Hangul"),
        pytest.param("ዛሬ ዘነበ። ነገ ፀሐይ።", ["ዛሬ ዘነበ።", "ነገ ፀሐይ።"], id="Ethiopic"),
        pytest.param("", [], id="empty"),
        pytest.param(" \n \u00a0 ", [], id="blank"),
        pytest.param("... !!! ?", ["... !!! ?"], id="marks alone"),
    ],
)
def test_sentences_end_where_the_script_ends_them(text: str, expected: list[str]) -> None:
    assert sentences(text, 3) == expected


def test_a_script_without_marks_is_cut_at_spaces_to_a_bounded_length() -> None:
    found = sentences(THAI * 20, 3)
    assert len(found) == 3
    assert all(SENTENCE_CHARS // 4 < len(part) <= SENTENCE_CHARS for part in found)
    assert all(word in THAI.split() for part in found for word in part.split())


def test_a_text_without_any_space_is_cut_at_the_length() -> None:
    assert sentences("字" * 1000, 2) == ["字" * SENTENCE_CHARS] * 2


@settings(deadline=None)
@given(
    st.text(max_size=600)
    | st.lists(st.sampled_from(["Rain. ", "wind", "3.5", "雨。", " ", "\n", "Dr. ", "u" * 300]), max_size=60).map(
        "".join
    ),
    st.integers(1, 5),
)
def test_sentences_are_the_beginning_of_the_text_in_order(text: str, count: int) -> None:
    found = sentences(text, count)
    assert len(found) <= count
    assert all(0 < len(part) <= SENTENCE_CHARS and part == " ".join(part.split()) for part in found)
    assert "".join("".join(text.split())).startswith("".join("".join(part.split()) for part in found))
    assert bool(found) == bool(text.strip())


@pytest.mark.parametrize(
    ("title", "body", "expected"),
    [
        pytest.param(
            "Ferry late", "Fog. Cold. Rain. Snow.", "Ferry late. Fog. Cold. Rain.", id="title and three sentences"
        ),
        pytest.param("Ferry late?", "Fog.", "Ferry late? Fog.", id="a title's own mark is kept"),
        pytest.param(
            "Ferry late",
            "FERRY LATE\nFog. Cold. Rain. Snow.",
            "Ferry late. Fog. Cold. Rain.",
            id="body repeats the title",
        ),
        pytest.param("Ferry\n  late", "", "Ferry late", id="no body"),
        pytest.param("", "Fog. Cold.", "Fog. Cold.", id="no title"),
        pytest.param(" ", "\n", "", id="nothing"),
    ],
)
def test_encoder_input(title: str, body: str, expected: str) -> None:
    assert encoder_input(title, body) == expected


def test_encoder_input_of_an_enormous_article_is_short() -> None:
    assert len(encoder_input("t" * 10**6, "b " * 10**6)) < 1_100


def test_a_missing_folder_says_what_builds_it(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"no encoder in .*nowhere: run `make setup`"):
        load_encoder("onnx", tmp_path / "nowhere")
    with pytest.raises(EncoderError, match="make setup"):
        load_encoder("sentence-transformers", tmp_path / "nowhere")


@pytest.mark.parametrize(
    "manifest", ["", "[]", "{}", '{"model_version": "m"}', '{"model_version": "m", "hidden_size": 384}']
)
def test_a_damaged_folder_is_an_error_of_one_line(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(EncoderError, match="cannot be used") as caught:
        load_encoder("onnx", tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", ["", "onnx:x", "torch", "ONNX"])
def test_an_unknown_back_end_is_named(tmp_path: Path, spec: str) -> None:
    with pytest.raises(EncoderError, match="use onnx, sentence-transformers"):
        load_encoder(spec, tmp_path)


def test_the_extra_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EncoderError, match=r"pip install 'broadsheet\[sentence-transformers\]'"):
        load_encoder("sentence-transformers:some/model", Path("unused"))


class FakeSentenceTransformer:
    """Keeps what it is asked; its vectors are counts of characters."""

    max_seq_length = 512

    def __init__(self, name: str, **options: Any) -> None:
        if name == "missing":
            raise OSError("no such model\nand a long explanation")
        self.name, self.options = name, options
        self.asked: list[str] = []

    def get_sentence_embedding_dimension(self) -> int:
        return 2

    def encode(self, texts: list[str], **options: Any) -> Any:
        assert options["normalize_embeddings"]
        assert options["show_progress_bar"] is False
        self.asked += texts
        self.batch_size = options["batch_size"]
        return np.array([[1.0, 0.0]] * len(texts), dtype=np.float64)


@pytest.fixture
def fake_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=FakeSentenceTransformer)
    )


@pytest.mark.usefixtures("fake_library")
def test_sentence_transformers_gets_the_same_prefix_and_length() -> None:
    made = SentenceTransformerEncoder("hub/some-model")
    vectors = made.encode(["Ferry late ", ""])
    assert (made.model_version, made.dimensions) == ("sentence-transformers/some-model", 2)
    assert vectors.dtype == np.float32
    assert vectors.shape == (2, 2)
    assert made.encode([]).shape == (0, 2)
    assert made._model.asked == ["query: Ferry late", "query: "]
    assert made._model.max_seq_length == MAX_TOKENS
    assert made._model.options == {}
    assert made._model.batch_size > 1


@pytest.mark.usefixtures("fake_library")
def test_sentence_transformers_runs_the_built_folder_with_its_onnx_back_end(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"model_version": "m/1", "hidden_size": 2}))
    made = load_encoder("sentence-transformers", tmp_path)
    assert isinstance(made, SentenceTransformerEncoder)
    assert made.model_version == "sentence-transformers/m/1"
    assert made._model.options == {"backend": "onnx", "model_kwargs": {"file_name": "model.onnx"}}
    assert made.encode(["a", "b"]).shape == (2, 2)
    assert made._model.batch_size == 1  # the int8 graph's vectors would depend on their neighbours


@pytest.mark.usefixtures("fake_library")
def test_a_model_that_sentence_transformers_cannot_load_is_an_error_of_one_line() -> None:
    with pytest.raises(EncoderError, match=r"cannot load missing: no such model$"):
        SentenceTransformerEncoder("missing")


@pytest.fixture(scope="module")
def built() -> OnnxEncoder:
    if not (FOLDER / "manifest.json").is_file():
        pytest.skip(f"no built encoder in {FOLDER}: `make setup` builds it")
    return OnnxEncoder(FOLDER)


def test_vectors_are_near_the_known_ones(built: OnnxEncoder) -> None:
    reference = read_reference()
    found = cosines(reference, built.encode([known.text for known in reference]))
    assert min(found) >= LEAST_COSINE
    assert sum(found) / len(found) >= 0.985  # the bar above is each one's; this one is what the graph promises


def test_vectors_have_length_one_and_the_stated_width(built: OnnxEncoder) -> None:
    vectors = built.encode(["Ferry late", "", "雨", THAI * 50, "\u0000\ud800"])
    assert vectors.dtype == np.float32
    assert vectors.shape == (5, built.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert built.encode([]).shape == (0, built.dimensions)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(max_size=80), min_size=1, max_size=4), st.randoms())
def test_a_vector_does_not_depend_on_its_neighbours(built: OnnxEncoder, texts: list[str], random: Any) -> None:
    together = built.encode(texts)
    shuffled = list(range(len(texts)))
    random.shuffle(shuffled)
    assert np.array_equal(built.encode([texts[i] for i in shuffled]), together[shuffled])
    assert np.array_equal(built.encode([texts[0]])[0], together[0])


def test_token_ids_keep_both_ends_when_cut(built: OnnxEncoder) -> None:
    short, long = built.token_ids("rain"), built.token_ids("rain " * 10_000)
    assert len(long) == MAX_TOKENS
    assert (long[0], long[-1]) == (short[0], short[-1]) == (0, 2)
    assert np.array_equal(built.encode(["rain " * 10_000]), built.encode(["rain " * 9_000]))


def test_the_same_story_is_nearer_than_another_in_three_scripts(built: OnnxEncoder) -> None:
    bridge, bruecke, most, football = built.encode(
        [
            "Bridge closed after cracks were found",
            "Brücke nach Rissen gesperrt",
            "Мост закрыт из-за трещин",
            "Women's team wins the cup on penalties",
        ]
    )
    assert min(bridge @ bruecke, bridge @ most) > max(bridge @ football, most @ football)


def test_importing_the_module_loads_no_library_of_models() -> None:
    code = "import sys, udfs.articles.encoder; print({'onnxruntime', 'tokenizers', 'torch'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert done.stdout.strip() == "set()"
