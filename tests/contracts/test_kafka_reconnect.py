"""The broker is killed again and again while both producers write and a member reads: each finds it again by itself, and
what was acknowledged is read."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from cli.stack import Stack
from connectors.kafka import KafkaClientError, Message, Producer, create_topics
from connectors.kafka_group import GroupMember
from connectors.kafka_native import NativeProducer
from connectors.settings import Endpoints
from state_schemas.topics import DAY_MS, Topic

TOPIC = Topic("contract.reconnect", 4, DAY_MS)
KILLS = 3
# A broker is back within 17 s on a busy machine; what takes longer than this has not found it.
PATIENCE_S = 60.0

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def broker(make_stack: Callable[..., Stack]) -> Iterator[Stack]:
    one = make_stack("kafka")
    create_topics(one.endpoints, [TOPIC])
    yield one
    one.down()


class Writer(threading.Thread):
    """Writes a record each 20 ms; `acknowledged` are those that the broker said it has, with the time it said so."""

    def __init__(self, name: str) -> None:
        super().__init__(daemon=True)
        self.prefix = name
        self.acknowledged: dict[bytes, float] = {}
        self.failed = 0
        self.stopping = threading.Event()

    def ended(self, value: bytes, _: Message | None, error: BaseException | None) -> None:
        if error is None:
            self.acknowledged[value] = time.monotonic()
        else:
            self.failed += 1


class Plain(Writer):
    """By kafka-python's producer."""

    def __init__(self, endpoints: Endpoints) -> None:
        super().__init__("plain")
        self.producer = Producer(endpoints, "plain", delivery_s=PATIENCE_S)

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            value = b"plain %d" % number
            try:
                sent = self.producer.send(TOPIC, str(number), value)
                sent.add_done_callback(lambda done, value=value: self.ended(value, None, done.exception()))  # type: ignore[misc]
            except KafkaClientError:
                self.failed += 1
            number += 1
            time.sleep(0.02)
        self.producer.close(5)


class Native(Writer):
    """By librdkafka's, in a loop of its own."""

    def __init__(self, endpoints: Endpoints) -> None:
        super().__init__("native")
        self.endpoints = endpoints

    def run(self) -> None:
        asyncio.run(self.write())

    async def write(self) -> None:
        producer = NativeProducer(self.endpoints, "native", asyncio.get_running_loop(), delivery_s=PATIENCE_S)
        number = 0
        while not self.stopping.is_set():
            value = b"native %d" % number
            producer.send(TOPIC, str(number), value, partial(self.ended, value))
            number += 1
            await asyncio.sleep(0.02)
        await producer.close(5)


class Reader(threading.Thread):
    """A group's member. `got`: every value read, with the time of its last reading."""

    def __init__(self, endpoints: Endpoints) -> None:
        super().__init__(daemon=True)
        self.got: dict[bytes, float] = {}
        self.stopping = threading.Event()
        self.at: dict[tuple[str, int], int] = {}
        self.member = GroupMember(
            endpoints, "reconnect", [TOPIC], "reader", finished=dict, on_held=lambda _: None, session_timeout_s=10
        )

    def run(self) -> None:
        committed = time.monotonic()
        while not self.stopping.is_set():
            for message in self.member.poll(0.1, 500):
                self.got[message.value] = time.monotonic()
                self.at[message.topic, message.partition] = message.offset + 1
            if time.monotonic() - committed > 1:
                self.member.commit(dict(self.at), 3)
                committed = time.monotonic()
        self.member.close()


def until(condition: Callable[[], bool], what: str) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < ends, f"{what} within {PATIENCE_S:g} s"
        time.sleep(0.05)


def test_clients_find_a_broker_that_was_killed(broker: Stack) -> None:
    writers: list[Writer] = [Plain(broker.endpoints), Native(broker.endpoints)]
    reader = Reader(broker.endpoints)
    threads = [reader, *writers]
    for thread in threads:
        thread.start()
    try:
        for writer in writers:
            until(lambda writer=writer: len(writer.acknowledged) > 20, f"{writer.prefix} began")  # type: ignore[misc]
        until(lambda: bool(reader.got), "the member began")
        for _ in range(KILLS):
            os.kill(broker.pid("kafka"), signal.SIGKILL)
            killed = time.monotonic()
            time.sleep(0.5)  # what was on its way has arrived

            def after(instants: dict[bytes, float], killed: float = killed) -> Callable[[], bool]:
                return lambda: any(at > killed + 0.5 for at in list(instants.values()))

            for writer in writers:
                until(after(writer.acknowledged), f"{writer.prefix} is acknowledged again")
            until(after(reader.got), "the member reads again")
    finally:
        for writer in writers:
            writer.stopping.set()
        for writer in writers:
            writer.join(20)
        acknowledged = {value for writer in writers for value in writer.acknowledged}
        try:
            until(lambda: acknowledged <= set(reader.got), "all that was acknowledged is read")
        finally:
            reader.stopping.set()
            reader.join(20)
    assert [writer.failed for writer in writers] == [0, 0], "a broker that comes back loses no send"
