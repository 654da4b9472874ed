"""The sample press reads, holds what it promises, and its copies and originals are as alike and unlike as they should be."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import pytest

from services.press import content

PRESS = content.load()


def test_holds_what_it_promises() -> None:
    articles = PRESS.articles
    assert len(PRESS.publishers) == 12
    assert all(publisher.host.endswith(".localhost") for publisher in PRESS.publishers.values())
    assert {article.kind for article in articles} == {"original", "copy", "variant"}
    assert {"amp", "print"} <= {article.form for article in articles}
    assert any(article.correction for article in articles)
    assert any(article.retract_after_s for article in articles)
    assert any(article.label == "opinion" for article in articles)


def test_size_languages_and_length() -> None:
    languages = Counter(article.language for article in PRESS.articles)
    assert len(PRESS.events) == 15
    assert len(PRESS.articles) >= 100
    assert languages["en"] >= 50
    assert languages["de"] >= 16
    assert languages["es"] >= 14
    assert languages["ja"] >= 12
    assert 3600 <= PRESS.length_s <= 5400


def test_each_event_has_two_publishers_in_one_language() -> None:
    covered: dict[tuple[str, str], set[str]] = defaultdict(set)
    for article in PRESS.articles:
        if article.kind == "original":
            covered[article.event, article.language].add(article.publisher)
    for event in PRESS.events:
        assert any(len(who) >= 2 for (of, _), who in covered.items() if of == event), event
    assert sum(len({lang for of, lang in covered if of == event}) >= 2 for event in PRESS.events) >= 5


def test_one_event_is_a_burst() -> None:
    quake = [a for a in PRESS.articles if (a.event, a.language, a.kind) == ("quake-valdivia", "en", "original")]
    first = [a for a in quake if a.published_s <= quake[0].published_s + 300]
    assert len(first) >= 12
    assert len({a.publisher for a in first if PRESS.publishers[a.publisher].authority > 0.5}) >= 5


@pytest.mark.parametrize("article", PRESS.articles, ids=lambda a: a.id)
def test_every_article_is_whole(article: content.Article) -> None:
    assert article.title
    assert article.author
    assert article.section
    assert article.path.startswith("/")
    assert "?" not in article.path
    count = len(content.words(article.text))
    low, high = (230, 480) if article.language == "ja" else (118, 290)
    assert low <= count <= high, count
    # A stray line end or mark-up in the prose is an editing fault.
    assert not any(mark in article.text for mark in ("  ", "<", ">", "TODO"))
    assert all(text == text.strip() for text in (article.title, article.lede, *article.paragraphs))


def test_copies_are_alike() -> None:
    for article in PRESS.articles:
        if article.repeats:
            assert content.jaccard(article.text, PRESS.by_id[article.repeats].text) > 0.85, article.id


def test_originals_are_worded_differently() -> None:
    groups: dict[str, list[content.Article]] = defaultdict(list)
    for article in PRESS.articles:
        if article.kind == "original":
            groups[article.language].append(article)
    for group in groups.values():
        for left, right in combinations(group, 2):
            assert content.jaccard(left.text, right.text) < 0.15, (left.id, right.id)


PUBLISHERS = """
[[publisher]]
id = "a"
name = "A"
host = "a.localhost"
country = "GB"
languages = ["en"]
authority = 0.5
owner = "A"
tagline = "A"
json_ld = "object"
feeds = [{ path = "/feed.xml", format = "rss", language = "en" }]
"""

ARTICLE = """
[[article]]
id = "one"
publisher = "a"
language = "en"
path = "/one"
title = "One"
lede = "Lede."
body = "Body."
author = "N"
section = "s"
published_s = 1
"""

COPY = """
[[article]]
id = "two"
publisher = "a"
path = "/two"
copy_of = "one"
published_s = 2
"""


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        pytest.param("[[article", "e.toml", id="not TOML"),
        pytest.param("", "no publishers.toml", id="no article at all"),
        pytest.param("[[article]]\ntitle = 'x'", "no id", id="no id"),
        pytest.param(ARTICLE + ARTICLE, "twice", id="an id twice"),
        pytest.param(ARTICLE.replace('"a"', '"b"'), "no publisher 'b'", id="unknown publisher"),
        pytest.param(ARTICLE.replace('"en"', '"de"'), "does not publish", id="a language that it lacks"),
        pytest.param(ARTICLE.replace("title", "titel"), "titel", id="unknown field"),
        pytest.param(ARTICLE + COPY.replace('"/two"', '"/one"'), "already uses /one", id="an address twice"),
        pytest.param(ARTICLE + COPY.replace('copy_of = "one"', 'copy_of = "none"'), "'none'", id="copy of nothing"),
        pytest.param(
            ARTICLE + COPY.replace('copy_of = "one"', 'copy_of = "two"'), "repeats itself", id="copy of itself"
        ),
        pytest.param(ARTICLE + COPY + "cut = [2]", "cut", id="cut of what is not there"),
        pytest.param(ARTICLE + COPY.replace("copy_of", "variant_of"), "amp or print", id="variant without a form"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, events: str, complaint: str) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "publishers.toml").write_text(PUBLISHERS)
    (tmp_path / "events" / "e.toml").write_text(events)
    with pytest.raises(content.ContentError, match=complaint):
        content.load(tmp_path)


def test_a_copy_is_derived(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "publishers.toml").write_text(PUBLISHERS)
    body = ARTICLE.replace('"Body."', '"""\nFirst\nline.\n\nSecond.\n"""')
    (tmp_path / "events" / "e.toml").write_text(body + COPY + 'cut = [2]\ndateline = "LONDON --"\n')
    press = content.load(tmp_path)
    assert press.by_id["one"].paragraphs == ("First line.", "Second.")
    copy = press.by_id["two"]
    assert (copy.lede, copy.paragraphs, copy.title, copy.kind) == ("LONDON -- Lede.", ("First line.",), "One", "copy")
    assert press.articles == (press.by_id["one"], copy)


def test_lines_join_without_a_space_in_japanese() -> None:
    assert content._joined("地震が\nあった。 Tokyo\nで") == "地震があった。 Tokyo で"


def test_jaccard() -> None:
    assert content.jaccard("a b c d e f", "A, b c d e f") == 1.0
    assert content.jaccard("a b c", "a b c") == 0.0  # shorter than a shingle
    assert content.jaccard("a b c d e f", "a b c d e g") == pytest.approx(1 / 3)
