"""What `Objects` promises, asked of the store in memory and of the real one."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from connectors.objects import ObjectConflictError, Objects, ObjectStoreError, S3Objects
from connectors.settings import Endpoints
from state_schemas.codec import decode_record
from state_schemas.pages import EditionPages, Link, Page, PageStory, Pointer, pointer_key
from tests.contracts.memory_objects import MemoryObjects
from udfs.publish.decide import PublishPolicy
from udfs.publish.publisher import publish

T = TypeVar("T")
Run = Callable[[Callable[[Objects], Awaitable[T]]], T]


@pytest.fixture(params=["memory", "s3"])
def make(request: pytest.FixtureRequest) -> Callable[[], Objects]:
    """Makes a client of one and the same store; called inside the event loop that uses it."""
    if request.param == "memory":
        store = MemoryObjects()
        return lambda: store
    endpoints: Endpoints = request.getfixturevalue("endpoints")
    return lambda: S3Objects(endpoints)


@pytest.fixture
def key() -> str:
    return f"contract/{uuid.uuid4().hex}/object"


def test_an_object_comes_back_and_an_absent_one_is_none(make: Callable[[], Objects], key: str) -> None:
    async def run() -> None:
        objects = make()
        assert await objects.get(key) is None
        etag = await objects.create(key, b"one")
        stored = await objects.get(key)
        assert stored is not None
        assert (stored.data, stored.etag) == (b"one", etag)

    asyncio.run(run())


def test_create_never_overwrites(make: Callable[[], Objects], key: str) -> None:
    async def run() -> None:
        objects = make()
        await objects.create(key, b"one")
        with pytest.raises(ObjectConflictError):
            await objects.create(key, b"two")
        stored = await objects.get(key)
        assert stored is not None
        assert stored.data == b"one"

    asyncio.run(run())


def test_replace_needs_the_etag_that_counts(make: Callable[[], Objects], key: str) -> None:
    async def run() -> None:
        objects = make()
        with pytest.raises(ObjectConflictError):
            await objects.replace(key, b"x", '"00000000000000000000000000000000"')
        first = await objects.create(key, b"one")
        second = await objects.replace(key, b"two", first)
        assert second != first
        with pytest.raises(ObjectConflictError):
            await objects.replace(key, b"three", first)
        stored = await objects.get(key)
        assert stored is not None
        assert stored.data == b"two"

    asyncio.run(run())


def test_list_finds_what_lies_under_a_folder(make: Callable[[], Objects], key: str) -> None:
    async def run() -> None:
        objects = make()
        folder = key.rsplit("/", 1)[0]
        names = [f"{folder}/a/{n}" for n in range(12)]
        etags = [await objects.create(name, name.encode()) for name in names]
        listed = await objects.list(f"{folder}/a")
        assert [(entry.key, entry.etag, entry.size) for entry in listed] == sorted(
            (name, etag, len(name)) for name, etag in zip(names, etags, strict=True)
        )
        assert await objects.list(f"{folder}/b") == []

    asyncio.run(run())


def test_delete_is_repeatable(make: Callable[[], Objects], key: str) -> None:
    async def run() -> None:
        objects = make()
        await objects.create(key, b"one")
        await objects.delete(key)
        await objects.delete(key)
        assert await objects.get(key) is None

    asyncio.run(run())


def test_of_many_writers_each_round_has_one_winner(make: Callable[[], Objects], key: str) -> None:
    async def run() -> None:
        objects = make()
        etag = await objects.create(key, b"0")

        async def attempt(text: bytes, seen: str) -> str | None:
            try:
                return await objects.replace(key, text, seen)
            except ObjectConflictError:
                return None

        for number in range(10):
            won = [w for w in await asyncio.gather(*(attempt(f"{number}-{w}".encode(), etag) for w in range(8))) if w]
            assert len(won) == 1
            etag = won[0]

    asyncio.run(run())


def test_eight_publishers_leave_the_newest_cycle(make: Callable[[], Objects], key: str) -> None:
    edition = f"en-{key.split('/')[1][:8]}"

    async def run() -> None:
        objects = make()

        async def writer(cycles: list[int]) -> None:
            known = None
            for cycle in cycles:
                link = Link(article_id="a", url="https://n.example/a", title=f"Headline {cycle}", publisher="n")
                story = PageStory(
                    story_id="s",
                    representative=link,
                    score=1,
                    originals=1,
                    copies=0,
                    publishers=1,
                    first_ms=1,
                    latest_ms=1,
                )
                page = Page(
                    edition=edition, section="top", version=0, cycle=cycle, ranker_version="1", stories=(story,)
                )
                pages = EditionPages(edition=edition, cycle=cycle, pages=(page,))
                known = (await publish(objects, pages, known, 1, PublishPolicy(tries=20))).edition

        await asyncio.gather(*(writer(list(range(1 + number, 41, 8))) for number in range(8)))
        stored = await objects.get(pointer_key(edition, "top"))
        assert stored is not None
        pointer = decode_record(Pointer, stored.data)
        found = await objects.get(pointer.object)
        assert found is not None
        assert decode_record(Page, found.data).cycle == pointer.cycle == 40

    asyncio.run(run())


@pytest.mark.stack
def test_a_store_that_is_not_there_is_said_in_one_line(port_base: Callable[[], int]) -> None:
    endpoints = replace(Endpoints(), s3_endpoint=f"http://127.0.0.1:{port_base()}")
    with pytest.raises(ObjectStoreError) as raised:
        asyncio.run(S3Objects(endpoints, timeout_s=2).get("a/b"))
    assert "\n" not in str(raised.value)
