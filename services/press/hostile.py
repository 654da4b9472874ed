"""Hosts that misbehave on purpose, for tests of what reads them: slow, huge, bombs, broken, private, looping, refusing.

Each is an aiohttp handler for one host name; every one also answers robots.txt with 404. HostilePolicy has the sizes.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial

from aiohttp import web

from services.press.feeds import RSS

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class HostilePolicy:
    """How bad it gets."""

    slow_s: float = 30.0  # a host that answers, but after most clients' patience
    huge_bytes: int = 50 * _MIB  # the largest feed captured so far has 1.1 MB
    bomb_bytes: int = 200 * _MIB  # of spaces, which deflate to about 200 KiB
    retry_after_s: int = 120
    refusals: int = 2  # answers of 503 before one of 200, again and again


# Where private.localhost leads, by path: every way to write an address that a fetcher must not follow.
PRIVATE = {
    "/feed.xml": "http://127.0.0.1:1/",
    "/metadata.xml": "http://169.254.169.254/latest/meta-data/",
    "/mapped.xml": "http://[::ffff:127.0.0.1]:8080/",
    "/decimal.xml": "http://2130706433/",
    "/hexadecimal.xml": "http://0x7f.1/",
    "/login.xml": "http://user:secret@10.0.0.8/",
    "/file.xml": "file:///etc/passwd",
}

# Sources for the importer: host -> feed paths.
FEEDS = {
    "slow.localhost": ("/feed.xml",),
    "huge.localhost": ("/feed.xml",),
    "bomb.localhost": ("/feed.xml",),
    "gzipbomb.localhost": ("/feed.xml",),
    "broken.localhost": ("/feed.xml",),
    "private.localhost": tuple(PRIVATE),
    "loop.localhost": ("/feed.xml",),
    "flaky.localhost": ("/feed.xml",),
}

_OPEN = b'<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel><title>Hostile</title>'
_CLOSE = b"</channel></rss>\n"
_ITEM = (
    b"<item><title>Nothing to see, number %d</title><guid>http://%s/a/%d</guid>"
    b"<description>An item that costs more to read than it is worth.</description></item>\n"
)

BILLION_LAUGHS = (
    b'<?xml version="1.0"?>\n<!DOCTYPE rss [\n<!ENTITY l0 "ha">\n'
    + b"".join(b'<!ENTITY l%d "%s">\n' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
    + b']>\n<rss version="2.0"><channel><title>Bomb</title>'
    + b"<item><title>&l9;</title><guid>bomb-1</guid></item></channel></rss>\n"
)

# An undeclared entity, two control characters, a byte that is not UTF-8, and an end in the middle of the third item.
BROKEN = (
    _OPEN
    + b"<item><guid>b1</guid><title>Caf&eacute; re&shy;opens&nbsp;today</title></item>\n"
    + b"<item><guid>b2</guid><title>Mayor\x08 resi\xffgns\x1e</title></item>\n"
    + b"<item><guid>b3</guid><title>Ferry la"
)


@dataclass
class Hostile:
    """The handlers, by host. The count of flaky.localhost's answers is the only thing that is kept."""

    policy: HostilePolicy = field(default_factory=HostilePolicy)
    asked: int = 0

    def behaviours(self) -> dict[str, Handler]:
        """host -> handler, for PressServer."""
        handlers: dict[str, Handler] = {
            "slow.localhost": self._slow,
            "huge.localhost": self._huge,
            "bomb.localhost": partial(_fixed, BILLION_LAUGHS),
            "gzipbomb.localhost": self._gzip_bomb,
            "broken.localhost": partial(_fixed, BROKEN),
            "private.localhost": _private,
            "loop.localhost": _loop,
            "flaky.localhost": self._flaky,
        }
        return {host: partial(_unless_robots, handler) for host, handler in handlers.items()}

    async def _slow(self, request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(self.policy.slow_s)
        return await _fixed(small_feed("slow.localhost"), request)

    async def _huge(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": RSS})
        await response.prepare(request)
        await response.write(_OPEN)
        sent = number = 0
        while sent < self.policy.huge_bytes:
            block = b"".join(_ITEM % (n, b"huge.localhost", n) for n in range(number, number + 500))
            await response.write(block)
            sent, number = sent + len(block), number + 500
        await response.write(_CLOSE)
        await response.write_eof()
        return response

    async def _gzip_bomb(self, request: web.Request) -> web.StreamResponse:
        # Deflating takes over a second of our own: once, and beside the loop, so that the other hosts answer meanwhile.
        body = await asyncio.to_thread(gzipped_spaces, self.policy.bomb_bytes)
        return web.Response(body=body, headers={"Content-Type": RSS, "Content-Encoding": "gzip"})

    async def _flaky(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        if self.asked % (self.policy.refusals + 1):
            return web.Response(status=503, headers={"Retry-After": str(self.policy.retry_after_s)})
        return await _fixed(small_feed("flaky.localhost"), request)


def sources(suffix: str) -> Iterator[tuple[str, ...]]:
    """Rows for the importer, as Site.sources gives them."""
    for host, paths in FEEDS.items():
        name = host.removesuffix(".localhost")
        for path in paths:
            yield (f"http://{host}{suffix}{path}", f"hostile-{name}", name.title(), "GB", "en", "general", "0.1", "")


def small_feed(host: str) -> bytes:
    """A sound feed of one item."""
    return _OPEN + _ITEM % (1, host.encode(), 1) + _CLOSE


async def _unless_robots(handler: Handler, request: web.Request) -> web.StreamResponse:
    if request.path == "/robots.txt":
        return web.Response(status=404)
    return await handler(request)


async def _fixed(body: bytes, request: web.Request) -> web.StreamResponse:
    return web.Response(body=body, headers={"Content-Type": RSS})


async def _private(request: web.Request) -> web.StreamResponse:
    target = PRIVATE.get(request.path)
    return web.Response(status=302, headers={"Location": target}) if target else web.Response(status=404)


async def _loop(request: web.Request) -> web.StreamResponse:
    return web.Response(status=302, headers={"Location": "/b.xml" if request.path != "/b.xml" else "/feed.xml"})


@cache
def gzipped_spaces(size: int) -> bytes:
    """A gzip stream that opens to a feed whose one title is `size` spaces."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    packed = deflate.compress(_OPEN + b"<item><guid>z1</guid><title>")
    spaces = b" " * _MIB
    for _ in range(max(1, size // _MIB)):
        packed += deflate.compress(spaces)
    return packed + deflate.compress(b"</title></item>" + _CLOSE) + deflate.flush()
