"""What `bench fetch` measures with and how it counts; the measurement itself needs a broker."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from click.testing import CliRunner

import cli.main
from cli.bench_fetch import figures, p99
from cli.bench_plain_loop import ask_all
from cli.bench_publishers import BAD, Connection, Publishers, feed
from connectors.http import HttpClient, HttpFailedError, HttpPolicy, Response
from udfs.feeds.reader import parse_feed


@asynccontextmanager
async def serving(publishers: Publishers) -> AsyncIterator[int]:
    server = await asyncio.get_running_loop().create_server(lambda: Connection(publishers), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def outcomes(publishers: Publishers, *hosts: str) -> list[str]:
    async def main() -> list[str]:
        async with serving(publishers) as port:
            policy = HttpPolicy(read_s=1.5, total_s=2.5)
            client = HttpClient(policy, user_agent="t", gateway=f"127.0.0.1:{port}")

            async def one(host: str) -> str:
                try:
                    got = await client.get(f"http://{host}/feed.xml", max_bytes=1_000_000)
                except HttpFailedError as error:
                    return error.reason
                assert isinstance(got, Response)
                return f"{got.status} {len(got.body)}"

            try:
                return list(await asyncio.gather(*(one(host) for host in hosts)))
            finally:
                await client.close()
                await asyncio.sleep(0.05)

    return asyncio.run(main())


def test_each_bad_host_is_bad_in_its_own_way_and_all_counts_come_to_rest() -> None:
    publishers = Publishers()
    publishers.bad = {f"{kind}.example": kind for kind in set(BAD)}
    names = ["well.example", *sorted(publishers.bad)]
    found = dict(zip(names, outcomes(publishers, *names), strict=True))
    assert found == {
        "well.example": f"200 {len(feed())}",
        "drips.example": "timed_out",
        "empty.example": "500 0",
        "endless.example": "body_too_large",
        "garbage.example": "response_malformed",
        "resets.example": "connection_lost",
        "slow.example": "timed_out",
        "torn.example": "transfer_broken",
    }
    assert all(host.open == 0 for host in publishers.hosts.values())


def test_hosts_count_who_asks_too_much() -> None:
    publishers = Publishers()
    outcomes(publishers, "calm.example", "busy.example", "busy.example", "busy.example")
    counted = publishers.counts()
    assert (counted["asked"], counted["most_at_once"], counted["over_limit"]) == (4, 3, 1)
    publishers.mark()
    assert publishers.counts()["asked"] == 0


@pytest.mark.parametrize(("late", "over"), [(0.0, 1), (0.3, 0)])
def test_what_the_count_itself_is_late_is_no_hurry_of_the_fetcher(
    late: float, over: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    publishers = Publishers()
    now = 100.0
    monkeypatch.setattr("cli.bench_publishers.time.monotonic", lambda: now)
    publishers.begin("news.example").open -= 1
    publishers._late.append((now, late))
    now += 0.8
    publishers.begin("news.example").open -= 1
    assert publishers.counts()["over_limit"] == over
    assert publishers.counts()["least_gap_s"] == pytest.approx(0.8)
    now += 5
    publishers.begin("news.example").open -= 1
    now += 0.8
    publishers.begin("news.example")
    assert publishers.counts()["over_limit"] == 1, "lateness is forgotten"


def test_a_request_that_is_open_when_the_count_begins_anew_still_ends() -> None:
    publishers = Publishers()
    host = publishers.begin("late.example")
    publishers.settle(host)
    publishers.mark()
    assert publishers.counts()["most_at_once"] == 1
    host.open -= 1
    publishers.settle(publishers.begin("late.example"))
    assert publishers.counts()["most_at_once"] == 1
    assert publishers.counts()["asked"] == 1


def test_the_feed_is_one() -> None:
    assert len(parse_feed(feed(), "https://wire.example/feed.xml").entries) == 40
    assert len(gzip.compress(feed())) < len(feed()) / 3


def test_the_plain_loop_asks_evenly_or_as_fast_as_it_goes() -> None:
    async def main() -> None:
        async with serving(Publishers()) as port:
            even = await ask_all(port, ["a.example", "b.example"], 40, 1)
            fast = await ask_all(port, ["a.example", "b.example"], 0, 1)
        assert 30 <= len(even["took"]) <= 41
        assert len(fast["took"]) > 41
        assert even["failed"] == fast["failed"] == 0

    asyncio.run(main())


@pytest.mark.parametrize(("values", "expected"), [([], 0), ([5.0], 5), (list(map(float, range(100))), 99)])
def test_the_99th_percentile(values: list[float], expected: float) -> None:
    assert p99(values) == expected


def test_a_better_ratio_is_above_one() -> None:
    found = {"requests_per_second": 2_000.0, "healthy_p99_ms_calm": 100.0, "healthy_p99_ms_beside_bad": 110.0}
    found |= {f"hosts_over_limit_{name}": 0 for name in ("backlog", "calm", "beside_bad")}
    shown = {figure.name: figure for figure in figures(found)}
    assert (shown["requests_per_second"].ratio, shown["hosts_over_limit"].value) == (2.0, 0)
    ratio = shown["healthy_p99_ratio"]
    assert ratio.value == pytest.approx(1.1)
    assert ratio.ratio == pytest.approx(1.2 / 1.1)


def test_its_help_says_what_it_does() -> None:
    found = CliRunner().invoke(cli.main.broadsheet, ["bench", "fetch", "--help"])
    assert found.exit_code == 0
    assert "on one core" in found.output
