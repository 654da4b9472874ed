"""Several topics as one table: read from their start, then followed. For what a service keeps in memory of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

# First, for it loads the library without its warnings.
from connectors.kafka import Message, end_offsets, faults, message_of, open_consumer  # isort: skip
from kafka import TopicPartition
from kafka.errors import RetriableError

from connectors.settings import Endpoints
from state_schemas.topics import Topic


def follow(
    endpoints: Endpoints,
    topics: Iterable[Topic],
    client_id: str,
    *,
    stop: Callable[[], bool],
    max_records: int = 200,
    wait_s: float = 0.25,
) -> Iterator[tuple[list[Message], bool]]:
    """Batches of committed records, and whether all that was committed when this began has been given by now.

    Order holds within a partition. An empty batch comes every `wait_s` while there is nothing new or no broker answers.
    Ends when `stop()` holds, asked at every batch. Raises KafkaClientError where no waiting heals: a topic is missing.
    """
    names = [(topic.name, number) for topic in topics for number in range(topic.partitions)]
    with faults(endpoints, "following " + ", ".join(sorted({name for name, _ in names}))):
        # An open transaction must not hold back a service that only wants what is certain.
        ends = end_offsets(endpoints, names, committed_only=True)
        behind = {TopicPartition(*name): end for name, end in ends.items() if end > 0}
        consumer = open_consumer(endpoints, client_id=client_id, auto_offset_reset="earliest")
        try:
            consumer.assign([TopicPartition(*name) for name in names])
            while not stop():
                batches = {}
                try:
                    batches = consumer.poll(timeout_ms=int(wait_s * 1000), max_records=max_records)
                    # A marker of a transaction takes an offset and is no record: only the position tells.
                    for name in list(behind):
                        position = consumer.position(name, timeout_ms=1_000)
                        if position is not None and position >= behind[name]:
                            del behind[name]
                except RetriableError:
                    time.sleep(wait_s)
                yield [message_of(record) for records in batches.values() for record in records], not behind
        finally:
            consumer.close(timeout_ms=2_000)
