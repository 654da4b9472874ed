from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.objects import ObjectStoreError, Stored
from state_schemas.codec import decode_record, encode_record
from state_schemas.pages import (
    CycleMark,
    EditionPages,
    Link,
    Page,
    PageStory,
    Pointer,
    cycle_key,
    page_key,
    pointer_key,
)
from state_schemas.ranking import PublishedEdition
from tests.contracts.memory_objects import MemoryObjects
from udfs.publish.decide import PublishPolicy, digest, moved, refusal
from udfs.publish.publisher import Published, publish

POLICY = PublishPolicy()
NOW = 1_796_000_000_000


def _story(story: str, **changes: Any) -> PageStory:
    link = Link(article_id=story, url=f"https://n.example/{story}", title="A headline", publisher="n.example")
    values: dict[str, Any] = {
        "story_id": story,
        "representative": link,
        "score": 1.0,
        "originals": 1,
        "copies": 0,
        "publishers": 1,
        "first_ms": 1,
        "latest_ms": 1,
    }
    return PageStory(**values | changes)


def _page(*stories: str, cycle: int = 1, section: str = "top", **changes: Any) -> Page:
    values: dict[str, Any] = {
        "edition": "en-gb",
        "section": section,
        "version": 0,
        "cycle": cycle,
        "ranker_version": "1",
        "stories": tuple(_story(story) for story in stories),
    }
    return Page(**values | changes)


def _cycle(*pages: Page) -> EditionPages:
    return EditionPages(edition="en-gb", cycle=pages[0].cycle, pages=pages)


def _publish(store: Any, cycle: EditionPages, known: PublishedEdition | None = None, now_ms: int = NOW) -> Published:
    return asyncio.run(publish(store, cycle, known, now_ms, POLICY))


def _pointer(store: MemoryObjects, section: str = "top") -> Pointer:
    return decode_record(Pointer, store.objects[pointer_key("en-gb", section)])


def _mark(store: MemoryObjects) -> CycleMark:
    return decode_record(CycleMark, store.objects[cycle_key("en-gb")])


def test_a_page_goes_live_and_its_pointer_names_it() -> None:
    store = MemoryObjects()
    done = _publish(store, _cycle(_page("s1")))
    pointer = _pointer(store)
    assert (done.written, pointer.version, pointer.object) == (1, 1, page_key("en-gb", "top", 1))
    assert [s.story_id for s in decode_record(Page, store.objects[pointer.object]).stories] == ["s1"]


def test_versions_and_sequences_grow_and_old_versions_stay() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(_page("s1", cycle=1)))
    _publish(store, _cycle(_page("s2", cycle=2)), first.edition)
    assert (_pointer(store).version, _pointer(store).sequence) == (2, 2)
    assert page_key("en-gb", "top", 1) in store.objects


def test_an_unchanged_page_is_not_rewritten_but_its_cycle_is_known() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(_page("s1", cycle=1)))
    before = dict(store.objects)
    again = _page("s1", cycle=2, stories=(_story("s1", score=0.5),))
    done = _publish(store, _cycle(again), first.edition)
    assert (done.written, done.unchanged) == (0, 1)
    changed = {key for key, data in store.objects.items() if before.get(key) != data}
    assert changed == {cycle_key("en-gb")}
    assert _mark(store).sections == {"top": 2}


def test_a_cycle_published_before_is_not_published_again() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(_page("s1", cycle=5)))
    before = dict(store.objects)
    assert _publish(store, _cycle(_page("s2", cycle=5)), first.edition).written == 0
    assert store.objects == before


def test_a_restart_without_memory_takes_the_next_free_version() -> None:
    store = MemoryObjects()
    _publish(store, _cycle(_page("s1", cycle=1)))
    store.objects[page_key("en-gb", "top", 2)] = b"left by a try whose pointer never moved"
    _publish(store, _cycle(_page("s2", cycle=2)), None)
    assert _pointer(store).version == 3
    assert store.objects[page_key("en-gb", "top", 2)] == b"left by a try whose pointer never moved"


def test_a_replaced_writer_cannot_move_a_pointer_back() -> None:
    store = MemoryObjects()
    _publish(store, _cycle(_page("new", cycle=9)))
    done = _publish(store, _cycle(_page("old", cycle=8)), None)
    assert done.refused["top"] == "newer_cycle"
    assert _pointer(store).cycle == 9


def test_a_pinned_page_stays_until_the_pin_ends() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(_page("good", cycle=1)))
    pinned = msgspec.structs.replace(_pointer(store), pinned_until_ms=NOW + 1000, sequence=2)
    store.objects[pointer_key("en-gb", "top")] = encode_record(pinned)
    assert _publish(store, _cycle(_page("other", cycle=2)), first.edition).refused["top"] == "pinned"
    done = _publish(store, _cycle(_page("other", cycle=3)), first.edition, now_ms=NOW + 2000)
    assert done.written == 1


def test_an_unreadable_pointer_is_replaced() -> None:
    store = MemoryObjects()
    store.objects[pointer_key("en-gb", "top")] = b"{broken"
    assert _publish(store, _cycle(_page("s1"))).written == 1


class _Contended(MemoryObjects):
    """Somebody else moves the pointer just before each of the first `times` writes."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def create(self, key: str, data: bytes) -> str:
        self._meddle(key)
        return await super().create(key, data)

    async def replace(self, key: str, data: bytes, etag: str) -> str:
        self._meddle(key)
        return await super().replace(key, data, etag)

    def _meddle(self, key: str) -> None:
        if key.startswith("latest/") and not key.endswith("_cycle") and self.times:
            self.times -= 1
            other = Pointer(
                edition="en-gb", section="top", version=0, object="o", sha256="", cycle=0, sequence=100 - self.times
            )
            self.objects[key] = encode_record(other)


@pytest.mark.parametrize(("times", "written"), [(1, 1), (3, 1), (4, 0)])
def test_a_contended_pointer_is_read_again_a_few_times(times: int, written: int) -> None:
    done = _publish(_Contended(times), _cycle(_page("s1")))
    assert done.written == written
    assert done.refused == ({} if written else {"top": "pointer_contended"})


class _Down(MemoryObjects):
    async def get(self, key: str) -> Stored | None:
        raise ObjectStoreError("get: refused")


class _Slow(MemoryObjects):
    async def get(self, key: str) -> Stored | None:
        await asyncio.sleep(60)
        return None


def test_a_store_that_is_down_costs_a_reason_and_the_next_cycle_catches_up() -> None:
    done = _publish(_Down(), _cycle(_page("s1", cycle=1)))
    assert done.refused["top"].startswith("store_failed")
    store = MemoryObjects()
    assert _publish(store, _cycle(_page("s2", cycle=2)), done.edition).written == 1


def test_a_slow_store_is_given_up_at_the_deadline() -> None:
    policy = PublishPolicy(deadline_ms=50)
    done = asyncio.run(publish(_Slow(), _cycle(_page("s1")), None, NOW, policy))
    assert done.refused == {"_cycle": "deadline_passed"}


LINK = Link(article_id="a", url="https://n.example/a", title="A headline", publisher="n.example")


@pytest.mark.parametrize(
    ("page", "last", "reason"),
    [
        pytest.param(_page("s1"), 0, None, id="good"),
        pytest.param(_page(), 0, "too_few_stories", id="empty"),
        pytest.param(_page("a", "b", "c", "d"), 10, "shrunken", id="lost more than half"),
        pytest.param(_page("a", "b", "c", "d", "e"), 10, None, id="lost half"),
        pytest.param(_page("a"), 9, None, id="a small page may shrink"),
        pytest.param(_page("a", "a"), 0, "story_twice", id="a story twice"),
        pytest.param(_page("a", schema=2), 0, "wrong_schema", id="schema"),
        *(
            pytest.param(
                _page(stories=(_story("s", representative=msgspec.structs.replace(LINK, url=url)),)),
                0,
                "link_unusable",
                id=url,
            )
            for url in ("javascript:alert(1)", "data:text/html,x", "//n.example/a", "")
        ),
        pytest.param(
            _page(stories=(_story("s", representative=msgspec.structs.replace(LINK, title="  ")),)),
            0,
            "link_unusable",
            id="no title",
        ),
        pytest.param(_page(stories=(_story("s", image="javascript:x"),)), 0, "image_unusable", id="image"),
        pytest.param(_page(stories=(_story("s", lede="x" * 2_000_000),)), 0, "too_large", id="too large"),
    ],
)
def test_what_may_not_go_live(page: Page, last: int, reason: str | None) -> None:
    assert refusal(page, last, page.cycle - 1, POLICY) == reason


def test_a_refused_page_leaves_the_last_good_one() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(_page(*(f"s{n}" for n in range(20)), cycle=1)))
    done = _publish(store, _cycle(_page("s1", cycle=2)), first.edition)
    assert done.invalid == {"top": "shrunken"}
    assert _pointer(store).version == 1


def test_a_page_that_stays_small_follows_the_news_after_half_an_hour() -> None:
    store = MemoryObjects()
    edition = _publish(store, _cycle(_page(*(f"s{n}" for n in range(20)), cycle=1))).edition
    for cycle in range(60_001, POLICY.shrunken_ms, 60_000):
        done = _publish(store, _cycle(_page("s1", cycle=cycle)), edition)
        assert done.invalid == {"top": "shrunken"}
        edition = done.edition
    assert _mark(store).sections == {"top": 1}
    assert _publish(store, _cycle(_page("s1", cycle=1 + POLICY.shrunken_ms)), edition).written == 1


def test_the_digest_sees_what_a_reader_sees() -> None:
    page = _page("s1")
    rescored = msgspec.structs.replace(page, cycle=7, stories=(_story("s1", score=9.0, parts={"coverage": 2.0}),))
    retitled = msgspec.structs.replace(
        page, stories=(_story("s1", representative=msgspec.structs.replace(LINK, title="Corrected")),)
    )
    assert digest(rescored) == digest(page)
    assert digest(retitled) != digest(page)


@given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), max_size=30))
def test_a_pointer_only_ever_moves_to_a_later_cycle(steps: list[tuple[int, bool]]) -> None:
    pointer: Pointer | None = None
    for cycle, pinned in steps:
        wanted = moved(pointer, _page("s", cycle=cycle), "o", "", NOW)
        if isinstance(wanted, str):
            continue
        if pointer is not None:
            assert wanted.cycle > pointer.cycle
            assert wanted.sequence == pointer.sequence + 1
        pointer = msgspec.structs.replace(wanted, pinned_until_ms=NOW + 1 if pinned else 0)
        if pinned:
            break


def test_a_pinned_page_writes_no_versions() -> None:
    store = MemoryObjects()
    first = _publish(store, _cycle(_page("good", cycle=1)))
    pinned = msgspec.structs.replace(_pointer(store), pinned_until_ms=NOW + 1000, sequence=2)
    store.objects[pointer_key("en-gb", "top")] = encode_record(pinned)
    before = set(store.objects)
    for cycle in range(2, 6):
        _publish(store, _cycle(_page(f"other{cycle}", cycle=cycle)), first.edition)
    assert set(store.objects) == before


def test_schemes_have_no_case() -> None:
    page = _page(stories=(_story("s", image="HTTPS://i.example/1.jpg"),))
    assert refusal(page, 0, 0, POLICY) is None
