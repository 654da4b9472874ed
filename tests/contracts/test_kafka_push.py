"""Push on a real broker: its producer and its follower keep the clients' contracts, and as a process it promises nothing
that Kafka does not have, while the broker or it is killed.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import signal
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from click.testing import CliRunner

import cli.main
from cli.stack import Stack
from connectors.kafka import KafkaClientError, Message, Producer, create_topics, partition_of, read_all
from connectors.kafka_follow import follow
from connectors.kafka_native import NativeProducer
from connectors.settings import Endpoints
from state_schemas.codec import decode_record, encode_record
from state_schemas.ids import feed_id
from state_schemas.sources import Origin, PollSignal, Source, Subscription
from state_schemas.topics import DAY_MS, POLL_SIGNALS, SOURCES, WEBSUB_SUBSCRIPTIONS, Topic
from tests.hub import Hub, atom, form_of

TOPIC = "https://news.example/feed.xml"
TOKEN, SECRET = "c3" * 16, "a secret of sixteen or more"


def topics(endpoints: Endpoints, *partitions: int) -> tuple[Topic, ...]:
    made = tuple(Topic(f"contract.{uuid.uuid4().hex}", count, DAY_MS) for count in partitions)
    create_topics(endpoints, made)
    return made


# ------------------------------------------------------------ the producer


def test_the_native_producer_places_and_orders_records_as_the_other_one_does(endpoints: Endpoints) -> None:
    (topic,) = topics(endpoints, 4)
    keys = [f"host{number % 7}.example" for number in range(200)] + ["新聞.example", "x" * 1000]

    async def send() -> list[Message]:
        producer = NativeProducer(endpoints, "contract", asyncio.get_running_loop())
        await asyncio.to_thread(producer.prepare, [topic])
        with pytest.raises(KafkaClientError):
            producer.send(topic, "k", bytes(2 * 1024 * 1024 + 1), lambda *_: None)
        placed: list[Message] = []
        for number, key in enumerate(keys):
            producer.send(topic, key, b"%d" % number, lambda message, _: placed.append(message))  # type: ignore[arg-type]
        await producer.close()
        return sorted(placed, key=lambda message: int(message.value))

    placed = asyncio.run(send())
    assert [each.partition for each in placed] == [partition_of(topic, key) for key in keys]
    found = {
        (message.partition, message.offset): (message.key, message.value) for message in read_all(endpoints, topic)
    }
    assert found == {(each.partition, each.offset): (each.key, each.value) for each in placed}
    for partition in range(4):
        numbers = [int(value) for (where, _), (_, value) in sorted(found.items()) if where == partition]
        assert numbers == sorted(numbers)


def test_the_native_producer_says_what_it_cannot_reach() -> None:
    async def send() -> list[str]:
        nowhere = Endpoints(kafka="127.0.0.1:1")
        producer = NativeProducer(nowhere, "contract", asyncio.get_running_loop(), delivery_s=0.5)
        told: list[str] = []
        producer.send(POLL_SIGNALS, "k", b"v", lambda _, error: told.append(str(error)))
        while not told:
            await asyncio.sleep(0.01)
        producer.send(POLL_SIGNALS, "k", b"v", lambda _, error: told.append(str(error)))
        await producer.close(0)
        return told

    told = asyncio.run(send())
    assert len(told) == 2
    assert all(each.startswith("writing to poll.signals: ") for each in told)


# ------------------------------------------------------------ the follower


def test_following_tells_when_all_that_was_there_has_been_read(endpoints: Endpoints) -> None:
    first, second, empty = topics(endpoints, 3, 1, 2)
    with Producer(endpoints, "test") as producer:
        for number in range(50):
            producer.send(first, str(number % 5), b"%d" % number)
        producer.send(second, "k", b"only").result(10)
    stopping = False
    following = follow(endpoints, (first, second, empty), "contract", stop=lambda: stopping, max_records=10)
    got: list[Message] = []
    for messages, complete in following:
        got += messages
        assert len(messages) <= 10
        if complete:
            break
    assert len(got) == 51
    for key in range(5):
        mine = [int(message.value) for message in got if message.topic == first.name and message.key == str(key)]
        assert mine == list(range(key, 50, 5))
    with Producer(endpoints, "test") as producer:
        producer.send(empty, "k", b"later").result(10)
    later: list[Message] = []
    while not later:
        messages, complete = next(following)
        later += messages
        assert complete
    assert (later[0].topic, later[0].value) == (empty.name, b"later")
    stopping = True
    assert list(following) == []


def test_an_open_transaction_does_not_hold_a_follower_back(endpoints: Endpoints) -> None:
    from kafka import KafkaProducer

    (topic,) = topics(endpoints, 1)
    with Producer(endpoints, "test") as producer:
        producer.send(topic, "k", b"certain").result(10)
    name = f"contract-{uuid.uuid4().hex[:8]}"
    writer = KafkaProducer(bootstrap_servers=[endpoints.kafka], transactional_id=name, client_id=name)
    writer.init_transactions()
    writer.begin_transaction()
    writer.send(topic.name, key=b"k", value=b"open", partition=0).get(10)
    following = follow(endpoints, (topic,), "contract", stop=lambda: False)
    got: list[bytes] = []
    for messages, complete in following:
        got += [message.value for message in messages]
        if complete:
            break
    assert got == [b"certain"]
    writer.commit_transaction()
    while got[-1] != b"open":
        got += [message.value for message in next(following)[0]]
    writer.close(5)
    following.close()


def test_a_topic_that_is_missing_is_said(endpoints: Endpoints) -> None:
    with pytest.raises(KafkaClientError, match="no such topic"):
        next(follow(endpoints, (Topic("contract.nonesuch", 1, DAY_MS),), "contract", stop=lambda: False))


# ------------------------------------------------------------ the process


@pytest.fixture(scope="module")
def pushing(make_stack: Callable[..., Stack]) -> Iterator[Stack]:
    one = make_stack("kafka", "push", gateway=True, profile="default")
    yield one
    one.down()


def until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    ends = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < ends, "it never came"
        time.sleep(0.1)


def health(stack: Stack) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{stack.spec.ports.push_metrics}/health", timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except OSError:
        return {}


def write(stack: Stack, topic: Topic, key: str, record: Any) -> None:
    with Producer(stack.endpoints, "test") as producer:
        producer.send(topic, key, encode_record(record)).result(10)


def subscribe(stack: Stack, state: str = "verified") -> None:
    record = Subscription(
        feed_id=feed_id(TOPIC),
        topic=TOPIC,
        hub="h",
        callback_token=TOKEN,
        secret=SECRET,
        state=state,  # type: ignore[arg-type]
    )
    write(stack, WEBSUB_SUBSCRIPTIONS, record.feed_id, record)
    until(lambda: health(stack).get("subscriptions") == 1)


def signals(stack: Stack) -> list[PollSignal]:
    found = (decode_record(PollSignal, message.value) for message in read_all(stack.endpoints, POLL_SIGNALS))
    return sorted(found, key=lambda each: each.signalled_ms)


def deliver(stack: Stack, link: str) -> int:
    body = atom([link])
    mac = hmac.new(SECRET.encode(), body, "sha512").hexdigest()
    request = urllib.request.Request(
        f"{stack.endpoints.push_public}/websub/{TOKEN}", body, {"X-Hub-Signature": f"sha512={mac}"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


def test_a_hub_subscribes_delivers_and_poll_is_told(pushing: Stack) -> None:
    subscribe(pushing, "pending")

    async def with_a_hub() -> None:
        async with Hub() as hub:
            callback = f"{pushing.endpoints.push_public}/websub/{TOKEN}"
            async with hub._client.post(hub.url, data=form_of("subscribe", TOPIC, callback, SECRET)):
                await hub.settled()
            assert hub.asked[0].confirmed
            assert await hub.publish(TOPIC, atom(["https://news.example/1"])) == [202]

    asyncio.run(with_a_hub())
    lease, delivery = signals(pushing)
    assert (lease.signal, lease.token, delivery.signal, delivery.links) == (
        "lease",
        TOKEN,
        "websub",
        ("https://news.example/1",),
    )


def test_a_publisher_gets_a_key_and_pings(pushing: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in pushing.endpoints.to_mapping().items():
        monkeypatch.setenv(name, value)
    url = "https://harbour.example/feed.xml"
    write(pushing, SOURCES, feed_id(url), Source(feed_id=feed_id(url), url=url, origin=Origin(publisher="harbour")))
    made = CliRunner().invoke(cli.main.broadsheet, ["publishers", "key", "harbour"])
    assert made.exit_code == 0, made.output
    until(lambda: (health(pushing).get("publishers"), health(pushing).get("feeds")) == (1, 1))
    ping = ["publishers", "ping", "harbour", "--key-file", "-"]
    done = CliRunner().invoke(cli.main.broadsheet, ping, input=made.stdout)
    assert done.exit_code == 0, done.output
    assert [each.feed_id for each in signals(pushing) if each.signal == "ping"] == [feed_id(url)]
    refused = CliRunner().invoke(cli.main.broadsheet, ping, input="bsp_another-key")
    assert refused.exit_code == 2


def test_while_the_broker_is_killed_nothing_is_promised_and_nothing_promised_is_lost(pushing: Stack) -> None:
    subscribe(pushing)
    promised: list[str] = []
    refused = 0

    def send(number: int) -> bool:
        nonlocal refused
        link = f"https://news.example/kill/{number}"
        status = deliver(pushing, link)
        assert status in (202, 429, 503), status
        if status == 202:
            promised.append(link)
        refused += status == 503
        return status == 202

    assert send(0)
    (broker,) = pushing.pids("kafka")[:1]
    os.kill(broker, signal.SIGKILL)
    number, ends = 1, time.monotonic() + 90
    while not (send(number) and refused and len(promised) > 3):
        number += 1
        assert time.monotonic() < ends, f"{len(promised)} promised, {refused} refused"
        time.sleep(0.6)
    assert refused
    found = {link for each in signals(pushing) for link in each.links}
    assert set(promised) <= found


def test_killed_it_comes_back_with_all_it_knew(pushing: Stack) -> None:
    subscribe(pushing)
    (old,) = pushing.pids("push")[:1]
    os.kill(old, signal.SIGKILL)
    until(lambda: old not in pushing.pids("push") and bool(health(pushing)))
    until(lambda: health(pushing).get("status") == "ok")
    assert health(pushing)["subscriptions"] == 1
    assert deliver(pushing, "https://news.example/after") == 202


def test_told_to_stop_it_is_gone_within_five_seconds(pushing: Stack) -> None:
    until(lambda: health(pushing).get("status") == "ok")
    (old,) = pushing.pids("push")[:1]
    os.kill(old, signal.SIGTERM)
    until(lambda: old not in pushing.pids("push"), 20)
    log = pushing.spec.log_file("push").read_text()
    assert '"stopped"' in log
    assert SECRET not in log
    assert TOKEN not in log
    until(lambda: health(pushing).get("status") == "ok")


def test_told_to_stop_while_no_broker_answers_it_is_gone_as_soon_and_the_hub_hears_that_it_failed(
    pushing: Stack,
) -> None:
    subscribe(pushing)
    (old,), (broker,) = pushing.pids("push")[:1], pushing.pids("kafka")[:1]
    os.kill(broker, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor() as pool:
            answers = [pool.submit(deliver, pushing, f"https://news.example/stop/{number}") for number in range(3)]
            time.sleep(1)
            os.kill(old, signal.SIGTERM)
            until(lambda: old not in pushing.pids("push"), 20)
            assert [each.result() for each in answers] == [503] * 3
    finally:
        os.kill(broker, signal.SIGCONT)
    until(lambda: health(pushing).get("status") == "ok", 120)
