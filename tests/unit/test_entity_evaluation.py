"""The labelled mentions, how they are counted, and the bars they are held to."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.entity_evaluation import PLACES, SampleError, evaluate, geonames_dictionary, read_sample, script_of
from udfs.articles.entities import load_entity_finder

REFERENCE = Path(__file__).parents[2] / "reference_data"


def test_the_sample_meets_the_bars_in_twelve_scripts() -> None:
    sample = read_sample(REFERENCE / "entity_mentions.tsv")
    found = evaluate(sample, load_entity_finder(REFERENCE)).as_dict()
    assert found["places"]["all"]["mentions"] >= 300
    assert len(found["places_by_script"]) >= 12
    for group in (found["places"]["all"], found["places_by_set"]["b"]):
        assert group["precision"] >= 0.95
        assert group["recall"] >= 0.85


def test_wrong_and_missed_are_counted_and_told(tmp_path: Path) -> None:
    path = tmp_path / "sample.tsv"
    path.write_text("a\ten\tGB\tA day in [Paris|country:FR] and in Tokyo.\n", "utf-8")
    found = evaluate(read_sample(path), load_entity_finder(REFERENCE))
    assert found.as_dict()["places"]["all"] == {"mentions": 1, "precision": 0.0, "recall": 0.0}
    assert len(found.faults) == 3


@pytest.mark.parametrize("line", ["a\ten\ttext", "a\ten\tGB\t[x|thing]", "# nothing"])
def test_a_bad_sample_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "sample.tsv").write_text(line + "\n", "utf-8")
    with pytest.raises(SampleError, match="sample"):
        read_sample(tmp_path / "sample.tsv")


def test_the_plain_dictionary_takes_the_largest() -> None:
    assert geonames_dictionary()("Paris, France") == {"place:2988507": "Paris", "country:FR": "France"}


def test_scripts() -> None:
    assert [script_of(word) for word in ("Paris", "Москва", "東京", "パリ", "1")] == [
        "Latin",
        "Cyrillic",
        "Han",
        "Kana",
        "None",
    ]
    assert "place" in PLACES
