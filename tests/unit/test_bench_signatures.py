"""`bench signatures`: which texts it takes, how near estimates are, and what it prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from cli import bench_signatures
from cli.bench_signatures import errors, minhash_figures
from cli.main import broadsheet

TOKENS = [[f"w{text}x{number}" for number in range(400)] for text in range(40)]


class Plain:
    model_version, dimensions = "plain", 2

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[1.0, 0.0]] * len(texts), dtype=np.float32)


def test_estimates_are_within_sampling_error_of_the_truth_as_datasketchs_are() -> None:
    ours, theirs = errors(TOKENS)
    # The standard error of 100 permutations is 0.05 at most; the mean of 40 squares strays by a quarter.
    assert 0 < ours < 0.0625
    assert 0 < theirs < 0.0625


def test_texts_without_a_shingle_are_a_users_error() -> None:
    with pytest.raises(Exception, match="too short"):
        minhash_figures(["Four words are few.", ""])


def test_json_is_one_object_with_the_fixed_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "texts.jsonl"
    rows = [{"title": f"Title {number}", "text": " ".join(tokens)} for number, tokens in enumerate(TOKENS)]
    file.write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(bench_signatures, "load_encoder", lambda spec, folder: Plain())
    monkeypatch.setattr(bench_signatures, "_engine", lambda: lambda text: None)
    monkeypatch.setattr(bench_signatures, "_torch", lambda name, console: None)
    found = CliRunner().invoke(broadsheet, ["bench", "signatures", "--texts", str(file), "--json"])
    assert found.exit_code == 0
    figures = {figure["name"]: figure for figure in json.loads(found.stdout)["figures"]}
    assert {"minhash", "encoder_docs_per_second", "minhash_rms_error"} <= figures.keys()
    assert figures["minhash"]["ratio"] == pytest.approx(
        figures["minhash"]["value"] / figures["minhash"]["against_value"]
    )


@pytest.mark.parametrize("line", ["[1]", '{"title": "no text"}', "{"])
def test_files_of_another_form_are_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text(line)
    found = CliRunner().invoke(broadsheet, ["bench", "signatures", "--texts", str(file)], standalone_mode=False)
    assert "other.jsonl: objects with title and text are wanted" in str(found.exception)
