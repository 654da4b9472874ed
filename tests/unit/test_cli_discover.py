"""`broadsheet sources discover` on sites of our own making: what is asked, what is registered, what is said."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from click.testing import CliRunner, Result
from yarl import URL

import cli.main
from cli.site_survey import SurveyPolicy
from connectors.http import BeforeHop, HttpClient, HttpFailedError, HttpRefusedError, Response
from connectors.kafka import Message
from services.press import content
from services.press.server import PressServer
from services.press.site import Clock, PressSite
from state_schemas.codec import decode_record, encode_record
from state_schemas.ids import feed_id
from state_schemas.sources import Origin, Source
from state_schemas.topics import SOURCES, Topic

HOME = "https://harbour.example/"
HTML = {"content-type": "text/html; charset=utf-8"}


def page(head: str = "", body: str = "") -> bytes:
    return f'<!DOCTYPE html><html lang="en-GB"><head>{head}</head><body>{body}</body></html>'.encode()


def declares(*paths: str) -> str:
    return "".join(f'<link rel="alternate" type="application/rss+xml" href="{path}">' for path in paths)


def feed(*numbers: int, title: str = "Harbour Post", hub: str = "") -> bytes:
    items = "".join(f"<item><title>T</title><link>{HOME}a/{n}</link></item>" for n in numbers)
    hub = f'<link xmlns="http://www.w3.org/2005/Atom" rel="hub" href="{hub}"/>' if hub else ""
    return f'<rss version="2.0"><channel><title>{title}</title>{hub}{items}</channel></rss>'.encode()


def news(*numbers: int) -> bytes:
    entries = "".join(
        f"<url><loc>{HOME}a/{n}</loc><news:news><news:title>T</news:title></news:news></url>" for n in numbers
    )
    spaces = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    return f"<urlset {spaces}>{entries}</urlset>".encode()


def index(*urls: str) -> bytes:
    listed = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</sitemapindex>'.encode()


@dataclass
class Web:
    """The whole web: address -> an answer, a target of a permanent redirect, or an error; all else is 404."""

    answers: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, Mapping[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def __setitem__(self, path: str, answer: Any) -> None:
        self.answers[path if "://" in path else HOME + path] = answer

    async def get(self, _: HttpClient, url: str, *, before_hop: BeforeHop | None = None, **__: Any) -> Response:
        final, moved = url, False
        while True:
            self.asked.append(final)
            answer = self.answers.get(final, 404)
            if isinstance(answer, Exception):
                raise answer
            if isinstance(answer, str):
                final, moved = answer, True
                assert before_hop is not None
                await before_hop(URL(final))
                continue
            headers = self.headers.get(final, HTML if isinstance(answer, bytes) and b"<html" in answer[:40] else {})
            status, body = (answer, b"") if isinstance(answer, int) else (200, answer)
            return Response(url, final, status, headers, body, moved)


@dataclass
class Topics:
    records: defaultdict[str, list[tuple[str, bytes]]] = field(default_factory=lambda: defaultdict(list))

    def sources(self) -> list[Source]:
        return [decode_record(Source, value) for _, value in self.records[SOURCES.name]]


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Topics:
    kept = Topics()

    class Producer:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def send(self, topic: Topic, key: str, value: bytes) -> Future[None]:
            kept.records[topic.name].append((key, value))
            sent: Future[None] = Future()
            sent.set_result(None)
            return sent

        def flush(self, timeout_s: float = 30) -> None: ...

        def __enter__(self) -> Producer:
            return self

        def __exit__(self, *_: object) -> None: ...

    def read_all(_: object, topic: Topic, **__: Any) -> Iterator[Message]:
        for offset, (key, value) in enumerate(kept.records[topic.name]):
            yield Message(0, offset, 1_000, key, value, topic.name)

    monkeypatch.delenv("BROADSHEET_KAFKA", raising=False)
    monkeypatch.setattr("cli.sources.Producer", Producer)
    monkeypatch.setattr("cli.sources.read_all", read_all)
    return kept


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, topics: Topics) -> Web:
    """Through a gateway that is never reached, so that hosts need no second between two questions."""
    made = Web()
    monkeypatch.setenv("BROADSHEET_GATEWAY", "127.0.0.1:1")
    monkeypatch.setattr(HttpClient, "get", lambda client, url, **named: made.get(client, url, **named))
    return made


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main.broadsheet, ["sources", "discover", *arguments], catch_exceptions=False)


def found(*arguments: str) -> Any:
    done = run(*(arguments or (HOME,)), "--dry-run", "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def urls(answer: Any) -> list[str]:
    return [each["source"]["url"] for each in answer["sources"]]


def reasons(answer: Any) -> dict[str, str]:
    return {each["url"]: each["reason"] for each in answer["left_out"] if each["found"] != "place"}


# ---------------------------------------------------------------- registering


def test_what_a_site_declares_is_registered_as_add_would(site: Web, topics: Topics) -> None:
    site[""] = page(declares("/feed.xml") + '<meta property="og:site_name" content="Harbour Post">')
    site["feed.xml"] = feed(1, 2, hub="https://hub.example/")
    site["robots.txt"] = b"User-agent: *\nSitemap: https://harbour.example/news.xml\n"
    site["news.xml"] = news(1, 2, 3)
    done = run(HOME, "--authority", "0.7", "--category", "World", "--owner", "Bay Media")
    assert done.exit_code == 0, done.output
    first, second = topics.sources()
    origin = Origin("harbour.example", "Harbour Post", "GB", "en", "world", 0.7, "Bay Media")
    assert (first.url, first.kind, first.tier, first.origin) == (HOME + "feed.xml", "feed", "authoritative", origin)
    assert (second.url, second.kind, second.origin) == (HOME + "news.xml", "sitemap", origin)
    assert first.registered_ms > 0
    assert [key for key, _ in topics.records["sources"]] == [feed_id(first.url), feed_id(second.url)]
    lines = done.stdout.splitlines()
    assert lines[0] == f"{first.feed_id} {HOME}feed.xml: registered, authoritative"
    assert lines[1] == (
        '  rss, 2 entries, declared by the page; "Harbour Post"; harbour.example GB en; hub https://hub.example/'
    )
    assert lines[-1] == "2 sources registered; 4 requests"


def test_options_come_before_what_the_site_says_of_itself(site: Web, topics: Topics) -> None:
    site[""] = page(declares("/feed.xml") + '<meta property="og:site_name" content="Harbour Post">')
    site["feed.xml"] = feed(1)
    run(HOME, "--publisher", "hp", "--name", "HP", "--country", "nz", "--language", "mi")
    assert [source.origin for source in topics.sources()] == [Origin("hp", "HP", "NZ", "mi")]


def test_a_dry_run_needs_no_broker_and_sends_nothing(site: Web, topics: Topics) -> None:
    site[""], site["feed.xml"] = page(declares("/feed.xml")), feed(1)
    done = run(HOME, "--dry-run")
    assert done.stdout.splitlines()[0].endswith(f"{HOME}feed.xml: found, tail")
    assert done.stdout.splitlines()[-1].startswith("1 source found, nothing registered;")
    assert topics.records == {}


def test_what_is_registered_already_stays_as_it_is(site: Web, topics: Topics) -> None:
    known = Source(feed_id="00ff", url="http://www.harbour.example/feed.xml/", origin=Origin("harbour", authority=0.9))
    topics.records["sources"].append((known.feed_id, encode_record(known)))
    site[""] = page(declares("/feed.xml", "/sport.xml"))
    site["feed.xml"], site["sport.xml"] = feed(1), feed(7, title="Sport")
    done = run(HOME)
    assert f"left out {HOME}feed.xml: registered already (00ff)" in done.stdout
    assert [source.url for source in topics.sources()[1:]] == [HOME + "sport.xml"]
    assert run(HOME).stdout.splitlines()[-1].startswith("0 sources registered;")


# ---------------------------------------------------------------- where it looks


def test_only_what_really_is_a_feed_is_offered(site: Web) -> None:
    declared = ["/feed.xml", "/atom.xml", "/gone.xml", "/page.xml", "/comments/feed", "/broken.xml", "/deny/feed.xml"]
    site[""] = page(declares(*declared))
    site["feed.xml"], site["page.xml"] = feed(*range(9)), page(body="A page")
    site["atom.xml"] = feed(*range(9))
    site["broken.xml"] = HttpFailedError("transfer_broken", "half of it")
    site["deny/feed.xml"] = feed(4)
    site["robots.txt"] = b"User-agent: Broadsheet\nDisallow: /deny/\nUser-agent: *\nDisallow: /\n"
    answer = found()
    assert urls(answer) == [HOME + "feed.xml"]
    assert reasons(answer) == {
        HOME + "comments/feed": "comment_feed",
        HOME + "gone.xml": "status_404",
        HOME + "page.xml": "html_not_feed",
        HOME + "broken.xml": "transfer_broken",
        HOME + "deny/feed.xml": "robots_disallowed",
        HOME + "atom.xml": "duplicate",
    }
    assert HOME + "deny/feed.xml" not in site.asked


def test_common_places_are_asked_only_where_the_site_says_nothing(site: Web) -> None:
    site[""], site["atom.xml"], site["sitemap_news.xml"] = page(), feed(1), news(1)
    answer = found()
    assert urls(answer) == [HOME + "atom.xml", HOME + "sitemap_news.xml"]
    assert {each["found"] for each in answer["sources"]} == {"place"}
    assert HOME + "index.rdf" not in site.asked
    assert len(site.asked) == answer["requests"]
    assert "usual places without a feed" in run(HOME, "--dry-run").stdout
    site[""] = page(declares("/atom.xml"))
    site["robots.txt"] = b"Sitemap: /sitemap_news.xml"
    site.asked.clear()
    assert urls(found()) == urls(answer)
    assert len(site.asked) == 4


def test_a_page_that_lists_feeds_is_read_one_level_deep(site: Web) -> None:
    site[""] = page(body='<a href="/about/rss">RSS</a><a href="/ferry">Ferry</a>')
    site["about/rss"] = page(body='<a href="/world.rss">World</a><a href="/more/rss">More RSS</a>')
    site["world.rss"], site["more/rss"] = feed(1), page(body='<a href="/deep.rss">Deep</a>')
    site["deep.rss"] = feed(2, title="Deep")
    answer = found()
    assert urls(answer) == [HOME + "world.rss"]
    assert answer["sources"][0]["found"] == "directory"


def test_the_news_sitemap_in_an_index(site: Web) -> None:
    site[""], site["robots.txt"] = page(), b"Sitemap: https://harbour.example/sitemap_index.xml"
    site["sitemap_index.xml"] = index(HOME + "post-sitemap.xml", HOME + "news-sitemap.xml", HOME + "deeper.xml")
    site["post-sitemap.xml"], site["news-sitemap.xml"] = news(), news(1, 2)
    site["deeper.xml"] = index(HOME + "x.xml")
    answer = found()
    assert urls(answer) == [HOME + "news-sitemap.xml"]
    assert reasons(answer)[HOME + "deeper.xml"] == "not_a_news_sitemap"
    assert HOME + "x.xml" not in site.asked


def test_an_index_whose_news_rolls_on_is_offered_itself(site: Web) -> None:
    days = [f"{HOME}news/2026-11-{day}.xml" for day in range(30, 10, -1)]
    site[""], site["robots.txt"] = page(), b"Sitemap: /sitemaps.xml"
    site["sitemaps.xml"] = index(*days)
    for number, url in enumerate(days):
        site[url] = news(number)
    answer = found()
    assert urls(answer) == [HOME + "sitemaps.xml"]
    assert answer["sources"][0]["source"]["kind"] == "sitemap"
    assert answer["sources"][0]["entries"] == sum(1 for url in site.asked if "/news/" in url) == 6


def test_a_feed_elsewhere_and_one_that_moved(site: Web) -> None:
    site[""] = page(declares("https://feeds.example/harbour", "http://harbour.example/old"))
    site["https://feeds.example/harbour"] = feed(1)
    site["http://harbour.example/old"] = HOME + "new"
    site["new"] = feed(5, title="New")
    answer = found()
    assert urls(answer) == ["https://feeds.example/harbour", HOME + "new"]
    assert {each["source"]["origin"]["publisher"] for each in answer["sources"]} == {"harbour.example"}


def test_the_site_may_stand_on_another_host_than_was_given(site: Web) -> None:
    site["https://old.example/"] = HOME
    site[""], site["feed.xml"], site["robots.txt"] = page(declares("feed.xml")), feed(1), b"Sitemap: /news.xml"
    site["news.xml"] = news(1)
    assert urls(found("old.example")) == [HOME + "feed.xml", HOME + "news.xml"]


def test_the_address_of_a_feed_is_enough(site: Web) -> None:
    site["feed.xml"] = feed(1, title="Quay")
    answer = found(HOME + "feed.xml")
    assert urls(answer) == [HOME + "feed.xml"]
    assert answer["sources"][0]["source"]["origin"]["name"] == "Quay"
    assert site.asked == [HOME + "robots.txt", HOME + "feed.xml"]


def test_a_page_that_may_not_be_read_hides_no_feed(site: Web) -> None:
    site[""], site["rss"] = 403, feed(1)
    answer = found()
    assert urls(answer) == [HOME + "rss"]
    assert reasons(answer) == {HOME: "status_403"}


# ---------------------------------------------------------------- fronts


def front(*sections: str, story: str = "story") -> str:
    menu = "".join(f'<a href="/{name}">{name.title()}</a>' for name in sections)
    stories = "".join(
        f'<h2><a href="/2026/11/30/a-{story}-of-today-number-{n}">A {story} of today, number {n}</a></h2>'
        for n in range(8)
    )
    return f"<nav>{menu}</nav><main>{stories}</main>"


def test_section_fronts_where_there_is_no_feed(site: Web) -> None:
    site[""] = page(declares("/sport/feed.xml"), front("world", "sport", "empty", "gone"))
    site["sport/feed.xml"], site["world"], site["empty"] = feed(1), page(body=front()), page(body="Nothing yet")
    assert urls(found()) == [HOME + "sport/feed.xml"]
    answer = found(HOME, "--fronts")
    assert urls(answer) == [HOME + "sport/feed.xml", HOME + "world"]
    assert answer["sources"][1]["source"]["kind"] == "front"
    assert reasons(answer) == {
        HOME + "sport": "section_has_feed",
        HOME + "empty": "front_without_articles",
        HOME + "gone": "status_404",
    }


def test_sections_with_a_known_name_are_asked_first(site: Web) -> None:
    names = [f"topic-{letter}" for letter in "abcdefghij"]
    site[""] = page(declares("/feed.xml"), front(*names, "sport", "politics"))
    site["feed.xml"], site["topic-b"], site["topic-c"] = feed(1), HOME, page(body=front(story="match"))
    for name, story in (("sport", "match"), ("politics", "vote"), ("topic-a", "thing")):
        site[name] = page(body=front(story=story))
    answer = found(HOME, "--fronts")
    assert urls(answer)[1:] == [HOME + "sport", HOME + "politics", HOME + "topic-a"]
    assert list(reasons(answer).values()).count("too_many_links") == 4
    left = {each["url"]: each["detail"] for each in answer["left_out"] if each["reason"] == "duplicate"}
    assert left == {HOME + "topic-b": f"leads to {HOME}", HOME + "topic-c": f"as {HOME}sport, which was found first"}


def test_without_any_feed_the_page_itself_is_offered(site: Web) -> None:
    site[""] = page(body=front())
    answer = found()
    assert [(each["source"]["url"], each["source"]["kind"], each["format"]) for each in answer["sources"]] == [
        (HOME, "front", "front")
    ]


# ---------------------------------------------------------------- bounds and faults


def test_the_site_is_asked_so_many_times_and_no_more(site: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.site_survey.SurveyPolicy", lambda: SurveyPolicy(requests=5))
    site[""] = page(declares(*(f"/{n}.rss" for n in range(9))))
    for number in range(9):
        site[f"{number}.rss"] = feed(number, title=str(number))
    answer = found()
    assert len(site.asked) == answer["requests"] == 5
    assert urls(answer) == [f"{HOME}{n}.rss" for n in range(3)]
    assert list(reasons(answer).values()).count("out_of_requests") == 6


def test_so_many_bytes_and_so_long(site: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    site[""] = page(declares("/1.rss", "/2.rss"))
    site["1.rss"], site["2.rss"] = feed(1), feed(2, title="2")
    monkeypatch.setattr("cli.site_survey.SurveyPolicy", lambda: SurveyPolicy(bytes=300, at_once=1))
    assert list(reasons(found()).values()) == ["out_of_bytes"]
    monkeypatch.setattr("cli.site_survey.SurveyPolicy", lambda: SurveyPolicy(total_s=0))
    done = run(HOME)
    assert (done.exit_code, site.answers[HOME][:5]) == (2, b"<!DOC")
    assert done.stderr.endswith("the page itself: not asked any more\n")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (HttpFailedError("dns_failed"), "no such host"),
        (HttpFailedError("timed_out"), "no answer in time"),
        (HttpFailedError("tls_failed"), "no secure connection (try http://)"),
        (HttpRefusedError("private_address"), "leads to an address that is not of the public internet"),
        (HttpFailedError("too_many_redirects"), "redirects in a circle"),
    ],
)
def test_a_site_that_cannot_be_asked_is_one_line(site: Web, error: Exception, words: str) -> None:
    site[""] = site["robots.txt"] = error
    done = run(HOME)
    assert (done.exit_code, done.stderr, done.stdout) == (2, f"broadsheet: {HOME}: {words}\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ftp://a.example/"], "ftp://a.example/ must begin with http:// or https://"),
        (["http://10.0.0.8/"], "http://10.0.0.8/ names an address that is not of the public internet"),
        (["https://u:p@a.example/"], "must not carry a user name or password"),
        (["https://["], "https://[ is no address"),
        ([""], "https:// is no address"),
        ([HOME, "--authority", "2"], "authority '2' must be a number from 0 to 1"),
        ([HOME, "--country", "Japan"], "country 'JAPAN' must be"),
        ([HOME, "--language", "english"], "language 'english' must be"),
        ([HOME, "--publisher", "two words"], "publisher_id 'two words' must be one word"),
    ],
)
def test_what_is_wrong_with_the_words_is_said_before_anything_is_asked(
    site: Web, arguments: list[str], words: str
) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert site.asked == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"\x89PNG\r\n", "is no page, feed or news sitemap (not a feed)"),
        (feed().replace(b"Harbour Post", b"Comments on: Ferry"), "is no page, feed or news sitemap (comment feed)"),
        (news(), "is no page, feed or news sitemap (sitemap without news)"),
        (page(body="Nothing"), "no feed, news sitemap or front page was found in"),
        (404, "the page itself: status 404"),
    ],
)
def test_nothing_to_register_is_one_line_and_status_2(site: Web, topics: Topics, answer: Any, words: str) -> None:
    site[""] = answer
    done = run(HOME)
    assert (done.exit_code, done.stdout, topics.sources()) == (2, "", [])
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


# ---------------------------------------------------------------- over HTTP


@pytest.fixture
def press(monkeypatch: pytest.MonkeyPatch, topics: Topics) -> Iterator[int]:
    """The sample press at its end, on a port of its own."""
    sample = content.load()
    start = 1_796_000_000_000
    port: Future[int] = Future()
    ended: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        made = PressSite(sample, Clock(start, 20.0), "")
        app = PressServer([made], lambda: start + 86_400_000).app()
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        stop = asyncio.Event()
        ended.set_result((asyncio.get_running_loop(), stop))
        port.set_result(runner.addresses[0][1])
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    monkeypatch.setenv("BROADSHEET_GATEWAY", f"127.0.0.1:{port.result(timeout=10)}")
    yield port.result()
    loop, stop = ended.result()
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)


def test_the_sample_press_is_found_as_its_own_list_has_it(press: int, topics: Topics) -> None:
    sample = content.load()
    for name in ("circuit-review", "alpenbote"):
        newsroom = sample.publishers[name]
        answer = found(f"http://{newsroom.host}/", "--publisher", name)
        listed = [f"http://{newsroom.host}{each.path}" for each in newsroom.feeds]
        assert urls(answer) == [*listed, f"http://{newsroom.host}/news-sitemap.xml"]
        kinds = [each["source"].get("kind", "feed") for each in answer["sources"]]
        assert kinds == ["feed"] * len(listed) + ["sitemap"]
        origin = answer["sources"][0]["source"]["origin"]
        assert (origin["name"], origin["language"]) == (newsroom.name, newsroom.languages[0])
        hubs = {each["hub"] for each in answer["sources"] if each["hub"]}
        assert hubs == ({"http://hub.localhost/"} if newsroom.hub else set())
        assert reasons(answer) == {
            f"http://{newsroom.host}/page-sitemap.xml": "sitemap_without_news",
            f"http://{newsroom.host}/sitemap-index.xml.gz": "sitemap_without_news",
        }


def test_a_gzip_sitemap_index_is_read(press: int) -> None:
    host = "http://harbour-times.localhost"
    assert urls(found(f"{host}/sitemap-index.xml.gz")) == [f"{host}/news-sitemap.xml"]


def test_absent_reference_data_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BROADSHEET_REFERENCE_DATA", str(tmp_path))
    done = run("http://harbour-times.example/", "--dry-run")
    assert (done.exit_code, done.stderr) == (2, f"broadsheet: {tmp_path}/profiles.toml: No such file or directory\n")
