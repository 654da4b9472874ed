"""What `bench parse` offers and how it counts; the measurement of the job itself needs a cluster."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import cli.main
from cli.bench_parse import figures
from cli.bench_parse_evidence import captured, fresh, generated, word
from cli.bench_parse_profile import STEPS, by_step, plain_loop_ms
from state_schemas.codec import unpack_bytes
from udfs.articles.canonical import load_tracking_parameters
from udfs.articles.extract import Extraction, extract_page

REFERENCE = Path(__file__).parents[2] / "reference_data"
TRACKING = load_tracking_parameters(REFERENCE / "tracking_parameters.txt")
TEXT = "The harbour board closed the eastern lock on Monday after a crack was found in its lower gate. " * 4
PAGE = f"""<html lang="en"><head><title>Lock &amp; dam closed</title>
<link rel="canonical" href="https://a.example/one"><meta property="og:url" content="https://a.example/one">
<meta property="og:type" content="article"></head><body><article><h1>Lock &amp; dam closed</h1><p>{TEXT}</p></article></body></html>"""


class Ones:
    model_version = "ones"
    dimensions = 384

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        return np.ones((len(texts), 384), dtype=np.float32)


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    (tmp_path / "de").mkdir()
    (tmp_path / "de" / "One.html.gz").write_bytes(gzip.compress(PAGE.encode()))
    (tmp_path / "two.html").write_text(PAGE)
    (tmp_path / "empty.html").write_text("<html></html>")
    told = {"file": "de/One.html.gz", "url": "https://a.example/news/one.html?x=1", "publisher": "A", "country": "de"}
    (tmp_path / "truth.jsonl").write_text(json.dumps(told) + "\n")
    return tmp_path


def test_no_two_are_one_article_and_each_has_its_title(pages: Path) -> None:
    supply = captured(pages, TRACKING, variants=2)
    assert supply.what == "2 captured pages in 2 edits"
    found = []
    for number in range(8):
        item = supply.item(number)
        assert item == supply.item(number)
        assert item.body is not None
        found.append(extract_page(item, unpack_bytes(item.body.zstd), TRACKING))
    assert all(isinstance(one, Extraction) for one in found)
    assert len({one.canonical_url for one in found if isinstance(one, Extraction)}) == 8
    titles = [one.title for one in found if isinstance(one, Extraction)]
    assert titles[:4] == [f"Lock & dam closed {word(0)}"] * 2 + [f"Lock & dam closed {word(1)}"] * 2


def test_a_folder_without_articles_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no page"):
        captured(tmp_path, TRACKING)
    answer = CliRunner().invoke(cli.main.broadsheet, ["bench", "parse", "--pages", str(tmp_path)])
    assert answer.exit_code == 2


def test_words_and_addresses_are_one_to_one() -> None:
    assert len({word(number) for number in range(5_000)}) == 5_000
    assert fresh("https://a.example/news/storm.html?a=1#b", 61) == f"https://a.example/news/storm-{word(61)}"
    assert fresh("https://a.example/news/storm/", 1) == f"https://a.example/news/storm-{word(1)}"


def test_the_press_serves_where_no_pages_are() -> None:
    supply = generated(30)
    assert len({supply.item(number).url for number in range(60)}) == 60


def test_every_step_is_on_a_clock(pages: Path) -> None:
    supply = captured(pages, TRACKING)
    steps = by_step([supply.item(number) for number in range(24)], REFERENCE, Ones())
    assert tuple(steps) == STEPS
    assert all(steps[step] > 0 for step in STEPS)
    assert plain_loop_ms(supply.html, Ones()) > 0


def test_figures_have_the_names_others_rely_on() -> None:
    steps = dict.fromkeys(STEPS, 2.0)
    found = {"articles_per_second_1": 10.0, "cpu_ms_1": 50.0, "burst_pending": 3.0, "burst_drained_s": 4.0}
    named = {figure.name: figure for figure in figures(steps, 100.0, found, (1,))}
    assert named["articles_per_second_per_core"].value == 20
    assert named["articles_per_second_per_core"].ratio == 2
    assert named["cpu_ms_per_article"].ratio == 2
    assert named["flink_kafka_rest_cpu_ms"].value == 50 - 2 * len(STEPS)
    assert named["articles_per_second_parallelism_1"].ratio == 1
    assert named["burst_drained_s"].unit == "s"
    assert "cpu_ms_per_article" not in {figure.name for figure in figures(steps, 100.0, {}, (1,))}
