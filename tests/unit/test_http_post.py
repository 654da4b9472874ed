"""A form to a hub, against hubs on loopback that redirect it, swallow it, drown the answer or lead it inside."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web
from yarl import URL

from connectors.http import HttpError, HttpFailedError, HttpRefusedError, Response
from tests.unit.test_http_client import Handler, client, serving, speaking

FORM = {
    "hub.mode": "subscribe",
    "hub.topic": "https://news.example/feed?a=1&b=2",
    "hub.callback": "https://reader.example/websub/0f3a",
    "hub.secret": "s3cr+t=&ü",
}


def post(handler: Handler, path: str = "/hub", **options: object) -> Response:
    async def main() -> Response:
        async with serving(handler) as port, client(port) as made:
            return await made.post(f"http://hub.example:{port}{path}", FORM, **options)  # type: ignore[arg-type]

    return asyncio.run(main())


def test_the_form_arrives_as_a_browser_would_send_it() -> None:
    seen: list[tuple[str, dict[str, str], str]] = []

    async def hub(request: web.Request) -> web.Response:
        seen.append((request.method, {**await request.post()}, request.content_type))  # type: ignore[dict-item]
        return web.Response(status=202)

    got = post(hub)
    assert (got.status, got.body, got.moved) == (202, b"", False)
    assert seen == [("POST", FORM, "application/x-www-form-urlencoded")]


@pytest.mark.parametrize(
    ("statuses", "moved"), [((307,), False), ((308,), True), ((308, 307), False), ((308, 308), True)]
)
def test_redirects_that_keep_the_method_are_followed_with_the_form(statuses: tuple[int, ...], moved: bool) -> None:
    seen: list[str] = []
    asked: list[str] = []

    async def hub(request: web.Request) -> web.Response:
        hop = int(request.path.strip("/"))
        seen.append(f"{request.method} {(await request.post())['hub.secret']}")
        if hop < len(statuses):
            return web.Response(status=statuses[hop], headers={"Location": f"/{hop + 1}"})
        return web.Response(status=204)

    async def before(url: URL) -> None:
        asked.append(url.path)

    got = post(hub, "/0", before_hop=before)
    assert (got.status, got.moved) == (204, moved)
    assert seen == [f"POST {FORM['hub.secret']}"] * (len(statuses) + 1)
    assert asked == [f"/{hop + 1}" for hop in range(len(statuses))]


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_drop_the_form_is_the_answer(status: int) -> None:
    seen: list[str] = []

    async def hub(request: web.Request) -> web.Response:
        seen.append(request.path)
        return web.Response(status=status, headers={"Location": "/elsewhere"})

    assert post(hub).status == status
    assert seen == ["/hub"]


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://127.0.0.1:8099/admin", "private_address"),
        ("http://[::ffff:10.0.0.8]/", "private_address"),
        ("http://169.254.169.254/latest/api/token", "private_address"),
        ("http://2852039166/", "private_address"),
        ("http://metadata.google.internal/computeMetadata/v1/", "private_address"),
        ("http://kafka:9092/", "private_address"),
        ("http://hub.example:9092/", "port_refused"),
        ("gopher://hub.example/", "scheme_refused"),
        ("http://u:p@hub.example/", "credentials_in_url"),
    ],
)
def test_a_hub_cannot_lead_the_form_inside(location: str, reason: str) -> None:
    async def hub(_: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": location})

    with pytest.raises(HttpRefusedError) as raised:
        post(hub)
    assert raised.value.reason == reason


def test_a_name_that_leads_inside_is_refused_before_any_connection() -> None:
    reached: list[str] = []

    async def hub(request: web.Request) -> web.Response:
        reached.append(request.path)
        return web.Response(status=202)

    async def main() -> None:
        names = {"rebound.example": ["127.0.0.1"], "hub.example": ["93.184.216.34", "::1"]}
        async with serving(hub) as port, client(port, names=names, strict=True) as made:
            for name in names:
                with pytest.raises(HttpRefusedError, match="private_address"):
                    await made.post(f"http://{name}:{port}/", FORM)

    asyncio.run(main())
    assert reached == []


def test_a_redirect_may_not_take_the_form_out_of_tls() -> None:
    """Through a gateway all is plain HTTP on the way; what was asked for counts."""

    async def hub(_: web.Request) -> web.Response:
        return web.Response(status=308, headers={"Location": "http://hub.example/"})

    async def main() -> None:
        async with serving(hub) as port, client(gateway=f"127.0.0.1:{port}") as made:
            await made.post("https://hub.example/", FORM)

    with pytest.raises(HttpRefusedError) as raised:
        asyncio.run(main())
    assert raised.value.reason == "redirect_insecure"


def test_redirects_of_a_form_end_somewhere() -> None:
    async def hub(_: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": "/hub"})

    with pytest.raises(HttpFailedError, match="too_many_redirects"):
        post(hub)


def test_an_answer_that_drowns_or_drips_is_its_status() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=202)
        await response.prepare(request)
        while True:
            await response.write(FORM["hub.secret"].encode() * 1000)

    async def dripping(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=400)
        await response.prepare(request)
        await asyncio.sleep(5)
        return response

    assert [(got.status, got.body) for got in (post(endless), post(dripping))] == [(202, b""), (400, b"")]


def test_a_hub_that_takes_forms_keeps_its_connection() -> None:
    peers = set()

    async def hub(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return web.Response(status=202)

    async def main() -> None:
        async with serving(hub) as port, client(port) as made:
            for _ in range(4):
                await made.post(f"http://hub.example:{port}/", FORM)

    asyncio.run(main())
    assert len(peers) == 1


async def _silent(_: asyncio.StreamWriter) -> None:
    await asyncio.sleep(5)


async def _gone(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _echo(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/9.9 " + FORM["hub.secret"].encode() + b"\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize(
    ("raw", "reason"), [(_silent, "timed_out"), (_gone, "connection_lost"), (_echo, "response_malformed")]
)
def test_a_hub_without_an_answer_has_a_reason(
    raw: Callable[[asyncio.StreamWriter], Awaitable[None]], reason: str
) -> None:
    async def main() -> None:
        async with speaking(raw) as port, client(port, read_s=0.2) as made:
            await made.post(f"http://hub.example:{port}/", FORM)

    with pytest.raises(HttpError) as raised:
        asyncio.run(main())
    assert raised.value.reason == reason
