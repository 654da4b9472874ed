"""The publishers of `bench fetch`: every host behind one port, most of them healthy, some slow, broken or hostile.

A process of its own (`python -m cli.bench_publishers PORT`), so that its cost is not the fetcher's. Each host counts,
as hosts do: requests open at once, and time between starts. It obeys one line on standard input at a time and answers
each with one line of JSON; it ends with its input. Reading order: answers, Host and Publishers (who count), Connection.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

# A healthy host answers after this time with this feed; both are what captured publishers do, within a factor of two.
ANSWER_S = 0.05
ITEMS = 40
SLOW_S = 30.0
# What each bad host does, in turn. Of their robots.txt all are healthy: they were so when it was last read.
BAD = ("slow", "drips", "slow", "resets", "endless", "slow", "garbage", "torn", "slow", "empty")
# What a host may be asked: so many requests open at once, and so long between two starts.
AT_ONCE = 2
GAP_S = 1.0
# This process shares its core and may be late in seeing a request, so that the next one seems to come too soon. How
# late it is, it looks at so often, and remembers for as long as it matters.
LOOK_S = 0.01
LATE_KEPT_S = 2 * GAP_S


def feed() -> bytes:
    """An RSS document of some 20 KB, as bytes."""
    items = "".join(
        f"<item><title>Council weighs ferry timetable {number}</title><link>https://news.example/{number:08x}</link>"
        f"<guid isPermaLink='false'>{number * 2654435761 % 2**32:08x}</guid><description>Residents of ward {number} "
        f"asked {number * 7 % 100} questions on Monday; the harbour board answered {number * 3 % 50} of them, and the "
        f"next meeting is on day {number % 28 + 1}. Boats {number * 11 % 90} and {number * 13 % 90} run as before."
        f"</description><pubDate>Mon, 30 Nov 2026 {number % 24:02d}:{number % 60:02d}:00 GMT</pubDate></item>"
        for number in range(ITEMS)
    )
    return f"<?xml version='1.0'?><rss version='2.0'><channel><title>Wire</title>{items}</channel></rss>".encode()


def _answer(status: str, body: bytes, *headers: str) -> bytes:
    head = "\r\n".join((f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers))
    return head.encode() + b"\r\n\r\n" + body


FEED = _answer(
    "200 OK", gzip.compress(feed(), 6), "Content-Type: application/rss+xml", "Content-Encoding: gzip", 'ETag: "v1"'
)
ROBOTS = _answer("200 OK", b"User-agent: *\nDisallow: /private\n", "Content-Type: text/plain")
ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\n\r\n"


@dataclass(slots=True)
class Host:
    """One host as it sees its visitors. Instants: s of the monotonic clock."""

    open: int = 0
    most: int = 0
    last: float = 0.0
    least_gap: float = 1e9
    hurried: bool = False
    asked: int = 0


class Publishers:
    """All hosts. bad: host name -> what it does."""

    def __init__(self) -> None:
        self.bad: dict[str, str] = {}
        self.hosts: dict[str, Host] = {}
        self._late: deque[tuple[float, float]] = deque()
        self.mark()

    def mark(self) -> None:
        """Count anew; requests that are open stay open."""
        # Those with open requests are the same, for these will end there.
        self.hosts = {name: host for name, host in self.hosts.items() if host.open}
        for host in self.hosts.values():
            host.most, host.last, host.least_gap, host.hurried, host.asked = host.open, 0.0, 1e9, False, 0
        self.robots = 0
        self.connections = 0
        self.latest = 0.0

    def begin(self, name: str) -> Host:
        """One request has come in whole."""
        now = time.monotonic()
        host = self.hosts.get(name)
        if host is None:
            host = self.hosts[name] = Host()
        if host.last:
            gap = now - host.last
            host.least_gap = min(host.least_gap, gap)
            host.hurried = host.hurried or gap < GAP_S - self.late(now)
        host.last = now
        host.asked += 1
        host.open += 1
        return host

    def settle(self, host: Host) -> None:
        """Everything that came together with a request has been seen: the end of another one too, perhaps."""
        host.most = max(host.most, host.open)

    def late(self, now: float) -> float:
        """The most that this process has been late lately, s."""
        while self._late and self._late[0][0] < now - LATE_KEPT_S:
            self._late.popleft()
        return max((late for _, late in self._late), default=0.0)

    async def look(self) -> None:
        """Measure its own lateness, for ever."""
        while True:
            due = time.monotonic() + LOOK_S
            await asyncio.sleep(LOOK_S)
            now = time.monotonic()
            late = now - due
            if late > LOOK_S:
                self._late.append((now, late))
                self.latest = max(self.latest, late)

    def counts(self) -> dict[str, Any]:
        """over_limit: hosts asked more than twice at once, or sooner than the gap allows less what this process
        was late. counted_late_s: the most that it was."""
        hosts = self.hosts.values()
        return {
            "asked": sum(host.asked for host in hosts),
            "robots": self.robots,
            "hosts": len(self.hosts),
            "connections": self.connections,
            "most_at_once": max((host.most for host in hosts), default=0),
            "least_gap_s": round(min((host.least_gap for host in hosts), default=0.0), 4),
            "over_limit": sum(host.most > AT_ONCE or host.hurried for host in hosts),
            "counted_late_s": round(self.latest, 4),
        }


class Connection(asyncio.Protocol):
    """One connection; requests come one after the other, without bodies."""

    def __init__(self, publishers: Publishers) -> None:
        self._publishers = publishers
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._read = b""
        self._at: Host | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._publishers.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        self._end()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False

    def data_received(self, data: bytes) -> None:
        self._read += data
        if not self._read.endswith(b"\r\n\r\n"):
            return
        head, self._read = self._read.decode("latin-1"), b""
        path = head.split(" ", 2)[1]
        name = head.partition("\r\nHost: ")[2].partition("\r\n")[0]
        self._at = self._publishers.begin(name)
        self._loop.call_soon(self._publishers.settle, self._at)
        if path == "/robots.txt":
            self._publishers.robots += 1
            self._after(ANSWER_S, self._say, ROBOTS)
        else:
            self._behave(self._publishers.bad.get(name, ""))

    def _behave(self, kind: str) -> None:
        assert self._transport is not None
        if kind in ("", "slow"):
            self._after(SLOW_S if kind else ANSWER_S, self._say, FEED)
        elif kind == "drips":
            self._transport.write(ENDLESS)
            self._after(1, self._more, b"<rss>", 1)
        elif kind == "endless":
            self._transport.write(ENDLESS)
            self._more(b"<item/>" * 10_000, 0)
        elif kind == "garbage":
            self._transport.write(b"\x16\x03\x01 SSH-2.0-news\r\n\r\n")
            self._transport.close()
        elif kind == "torn":
            self._transport.write(FEED[: len(FEED) // 2])
            self._transport.close()
        elif kind == "empty":
            self._after(ANSWER_S, self._say, _answer("500 Internal Server Error", b""))
        else:
            self._transport.abort()

    def _after(self, delay_s: float, *call: Any) -> None:
        self._timer = self._loop.call_later(delay_s, *call)

    def _say(self, answer: bytes) -> None:
        if self._transport is not None:
            self._transport.write(answer)
        self._end()

    def _more(self, piece: bytes, pause_s: float) -> None:
        if self._transport is not None:
            if not self._paused:
                self._transport.write(piece)
            self._after(pause_s or 0.001, self._more, piece, pause_s)

    def _end(self) -> None:
        if self._at is not None:
            self._at.open -= 1
            self._at = None


async def serve(port: int) -> None:
    """Until the input ends. `bad NAME ...`: these hosts are bad from now on, all others healthy; `mark`; `counts`."""
    loop = asyncio.get_running_loop()
    publishers = Publishers()
    looking = loop.create_task(publishers.look())
    server = await loop.create_server(lambda: Connection(publishers), "127.0.0.1", port, backlog=1024)
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := (await commands.readline()).decode().split():
        if line[0] == "bad":
            publishers.bad = {name: BAD[number % len(BAD)] for number, name in enumerate(line[1:])}
        elif line[0] == "mark":
            publishers.mark()
        sys.stdout.write(json.dumps({**publishers.counts(), "bad": dict(Counter(publishers.bad.values()))}) + "\n")
        sys.stdout.flush()
    looking.cancel()
    server.close()


class PublishersProcess:
    """The process from outside. Ends with its context."""

    def __init__(self, port: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "cli.bench_publishers", str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        self.ask("mark")

    def ask(self, *words: str) -> dict[str, Any]:
        """One command and its answer. Raises RuntimeError when the process has ended: our bug, its trace is shown."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(" ".join(words) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError("the publishers' process has ended")
        found: dict[str, Any] = json.loads(line)
        return found

    def __enter__(self) -> PublishersProcess:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
