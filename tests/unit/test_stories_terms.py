"""Terms: words, names, numbers and entities in scripts with and without spaces, with and without capitals."""

from __future__ import annotations

import pytest

from state_schemas.articles import Entity
from udfs.stories.terms import (
    ENTITY,
    LEDE,
    MAX_TERMS,
    NAME,
    NUMBER,
    PLACE,
    STEP,
    TITLE,
    Terms,
    Vocabulary,
    unpack,
)


def flags(terms: Terms) -> dict[int, int]:
    return dict(zip(terms.ids.tolist(), terms.flags.tolist(), strict=True))


def shared(one: Terms, other: Terms, kind: int = 255) -> int:
    mine, theirs = flags(one), flags(other)
    return sum(1 for term in mine if term in theirs and mine[term] & kind and theirs[term] & kind)


def of(title: str, body: str = "", language: str = "en", entities: tuple[Entity, ...] = ()) -> Terms:
    return Vocabulary(language).terms(title, "", body, entities)


def test_names_are_capitals_inside_a_sentence():
    terms = of("Fire at depot", "Workers fled. Mayor Okonjo Bell thanked firefighters, Bell said.")
    names = of("x", "When Okonjo Bell came.")
    assert shared(terms, names, NAME) == 3  # okonjo, bell, and the two together
    plain = of("x", "he said workers fled")
    assert shared(terms, plain, NAME) == 0


def test_a_headline_in_title_case_makes_no_names_of_its_words():
    terms = of("Strong Storm Hits Coastal Towns Hard", "A strong storm hit towns on the coast.")
    assert not any(flag & NAME for flag in terms.flags.tolist())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("1,200 people", "1.200 Menschen", id="thousands"),
        pytest.param("magnitude 6.1", "Stärke 6,1", id="decimals"),
        pytest.param("12", "١٢", id="Arabic-Indic digits"),
        pytest.param("12", "१२", id="Devanagari digits"),
    ],
)
def test_numbers_are_equal_however_they_are_written(one, other):
    assert shared(of(one), of(other), NUMBER) == 1


def test_inflected_words_of_one_root_meet():
    assert shared(of("Землетрясение", language="ru"), of("землетрясения", language="ru")) == 1


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("ja", "東京で地震", "地震で東京が停電"),
        ("zh", "北京发生地震", "地震袭击北京"),
        ("th", "แผ่นดินไหวที่เชียงใหม่", "เชียงใหม่แผ่นดินไหว"),
    ],
)
def test_scripts_without_spaces_share_pairs_of_characters(language, one, other):
    assert shared(of(one, language=language), of(other, language=language)) >= 2


def test_rare_words_stand_in_for_names_where_a_script_has_no_capitals():
    terms = of("انفجار", "وقال رئيس بلدية زمبوانغا إن الحريق انتهى", language="ar")
    assert any(flag & NAME for flag in terms.flags.tolist())


def test_places_are_entities_and_their_words_are_marked():
    lima = Entity(id="place:3936456", name="Lima", in_title=True, country="PE")
    terms = of("Quake near Lima", "People in Lima fled.", entities=(lima,))
    assert sum(1 for flag in terms.flags.tolist() if flag & ENTITY) == 1
    assert any(flag & PLACE and not flag & ENTITY for flag in terms.flags.tolist())


def test_common_words_have_small_priors_and_unknown_ones_large():
    priors = of("the zyxwvut").priors.tolist()
    assert priors[0] < STEP
    assert priors[1] == 6 * STEP


@pytest.mark.parametrize("language", ["und", "km", "en", "zh", "ja", "ko", "vi", "no"])
def test_any_language_works_with_and_without_a_word_list(language):
    terms = of("Một trận động đất 地震 khẩn 지진 ភូមិ", "Nội dung", language=language)
    assert len(terms.ids) > 3
    assert len(terms.ids) == len(terms.flags) == len(terms.priors)


def test_the_number_of_terms_is_bounded_and_those_of_the_title_come_first():
    terms = of("Kestrel", " ".join(f"word{number}x" for number in range(5_000)))
    assert len(terms.ids) <= MAX_TERMS
    assert terms.flags[0] == TITLE | LEDE


def test_bytes_give_the_terms_back():
    terms = of("Quake 6.1", "in Lima")
    again = unpack(terms.ids.astype("<u4").tobytes(), terms.flags.tobytes(), terms.priors.tobytes())
    assert flags(again) == flags(terms)


def test_empty_texts_have_no_terms():
    assert len(of("", "").ids) == 0
