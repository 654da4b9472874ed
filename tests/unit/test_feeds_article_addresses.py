"""Addresses of many publishers' shapes: articles, and what only lies beside them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.feeds.article_addresses import Likeness, likeness, word_count

CLEAR, LIKELY, NONE = Likeness.CLEAR, Likeness.LIKELY, Likeness.NONE


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        # slugs, numbers, dates
        ("/world/ferry-strike-ends-after-nine-days", CLEAR),
        ("/harbour-bridge-opens-early/", LIKELY),
        ("/2026/11/30/budget.html", CLEAR),
        ("/2026/nov/30/ferry-strike-ends", CLEAR),
        ("/news/2026-11-30/ferry-strike/106357130", CLEAR),
        ("/article/2026-11-30-ferry-strike-ends/", CLEAR),
        ("/2026/11/the-strike-ends/", CLEAR),
        ("/article/1011185", LIKELY),
        ("/politik/article408587681/streik-haefen-ende.html", CLEAR),
        ("/Streik-der-Faehren/!5928990/", CLEAR),
        ("/nyheter/angsten-vil-oke/84057530", CLEAR),
        ("/articles/AST1F4445T1FUTIL02SM.html", LIKELY),
        ("/articles/cj6d79gyrdro", LIKELY),
        ("/7347149/ferry-tariffs/", CLEAR),
        ("/news/ferry-strike-3cc842471fb9df42315d658d88c8403a", CLEAR),
        ("/streik-an-der-kueste-1019241/artikel", CLEAR),
        ("/wirtschaft/faehren-hafen-handel-100.html", LIKELY),
        ("/?p=188", LIKELY),
        ("/news/articleView.html?idxno=9912&page=2", LIKELY),
        # other scripts, percent-encoded or not
        ("/news/%D8%A5%D8%B6%D8%B1%D8%A7%D8%A8-%D8%A7%D9%84%D8%B9%D8%A8%D8%A7%D8%B1%D8%A7%D8%AA-%D9%8A%D9%86%D8%AA%D9%87%D9%8A", LIKELY),
        ("/lifestyle/898682/إضراب-العبارات-ينتهي-بعد-تسعة-أيام/ar", CLEAR),
        ("/東京で大雪の恐れ、交通機関に影響も", CLEAR),
        ("/novosti/забастовка-паромов-закончилась", LIKELY),
        # sections and lists
        ("/", NONE),
        ("", NONE),
        ("/world", NONE),
        ("/world/middle-east", NONE),
        ("/2026/11/30/", NONE),
        ("/2026/11/", NONE),
        ("/2026/budget", NONE),
        ("/world?page=2", NONE),
        ("/page/2", NONE),
        ("/world/page/12345", NONE),
        ("/tag/ferry-strike-in-the-north-sea", NONE),
        ("/tags/63237/ann-cooks", NONE),
        ("/topics/cx2jyv8j81wt", NONE),
        ("/author/ann-lee", NONE),
        ("/authors/ann-lee/the-day-the-ferry-stopped", CLEAR),
        ("/profile/12345678", NONE),
        ("/archives/2026/11/30/2003825372", CLEAR),
        # about the site and the reader
        ("/login?next=/world", NONE),
        ("/privacy-policy", NONE),
        ("/terms-and-conditions-of-use-for-all-readers", NONE),
        ("/impressum-der-zeitung-876605432348", NONE),
        ("/contact-us-with-a-news-tip", NONE),
        ("/aviso-legal", NONE),
        # no pages
        ("/a/report-on-the-ferry-strike.pdf", NONE),
        ("/2026/11/30/ferry-strike-picture.JPG", NONE),
        ("/podcasts/the-day-the-ferry-stopped.mp3", NONE),
    ],
)  # fmt: skip
def test_shapes(path: str, expected: Likeness) -> None:
    assert likeness(f"https://news.example{path}") is expected


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_address_has_a_verdict(path: str) -> None:
    for url in (path, f"https://news.example/{path}"):
        assert likeness(url) in tuple(Likeness)


@pytest.mark.parametrize(
    ("text", "words"),
    [("Ferry strike ends", 3), ("ferry-strike-2026", 2), ("東京で大雪", 2), ("", 0), ("123", 0), ("إضراب العبارات", 2)],
)
def test_words(text: str, words: int) -> None:
    assert word_count(text) == words
