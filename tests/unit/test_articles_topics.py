"""Sections, labels and wire credits by the publisher's own words."""

from __future__ import annotations

import pytest

from udfs.articles.labels import labels, wire_credit
from udfs.articles.topics import TopicWords, topics

WORDS = {
    ("sport", "en"): "sports",
    ("sports", "en"): "sports",
    ("world", "en"): "world",
    ("business", "en"): "business",
    ("politics", "en"): "politics",
    ("wirtschaft", "de"): "business",
    ("news", "en"): None,
}


def section_of(word: str, language: str) -> str | None:
    return WORDS.get((word.lower(), language))


@pytest.mark.parametrize(
    ("url", "section", "keywords", "category", "language", "expected"),
    [
        ("https://n.example/sport/2026/11/x", "", (), "", "en", ("sports",)),
        ("https://n.example/x", "Sport", (), "", "en", ("sports",)),
        ("https://n.example/wirtschaft/x-1", "", (), "", "de", ("business",)),
        ("https://n.example/x", "World / Business", (), "", "en", ("business", "world")),
        ("https://n.example/x", "", ("Politics", "Taxes"), "", "en", ("politics",)),
        ("https://n.example/x", "", (), "world", "en", ("world",)),
        ("https://n.example/sport/x", "Sport", (), "world", "en", ("sports",)),
        ("https://n.example/x", "", (), "general", "en", ()),
        ("https://n.example/x", "", (), "top", "en", ()),
        ("https://n.example/news/x", "News", ("x",), "", "en", ()),
    ],
)
def test_topics(
    url: str, section: str, keywords: tuple[str, ...], category: str, language: str, expected: tuple[str, ...]
) -> None:
    assert topics(url, section, keywords, category, language, TopicWords(section_of)) == expected


@pytest.mark.parametrize(
    ("url", "section", "types", "paywalled", "expected"),
    [
        ("https://n.example/news/a", "News", ("NewsArticle",), False, ()),
        ("https://n.example/a", "", ("OpinionNewsArticle",), False, ("opinion",)),
        ("https://n.example/opinion/a", "", (), False, ("opinion",)),
        ("https://n.example/a", "Meinung", (), False, ("opinion",)),
        ("https://n.example/a/opinion", "", (), False, ()),
        ("https://n.example/a", "", ("LiveBlogPosting",), True, ("live", "paywalled")),
        ("https://n.example/a", "", ("ClaimReview",), False, ("fact_check",)),
        ("https://n.example/a", "", ("VideoObject",), False, ("video",)),
        ("https://n.example/partner-content/a", "", (), False, ("sponsored",)),
    ],
)
def test_labels(url: str, section: str, types: tuple[str, ...], paywalled: bool, expected: tuple[str, ...]) -> None:
    assert labels(url, section, types, paywalled) == expected


@pytest.mark.parametrize(
    ("authors", "body", "expected"),
    [
        (("Reuters",), "", "Reuters"),
        (("Ann Lee", "dpa/AFP"), "", "dpa"),
        ((), "MANILA (AP) — Two ships met.", "AP"),
        ((), "Tokyo 新华社", ""),
        (("Ann Lee",), "A report that (AP) follows only much later. " * 3, "AP"),
        (("Apa Nemeth",), "The apparatus was mapped.", ""),
        ((), "", ""),
    ],
)
def test_wire_credit(authors: tuple[str, ...], body: str, expected: str) -> None:
    assert wire_credit(authors, body) == expected
