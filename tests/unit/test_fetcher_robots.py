"""robots.txt: groups, wildcards, what an answer means, what is kept for how long."""

from __future__ import annotations

import asyncio

import pytest
from yarl import URL

from connectors.http import HttpError, HttpFailedError, HttpRefusedError
from services.fetcher.policy import FetchPolicy
from services.fetcher.robots import Rules, authority, robots_url, rules_of, rules_without_answer
from services.fetcher.robots_cache import RobotsCache

LIMIT = 512_000
HOST = "https://news.example"


def allowed(rules: Rules, path: str) -> bool:
    try:
        rules.check(URL(HOST + path, encoded=True))
    except HttpRefusedError as refusal:
        return refusal.reason not in ("robots_disallowed", "robots_unreachable")
    return True


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        pytest.param(
            "User-agent: *\nDisallow: /*q=",
            {"/news": True, "/q/": True, "/?q=storm": False, "/a?page=2&q=storm": False},
            id="a wildcard before a query parameter",
        ),
        pytest.param(
            "User-agent: otherbot\nCrawl-delay: 10\n\nUser-agent: broadsheet\nDisallow: /a\n"
            "User-agent: *\nDisallow: /\nUser-agent: Broadsheet\nDisallow: /b",
            {"/a": False, "/b": False, "/c": True},
            id="groups of one name merge, whatever their case; the star group is ignored",
        ),
        pytest.param(
            "User-agent: otherbot\nUser-agent: broadsheet\n\nDisallow: /z\nUser-agent: *\nDisallow: /",
            {"/z": False, "/y": True},
            id="a blank line ends no group",
        ),
        pytest.param("User-agent: broadsheetbot\nDisallow: /", {"/": True}, id="a longer name is another's"),
        pytest.param(
            "User-agent: *\nDisallow: /\nAllow: /news/", {"/news/1": True, "/x": False}, id="the longest wins"
        ),
        pytest.param("User-agent: *\nDisallow: /p\nAllow: /p", {"/p": True}, id="allow wins a tie"),
        pytest.param("User-agent: *\nDisallow: /*.php$", {"/a.php": False, "/a.php?x": True}, id="the end of a path"),
        pytest.param("User-agent: *\nDisallow:", {"/": True}, id="an empty rule"),
        pytest.param("\ufeffUser-agent: *\r\nDisallow: /x\r\n", {"/x": False, "/y": True}, id="byte order mark, CRLF"),
        pytest.param("<!doctype html><html>Not here</html>", {"/x": True}, id="a page instead of a file"),
        pytest.param("", {"/x": True}, id="an empty file"),
        pytest.param("User-agent: *\nDisallow: /caf%C3%A9", {"/caf%C3%A9": False, "/cafe": True}, id="quoted"),
    ],
)
def test_the_rules_of_a_file(text: str, paths: dict[str, bool]) -> None:
    rules = rules_of(200, text.encode(), LIMIT)
    assert {path: allowed(rules, path) for path in paths} == paths


def test_bytes_that_are_no_text_are_read_as_far_as_they_go() -> None:
    rules = rules_of(200, b"\xff\xfe\x00User-agent: x\nUser-agent: *\nDisallow: /x\n\x80\x81", LIMIT)
    assert not allowed(rules, "/x")


def test_only_the_first_bytes_count() -> None:
    file = b"User-agent: *\nDisallow: /early\n" + b"# padding\n" * 60_000 + b"Disallow: /late\n"
    rules = rules_of(200, file, LIMIT)
    assert not allowed(rules, "/early")
    assert allowed(rules, "/late")


@pytest.mark.parametrize(
    ("status", "may"), [(404, True), (410, True), (401, True), (403, True), (429, False), (500, False), (503, False)]
)
def test_what_a_status_means(status: int, may: bool) -> None:
    assert allowed(rules_of(status, b"<html>Down</html>", LIMIT), "/x") is may


def test_without_the_file_the_network_s_fault_is_told_and_nothing_allowed() -> None:
    for error, kind, reason in [
        (HttpFailedError("timed_out", "slow"), HttpFailedError, "timed_out"),
        (HttpFailedError("dns_failed"), HttpFailedError, "dns_failed"),
        (HttpRefusedError("private_address"), HttpRefusedError, "private_address"),
        (HttpFailedError("body_undecodable"), HttpRefusedError, "robots_unreachable"),
    ]:
        with pytest.raises(HttpError) as raised:
            rules_without_answer(error).check(URL(HOST))
        assert (type(raised.value), raised.value.reason) == (kind, reason)


@pytest.mark.parametrize(
    ("text", "delay_ms"),
    [
        ("User-agent: *\nCrawl-delay: 7", 7_000),
        ("User-agent: *\nCrawl-delay: 0.5", 500),
        ("User-agent: *\nCrawl-delay: 86400", 30_000),
        ("User-agent: *\nCrawl-delay: -3", 0),
        ("User-agent: *\nCrawl-delay: soon", 0),
        ("User-agent: *\nDisallow: /x", 0),
        ("User-agent: otherbot\nCrawl-delay: 10\n\nUser-agent: broadsheet\nDisallow: /a", 0),
    ],
)
def test_crawl_delay(text: str, delay_ms: int) -> None:
    assert rules_of(200, text.encode(), LIMIT).crawl_delay_ms(30_000) == delay_ms


@pytest.mark.parametrize(
    ("url", "binds", "file"),
    [
        ("https://News.Example/a?b#c", "https://news.example:443", "https://News.Example/robots.txt"),
        ("http://news.example:8080/a/b", "http://news.example:8080", "http://news.example:8080/robots.txt"),
    ],
)
def test_what_a_file_binds_and_where_it_is(url: str, binds: str, file: str) -> None:
    parsed = URL(url, encoded=True)
    assert (authority(parsed), robots_url(parsed)) == (binds, file)


class Publisher:
    """Answers for robots.txt in turn; the clock stands until it is moved."""

    def __init__(self, *answers: tuple[int, bytes] | HttpError) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.now = 1_000_000
        self.cache = RobotsCache(FetchPolicy(robots_hosts=10), lambda: self.now)

    async def fetch(self, url: str) -> tuple[int, bytes]:
        self.asked.append(url)
        await asyncio.sleep(0)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, HttpError):
            raise answer
        return answer

    async def rules(self, url: str = HOST + "/x") -> Rules:
        return await self.cache.rules(URL(url), self.fetch)


def test_while_the_host_is_down_nothing_is_allowed_and_it_is_asked_again_soon() -> None:
    async def main() -> None:
        publisher = Publisher((503, b"Down"), (200, b"User-agent: *\nDisallow: /private"))
        assert not allowed(await publisher.rules(), "/x")
        publisher.now += 59_000
        assert not allowed(await publisher.rules(), "/x")
        assert len(publisher.asked) == 1
        publisher.now += 2_000
        rules = await publisher.rules()
        assert (allowed(rules, "/x"), allowed(rules, "/private")) == (True, False)
        publisher.now += 86_300_000
        assert publisher.cache.known(URL(HOST)) is rules
        publisher.now += 200_000
        assert publisher.cache.known(URL(HOST)) is None
        assert len(publisher.asked) == 2

    asyncio.run(main())


def test_many_that_wait_ask_once_and_one_that_gives_up_takes_nothing_from_the_others() -> None:
    async def main() -> None:
        publisher = Publisher((404, b""))
        tasks = [asyncio.create_task(publisher.rules()) for _ in range(5)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(ends[0], asyncio.CancelledError)
        assert all(isinstance(end, Rules) for end in ends[1:])
        assert publisher.asked == [HOST + "/robots.txt"]

    asyncio.run(main())


def test_each_authority_has_its_own_and_memory_is_bounded() -> None:
    async def main() -> None:
        publisher = Publisher((404, b""))
        for number in range(30):
            await publisher.rules(f"https://h{number}.example/")
        await publisher.rules("http://h29.example/")
        assert len(publisher.asked) == 31
        assert len(publisher.cache._known) <= 10

    asyncio.run(main())
