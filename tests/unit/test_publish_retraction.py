"""Retracted articles leave pages whatever ranking does; rollbacks refuse what shows them."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from connectors.objects import ObjectStoreError, Stored
from state_schemas.codec import decode_record, encode_record, load_state
from state_schemas.pages import (
    EditionPages,
    Link,
    Page,
    PageStory,
    Pointer,
    Tombstone,
    pointer_key,
    tombstone_key,
)
from state_schemas.ranking import PublishedEdition, PublishedPage
from tests.contracts.memory_objects import MemoryObjects
from udfs.publish.decide import PublishPolicy
from udfs.publish.publisher import Published, publish
from udfs.publish.rollback import RollbackError, release, roll_back

POLICY = PublishPolicy()
NOW = 1_796_000_000_000


def _link(article: str) -> Link:
    return Link(article_id=article, url=f"https://n.example/{article}", title="A headline", publisher="n.example")


def _page(*articles: str, cycle: int = 1, section: str = "top", supporting: tuple[str, ...] = ()) -> Page:
    stories = tuple(
        PageStory(
            story_id=f"s-{article}",
            representative=_link(article),
            supporting=tuple(map(_link, supporting)),
            score=1.0,
            originals=1,
            copies=0,
            publishers=1,
            first_ms=1,
            latest_ms=1,
        )
        for article in articles
    )
    return Page(edition="en-gb", section=section, version=0, cycle=cycle, ranker_version="1", stories=stories)


def _stone(article: str, at_ms: int = 5, *, retracted: bool = True) -> Tombstone:
    return Tombstone(article_id=article, retracted=retracted, decided_ms=at_ms, reason="gone", language="en")


def _cycle(cycle: int, *pages: Page, stones: tuple[Tombstone, ...] = ()) -> EditionPages:
    dated = tuple(replace(page, cycle=cycle) for page in pages)
    return EditionPages(edition="en-gb", cycle=cycle, pages=dated, tombstones=stones)


def _publish(store: Any, cycle: EditionPages, known: PublishedEdition | None = None, now_ms: int = NOW) -> Published:
    return asyncio.run(publish(store, cycle, known, now_ms, POLICY))


def _pointer(store: MemoryObjects, section: str = "top") -> Pointer:
    return decode_record(Pointer, store.objects[pointer_key("en-gb", section)])


def _shown(store: MemoryObjects, section: str = "top") -> list[str]:
    page = decode_record(Page, store.objects[_pointer(store, section).object])
    return [story.representative.article_id for story in page.stories]


def test_the_page_that_replaces_a_retracted_article_is_marked_and_its_tombstone_written() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(1, _page("a", "b")))
    done = _publish(store, _cycle(2, _page("b"), stones=(_stone("a"),)), first.edition)
    assert (_shown(store), _pointer(store).marks, done.purged) == (["b"], ("retracted",), 0)
    assert decode_record(Tombstone, store.objects[tombstone_key("a")]) == _stone("a")
    assert done.edition.uncleared == ()
    third = _publish(store, _cycle(3, _page("b", "c")), done.edition)
    assert (third.written, _pointer(store).marks) == (1, ())


def test_a_retraction_of_what_no_page_shows_marks_none() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(1, _page("a")))
    _publish(store, _cycle(2, _page("a", "b"), stones=(_stone("elsewhere"),)), first.edition)
    assert _pointer(store).marks == ()
    assert tombstone_key("elsewhere") in store.objects


def test_a_sections_only_story_goes_although_ranking_has_no_page_for_it() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(1, _page("a"), _page("a", "b", section="world")))
    done = _publish(store, _cycle(2, stones=(_stone("a"),)), first.edition)
    assert (_shown(store), _shown(store, "world"), done.purged) == ([], ["b"], 2)
    assert {_pointer(store, section).marks for section in ("top", "world")} == {("retracted",)}
    again = _publish(store, _cycle(3, _page("a")), done.edition)
    assert again.written == 1, "published again later"


def test_a_refused_page_still_loses_the_article() -> None:
    store = MemoryObjects()
    articles = [f"a{n}" for n in range(20)]
    first = _publish(store, _cycle(1, _page(*articles)))
    stones = tuple(map(_stone, articles[2:]))
    done = _publish(store, _cycle(2, _page(*articles[:2]), stones=stones), first.edition)
    assert done.invalid == {"top": "shrunken"}
    assert (_shown(store), _pointer(store).cycle, done.purged) == (articles[:2], 1, 1)
    assert _publish(store, _cycle(3, _page(*articles[:2], "new")), done.edition).written == 1


def test_a_pinned_page_loses_the_article_and_stays_pinned() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(1, _page("a", "b")))
    pinned = replace(_pointer(store), pinned_until_ms=NOW + 1000, sequence=2)
    store.objects[pointer_key("en-gb", "top")] = encode_record(pinned)
    done = _publish(store, _cycle(2, _page("c"), stones=(_stone("a"),)), first.edition)
    assert (_shown(store), done.purged, _pointer(store).pinned_until_ms) == (["b"], 1, NOW + 1000)


def test_a_supporting_link_goes_and_its_story_stays() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(1, _page("a", supporting=("x", "y"))))
    _publish(store, _cycle(2, stones=(_stone("x"),)), first.edition)
    (story,) = decode_record(Page, store.objects[_pointer(store).object]).stories
    assert [link.article_id for link in story.supporting] == ["y"]


def test_what_came_back_is_no_longer_refused_and_an_older_word_changes_nothing() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(1, _page("a", "b")))
    gone = _publish(store, _cycle(2, _page("b"), stones=(_stone("a", 5),)), first.edition)
    back = _publish(store, _cycle(3, _page("a", "b"), stones=(_stone("a", 9, retracted=False),)), gone.edition)
    assert not decode_record(Tombstone, store.objects[tombstone_key("a")]).retracted
    assert _pointer(store).marks == ()
    _publish(store, _cycle(4, _page("b"), stones=(_stone("a", 7),)), back.edition)
    assert not decode_record(Tombstone, store.objects[tombstone_key("a")]).retracted


def test_what_was_published_before_tombstones_were_known_loads() -> None:
    stored = b"\x01" + msgspec.msgpack.encode([5, {"top": [3, "digest", 12, 5]}])
    assert load_state(PublishedEdition, stored) == PublishedEdition(
        5, {"top": PublishedPage(3, "digest", 12, 5, "")}, ()
    )


class _FailsOnce(MemoryObjects):
    failing = False

    async def list(self, prefix: str) -> Any:
        if self.failing:
            raise ObjectStoreError("list: refused")
        return await super().list(prefix)


def test_a_store_that_was_down_is_cleared_in_a_later_cycle() -> None:
    store = _FailsOnce()
    first = _publish(store, _cycle(1, _page("a")))
    store.failing = True
    failed = _publish(store, _cycle(2, stones=(_stone("a"),)), first.edition)
    assert failed.refused["_cycle"].startswith("store_failed")
    assert [one[0] for one in failed.edition.uncleared] == ["a"]
    store.failing = False
    done = _publish(store, _cycle(3), failed.edition)
    assert (_shown(store), done.purged, done.edition.uncleared) == ([], 1, ())


# ---------------------------------------------------------------- rollback


def _roll(store: MemoryObjects, to: int | None = None) -> Pointer:
    return asyncio.run(roll_back(store, "en-gb", "top", to, NOW + 60_000, POLICY))


def _three_versions() -> tuple[MemoryObjects, PublishedEdition]:
    store = MemoryObjects()
    edition = None
    for cycle, article in enumerate(("a", "b", "c"), 1):
        edition = _publish(store, _cycle(cycle, _page(article)), edition).edition
    assert edition is not None
    return store, edition


def test_a_rollback_goes_to_the_version_before_and_pins_it() -> None:
    store, edition = _three_versions()
    pointer = _roll(store)
    assert (pointer.version, _shown(store), pointer.sequence, pointer.marks) == (2, ["b"], 4, ("rolled_back",))
    assert _publish(store, _cycle(4, _page("d")), edition).refused["top"] == "pinned"
    assert _roll(store, to=1).version == 1
    assert _shown(store) == ["a"]


def test_after_the_pin_an_unchanged_page_goes_out_again() -> None:
    store, edition = _three_versions()
    _roll(store)
    held = _publish(store, _cycle(4, _page("c")), edition)
    assert held.refused["top"] == "pinned"
    done = _publish(store, _cycle(5, _page("c")), held.edition, now_ms=NOW + 61_000)
    assert (done.written, _shown(store)) == (1, ["c"])


def test_a_pin_can_be_ended() -> None:
    store, edition = _three_versions()
    _roll(store)
    assert asyncio.run(release(store, "en-gb", "top", POLICY)).pinned_until_ms == 0
    assert _publish(store, _cycle(4, _page("c")), edition).written == 1


@pytest.mark.parametrize(
    ("section", "to", "message"),
    [
        ("top", 2, "shows what was retracted since \\(b\\)"),
        ("top", None, "shows what was retracted since \\(b\\)"),
        ("top", 9, "no version 9"),
        ("sport", None, "no page en-gb/sport"),
    ],
)
def test_what_cannot_be_rolled_back_to(section: str, to: int | None, message: str) -> None:
    store, edition = _three_versions()
    _publish(store, _cycle(4, _page("c"), stones=(_stone("b"),)), edition)
    before = dict(store.objects)
    with pytest.raises(RollbackError, match=message):
        asyncio.run(roll_back(store, "en-gb", section, to, NOW + 60_000, POLICY))
    assert store.objects == before


def test_the_first_version_has_none_before_it() -> None:
    store = MemoryObjects()
    _publish(store, _cycle(1, _page("a")))
    with pytest.raises(RollbackError, match="no version before v1"):
        _roll(store)


class _RetractedMeanwhile(MemoryObjects):
    """The tombstone is written just after the pointer was moved."""

    async def replace(self, key: str, data: bytes, etag: str) -> str:
        moved_to = await super().replace(key, data, etag)
        if key.startswith("latest/"):
            self.objects[tombstone_key("b")] = encode_record(_stone("b"))
        return moved_to


def _refused_after_the_move(store: _RetractedMeanwhile) -> None:
    """Three versions are published, and the rollback to the second is refused."""
    edition = None
    for cycle, article in enumerate(("a", "b", "c"), 1):
        edition = _publish(store, _cycle(cycle, _page(article)), edition).edition
        store.objects.pop(tombstone_key("b"), None)
    with pytest.raises(RollbackError, match="retracted"):
        _roll(store, to=2)


def test_a_retraction_during_the_rollback_takes_it_back() -> None:
    store = _RetractedMeanwhile()
    _refused_after_the_move(store)
    assert (_shown(store), _pointer(store).pinned_until_ms, _pointer(store).sequence) == (["c"], 0, 5)


class _PurgedMeanwhile(_RetractedMeanwhile):
    """And publishing has moved the pointer on before the rollback takes itself back."""

    async def replace(self, key: str, data: bytes, etag: str) -> str:
        moved_to = await super().replace(key, data, etag)
        if key == pointer_key("en-gb", "top") and "rolled_back" in decode_record(Pointer, data).marks:
            pointer = decode_record(Pointer, data)
            await super().replace(key, encode_record(replace(pointer, sequence=pointer.sequence + 1)), moved_to)
        return moved_to


def test_a_rollback_that_publishing_overtook_leaves_the_pointer_to_it() -> None:
    store = _PurgedMeanwhile()
    _refused_after_the_move(store)
    assert (_pointer(store).version, _pointer(store).sequence) == (2, 5)


def test_an_object_that_is_no_page_is_refused_plainly() -> None:
    store, _ = _three_versions()
    store.objects["pages/en-gb/top/v1"] = b"{"
    with pytest.raises(RollbackError, match="cannot be read"):
        _roll(store, to=1)
    assert isinstance(asyncio.run(store.get("pages/en-gb/top/v1")), Stored)
