"""Places named in texts of many scripts, and words that only look like places."""

from __future__ import annotations

from pathlib import Path

import pytest

from udfs.articles.gazetteer import Gazetteer
from udfs.articles.places import PlaceFinder, PlacePolicy

GAZETTEER = Gazetteer(Path(__file__).parents[2] / "reference_data")
FINDER = PlaceFinder(GAZETTEER)

TOKYO, PARIS, LONDON, LIMA, READING = (
    "place:1850147",
    "place:2988507",
    "place:2643743",
    "place:3936456",
    "place:2639577",
)


def ids(text: str, language: str = "en", country: str = "", title: str = "") -> set[str]:
    return {entity.id for entity in FINDER.places(title, "", text, language, country)}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Thousands marched in Tokyo on Monday.", "en"),
        ("Miles de personas marcharon en Tokio el lunes.", "es"),
        ("月曜日、東京で数千人がデモをした。", "ja"),
        ("数千人周一在东京游行。", "zh"),
        ("В понедельник в Токио прошёл марш.", "ru"),
        ("월요일 도쿄에서 시위가 열렸다.", "ko"),
        ("خرج الآلاف في طوكيو يوم الاثنين.", "ar"),
        ("सोमवार को टोक्यो में प्रदर्शन हुआ।", "hi"),
        ("ผู้คนหลายพันคนเดินขบวนในโตเกียวเมื่อวันจันทร์", "th"),
        ("Χιλιάδες διαδήλωσαν στο Τόκιο τη Δευτέρα.", "el"),
        ("אלפים צעדו בטוקיו ביום שני.", "he"),
    ],
)
def test_one_city_is_one_id_in_every_script(text: str, language: str) -> None:
    assert TOKYO in ids(text, language)


@pytest.mark.parametrize(
    ("text", "language", "code"),
    [
        ("Talks between Japan and its neighbours go on.", "en", "JP"),
        ("Die Schweiz verhandelt weiter.", "de", "CH"),
        ("米国が関税を発表した。", "ja", "US"),
        ("The U.S. said so.", "en", "US"),
        ("ministers in the UK disagree", "en", "GB"),
        ("Türkiye'de seçim var.", "tr", "TR"),
        ("Переговоры: Украина согласна.", "ru", "UA"),
        ("Turkey and Great Britain signed.", "en", "TR"),
    ],
)
def test_countries_in_their_languages(text: str, language: str, code: str) -> None:
    assert f"country:{code}" in ids(text, language)


@pytest.mark.parametrize(
    ("text", "language", "country"),
    [
        ("Nice weather continues. Reading books is fun. Of course it is. Most agree.", "en", "GB"),
        ("Paris Hilton met Jordan Smith and Victoria Beckham.", "en", "US"),
        ("Andy Murray lost. Murray said his back hurt.", "en", "US"),
        ("Storm Hits New Mexico And West Virginia Today", "en", "US"),
        ("Dabei waren Waren und Essen knapp. Norden und Halle fehlen.", "de", "DE"),
        ("An Orchid Island festival in March", "en", "ZA"),
        ("アドバイスを求める", "ja", "JP"),
        ("chad and turkey are words here, and so is reading", "en", "US"),
        ("", "en", ""),
    ],
)
def test_words_and_people_are_no_places(text: str, language: str, country: str) -> None:
    assert ids(text, language, country) == set()


def test_a_common_word_is_a_place_where_its_context_says_so() -> None:
    assert READING in ids("Police in Reading said two men were held.", country="GB")


def test_which_of_two_cities_depends_on_the_country_named_and_on_home() -> None:
    assert LONDON in ids("A fire in London was put out.", country="US")
    ontario = ids("Canada: a fire in London was put out, and Canada sent help.", country="CA")
    assert LONDON not in ontario
    assert "country:CA" in ontario
    assert "place:6058560" in ontario


def test_a_countrys_name_is_the_countrys() -> None:
    found = FINDER.places("Mexico wins", "", "Mexico won and Luxembourg lost.", "en", "")
    assert [entity.id for entity in found] == ["country:MX", "country:LU"]


def test_title_first_then_by_mentions_and_the_lede_once() -> None:
    lede = "Lima shook at dawn, and people in Lima ran out into the streets of the old town before sunrise on Monday."
    found = FINDER.places("Quake rattles Lima suburbs", lede, lede + " Paris sent help. Paris is far.", "en", "US")
    assert [(entity.id, entity.mentions, entity.in_title) for entity in found] == [(LIMA, 3, True), (PARIS, 2, False)]
    assert found[0].country == "PE"
    assert found[0].name == "Lima"


def test_the_number_of_entities_is_bounded() -> None:
    finder = PlaceFinder(GAZETTEER, PlacePolicy(kept=2))
    assert len(finder.places("", "", "Japan, Peru, Chile and Kenya met.", "en", "")) == 2


@pytest.mark.parametrize(
    ("text", "language", "country", "wanted"),
    [
        ("В Москве и Новосибирске ждут снега.", "ru", "RU", {"place:524901", "place:1496747"}),
        ("V Praze se jednalo o Ukrajině.", "cs", "CZ", {"place:3067696", "country:UA"}),
        ("Helsingissä satoi lunta.", "fi", "FI", {"place:658225"}),
        ("תושבי תל אביב הפגינו בירושלים.", "he", "IL", {"place:293397", "place:281184"}),
        ("თბილისში თოვლი მოვიდა.", "ka", "GE", {"place:611717"}),
        ("Deutschlands Kanzler reist nach Bayern.", "de", "DE", {"country:DE", "region:DE-BY"}),
    ],
)
def test_declined_names_are_led_back(text: str, language: str, country: str, wanted: set[str]) -> None:
    assert ids(text, language, country) == wanted


def test_what_follows_a_town_says_where_it_is() -> None:
    assert ids("He lives in Athens, Georgia, with his dog.") >= {"place:4180386"}
    assert "place:2153925" not in ids("It was at his home in Palm Beach in Florida.", country="AU")


def test_a_region_is_told_from_the_country_of_its_name() -> None:
    assert "region:US-GA" in ids("Ballots were counted in Georgia and in Atlanta.", country="US")
    assert "country:GE" in ids("Talks in Georgia end; Tbilisi is content, Armenia too.", country="GB")


def test_what_is_used_far_more_than_the_town_is_no_form_of_its_name() -> None:
    assert ids("Die Geisel der Hamas kam frei. Indes wurde verhandelt.", "de", "DE") == set()
