from __future__ import annotations

from typing import Any

from cli.observe import Observed, quantile
from state_schemas.pages import Link, Page, PageStory
from tests.unit.ranking_samples import change


def _truth(article: str, event: str = "quake", language: str = "en", **more: Any) -> dict[str, Any]:
    url = f"https://{article}.example/a"
    return {"url": url, "event": event, "language": language, "kind": "original", "published_ms": 1_000} | more


def _page(**members: int) -> Page:
    stories = tuple(
        PageStory(
            story_id=story,
            representative=Link(article_id="a", url="https://a.example/a", title="t", publisher="a"),
            score=1.0,
            originals=count,
            copies=0,
            publishers=count,
            first_ms=0,
            latest_ms=0,
        )
        for story, count in members.items()
    )
    return Page(edition="en-gb", section="top", version=1, cycle=1, ranker_version="1", stories=stories)


def _observed(*truth: dict[str, Any]) -> Observed:
    observed = Observed()
    observed.published(truth)
    return observed


def test_an_event_that_is_one_story_on_a_page_has_no_fault() -> None:
    observed = _observed(_truth("a"), _truth("b", published_ms=2_000))
    observed.change(change(1, "started", "s1", "a"))
    observed.page(_page(s1=1), 9_000)
    observed.change(change(2, "assigned", "s1", "b", summary={"originals": 2}))
    observed.page(_page(s1=2), 14_000)
    assert observed.faults() == []
    assert observed.delays_s() == [8.0, 12.0]
    assert observed.first_page_s() == 8.0


def test_an_article_counts_as_shown_only_when_the_page_counts_it() -> None:
    observed = _observed(_truth("a"), _truth("b"))
    observed.change(change(1, "started", "s1", "a"))
    observed.change(change(2, "assigned", "s1", "b", summary={"originals": 2}))
    observed.page(_page(s1=1), 9_000)
    assert observed.faults() == ["quake (en): https://b.example/a reached no page"]


def test_what_is_wrong_is_said() -> None:
    observed = _observed(_truth("a"), _truth("b"), _truth("c", event="fire"), _truth("d", event="vote"))
    observed.change(change(1, "started", "s1", "a"))
    observed.change(change(2, "started", "s2", "b"))
    observed.change(change(3, "assigned", "s2", "c"))
    observed.page(_page(s1=1, s2=2), 9_000)
    assert observed.faults() == [
        "one story for fire (en), quake (en)",
        "quake (en): 2 stories",
        "vote (en): https://d.example/a is in no story",
    ]


def test_a_merge_heals_a_split_event() -> None:
    observed = _observed(_truth("a"), _truth("b"))
    observed.change(change(1, "started", "s1", "a"))
    observed.change(change(2, "started", "s2", "b"))
    observed.change(change(3, "merged", "s1", other="s2", summary={"originals": 2}))
    observed.page(_page(s1=2), 9_000)
    assert observed.faults() == []


def test_one_event_in_two_languages_is_two_stories() -> None:
    observed = _observed(_truth("a"), _truth("b", language="de"))
    observed.change(change(1, "started", "s1", "a"))
    observed.change(change(2, "started", "s2", "b"))
    observed.page(_page(s1=1, s2=1), 9_000)
    assert observed.faults() == []


def test_nothing_is_owed_for_variants_and_retracted_articles() -> None:
    observed = _observed(_truth("a", kind="variant"), _truth("b", retracted=True))
    assert observed.faults() == []


def test_quantiles_are_of_the_nearest_rank() -> None:
    assert [quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.0, 0.5, 0.95)] == [1.0, 3.0, 4.0]
