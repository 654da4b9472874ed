"""What `bench poll` measures with and how it counts; the measurement itself needs a cluster."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli.main
from cli.bench_answerer import Count
from cli.bench_feeds import Asked, Feeds, Mix, source, template_of, tier_of
from cli.bench_poll import PROFILES
from cli.bench_poll_figures import Hour, figures, unit_of
from state_schemas.codec import encode_record, unpack_bytes
from state_schemas.ids import feed_id
from udfs.feeds.document import ParsedFeed
from udfs.feeds.reader import parse_feed
from udfs.poll import schedule
from udfs.poll.actions import Ask
from udfs.poll.policy import PollPolicy
from udfs.profiles import policy

NOW = 1_800_000_000_000
FEED = feed_id("https://harbour.example/feed.xml")


def asked(feed: str = FEED, number: int = 1) -> Asked:
    return Asked(request_id=f"{feed}-{number}", kind="feed", feed_id=feed, url="https://harbour.example/feed.xml")


def read(body: object) -> ParsedFeed:
    return parse_feed(unpack_bytes(body.zstd), "https://harbour.example/feed.xml", body.content_type)  # type: ignore[attr-defined]


def test_one_feed_in_forty_is_authoritative_and_shards_have_both_tiers() -> None:
    found = [source(number, NOW) for number in range(4_000)]
    assert len({one.feed_id for one in found}) == 4_000
    authoritative = [one for one in found if one.tier == "authoritative"]
    assert 70 <= len(authoritative) <= 130
    assert len({int(one.feed_id, 16) % 8 for one in authoritative}) == 8


def test_documents_are_the_same_for_every_run() -> None:
    assert Feeds(NOW).body(7, 3) == Feeds(NOW).body(7, 3)
    assert Feeds(NOW).first_body(7) != Feeds(NOW).first_body(8)


@pytest.mark.parametrize("template", [0, 17, 63])
def test_documents_follow_on_one_another_by_one_to_three_items(template: int) -> None:
    feeds = Feeds(NOW)
    before = {entry.identity for entry in read(feeds.first_body(template)).entries}
    assert 25 <= len(before) <= 60
    for version in range(1, 8):
        document = read(feeds.body(template, version))
        now = {entry.identity for entry in document.entries}
        assert (document.malformed, document.guids_repeat, len(now)) == (False, False, len(before))
        assert 1 <= len(now - before) <= 3
        before = now


def test_the_job_takes_a_first_document_for_one_page_and_later_ones_for_their_news() -> None:
    feeds, bounds = Feeds(NOW, Mix(bodies=1.0)), PollPolicy()
    state = schedule.after_source(None, source(3, NOW), NOW)
    assert state is not None
    pages = []
    for number in range(4):
        state, ask = schedule.release(state, NOW + number, bounds)
        result = feeds.answer(
            Asked(ask.request.request_id, "feed", state.source.feed_id, ask.request.url, ask.request.etag), NOW + number
        )
        assert result.body is not None
        document = read(result.body)
        state, actions = schedule.after_result(state, result, document, NOW + number, bounds, body=number + 1)
        pages.append(sum(isinstance(action, Ask) for action in actions))
    assert pages[0] == 1
    assert all(1 <= count <= 3 for count in pages[1:])
    assert (state.guids_useless, state.stamps_useless, state.overruns, state.failures) == (False, False, 0, 0)


def test_answers_are_mostly_304_and_only_the_tail_fails() -> None:
    feeds = Feeds(NOW)
    sources = [source(number, NOW) for number in range(400)]
    outcomes: dict[str, int] = {}
    for turn in range(11):
        for one in sources:
            result = feeds.answer(asked(one.feed_id, turn), NOW)
            assert result.request_id == f"{one.feed_id}-{turn}"
            if turn == 0:
                assert result.body == feeds.first_body(template_of(one.feed_id))
                continue
            outcomes[result.outcome] = outcomes.get(result.outcome, 0) + 1
            assert result.outcome != "failed" or tier_of(one.feed_id) == "tail"
    assert 700 <= outcomes["fetched"] <= 900
    assert 40 <= outcomes["failed"] <= 120
    assert sum(outcomes.values()) == 4_000


def test_a_count_keeps_the_earliest_release_of_each_feed_and_shard() -> None:
    count = Count(NOW)
    for feed, at_ms in (("0" * 16, NOW + 5), ("0" * 16, NOW + 3), (f"{257:016x}", NOW + 9)):
        count.release(feed, at_ms)
    assert count.counts() | {"pages": 0} == {
        "released": 3,
        "answered": 0,
        "pages": 0,
        "feeds": 2,
        "shards": 2,
        "first_ms": NOW + 3,
        "shards_ms": NOW + 9,
    }
    releases = json.loads(json.dumps(count.releases()))
    assert sorted(releases["authoritative"] + releases["tail"]) == [NOW + 3, NOW + 9]
    assert releases["by_second"] == {str(NOW // 1000): 3}


def checkpoints(completed: int, p50: float | str, most: float | str) -> dict[str, object]:
    return {
        "summary": {"end_to_end_duration": {"p50": p50, "max": most}},
        "counts": {"completed": completed, "failed": 1},
    }


def test_the_hour_after_an_outage_says_who_went_first_and_how_much_a_second() -> None:
    second = NOW // 1000
    releases = {
        "authoritative": [NOW + at for at in range(0, 2_000, 20)],
        "tail": [NOW + 1_000, *(NOW + at for at in range(2_000, 5_000, 10))],
        "by_second": {str(second + at): count for at, count in enumerate((900, 400, 300, 500, 90, 20))},
    }
    hour = Hour()
    for at_s, read in enumerate((0, 900, 1_250, 1_660, 1_663)):
        hour.sample(at_s, read, read + 7)
    hour.end()
    found = hour.values(releases, checkpoints(3, 2000.0, 3000), 500)
    assert found["outage_releases_per_second"] == 400  # the seconds at both ends are not whole
    assert found["outage_releases_per_second_max_10s"] <= 500
    assert found["outage_seconds"] == pytest.approx(4.96, abs=0.05)  # until all but one in a hundred had their turn
    assert found["outage_authoritative_99_seconds"] == pytest.approx(1.96)
    assert found["outage_tail_first_seconds"] == pytest.approx(1.0)
    assert found["outage_tail_share_before_authoritative"] == pytest.approx(1 / 301)
    assert (found["outage_checkpoints"], found["outage_checkpoints_failed"]) == (3, 1)
    assert (found["outage_checkpoint_p50"], found["outage_checkpoint_max"]) == (2, 3)
    assert (found["outage_results_per_second_least"], found["outage_results_unread"]) == (350, 7)


def test_an_outage_without_any_release_is_no_crash() -> None:
    found = Hour().values({"authoritative": [], "tail": [], "by_second": {}}, checkpoints(0, "NaN", 0), 500)
    assert (found["outage_feeds_released_share"], found["outage_checkpoint_p50"]) == (0, 0)


def test_figures_are_held_against_the_goal_or_the_alternative() -> None:
    main = {"polls_per_second_per_core": 1_200.0, "state_bytes_per_feed": 1_500.0, "worker_memory": 0.5, "other": 1.0}
    by_name = {figure.name: figure for figure in figures(main, {}, 0)}
    assert by_name["polls_per_second_per_core"].ratio == pytest.approx(1.2)
    assert by_name["state_bytes_per_feed"].ratio == pytest.approx(2.0)
    assert by_name["other"].ratio is None
    beside = figures(main, {"polls_per_second_per_core": 300.0}, 10_000)[0]
    assert beside.against == "a key and timer a feed (10000 feeds)"
    assert beside.ratio == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("polls_per_second_per_core", "1/s"),
        ("state_bytes_per_feed", "bytes"),
        ("worker_memory", "GB"),
        ("restore_seconds", "s"),
        ("outage_checkpoint_p50", "s"),
        ("outage_checkpoints", "number"),
        ("outage_tail_share_before_authoritative", ""),
    ],
)
def test_a_figures_name_tells_its_unit(name: str, unit: str) -> None:
    assert unit_of(name) == unit


def test_the_phases_profiles_name_fields_that_the_policy_has(tmp_path: Path) -> None:
    text = PROFILES.format(fill_ms=60_000, busy_ms=500)
    tomllib.loads(text)
    (tmp_path / "profiles.toml").write_text(text)
    assert policy(PollPolicy, "poll", "bench_fill", tmp_path).ceiling_ms == 60_000
    assert policy(PollPolicy, "poll", "bench_busy", tmp_path).floor_ms("tail") == 500
    assert policy(PollPolicy, "poll", "bench_drain", tmp_path).budget_per_s < 0.001


def test_too_few_feeds_are_refused_before_anything_starts() -> None:
    done = CliRunner().invoke(cli.main.broadsheet, ["bench", "poll", "--feeds", "10"])
    assert done.exit_code == 2
    assert "--feeds" in done.output


def test_a_request_is_read_without_its_page_fields() -> None:
    state = schedule.after_source(None, source(3, NOW), NOW)
    assert state is not None
    _, ask = schedule.release(state, NOW, PollPolicy())
    assert b'"kind":"feed"' in encode_record(ask.request)[:200]
