"""One request from its arrival to its end: address, floor, the host's line, robots.txt, the request itself.

Decides nothing of its own: verdicts come from addresses, floors, gate, robots; records from answers. Never waits
longer for a host than the gate's patience.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from yarl import URL

from connectors.addresses import parse, url_refusal
from connectors.http import HttpClient, HttpError, HttpRefusedError, Response
from connectors.room import Room
from services.fetcher.answers import Got, host_verdict
from services.fetcher.floors import Floors
from services.fetcher.gate import Ended
from services.fetcher.hosts import DeferredError, HostGates, monotonic_ms
from services.fetcher.policy import FetchPolicy
from services.fetcher.robots_cache import RobotsCache
from services.fetcher.visit import Visit, host_of
from state_schemas.fetching import FetchRequest

FEED_TYPES = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5"
)
PAGE_TYPES = "text/html, application/xhtml+xml;q=0.9, */*;q=0.1"


class Fetching:
    """Asks for one fetcher. Used inside one event loop."""

    def __init__(
        self,
        policy: FetchPolicy,
        http: HttpClient,
        *,
        clock_ms: Callable[[], int] = monotonic_ms,
        utc_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._policy = policy
        self._http = http
        self._clock_ms = clock_ms
        self._utc_ms = utc_ms
        self.hosts = HostGates(policy, clock_ms=clock_ms, utc_ms=utc_ms)
        self._robots = RobotsCache(policy, clock_ms)
        self._floors = Floors(policy.floors)

    def holding(self) -> Held:
        """For one request: a context, to be left when its answer is with the broker."""
        return Held(self.hosts, self._http.rooms.holding())

    async def end_of(self, request: FetchRequest, held: Held, *, urgent: bool) -> Got:
        """How the request ended. Raises nothing but a cancellation, and what is our bug."""
        try:
            return await self._ask(request, held, urgent)
        except (HttpError, DeferredError) as end:
            return end

    async def _ask(self, request: FetchRequest, held: Held, urgent: bool) -> Response:
        url = parse(request.url)
        refusal = "url_malformed" if url is None else url_refusal(url, self._http.addresses)
        if url is None or refusal:
            raise HttpRefusedError(refusal or "url_malformed", request.url[:200])
        if request.kind == "hub" and not request.form:
            raise HttpRefusedError("form_missing", "a request to a hub says nothing")
        if request.kind != "feed":
            return await self._visit(request, url, held, urgent)
        wait = self._floors.wait_ms(request.feed_id, request.floor_ms, self._clock_ms())
        if wait:
            raise HttpRefusedError("within_floor", f"{wait} ms early")
        # Counted from here on, or two requests for one feed could wait in line together.
        self._floors.asked(request.feed_id, self._clock_ms())
        try:
            return await self._visit(request, url, held, urgent)
        except HttpError:
            raise
        except BaseException:
            # Deferred or given up: nothing was asked, or nobody learnt the answer.
            self._floors.forget(request.feed_id)
            raise

    async def _visit(self, request: FetchRequest, url: URL, held: Held, urgent: bool) -> Response:
        # robots.txt tells crawlers which pages to leave alone (RFC 9309, 1). A hub is an interface that the publisher's
        # own feed names for subscribers to post to, and many hubs disallow everything to whoever crawls.
        visit = Visit(self.hosts, url, self._permit if request.kind != "hub" else None)
        await visit.enter(urgent=urgent)
        held.placed = True
        how: Ended = "unasked"
        try:
            await visit.permit(url)
            got = await self._get(request, url, visit, held.room)
            how = host_verdict(got, self._utc_ms())
            if isinstance(got, HttpError):
                if got.reason == "no_room":
                    # Our want, not the host's fault: while the broker is away, answers fill the memory.
                    raise DeferredError("no_room", self._utc_ms() + self._policy.patience_ms)
                raise got
            return got
        finally:
            visit.leave(how)

    async def _get(self, request: FetchRequest, url: URL, visit: Visit, room: Room) -> Response | HttpError:
        if request.kind == "hub":
            try:
                return await self._http.post(str(url), request.form, before_hop=visit.before_hop, sending=visit.sending)
            except HttpError as error:
                return error
        headers = {"Accept": FEED_TYPES if request.kind == "feed" else PAGE_TYPES}
        if request.etag:
            headers["If-None-Match"] = request.etag
        if request.last_modified:
            headers["If-Modified-Since"] = request.last_modified
        limit = self._policy.feed_bytes if request.kind == "feed" else self._policy.page_bytes
        try:
            return await self._http.get(
                str(url),
                max_bytes=limit,
                headers=headers,
                before_hop=visit.before_hop,
                sending=visit.sending,
                room=room,
            )
        except HttpError as error:
            return error

    async def _permit(self, url: URL) -> bool:
        """Pass where robots.txt allows the URL. True: it was asked for just now, which counts as a start."""
        rules = self._robots.known(url)
        fetched = rules is None
        if rules is None:
            rules = await self._robots.rules(url, self._robots_txt)
        self.hosts.crawl_delay(host_of(url), rules.crawl_delay_ms(self._policy.crawl_delay_cap_ms))
        rules.check(url)
        return fetched

    async def _robots_txt(self, url: str) -> tuple[int, bytes]:
        """The answer to a request for robots.txt, for which a request to the host is in flight already. Its redirects
        wait in line like any, and are followed without asking for further rules."""
        visit = Visit(self.hosts, URL(url), None)
        got: Response | HttpError
        try:
            got = await self._http.get(
                url,
                max_bytes=self._policy.robots_bytes,
                headers={"Accept": "text/plain, */*;q=0.5", "Accept-Encoding": "identity"},
                before_hop=visit.before_hop,
                sending=visit.sending,
                total_s=self._policy.robots_total_s,
                cut=True,
            )
        except HttpError as error:
            got = error
        except BaseException:
            visit.leave_others("unasked")
            raise
        how = host_verdict(got, self._utc_ms())
        visit.leave_others(how)
        self.hosts.learnt(visit.host, visit.verdict(how))
        if isinstance(got, HttpError):
            raise got
        return got.status, got.body


class Held:
    """What one request holds until its answer is out, so that a broker which is away does not fill the memory: its
    place in the process, once it was let start, and room for its body."""

    def __init__(self, hosts: HostGates, room: Room) -> None:
        self._hosts = hosts
        self.room = room
        self.placed = False

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        self.room.give_back()
        if self.placed:
            self.placed = False
            self._hosts.free()
