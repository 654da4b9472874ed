"""What the Kafka clients promise: of the fake in memory and of the real broker; then what only a broker can show."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest

from connectors.kafka import (
    KafkaClientError,
    Message,
    Partition,
    Producer,
    ReadBlockedError,
    create_topics,
    end_offsets,
    group_lag,
    partition_of,
    read_all,
    tail,
)
from connectors.kafka_group import GroupMember
from connectors.settings import Endpoints
from state_schemas.topics import DAY_MS, Topic
from tests.contracts.memory_kafka import MemoryKafka


class Broker(Protocol):
    """What both offer."""

    def send(self, topic: Topic, key: str, value: bytes) -> Any: ...
    def flush(self, timeout_s: float = 30) -> None: ...
    def read_all(self, topic: Topic) -> Iterator[Message]: ...


class Real:
    """The real clients, with the fake's shape."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints
        self.producer = Producer(endpoints, "contract")
        self.send, self.flush = self.producer.send, self.producer.flush

    def read_all(self, topic: Topic) -> Iterator[Message]:
        create_topics(self._endpoints, [topic])
        return read_all(self._endpoints, topic, timeout_s=20)


@pytest.fixture
def new_topic(request: pytest.FixtureRequest) -> Callable[[int], Topic]:
    """Makes a topic of that many partitions."""

    def make(partitions: int) -> Topic:
        topic = Topic(f"contract.{uuid.uuid4().hex}", partitions, DAY_MS)
        if getattr(request.node, "callspec", None) is None or request.node.callspec.params.get("broker") != "memory":
            create_topics(request.getfixturevalue("endpoints"), [topic])
        return topic

    return make


@pytest.fixture(params=["memory", "kafka"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    if request.param == "memory":
        yield MemoryKafka()
        return
    real = Real(request.getfixturevalue("endpoints"))
    yield real
    real.producer.close()


NewTopic = Callable[[int], Topic]


def test_records_come_back_in_order_a_partition(broker: Broker, new_topic: NewTopic) -> None:
    topic = new_topic(4)
    sent = [broker.send(topic, f"host{number % 7}.example", b"%d" % number) for number in range(200)]
    broker.flush()
    for number, future in enumerate(sent):
        placed = future.result(5)
        assert placed.partition == partition_of(topic, f"host{number % 7}.example")
    found = list(broker.read_all(topic))
    assert len(found) == 200
    assert {message.topic for message in found} == {topic.name}
    for host in range(7):
        mine = [int(message.value) for message in found if message.key == f"host{host}.example"]
        assert mine == list(range(host, 200, 7))
    for partition in range(4):
        offsets = [message.offset for message in found if message.partition == partition]
        assert offsets == list(range(len(offsets)))


def test_keys_of_any_script_and_empty_values(broker: Broker, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    for key, value in [("新聞.example", b"\x00\xff"), ("", b"x"), ("k", b"")]:
        broker.send(topic, key, value).result(5)
    assert {(message.key, message.value) for message in broker.read_all(topic)} == {
        ("新聞.example", b"\x00\xff"),
        ("", b"x"),
        ("k", b""),
    }


def test_an_empty_topic_has_no_records(broker: Broker, new_topic: NewTopic) -> None:
    assert list(broker.read_all(new_topic(3))) == []


def test_a_record_over_two_megabytes_is_refused_at_once(broker: Broker, new_topic: NewTopic) -> None:
    topic = new_topic(1)
    with pytest.raises(KafkaClientError):
        broker.send(topic, "k", bytes(2 * 1024 * 1024 + 1))
    broker.send(topic, "k", bytes(2 * 1024 * 1024 - 1024)).result(10)


# ------------------------------------------------------------ the broker alone


@pytest.fixture
def transactions(endpoints: Endpoints) -> Iterator[Any]:
    """A transactional producer, ready to begin."""
    from kafka import KafkaProducer

    name = f"contract-{uuid.uuid4().hex[:8]}"
    producer = KafkaProducer(
        bootstrap_servers=[endpoints.kafka], transactional_id=name, transaction_timeout_ms=60_000, client_id=name
    )
    producer.init_transactions()
    yield producer
    producer.close(5)


def values(endpoints: Endpoints, topic: Topic, timeout_s: float = 20) -> list[bytes]:
    return [message.value for message in read_all(endpoints, topic, timeout_s=timeout_s)]


def test_markers_take_offsets_and_aborted_records_are_none(
    endpoints: Endpoints, new_topic: NewTopic, transactions: Any
) -> None:
    topic = new_topic(1)
    for value, ends in [(b"r1", "commit"), (b"lost", "abort"), (b"r2", "commit")]:
        transactions.begin_transaction()
        transactions.send(topic.name, key=b"k", value=value, partition=0).get(5)
        getattr(transactions, f"{ends}_transaction")()
    assert end_offsets(endpoints, [(topic.name, 0)]) == {(topic.name, 0): 6}
    assert values(endpoints, topic) == [b"r1", b"r2"]


def test_an_open_transaction_blocks_by_name_and_nothing_is_cut_off_when_it_ends(
    endpoints: Endpoints, new_topic: NewTopic, transactions: Any
) -> None:
    """r1 r2 committed, an open transaction, r3 of another producer behind it: the bound is the uncommitted end."""
    topic = new_topic(1)
    with Producer(endpoints, "other") as other:
        other.send(topic, "k", b"r1")
        other.send(topic, "k", b"r2").result(5)
        transactions.begin_transaction()
        transactions.send(topic.name, key=b"k", value=b"open", partition=0).get(5)
        other.send(topic, "k", b"r3").result(5)

    with pytest.raises(ReadBlockedError, match=f"{topic.name}-0 at 2 of 4; open transactions: contract-"):
        values(endpoints, topic, timeout_s=1)
    assert end_offsets(endpoints, [(topic.name, 0)], committed_only=True) == {(topic.name, 0): 2}

    found: list[bytes] = []
    reading = threading.Thread(target=lambda: found.extend(values(endpoints, topic)))
    reading.start()
    time.sleep(0.5)
    transactions.commit_transaction()
    reading.join(20)
    assert found == [b"r1", b"r2", b"open", b"r3"]


def test_a_topic_that_does_not_exist_is_said(endpoints: Endpoints) -> None:
    with pytest.raises(KafkaClientError, match="no such topic"):
        values(endpoints, Topic("contract.nonesuch", 2, DAY_MS))


def test_some_partitions_only(endpoints: Endpoints, new_topic: NewTopic) -> None:
    topic = new_topic(3)
    with Producer(endpoints, "some") as producer:
        for number in range(30):
            producer.send(topic, str(number), b"x")
    found = list(read_all(endpoints, topic, partitions=[1]))
    assert found
    assert {message.partition for message in found} == {1}


def test_following_a_topic(endpoints: Endpoints, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    with Producer(endpoints, "followed") as producer:
        producer.send(topic, "k", b"before").result(5)
        following = tail(endpoints, topic)
        assert next(following) is None
        producer.send(topic, "k", b"after").result(5)
        seen = []
        while not seen:
            message = next(following)
            seen += [message.value] if message is not None else []
        following.close()
        from_start = tail(endpoints, topic, from_start=True)
        both = [message.value for message in (next(from_start), next(from_start)) if message is not None]
        from_start.close()
    assert seen == [b"after"]
    assert both == [b"before", b"after"]


class Member(threading.Thread):
    """A group member that finishes what it is told to, as the fetcher does."""

    def __init__(self, endpoints: Endpoints, group: str, topics: list[Topic]) -> None:
        super().__init__(daemon=True)
        self.got: list[Message] = []
        self.done: dict[Partition, int] = {}
        self.held: set[Partition] = set()
        self.stopping = False
        self.member = GroupMember(
            endpoints,
            group,
            topics,
            group,
            finished=lambda: self.done,
            on_held=lambda held: setattr(self, "held", held),
            session_timeout_s=6,
        )
        self.start()

    def run(self) -> None:
        while not self.stopping:
            self.got += self.member.poll(0.1, 50)
        self.member.close()

    def stop(self) -> None:
        self.stopping = True
        self.join(20)


def until(condition: Callable[[], bool], timeout_s: float = 30) -> None:
    ends = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < ends, "it never came"
        time.sleep(0.05)


def test_a_joining_member_takes_over_what_was_not_finished(endpoints: Endpoints, new_topic: NewTopic) -> None:
    """Offsets 0 (slow), 1 and 2 (done) when a second member joins: committed is 0 at most, all three may repeat."""
    one, two = new_topic(4), new_topic(4)
    group = f"group-{uuid.uuid4().hex[:8]}"
    with Producer(endpoints, "work") as producer:
        for partition in range(4):
            key = next(str(n) for n in range(1000) if partition_of(one, str(n)) == partition)
            for number in range(3):
                producer.send(one, key, b"%d" % number)
                producer.send(two, key, b"%d" % number)
    first = Member(endpoints, group, [one, two])
    until(lambda: len(first.got) == 24)
    # Of topic one all is finished, of topic two nothing up to the oldest.
    first.done = {(one.name, partition): 3 for partition in range(4)}
    second = Member(endpoints, group, [one, two])
    until(lambda: len(first.held) == 4 and len(second.held) == 4)
    by_topic = [{number for name, number in second.held if name == topic.name} for topic in (one, two)]
    assert by_topic[0] == by_topic[1], "the range assignor gives the same partitions of both topics to one member"
    until(lambda: len(second.got) == 6)
    assert {message.topic for message in second.got} == {two.name}
    lag = {(each.topic, each.partition): each.lag for each in group_lag(endpoints, group)}
    assert all(lag[one.name, partition] == 0 for partition in range(4))
    assert len(first.got) == 24, "what stayed with the first is not read again"
    second.stop()
    until(lambda: len(first.held) == 8 and len(first.got) == 30)
    first.stop()


def test_paused_partitions_give_nothing_and_the_membership_goes_on(endpoints: Endpoints, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    group = f"group-{uuid.uuid4().hex[:8]}"
    assigned: set[Partition] = set()
    member = GroupMember(endpoints, group, [topic], group, finished=dict, on_held=assigned.update, session_timeout_s=6)
    until(lambda: member.poll(0.1, 10) == [] and len(assigned) == 2)
    member.pause([(topic.name, 0)])
    with Producer(endpoints, "work") as producer:
        for number in range(40):
            producer.send(topic, str(number), b"x")
    got: list[Message] = []
    until(lambda: bool(got.extend(member.poll(0.1, 50)) or any(message.partition == 1 for message in got)))
    ends = time.monotonic() + 8  # longer than the session
    while time.monotonic() < ends:
        got += member.poll(0.2, 50)
    assert {message.partition for message in got} == {1}
    member.resume([(topic.name, 0)])
    until(lambda: bool(got.extend(member.poll(0.1, 50)) or len(got) == 40))
    assert member.commit({(topic.name, 0): 1, (topic.name, 1): 2})
    member.close()
    assert {each.partition: each.committed for each in group_lag(endpoints, group)} == {0: 1, 1: 2}


def test_a_group_nobody_knows_has_no_lag(endpoints: Endpoints) -> None:
    assert group_lag(endpoints, "nobody") == ()
