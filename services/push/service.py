"""The receiver as one process: topics followed, server, producer, and an orderly end within five seconds."""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import suppress
from urllib.parse import urlsplit

import structlog
from aiohttp import web

from connectors.kafka import BrokerUnreachableError
from connectors.kafka_native import NativeProducer
from connectors.settings import Endpoints
from services.push.app import Receiver
from services.push.following import Following
from services.push.metrics import Metrics
from services.push.policy import PushPolicy
from services.push.register import Register
from services.push.server import BoundedServer, Connections
from services.push.settings import PushSettings
from services.push.signals import Signals
from services.watching import serve
from state_schemas.topics import POLL_SIGNALS

# The follower reads several times a second; a silence this long means that its thread hangs.
_SILENT_S = 60.0
# For the last answers to go out; aiohttp takes it twice.
_CLOSING_S = 0.5

log = structlog.get_logger()


async def run(settings: PushSettings, endpoints: Endpoints, policy: PushPolicy, stop: asyncio.Event) -> None:
    """Receive until `stop`. Raises OSError where a port is taken."""
    metrics = Metrics()
    register = Register(policy)
    base = urlsplit(endpoints.push_public).path
    receiver = Receiver(register, settings, policy, metrics, base=base)
    door = Connections(settings, policy, metrics.refused_connections.inc)

    def caught_up() -> None:
        receiver.ready = True
        # What was read stays: no collection needs to walk over it again, which takes longer than an answer may.
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000)
        log.info("ready", **register.sizes())

    following = Following(
        endpoints,
        asyncio.get_running_loop(),
        register,
        caught_up=caught_up,
        undecodable=lambda topic: metrics.set_aside.labels(topic).inc(),
    )

    def health() -> tuple[bool, dict[str, object]]:
        silent = time.monotonic() - following.read_at
        started = receiver.ready and receiver.signals is not None
        well = started and following.is_alive() and silent < _SILENT_S and not stop.is_set()
        state = "ok" if well else "stopping" if stop.is_set() else "stuck" if started else "starting"
        return well, {"status": state, **register.sizes(), "read_s_ago": round(silent, 1)}

    for name, help_text in (
        ("subscriptions", "Subscriptions known"),
        ("publishers", "Publishers with a ping key"),
        ("feeds", "Feeds known"),
        ("left_out", "Records of the topics that found no room"),
    ):
        metrics.gauge(name, help_text, lambda name=name: register.sizes()[name])  # type: ignore[misc]
    metrics.gauge(
        "waiting", "Signals on their way to Kafka", lambda: receiver.signals.waiting if receiver.signals else 0
    )
    metrics.gauge("connections", "Connections open", lambda: door.open)

    runners: list[web.BaseRunner] = []
    producer: NativeProducer | None = None
    try:
        runners.append(await serve(settings.metrics_port, metrics.registry, health))
        # It listens at once: until the topics are read, hubs are told to come again.
        listening = web.ServerRunner(BoundedServer(receiver.answer, door, policy), shutdown_timeout=_CLOSING_S)
        await listening.setup()
        runners.insert(0, listening)
        address = urlsplit(endpoints.push)
        host, port = address.hostname or "127.0.0.1", address.port or 80
        await web.TCPSite(listening, host, port, backlog=1024).start()
        following.start()
        log.info("started", host=host, port=port, metrics_port=settings.metrics_port, public=endpoints.push_public)
        producer = await _producer(endpoints, policy, stop)
        if producer is not None:
            receiver.signals = signals = Signals(producer, policy)
            while not await _stopped_before(signals.broken, stop):
                log.warning("producer_renewed", detail=f"{signals.failures} signals in a row could not be written")
                fresh = await _producer(endpoints, policy, stop)
                if fresh is not None:
                    signals.renew(fresh)
                    await producer.close(0)
                    producer = fresh
    finally:
        following.stop()
        # What comes now is told to come again; what is under way has a while, then the hub hears that it failed.
        receiver.ready = False
        if producer is not None:
            await producer.close(policy.stop_s)
        for runner in runners:
            await runner.cleanup()
        if following.is_alive():
            await asyncio.to_thread(following.join, 1)
    log.info("stopped")


async def _stopped_before(event: asyncio.Event, stop: asyncio.Event) -> bool:
    """Wait for either; whether the process is to stop."""
    waits = [asyncio.ensure_future(each.wait()) for each in (event, stop)]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for each in waits:
        each.cancel()
    return stop.is_set()


async def _producer(endpoints: Endpoints, policy: PushPolicy, stop: asyncio.Event) -> NativeProducer | None:
    """A producer that knows its topic; None when told to stop before."""
    # A hub that was answered 503 comes again: what is older than two waits is not worth writing.
    producer = NativeProducer(endpoints, "broadsheet-push", asyncio.get_running_loop(), delivery_s=2 * policy.ack_s)
    while not stop.is_set():
        try:
            await asyncio.to_thread(producer.prepare, (POLL_SIGNALS,))
            return producer
        except BrokerUnreachableError as error:
            log.warning("broker_unreachable", detail=str(error))
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 1)
    return None
