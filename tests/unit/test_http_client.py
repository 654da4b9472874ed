"""The client against a real server on loopback: redirects, limits, deadlines, gateway, guarded names."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from connectors.http import HttpClient, HttpError, HttpFailedError, HttpPolicy, HttpRefusedError, Response
from connectors.resolver import DnsPolicy

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
AGENT = "Broadsheet/test (+mailto:desk@news.example)"


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[int]:
    """A server on loopback that answers everything with `handler`; gives its port."""
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def speaking(raw: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[int]:
    """A server that reads a request's head and then writes what `raw` likes."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await raw(writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@asynccontextmanager
async def client(
    port: int = 0, *, gateway: str = "", names: dict[str, list[str]] | None = None, strict: bool = False, **bounds: Any
) -> AsyncIterator[HttpClient]:
    """A client for which every name leads to loopback; strict: judged by the real verdict, which refuses that."""
    policy = HttpPolicy(ports=(80, 443, port), **{"connect_s": 2, "read_s": 2, "total_s": 3, **bounds})

    def lookup(host: str) -> list[str]:
        if names is None:
            return ["127.0.0.1"]
        if host not in names:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return names[host]

    more: dict[str, Any] = {} if strict else {"refusal": lambda _: None}
    made = HttpClient(policy, user_agent=AGENT, gateway=gateway, lookup=lookup, **more)
    try:
        yield made
    finally:
        await made.close()


def fetch(handler: Handler, path: str = "/feed", *, max_bytes: int = 100_000, **bounds: Any) -> Response:
    async def main() -> Response:
        async with serving(handler) as port, client(port, **bounds) as made:
            return await made.get(f"http://news.example:{port}{path}", max_bytes=max_bytes)

    return asyncio.run(main())


def fails(handler: Handler, **options: Any) -> HttpError:
    with pytest.raises(HttpError) as raised:
        fetch(handler, **options)
    return raised.value


def test_an_answer_with_its_headers() -> None:
    seen: dict[str, str] = {}

    async def handler(request: web.Request) -> web.Response:
        seen.update(request.headers)
        response = web.Response(body=b"<rss/>", headers={"ETag": '"v1"', "Link": "<https://hub.example/>; rel=hub"})
        response.headers.add("Link", "<https://news.example/feed>; rel=self")
        return response

    got = fetch(handler)
    assert (got.status, got.body, got.moved) == (200, b"<rss/>", False)
    assert got.headers["etag"] == '"v1"'
    assert got.headers["link"] == "<https://hub.example/>; rel=hub, <https://news.example/feed>; rel=self"
    assert seen["User-Agent"] == AGENT
    assert seen["Accept-Encoding"] == "gzip, deflate, br, zstd"
    assert "Cookie" not in seen


def test_header_bytes_that_are_no_utf8_can_stand_in_a_record() -> None:
    async def raw(writer: asyncio.StreamWriter) -> None:
        writer.write(b'HTTP/1.1 200 OK\r\nETag: "\xff"\r\nContent-Length: 2\r\n\r\nok')
        await writer.drain()

    async def main() -> Response:
        async with speaking(raw) as port, client(port) as made:
            return await made.get(f"http://news.example:{port}/", max_bytes=100)

    asyncio.run(main()).headers["etag"].encode()


@pytest.mark.parametrize("status", [304, 404, 410, 429, 500, 503])
def test_another_status_is_an_answer_without_body(status: int) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=status, body=b"" if status == 304 else b"sorry", headers={"Retry-After": "7"})

    got = fetch(handler)
    assert (got.status, got.body, got.headers["retry-after"]) == (status, b"", "7")


def test_connections_are_kept() -> None:
    peers = set()

    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return web.Response(body=b"x")

    async def main() -> None:
        async with serving(handler) as port, client(port) as made:
            for _ in range(5):
                await made.get(f"http://news.example:{port}/", max_bytes=10)

    asyncio.run(main())
    assert len(peers) == 1


@pytest.mark.parametrize(
    ("statuses", "moved"), [((301, 308), True), ((301, 302), False), ((307,), False), ((301,), True), ((), False)]
)
def test_moved_only_where_every_hop_was_permanent(statuses: tuple[int, ...], moved: bool) -> None:
    async def handler(request: web.Request) -> web.Response:
        hop = int(request.path.strip("/"))
        if hop < len(statuses):
            return web.Response(status=statuses[hop], headers={"Location": f"/{hop + 1}#part"})
        return web.Response(body=b"here")

    got = fetch(handler, "/0")
    assert (got.body, got.moved) == (b"here", moved)
    assert URL(got.final_url).path == f"/{len(statuses)}"


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://[::ffff:127.0.0.1]:8080/", "private_address"),
        ("http://2130706433/", "private_address"),
        ("http://0x7f.1/", "private_address"),
        ("http://169.254.169.254/latest", "private_address"),
        ("file:///etc/passwd", "scheme_refused"),
        ("http://u:p@10.0.0.8/", "credentials_in_url"),
        ("//127.0.0.1/x", "private_address"),
        ("http://other.example:25/", "port_refused"),
        ("http://[nonsense/", "redirect_malformed"),
    ],
)
def test_a_redirect_to_what_may_not_be_asked(location: str, reason: str) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": location})

    error = fails(handler)
    assert isinstance(error, HttpRefusedError)
    assert error.reason == reason


def test_redirects_end_somewhere() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": request.path + "x"})

    assert fails(handler).reason == "too_many_redirects"


def test_each_hop_but_the_first_is_asked_about() -> None:
    asked = []

    async def before(url: URL) -> None:
        asked.append(url.path)
        if url.path == "/secret":
            raise HttpRefusedError("robots_disallowed")

    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": {"/feed": "/a", "/a": "/secret"}[request.path]})

    async def main() -> None:
        async with serving(handler) as port, client(port) as made:
            await made.get(f"http://news.example:{port}/feed", max_bytes=10, before_hop=before)

    with pytest.raises(HttpRefusedError, match="robots_disallowed"):
        asyncio.run(main())
    assert asked == ["/a", "/secret"]


def test_a_body_over_the_limit_is_not_read_on() -> None:
    sent = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while True:  # endless
            await response.write(bytes(64 * 1024))
            sent += 64 * 1024

    assert fails(handler).reason == "body_too_large"
    assert sent < 20 * 1024 * 1024  # what the sockets' buffers took


def test_an_announced_length_over_the_limit_is_not_read_at_all() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=bytes(200_000))

    assert fails(handler).reason == "body_too_large"


def test_a_packed_bomb_ends_at_the_limit() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=gzip.compress(bytes(4_000_000)), headers={"Content-Encoding": "gzip"})

    assert fails(handler).reason == "decompression_bomb"


def test_a_packed_body_is_unpacked() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=gzip.compress(b"news" * 1000), headers={"Content-Encoding": "gzip"})

    assert fetch(handler).body == b"news" * 1000


@pytest.mark.parametrize("kind", ["silent", "stops", "drips"])
def test_a_slow_host_is_timed_out(kind: str) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if kind == "silent":
            await asyncio.sleep(5)
        await response.prepare(request)
        await response.write(b"<rss>")
        await asyncio.sleep(5 if kind == "stops" else 0)
        for _ in range(100):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    assert fails(handler, read_s=0.3, total_s=0.6).reason == "timed_out"


def test_redirects_share_one_deadline() -> None:
    async def handler(request: web.Request) -> web.Response:
        await asyncio.sleep(0.25)
        return web.Response(status=302, headers={"Location": request.path + "x"})

    assert fails(handler, read_s=0.4, total_s=0.6).reason == "timed_out"


async def _cut(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<rss>")
    await writer.drain()


async def _nonsense(writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    await writer.drain()


async def _nothing(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _long_header(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 300_000 + b"\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (_cut, "transfer_broken"),
        (_nonsense, "response_malformed"),
        (_nothing, "connection_lost"),
        (_long_header, "response_malformed"),
    ],
)
def test_a_broken_answer_has_a_reason(raw: Callable[[asyncio.StreamWriter], Awaitable[None]], reason: str) -> None:
    async def main() -> None:
        async with speaking(raw) as port, client(port) as made:
            await made.get(f"http://news.example:{port}/", max_bytes=10_000)

    with pytest.raises(HttpFailedError) as raised:
        asyncio.run(main())
    assert raised.value.reason == reason


def test_names_that_lead_nowhere_or_inside() -> None:
    names = {
        "inside.example": ["10.0.0.8"],
        "both.example": ["93.184.216.34", "127.0.0.1"],
        "mapped.example": ["::ffff:127.0.0.1"],
        "metadata.example": ["169.254.169.254"],
    }

    async def reason(made: HttpClient, host: str) -> str:
        with pytest.raises(HttpError) as raised:
            await made.get(f"http://{host}/", max_bytes=10)
        return raised.value.reason

    async def main() -> None:
        async with client(names=names, strict=True) as made:
            for host in names:
                assert await reason(made, host) == "private_address"
            assert await reason(made, "nowhere.example") == "dns_failed"

    asyncio.run(main())


def test_a_refused_name_opens_no_connection() -> None:
    reached = []

    async def handler(request: web.Request) -> web.Response:
        reached.append(request.path)
        return web.Response()

    async def main() -> None:
        async with serving(handler) as port, client(port, strict=True) as made:
            await made.get(f"http://rebound.example:{port}/", max_bytes=10)

    with pytest.raises(HttpRefusedError, match="private_address"):
        asyncio.run(main())
    assert reached == []


def test_look_ups_are_shared_and_remembered_failures_too() -> None:
    looked: list[str] = []

    async def main() -> None:
        async with client() as made:
            resolver = made._resolver

            def lookup(host: str) -> list[str]:
                looked.append(host)
                if host == "dead.example":
                    raise socket.gaierror(socket.EAI_NONAME, "no such name")
                return ["8.8.8.8"]

            resolver._lookup = lookup
            await asyncio.gather(*(resolver.resolve("news.example") for _ in range(5)))
            for _ in range(3):
                with pytest.raises(OSError, match="no such name"):
                    await resolver.resolve("dead.example")

    asyncio.run(main())
    assert looked == ["news.example", "dead.example"]


def test_a_name_server_that_does_not_answer() -> None:
    async def main() -> None:
        async with client(dns=DnsPolicy(patience_s=0.05)) as made:

            def lookup(_: str) -> list[str]:
                import time

                time.sleep(0.3)
                return ["8.8.8.8"]

            made._resolver._lookup = lookup
            await made.get("http://news.example/", max_bytes=10)

    with pytest.raises(HttpFailedError) as raised:
        asyncio.run(main())
    assert raised.value.reason == "dns_failed"


def test_through_a_gateway_every_name_leads_to_it() -> None:
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.headers["Host"], request.headers["X-Forwarded-Proto"], request.path_qs))
        if request.path == "/old":
            return web.Response(status=301, headers={"Location": "http://other.example:8080/new?a=%2F"})
        return web.Response(body=b"here")

    async def main() -> Response:
        async with serving(handler) as port, client(gateway=f"127.0.0.1:{port}", strict=True) as made:
            with pytest.raises(HttpRefusedError, match="private_address"):
                await made.get("http://127.0.0.1/", max_bytes=10)
            with pytest.raises(HttpRefusedError, match="address_literal"):
                await made.get("http://8.8.8.8/", max_bytes=10)
            return await made.get("https://news.example/old", max_bytes=10)

    got = asyncio.run(main())
    assert (got.body, got.final_url, got.moved) == (b"here", "http://other.example:8080/new?a=%2F", True)
    assert seen == [("news.example", "https", "/old"), ("other.example:8080", "http", "/new?a=%2F")]


def test_nobody_listens() -> None:
    async def main() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            async with client(port) as made:
                await made.get(f"http://news.example:{port}/", max_bytes=10)

    with pytest.raises(HttpFailedError) as raised:
        asyncio.run(main())
    assert raised.value.reason == "connect_failed"
