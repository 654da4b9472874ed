from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_schemas.pages import EditionPages, PageStory
from state_schemas.ranking import StoryView
from tests.unit.ranking_samples import HOUR, NOW, member, view
from udfs.editions import load_reference
from udfs.ranking.board import Board
from udfs.ranking.cycle import cycle
from udfs.ranking.policy import RankingPolicy
from udfs.ranking.representative import headline_soundness, representative

POLICY = RankingPolicy()
REFERENCE = load_reference()
SECTIONS = [section.id for section in REFERENCE.sections]
BRITAIN = next(edition for edition in REFERENCE.editions if edition.id == "en-gb")
INDIA = next(edition for edition in REFERENCE.editions if edition.id == "en-in")


def _pages(*views: StoryView, now_ms: int = NOW, edition: Any = BRITAIN) -> EditionPages:
    board = Board(POLICY, REFERENCE.weights)
    for one in views:
        board.put(one)
    found = cycle(board, {v.story_id: v for v in views}, [edition], SECTIONS, now_ms, POLICY, REFERENCE.weights)
    return found[0]


def _section(pages: EditionPages, section: str) -> list[str]:
    return [story.story_id for page in pages.pages if page.section == section for story in page.stories]


def _story(pages: EditionPages, story: str) -> PageStory:
    return next(s for page in pages.pages if page.section == "top" for s in page.stories if s.story_id == story)


def test_wider_coverage_stands_higher() -> None:
    wide = view("wide", member("a"), member("b"), member("c"))
    narrow = view("narrow", member("d"))
    assert _section(_pages(narrow, wide), "top") == ["wide", "narrow"]


def test_feeds_of_one_publisher_are_not_corroboration() -> None:
    sections = view("one", *(member(f"a{n}", publisher="daily.example") for n in range(4)))
    independent = view("two", member("b"), member("c"))
    pages = _pages(sections, independent)
    assert _section(pages, "top") == ["two", "one"]
    assert (_story(pages, "one").publishers, _story(pages, "two").publishers) == (1, 2)


def test_titles_of_one_owner_count_once() -> None:
    group = view("group", *(member(f"a{n}", owner="group") for n in range(6)))
    independent = view("two", member("b"), member("c"))
    assert _section(_pages(group, independent), "top") == ["two", "group"]


def test_copies_add_nothing() -> None:
    copied = view("copied", member("a"), *(member(f"c{n}", of="a") for n in range(20)))
    plain = view("plain", member("b"))
    pages = _pages(copied, plain)
    assert _story(pages, "copied").score == _story(pages, "plain").score
    assert _story(pages, "copied").copies == 20
    assert _story(pages, "copied").top_sources == ("A",)


def test_a_story_ages_by_half_in_the_half_life() -> None:
    half_life = int(REFERENCE.weights.freshness_half_life_h * HOUR)
    stories = [view("s", member("a", first_seen_ms=NOW))]
    fresh, aged = _story(_pages(*stories), "s"), _story(_pages(*stories, now_ms=NOW + half_life), "s")
    assert aged.score == pytest.approx(fresh.score / 2, rel=1e-3)


def test_a_republished_date_gains_nothing() -> None:
    redated = view("redated", member("a", first_seen_ms=NOW - 9 * HOUR, published_ms=NOW))
    newer = view("newer", member("b", first_seen_ms=NOW - HOUR, published_ms=NOW - HOUR))
    assert _section(_pages(redated, newer), "top") == ["newer", "redated"]


def test_home_coverage_lifts_a_story_in_its_own_edition() -> None:
    british, indian = view("gb", member("a", country="GB")), view("in", member("b", country="IN"))
    assert _section(_pages(british, indian), "top") == ["gb", "in"]
    assert _section(_pages(british, indian, edition=INDIA), "top") == ["in", "gb"]


def test_sections_hold_their_topics() -> None:
    stories = [
        view("sport", member("a"), topics=("sports",)),
        view("both", member("b"), topics=("business", "technology")),
        view("foreign", member("c", country="FR"), topics=("world",), places=(("country:FR", "France", "FR"),)),
        view("home", member("d"), topics=("nation",), places=(("country:GB", "Britain", "GB"),)),
    ]
    pages = _pages(*stories)
    assert _section(pages, "sports") == ["sport"]
    assert _section(pages, "business") == _section(pages, "technology") == ["both"]
    assert _section(pages, "world") == ["foreign"]
    assert _section(pages, "nation") == ["home"]
    assert set(_section(pages, "top")) == {"sport", "both", "foreign", "home"}


def test_a_section_without_stories_has_no_page() -> None:
    assert {page.section for page in _pages(view("s", member("a"))).pages} == {"top"}


def test_a_page_holds_no_more_than_its_limit() -> None:
    many = [view(f"s{n:03}", member(f"a{n}")) for n in range(200)]
    assert len(_section(_pages(*many), "top")) == REFERENCE.weights.max_stories_per_section


def test_a_story_none_of_whose_members_may_be_listed_is_left_out() -> None:
    assert _pages(view("s", member("a", noindex=True))).pages == ()


def test_a_member_that_may_not_be_listed_is_neither_named_nor_counted() -> None:
    hidden = {"noindex": True, "authority": 1.0, "first_seen_ms": NOW}
    with_hidden = _story(_pages(view("s", member("a"), member("b", **hidden), member("c", of="a", **hidden))), "s")
    without = _story(_pages(view("s", member("a"))), "s")
    assert with_hidden.representative.article_id == "a"
    assert with_hidden.top_sources == without.top_sources == ("A",)
    assert (with_hidden.publishers, with_hidden.originals, with_hidden.copies) == (1, 1, 0)
    assert (with_hidden.score, with_hidden.parts) == (without.score, without.parts)


def test_a_story_without_update_for_two_days_is_gone_even_if_the_writer_stands_still() -> None:
    assert _pages(view("s", member("a")), now_ms=NOW + 48 * HOUR).pages == ()


def test_a_publishers_snippet_limit_is_kept() -> None:
    pages = _pages(
        view(
            "s",
            member(
                "a", lede="Twenty characters...!", max_snippet=6, image="https://i.example/a", max_image_preview="none"
            ),
        )
    )
    story = _story(pages, "s")
    assert (story.lede, story.image) == ("Twenty", "")


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"centrality": 0.9}, {"centrality": 0.3}),
        ({"authority": 0.9}, {"authority": 0.2}),
        ({}, {"first_seen_ms": NOW - 5 * HOUR}),
        ({}, {"from_entry": True}),
        ({}, {"title": "SHOCKING!! YOU WILL NOT BELIEVE THIS"}),
        ({}, {"labels": ("opinion",), "authority": 1.0, "centrality": 1.0}),
        ({}, {"of": "x", "authority": 1.0, "centrality": 1.0}),
        ({}, {"noindex": True, "authority": 1.0}),
        ({"country": "GB"}, {"country": "US"}),
    ],
)
def test_the_representative(better: dict[str, Any], worse: dict[str, Any]) -> None:
    # The better one has the later id, so a tie would fall to the other.
    story = view("s", member("a", **worse), member("b", **better))
    chosen = representative(story, ("GB",), NOW, POLICY, REFERENCE.weights)
    assert chosen is not None
    assert chosen.article_id == "b"


@pytest.mark.parametrize(
    ("title", "sound"),
    [
        ("Ferry collides with pier in Harbour Bay, nine hurt", 1.0),
        ("地震で高速道路が通行止めに", 1.0),
        ("FERRY COLLIDES WITH PIER IN HARBOUR BAY", 0.7),
        ("Is this the end of the harbour ferry?", 0.8),
        ("Ferry", 0.5),
    ],
)
def test_a_sound_headline(title: str, sound: float) -> None:
    assert headline_soundness(title) == pytest.approx(sound)


STORY = st.builds(
    lambda number, members: view(f"s{number}", *members),
    st.integers(0, 9),
    st.lists(
        st.builds(
            lambda number, country, hours, of: member(
                f"a{number}", country=country, first_seen_ms=NOW - hours * HOUR, of=of
            ),
            st.integers(0, 30),
            st.sampled_from(["GB", "US", "FR", ""]),
            st.integers(0, 40),
            st.sampled_from(["", "", "x"]),
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda m: m.article_id,
    ),
)


@given(st.lists(STORY, min_size=1, max_size=40))
def test_a_board_that_was_changed_ranks_like_one_built_afresh(puts: list[StoryView]) -> None:
    changed = Board(POLICY, REFERENCE.weights)
    views: dict[str, StoryView] = {}
    for number, one in enumerate(puts):
        if number % 5 == 4:
            changed.drop(one.story_id)
            views.pop(one.story_id, None)
        else:
            changed.put(one)
            views[one.story_id] = one
    fresh = Board(POLICY, REFERENCE.weights)
    for one in views.values():
        fresh.put(one)
    ranked = [
        cycle(board, views, [BRITAIN, INDIA], SECTIONS, NOW, POLICY, REFERENCE.weights) for board in (changed, fresh)
    ]
    assert ranked[0] == ranked[1]


@pytest.mark.parametrize("fault", [{"title": "  "}, {"url": "javascript:alert(1)"}, {"url": ""}])
def test_a_member_that_no_page_can_show_does_not_speak_for_a_story(fault: dict[str, Any]) -> None:
    chosen = representative(
        view("s", member("a", **fault), member("b", authority=0.1)), ("GB",), NOW, POLICY, REFERENCE.weights
    )
    assert chosen is not None
    assert chosen.article_id == "b"
    assert representative(view("s", member("a", **fault)), ("GB",), NOW, POLICY, REFERENCE.weights) is None


def test_an_absurd_authority_is_no_infinite_score() -> None:
    board = Board(POLICY, REFERENCE.weights)
    board.put(view("s", member("a", authority=1e308), member("b", authority=-1e308)))
    scores = board.scores(board.coverage(NOW), ("GB",))
    assert all(math.isfinite(score) for score in scores.score)
