"""One request from arrival to end, against real servers behind a gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web

from connectors.http import HttpClient, HttpError, HttpFailedError, HttpRefusedError, Response
from services.fetcher.answers import Got
from services.fetcher.fetching import Fetching
from services.fetcher.hosts import DeferredError
from services.fetcher.pages import PageMemory, digest
from services.fetcher.policy import FetchPolicy
from state_schemas.fetching import FetchRequest
from state_schemas.sources import Origin

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
# Seconds become milliseconds; the ratios stay.
QUICK = {"host_gap_ms": 5, "patience_ms": 2_000, "read_s": 0.3, "total_s": 0.6, "robots_total_s": 0.3}


async def end(fetching: Fetching, request: FetchRequest, *, urgent: bool = False) -> Got:
    """How it ended, once its answer was out."""
    with fetching.holding() as held:
        return await fetching.end_of(request, held, urgent=urgent)


class World:
    """Hosts behind one gateway; `asked` has every request as host and path."""

    def __init__(self, **hosts: Handler) -> None:
        self.hosts = {f"{name}.example": handler for name, handler in hosts.items()}
        self.asked: list[str] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        host = request.headers["Host"]
        self.asked.append(host.removesuffix(".example") + request.path_qs)
        return await self.hosts[host](request)

    @asynccontextmanager
    async def fetching(self, **bounds: Any) -> AsyncIterator[Fetching]:
        runner = web.ServerRunner(web.Server(self), shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        policy = FetchPolicy(**{**QUICK, **bounds})
        http = HttpClient(
            policy.http((80, 443)), user_agent="Broadsheet/test", gateway=f"127.0.0.1:{runner.addresses[0][1]}"
        )
        try:
            yield Fetching(policy, http)
        finally:
            await http.close()
            await runner.cleanup()

    def ends(self, *requests: FetchRequest, urgent: bool = False, **bounds: Any) -> list[Got]:
        """How each request ended, one after the other."""

        async def main() -> list[Got]:
            async with self.fetching(**bounds) as fetching:
                return [await end(fetching, each, urgent=urgent) for each in requests]

        return asyncio.run(main())


def feed(url: str, **more: Any) -> FetchRequest:
    return asking("feed", url, **more)


def asking(kind: str, url: str, **more: Any) -> FetchRequest:
    host = url.split("/")[2]
    fields: dict[str, Any] = {"feed_id": url, **more}
    return FetchRequest(
        request_id="r",
        kind=kind,
        url=url,
        host=host,
        origin=Origin(publisher="p"),
        requested_ms=0,
        **fields,  # type: ignore[arg-type]
    )


def page(url: str, **more: Any) -> FetchRequest:
    return asking("page", url, **more)


def site(robots: str | int = 404, pages: dict[str, web.Response] | None = None) -> Handler:
    """A host whose pages are the same at every request."""

    async def handler(request: web.Request) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return web.Response(status=robots) if isinstance(robots, int) else web.Response(text=robots)
        found = (pages or {}).get(request.path)
        if found is None:
            return web.Response(body=b"<rss/>", content_type="application/rss+xml")
        return web.Response(status=found.status, headers=found.headers, body=found.body)

    return handler


def redirect(to: str, status: int = 302) -> web.Response:
    return web.Response(status=status, headers={"Location": to})


def reason(got: Got) -> str:
    assert isinstance(got, HttpError | DeferredError), got
    return got.reason


def test_robots_first_then_the_feed() -> None:
    world = World(news=site("User-agent: *\nDisallow: /private"))
    got, private = world.ends(feed("http://news.example/feed"), page("http://news.example/private/x"))
    assert isinstance(got, Response)
    assert got.body == b"<rss/>"
    assert reason(private) == "robots_disallowed"
    assert world.asked == ["news/robots.txt", "news/feed"]


def test_validators_are_sent_as_they_came() -> None:
    seen: dict[str, str] = {}

    async def handler(request: web.Request) -> web.StreamResponse:
        if request.path != "/robots.txt":
            seen.update(request.headers)
        return web.Response(status=304 if request.path != "/robots.txt" else 404)

    world = World(news=handler)
    (got,) = world.ends(feed("http://news.example/feed", etag='W/"1"', last_modified="yesterday, or so"))
    assert isinstance(got, Response)
    assert got.status == 304
    assert (seen["If-None-Match"], seen["If-Modified-Since"]) == ('W/"1"', "yesterday, or so")


@pytest.mark.parametrize("robots", [500, 503, 429])
def test_nothing_is_fetched_while_robots_cannot_be_had(robots: int) -> None:
    world = World(news=site(robots))
    ends = world.ends(page("http://news.example/a"), feed("http://news.example/feed"))
    assert reason(ends[0]) == "robots_unreachable"
    assert reason(ends[1]) == ("breaker_open" if robots == 429 else "robots_unreachable")
    assert world.asked == ["news/robots.txt"]


def test_a_host_that_never_answers_is_timed_out_for_robots_too() -> None:
    async def silent(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(5)
        return web.Response()

    (end,) = World(news=silent).ends(feed("http://news.example/feed"))
    assert isinstance(end, HttpFailedError)
    assert end.reason == "timed_out"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1/feed", "private_address"),
        ("http://[::1]/feed", "private_address"),
        ("ftp://news.example/feed", "scheme_refused"),
        ("http://u:p@news.example/feed", "credentials_in_url"),
        ("http://news.example:port/", "url_malformed"),
        ("http://8.8.8.8/", "address_literal"),
    ],
)
def test_what_may_not_be_asked_is_refused_before_any_request(url: str, why: str) -> None:
    world = World()
    (end,) = world.ends(feed(url))
    assert isinstance(end, HttpRefusedError)
    assert end.reason == why
    assert world.asked == []


def test_a_redirect_meets_the_rules_of_the_host_it_leads_to() -> None:
    world = World(
        old=site(pages={"/p": redirect("https://social.example/p"), "/q": redirect("http://open.example/q")}),
        social=site("User-agent: *\nDisallow: /"),
        open=site(),
    )
    ends = world.ends(page("http://old.example/p"), page("http://old.example/q"))
    assert reason(ends[0]) == "robots_disallowed"
    assert isinstance(ends[1], Response)
    assert ends[1].final_url == "http://open.example/q"
    assert world.asked == ["old/robots.txt", "old/p", "social/robots.txt", "old/q", "open/robots.txt", "open/q"]


def test_a_redirect_within_the_host_meets_its_rules() -> None:
    world = World(news=site("User-agent: *\nDisallow: /private", {"/a": redirect("/private/b")}))
    (end,) = world.ends(page("http://news.example/a"))
    assert reason(end) == "robots_disallowed"
    assert world.asked == ["news/robots.txt", "news/a"]


def test_rules_reached_by_a_redirect_bind_the_host_that_was_asked() -> None:
    async def old(request: web.Request) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return redirect("http://new.example/robots.txt?from=old", 301)
        return web.Response(body=b"<rss/>")

    async def new(request: web.Request) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return web.Response(text="User-agent: *\nDisallow: /x" if "from" in request.query else "")
        return web.Response(body=b"<rss/>")

    world = World(old=old, new=new)
    ends = world.ends(page("http://old.example/x"), page("http://new.example/x"))
    assert reason(ends[0]) == "robots_disallowed"
    assert isinstance(ends[1], Response)
    assert world.asked == ["old/robots.txt", "new/robots.txt?from=old", "new/robots.txt", "new/x"]


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:9092/",
        "http://[::ffff:169.254.169.254]/robots.txt",
        "http://2130706433/",
        "http://kafka/robots.txt",
    ],
)
def test_robots_cannot_lead_inside_and_then_nothing_is_fetched(location: str) -> None:
    async def news(request: web.Request) -> web.StreamResponse:
        return redirect(location) if request.path == "/robots.txt" else web.Response(body=b"<rss/>")

    world = World(news=news)
    (got,) = world.ends(feed("http://news.example/feed"))
    assert isinstance(got, HttpRefusedError)
    assert got.reason == "private_address"
    assert world.asked == ["news/robots.txt"]


def test_names_that_lead_inside_are_refused_for_robots_feeds_and_hubs_before_any_connection() -> None:
    names = {"inside.example": ["10.0.0.8"], "both.example": ["93.184.216.34", "fd00:ec2::254"]}

    async def main() -> list[str]:
        policy = FetchPolicy(**QUICK)
        http = HttpClient(policy.http((80, 443)), user_agent="Broadsheet/test", lookup=lambda host: names[host])
        try:
            fetching = Fetching(policy, http)
            requests = [asking(kind, f"http://{name}/", form=FORM) for kind in ("feed", "hub") for name in names]
            return [reason(await end(fetching, each)) for each in requests]
        finally:
            await http.close()

    assert asyncio.run(main()) == ["private_address"] * 4


def test_a_feed_is_not_asked_again_within_its_floor_and_others_are() -> None:
    world = World(news=site())
    ends = world.ends(
        feed("http://news.example/feed", floor_ms=60_000),
        feed("http://news.example/feed", floor_ms=60_000),
        feed("http://news.example/other", floor_ms=60_000),
        feed("http://news.example/feed", floor_ms=0),
    )
    assert reason(ends[1]) == "within_floor"
    assert [isinstance(end, Response) for end in ends] == [True, False, True, True]


def test_a_deferred_feed_may_come_again_before_its_floor() -> None:
    world = World(news=site(pages={"/a": web.Response(status=503, headers={"Retry-After": "3"})}))
    ends = world.ends(
        page("http://news.example/a"),
        feed("http://news.example/feed", floor_ms=60_000),
        feed("http://news.example/feed", floor_ms=60_000),
    )
    assert [reason(end) for end in ends[1:]] == ["retry_after", "retry_after"]


def test_retry_after_is_honoured_by_all_requests_of_the_host_alone() -> None:
    world = World(news=site(pages={"/a": web.Response(status=429, headers={"Retry-After": "3600"})}), other=site())
    ends = world.ends(page("http://news.example/a"), page("http://news.example/b"), page("http://other.example/b"))
    assert isinstance(ends[0], Response)
    assert reason(ends[1]) == "retry_after"
    assert isinstance(ends[2], Response)
    assert "news/b" not in world.asked


def test_a_host_that_fails_is_left_alone_for_a_while() -> None:
    world = World(news=site(pages={"/a": web.Response(status=500)}))
    ends = world.ends(*[page("http://news.example/a")] * 5)
    assert [reason(end) for end in ends[3:]] == ["breaker_open", "breaker_open"]
    assert world.asked.count("news/a") == 3


def test_one_slow_host_costs_the_others_nothing() -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.5 if request.path == "/robots.txt" else 5)
        return web.Response(status=404)

    world = World(slow=slow, news=site())
    order: list[str] = []

    async def main() -> None:
        async with world.fetching(robots_total_s=5, read_s=1) as fetching:

            async def one(url: str) -> None:
                await end(fetching, page(url))
                order.append(url)

            await asyncio.gather(*(one(f"http://{host}.example/a") for host in ("slow", "slow", "slow", "news")))

    asyncio.run(main())
    assert order[0] == "http://news.example/a"


def test_a_crawl_delay_spaces_the_starts() -> None:
    world = World(news=site("User-agent: *\nCrawl-delay: 0.2"))

    async def main() -> int:
        async with world.fetching() as fetching:
            await end(fetching, page("http://news.example/a"))
            return fetching.hosts._lines["news.example"].host.crawl_delay_ms

    assert asyncio.run(main()) == 200


def test_one_that_is_given_up_leaves_the_host_free_and_the_feed_too() -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0 if request.path == "/robots.txt" else 0.2)
        return web.Response(status=404)

    world = World(news=slow)

    async def main() -> Got:
        async with world.fetching() as fetching:
            request = feed("http://news.example/feed", floor_ms=60_000)
            task = asyncio.create_task(end(fetching, request))
            while "news/feed" not in world.asked:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert fetching.hosts.running == 0
            return await end(fetching, request)

    got = asyncio.run(main())
    assert isinstance(got, Response)
    assert got.status == 404


def test_a_re_check_is_answered_304_by_a_server_that_knows_its_validators() -> None:
    async def news(request: web.Request) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return web.Response(status=404)
        if request.headers.get("If-None-Match") == 'W/"7"':
            return web.Response(status=304)
        return web.Response(text="<html>x", content_type="text/html", headers={"ETag": 'W/"7"'})

    world, pages = World(news=news), PageMemory(10, 8)
    asked = asking("page", "http://news.example/a", recheck=True)

    async def main() -> list[int]:
        statuses = []
        async with world.fetching() as fetching:
            for _ in range(3):
                got = await end(fetching, pages.conditional(asked))
                assert isinstance(got, Response)
                statuses.append(got.status)
                if got.status == 200:
                    pages.keep(asked, digest(got.body), got.headers)
        return statuses

    assert asyncio.run(main()) == [200, 304, 304]


FORM = {"hub.mode": "subscribe", "hub.secret": "5f1e3d7c9b2a4860d1f2"}


def to_hub(url: str, **more: Any) -> FetchRequest:
    return asking("hub", url, **{"form": FORM, **more})


def hub_site(status: int = 202, **headers: str) -> Handler:
    """A hub that wants no crawler, as many do."""

    async def handler(request: web.Request) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return web.Response(text="User-agent: *\nDisallow: /")
        if request.method != "POST" or dict(await request.post()) != FORM:
            return web.Response(status=405)
        return web.Response(status=status, headers=headers)

    return handler


def test_a_hub_is_posted_to_without_asking_for_robots_and_its_pages_are_not_fetched() -> None:
    world = World(hub=hub_site())
    took, page_end = world.ends(to_hub("http://hub.example/"), page("http://hub.example/about"))
    assert isinstance(took, Response)
    assert took.status == 202
    assert reason(page_end) == "robots_disallowed"
    assert world.asked == ["hub/", "hub/robots.txt"]


def test_a_hub_s_redirect_goes_through_the_gate_of_the_host_it_leads_to() -> None:
    world = World(
        old=hub_site(307, Location="http://new.example/"),
        new=hub_site(),
        busy=hub_site(429, **{"Retry-After": "60"}),
        alias=hub_site(308, Location="http://busy.example/"),
    )
    ends = world.ends(*(to_hub(f"http://{host}.example/") for host in ("old", "busy", "alias")))
    assert isinstance(ends[0], Response)
    assert (ends[0].status, ends[0].final_url) == (202, "http://new.example/")
    assert reason(ends[2]) == "retry_after"
    assert world.asked == ["old/", "new/", "busy/", "alias/"]


def test_a_hub_is_left_alone_as_any_host_is() -> None:
    ends = World(hub=hub_site(500)).ends(*[to_hub("http://hub.example/")] * 4)
    assert [end.status for end in ends[:3] if isinstance(end, Response)] == [500] * 3
    assert reason(ends[3]) == "breaker_open"


def test_requests_to_hubs_know_no_floor_of_the_feed() -> None:
    world = World(news=site(), hub=hub_site())
    ends = world.ends(
        feed("http://news.example/feed", feed_id="f", floor_ms=60_000),
        to_hub("http://hub.example/", feed_id="f", floor_ms=60_000),
        to_hub("http://hub.example/", feed_id="f", floor_ms=60_000),
    )
    assert [isinstance(end, Response) for end in ends] == [True, True, True]


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (to_hub("http://hub.example/", form={}), "form_missing"),
        (to_hub("http://127.0.0.1:9092/"), "private_address"),
        (to_hub("http://[fd00:ec2::254]/"), "private_address"),
        (to_hub("http://metadata/"), "private_address"),
        (to_hub("gopher://hub.example/"), "scheme_refused"),
    ],
)
def test_what_is_no_hub_is_refused_before_any_request(request_: FetchRequest, why: str) -> None:
    world = World(hub=hub_site())
    (end,) = world.ends(request_)
    assert isinstance(end, HttpRefusedError)
    assert end.reason == why
    assert world.asked == []


def test_requests_that_wait_for_the_same_rules_all_go_on() -> None:
    async def slow_rules(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.2 if request.path == "/robots.txt" else 0)
        return web.Response(status=404 if request.path == "/robots.txt" else 200, body=b"<rss/>")

    world = World(news=slow_rules)

    async def main() -> list[Got]:
        async with world.fetching() as fetching:
            return await asyncio.gather(*(end(fetching, page(f"http://news.example/{n}")) for n in range(5)))

    assert [isinstance(each, Response) for each in asyncio.run(main())] == [True] * 5
    assert world.asked.count("news/robots.txt") == 1


def test_redirects_of_robots_wait_in_line_as_any_request() -> None:
    starts: list[tuple[str, float]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        host = request.headers["Host"]
        starts.append((host, asyncio.get_running_loop().time()))
        if request.path == "/robots.txt" and host == "old.example":
            return redirect("http://old.example/rules")
        if request.path == "/rules":
            return redirect("http://new.example/robots.txt")
        return web.Response(status=200, body=b"")

    world = World(old=handler, new=handler)

    async def main() -> None:
        async with world.fetching(host_gap_ms=100) as fetching:
            await end(fetching, page("http://new.example/a"))
            await asyncio.gather(
                end(fetching, page("http://old.example/b")), end(fetching, page("http://new.example/c"))
            )
            assert fetching.hosts.running == 0

    asyncio.run(main())
    for host in ("old.example", "new.example"):
        times = [at for name, at in starts if name == host]
        assert min(b - a for a, b in pairwise(times)) >= 0.095


def test_nothing_is_asked_for_when_nobody_waits_for_it_any_more() -> None:
    """A fetcher that loses its partitions gives up its requests; their robots.txt too, or the host had one too many."""

    async def silent(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(5)
        return web.Response()

    world = World(news=silent)

    async def main() -> None:
        async with world.fetching(robots_total_s=4, read_s=4) as fetching:
            tasks = [asyncio.create_task(end(fetching, page(f"http://news.example/{n}"))) for n in range(2)]
            while not world.asked:
                await asyncio.sleep(0.01)
            tasks[0].cancel()
            await asyncio.sleep(0.05)
            (asking,) = fetching._robots._asking.values()
            assert not asking.done()
            tasks[1].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(asking, return_exceptions=True)
            assert asking.cancelled()
            assert fetching.hosts.running == 0

    asyncio.run(main())


def test_a_kept_connection_that_is_dead_is_tried_again_in_line() -> None:
    """The host closes after each answer without saying so. To it the second try may be a second request."""
    seen: list[float] = []

    async def main() -> Got:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # One answer a connection; the next request on it is met by a reset.
            head = await reader.readuntil(b"\r\n\r\n")
            seen.append(asyncio.get_running_loop().time())
            body = b"User-agent: x\nDisallow:" if b"robots" in head else b"<rss/>"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            try:
                await reader.readuntil(b"\r\n\r\n")
                seen.append(asyncio.get_running_loop().time())
            except (asyncio.IncompleteReadError, OSError):
                pass
            writer.transport.abort()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        gateway = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        policy = FetchPolicy(**{**QUICK, "host_gap_ms": 150})
        http = HttpClient(policy.http((80, 443)), user_agent="Broadsheet/test", gateway=gateway)
        try:
            fetching = Fetching(policy, http)
            got = await end(fetching, page("http://news.example/a"))
            hosts = fetching.hosts._lines["news.example"].host
            assert (hosts.in_flight, hosts.opening) == (0, 0)
            return got
        finally:
            await http.close()
            server.close()

    got = asyncio.run(main())
    assert isinstance(got, Response)
    assert got.body == b"<rss/>"
    assert len(seen) == 3
    assert min(b - a for a, b in pairwise(seen)) >= 0.145
