"""Entities of an article: people and organisations beside places, linked, recurring and stated."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.articles.entities import EntityFinder, EntityPolicy, load_entity_finder, load_names
from udfs.articles.gazetteer import Gazetteer
from udfs.articles.stated_entities import MAX_MENTIONS, Mention, stated_mentions

REFERENCE = Path(__file__).parents[2] / "reference_data"
GAZETTEER = Gazetteer(REFERENCE)
FINDER = EntityFinder(GAZETTEER, load_names(REFERENCE))


def found(body: str, language: str = "en", title: str = "", stated: tuple[Mention, ...] = ()) -> dict[str, str]:
    return {entity.id: entity.type for entity in FINDER.entities(title, "", body, language, "", stated)}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Delegates of the United Nations met.", "en"),
        ("Los delegados de las Naciones Unidas se reunieron.", "es"),
        ("Делегаты ООН встретились.", "ru"),
        ("国連の会議が開かれた。", "ja"),
        ("联合国代表周三开会。", "zh"),
        ("유엔 대표들이 만났다.", "ko"),
        ("اجتمع مندوبو الأمم المتحدة.", "ar"),
    ],
)
def test_one_organisation_is_one_id_in_every_script(text: str, language: str) -> None:
    assert found(text, language)["wd:Q1065"] == "organisation"


def test_a_declined_name_is_the_person() -> None:
    assert found("Встреча с Владимиром Путиным прошла без прессы.", "ru").get("wd:Q7747") == "person"


def test_a_name_that_recurs_is_kept_and_a_surname_alone_is_the_same_person() -> None:
    text = (
        "The inquiry heard Helen Marsh on Monday. Marsh blamed Corvane Energy. A lawyer said Corvane Energy was sorry."
    )
    entities = {entity.id: entity for entity in FINDER.entities("", "", text, "en", "")}
    assert entities["name:helen_marsh"].type == "person"
    assert entities["name:helen_marsh"].mentions == 2
    assert entities["name:corvane_energy"].mentions == 2


def test_what_stands_once_is_no_entity() -> None:
    assert found("The inquiry heard Helen Marsh on Monday.") == {}


def test_a_pronoun_after_the_first_word_of_a_sentence_is_no_name() -> None:
    text = "So I went to the harbour. So I asked the pilots. Then I came home, and then I slept. So I did."
    assert [one for one in found(text, "en") if one.startswith("name:")] == []


def test_no_place_inside_a_persons_or_a_papers_name() -> None:
    text = "It was Chad Smith who told the Chicago Tribune. Denzel Washington was there. Washington agreed."
    assert not {"country:TD", "place:4887398", "place:4140963"} & found(text).keys()


def test_a_place_named_like_a_person_is_the_place_after_a_preposition() -> None:
    assert "place:4140963" in found("Denzel Washington was honoured in Washington on Friday.")


def test_the_language_independent_id_has_no_accents() -> None:
    one = found("Vino José Peña ayer. Luego José Peña habló.", "es")
    other = found("Jose Pena came. Then Jose Pena spoke.")
    assert one.keys() & other.keys() == {"name:jose_pena"}


def test_a_stated_item_is_believed_and_replaces_our_id() -> None:
    stated = (Mention("Helen Marsh", "person", "wd:Q123"), Mention("Nobody Here", "person"))
    text = "The inquiry heard Helen Marsh on Monday. Marsh left."
    assert found(text, stated=stated) == {"wd:Q123": "person"}
    assert found("Nothing of the kind.", stated=stated) == {"wd:Q123": "person"}


def test_a_stated_place_that_the_text_names_stays_one_entity() -> None:
    assert found("Rain fell in Tokyo.", stated=(Mention("Tokyo", "place", "wd:Q1490"),)) == {"place:1850147": "place"}


def test_the_heaviest_are_kept_titles_first() -> None:
    finder = EntityFinder(GAZETTEER, load_names(REFERENCE), EntityPolicy(kept=2))
    kept = finder.entities("Lima shaken", "", "Japan helped. Japan sent aid to Lima. Peru and Chile met.", "en", "")
    assert [entity.id for entity in kept] == ["place:3936456", "country:JP"]


def test_statements_of_json_ld() -> None:
    node = {
        "about": {"@type": "Person", "name": " Ada  Lovelace ", "sameAs": ["x", "https://www.wikidata.org/wiki/Q7259"]},
        "mentions": [
            {"@type": ["Thing", "Organization"], "name": "Acme"},
            {"@type": "Thing", "name": "Weather"},
            {"@type": "http://schema.org/City", "name": "Tokyo", "@id": "http://www.wikidata.org/entity/Q1490"},
            "text",
            {"name": 3},
            {"@type": "Person", "name": "Ada Lovelace", "sameAs": "https://www.wikidata.org/wiki/Q7259"},
        ],
    }
    assert stated_mentions(node) == (
        Mention("Ada Lovelace", "person", "wd:Q7259"),
        Mention("Acme", "organisation"),
        Mention("Tokyo", "place", "wd:Q1490"),
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "@type", "sameAs", "@id", "@value"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_statements_never_raise(about: object, mentions: object) -> None:
    assert len(stated_mentions({"about": about, "mentions": mentions})) <= MAX_MENTIONS


def test_statements_are_bounded() -> None:
    node = {"mentions": [{"@type": "Person", "name": f"Person {number}"} for number in range(100)]}
    assert len(stated_mentions(node)) == MAX_MENTIONS


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200), st.sampled_from(["en", "ru", "ar", "zh", "ka", "und"]))
def test_any_text_is_read_and_equal_texts_give_equal_entities(text: str, language: str) -> None:
    assert FINDER.entities(text, "", text, language, "") == FINDER.entities(text, "", text, language, "")


def test_the_seed_loads_from_a_folder() -> None:
    assert load_entity_finder(REFERENCE).entities("", "", "NASA said so: NASA.", "en", "") is not None
