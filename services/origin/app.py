"""The origin's HTTP face: editions' pages as JSON for programs and as HTML for readers, from memory alone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from services.origin.conditional import encoding, not_modified
from services.origin.html import Renderer
from services.origin.pages import PageShelf, Payload
from udfs.editions import ReferenceData

CACHE = "public, max-age=0, s-maxage=60, stale-while-revalidate=60, stale-if-error=3600"
# Nothing on a page may run: headlines are publishers' words. Images come from publishers' hosts.
SECURITY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src http: https:; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
REFRESH_S = 2.0


@dataclass(slots=True)
class Origin:
    """The service: shelf, renderer, and the loop that follows the pointers. `now_ms` is the clock."""

    shelf: PageShelf
    reference: ReferenceData
    renderer: Renderer
    now_ms: Callable[[], int]
    background: set[asyncio.Task[None]] = field(default_factory=set)

    def application(self) -> Starlette:
        """The ASGI application."""
        routes = [
            Route("/health", self.health),
            Route("/v1/editions", self.editions),
            Route("/v1/editions/{edition}/version", self.version),
            Route("/v1/editions/{edition}/{section}", self.page_json),
            Route("/", self.index),
            Route("/{edition}", self.front),
            Route("/{edition}/{section}", self.page_html),
        ]
        handlers: dict[int | type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
            HTTPException: _problem,
            Exception: _problem,
        }
        return Starlette(routes=routes, lifespan=self.lifespan, exception_handlers=handlers)

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Take in the pages before the first request, then follow the pointers until shutdown."""
        await self.shelf.refresh(self.now_ms())
        task = asyncio.create_task(self.follow())
        yield
        task.cancel()

    async def follow(self) -> None:
        """Refresh for ever."""
        while True:
            await asyncio.sleep(REFRESH_S)
            await self.shelf.refresh(self.now_ms())

    async def health(self, _: Request) -> Response:
        """200 once the process answers; `pages` says whether it has anything to serve."""
        shelf = self.shelf
        newest = max(shelf.cycles.values(), default=0)
        body = {"pages": len(shelf.snapshots), "newest_cycle": newest, "refreshed_ms": shelf.refreshed_ms}
        return _json(body, {"Cache-Control": "no-store"})

    async def editions(self, request: Request) -> Response:
        """All editions, and which sections have a page."""
        rows = [
            {
                "id": edition.id,
                "name": edition.name,
                "language": edition.language,
                "sections": self.shelf.sections(edition.id),
            }
            for edition in self.reference.editions
        ]
        return _send(request, Payload.of(msgspec.json.encode(rows)), "application/json")

    async def version(self, request: Request) -> Response:
        """The versions of an edition's pages: tiny, for asking whether there is anything new."""
        edition = request.path_params["edition"]
        sections = self.shelf.sections(edition)
        if not sections:
            raise HTTPException(404, "no such edition, or it has no page yet")
        shelf = self.shelf
        body = {
            "edition": edition,
            "cycle": max(shelf.cycle(shelf.snapshots[edition, section]) for section in sections),
            "versions": {section: shelf.snapshots[edition, section].page.version for section in sections},
        }
        return _send(request, Payload.of(msgspec.json.encode(body)), "application/json")

    async def page_json(self, request: Request) -> Response:
        """The snapshot itself, byte for byte as published."""
        place = (request.path_params["edition"], request.path_params["section"])
        snapshot = self.shelf.snapshots.get(place)
        if snapshot is None:
            raise HTTPException(404, "no such page, or it was not published yet")
        return _send(request, snapshot.json, "application/json", self.shelf.cycle(snapshot))

    async def index(self, request: Request) -> Response:
        """The editions that have pages, for a reader to choose from."""
        having = [edition for edition in self.reference.editions if self.shelf.sections(edition.id)]
        return _send(request, Payload.of(self.renderer.index(having)), "text/html; charset=utf-8")

    async def front(self, request: Request) -> Response:
        """An edition's address leads to its top stories."""
        edition = request.path_params["edition"]
        if not self.shelf.sections(edition):
            raise HTTPException(404, "no such edition, or it has no page yet")
        return RedirectResponse(f"/{edition}/top", 307, headers={"Cache-Control": CACHE})

    async def page_html(self, request: Request) -> Response:
        """The same snapshot for a reader."""
        place = (request.path_params["edition"], request.path_params["section"])
        snapshot = self.shelf.snapshots.get(place)
        if snapshot is None:
            raise HTTPException(404, "no such page, or it was not published yet")
        return _send(request, snapshot.html, "text/html; charset=utf-8", self.shelf.cycle(snapshot))


def _send(request: Request, payload: Payload, media_type: str, cycle_ms: int | None = None) -> Response:
    headers = {"Cache-Control": CACHE, "Vary": "Accept-Encoding", **SECURITY}
    if cycle_ms is not None:
        headers["Broadsheet-Cycle"] = str(cycle_ms)
    chosen = encoding(request.headers.get("accept-encoding"))
    # A strong tag names one sequence of bytes, so each encoding has its own.
    etag = payload.etag if chosen == "identity" else f'{payload.etag[:-1]}-{chosen}"'
    headers["ETag"] = etag
    if not_modified(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    body = {"br": payload.brotlied, "gzip": payload.gzipped}.get(chosen, payload.plain)
    if chosen != "identity":
        headers["Content-Encoding"] = chosen
    return Response(body, media_type=media_type, headers=headers)


def _json(body: object, headers: dict[str, str]) -> Response:
    return Response(msgspec.json.encode(body), media_type="application/json", headers=headers)


async def _problem(_: Request, error: Exception) -> Response:
    """Errors as RFC 9457 problem details, never cached: a passing fault must not stay at the edge."""
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "internal error")
    body = msgspec.json.encode({"title": detail, "status": status})
    # Such as Allow, which a 405 must carry (RFC 9110, 15.5.6).
    own = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return Response(body, status, own | {"Cache-Control": "no-store", **SECURITY}, "application/problem+json")
