"""The fetcher as a process on a real broker, while it, its rival and the broker are killed: every request is answered,
no host is asked beyond its limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cli.stack import Stack
from connectors.kafka import KafkaClientError, Producer, group_lag, read_all
from state_schemas.codec import decode_record, encode_record
from state_schemas.fetching import Entry, FetchRequest, FetchResult, RawItem
from state_schemas.quarantine import Quarantined
from state_schemas.sources import Origin
from state_schemas.topics import (
    FEEDS_FETCHED,
    FETCH_REQUESTS,
    FETCH_REQUESTS_PRIORITY,
    ITEMS_RAW,
    QUARANTINE,
)

pytestmark = pytest.mark.timeout(300)

SECRET = "5f1e3d7c9b2a4860d1f2"


class Publishers:
    """Every host behind one port; counts what is asked of each, as the hosts see it."""

    def __init__(self) -> None:
        self.starts: dict[str, list[float]] = defaultdict(list)
        self.at_once: dict[str, int] = defaultdict(int)
        self.most_at_once = 0
        self._loop = asyncio.new_event_loop()
        self._runner: web.ServerRunner | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def serve(self, port: int) -> None:
        async def main() -> None:
            # A client that goes away has ended its request, as servers see it.
            server = web.Server(self._answer, handler_cancellation=True)
            self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
            await self._runner.setup()
            await web.TCPSite(self._runner, "127.0.0.1", port).start()

        self._thread.start()
        asyncio.run_coroutine_threadsafe(main(), self._loop).result(10)

    def close(self) -> None:
        if self._runner is not None:
            asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        host = request.headers["Host"]
        self.starts[host].append(time.monotonic())
        self.at_once[host] += 1
        self.most_at_once = max(self.most_at_once, self.at_once[host])
        try:
            if request.path == "/robots.txt":
                return web.Response(status=404)
            if request.path == "/hub":
                took = request.method == "POST" and (await request.post()).get("hub.secret") == SECRET
                return web.Response(status=202 if took else 400)
            # Longer than the gap between two starts: two at once do happen.
            await asyncio.sleep(1.6 if request.path.startswith("/long") else 0.3)
            if request.path.startswith("/feed"):
                return web.Response(text="<rss/>", content_type="application/rss+xml")
            return web.Response(text="<html><title>A page</title>", content_type="text/html")
        finally:
            self.at_once[host] -= 1


class Line:
    """What goes in at one end and comes out at the other."""

    def __init__(self, stack: Stack) -> None:
        self.endpoints = stack.endpoints
        self.asked: set[str] = set()

    def ask(self, name: str, hosts: int, pages: int) -> set[str]:
        """One feed and some pages of each host, every other page urgent; the ids asked for."""
        ids = set()
        with Producer(self.endpoints, "test") as producer:
            for number in range(hosts):
                host = f"{name}{number}.example"
                for page in range(pages + 1):
                    request = FetchRequest(
                        request_id=f"{host}-{page}",
                        kind="page" if page else "feed",
                        url=f"http://{host}/{'p' if page else 'feed'}{page}",
                        host=host,
                        feed_id=host,
                        origin=Origin(publisher=host),
                        requested_ms=1,
                        entry=Entry(identity="e", title="t") if page else None,
                        found_ms=1,
                    )
                    topic = FETCH_REQUESTS_PRIORITY if page % 2 else FETCH_REQUESTS
                    producer.send(topic, host, encode_record(request))
                    ids.add(request.request_id)
        return ids

    def answered(self) -> dict[str, list[str]]:
        """Request id -> how it was answered, once for each answer."""
        found: dict[str, list[str]] = defaultdict(list)
        for message in read_all(self.endpoints, FEEDS_FETCHED):
            result = decode_record(FetchResult, message.value)
            found[result.request_id].append(result.outcome)
        for message in read_all(self.endpoints, ITEMS_RAW):
            item = decode_record(RawItem, message.value)
            found[item.request_id].append(item.kind)
        return found

    def until_answered(self, ids: set[str], timeout_s: float) -> dict[str, list[str]]:
        ends = time.monotonic() + timeout_s
        while True:
            found: dict[str, list[str]] = {}
            with contextlib.suppress(KafkaClientError):  # the broker is away
                found = self.answered()
            if ids <= set(found):
                return {name: found[name] for name in ids}
            assert time.monotonic() < ends, f"{len(ids - set(found))} of {len(ids)} unanswered"
            time.sleep(0.5)


class Load(threading.Thread):
    """Asks for feeds, pages and hubs of many hosts, evenly, until the context ends; `ids` are the requests'."""

    HOSTS = 24
    EACH_S = 0.07  # so that a host is asked for something every 1.7 s

    def __init__(self, line: Line, name: str) -> None:
        super().__init__(daemon=True)
        self._line = line
        self._name = name
        self._stopping = threading.Event()
        self.ids: set[str] = set()

    def run(self) -> None:
        number = 0
        with Producer(self._line.endpoints, "load") as producer:
            while not self._stopping.wait(self.EACH_S):
                host = f"{self._name}{number % self.HOSTS}.example"
                kind, path = (("feed", "/feed"), ("page", "/long"), ("page", "/p"), ("hub", "/hub"))[number % 7 % 4]
                request = FetchRequest(
                    request_id=f"{host}-{number}",
                    kind=kind,  # type: ignore[arg-type]
                    url=f"http://{host}{path}{number if kind == 'page' else ''}",
                    host=host,
                    feed_id=f"{host}-{number}",
                    origin=Origin(publisher=host),
                    requested_ms=1,
                    found_ms=1,
                    form={"hub.mode": "subscribe", "hub.secret": SECRET} if kind == "hub" else {},
                )
                producer.send(
                    FETCH_REQUESTS_PRIORITY if number % 5 == 0 else FETCH_REQUESTS, host, encode_record(request)
                )
                self.ids.add(request.request_id)
                number += 1

    def __enter__(self) -> Load:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.join(20)


def answers_of(port: int) -> float:
    """How many requests this fetcher has answered."""
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("broadsheet_fetcher_answers_total"))
    return 0.0


def health(port: int) -> dict[str, Any]:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
        found: dict[str, Any] = json.load(answer)
        return found
    return {}


def until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    ends = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < ends, "it never came"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def fetching_stack(make_stack: Callable[..., Stack]) -> Iterator[Stack]:
    one = make_stack("kafka", "s3", "fetcher", gateway=True, profile="default")
    yield one
    one.down()


@pytest.fixture(scope="module")
def publishers(fetching_stack: Stack) -> Iterator[Publishers]:
    made = Publishers()
    made.serve(int(fetching_stack.endpoints.gateway.rpartition(":")[2]))
    yield made
    made.close()


@pytest.fixture(scope="module")
def line(fetching_stack: Stack, publishers: Publishers) -> Line:
    return Line(fetching_stack)


@pytest.fixture
def rival(
    fetching_stack: Stack, port_base: Callable[[], int], tmp_path: Path
) -> Iterator[Callable[[], tuple[subprocess.Popen[bytes], int]]]:
    """Starts a second fetcher; it is ended with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> tuple[subprocess.Popen[bytes], int]:
        port = port_base()
        environ = {**os.environ, **fetching_stack.endpoints.to_mapping(), "BROADSHEET_FETCHER_PORT": str(port)}
        with (tmp_path / "rival.log").open("wb") as log:
            process = subprocess.Popen([sys.executable, "-m", "services.fetcher"], env=environ, stdout=log, stderr=log)
        started.append(process)
        until(lambda: bool(health(port).get("partitions")))
        return process, port

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait(10)


def caught_up(line: Line) -> bool:
    with contextlib.suppress(KafkaClientError):
        return sum(each.lag for each in group_lag(line.endpoints, "broadsheet-fetcher")) == 0
    return False


def test_every_request_has_one_answer_and_junk_is_set_aside(line: Line, publishers: Publishers) -> None:
    with Producer(line.endpoints, "vandal") as vandal:
        vandal.send(FETCH_REQUESTS, "vandal.example", b"\x00 no record")
    ids = line.ask("calm", hosts=8, pages=4)
    found = line.until_answered(ids, 60)
    assert all(len(answers) == 1 for answers in found.values())
    assert {name: answers[0] for name, answers in found.items() if name.endswith("-0")} == {
        f"calm{number}.example-0": "fetched" for number in range(8)
    }
    assert sum(answers == ["page"] for answers in found.values()) == 32
    until(lambda: caught_up(line))
    aside = [decode_record(Quarantined, message.value) for message in read_all(line.endpoints, QUARANTINE)]
    assert [(each.topic, each.stage, each.reason) for each in aside] == [
        (FETCH_REQUESTS.name, "fetcher", "record_undecodable")
    ]


def test_fetchers_that_join_die_leave_and_come_back_under_load_answer_everything(
    line: Line, publishers: Publishers, fetching_stack: Stack, rival: Callable[[], tuple[subprocess.Popen[bytes], int]]
) -> None:
    """Counted at the hosts further down: none is asked beyond its limits while it changes hands."""
    first = fetching_stack.spec.ports.fetcher
    with Load(line, "load") as load:
        until(lambda: len(load.ids) > 50)
        dying, port = rival()
        until(lambda: answers_of(port) > 10)
        dying.send_signal(signal.SIGKILL)
        leaving, port = rival()
        until(lambda: answers_of(port) > 10)
        leaving.send_signal(signal.SIGTERM)
        assert leaving.wait(5) == 0
        _, port = rival()
        until(lambda: answers_of(port) > 10)
        os.kill(fetching_stack.pid("fetcher"), signal.SIGKILL)
        before = answers_of(port)
        until(lambda: answers_of(port) > before + 10)
        until(lambda: health(first).get("partitions", 0) > 0 and answers_of(first) > 10)
    found = line.until_answered(load.ids, 120)
    outcomes = {outcome for answers in found.values() for outcome in answers}
    assert outcomes <= {"fetched", "page", "deferred"}
    hubs = [name for name in load.ids if int(name.rpartition("-")[2]) % 7 % 4 == 3]
    assert hubs
    assert {answer for name in hubs for answer in found[name]} <= {"fetched", "deferred"}
    until(lambda: caught_up(line))
    for message in read_all(line.endpoints, QUARANTINE):
        assert SECRET.encode() not in message.value


def test_a_killed_fetcher_repeats_and_loses_nothing(line: Line, fetching_stack: Stack) -> None:
    ids = line.ask("killed", hosts=8, pages=8)
    time.sleep(2)
    os.kill(fetching_stack.pid("fetcher"), signal.SIGKILL)
    line.until_answered(ids, 120)
    until(lambda: caught_up(line))


def test_a_killed_broker_delays_and_loses_nothing(line: Line, fetching_stack: Stack) -> None:
    ids = line.ask("broken", hosts=8, pages=8)
    time.sleep(2)
    os.kill(fetching_stack.pid("kafka"), signal.SIGKILL)
    line.until_answered(ids, 120)
    more = line.ask("after", hosts=4, pages=2)
    line.until_answered(more, 60)
    until(lambda: caught_up(line))


def test_no_host_was_asked_beyond_its_limits_through_all_that(publishers: Publishers) -> None:
    """Counted at the hosts, over hand-overs and kills too."""
    assert publishers.most_at_once <= 2
    gaps = [second - first for instants in publishers.starts.values() for first, second in pairwise(sorted(instants))]
    assert len(gaps) > 1_000
    # A second, less what this server was itself late in seeing the first of the two: on a busy machine now and then
    # tenths of one. A hand-over that forgot its hosts would show in one gap of each host, some in a hundred of all.
    early = [gap for gap in gaps if gap < 0.9]
    assert len(early) <= len(gaps) // 200, sorted(early)[:20]


def test_it_leaves_within_five_seconds_and_others_go_on_at_once(
    line: Line, rival: Callable[[], tuple[subprocess.Popen[bytes], int]]
) -> None:
    process, port = rival()
    assert health(port)["status"] == "ok"
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        assert b"broadsheet_fetcher_running" in answer.read()
    line.ask("leaving", hosts=4, pages=20)
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(5) == 0
    ids = line.ask("left", hosts=4, pages=1)
    line.until_answered(ids, 60)
