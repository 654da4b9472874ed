"""The client against a real server on loopback: redirects, limits, deadlines, gateway, guarded names."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import random
import socket
import threading
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from connectors.addresses import address_refusal
from connectors.http import HttpClient, HttpError, HttpFailedError, HttpPolicy, HttpRefusedError, Response
from connectors.resolver import DnsPolicy, GuardedResolver
from tests.unit.test_http_addresses import REFUSED_ADDRESSES
from tests.unit.test_http_body import PACK

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


def test_rules_for_several_robots_stay_apart() -> None:
    async def handler(request: web.Request) -> web.Response:
        response = web.Response(body=b"<p>", headers={"X-Robots-Tag": "otherbot: noindex"})
        response.headers.add("X-Robots-Tag", "max-snippet:5")
        return response

    assert fetch(handler).headers["x-robots-tag"] == "otherbot: noindex\nmax-snippet:5"


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


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("size", [4_000, 900_000], ids=["in the loop", "apart from it"])
def test_a_packed_body_is_unpacked(coding: str, size: int) -> None:
    text = random.Random(7).randbytes(size // 10) * 10

    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=PACK[coding](text), headers={"Content-Encoding": coding})

    assert fetch(handler, max_bytes=1_000_000).body == text


def test_a_feed_that_is_served_torn_apart_from_the_loop_has_a_reason_too() -> None:
    async def handler(_: web.Request) -> web.Response:
        packed = gzip.compress(random.Random(7).randbytes(300_000))
        return web.Response(body=packed[:-100_000], headers={"Content-Encoding": "gzip"})

    assert fails(handler, max_bytes=1_000_000).reason == "body_truncated"


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


def test_a_name_that_leads_to_any_refused_address_is_refused_alone_or_among_public_ones() -> None:
    names = {
        f"h{n}.example": [address] for n, (address, _) in enumerate(REFUSED_ADDRESSES) if address[:1] in "0123456789:f"
    }
    names |= {f"and-{host}": ["93.184.216.34", address] for host, (address,) in names.items()}

    async def main() -> None:
        async with client(names=names, strict=True) as made:
            for host in names:
                with pytest.raises(HttpRefusedError, match="private_address"):
                    await made.get(f"http://{host}/", max_bytes=10)
                with pytest.raises(HttpRefusedError, match="private_address"):
                    await made.post(f"http://{host}/", {"hub.mode": "subscribe"})

    assert len(names) > 60
    asyncio.run(main())


def test_a_socket_s_address_is_judged_once_more() -> None:
    async def main() -> None:
        async with client(strict=True) as made:
            for address in ("127.0.0.1", "169.254.169.254"):
                with pytest.raises(OSError, match="no public address"):
                    made._socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 80)))

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


def test_zones_whose_servers_are_dead_hold_up_no_other_name() -> None:
    ends = threading.Event()

    def lookup(host: str) -> list[str]:
        if host.startswith("dead"):
            ends.wait(10)
        return ["8.8.8.8"]

    async def main() -> list[str]:
        resolver = GuardedResolver(DnsPolicy(), address_refusal, lookup)
        dead = [asyncio.create_task(resolver.resolve(f"dead{number}.example")) for number in range(40)]
        await asyncio.sleep(0)
        found = await resolver.resolve("news.example")
        ends.set()
        await asyncio.gather(*dead)
        await resolver.close()
        return [each["host"] for each in found]

    assert asyncio.run(main()) == ["8.8.8.8"]


def test_a_remembered_failure_gathers_no_traceback() -> None:
    def lookup(_: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    async def main() -> set[int]:
        resolver = GuardedResolver(DnsPolicy(), address_refusal, lookup)
        lengths = set()
        for _ in range(4):
            try:
                await resolver.resolve("dead.example")
            except socket.gaierror as error:
                lengths.add(len(traceback.extract_tb(error.__traceback__)))
        await resolver.close()
        return lengths

    assert len(asyncio.run(main())) <= 2  # the first asks, the others remember


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


@pytest.mark.parametrize("first", ["::1", "127.0.0.9"], ids=["IPv6", "IPv4"])
def test_a_name_with_an_address_where_nobody_listens_is_reached_by_its_other_one(first: str) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b"here")

    async def main() -> Response:
        async with serving(handler) as port, client(port, names={"news.example": [first, "127.0.0.1"]}) as made:
            return await made.get(f"http://news.example:{port}/", max_bytes=10)

    assert asyncio.run(main()).body == b"here"


def test_an_address_that_never_answers_does_not_hold_up_the_other_one() -> None:
    """Happy eyeballs (RFC 8305): the second address is tried while the first is still silent."""

    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b"here")

    async def main() -> Response:
        async with serving(handler) as port:
            # A full backlog: the kernel drops what comes, as a firewall does.
            with socket.socket() as silent, contextlib.ExitStack() as waiting:
                silent.bind(("127.0.0.9", port))
                silent.listen(0)
                for _ in range(4):
                    one = waiting.enter_context(socket.socket())
                    one.setblocking(False)
                    one.connect_ex(("127.0.0.9", port))
                await asyncio.sleep(0.05)
                names = {"news.example": ["127.0.0.9", "127.0.0.1"]}
                async with client(port, names=names, connect_s=30, total_s=20) as made:
                    return await made.get(f"http://news.example:{port}/", max_bytes=10)

    assert asyncio.run(main()).body == b"here"


def test_no_tls_where_tls_was_asked_for() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b"plain")

    async def main() -> None:
        async with serving(handler) as port, client(port) as made:
            await made.get(f"https://news.example:{port}/", max_bytes=10)

    with pytest.raises(HttpFailedError) as raised:
        asyncio.run(main())
    assert raised.value.reason == "tls_failed"


def test_of_many_hosts_few_keep_a_connection() -> None:
    """As many as can be paid for; the others' are closed after their answer."""

    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b"x")

    async def main() -> tuple[int, int]:
        async with serving(handler) as port, client(port, idle_hosts=3) as made:
            assert made._session.connector is not None
            for number in range(8):
                await made.get(f"http://h{number}.example:{port}/", max_bytes=10)
            held = len(made._session.connector._conns)
            for number in range(3):  # those that have one go on using it
                await made.get(f"http://h{number}.example:{port}/", max_bytes=10)
            return held, len(made._session.connector._conns)

    assert asyncio.run(main()) == (3, 3)


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
