"""`broadsheet eval extract`: what counts as right, and what a wrong DIR or TRUTH gets."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cli import extract_scores as scores
from cli.main import broadsheet

PARAGRAPHS = (
    "The harbour board closed the eastern lock on Monday after a crack was found in its lower gate.",
    "Engineers expect the repair to take nine days, the board said in a statement, and barges will wait outside.",
)
PAGE = (
    "<html><head><title>Lock closed</title><script type='application/ld+json'>"
    '{"@type":"NewsArticle","headline":"Lock closed","datePublished":"2026-11-30T06:00:00Z","author":"Ann Lee"}'
    "</script></head><body><article>"
    + "".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS)
    + "</article></body></html>"
)
TRUTH: dict[str, object] = {
    "file": "gb/a.html",
    "url": "https://n.example/lock",
    "country": "gb",
    "publisher": "Daily",
    "title": "Lock closed",
    "authors": ["Ann Lee"],
    "published_at": "2026-11-30 06:00:30+00:00",
    "text": "\n".join(PARAGRAPHS),
}


@pytest.mark.parametrize(
    ("found", "true", "tokens", "shingles"),
    [
        ("", "", 1.0, 1.0),
        ("", "a b", 0.0, 0.0),
        ("b a", "A, b!", 1.0, 0.0),
        ("a a b", "a b b", 2 / 3, 0.0),
        ("one two three four five six", "one two three four five", 10 / 11, 2 / 3),
        ("東京の株", "東京 の 株", 1.0, 1.0),
    ],
)
def test_scores_of_text(found: str, true: str, tokens: float, shingles: float) -> None:
    assert scores.token_f1(found, true) == pytest.approx(tokens)
    assert scores.shingle_f1(found, true) == pytest.approx(shingles)


@given(st.text(), st.text())
def test_scores_are_shares_and_symmetric_and_whole_for_itself(one: str, other: str) -> None:
    for score in (scores.token_f1, scores.shingle_f1):
        assert 0 <= score(one, other) <= 1
        assert score(one, other) == score(other, one)
        assert score(one, one) == 1


def test_scores_of_fields() -> None:
    assert scores.same_line("Caf\u0065\u0301\u00a0opens", "Café opens")
    assert not scores.same_line("‘Café’", "'Café'")
    assert scores.same_folded("‘Café’", "'café'")
    assert scores.name_f1(["Ann Lee", "ann lee"], ["Ann Lee", "Bo Ek"]) == pytest.approx(2 / 3)
    assert scores.name_f1([], []) == 1
    assert scores.within_minute(60_000, 0)
    assert not scores.within_minute(60_001, 0)
    assert not scores.within_minute(None, 0)
    assert scores.same_image("http://www.i.example/a%20b.jpg?w=100", "https://i.example/a b.jpg")
    assert not scores.same_image("", "")


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(broadsheet, ["eval", "extract", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def laid(folder: Path, *rows: dict[str, object]) -> Path:
    (folder / "gb").mkdir()
    (folder / "gb" / "a.html").write_text(PAGE, encoding="utf-8")
    (folder / "gb" / "b.html.gz").write_bytes(gzip.compress(PAGE.encode()))
    truth = folder / "truth.jsonl"
    truth.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return truth


def test_plain_and_gzipped_pages_and_the_fixed_names(tmp_path: Path) -> None:
    truth = laid(
        tmp_path, TRUTH, TRUTH | {"file": "gb/b.html.gz", "title": "Other", "image": "https://n.example/1.jpg"}
    )
    status, out, _ = run(tmp_path, truth, "--json")
    assert status == 0
    found = json.loads(out)
    assert (found["pages"], found["title_exact"], found["date_within_minute"], found["author_f1"]) == (2, 0.5, 1, 1)
    assert found["body_f1"] == 1
    assert found["trafilatura_body_f1"] > 0.5
    assert found["pages_per_second"] > 0
    assert found["image_accuracy"] == 0
    assert found["rejected"] == {}


def test_a_page_that_is_rejected_counts_as_wrong_and_is_named(tmp_path: Path) -> None:
    truth = laid(tmp_path, TRUTH | {"file": "gb/empty.html"})
    (tmp_path / "gb" / "empty.html").write_text("<html></html>", encoding="utf-8")
    status, out, _ = run(tmp_path, truth, "--only-ours")
    assert status == 0
    assert "gb/empty.html: rejected: no_title" in out


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"file": "gb/none.html"}, "none.html"),
        ({"file": "../outside.html"}, "not below"),
        ({"title": "no file"}, "line 1"),
        (TRUTH | {"published_at": "yesterday"}, "line 1"),
    ],
)
def test_a_wrong_line_is_one_line_and_status_2(tmp_path: Path, row: dict[str, object], said: str) -> None:
    status, out, err = run(tmp_path, laid(tmp_path, row))
    assert (status, out) == (2, "")
    assert said in err.splitlines()[-1]


def test_no_truth_file(tmp_path: Path) -> None:
    status, _, err = run(tmp_path, tmp_path / "truth.jsonl")
    assert status == 2
    assert "truth.jsonl" in err
