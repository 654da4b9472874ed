"""The press over real HTTP on this machine: validators, compression, hosts by name, and the hosts that misbehave."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import ClientSession, TCPConnector
from aiohttp.test_utils import TestServer
from multidict import CIMultiDictProxy

from services.press import conditional, content, hostile
from services.press.server import PressServer
from services.press.site import Clock, PressSite

START = 1_796_000_000_000
PRESS = content.load()
HOST = "harbour-times.localhost"


@dataclass
class Reply:
    status: int
    headers: CIMultiDictProxy[str]
    body: bytes


@dataclass
class Client:
    """Asks the server under test, by host name and without decompressing."""

    session: ClientSession
    base: str
    now: list[int] = field(default_factory=lambda: [START])

    async def get(self, host: str, path: str, method: str = "GET", **headers: str) -> Reply:
        sent = {"Host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        async with self.session.request(method, self.base + path, headers=sent, allow_redirects=False) as response:
            return Reply(response.status, response.headers, await response.read())


def with_server(test: Callable[[Client], Awaitable[None]], behaviours: Any = None) -> None:
    async def run() -> None:
        now = [START]
        site = PressSite(PRESS, Clock(START, 20.0), ":18090")
        server = TestServer(PressServer([site], lambda: now[0], behaviours or {}).app(), skip_url_asserts=True)
        await server.start_server()
        connector = TCPConnector(force_close=True)
        try:
            async with ClientSession(
                connector=connector, auto_decompress=False, skip_auto_headers=["Accept-Encoding"]
            ) as session:
                await test(Client(session, f"http://127.0.0.1:{server.port}", now))
        finally:
            await server.close()

    asyncio.run(run())


def test_conditional_requests() -> None:
    async def check(client: Client) -> None:
        client.now[0] += 240_000
        whole = await client.get(HOST, "/feed.xml")
        tag, date = whole.headers["ETag"], whole.headers["Last-Modified"]
        assert (whole.status, len(whole.body) > 1000) == (200, True)
        for headers, status in (
            ({"If_None_Match": tag}, 304),
            ({"If_None_Match": f'"other", W/{tag}'}, 304),
            ({"If_None_Match": "*"}, 304),
            ({"If_None_Match": '"other"'}, 200),
            ({"If_Modified_Since": date}, 304),
            ({"If_Modified_Since": "Mon, 01 Jan 2001 00:00:00 GMT"}, 200),
            ({"If_Modified_Since": "nonsense"}, 200),
            ({"If_None_Match": '"other"', "If_Modified_Since": date}, 200),
        ):
            reply = await client.get(HOST, "/feed.xml", **headers)
            assert reply.status == status, headers
            if status == 304:
                assert reply.body == b""
                assert reply.headers["ETag"] == tag
                assert reply.headers["Vary"] == "Accept-Encoding"

    with_server(check)


def test_a_feed_that_grew_is_sent_again() -> None:
    async def check(client: Client) -> None:
        before = await client.get(HOST, "/feed.xml")
        client.now[0] += 120_000
        after = await client.get(HOST, "/feed.xml", If_None_Match=before.headers["ETag"])
        assert after.status == 200
        assert len(after.body) > len(before.body)

    with_server(check)


def test_gzip_only_where_accepted() -> None:
    async def check(client: Client) -> None:
        client.now[0] += 240_000
        plain = await client.get(HOST, "/feed.xml")
        packed = await client.get(HOST, "/feed.xml", Accept_Encoding="br, gzip")
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.body) == plain.body
        again = await client.get(HOST, "/feed.xml", Accept_Encoding="gzip", If_None_Match=packed.headers["ETag"])
        assert again.status == 304

    with_server(check)


def test_methods_hosts_and_status() -> None:
    async def check(client: Client) -> None:
        head = await client.get(HOST, "/feed.xml", method="HEAD")
        assert (head.status, head.body) == (200, b"")
        assert (await client.get(HOST, "/feed.xml", method="POST")).status == 405
        assert (await client.get("unknown.localhost", "/")).status == 404
        assert (await client.get(f"{HOST.upper()}:18090", "/robots.txt")).status == 200
        assert (await client.get(HOST, "/nothing")).status == 404
        status = await client.get("127.0.0.1", "/_press/status")
        assert status.headers["Content-Type"].startswith("application/json")
        assert b'"started_ms":1796000000000' in status.body

    with_server(check)


SMALL = hostile.HostilePolicy(slow_s=0.05, huge_bytes=3 << 20, bomb_bytes=4 << 20, refusals=2)


def test_hostile_hosts() -> None:
    async def check(client: Client) -> None:
        slow = await client.get("slow.localhost", "/feed.xml")
        assert (slow.status, b"<item>" in slow.body) == (200, True)
        huge = await client.get("huge.localhost", "/feed.xml")
        assert len(huge.body) >= 3 << 20
        bomb = await client.get("bomb.localhost", "/feed.xml")
        assert bomb.body.count(b"<!ENTITY") == 10
        packed = await client.get("gzipbomb.localhost", "/feed.xml")
        assert len(packed.body) < 64 << 10
        opened = zlib.decompress(packed.body, 16 + zlib.MAX_WBITS)
        assert len(opened) >= 4 << 20
        broken = await client.get("broken.localhost", "/feed.xml")
        assert b"&eacute;" in broken.body
        assert b"\xff" in broken.body
        assert not broken.body.rstrip().endswith(b">")
        assert [(await client.get("flaky.localhost", "/feed.xml")).status for _ in range(4)] == [503, 503, 200, 503]
        refused = await client.get("flaky.localhost", "/feed.xml")
        assert refused.headers["Retry-After"] == "120"
        for host in hostile.FEEDS:
            assert (await client.get(host, "/robots.txt")).status == 404

    with_server(check, hostile.Hostile(SMALL).behaviours())


def test_redirects_that_must_not_be_followed() -> None:
    async def check(client: Client) -> None:
        for path, target in hostile.PRIVATE.items():
            reply = await client.get("private.localhost", path)
            assert (reply.status, reply.headers["Location"]) == (302, target)
        assert (await client.get("private.localhost", "/other")).status == 404
        path = "/feed.xml"
        for _ in range(6):
            path = (await client.get("loop.localhost", path)).headers["Location"]
        assert path == "/feed.xml"

    with_server(check, hostile.Hostile(SMALL).behaviours())


def test_hostile_sources() -> None:
    rows = list(hostile.sources(":1"))
    assert len(rows) == 7 + len(hostile.PRIVATE)
    assert rows[0][0] == "http://slow.localhost:1/feed.xml"


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        pytest.param("Mon, 30 Nov 2026 00:53:20 GMT", True, id="the same second"),
        pytest.param("Mon, 30 Nov 2026 00:53:19 GMT", False, id="a second before"),
        pytest.param("Mon, 30 Nov 2026 00:53:20 -0000", True, id="no zone known: UTC"),
        pytest.param("yesterday", False, id="not a date"),
        pytest.param(None, False, id="not sent"),
    ],
)
def test_not_modified_since(since: str | None, expected: bool) -> None:
    assert conditional.is_not_modified(None, since, '"t"', START + 900) is expected


def test_without_a_date_only_the_tag_counts() -> None:
    assert not conditional.is_not_modified(None, "Mon, 30 Nov 2026 00:53:20 GMT", '"t"', None)
    assert conditional.is_not_modified('W/"t"', None, '"t"', None)
