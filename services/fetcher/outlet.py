"""Results on their way out: bodies packed, large ones into the object store, records until the broker has them.

Nothing is given up here: while Kafka or the object store is away, the request stays unfinished and is tried again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Protocol

import msgspec
import structlog
import zstandard

from connectors.kafka import MAX_REQUEST_BYTES, KafkaClientError, Message
from connectors.objects import ObjectConflictError, Objects, ObjectStoreError
from state_schemas.codec import encode_record, pack_text
from state_schemas.fetching import INLINE_BODY_BYTES, Body, FetchResult, RawItem
from state_schemas.ids import hash64_hex
from state_schemas.quarantine import quarantined
from state_schemas.topics import FEEDS_FETCHED, ITEMS_RAW, QUARANTINE, Topic

# Room for the key and the batch's own head.
MAX_RECORD_BYTES = MAX_REQUEST_BYTES - 64 * 1024
# Bodies above it are packed outside the event loop, which would stand still for milliseconds.
_PACK_APART_BYTES = 256 * 1024
_RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)
# A producer that refuses this often in a row is broken for good; the process starts again.
_TRIES = 20

log = structlog.get_logger()


class Sender(Protocol):
    """What is needed of `connectors.kafka_native.NativeProducer`."""

    def send(
        self, topic: Topic, key: str, value: bytes, told: Callable[[Message | None, KafkaClientError | None], None]
    ) -> None:
        """Hand over one record; how it ended is told in the loop."""
        ...


class OutletError(Exception):
    """The producer cannot be used any more: end the process, nothing that was answered is lost."""


class Outlet:
    """Writes answers. Used inside one event loop."""

    def __init__(self, producer: Sender, objects: Objects) -> None:
        self._producer = producer
        self._objects = objects
        # One for all that is packed in the loop: to make one takes twice as long as to pack a feed with it.
        self._packer = zstandard.ZstdCompressor(level=3)

    async def body(self, raw: bytes, content_type: str) -> Body | None:
        """The body as records carry it; None for an empty one. Large ones are in the object store by then."""
        if not raw:
            return None
        if len(raw) > _PACK_APART_BYTES:
            packed = await asyncio.to_thread(pack_text, raw)
        else:
            packed = self._packer.compress(raw)
        body = Body(size=len(raw), zstd=packed, content_type=content_type[:200])
        return body if len(packed) <= INLINE_BODY_BYTES else await self._apart(body, raw)

    async def _apart(self, body: Body, raw: bytes) -> Body:
        digest = hashlib.sha256(raw).hexdigest()
        tries = 0
        while True:
            try:
                await self._objects.create(f"evidence/{digest}", body.zstd)
                break
            except ObjectConflictError:
                break  # the same bytes are there
            except ObjectStoreError as error:
                if tries == 0:
                    log.warning("evidence_waits", detail=str(error))
                await asyncio.sleep(_RETRY_S[min(tries, len(_RETRY_S) - 1)])
                tries += 1
        return msgspec.structs.replace(body, zstd=b"", evidence=digest)

    async def feed_result(self, result: FetchResult, raw: bytes = b"") -> None:
        """To feeds.fetched, by feed. raw: the body, unpacked."""
        await self.send(FEEDS_FETCHED, result.feed_id, await self._fitted(result, raw))

    async def raw_item(self, item: RawItem, raw: bytes = b"") -> None:
        """To items.raw, by the address asked for. raw: the body, unpacked."""
        await self.send(ITEMS_RAW, hash64_hex(item.url), await self._fitted(item, raw))

    async def set_aside(
        self,
        topic: str,
        reason: str,
        now_ms: int,
        *,
        record: bytes,
        subject: str = "",
        detail: str = "",
        publisher: str = "",
    ) -> None:
        """To quarantine, as something that came from `topic`."""
        value = quarantined(
            topic, "fetcher", reason, now_ms, record=record, subject=subject, detail=detail, publisher=publisher
        )
        await self.send(QUARANTINE, topic, value)

    async def _fitted(self, record: FetchResult | RawItem, raw: bytes) -> bytes:
        """The record's bytes, within what Kafka takes: first the body goes, then the entry's full text, which the page
        or the feed still has."""
        value = encode_record(record)
        if len(value) > MAX_RECORD_BYTES and record.body is not None and record.body.zstd:
            record = msgspec.structs.replace(record, body=await self._apart(record.body, raw))
            value = encode_record(record)
        if len(value) > MAX_RECORD_BYTES and isinstance(record, RawItem) and record.entry is not None:
            entry = msgspec.structs.replace(record.entry, content="")
            value = encode_record(msgspec.structs.replace(record, entry=entry))
        return value

    async def send(self, topic: Topic, key: str, value: bytes) -> None:
        """Until the broker has it. Raises OutletError when no waiting helps."""
        for tries in range(_TRIES):
            try:
                await self._sent(topic, key, value)
                return
            except KafkaClientError as error:
                log.warning("send_again", topic=topic.name, detail=str(error))
                await asyncio.sleep(_RETRY_S[min(tries, len(_RETRY_S) - 1)])
        raise OutletError(f"{topic.name} could not be written")

    async def _sent(self, topic: Topic, key: str, value: bytes) -> None:
        sent = asyncio.get_running_loop().create_future()

        def told(_: Message | None, error: KafkaClientError | None) -> None:
            if sent.done():
                return  # given up
            if error is not None:
                sent.set_exception(error)
            else:
                sent.set_result(None)

        self._producer.send(topic, key, value, told)
        await sent
