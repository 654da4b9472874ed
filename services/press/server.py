"""HTTP for every kind of press: one aiohttp server that answers for all hosts by the Host header.

It decides nothing itself: what a host serves is a Site's answer; this adds validators, 304, gzip and `/_press/status`.
Hosts that answer by misbehaving (hostile.py) come first, for they need the connection itself.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from services.press import conditional
from services.press.feeds import rfc822
from services.press.site import Answer, Site

GZIP_FROM_BYTES = 512  # below that gzip saves nothing worth its time
_COMPRESSIBLE = ("text/", "application/rss", "application/atom", "application/xml", "application/json")

Behaviour = Callable[[web.Request], Any]  # an aiohttp handler


@dataclass
class PressServer:
    """Sites behind one port. now_ms: the clock, ms UTC. behaviours: host -> handler, to misbehave on purpose."""

    sites: Sequence[Site]
    now_ms: Callable[[], int]
    behaviours: Mapping[str, Behaviour] = field(default_factory=dict)
    answered: Counter[int] = field(default_factory=Counter)

    def app(self) -> web.Application:
        """The application, for a runner or a test."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        return app

    def status(self) -> dict[str, Any]:
        """The site's status, or a list where several are served, and how many answers of each HTTP status went out."""
        now = self.now_ms()
        each = [site.status(now) for site in self.sites]
        whole = each[0] if len(each) == 1 else {"sites": each}
        return {**whole, "now_ms": now, "answers": {str(code): n for code, n in sorted(self.answered.items())}}

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        path, _, query = request.raw_path.partition("?")
        if path == "/_press/status":
            return web.json_response(self.status(), headers={"Cache-Control": "no-store"}, dumps=_compact)
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        host = _host(request)
        if host in self.behaviours:
            response: web.StreamResponse = await self.behaviours[host](request)
        else:
            scheme = request.headers.get("X-Forwarded-Proto", "http")
            response = self._respond(request, self._answer(scheme, host, path, query))
        self.answered[response.status] += 1
        return response

    def _answer(self, scheme: str, host: str, path: str, query: str) -> Answer:
        now = self.now_ms()
        for site in self.sites:
            answer = site.answer(scheme, host, path, query, now)
            if answer is not None:
                return answer
        return Answer(404, f"No such host here: {host}\n".encode())

    def _respond(self, request: web.Request, answer: Answer) -> web.Response:
        headers = {"Content-Type": answer.content_type, **dict(answer.headers)}
        if answer.status != 200:
            return web.Response(status=answer.status, body=answer.body, headers=headers)
        tag = conditional.etag(answer.body)
        headers |= {"ETag": tag, "Vary": "Accept-Encoding", "Cache-Control": "max-age=0"}
        if answer.modified_ms is not None:
            headers["Last-Modified"] = rfc822(answer.modified_ms)
        asked = request.headers
        if conditional.is_not_modified(
            asked.get("If-None-Match"), asked.get("If-Modified-Since"), tag, answer.modified_ms
        ):
            del headers["Content-Type"]
            return web.Response(status=304, headers=headers)
        body = answer.body
        if "Content-Encoding" not in headers and _wants_gzip(request) and _is_compressible(answer):
            # A different representation must not share a strong tag; the comparison is weak, so one name does for both.
            headers |= {"Content-Encoding": "gzip", "ETag": f"W/{tag}"}
            body = gzip.compress(body, compresslevel=5, mtime=0)
        return web.Response(status=200, body=body, headers=headers)


async def serve(server: PressServer, host: str, port: int, started: Callable[[int], None]) -> None:
    """Serve until SIGINT or SIGTERM. started is told the port, which is the system's choice where 0 is asked for."""
    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, backlog=512)
        await site.start()
        started(runner.addresses[0][1])
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        await stop.wait()
    finally:
        await runner.cleanup()


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _host(request: web.Request) -> str:
    name = request.headers.get("Host", "")
    return name.rsplit(":", 1)[0].lower() if not name.startswith("[") else name.lower()


def _wants_gzip(request: web.Request) -> bool:
    return "gzip" in request.headers.get("Accept-Encoding", "").lower()


def _is_compressible(answer: Answer) -> bool:
    return len(answer.body) >= GZIP_FROM_BYTES and answer.content_type.startswith(_COMPRESSIBLE)
