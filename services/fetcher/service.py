"""The fetcher as one process: intake thread, event loop, results, and an orderly end.

`Desk` works on requests in the event loop: it decodes, has them fetched, and finishes an offset once the broker has
the answer. `run` builds everything, waits for the word to stop, and takes it down within five seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog
from aiohttp import web

from connectors.http import HttpClient, HttpError, HttpFailedError, Response
from connectors.kafka import BrokerUnreachableError, Message, Partition
from connectors.kafka_native import NativeProducer
from connectors.objects import S3Objects
from connectors.settings import Endpoints
from services.fetcher.answers import (
    Got,
    Unsent,
    feed_result,
    hub_result,
    is_html,
    page_answer,
    retractions,
    set_aside_reason,
)
from services.fetcher.confidence import fault, hush, without_secrets
from services.fetcher.fetching import Fetching, Held
from services.fetcher.intake import Intake
from services.fetcher.metrics import Metrics
from services.fetcher.offsets import Ticket
from services.fetcher.outlet import Outlet, OutletError
from services.fetcher.pages import PageMemory, digest
from services.fetcher.policy import FetchPolicy
from services.fetcher.settings import FetcherSettings
from services.watching import serve
from state_schemas.codec import DecodeError, decode_record
from state_schemas.fetching import Body, FetchRequest, FetchResult, RawItem
from state_schemas.topics import FEEDS_FETCHED, FETCH_REQUESTS_PRIORITY, ITEMS_RAW, QUARANTINE

# The intake polls five times a second; a silence this long means that its thread hangs.
_SILENT_S = 60.0

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class _Work:
    message: Message
    ticket: Ticket
    answered: bool = False  # its end is known: what is left is to tell the line


class Desk:
    """All requests that are being worked on, each in a task of its own."""

    def __init__(
        self,
        fetching: Fetching,
        outlet: Outlet,
        policy: FetchPolicy,
        metrics: Metrics,
        *,
        finish: Callable[[Ticket], None],
        failed: Callable[[str], None],
        utc_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._fetching = fetching
        self._outlet = outlet
        self._policy = policy
        self._metrics = metrics
        self._finish = finish
        self._failed = failed
        self._utc_ms = utc_ms
        self.pages = PageMemory(policy.pages, policy.unmodified_run)
        self._tasks: dict[asyncio.Task[None], _Work] = {}
        self.ended = 0
        self.ended_bytes = 0

    def accept(self, requests: Sequence[tuple[Message, Ticket]]) -> None:
        """Begin to work on these requests."""
        for message, ticket in requests:
            work = _Work(message, ticket)
            task = asyncio.create_task(self._work(work))
            self._tasks[task] = work
            task.add_done_callback(self._done)
            self._metrics.requests.labels(message.topic).inc()

    async def hand_over(self, gone: set[Partition]) -> None:
        """End the work on these partitions that has no result yet; a result that is there still goes out. Whoever had
        the partitions that came may have asked their hosts a moment ago."""
        self._fetching.hosts.start_gently()
        if gone:
            self.pages.clear()
        await self._end([task for task, work in self._tasks.items() if work.ticket.partition in gone])

    async def drain(self, patience_s: float) -> None:
        """Let what runs end within the patience, then end the rest."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=patience_s)
        await self._end(list(self._tasks))

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        ending = [task for task in tasks if not self._tasks[task].answered]
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending, timeout=1)

    def _done(self, task: asyncio.Task[None]) -> None:
        work = self._tasks.pop(task)
        self.ended += 1
        self.ended_bytes += len(work.message.value)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(str(error))

    async def _work(self, work: _Work) -> None:
        message = work.message
        began = time.monotonic()
        try:
            request = decode_record(FetchRequest, message.value)
        except DecodeError as error:
            work.answered = True
            await self._set_aside(message, error.reason, detail=error.detail)
        else:
            with self._fetching.holding() as held:
                await self._ask(request, work, held)
            self._metrics.seconds.labels(request.kind).observe(time.monotonic() - began)
        self._finish(work.ticket)

    async def _ask(self, request: FetchRequest, work: _Work, held: Held) -> None:
        message = work.message
        asked = self.pages.conditional(request)
        got = await self._end_of(asked, message, held)
        if isinstance(got, HttpError):
            hush(got, request)
        work.answered = True
        try:
            await self._answer(request, got, message, conditional=bool(asked.etag or asked.last_modified))
        except OutletError:
            raise
        except Exception as error:
            # Our own bug again: told to quarantine alone, for no answer can be made of it. Poll asks anew.
            log.error("answer_fault", url=request.url, error=fault(request, error), exc_info=not request.form)
            await self._set_aside(message, "fetcher_fault", request=request, detail=fault(request, error))

    async def _end_of(self, request: FetchRequest, message: Message, held: Held) -> Got:
        urgent = message.topic == FETCH_REQUESTS_PRIORITY.name
        try:
            return await self._fetching.end_of(request, held, urgent=urgent)
        except Exception as error:
            # Our own bug: the request is answered all the same, or a crash would meet it again for ever.
            log.error("fetcher_fault", url=request.url, error=fault(request, error), exc_info=not request.form)
            return HttpFailedError("fetcher_fault", fault(request, error))

    async def _answer(self, request: FetchRequest, got: Got, message: Message, *, conditional: bool) -> None:
        reason = set_aside_reason(got)
        if reason:
            await self._set_aside(message, reason, request=request, detail=getattr(got, "detail", ""))
        if isinstance(got, Response):
            self._metrics.body_bytes.labels(request.kind).inc(len(got.body))
        if request.kind == "feed":
            outcome, why = await self._answer_feed(request, got)
        elif request.kind == "hub":
            result = hub_result(request, got, self._utc_ms())
            await self._outlet.feed_result(result)
            outcome, why = result.outcome, result.reason
        else:
            outcome, why = await self._answer_page(request, got, conditional)
        self._metrics.answers.labels(request.kind, outcome, why).inc()

    async def _answer_feed(self, request: FetchRequest, got: Got) -> tuple[str, str]:
        raw, content_type = _content(got)
        result = feed_result(request, got, await self._outlet.body(raw, content_type), self._utc_ms())
        await self._outlet.feed_result(result, raw)
        return result.outcome, result.reason

    async def _answer_page(self, request: FetchRequest, got: Got, conditional: bool) -> tuple[str, str]:
        raw, content_type = _content(got)
        html = is_html(content_type, raw)
        page = digest(raw) if html and raw else 0
        known = self.pages.holds(request, page)
        if html and not known:
            body = await self._outlet.body(raw, content_type)
        else:
            body = Body(size=len(raw))  # what is no page, or is known, is counted, not kept
        answer = page_answer(
            request, got, body, self._utc_ms(), self._policy, html=html, conditional=conditional, known=known
        )
        if isinstance(answer, FetchResult):
            await self._outlet.feed_result(answer)
            return answer.outcome, answer.reason
        if isinstance(answer, RawItem):
            # Only what the broker has is remembered, or a page could be taken for told that never was.
            for item in retractions(answer) if answer.kind == "retraction" else (answer,):
                await self._outlet.raw_item(item, raw)
        if isinstance(got, Response):
            self._remember(request, got, answer, page)
        return (answer.outcome if isinstance(answer, Unsent) else answer.kind), answer.reason

    def _remember(self, request: FetchRequest, got: Response, answer: RawItem | Unsent, page: int) -> None:
        if isinstance(answer, RawItem) and answer.kind == "retraction":
            self.pages.forget(request)
        elif got.status == 304:
            self.pages.unmodified(request)
        elif page and 200 <= got.status < 300:
            self.pages.keep(request, page, got.headers)

    async def _set_aside(
        self, message: Message, reason: str, *, request: FetchRequest | None = None, detail: str = ""
    ) -> None:
        url = request.url if request else ""
        await self._outlet.set_aside(
            message.topic,
            reason,
            self._utc_ms(),
            record=without_secrets(message.value, request),
            subject=url or message.key,
            detail=detail.encode("utf-8", "replace").decode(),
            publisher=request.origin.publisher if request else "",
        )
        self._metrics.set_aside.labels(reason).inc()
        log.info("set_aside", reason=reason, subject=url or message.key, detail=detail[:200])


def _content(got: Got) -> tuple[bytes, str]:
    return (got.body, got.headers.get("content-type", "")) if isinstance(got, Response) else (b"", "")


async def run(settings: FetcherSettings, endpoints: Endpoints, policy: FetchPolicy, stop: asyncio.Event) -> str:
    """Fetch until `stop`; returns why it ended otherwise, or nothing. Raises OSError where the port is taken."""
    loop = asyncio.get_running_loop()
    metrics = Metrics()
    trouble: list[str] = []

    def failed(why: str) -> None:
        trouble.append(why)
        stop.set()

    intake: Intake | None = None

    def health() -> tuple[bool, dict[str, object]]:
        joined = intake is not None and intake.joined
        silent = time.monotonic() - intake.polled if intake is not None else 0.0
        well = joined and intake is not None and intake.is_alive() and silent < _SILENT_S
        return well, {
            "status": "ok" if well else "starting" if not joined else "stuck",
            "partitions": intake.partitions if intake is not None else 0,
            "held": intake.held if intake is not None else 0,
            "running": fetching.hosts.running,
            "hosts": fetching.hosts.hosts,
            "polled_s_ago": round(silent, 1),
        }

    http = HttpClient(policy.http(settings.ports), user_agent=settings.user_agent(), gateway=endpoints.gateway)
    fetching = Fetching(policy, http)
    runner: web.AppRunner | None = None
    producer: NativeProducer | None = None
    try:
        runner = await serve(settings.port, metrics.registry, health)
        producer = await _producer(endpoints, stop)
        if producer is None:
            return ""
        desk = Desk(
            fetching,
            Outlet(producer, S3Objects(endpoints)),
            policy,
            metrics,
            finish=lambda ticket: intake.finish(ticket) if intake is not None else None,
            failed=failed,
        )
        intake = Intake(endpoints, policy, loop, desk, failed=failed, commit_failed=metrics.commits_failed.inc)
        metrics.gauge("pages", "Pages remembered, for re-checks", lambda: len(desk.pages))
        metrics.gauge("held", "Requests read and not yet ended", lambda: intake.held)
        metrics.gauge("running", "Requests under way at hosts", lambda: fetching.hosts.running)
        metrics.gauge("hosts", "Hosts held in memory", lambda: fetching.hosts.hosts)
        intake.start()
        log.info("started", port=settings.port, gateway=endpoints.gateway, profile=endpoints.profile)
        await stop.wait()
        intake.drain()
        await desk.drain(0 if trouble else policy.stop_s)
        intake.stop()
        await asyncio.to_thread(intake.join, 2)
    finally:
        await http.close()
        if producer is not None:
            await producer.close(0.5)
        if runner is not None:
            await runner.cleanup()
    log.info("stopped", held=intake.held, trouble=trouble[:1])
    return trouble[0] if trouble else ""


async def _producer(endpoints: Endpoints, stop: asyncio.Event) -> NativeProducer | None:
    """A producer that knows its topics, so that no send blocks the loop; None when told to stop before."""
    producer = NativeProducer(endpoints, "broadsheet-fetcher", asyncio.get_running_loop(), linger_ms=5)
    while not stop.is_set():
        try:
            await asyncio.to_thread(producer.prepare, (FEEDS_FETCHED, ITEMS_RAW, QUARANTINE))
        except BrokerUnreachableError as error:
            log.warning("broker_unreachable", detail=str(error))
            await asyncio.sleep(0.5)
            continue
        return producer
    await producer.close(0)
    return None


__all__ = ["Desk", "OutletError", "run"]
