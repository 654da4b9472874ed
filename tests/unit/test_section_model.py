"""The section classifier: when it speaks, what it is fed, its file; and its training on a few made vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from cli.main import broadsheet
from cli.section_samples import Sample
from cli.section_training import (
    SECTIONS,
    Scores,
    answers,
    fit,
    joined,
    left_out,
    rows_of_samples,
    rows_of_texts,
    seed_texts,
)
from state_schemas.articles import Article, Entity
from state_schemas.codec import pack_vector
from udfs.articles.section_model import (
    FILE,
    SOURCE,
    SectionModel,
    SectionModelError,
    flags_of,
    load_section_model,
    with_section,
    written,
)
from udfs.reference_faults import default_folder

DIMENSIONS = 8


def model(bar: float = 0.5) -> SectionModel:
    """Two sections told apart by the first two dimensions."""
    weights = np.zeros((2, DIMENSIONS + 3), np.float32)
    weights[0, 0] = weights[1, 1] = 6.0
    return SectionModel(
        version="t",
        encoder="e",
        sections=("sports", "business"),
        mean=np.zeros(DIMENSIONS, np.float32),
        weights=weights,
        bias=np.zeros(2, np.float32),
        bars=(bar, bar),
    )


def vector(place: int) -> NDArray[np.float32]:
    found = np.zeros(DIMENSIONS, np.float32)
    found[place] = 1.0
    return found


def article(**fields: object) -> Article:
    told = {
        "article_id": "a" * 32, "language": "en", "version": 1, "event": "new", "canonical_url": "https://n.example/a",
        "publisher": "n.example", "title": "T", "first_seen_ms": 1, "decided_ms": 1, "parser_version": "1",
    }  # fmt: skip
    return Article(**(told | fields))  # type: ignore[arg-type]


def test_says_a_section_only_where_it_is_clear() -> None:
    nowhere = (0.0, 0.0, 0.0)
    assert model().section(vector(0), nowhere) == "sports"
    assert model().section(vector(1), nowhere) == "business"
    assert model(0.9).section(vector(2), nowhere) == ""
    assert model().section(np.zeros(3, np.float32), nowhere) == ""


def test_speaks_only_where_the_publisher_does_not() -> None:
    packed = pack_vector(vector(0))
    given = with_section(article(embedding=packed, sources={"title": "og"}), model())
    assert given.topics == ("sports",)
    assert given.sources == {"title": "og", "topics": SOURCE}
    stated = article(embedding=packed, topics=("health",))
    assert with_section(stated, model()) is stated
    assert with_section(article(), model()).topics == ()
    assert with_section(article(embedding=packed), None).topics == ()


def test_flags_tell_home_from_abroad() -> None:
    def place(country: str, in_title: bool = True) -> Entity:
        return Entity(id=f"country:{country}", name=country, in_title=in_title, country=country, type="country")

    assert flags_of([place("DE")], "DE") == (1.0, 0.0, 0.0)
    assert flags_of([place("FR"), place("DE")], "DE") == (1.0, 1.0, 0.0)
    assert flags_of([place("FR", in_title=False)], "DE") == (0.0, 0.0, 1.0)
    assert flags_of([place("FR")], "") == (0.0, 0.0, 0.0)


def test_file_round_trip_and_damage(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(written(model(), ["head"]), "utf-8")
    again = load_section_model(tmp_path)
    assert again.sections == model().sections
    assert np.array_equal(again.weights, model().weights)
    (tmp_path / FILE).write_text('version = "1"\n', "utf-8")
    with pytest.raises(SectionModelError, match="train sections"):
        load_section_model(tmp_path)


def test_the_installed_model_knows_all_sections() -> None:
    found = load_section_model(default_folder())
    assert found.sections == SECTIONS
    assert found.mean.shape == (384,)


def samples() -> list[Sample]:
    return [
        Sample(name=f"{n}", origin="feeds", publisher=f"p{n % 7}", language="en", text=f"{n}",
               sections=(SECTIONS[n % 3],))
        for n in range(42)
    ]  # fmt: skip


def test_training_tells_sections_apart_on_publishers_left_out_and_is_deterministic() -> None:
    rows = samples()
    vectors = np.stack([vector(n % 3) + 0.1 * vector(3 + n % 5) for n in range(len(rows))])
    ours = rows_of_texts([("world", "en", "x")], vector(0)[None], 0.1)
    found = left_out(rows, vectors, ours)
    assert answers(found) == [one.sections[0] for one in rows]
    assert np.array_equal(found, left_out(rows, vectors, ours))
    fitted = fit(joined(rows_of_samples(rows, vectors), ours), "v", "e")
    assert fitted.section(vector(1), (0.0, 0.0, 0.0)) == SECTIONS[1]


def test_scores_count_a_miss_for_the_first_section_alone() -> None:
    scores = Scores()
    scores.add(("world", "politics"), "politics")
    scores.add(("world", "politics"), "sports")
    scores.add(("sports",), "")
    found = scores.as_dict()
    assert (found["articles"], found["answered"]) == (3, 2)
    assert found["sections"]["politics"] == {"articles": 0, "precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert found["sections"]["world"]["recall"] == 0.0
    assert found["sections"]["sports"] == {"articles": 1, "precision": 0.0, "recall": 0.0, "f1": 0.0}


def test_seed_headlines_cover_every_section(tmp_path: Path) -> None:
    seeds = seed_texts(default_folder() / "section_seeds.tsv")
    assert {section for section, _, _ in seeds} == set(SECTIONS)
    (tmp_path / "s.tsv").write_text("gardening\ten\tRoses\n", "utf-8")
    with pytest.raises(ValueError, match="line 1"):
        seed_texts(tmp_path / "s.tsv")


def test_eval_labels_prints_one_object(tmp_path: Path) -> None:
    done = CliRunner().invoke(broadsheet, ["eval", "labels", str(tmp_path), "--no-sections", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["labels"]["samples"]
    assert found["articles"] > 60
    assert found["opinion"]["precision"] >= 0.95
    assert found["fact_check"]["precision"] >= 0.95


def test_train_sections_needs_articles(tmp_path: Path) -> None:
    done = CliRunner().invoke(broadsheet, ["train", "sections", str(tmp_path)])
    assert done.exit_code == 2
    assert "no article in" in done.output
