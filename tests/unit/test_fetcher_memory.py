"""While the broker is away, answers wait in memory: only as many as there are places, and of large ones fewer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from aiohttp import web

from connectors.http import HttpClient, Response
from connectors.kafka import Message
from connectors.room import RoomPolicy
from services.fetcher import outlet as outlet_module
from services.fetcher.fetching import Fetching
from services.fetcher.hosts import DeferredError
from services.fetcher.metrics import Metrics
from services.fetcher.offsets import Ticket
from services.fetcher.outlet import Outlet
from services.fetcher.policy import FetchPolicy
from services.fetcher.service import Desk
from state_schemas.codec import decode_record, encode_record
from state_schemas.fetching import FetchRequest
from state_schemas.sources import Origin
from state_schemas.topics import FETCH_REQUESTS
from tests.contracts.memory_kafka import MemoryKafka, TellingKafka
from tests.contracts.memory_objects import MemoryObjects
from tests.unit.test_http_client import serving

REQUESTS = 40


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlet_module, "_RETRY_S", (0.01,))
    monkeypatch.setattr(outlet_module, "_TRIES", 10_000)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(("size", "held"), [(100, 8), (5_000, 3)], ids=["small", "large"])
def test_a_broker_that_is_away_stops_the_fetching_before_the_memory_is_full(size: int, held: int) -> None:
    served = 0
    finished: list[int] = []
    kafka = MemoryKafka()

    async def handler(request: web.Request) -> web.Response:
        nonlocal served
        if request.path == "/robots.txt":
            return web.Response(status=404)
        served += 1
        return web.Response(body=bytes(size), content_type="application/rss+xml")

    async def main() -> None:
        policy = FetchPolicy(host_gap_ms=1, running=8, total_s=15)
        bounds = policy.http((80, 443))
        object.__setattr__(bounds, "room", RoomPolicy(tiers=((1_000, 3),)))
        async with serving(handler) as port:
            http = HttpClient(bounds, user_agent="Broadsheet/test", gateway=f"127.0.0.1:{port}")
            fetching = Fetching(policy, http)
            desk = Desk(
                fetching,
                Outlet(TellingKafka(kafka), MemoryObjects()),
                policy,
                Metrics(),
                finish=lambda ticket: finished.append(ticket.offset),
                failed=pytest.fail,
            )
            kafka.away = True
            desk.accept([_asked(number) for number in range(REQUESTS)])
            await until(lambda: fetching.hosts.running == policy.running and served >= held)
            await asyncio.sleep(0.3)
            holding = [task for task, work in desk._tasks.items() if work.answered]
            assert len(holding) == held
            assert served <= policy.running
            kafka.away = False
            await until(lambda: len(finished) == REQUESTS)
            assert fetching.hosts.running == 0
            await http.close()

    asyncio.run(main())


def test_a_body_that_finds_no_room_is_deferred_and_its_host_not_blamed() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=bytes(5_000), status=404 if request.path == "/robots.txt" else 200)

    async def main() -> None:
        policy = FetchPolicy(host_gap_ms=1, total_s=0.3)
        bounds = policy.http((80, 443))
        object.__setattr__(bounds, "room", RoomPolicy(tiers=((1_000, 1),)))
        async with serving(handler) as port:
            http = HttpClient(bounds, user_agent="Broadsheet/test", gateway=f"127.0.0.1:{port}")
            fetching = Fetching(policy, http)
            with fetching.holding() as first, fetching.holding() as second:
                ends = [
                    await fetching.end_of(decode_record(FetchRequest, _asked(n)[0].value), held, urgent=False)
                    for n, held in enumerate((first, second))
                ]
            assert isinstance(ends[0], Response)
            assert isinstance(ends[1], DeferredError)
            assert ends[1].reason == "no_room"
            host = fetching.hosts._lines["h1.example"].host
            assert (host.failures, host.in_flight) == (0, 0)
            await http.close()

    asyncio.run(main())


def _asked(number: int) -> tuple[Message, Ticket]:
    host = f"h{number}.example"
    request = FetchRequest(
        request_id=f"r{number}",
        kind="feed",
        url=f"http://{host}/feed",
        host=host,
        feed_id=host,
        origin=Origin(publisher=host),
        requested_ms=1,
    )
    topic = FETCH_REQUESTS.name
    return Message(0, number, 1, host, encode_record(request), topic), Ticket((topic, 0), number, 0)
