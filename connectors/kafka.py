"""Kafka for services and the command line: a producer, bounded and endless readers, lag.

Built on kafka-python alone (a group's member: `kafka_group.py`; Flink's side: `kafka_flink.py`). Keys are placed as
Java's client places them, so a key lands in one partition whoever writes it. Batches are not compressed: Flink's
connector ships without the codecs for zstd and lz4, and large bodies are zstd before they come here. Readers see
committed records only. Reading order: `Message`, `Producer`, `read_all` and `tail`, `group_lag`.
"""

from __future__ import annotations

import logging
import socket
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from connectors.settings import Endpoints
from state_schemas.topics import Topic

with warnings.catch_warnings():
    # kafka-python 3.0.12 loads its message schemas by deprecated functions of importlib.resources.
    warnings.filterwarnings("ignore", r"(read|open)_text is deprecated", DeprecationWarning)
    from kafka import (
        IsolationLevel,
        KafkaAdminClient,
        KafkaConsumer,
        KafkaProducer,
        OffsetSpec,
        TopicPartition,
    )
    from kafka.errors import (
        CoordinatorNotAvailableError,
        KafkaError,
        RetriableError,
        TopicAlreadyExistsError,
        UnknownTopicOrPartitionError,
    )
    from kafka.net.inet import KafkaNetSocket
    from kafka.partitioner.default import murmur2

# As the topics' max.message.bytes: a record with a body of 900 KB zstd in base64 is 1.2 MB.
MAX_REQUEST_BYTES = 2 * 1024 * 1024
# Reconnect at least this often: the library's default backs off to 30 s, and a broker is back within 5 to 17 s.
RECONNECT_MAX_MS = 1_000
# How long a new client waits for a broker: one that is restarting needs longer, and its callers try again.
CONNECT_S = 10.0
# The same for a command, before which a person waits.
COMMAND_CONNECT_S = 2.0

# A program that configures no logging must not have the library's retries printed on its terminal.
logging.getLogger("kafka").addHandler(logging.NullHandler())

_connect = KafkaNetSocket.sock_connect


async def _connect_or_close(self: Any, net: Any, sock: Any, *where: Any, **until: Any) -> Any:
    """kafka-python 3.0.12 leaves the socket of a failed connection open: while a broker is away, one a second."""
    try:
        return await _connect(self, net, sock, *where, **until)
    except BaseException:
        sock.close()
        raise


KafkaNetSocket.sock_connect = _connect_or_close  # type: ignore[method-assign]

Partition = tuple[str, int]  # topic name, partition


class KafkaClientError(Exception):
    """Kafka could not be used. The message is one line: what was tried, at which address, what to look at."""


class BrokerUnreachableError(KafkaClientError):
    """No broker answered at the configured address: start the stack, or set BROADSHEET_KAFKA."""


class ReadBlockedError(KafkaClientError):
    """A bounded read stood still before its end.

    The message names the partitions, and the open transactions that hold committed readers back: restore the job
    that owns one, or wait for its time-out.
    """


@dataclass(frozen=True, slots=True)
class Message:
    """One record. timestamp_ms: the broker's (LogAppendTime). key: empty for none. value: empty for a null."""

    partition: int
    offset: int
    timestamp_ms: int
    key: str
    value: bytes
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a group is behind in one partition. end counts transaction markers too; committed is -1 for none."""

    topic: str
    partition: int
    committed: int
    end: int

    @property
    def lag(self) -> int:
        """Offsets between what the group has committed and the end, >= 0."""
        return max(0, self.end - max(0, self.committed))


def partition_of(topic: Topic, key: str) -> int:
    """The partition of a key, as Java's default partitioner places it (murmur2 of the UTF-8 bytes)."""
    return int(murmur2(key.encode())) % (1 << 31) % topic.partitions


@contextmanager
def faults(endpoints: Endpoints, doing: str) -> Iterator[None]:
    """Turn the library's errors into KafkaClientError, whose one line begins with what was being done."""
    try:
        yield
    except UnknownTopicOrPartitionError:
        raise KafkaClientError(
            f"{doing}: Kafka at {endpoints.kafka} has no such topic; are the topics created?"
        ) from None
    except RetriableError as error:
        raise BrokerUnreachableError(f"{doing}: no answer from Kafka at {endpoints.kafka} ({error})") from None
    except KafkaError as error:
        raise KafkaClientError(f"{doing}: {error}") from None


def _reachable(endpoints: Endpoints, connect_s: float | None) -> None:
    """Wait until one of the brokers accepts a connection. The library's own bootstrap leaks a socket at each failed
    try and takes its whole time-out where nothing listens."""
    until = time.monotonic() + (CONNECT_S if connect_s is None else connect_s)
    while True:
        for address in endpoints.kafka.split(","):
            host, _, port = address.rpartition(":")
            with suppress(OSError), socket.create_connection((host, int(port)), timeout=2):
                return
        if time.monotonic() > until:
            raise BrokerUnreachableError(f"no Kafka answers at {endpoints.kafka}; is the stack up?")
        time.sleep(0.25)


def _connection(endpoints: Endpoints, client_id: str, connect_s: float | None) -> dict[str, Any]:
    _reachable(endpoints, connect_s)
    return {
        "bootstrap_servers": endpoints.kafka.split(","),
        "client_id": client_id,
        "reconnect_backoff_max_ms": RECONNECT_MAX_MS,
        "bootstrap_timeout_ms": 15_000,
    }


@contextmanager
def _admin(endpoints: Endpoints, connect_s: float | None = None) -> Iterator[Any]:
    with faults(endpoints, "asking Kafka"):
        admin = KafkaAdminClient(**_connection(endpoints, "broadsheet-admin", connect_s))
        try:
            yield admin
        finally:
            admin.close()


class Producer:
    """Writes records: acknowledged by all replicas, idempotent, in order a partition. Safe to share between threads."""

    def __init__(
        self,
        endpoints: Endpoints,
        client_id: str,
        *,
        linger_ms: int = 5,
        delivery_s: float = 120,
        connect_s: float | None = None,
    ) -> None:
        """Connects; raises BrokerUnreachableError after `connect_s` (None: 10 s).

        delivery_s: how long a send may wait for a broker.
        """
        self._endpoints = endpoints
        with faults(endpoints, "connecting a producer"):
            self._kafka = KafkaProducer(
                **_connection(endpoints, client_id, connect_s),
                acks="all",
                enable_idempotence=True,
                linger_ms=linger_ms,
                batch_size=128 * 1024,
                max_request_size=MAX_REQUEST_BYTES,
                max_block_ms=20_000,
                delivery_timeout_ms=int(delivery_s * 1000),
                request_timeout_ms=min(30_000, int(delivery_s * 1000) - linger_ms - 1),
            )

    def prepare(self, topics: Iterable[Topic]) -> None:
        """Learn where these topics are, so that no send to them blocks. Raises BrokerUnreachableError after 20 s."""
        with faults(self._endpoints, "looking for topics"):
            for topic in topics:
                self._kafka.partitions_for(topic.name)

    def send(self, topic: Topic, key: str, value: bytes) -> Future[Message]:
        """Hand over one record. The future gives it with its partition and offset, or raises KafkaClientError.

        Blocks only for a topic's first record (its metadata). Raises KafkaClientError at once for a record over 2 MB.
        """
        sent: Future[Message] = Future()
        sent.set_running_or_notify_cancel()  # what is on its way cannot be called back
        partition = partition_of(topic, key)
        with faults(self._endpoints, f"writing to {topic.name} (does it exist?)"):
            waiting = self._kafka.send(topic.name, key=key.encode(), value=value, partition=partition)

        def done(metadata: Any) -> None:
            sent.set_result(Message(partition, metadata.offset, metadata.timestamp, key, value, topic.name))

        def failed(error: BaseException) -> None:
            sent.set_exception(KafkaClientError(f"writing to {topic.name}: {error}"))

        waiting.add_callback(done)
        waiting.add_errback(failed)
        return sent

    def flush(self, timeout_s: float = 30) -> None:
        """Wait until everything sent is acknowledged or failed. Raises KafkaClientError when time runs out."""
        with faults(self._endpoints, "flushing a producer"):
            self._kafka.flush(timeout_s)

    def close(self, timeout_s: float = 10) -> None:
        """Flush what can be flushed in time, then disconnect; what could not be has its future failed."""
        with suppress(KafkaError):
            self._kafka.close(timeout_s)

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def create_topics(endpoints: Endpoints, topics: Iterable[Topic]) -> tuple[str, ...]:
    """Create the topics that are missing and wait until each has its leaders; returns the names created."""
    created = []
    with _admin(endpoints) as admin:
        for topic in topics:
            wanted = {"num_partitions": topic.partitions, "replication_factor": 1, "configs": topic.config()}
            with suppress(TopicAlreadyExistsError):
                admin.create_topics({topic.name: wanted})
                created.append(topic.name)
        if created:
            admin.wait_for_topics(created, timeout_ms=30_000)
    return tuple(created)


def end_offsets(
    endpoints: Endpoints,
    partitions: Iterable[Partition],
    *,
    committed_only: bool = False,
    connect_s: float | None = None,
) -> dict[Partition, int]:
    """The end of each partition: past every record, open transactions included, or the last stable offset."""
    wanted = {TopicPartition(*name): OffsetSpec.LATEST for name in partitions}
    if not wanted:
        return {}
    level = IsolationLevel.READ_COMMITTED if committed_only else IsolationLevel.READ_UNCOMMITTED
    with _admin(endpoints, connect_s) as admin:
        found = admin.list_partition_offsets(wanted, isolation_level=level)
    return {(name.topic, name.partition): at.offset for name, at in found.items()}


def _offsets_at(
    endpoints: Endpoints, partitions: Iterable[Partition], at_ms: int, connect_s: float | None
) -> dict[Partition, int]:
    """The first offset of each partition from at_ms on, open transactions included; left out: those without one."""
    with _admin(endpoints, connect_s) as admin:
        found = admin.list_partition_offsets({TopicPartition(*name): at_ms for name in partitions})
    return {(name.topic, name.partition): at.offset for name, at in found.items() if at.offset >= 0}


def open_consumer(endpoints: Endpoints, **more: Any) -> Any:
    """The library's consumer as all of Broadsheet reads: committed records, offsets by hand, no topic created."""
    return KafkaConsumer(
        **_connection(endpoints, more.pop("client_id", "broadsheet-reader"), more.pop("connect_s", None)),
        isolation_level="read_committed",
        enable_auto_commit=False,
        allow_auto_create_topics=False,
        **{
            "max_partition_fetch_bytes": MAX_REQUEST_BYTES,
            "fetch_max_bytes": 16 * 1024 * 1024,
            "fetch_max_wait_ms": 200,
            **more,
        },
    )


def message_of(record: Any) -> Message:
    """The library's record as a Message."""
    key = (record.key or b"").decode("utf-8", "replace")
    return Message(record.partition, record.offset, record.timestamp, key, record.value or b"", record.topic)


def read_all(
    endpoints: Endpoints,
    topic: Topic,
    *,
    partitions: Iterable[int] | None = None,
    since_ms: int | None = None,
    before_ms: int | None = None,
    timeout_s: float = 60,
    connect_s: float | None = None,
) -> Iterator[Message]:
    """Every committed record that was in the topic when the reading began; order holds within a partition.

    since_ms, before_ms: only those whose timestamp (the broker's, ms UTC) is in [since_ms, before_ms).

    The bound is the uncommitted end, taken first, so a transaction that is open now and commits later is still read
    whole. timeout_s: the longest stand-still, not the whole time. Raises ReadBlockedError when it is over, and
    BrokerUnreachableError where none is there after `connect_s` (None: 10 s).
    """
    numbers = range(topic.partitions) if partitions is None else partitions
    ends = end_offsets(endpoints, [(topic.name, number) for number in numbers], connect_s=connect_s)
    if before_ms is not None:
        ends |= _offsets_at(endpoints, ends, before_ms, connect_s)
    starts = {} if since_ms is None else ends | _offsets_at(endpoints, ends, since_ms, connect_s)
    waiting = {TopicPartition(*name): end for name, end in ends.items() if end > starts.get(name, 0)}
    if not waiting:
        return
    with faults(endpoints, f"reading {topic.name}"):
        consumer = open_consumer(endpoints, auto_offset_reset="earliest")
        try:
            consumer.assign(list(waiting))
            for name in waiting if starts else ():
                consumer.seek(name, starts[name.topic, name.partition])
            yield from _until(endpoints, consumer, waiting, timeout_s)
        finally:
            consumer.close(timeout_ms=2_000)


def _until(endpoints: Endpoints, consumer: Any, ends: dict[Any, int], timeout_s: float) -> Iterator[Message]:
    """Read until the position of every partition has passed its end. A marker of a transaction takes an offset and
    is no record: only the position tells."""
    waiting = dict(ends)
    at: dict[Any, int] = {}
    moved = time.monotonic()
    while waiting:
        for name, records in consumer.poll(timeout_ms=250).items():
            for record in records:
                if record.offset < ends[name]:
                    yield message_of(record)
        for name in list(waiting):
            position = consumer.position(name, timeout_ms=5_000)
            if position is None:
                continue
            if position > at.get(name, -1):
                at[name] = position
                moved = time.monotonic()
            if position >= waiting[name]:
                del waiting[name]
                consumer.pause(name)
        if waiting and time.monotonic() - moved > timeout_s:
            raise ReadBlockedError(_what_blocks(endpoints, {name: at.get(name, -1) for name in waiting}, waiting))


def _what_blocks(endpoints: Endpoints, at: Mapping[Any, int], ends: Mapping[Any, int]) -> str:
    places = ", ".join(f"{name.topic}-{name.partition} at {at[name]} of {ends[name]}" for name in sorted(at))
    open_ids: list[str] = []
    with suppress(KafkaClientError), _admin(endpoints) as admin:
        listed = admin.list_transactions(state_filters=["Ongoing"])
        open_ids = sorted(each.transactional_id for broker in listed.values() for each in broker)
    held = f"; open transactions: {', '.join(open_ids[:5])}" if open_ids else "; no transaction is open"
    return f"reading stands still: {places}{held}"


def tail(
    endpoints: Endpoints, topic: Topic, *, from_start: bool = False, stop: Callable[[], bool] = lambda: False
) -> Iterator[Message | None]:
    """Follow a topic: its records as they are committed, and None at least once a second while there is none.

    Ends when `stop()` holds (asked at every yield) or the caller closes the generator. Rides out broker restarts.
    """
    with faults(endpoints, f"following {topic.name}"):
        consumer = open_consumer(endpoints, auto_offset_reset="earliest")
        try:
            names = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
            consumer.assign(names)
            if not from_start:
                for place, end in end_offsets(endpoints, [(topic.name, name.partition) for name in names]).items():
                    consumer.seek(TopicPartition(*place), end)
            while not stop():
                batches = consumer.poll(timeout_ms=500)
                if not batches:
                    yield None
                for records in batches.values():
                    for record in records:
                        yield message_of(record)
        finally:
            consumer.close(timeout_ms=2_000)


def _patiently(ask: Callable[[], Any], tries: int = 20) -> Any:
    """A new broker creates the topic of offsets at the first question and cannot answer it for a second or two."""
    for _ in range(tries - 1):
        with suppress(CoordinatorNotAvailableError):
            return ask()
        time.sleep(0.25)
    return ask()


def group_lag(endpoints: Endpoints, group: str) -> tuple[Lag, ...]:
    """The group's committed offsets against the uncommitted ends, by topic and partition; empty for no such group."""
    with _admin(endpoints) as admin:
        found = _patiently(lambda: admin.list_group_offsets({group: None})[group])
    committed = {(name.topic, name.partition): at.offset for name, at in found.items()}
    ends = end_offsets(endpoints, committed)
    return tuple(Lag(*place, committed[place], ends[place]) for place in sorted(committed))
