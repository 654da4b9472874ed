"""What the poll job counted, and what it is shown as."""

from __future__ import annotations

import pytest

from cli.poll_figures import tier_figures
from state_schemas.fetching import FetchResult
from state_schemas.ids import feed_id
from state_schemas.sources import Origin, Source
from udfs.poll.actions import Found
from udfs.poll.metrics import COUNTS, DELAY_BUCKETS_S, PollMetrics
from udfs.poll.schedule import after_source

SOURCE = Source(feed_id=feed_id("https://n.example/"), url="https://n.example/", origin=Origin(publisher="n"))


class Group:
    """A metrics group whose counters are named as Flink names them."""

    def __init__(self, totals: dict[str, float], scope: str = "") -> None:
        self.totals, self.scope = totals, scope

    def add_group(self, name: str, value: str = "") -> Group:
        return Group(self.totals, f"{self.scope}{name}." + (f"{value}." if value else ""))

    def counter(self, name: str) -> Group:
        return Group(self.totals, self.scope + name)

    def gauge(self, name: str, read: object) -> None:
        self.totals[self.scope + name] = -1

    def inc(self, n: int = 1) -> None:
        self.totals[self.scope] = self.totals.get(self.scope, 0) + n


def counted(*found: Found, outcome: str = "fetched") -> dict[str, float]:
    totals: dict[str, float] = {}
    metrics = PollMetrics(Group(totals), {"feeds": lambda: 3})
    state = after_source(None, SOURCE, 0)
    assert state is not None
    result = FetchResult(request_id="r", feed_id="f", kind="feed", url="u", outcome=outcome, fetched_ms=0)  # type: ignore[arg-type]
    for each in found:
        metrics.answered(result, state, each)
    return {name.removeprefix("broadsheet.poll."): total for name, total in totals.items()}


def test_counters_come_back_as_the_figures_of_their_tier() -> None:
    totals = counted(Found(0), Found(3, late=1, pushed=True, overran=True, useless=True), Found(1))
    tail = tier_figures(totals)["tail"]
    assert (tail.answers, tail.new_items, tail.overruns, tail.useless_validators) == (3, 4, 1, 1)
    assert tail.wasted_share == pytest.approx(1 / 3, abs=1e-4)
    assert (tail.late_share, tail.pushed_share) == (0.25, 0.75)
    assert tier_figures(totals)["authoritative"].answers == 0
    assert tier_figures(counted(Found(0), outcome="not_modified"))["tail"].not_modified_share == 1.0


def test_quantiles_come_from_buckets() -> None:
    tail = tier_figures(counted(Found(10, delays_ms=tuple(range(1_000, 11_000, 1_000)), audited_ms=(61_000,))))["tail"]
    assert (tail.discovery.items, tail.audit.items) == (10, 1)
    assert tail.discovery.p50_s is not None
    assert 0 < tail.discovery.p50_s <= DELAY_BUCKETS_S[0]
    assert tail.audit.p99_s is not None
    assert 60 < tail.audit.p99_s <= 90
    days = tier_figures(counted(Found(1, delays_ms=(10**9,))))["tail"].discovery
    assert (days.items, days.p50_s) == (1, float(DELAY_BUCKETS_S[-1]))


def test_nothing_counted_is_no_delay() -> None:
    tail = tier_figures({})["tail"]
    assert (tail.polls, tail.wasted_share, tail.discovery.p90_s) == (0, 0.0, None)


def test_every_counter_has_a_name_of_its_own() -> None:
    assert len(set(COUNTS)) == len(COUNTS)
