"""When a representative's page is asked for again: how often, how many, and of which feed."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_schemas.pages import EditionPages, Link, Page, PageStory
from state_schemas.ranking import StoryView
from tests.unit.ranking_samples import HOUR, NOW, member, view
from udfs.ranking.policy import RankingPolicy
from udfs.ranking.rechecks import due, rechecks

POLICY = RankingPolicy()
MINUTE = 60_000
START = NOW - NOW % MINUTE


def link(article: str, first_seen_ms: int = START) -> Link:
    return Link(
        article_id=article,
        url=f"https://{article}.example/a",
        title="A headline",
        publisher="p",
        first_seen_ms=first_seen_ms,
    )


def pages(*lists: tuple[str, ...], first_seen_ms: int = START, supporting: tuple[str, ...] = ()) -> list[EditionPages]:
    """One edition with a page for each list of articles, each its own story."""
    return [
        EditionPages(
            edition="en-gb",
            cycle=NOW,
            pages=tuple(
                Page(
                    edition="en-gb",
                    section=f"s{number}",
                    version=0,
                    cycle=NOW,
                    ranker_version="1",
                    stories=tuple(
                        PageStory(
                            story_id=f"story-{article}",
                            representative=link(article, first_seen_ms),
                            supporting=tuple(link(other, first_seen_ms) for other in supporting),
                            score=1.0,
                            originals=1,
                            copies=0,
                            publishers=1,
                            first_ms=0,
                            latest_ms=0,
                        )
                        for article in articles
                    ),
                )
                for number, articles in enumerate(lists)
            ),
        )
    ]


def views(*articles: str, **changes: Any) -> dict[str, StoryView]:
    return {f"story-{article}": view(f"story-{article}", member(article, **changes)) for article in articles}


def instants(article: str, from_ms: int, until_ms: int, policy: RankingPolicy = POLICY) -> list[int]:
    return [now for now in range(from_ms, until_ms, policy.cycle_ms) if due(link(article), now, policy)]


@given(st.text("0123456789abcdef", min_size=32, max_size=32))
def test_every_ten_minutes_for_two_hours_then_every_half_hour(article: str) -> None:
    young = instants(article, START, START + 2 * HOUR)
    assert all(later - earlier == 10 * MINUTE for earlier, later in pairwise(young))
    assert 10 * MINUTE <= young[0] - START < 20 * MINUTE, "it was read just now"
    older = instants(article, START + 2 * HOUR, START + 6 * HOUR)
    assert len(older) == 8
    assert all(later - earlier == 30 * MINUTE for earlier, later in pairwise(older))


@pytest.mark.parametrize("cycle_ms", [5_000, 60_000, 7 * MINUTE])
def test_once_an_interval_whatever_the_cycle(cycle_ms: int) -> None:
    policy = RankingPolicy(cycle_ms=cycle_ms)
    start = -(-(START + 3 * HOUR) // cycle_ms) * cycle_ms
    for number in range(20):
        found = instants(f"{number:032x}", start, start + 12 * HOUR, policy)
        assert 23 <= len(found) <= 25


def test_articles_that_came_together_are_not_asked_for_together() -> None:
    articles = [f"{number:032x}" for number in range(3_000)]
    at = Counter(now for article in articles for now in instants(article, START + 2 * HOUR, START + 3 * HOUR))
    assert len(at) == 60
    assert max(at.values()) < 150, "an even load would be 100 a minute"


def test_an_article_of_the_future_waits() -> None:
    assert not any(due(link("a", START + HOUR), START + minute * MINUTE, POLICY) for minute in range(60))


def wishes(found: list[EditionPages], seen: dict[str, StoryView], policy: RankingPolicy = POLICY) -> list[str]:
    """The articles asked for within half an hour, in order."""
    asked = []
    for minute in range(180, 210):
        now = START + minute * MINUTE
        for signal in rechecks(found, seen, now, policy):
            assert (signal.signal, signal.signalled_ms) == ("recheck", now)
            (url,) = signal.links
            assert signal.feed_id == "feed-" + url.removeprefix("https://").partition(".")[0]
            asked.append(signal.feed_id.removeprefix("feed-"))
    return asked


def test_each_article_once_on_however_many_pages_it_stands() -> None:
    assert sorted(wishes(pages(("a", "b"), ("b", "a"), ("a",)), views("a", "b"))) == ["a", "b"]


def test_only_articles_whose_feed_is_known() -> None:
    seen = views("a") | views("b", feed_id="")
    assert wishes(pages(("a", "b", "unknown")), seen) == ["a"]


def test_supporting_links_too() -> None:
    seen = {"story-a": view("story-a", member("a"), member("c"))}
    assert sorted(wishes(pages(("a",), supporting=("c",)), seen)) == ["a", "c"]


def test_a_cycle_asks_for_the_best_placed_first_and_no_more_than_its_bound() -> None:
    policy = RankingPolicy(cycle_ms=30 * MINUTE, rechecks_a_cycle=3)  # all are due in every cycle
    now = START + 3 * HOUR
    found = rechecks(pages(("a", "b", "c"), ("d", "e"), supporting=("f",)), views(*"abcdef"), now, policy)
    assert [signal.feed_id for signal in found] == ["feed-a", "feed-d", "feed-b"]


def test_nothing_of_no_pages() -> None:
    assert rechecks([], {}, START, POLICY) == ()
