"""The receiver over HTTP: what each request is answered, what becomes a signal, and how a hub may misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network

import pytest
from aiohttp import ClientSession, web

from connectors.kafka import KafkaClientError
from connectors.kafka_native import Told
from services.push.app import Receiver
from services.push.metrics import Metrics
from services.push.pings import NONCE, SIGNATURE, TIMESTAMP
from services.push.policy import PushPolicy
from services.push.register import Register
from services.push.server import BoundedServer, Connections
from services.push.settings import PushSettings
from services.push.signals import Signals
from services.push.signatures import key_hash, sign_ping
from state_schemas.codec import decode_record
from state_schemas.ids import feed_id
from state_schemas.sources import Origin, PollSignal, Publisher, Source, Subscription
from state_schemas.topics import POLL_SIGNALS, Topic
from tests.contracts.memory_kafka import MemoryKafka
from tests.hub import Hub, atom, form_of

NOW = 1_796_000_000_000
TOKEN, SECRET = "a1" * 16, "s3cret" * 6
TOPIC = "https://news.example/feed.xml"
FEED = feed_id(TOPIC)
PAGE = "https://news.example/2026/storm"
KEY = "bsp_key-of-the-harbour-post"
HARBOUR = ("https://harbour.example/a.xml", "https://harbour.example/b.xml")


class Memory:
    """Kafka in memory as the native producer writes to it."""

    def __init__(self, broker: MemoryKafka) -> None:
        self.broker = broker

    def send(self, topic: Topic, key: str, value: bytes, told: Told) -> None:
        sent = self.broker.send(topic, key, value)
        error = sent.exception()
        assert error is None or isinstance(error, KafkaClientError)
        told(None if error else sent.result(), error)


class Held:
    """A producer whose acknowledgements come when the test says so."""

    def __init__(self) -> None:
        self.sent: list[Told] = []

    def send(self, topic: Topic, key: str, value: bytes, told: Told) -> None:
        self.sent.append(told)


class Push:
    """One receiver on 127.0.0.1, with the clock in the test's hand."""

    def __init__(self, policy: PushPolicy, settings: PushSettings, base: str) -> None:
        self.now_ms = NOW
        self.kafka = MemoryKafka()
        self.policy = policy
        self.metrics = Metrics()
        self.register = Register(policy)
        self.receiver = Receiver(self.register, settings, policy, self.metrics, base=base, utc_ms=lambda: self.now_ms)
        self.receiver.signals = Signals(Memory(self.kafka), policy)
        self.receiver.ready = True
        self.door = Connections(settings, policy, self.metrics.refused_connections.inc)
        self.url = ""
        self.client: ClientSession

    def subscribe(self, state: str = "verified", token: str = TOKEN, topic: str = TOPIC, secret: str = SECRET) -> None:
        self.register.apply(
            Subscription(
                feed_id=feed_id(topic),
                topic=topic,
                hub="https://hub.example/",
                callback_token=token,
                secret=secret,
                state=state,  # type: ignore[arg-type]
            )
        )

    def publisher(self, *keys: str) -> None:
        self.register.apply(Publisher(publisher="harbour", ping_keys=tuple(key_hash(key).hex() for key in keys)))
        for number, url in enumerate(HARBOUR):
            origin = Origin(publisher="harbour")
            self.register.apply(Source(feed_id=feed_id(url), url=url, origin=origin, registered_ms=number))

    @property
    def signals(self) -> list[PollSignal]:
        found = [decode_record(PollSignal, message.value) for message in self.kafka.read_all(POLL_SIGNALS)]
        return sorted(found, key=lambda signal: (signal.signalled_ms, signal.feed_id))

    def counted(self, kind: str, outcome: str, status: int) -> float:
        labels = {"kind": kind, "outcome": outcome, "status": str(status)}
        return self.metrics.registry.get_sample_value("broadsheet_push_answers_total", labels) or 0.0

    async def deliver(self, body: bytes, *, method: str = "sha256", **headers: str) -> int:
        mac = hmac.new(SECRET.encode(), body, method).hexdigest()
        sent = {
            "X-Hub-Signature": f"{method}={mac}",
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        async with self.client.post(f"{self.url}/websub/{TOKEN}", data=body, headers=sent) as answer:
            assert await answer.read() == b""
            return answer.status

    async def ping(
        self,
        path: str = "/ping/harbour",
        *,
        key: str = KEY,
        nonce: str = "",
        at_ms: int | None = None,
        data: bytes = b"",
    ) -> int:
        self.nonces = getattr(self, "nonces", 0) + 1
        timestamp = str((self.now_ms if at_ms is None else at_ms) // 1000)
        nonce = nonce or f"nonce-{self.nonces:016d}"
        headers = {TIMESTAMP: timestamp, NONCE: nonce, SIGNATURE: sign_ping(key, timestamp, nonce, path)}
        # As written: the client must not tidy up what is signed.
        from yarl import URL

        url = URL(self.url + path, encoded=True)
        async with self.client.post(url, headers=headers, data=data or None) as answer:
            assert await answer.read() == b""
            return answer.status


Case = Callable[[Push], Awaitable[None]]


@asynccontextmanager
async def pushing(policy: PushPolicy, settings: PushSettings, base: str) -> AsyncIterator[Push]:
    push = Push(policy, settings, base)
    runner = web.ServerRunner(BoundedServer(push.receiver.answer, push.door, policy), shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    push.url = f"http://127.0.0.1:{runner.addresses[0][1]}{base}"
    async with ClientSession() as push.client:
        try:
            yield push
        finally:
            await runner.cleanup()


def run(case: Case, policy: PushPolicy | None = None, settings: PushSettings | None = None, base: str = "") -> None:
    async def whole() -> None:
        async with pushing(policy or PushPolicy(), settings or PushSettings(), base) as push:
            await case(push)

    asyncio.run(whole())


# ------------------------------------------------------------ WebSub with a hub


async def subscribed(push: Push, hub: Hub, mode: str = "subscribe") -> None:
    """Ask the hub as the fetch tier does, and wait until it has asked back."""
    form = form_of(mode, TOPIC, f"{push.url}/websub/{TOKEN}", SECRET)
    async with push.client.post(hub.url, data=form) as answer:
        assert answer.status == 202
    await hub.settled()


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
def test_a_subscription_its_delivery_and_its_end(method: str) -> None:
    async def case(push: Push) -> None:
        async with Hub(method=method) as hub:
            push.subscribe("pending")
            await subscribed(push, hub)
            assert hub.asked[0].confirmed
            assert hub.asked[0].content_type == "text/plain"
            # The hub may deliver before poll has heard of the lease.
            assert await hub.publish(TOPIC, atom([PAGE])) == [202]
            push.subscribe("unsubscribed")
            await subscribed(push, hub, "unsubscribe")
            assert hub.asked[1].confirmed
            assert await hub.publish(TOPIC, atom([PAGE], serial=2)) == []
        assert push.signals == [
            PollSignal(feed_id=FEED, signal="lease", signalled_ms=NOW, until_ms=NOW + 864_000_000, token=TOKEN),
            PollSignal(feed_id=FEED, signal="websub", signalled_ms=NOW, links=(PAGE,), token=TOKEN),
            PollSignal(feed_id=FEED, signal="unsubscribed", signalled_ms=NOW, token=TOKEN),
        ]

    run(case)


def test_a_verification_that_comes_before_the_hubs_answer() -> None:
    """websub/verification-before-the-answer: the pending subscription is known before the hub is asked."""

    async def case(push: Push) -> None:
        async with Hub({"verify_first"}) as hub:
            push.subscribe("pending")
            await subscribed(push, hub)
            assert hub.asked[0].confirmed
        assert [signal.signal for signal in push.signals] == ["lease"]

    run(case)


def test_a_late_denial() -> None:
    """websub/late-denial: an active subscription is denied; 2xx, and poll hears of it at once."""

    async def case(push: Push) -> None:
        async with Hub() as hub:
            push.subscribe("pending")
            await subscribed(push, hub)
            push.subscribe("verified")
            push.now_ms += 1
            await hub.deny(next(iter(hub.subscribers.values())))
            assert hub.asked[1].status == 200
        assert push.signals[1] == PollSignal(feed_id=FEED, signal="denied", signalled_ms=NOW + 1, token=TOKEN)

    run(case)


@pytest.mark.parametrize("way", ["bad_signature", "no_signature", "unknown_method"])
def test_a_delivery_that_is_not_signed_right_is_dropped_with_2xx(way: str) -> None:
    """websub/bad-signature: guesses learn nothing."""

    async def case(push: Push) -> None:
        async with Hub() as hub:
            push.subscribe()
            await subscribed(push, hub)
            hub.does = {way}
            assert await hub.publish(TOPIC, atom([PAGE])) == [202]
        assert [signal.signal for signal in push.signals] == ["lease"]
        assert push.counted("delivery", "signature_wrong", 202) == 1

    run(case)


def test_a_hub_that_replays_makes_one_signal() -> None:
    async def case(push: Push) -> None:
        async with Hub() as hub:
            push.subscribe()
            await subscribed(push, hub)
            hub.does = {"replay"}
            assert await hub.publish(TOPIC, atom([PAGE])) == [202, 202, 202]
            push.now_ms += push.policy.replay_ms
            assert await hub.publish(TOPIC, atom([PAGE])) == [202, 202, 202]
            assert await hub.publish(TOPIC, atom([PAGE], serial=1)) == [202, 202, 202]
        assert [signal.signal for signal in push.signals] == ["lease", "websub", "websub", "websub"]
        assert push.counted("delivery", "replayed", 202) == 6

    run(case)


@pytest.mark.parametrize(
    ("way", "until_s"),
    [("huge_lease", 14 * 86_400), ("no_lease", 86_400), ("bad_lease", 86_400)],
)
def test_a_lease_that_makes_no_sense(way: str, until_s: int) -> None:
    async def case(push: Push) -> None:
        async with Hub({way}) as hub:
            push.subscribe("pending")
            await subscribed(push, hub)
            assert hub.asked[0].confirmed
        assert push.signals[0].until_ms == NOW + until_s * 1000

    run(case)


@pytest.mark.parametrize("way", ["other_topic", "no_challenge"])
def test_a_question_that_is_not_ours_to_answer(way: str) -> None:
    async def case(push: Push) -> None:
        async with Hub({way}) as hub:
            push.subscribe("pending")
            await subscribed(push, hub)
            assert (hub.asked[0].status, hub.asked[0].body) == (404, "")
        assert push.signals == []

    run(case)


def test_a_challenge_is_never_a_page() -> None:
    async def case(push: Push) -> None:
        async with Hub({"page_as_challenge"}) as hub:
            push.subscribe("pending")
            await subscribed(push, hub)
            assert hub.asked[0].confirmed
            assert hub.asked[0].content_type == "text/plain"
        query = {"hub.mode": "subscribe", "hub.topic": TOPIC, "hub.challenge": "<b>"}
        async with push.client.get(f"{push.url}/websub/{TOKEN}", params=query) as answer:
            assert answer.headers["X-Content-Type-Options"] == "nosniff"

    run(case)


def test_a_delivery_that_says_it_is_of_another_topic_is_dropped() -> None:
    async def case(push: Push) -> None:
        async with Hub() as hub:
            push.subscribe()
            await subscribed(push, hub)
            hub.does = {"other_topic"}
            assert await hub.publish(TOPIC, atom([PAGE])) == [202]
        assert [signal.signal for signal in push.signals] == ["lease"]
        assert push.counted("delivery", "other_topic", 202) == 1

    run(case)


@pytest.mark.parametrize("state", ["unsubscribed", "denied"])
def test_a_hub_that_delivers_after_the_end_is_told_to_stop(state: str) -> None:
    async def case(push: Push) -> None:
        async with Hub() as hub:
            push.subscribe()
            await subscribed(push, hub)
            push.subscribe(state)
            assert await hub.publish(TOPIC, atom([PAGE])) == [410]
            assert await hub.publish(TOPIC, atom([PAGE])) == []
            push.register.apply(
                Subscription(feed_id=FEED, topic=TOPIC, hub="h", callback_token=TOKEN, secret=SECRET, removed=True)
            )
        assert await push.deliver(atom([PAGE])) == 404
        assert [signal.signal for signal in push.signals] == ["lease"]

    run(case)


# ------------------------------------------------------------ deliveries


def test_bodies_of_all_kinds_make_a_signal() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        for body in (b"", b"thin", json.dumps({"items": [{"url": PAGE}]}).encode(), b"\x1f\x8b not what it says"):
            assert await push.deliver(body) == 202
        assert await push.deliver(atom([PAGE]), Content_Encoding="br") == 202
        assert sorted(signal.links for signal in push.signals) == [(), (), (), (), (PAGE,)]

    run(case)


def test_a_body_over_the_limit_is_refused_whole() -> None:
    async def chunks(count: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield b"x" * 100

    async def case(push: Push) -> None:
        push.subscribe()
        assert await push.deliver(b"x" * 1000) == 202
        with contextlib.suppress(OSError):  # it may be closed while the client still writes
            assert await push.deliver(b"x" * 1001) == 413
        url = f"{push.url}/websub/{TOKEN}"
        with contextlib.suppress(OSError):
            async with push.client.post(url, data=chunks(11), headers={"X-Hub-Signature": "sha1=00"}) as answer:
                assert answer.status == 413
        async with push.client.post(url, data=chunks(10)) as answer:
            assert answer.status == 202
        assert len(push.signals) == 1
        assert push.receiver._held == 0
        assert push.counted("delivery", "body_too_large", 413) == 2

    run(case, replace(PushPolicy(), body_bytes=1000))


def test_bodies_in_memory_are_bounded_all_together() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        with contextlib.suppress(OSError):
            assert await push.deliver(b"x" * 200_000) == 503
        assert push.receiver._held == 0
        assert await push.deliver(b"small") == 202

    run(case, replace(PushPolicy(), held_bytes=10_000))


async def raw(push: Push, *parts: bytes, then: float = 5) -> bytes:
    """Send bytes, and read until the other end closes."""
    host, port = push.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    for part in parts:
        writer.write(part)
        await writer.drain()
    try:
        return await asyncio.wait_for(reader.read(), then)
    finally:
        writer.close()


def test_a_head_or_body_that_never_ends_is_cut_off() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        assert await raw(push, b"POST /websub/x HTTP/1.1\r\nHost: a\r\n") == b""
        assert await raw(push, b"") == b""
        head = f"POST /websub/{TOKEN} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc".encode()
        assert (await raw(push, head)).startswith(b"HTTP/1.1 408 ")
        assert push.receiver._held == 0
        assert push.door.open == 0

    run(case, replace(PushPolicy(), header_s=0.2, body_s=0.2))


def test_what_is_no_http_is_refused() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        assert b" 400 " in await raw(push, b"\x16\x03\x01 hello\r\n\r\n")
        assert b" 400 " in await raw(push, b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n")
        head = f"POST /websub/{TOKEN} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        assert b" 400 " in await raw(push, head, b"zz\r\n")
        assert push.receiver._held == 0

    run(case, replace(PushPolicy(), header_s=0.5))


def test_a_sender_that_waits_for_leave_gets_it() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        mac = hmac.new(SECRET.encode(), b"body", "sha1").hexdigest()
        head = (
            f"POST /websub/{TOKEN} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n"
            f"Connection: close\r\nX-Hub-Signature: sha1={mac}\r\n\r\n"
        )
        host, port = push.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(head.encode())
        assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        writer.write(b"body")
        assert b"202 Accepted" in await reader.read()
        writer.close()
        assert len(push.signals) == 1

    run(case)


def test_connections_are_bounded_all_together_and_by_address() -> None:
    for policy in (
        replace(PushPolicy(), connections=2, header_s=5),
        replace(PushPolicy(), address_connections=2, header_s=5),
    ):

        async def case(push: Push) -> None:
            host, port = push.url.removeprefix("http://").split(":")
            held = [await asyncio.open_connection(host, int(port)) for _ in range(2)]
            assert await raw(push, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n") == b""
            for _, writer in held:
                writer.close()
            while push.door.open:
                await asyncio.sleep(0.01)
            assert await push.ping() == 404

        run(case, policy)


# ------------------------------------------------------------ Kafka


def test_nothing_is_promised_that_kafka_does_not_have() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        push.publisher(KEY)
        push.kafka.away = True
        query = {"hub.mode": "subscribe", "hub.topic": TOPIC, "hub.challenge": "q7"}
        async with push.client.get(f"{push.url}/websub/{TOKEN}", params=query) as answer:
            assert (answer.status, await answer.text()) == (503, "")
            assert answer.headers["Retry-After"] == "5"
        assert await push.deliver(atom([PAGE])) == 503
        assert await push.ping(nonce="the-very-same-nonce") == 503
        push.kafka.away = False
        assert await push.deliver(atom([PAGE])) == 202
        assert await push.ping(nonce="the-very-same-nonce") == 202
        assert await push.ping(nonce="the-very-same-nonce") == 404
        assert [signal.signal for signal in push.signals].count("websub") == 1
        assert all(signal.until_ms == 0 for signal in push.signals)

    run(case)


def test_a_repeated_delivery_waits_for_the_same_acknowledgement() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        held = Held()
        push.receiver.signals = signals = Signals(held, push.policy)
        both = [asyncio.ensure_future(push.deliver(atom([PAGE]))) for _ in range(2)]
        while push.counted("delivery", "signalled", 202) + len(held.sent) < 1:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert len(held.sent) == 1
        assert not any(each.done() for each in both)
        held.sent[0](None, None)
        assert await asyncio.gather(*both) == [202, 202]
        assert signals.waiting == 0

    run(case)


def test_an_acknowledgement_that_does_not_come_is_not_waited_for_for_ever() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        held = Held()
        push.receiver.signals = signals = Signals(held, push.policy)
        assert await push.deliver(b"1") == 503
        assert await push.deliver(b"2") == 503
        # What waits in the producer is bounded, also when nobody waits for it any more.
        assert await push.deliver(b"3") == 503
        assert len(held.sent) == signals.waiting == 2
        held.sent[0](None, KafkaClientError("late"))
        held.sent[1](None, None)
        await asyncio.sleep(0)
        assert signals.waiting == 0

    run(case, replace(PushPolicy(), ack_s=0.05, waiting=2))


def test_a_producer_that_refuses_again_and_again_is_to_be_renewed() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        push.kafka.away = True
        signals = push.receiver.signals
        assert signals is not None
        for number in range(20):
            assert not signals.broken.is_set()
            assert await push.deliver(b"%d" % number) == 503
        assert signals.broken.is_set()
        signals.renew(Memory(MemoryKafka()))
        assert await push.deliver(b"again") == 202
        assert not signals.broken.is_set()

    run(case)


def test_until_the_topics_are_read_everything_is_503() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        push.publisher(KEY)
        push.receiver.ready = False
        assert await push.deliver(b"") == 503
        assert await push.ping() == 503
        async with push.client.get(f"{push.url}/websub/unknown") as answer:
            assert answer.status == 503
        push.receiver.ready = True
        assert await push.deliver(b"") == 202

    run(case)


# ------------------------------------------------------------ unknown


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/health"),
        ("GET", "/metrics"),
        ("GET", "/websub/"),
        ("GET", f"/websub/{'b2' * 16}"),
        ("POST", f"/websub/{'b2' * 16}"),
        ("POST", f"/websub/{TOKEN}/"),
        ("POST", f"/WEBSUB/{TOKEN}"),
        ("GET", f"/websub/{TOKEN}"),
        ("HEAD", f"/websub/{TOKEN}?hub.mode=subscribe&hub.topic={TOPIC}&hub.challenge=q"),
        ("PUT", f"/websub/{TOKEN}"),
        ("OPTIONS", "/ping/harbour"),
        ("GET", "/ping/harbour"),
        ("POST", "/ping/harbour"),
        ("POST", "/ping/"),
        ("POST", "/ping/harbour/a/b"),
        ("POST", "/ping/nobody"),
    ],
)
def test_everything_unknown_is_404_with_nothing_in_it(method: str, path: str) -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        push.publisher(KEY)
        async with push.client.request(method, push.url + path) as answer:
            assert answer.status == 404
            assert await answer.read() == b""
            assert answer.headers["Server"] == "Broadsheet"
            assert set(answer.headers) <= {"Server", "Date", "Content-Length", "Content-Type"}
        assert push.signals == []

    run(case)


def test_whoever_asks_for_what_is_unknown_is_slowed_down_and_hubs_are_not() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        for number in range(4):
            async with push.client.get(f"{push.url}/{number}") as answer:
                assert answer.status == (404 if number < 3 else 429)
        assert answer.headers["Retry-After"] == "1"
        assert await push.ping() == 429
        assert await push.deliver(b"of a hub at the same address") == 202
        push.now_ms += 1000
        assert await push.ping() == 404

    run(case, replace(PushPolicy(), address_burst=3, address_rate=1.0))


def test_one_callback_has_its_own_limit() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        assert [await push.deliver(b"%d" % number) for number in range(3)] == [202, 202, 429]
        push.now_ms += 1000
        assert await push.deliver(b"later") == 202

    run(case, replace(PushPolicy(), callback_burst=2, callback_rate=1.0))


def test_only_a_proxy_of_ours_is_believed_when_it_says_who_asks() -> None:
    async def ask(push: Push, forwarded: str) -> int:
        async with push.client.get(push.url, headers={"X-Forwarded-For": forwarded}) as answer:
            return answer.status

    async def behind(push: Push) -> None:
        assert await ask(push, "198.51.100.1") == 404
        assert await ask(push, "198.51.100.1") == 429
        assert await ask(push, "198.51.100.2") == 404
        # What the sender itself wrote stands before what our proxies added.
        assert await ask(push, "198.51.100.9, 198.51.100.1, 127.0.0.2") == 429
        assert await ask(push, "not an address") == 404
        assert await ask(push, "127.0.0.1") == 429

    async def alone(push: Push) -> None:
        assert await ask(push, "198.51.100.1") == 404
        assert await ask(push, "198.51.100.2") == 429

    policy = replace(PushPolicy(), address_burst=1, address_rate=0.1)
    run(behind, policy, PushSettings(proxies=(ip_network("127.0.0.0/8"),)))
    run(alone, policy)


def test_behind_a_proxy_with_a_path_of_its_own() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        push.publisher(KEY)
        assert await push.deliver(b"") == 202
        url, push.url = push.url, push.url.removesuffix("/push")
        assert await push.deliver(b"2") == 202  # a proxy that takes the prefix away
        push.url = url
        timestamp, nonce = str(NOW // 1000), "n" * 20
        headers = {TIMESTAMP: timestamp, NONCE: nonce, SIGNATURE: sign_ping(KEY, timestamp, nonce, "/ping/harbour")}
        async with push.client.post(f"{push.url}/ping/harbour", headers=headers) as answer:
            assert answer.status == 202

    run(case, base="/push")


# ------------------------------------------------------------ pings


def test_a_ping_for_a_feed_and_for_the_main_feeds() -> None:
    async def case(push: Push) -> None:
        push.publisher("other key", KEY)
        assert await push.ping(f"/ping/harbour/{feed_id(HARBOUR[0])}") == 202
        assert push.signals == [PollSignal(feed_id=feed_id(HARBOUR[0]), signal="ping", signalled_ms=NOW)]
        push.now_ms += 60_000
        assert await push.ping("/ping/harbour/https%3A%2F%2Fharbour.example%2Fb.xml") == 202
        assert push.signals[1].feed_id == feed_id(HARBOUR[1])
        push.now_ms += 60_000
        assert await push.ping() == 202
        assert {signal.feed_id for signal in push.signals[2:]} == set(map(feed_id, HARBOUR))

    run(case)


def test_pings_within_half_a_minute_are_one_poll_at_its_end_and_kafka_has_it_before_the_answer() -> None:
    async def case(push: Push) -> None:
        push.publisher(KEY)
        first, second = map(feed_id, HARBOUR)
        assert await push.ping(f"/ping/harbour/{first}") == 202
        for later in (1_000, 2_000, 3_000):
            push.now_ms = NOW + later
            assert await push.ping(f"/ping/harbour/{first}") == 202
        assert await push.ping(f"/ping/harbour/{second}") == 202
        assert [(signal.feed_id, signal.until_ms) for signal in push.signals] == [
            (first, 0),
            (first, NOW + 30_000),
            (second, NOW + 30_000),
        ]
        assert push.counted("ping", "joined", 202) == 2
        push.now_ms = NOW + 61_000
        assert await push.ping(f"/ping/harbour/{first}") == 202
        assert push.signals[-1].until_ms == 0

    run(case)


@pytest.mark.parametrize(
    ("outcome", "more"),
    [
        ("unsigned", {"key": "bsp_another"}),
        ("unsigned", {"path": "/ping/nobody"}),
        ("stale", {"at_ms": NOW - 301_000}),
        ("stale", {"at_ms": NOW + 302_000}),
        ("nonce_malformed", {"nonce": "short"}),
        ("nonce_malformed", {"nonce": "n" * 65}),
        ("feed_unknown", {"path": "/ping/harbour/https%3A%2F%2Fother.example%2F"}),
        ("body_refused", {"data": b"<feed/>"}),
    ],
)
def test_pings_that_are_refused(outcome: str, more: dict[str, object]) -> None:
    async def case(push: Push) -> None:
        push.publisher(KEY)
        assert await push.ping(**more) == 404  # type: ignore[arg-type]
        assert push.signals == []
        assert push.counted("ping", outcome, 404) == 1

    run(case)


def test_a_ping_is_valid_once() -> None:
    async def case(push: Push) -> None:
        push.publisher(KEY)
        assert await push.ping(nonce="a-nonce-of-20-digits", at_ms=NOW + 290_000) == 202
        for later in (0, 300_000, 590_000):
            push.now_ms = NOW + later
            assert await push.ping(nonce="a-nonce-of-20-digits", at_ms=NOW + 290_000) == 404
        assert push.counted("ping", "replayed", 404) + push.counted("ping", "stale", 404) == 3

    run(case)


def test_a_key_that_was_revoked_or_whose_publisher_was_blocked_is_nobodys() -> None:
    async def case(push: Push) -> None:
        push.publisher(KEY)
        assert await push.ping() == 202
        push.publisher("a newer key")
        assert await push.ping() == 404
        assert await push.ping(key="a newer key") == 202
        push.register.apply(Publisher(publisher="harbour", ping_keys=(key_hash(KEY).hex(),), blocked=True))
        assert await push.ping() == 404

    run(case)


def test_one_publishers_pings_have_a_limit_and_nonces_are_bounded() -> None:
    async def case(push: Push) -> None:
        push.publisher(KEY)
        assert [await push.ping() for _ in range(3)] == [202, 202, 429]
        push.now_ms += 2_000
        assert await push.ping() == 202
        push.now_ms += 2_000
        assert await push.ping() == 503  # no room to remember another one
        push.now_ms += 600_000
        assert await push.ping() == 202

    run(case, replace(PushPolicy(), publisher_burst=2, publisher_rate=0.5, nonces=3))


def test_our_own_fault_is_503_and_the_next_request_is_served() -> None:
    async def case(push: Push) -> None:
        push.subscribe()
        push.receiver.signals = Signals(None, push.policy)  # type: ignore[arg-type]
        assert await push.deliver(b"") == 503
        assert push.counted("delivery", "push_fault", 503) == 1
        push.receiver.signals = Signals(Memory(push.kafka), push.policy)
        assert await push.deliver(b"") == 202

    run(case)
