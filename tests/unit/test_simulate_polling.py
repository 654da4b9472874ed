"""Polling in virtual time: the laws that its figures rest on, over a few feeds and two days."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from cli.main import broadsheet
from cli.polling_simulation import schedules
from cli.polling_simulation.engine import (
    BODY_ONLY,
    FAILED,
    LUMPS,
    NEWS,
    POLLS,
    UNMODIFIED,
    Engine,
    Outcome,
    with_values,
)
from cli.polling_simulation.figures import Measured, delays_s
from cli.polling_simulation.publishers import Feed, Publisher, draw, link_of
from cli.polling_simulation.world import DAY_MS, HOUR_MS, START_MS, TIERS, World, news_events, sample
from state_schemas.fetching import FetchRequest
from udfs.poll.policy import PollPolicy

WORLD = World()
DAYS = 2
# An audited feed is asked every minute, whatever its schedule says.
POLICY = PollPolicy(audit_authoritative=0, audit_tail=0)
FEEDS = 200_000


def feeds_of(seed: int = 1, wanted: int = 24, days: int = DAYS) -> list[Feed]:
    events = news_events(days, seed, WORLD)
    return [draw(about, days, seed, events, WORLD) for about in sample(FEEDS, wanted, seed, WORLD)]


def polled(feeds: list[Feed], budget_per_s: float = 320.0, seed: int = 1) -> tuple[Engine, list[Outcome]]:
    engine = Engine(feeds, POLICY, WORLD, DAYS, 1.0, seed, budget_per_s)
    return engine, engine.run()


@pytest.fixture(scope="module")
def feeds() -> list[Feed]:
    return feeds_of()


@pytest.fixture(scope="module")
def outcomes(feeds: list[Feed]) -> list[Outcome]:
    return polled(feeds)[1]


def request(feed: Feed, etag: str = "", last_modified: str = "") -> FetchRequest:
    return FetchRequest(
        request_id="r",
        kind="feed",
        url=feed.source.url,
        host="n.example",
        feed_id=feed.source.feed_id,
        origin=feed.source.origin,
        requested_ms=0,
        etag=etag,
        last_modified=last_modified,
    )


@pytest.mark.parametrize(("feeds", "wanted"), [(200_000, 24), (200_000, 1_200), (10, 7), (10, 0), (997, 0), (50, 900)])
def test_a_sample_stands_for_every_feed(feeds: int, wanted: int) -> None:
    chosen = sample(feeds, wanted, 3, WORLD)
    assert sum(one.weight for one in chosen) == pytest.approx(feeds)
    assert len({one.rank for one in chosen}) == len(chosen)
    assert {one.tier for one in chosen} == set(TIERS)
    assert [one.items_a_day for one in chosen] == sorted((one.items_a_day for one in chosen), reverse=True)


def test_the_world_brings_the_articles_of_the_target_load() -> None:
    chosen = sample(FEEDS, 4_000, 1, WORLD)
    assert 2e6 < sum(one.items_a_day * one.weight for one in chosen) < 4e6


def test_a_feed_brings_what_its_rate_says_by_a_daily_and_weekly_rhythm() -> None:
    drawn = feeds_of(wanted=300, days=14)
    wanted = sum(feed.about.items_a_day * feed.about.weight for feed in drawn) * 14
    visible = [feed.visible[feed.visible >= 0] for feed in drawn]
    brought = sum(len(items) * feed.about.weight for feed, items in zip(drawn, visible, strict=True))
    assert brought == pytest.approx(wanted, rel=0.15)
    by_day = np.sum([np.bincount(items // DAY_MS % 7, minlength=7) for items in visible], axis=0)
    assert by_day[5:].mean() < 0.8 * by_day[:5].mean()


def test_a_feed_depends_on_seed_and_rank_alone() -> None:
    few, many = feeds_of(wanted=24), feeds_of(wanted=0x18)
    assert all(np.array_equal(a.visible, b.visible) for a, b in zip(few, many, strict=True))
    assert not np.array_equal(feeds_of(seed=2)[0].visible, few[0].visible)


def test_a_scheduled_poll_is_never_sooner_than_the_floor(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        assert outcome.shortest_ms >= POLICY.floor_ms(outcome.feed.source.tier)


def test_the_same_seed_gives_the_same_run(feeds: list[Feed], outcomes: list[Outcome]) -> None:
    again = polled(feeds_of())[1]
    for one, other in zip(outcomes, again, strict=True):
        assert np.array_equal(one.found, other.found)
        assert np.array_equal(one.counts, other.counts)


def test_items_are_found_after_they_appear_and_those_lost_are_not_found(outcomes: list[Outcome]) -> None:
    found = 0
    for outcome in outcomes:
        seen = outcome.found >= 0
        assert (outcome.found[seen] > outcome.feed.visible[seen]).all()
        assert not (seen & outcome.lost).any()
        assert (delays_s(outcome, 0, DAYS * DAY_MS) >= 0).all()
        found += int(seen.sum())
    assert found > 1_000


def test_every_poll_ends_in_one_way(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        ways = outcome.counts[:, [UNMODIFIED, NEWS, BODY_ONLY, FAILED]].sum(axis=1)
        assert (ways == outcome.counts[:, POLLS]).all()
        # Each item was found once: polls with news are no more than finds.
        assert outcome.counts[:, NEWS].sum() <= (outcome.found >= 0).sum()


def test_a_twin_without_pushes_costs_nothing_and_is_no_sooner(feeds: list[Feed], outcomes: list[Outcome]) -> None:
    pushed = {one.feed.about.rank: one for one in outcomes if one.feed.hub and not one.shadow}
    twins = [one for one in outcomes if one.shadow]
    assert len(twins) == len(pushed) == sum(feed.hub for feed in feeds)
    assert sum(one.feed.about.weight for one in outcomes if not one.shadow) == pytest.approx(FEEDS)
    with_pushes = Measured(list(pushed.values()), DAY_MS, 2 * DAY_MS).figures()["delay_p50_s"]
    without = Measured(twins, DAY_MS, 2 * DAY_MS).figures()["delay_p50_s"]
    assert isinstance(with_pushes, float)
    assert isinstance(without, float)
    assert with_pushes < without


def test_the_budget_holds_and_the_top_goes_first(feeds: list[Feed]) -> None:
    engine, outcomes = polled(feeds, budget_per_s=40.0)
    # What may be saved, and the last poll's own weight.
    saved = LUMPS * FEEDS / len(feeds) + max(feed.about.weight for feed in feeds)
    for hours in (1, 6, 24, 48):
        assert engine.minutes[: hours * 60].sum() <= 40.0 * hours * 3600 + saved
    assert engine.late > 0
    figures = Measured([one for one in outcomes if not one.shadow], DAY_MS, 2 * DAY_MS).figures()
    top, tail = figures["top"], figures["tail"]
    assert isinstance(top, dict)
    assert isinstance(tail, dict)
    assert top["delay_p50_s"] < tail["delay_p50_s"]


@pytest.mark.parametrize("validators", ["etag", "modified", "none", "restless"])
def test_a_publisher_answers_304_only_to_validators_that_mean_something(validators: str) -> None:
    feed = feeds_of()[0]
    feed.validators, feed.restless_body = validators, True
    publisher = Publisher(feed)
    at = DAY_MS
    first, document, body, items = publisher.answer(request(feed), at)
    assert first.outcome == "fetched"
    assert document is not None
    assert [entry.link for entry in document.entries] == [
        link_of(feed, item) for item in range(items - 1, items - 1 - feed.length, -1)
    ]
    # A second later, when nothing has happened.
    again, _, second_body, _ = publisher.answer(
        request(feed, etag=first.etag, last_modified=first.last_modified), at + 1000
    )
    assert (again.outcome == "not_modified") == (validators in ("etag", "modified"))
    if validators == "none":
        assert second_body == body
    if validators == "restless":
        assert again.etag != first.etag
        assert second_body != body


def test_other_schedules_obey_the_same_laws(feeds: list[Feed]) -> None:
    catalogue = schedules.Catalogue(feeds, DAYS)
    for rule in (schedules.fixed(5 * 60_000), schedules.miniflux, schedules.commafeed):
        run = schedules.run(catalogue, rule, 1.0, 1, WORLD)
        for outcome in run.outcomes:
            seen = outcome.found >= 0
            assert (outcome.found[seen] >= outcome.feed.visible[seen]).all() or outcome.feed.visible[seen].min() < 0
            assert not (seen & outcome.lost).any()
            assert (delays_s(outcome, 0, DAYS * DAY_MS) >= 0).all()
            ways = outcome.counts[:, [UNMODIFIED, NEWS, BODY_ONLY, FAILED]].sum(axis=1)
            assert (ways == outcome.counts[:, POLLS]).all()


def test_a_fixed_interval_waits_half_of_it_on_average(feeds: list[Feed]) -> None:
    calm = [feed for feed in feeds if not feed.outages]
    run = schedules.run(schedules.Catalogue(calm, DAYS), schedules.fixed(600_000), 1.0, 1, WORLD)
    waits = np.concatenate([delays_s(outcome, 0, DAYS * DAY_MS) for outcome in run.outcomes])
    assert np.median(waits) == pytest.approx(300, rel=0.1)
    assert np.percentile(waits, 99) < 650


def test_a_rule_is_brought_to_a_budget(feeds: list[Feed]) -> None:
    catalogue = schedules.Catalogue(feeds, DAYS)
    run, factor = schedules.at_budget(catalogue, schedules.miniflux, 200.0, DAYS, 1.0, 1, WORLD)
    assert schedules.polls_per_second(run, DAYS, 1.0) == pytest.approx(200.0, rel=0.05)
    assert factor < 1


@pytest.mark.parametrize(
    ("a_week", "minutes"),
    [
        pytest.param(0, 24 * 60, id="no item: the longest"),
        pytest.param(7, 24 * 60, id="one a day: a day"),
        pytest.param(168, 60, id="one an hour: an hour"),
        pytest.param(168 * 30, 5, id="thirty an hour: the shortest"),
    ],
)
def test_miniflux_waits_a_week_over_the_weeks_items(a_week: int, minutes: int) -> None:
    feed = feeds_of()[0]
    week = 7 * DAY_MS
    feed.visible = np.sort(-np.arange(a_week, dtype=np.int64) * (week // max(a_week, 1)) - 1)
    feed.edited = np.full(a_week, np.iinfo(np.int64).max)
    catalogue = schedules.Catalogue([feed], 1)
    one, now = np.array([0]), np.array([0])
    assert schedules.miniflux(catalogue, one, now, catalogue.items(one, now))[0] == minutes * 60_000


@pytest.mark.parametrize(
    ("gap_min", "silent_days", "minutes"),
    [
        pytest.param(60, 0, 30, id="one an hour: half an hour"),
        pytest.param(4, 0, 5, id="fast: the shortest"),
        pytest.param(600, 0, 60, id="slow: a quarter of the longest"),
        pytest.param(60, 8, 60, id="silent for a week"),
        pytest.param(60, 15, 120, id="silent for two"),
        pytest.param(60, 31, 240, id="silent for a month"),
    ],
)
def test_commafeed_waits_half_the_mean_gap(gap_min: int, silent_days: int, minutes: int) -> None:
    feed = feeds_of()[0]
    feed.length = 20
    feed.visible = np.arange(-39, 1, dtype=np.int64) * gap_min * 60_000 - silent_days * DAY_MS
    feed.edited = np.full(40, np.iinfo(np.int64).max)
    catalogue = schedules.Catalogue([feed], 1)
    one, now = np.array([0]), np.array([0])
    assert schedules.commafeed(catalogue, one, now, catalogue.items(one, now))[0] == minutes * 60_000


def test_the_policy_is_changed_in_its_own_types() -> None:
    changed = with_values(PollPolicy(), {"soon_share": 0.25, "ceiling_ms": 1.8e6})
    assert (changed.soon_share, changed.ceiling_ms) == (0.25, HOUR_MS // 2)
    assert isinstance(changed.ceiling_ms, int)
    with pytest.raises(KeyError):
        with_values(PollPolicy(), {"gap": 1})


def test_the_start_is_a_monday() -> None:
    assert (START_MS // DAY_MS + 3) % 7 == 0
    assert START_MS % DAY_MS == 0


def test_the_command_prints_one_json_object() -> None:
    found = CliRunner().invoke(
        broadsheet,
        [
            "simulate",
            "polling",
            "--feeds=500",
            "--days=2",
            "--sample=10",
            "--warm-up-days=1",
            "--processes=1",
            "--json",
        ],
    )
    assert found.exit_code == 0, found.output
    report = json.loads(found.stdout)
    wanted = {"polls_per_second", "not_modified_share", "waste", "delay_p50_s", "delay_p90_s", "delay_p99_s"}
    for figures in (report, report["without_pushes"], *report["schedules"].values()):
        assert wanted <= set(figures)
        for tier in TIERS:
            assert wanted <= set(figures[tier])
    assert {"mean_delay_s", "best_fixed_mean_delay_s", "ratio", "overruns"} <= set(report)
    for equal in ("fixed", "miniflux", "commafeed"):
        polls = report["schedules"][f"{equal}_equal_budget"]["polls_per_second"]
        assert polls == pytest.approx(report["without_pushes"]["polls_per_second"], rel=0.1)


@pytest.mark.parametrize(
    ("wish", "word"),
    [
        ("--days 2 --warm-up-days 2", "leaves nothing"),
        ("--sample many", "a number of feeds"),
        ("--policy gap=1", "no field"),
        ("--policy soon_share=half", "NAME=NUMBER"),
    ],
)
def test_a_users_error_is_one_line(wish: str, word: str) -> None:
    found = CliRunner().invoke(broadsheet, ["simulate", "polling", *wish.split()])
    assert found.exit_code == 2
    assert word in found.output
    assert len(found.output.strip().splitlines()) == 1
