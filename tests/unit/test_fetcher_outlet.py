"""Results on their way out: packed, large bodies apart, tried again until the systems have them."""

from __future__ import annotations

import asyncio
import hashlib
import os

import pytest

from connectors.objects import ObjectStoreError
from services.fetcher import outlet as outlet_module
from services.fetcher.outlet import MAX_RECORD_BYTES, Outlet, OutletError
from state_schemas.codec import decode_record, unpack_bytes
from state_schemas.fetching import INLINE_BODY_BYTES, Body, Entry, FetchResult, RawItem
from state_schemas.ids import hash64_hex
from state_schemas.quarantine import Quarantined
from state_schemas.sources import Origin
from state_schemas.topics import FEEDS_FETCHED, ITEMS_RAW, QUARANTINE
from tests.contracts.memory_kafka import MemoryKafka, TellingKafka
from tests.contracts.memory_objects import MemoryObjects


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlet_module, "_RETRY_S", (0.001,))


class Failing(MemoryObjects):
    """A store that is away for the first writes."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    async def create(self, key: str, data: bytes) -> str:
        if self.failures:
            self.failures -= 1
            raise ObjectStoreError("away")
        return await super().create(key, data)


def feed(body: Body | None) -> FetchResult:
    return FetchResult(
        request_id="r", feed_id="f1", kind="feed", url="http://n.example/", outcome="fetched", fetched_ms=1, body=body
    )


def page(body: Body | None, entry: Entry | None = None) -> RawItem:
    url = "http://n.example/a"
    return RawItem(kind="page", url=url, origin=Origin(publisher="p"), found_ms=1, fetched_ms=2, body=body, entry=entry)


def test_an_ordinary_body_travels_inside() -> None:
    kafka, objects = MemoryKafka(), MemoryObjects()

    async def main() -> None:
        outlet = Outlet(TellingKafka(kafka), objects)
        assert await outlet.body(b"", "text/html") is None
        body = await outlet.body(b"<rss/>" * 100, "text/xml")
        await outlet.feed_result(feed(body), b"<rss/>" * 100)

    asyncio.run(main())
    (message,) = kafka.read_all(FEEDS_FETCHED)
    found = decode_record(FetchResult, message.value)
    assert message.key == "f1"
    assert found.body is not None
    assert (found.body.size, found.body.content_type) == (600, "text/xml")
    assert unpack_bytes(found.body.zstd) == b"<rss/>" * 100
    assert objects.objects == {}


@pytest.mark.parametrize("failures", [0, 3])
def test_a_large_body_is_an_object_named_by_its_hash(failures: int) -> None:
    kafka, objects = MemoryKafka(), Failing(failures)
    raw = os.urandom(INLINE_BODY_BYTES + 1000)

    async def main() -> Body:
        outlet = Outlet(TellingKafka(kafka), objects)
        await outlet.body(raw, "text/html")
        body = await outlet.body(raw, "text/html")  # the same again: it is there already
        assert body is not None
        return body

    body = asyncio.run(main())
    assert (body.size, body.zstd, body.evidence) == (len(raw), b"", hashlib.sha256(raw).hexdigest())
    assert unpack_bytes(objects.objects[f"evidence/{body.evidence}"]) == raw


def test_a_record_too_large_for_kafka_gives_up_first_its_body_then_the_entry_s_text() -> None:
    kafka, objects = MemoryKafka(), MemoryObjects()
    raw = os.urandom(INLINE_BODY_BYTES - 1000)
    long = Entry(identity="e", title="Ferry", content="x" * (MAX_RECORD_BYTES - 500_000))
    longer = Entry(identity="e", title="Ferry", content="x" * MAX_RECORD_BYTES)

    async def main() -> None:
        outlet = Outlet(TellingKafka(kafka), objects)
        body = await outlet.body(raw, "text/html")
        await outlet.raw_item(page(body, long), raw)
        await outlet.raw_item(page(body, longer), raw)

    asyncio.run(main())
    first, second = [decode_record(RawItem, message.value) for message in kafka.read_all(ITEMS_RAW)]
    assert first.body is not None
    assert second.body is not None
    assert first.entry is not None
    assert second.entry is not None
    digest = hashlib.sha256(raw).hexdigest()
    assert (first.body.evidence, len(first.entry.content)) == (digest, MAX_RECORD_BYTES - 500_000)
    assert (second.body.evidence, second.entry.content, second.entry.title) == (digest, "", "Ferry")
    assert {message.key for message in kafka.read_all(ITEMS_RAW)} == {hash64_hex("http://n.example/a")}


def test_set_aside_by_the_topic_it_came_from() -> None:
    kafka = MemoryKafka()

    async def main() -> None:
        await Outlet(TellingKafka(kafka), MemoryObjects()).set_aside(
            "fetch.requests", "private_address", 7, record=b"{}", subject="http://10.0.0.8/", detail="d", publisher="p"
        )

    asyncio.run(main())
    (message,) = kafka.read_all(QUARANTINE)
    assert message.key == "fetch.requests"
    assert decode_record(Quarantined, message.value) == Quarantined(
        topic="fetch.requests",
        stage="fetcher",
        reason="private_address",
        at_ms=7,
        subject="http://10.0.0.8/",
        detail="d",
        publisher="p",
        record=b"{}",
    )


def test_what_the_broker_does_not_take_is_sent_again() -> None:
    kafka = MemoryKafka()
    kafka.away = True

    async def main() -> None:
        sending = asyncio.create_task(Outlet(TellingKafka(kafka), MemoryObjects()).feed_result(feed(None)))
        await asyncio.sleep(0.005)
        kafka.away = False
        await sending

    asyncio.run(main())
    assert len(list(kafka.read_all(FEEDS_FETCHED))) == 1


def test_a_producer_that_is_broken_for_good_ends_the_process() -> None:
    kafka = MemoryKafka()
    kafka.away = True
    with pytest.raises(OutletError):
        asyncio.run(Outlet(TellingKafka(kafka), MemoryObjects()).feed_result(feed(None)))
