from __future__ import annotations

import asyncio

import pytest
from click.testing import CliRunner

from cli import pages
from state_schemas.pages import EditionPages, Link, Page, PageStory
from tests.contracts.memory_objects import MemoryObjects
from udfs.publish.decide import PublishPolicy
from udfs.publish.publisher import publish


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryObjects()
    link = Link(article_id="a", url="https://n.example/a", title="Ferry [collides] with pier", publisher="n.example")
    story = PageStory(
        story_id="s", representative=link, score=1, originals=1, copies=0, publishers=1, first_ms=1, latest_ms=1
    )
    page = Page(edition="en-gb", section="top", version=0, cycle=1, ranker_version="1", stories=(story,))
    cycle = EditionPages(edition="en-gb", cycle=1, pages=(page,))
    asyncio.run(publish(store, cycle, None, 1, PublishPolicy()))
    monkeypatch.setattr(pages, "S3Objects", lambda _: store)


def test_pages_are_listed_without_the_editions_own_marks() -> None:
    done = CliRunner().invoke(pages.pages, ["list"])
    assert done.exit_code == 0
    assert "en-gb" in done.output
    assert "_cycle" not in done.output


def test_a_page_is_shown_with_the_publishers_own_words() -> None:
    done = CliRunner().invoke(pages.pages, ["show", "en-gb"])
    assert "Ferry [collides] with pier" in done.output
    assert "1 publisher, 1 original, 0 copies" in done.output


def test_a_rollback_without_an_earlier_version_is_one_line_and_status_2() -> None:
    done = CliRunner().invoke(pages.pages, ["rollback", "en-gb", "top"])
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert "no version before v1" in done.output


def test_a_rollback_and_its_end_say_what_counts() -> None:
    done = CliRunner().invoke(pages.pages, ["rollback", "en-gb", "top", "--to", "1", "--minutes", "5"])
    assert done.exit_code == 0
    assert "en-gb/top: v1 counts until" in done.output
    assert "rolled_back" in CliRunner().invoke(pages.pages, ["list"]).output
    assert "next cycle" in CliRunner().invoke(pages.pages, ["release", "en-gb", "top"]).output


def test_a_page_that_is_not_there_is_one_line_and_status_2() -> None:
    done = CliRunner().invoke(pages.pages, ["show", "en-gb", "sports"])
    assert done.exit_code == 2
    assert "no page en-gb/sports" in done.output
