"""Sections, labels and wire credits by the publisher's own words."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pytest

from cli.label_evaluation import judge_samples
from state_schemas.fetching import RawItem
from state_schemas.sources import Origin
from udfs.articles.canonical import load_tracking_parameters
from udfs.articles.extract import Extraction, extract_page
from udfs.articles.gazetteer import Gazetteer
from udfs.articles.kinds import sections_of
from udfs.articles.labels import labels, load_labels, parse_labels, wire_credit
from udfs.articles.topics import Subtopic, TopicWords, parse_subtopics, subtopics, topics
from udfs.reference_faults import Fault, default_folder


@cache
def load_gazetteer() -> Gazetteer:
    return Gazetteer(default_folder())


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


FOOTBALL = Subtopic("sports/football", "Association football", ("football", "fußball"), not_in=("US",))


def test_second_level_topics_lead_to_their_section_and_depend_on_the_country() -> None:
    words = TopicWords(section_of, [FOOTBALL])
    assert topics("https://n.example/fussball/x", "Fußball", (), "", "de", words, "DE") == ("sports",)
    assert subtopics("https://n.example/x", "Sport / Fußball", (), words, "DE") == ("sports/football",)
    assert subtopics("https://n.example/x", "Football", (), words, "US") == ()
    # A keyword names whatever occurs in a text: it counts within the article's section alone.
    assert subtopics("https://n.example/x", "", ("football",), words, "GB", ("sports",)) == ("sports/football",)
    assert subtopics("https://n.example/x", "", ("football",), words, "GB", ("business",)) == ()


def test_joined_and_generic_words() -> None:
    words = TopicWords(section_of)
    assert topics("https://n.example/a", "Business & Politics", (), "", "en", words) == ("business", "politics")
    assert topics("https://n.example/en/news/sport/a", "", (), "", "en", words) == ("sports",)
    assert topics("https://sport.n.example/a", "", (), "", "en", words) == ("sports",)
    assert topics("https://n.example/world", "", (), "", "en", words) == ()  # its own name is no section


def test_places_as_sections_are_seen_from_the_publishers_country() -> None:
    gazetteer = load_gazetteer()
    words = TopicWords(section_of, (), gazetteer)
    assert topics("https://n.example/a", "Malaysia", (), "", "en", words, "MY") == ("nation",)
    assert topics("https://n.example/a", "Malaysia", (), "", "en", words, "SG") == ("world",)
    assert topics("https://n.example/a", "California", (), "", "en", words, "US") == ("local",)
    assert topics("https://n.example/us/a", "", (), "", "en", words, "US") == ("nation",)
    assert topics("https://n.example/a", "", ("Malaysia",), "", "en", words, "MY") == ()
    assert topics("https://n.example/a", "Malaysia", (), "", "en", words) == ()


def test_faults_of_topics_are_told() -> None:
    faults: list[Fault] = []
    parse_subtopics(
        '[gardening.roses]\nname = "Roses"\nterms = ["roses"]\n[sports.tennis]\nname = 1\nterms = []\n', faults
    )
    assert [fault.entry for fault in faults] == ["gardening", "sports.tennis"]
    parse_subtopics('[sports.a]\nname = "A"\nterms = ["x"]\n[sports.b]\nname = "B"\nterms = ["X"]\n', faults)
    assert "is a term of sports/a too" in faults[-1].reason


def test_faults_of_labels_are_told() -> None:
    faults: list[Fault] = []
    parse_labels('[opinion]\nsections = ["x"]\n[live]\nsections = ["X"]\n[rumour]\nsections = ["y"]\n', faults)
    assert [fault.entry for fault in faults] == ["live", "rumour"]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("type:ClaimReview",), ("fact_check",)),
        (("flag:opinion", "flag:sponsored"), ("opinion", "sponsored")),
        (("crumb:Meinung",), ("opinion",)),
        (("genre:Kommentar",), ("opinion",)),
        (("section:Sport",), ()),
    ],
)
def test_labels_of_what_a_page_states_beside_its_article(kinds: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert labels("https://n.example/a", "News", ("NewsArticle",), False, kinds=kinds) == expected


def test_invented_articles_get_their_labels_and_credits() -> None:
    reference = default_folder()
    found = judge_samples(reference / "label_samples.tsv", SimpleNamespace(label_words=load_labels(reference)))  # type: ignore[arg-type]
    assert found.faults == []
    assert found.articles > 60


def test_what_a_page_states_of_its_kind() -> None:
    page = b"""<html><head><title>T</title><meta property="article:opinion" content="true">
    <meta property="article:section" content="Harbour">
    <script type="application/ld+json">[{"@type": "NewsArticle", "headline": "A toll on the bridge",
      "articleSection": ["News", "Transport"], "genre": "Essay"},
     {"@type": "ClaimReview"},
     {"@type": "BreadcrumbList", "itemListElement": [
      {"@type": "ListItem", "position": 1, "item": {"@id": "https://n.example/", "name": "Home"}},
      {"@type": "ListItem", "position": 2, "name": "Views", "item": "https://n.example/views"},
      {"@type": "ListItem", "position": 3, "name": "A toll on the bridge"}]}]</script></head>
    <body><article><h1>A toll on the bridge</h1><p>%s</p></article></body></html>""" % (b"Words of it. " * 60)
    url = "https://n.example/views/a-toll"
    raw = RawItem(kind="page", url=url, final_url=url, origin=Origin(publisher="n"), found_ms=1, fetched_ms=1)
    found = extract_page(raw, page, load_tracking_parameters(default_folder() / "tracking_parameters.txt"))
    assert isinstance(found, Extraction)
    assert set(found.kinds) == {
        "flag:opinion", "type:ClaimReview", "section:News", "section:Transport", "section:Harbour", "genre:Essay",
        "crumb:Views",
    }  # fmt: skip
    assert sections_of(found.section, found.kinds).split(" / ") == ["News", "Transport", "Harbour", "Views"]
