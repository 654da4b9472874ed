"""A producer for services that answer in milliseconds: librdkafka's, driven by their own event loop.

At 2,000 records a second kafka-python takes 300 us of CPU a record and a second thread that holds the interpreter; this
takes 60 to 90 us and none (docs/push.md). Everything else stays with `connectors.kafka`, whose Producer this one is
like: acknowledged by all replicas, idempotent, keys placed as Java's client places them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import Producer as Librdkafka

from connectors.kafka import MAX_REQUEST_BYTES, RECONNECT_MAX_MS, BrokerUnreachableError, KafkaClientError, Message
from connectors.settings import Endpoints
from state_schemas.topics import Topic

# Between two looks for acknowledgements while any is awaited: a thread of its own would take turns with the loop.
_TICK_S = 0.001
_METADATA_S = 2.0  # a caller that is told to stop meanwhile waits for it

# Of one record: as the broker has it, or why it does not.
Told = Callable[[Message | None, KafkaClientError | None], None]

_log = logging.getLogger("kafka.native")
# A program that configures no logging must not have the library's retries printed on its terminal.
_log.addHandler(logging.NullHandler())


class NativeProducer:
    """Writes records. All but `prepare` belongs to the loop's own thread."""

    def __init__(
        self,
        endpoints: Endpoints,
        client_id: str,
        loop: asyncio.AbstractEventLoop,
        *,
        linger_ms: int = 1,
        delivery_s: float = 120,
    ) -> None:
        """Connects by itself, and again after a broker's restart. delivery_s: how long a send may wait for a broker."""
        self._endpoints = endpoints
        self._loop = loop
        self._waiting = 0
        self._ticking = False
        try:
            self._kafka: Any = Librdkafka(
                {
                    "bootstrap.servers": endpoints.kafka,
                    "client.id": client_id,
                    "enable.idempotence": True,  # and so acks=all
                    "partitioner": "murmur2_random",  # Java's
                    "linger.ms": linger_ms,
                    "message.max.bytes": MAX_REQUEST_BYTES,
                    "message.timeout.ms": int(delivery_s * 1000),
                    "reconnect.backoff.max.ms": RECONNECT_MAX_MS,
                    "allow.auto.create.topics": False,
                    "logger": _log,
                }
            )
        except KafkaException as error:
            raise KafkaClientError(f"making a producer: {_line(error)}") from None

    def prepare(self, topics: Iterable[Topic]) -> None:
        """Learn where these topics are. Raises BrokerUnreachableError: no broker within 2 s, or no such topic."""
        for topic in topics:
            try:
                found = self._kafka.list_topics(topic.name, timeout=_METADATA_S).topics[topic.name]
            except KafkaException as error:
                raise BrokerUnreachableError(
                    f"looking for topics: no answer from Kafka at {self._endpoints.kafka} ({_line(error)})"
                ) from None
            if found.error is not None:
                raise BrokerUnreachableError(
                    f"looking for topics: Kafka at {self._endpoints.kafka} has no {topic.name}; are the topics created?"
                )

    def send(self, topic: Topic, key: str, value: bytes, told: Told) -> None:
        """Hand over one record. `told` gets it with its partition and offset, or why it could not be written, later.

        Never blocks. Raises KafkaClientError at once for a record over 2 MB, a full buffer, a producer that is broken.
        """

        def ended(error: KafkaError | None, record: Any) -> None:
            self._waiting -= 1
            if error is not None:
                told(None, KafkaClientError(f"writing to {topic.name}: {error.str()}"))
                return
            told(Message(record.partition(), record.offset(), record.timestamp()[1], key, value, topic.name), None)

        try:
            self._kafka.produce(topic.name, value, key.encode(), on_delivery=ended)
        except (KafkaException, BufferError) as error:
            raise KafkaClientError(f"writing to {topic.name}: {_line(error)}") from None
        self._waiting += 1
        if not self._ticking:
            self._ticking = True
            self._loop.call_later(_TICK_S, self._tick)

    def _tick(self) -> None:
        self._kafka.poll(0)
        self._ticking = self._waiting > 0
        if self._ticking:
            self._loop.call_later(_TICK_S, self._tick)

    async def close(self, timeout_s: float = 10) -> None:
        """Wait until all is acknowledged, at most for so long; what is not is told as failed. Send nothing more."""
        until = self._loop.time() + timeout_s
        while self._waiting and self._loop.time() < until:
            await asyncio.sleep(_TICK_S)
        with suppress(KafkaException):
            self._kafka.purge()
        while self._waiting and self._loop.time() < until + 1:
            await asyncio.sleep(_TICK_S)


def _line(error: Exception) -> str:
    about = error.args[0] if error.args else error
    return about.str() if isinstance(about, KafkaError) else str(about)
