"""The hub of `bench push`: signed deliveries at a steady rate, and how long each answer took.

Processes of their own, so that their cost is not the receiver's: `python -m cli.bench_hub load URL RATE SECONDS CORE`
sends and prints one JSON object; `python -m cli.bench_hub floor PORT` is the plain server that the receiver is held
against: aiohttp, reading the body and answering 202. Latency counts from the instant at which a delivery was due, so a
receiver that falls behind is not spared what waits meanwhile.
"""

from __future__ import annotations

import asyncio
import gc
import hmac
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import uvloop
from aiohttp import web

from state_schemas.ids import feed_id
from state_schemas.sources import Subscription

CONNECTIONS = 64
# The first seconds warm up caches and the broker; they are sent and not counted.
WARM_UP_S = 3.0
_SERIAL = b"%012d"


def subscriptions(count: int) -> Iterator[Subscription]:
    """The feeds that deliver, the same in every process."""
    for number in range(count):
        topic = f"https://news{number}.example/feed.xml"
        yield Subscription(
            feed_id=feed_id(topic),
            topic=topic,
            hub="https://hub.example/",
            callback_token=f"{number * 2654435761 % 2**32:08x}" * 4,
            secret=f"{number:064x}",
            state="verified",
        )


def bodies(count: int, seed: int = 7) -> list[tuple[bytes, bytes]]:
    """Atom documents of 5 to 20 KB, each cut where a serial number of 12 digits makes it one of its own."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 11))) for _ in range(800)]
    made = []
    for _ in range(count):
        wanted = int(5_000 * 4 ** chance.random())
        head = (
            '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>'
            '<link rel="hub" href="https://hub.example/"/><updated>2026-11-30T10:00:00Z</updated><id>tag:news,2026:'
        )
        entries: list[str] = []
        size = 0
        while size < wanted:
            text = " ".join(chance.choices(words, k=chance.randint(60, 160)))
            link = f"https://news.example/2026/11/{'-'.join(chance.choices(words, k=6))}"
            entries.append(
                f"<entry><id>{link}</id><title>{text[:70]}</title>"
                f"<link rel='alternate' type='text/html' href='{link}'/>"
                "<published>2026-11-30T09:58:00Z</published><updated>2026-11-30T09:58:00Z</updated>"
                f"<author><name>A Writer</name></author><category term='{words[3]}'/>"
                f"<content type='html'>&lt;p&gt;{text}&lt;/p&gt;</content></entry>"
            )
            size += len(entries[-1])
        made.append((head.encode(), ("</id>" + "".join(entries) + "</feed>").encode()))
    return made


class _Sender(asyncio.Protocol):
    """One connection to the receiver, one delivery at a time."""

    def __init__(self, load: _Load) -> None:
        self._load = load
        self._due = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._load.idle.append(self)

    def deliver(self, request: bytes, due: float) -> None:
        """Send one."""
        assert self._transport is not None
        self._due = due
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        # A 202 has no body and comes in one piece.
        self._load.answered(data[9:12], time.perf_counter() - self._due, self._due)
        self._load.idle.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.lost += 1


class _Load:
    def __init__(self, url: str, rate: int, seconds: float) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._rate = rate
        self._seconds = seconds
        self.idle: list[_Sender] = []
        self.lost = 0
        self._began = 0.0
        self._waits: list[float] = []
        self._statuses: dict[str, int] = {}
        self._done = 0

    def answered(self, status: bytes, wait_s: float, due: float) -> None:
        """One delivery came to its end."""
        self._done += 1
        if due >= self._began:
            self._waits.append(wait_s)
            name = status.decode("ascii", "replace")
            self._statuses[name] = self._statuses.get(name, 0) + 1

    async def run(self) -> dict[str, object]:
        loop = asyncio.get_running_loop()
        for _ in range(CONNECTIONS):
            await loop.create_connection(lambda: _Sender(self), self._host, self._port)
        feeds = list(subscriptions(self._rate))
        documents = bodies(40)
        serial = time.time_ns() // 1_000_000 % 10**8 * 10_000
        start = time.perf_counter()
        self._began = start + WARM_UP_S
        total = int(self._rate * (WARM_UP_S + self._seconds))
        for number in range(total):
            due = start + number / self._rate
            request = _request(feeds[number % len(feeds)], documents[number % len(documents)], serial + number)
            while (now := time.perf_counter()) < due or not self.idle:
                await asyncio.sleep(max(0.0, min(due - now, 0.001)))
            self.idle.pop().deliver(request, due)
        patience = time.perf_counter() + 10
        while self._done < total and time.perf_counter() < patience:
            await asyncio.sleep(0.05)
        took = time.perf_counter() - self._began
        waits = sorted(self._waits)
        return {
            "sent": total,
            "answered": self._done,
            "lost": self.lost,
            "statuses": self._statuses,
            "per_second": self._statuses.get("202", 0) / max(took, 0.001),
            "p50_ms": 1000 * waits[len(waits) // 2] if waits else None,
            "p99_ms": 1000 * waits[int(len(waits) * 0.99)] if waits else None,
            "max_ms": 1000 * waits[-1] if waits else None,
        }


def _request(feed: Subscription, document: tuple[bytes, bytes], serial: int) -> bytes:
    body = document[0] + _SERIAL % serial + document[1]
    mac = hmac.digest(feed.secret.encode(), body, "sha256").hex()
    head = (
        f"POST /websub/{feed.callback_token} HTTP/1.1\r\nHost: push.example\r\nUser-Agent: hub\r\n"
        "Content-Type: application/atom+xml; charset=utf-8\r\n"
        f'Link: <https://hub.example/>; rel="hub", <{feed.topic}>; rel="self"\r\n'
        f"X-Hub-Signature: sha256={mac}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _floor(port: int) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(status=202)

    runner = web.ServerRunner(web.Server(answer, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    sys.stdout.write("up\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main(arguments: list[str]) -> None:
    """See the module's docstring."""
    if arguments[0] == "floor":
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # the receiver's own loop
            runner.run(_floor(int(arguments[1])))
        return
    _, url, rate, seconds, core = arguments
    if core:
        os.sched_setaffinity(0, [int(core)])
    gc.disable()  # a pause of the sender's would count as the receiver's
    found = asyncio.run(_Load(url, int(rate), float(seconds)).run())
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
