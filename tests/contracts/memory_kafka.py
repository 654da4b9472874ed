"""Kafka in memory: the plain methods of `connectors.kafka.Producer` and readers, only the broker replaced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future

from connectors.kafka import MAX_REQUEST_BYTES, KafkaClientError, Message, partition_of
from state_schemas.topics import Topic


class MemoryKafka:
    """A broker. `away`: while true, what is sent fails as it does when no broker answers in time."""

    def __init__(self) -> None:
        self._logs: dict[tuple[str, int], list[Message]] = defaultdict(list)
        self.away = False

    def send(self, topic: Topic, key: str, value: bytes) -> Future[Message]:
        """See Producer.send."""
        if len(value) > MAX_REQUEST_BYTES:
            raise KafkaClientError(f"writing to {topic.name}: {len(value)} bytes")
        sent: Future[Message] = Future()
        if self.away:
            sent.set_exception(KafkaClientError(f"writing to {topic.name}: no answer"))
            return sent
        partition = partition_of(topic, key)
        log = self._logs[topic.name, partition]
        message = Message(partition, len(log), 1_796_000_000_000 + len(log), key, value, topic.name)
        log.append(message)
        sent.set_result(message)
        return sent

    def flush(self, timeout_s: float = 30) -> None:
        """Everything is there already."""

    def read_all(self, topic: Topic, *, partitions: Iterable[int] | None = None) -> Iterator[Message]:
        """See connectors.kafka.read_all."""
        for partition in range(topic.partitions) if partitions is None else partitions:
            yield from list(self._logs[topic.name, partition])


class TellingKafka:
    """The same broker as `connectors.kafka_native.NativeProducer` writes to it: how a record ended is told, at once."""

    def __init__(self, broker: MemoryKafka) -> None:
        self._broker = broker

    def send(
        self, topic: Topic, key: str, value: bytes, told: Callable[[Message | None, KafkaClientError | None], None]
    ) -> None:
        """See NativeProducer.send."""
        sent = self._broker.send(topic, key, value)
        error = sent.exception()
        if error is None:
            told(sent.result(), None)
        else:
            assert isinstance(error, KafkaClientError)
            told(None, error)
