"""Pages that are no article: by written samples of both kinds, and none of the captured article pages."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from state_schemas.fetching import Entry, RawItem
from state_schemas.sources import Origin
from tests.unit.no_article_samples import PROSE, Sample, articles, news, no_articles, plain
from udfs.articles.canonical import load_tracking_parameters
from udfs.articles.extract import Extraction, Rejection, extract_page
from udfs.articles.listings import looks_like_article
from udfs.articles.no_article import is_consent_notice
from udfs.articles.no_article_phrases import HEADINGS
from udfs.articles.no_article_sentences import SENTENCES

ROOT = Path(__file__).parents[2]
TRACKING = load_tracking_parameters(ROOT / "reference_data" / "tracking_parameters.txt")
SHARED = Path(os.environ.get("BROADSHEET_SHARED", ROOT.parent / "shared")) / "data" / "pages"


def read(sample: Sample) -> Extraction | Rejection:
    entry = Entry(identity="0" * 16, title=sample.entry) if sample.entry is not None else None
    origin = Origin(publisher="n.example", name="Daily Harbour")
    raw = RawItem(
        kind="page", url=sample.url, final_url=sample.final, origin=origin, found_ms=1, fetched_ms=2, entry=entry
    )
    return extract_page(raw, sample.html.encode(), TRACKING)


@pytest.mark.parametrize("sample", [pytest.param(sample, id=sample.name) for sample in no_articles()])
def test_what_stands_in_an_articles_place_is_told_by_its_kind(sample: Sample) -> None:
    found = read(sample)
    assert isinstance(found, Rejection), found
    assert found.reason == sample.reason


@pytest.mark.parametrize("sample", [pytest.param(sample, id=sample.name) for sample in articles()])
def test_articles_that_resemble_them_stay_articles(sample: Sample) -> None:
    found = read(sample)
    assert isinstance(found, Extraction), found


def test_there_are_enough_samples_of_both_kinds() -> None:
    assert len(no_articles()) >= 60
    assert len(articles()) >= 40
    assert len({sample.name for sample in (*no_articles(), *articles())}) == len(no_articles()) + len(articles())


def test_the_words_of_a_wall_are_no_part_of_the_article_behind_it() -> None:
    html = news("Lock closed", "Log in to continue. Already have an account?", description="A crack in a gate.")
    found = read(Sample("", html))
    assert isinstance(found, Extraction)
    assert (found.lede, found.body) == ("A crack in a gate.", "")
    assert "body" not in found.sources


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://n.example/politics", False),
        ("https://n.example/world/europe/", False),
        ("https://n.example/tag/winter-storm", False),
        ("https://n.example/", False),
        ("https://n.example/world/storm-reaches-northern-coast", True),
        ("https://n.example/a/1234567", True),
        ("https://n.example/2026/11/30/storm", True),
        ("https://n.example/20261130/storm", True),
        ("https://n.example/news/storm-12345.html", True),
        ("https://n.example/%E6%96%B0%E8%81%9E%E8%A8%98%E4%BA%8B%E3%81%AE%E9%95%B7%E3%81%84%E9%A1%8C%E5%90%8D", True),
    ],
)
def test_addresses_of_articles_and_of_sections(url: str, expected: bool) -> None:
    assert looks_like_article(url) is expected


def test_phrases_are_clean() -> None:
    for table in (HEADINGS, SENTENCES):
        for reason, phrases in table.items():
            assert reason.replace("_", "").isalnum()
            found = [" ".join(part.split()) for line in phrases.split("\n") for part in line.split(";") if part.strip()]
            assert len(found) == len(set(found))
            assert not [phrase for phrase in found if phrase.casefold() != phrase and phrase.lower() != phrase]


def test_a_consent_notice_is_one_by_most_of_its_paragraphs() -> None:
    notice = "We and our 812 partners store and access information on your device."
    assert is_consent_notice(f"{notice}\nShort.")
    assert not is_consent_notice("\n".join((*PROSE, notice)))
    assert not is_consent_notice("")


def test_a_huge_wall_of_words_is_judged_in_a_moment() -> None:
    assert isinstance(read(Sample("", plain("Lock", "cookie partner consent verify " * 20_000))), Extraction)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the captured pages are not here")
def test_a_title_of_blanks_is_read_in_a_moment() -> None:
    found = read(
        Sample("", f"<html><head><title>{' ' * 1_000_000}Not found</title></head><body><h1>x</h1></body></html>")
    )
    assert isinstance(found, Rejection)


def test_every_captured_article_page_is_an_article() -> None:
    refused = []
    for number, line in enumerate((SHARED / "truth.jsonl").read_text("utf-8").splitlines()):
        if number % 4:  # all of them are read by `broadsheet eval extract`; here every fourth, for speed
            continue
        truth = json.loads(line)
        html = gzip.decompress((SHARED / truth["file"]).read_bytes()).decode("utf-8", "replace")
        found = read(Sample("", html, url=truth["url"], entry="Another title than the page's"))
        if isinstance(found, Rejection):
            refused.append((truth["file"], found.reason))
    assert refused == []
