from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_schemas import ids
from state_schemas.languages import LANGUAGES, UNKNOWN, known_language, language_number


@given(st.integers(0, 2**42 - 1), st.sampled_from(LANGUAGES), st.integers(0, 2**13 - 1))
def test_a_story_id_names_its_time_language_and_counter(minted_ms: int, language: str, counter: int) -> None:
    story = ids.story_id(minted_ms, language, counter)
    assert len(story) == 16
    assert ids.story_id_parts(story) == (minted_ms, language_number(language), counter)


@given(st.integers(0, 2**42 - 2), st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES))
def test_story_ids_sort_by_time(minted_ms: int, earlier: str, later: str) -> None:
    assert ids.story_id(minted_ms, earlier, 8191) < ids.story_id(minted_ms + 1, later, 0)


@pytest.mark.parametrize(("minted_ms", "counter"), [(-1, 0), (2**42, 0), (1, -1), (1, 2**13)])
def test_a_story_id_out_of_range_is_our_bug(minted_ms: int, counter: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        ids.story_id(minted_ms, "en", counter)


@pytest.mark.parametrize("text", ["", "abc", "g" * 16, "0" * 17])
def test_what_is_no_story_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"story id|invalid literal"):
        ids.story_id_parts(text)


def test_ids_are_those_of_every_earlier_release() -> None:
    # Written down once: a change of hash would make every article and feed new.
    assert ids.article_id("https://news.example/a") == "f65cc979f2fa2d3a0b030e7616628033"
    assert ids.feed_id("https://news.example/feed.xml") == "c77057758f56e16b"
    assert ids.change_id("en", 1, 42) == "en-1-42"


def test_the_language_table_is_append_only() -> None:
    # The first rows as released; numbers stand in story ids for good.
    assert LANGUAGES[:8] == ("en", "es", "de", "fr", "pt", "ru", "ja", "ar")
    assert len(set(LANGUAGES)) == len(LANGUAGES)
    assert max(map(language_number, LANGUAGES)) < 1 << ids.STORY_LANGUAGE_BITS
    assert language_number(UNKNOWN) == language_number("tlh") == 0


@pytest.mark.parametrize(
    ("tag", "base"),
    [
        ("pt-BR", "pt"),
        ("zh_Hant_TW", "zh"),
        ("nb-NO", "no"),
        ("EN", "en"),
        ("iw", "he"),
        ("tlh", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_a_language_tag_has_one_base_language(tag: str, base: str) -> None:
    assert known_language(tag) == base
