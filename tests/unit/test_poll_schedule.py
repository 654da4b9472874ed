"""What the poll stage decides, by plain calls: schedule, validators, items, redirects, pages that wait."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace as policy_with

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from state_schemas.codec import dump_state, load_state
from state_schemas.fetching import FetchRequest, FetchResult
from state_schemas.ids import feed_id, hash64_hex
from state_schemas.polling import NEVER_MS, FeedState, SeenItem, Subscribed, pack_seen
from state_schemas.sources import Origin, PollSignal, Source
from udfs.feeds.document import Child, Deletion, FeedError, ParsedFeed
from udfs.feeds.reader import parse_feed
from udfs.poll.actions import Action, Ask, Found, Hold, Serve, SetAside
from udfs.poll.pages import release_page
from udfs.poll.policy import DAY_MS, HOUR_MS, MINUTE_MS, PollPolicy
from udfs.poll.schedule import after_result, after_signal, after_source, feed_request_id, release, standing

NOW = 1_796_034_600_000
POLICY = PollPolicy(jitter=0.0)
URL = "http://n.example/rss"
SOURCE = Source(feed_id=feed_id(URL), url=URL, origin=Origin(publisher="n", language="en"), tier="tail")
MODIFIED = "Mon, 30 Nov 2026 10:00:07 GMT"


def new(source: Source = SOURCE) -> FeedState:
    state = after_source(None, source, NOW)
    assert state is not None
    return state


def items(
    *numbers: int, title: str = "Item", guid: str = "g{}", link: str = "https://n.example/{}", date: str = ""
) -> ParsedFeed:
    """A document with an item for each number."""
    body = "".join(
        f"<item><guid isPermaLink='false'>{guid.format(n)}</guid><title>{title} {n}</title>"
        f"<link>{link.format(n)}</link>{date and f'<pubDate>{date}</pubDate>'}</item>"
        for n in numbers
    )
    return parse_feed(f"<rss><channel>{body}</channel></rss>".encode(), URL)


def answered(state: FeedState, outcome: str = "fetched", **more: object) -> FetchResult:
    given = {
        "request_id": feed_request_id(state),
        "feed_id": state.source.feed_id,
        "kind": "feed",
        "url": URL,
        "outcome": outcome,
        "fetched_ms": 0,
        "status": {"fetched": 200, "not_modified": 304, "gone": 410}.get(outcome, 0),
    }
    return FetchResult(**(given | more))  # type: ignore[arg-type]


def poll(
    state: FeedState,
    document: ParsedFeed | FeedError | None = None,
    outcome: str = "fetched",
    at_ms: int | None = None,
    policy: PollPolicy = POLICY,
    **more: object,
) -> tuple[FeedState, tuple[Action, ...]]:
    """Release the feed when it is due and give it this answer at once."""
    at_ms = state.next_poll_ms if at_ms is None else at_ms
    state, _ = release(state, at_ms, policy)
    state, actions = after_result(state, answered(state, outcome, **more), document, at_ms, policy)
    return state, without_counts(actions)


def without_counts(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """What is done, without what is only counted."""
    return tuple(action for action in actions if not isinstance(action, Found))


def signalled(state: FeedState, signal: PollSignal, now_ms: int, policy: PollPolicy = POLICY) -> FeedState:
    state, actions = after_signal(state, signal, now_ms, policy)
    assert actions == ()
    return state


def urls(actions: tuple[Action, ...]) -> list[str]:
    return [action.request.url for action in actions if isinstance(action, Ask)]


def asked(state: FeedState, at_ms: int | None = None) -> FetchRequest:
    return release(state, state.next_poll_ms if at_ms is None else at_ms, POLICY)[1].request


def test_the_deciders_load_no_flink() -> None:
    script = (
        "import sys, udfs.poll.schedule, udfs.poll.shard, udfs.feeds.reader;"
        "sys.exit(any(name.startswith('pyflink') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# ---------------------------------------------------------------- sources


def test_a_new_feed_is_due_at_once_and_all_its_entries_are_new() -> None:
    state, actions = poll(new(), items(1, 2, 3))
    assert urls(actions) == ["https://n.example/1", "https://n.example/2", "https://n.example/3"]
    request = actions[0].request  # type: ignore[union-attr]
    assert (request.kind, request.found_ms, request.host, request.feed_id) == ("page", NOW, "n.example", SOURCE.feed_id)
    assert state.health == "healthy"


def test_a_removed_feed_has_no_row() -> None:
    assert after_source(new(), replace(SOURCE, removed=True), NOW) is None
    assert after_source(None, replace(SOURCE, removed=True), NOW) is None


def test_a_feed_registered_again_keeps_its_memory() -> None:
    state, _ = poll(new(), items(1))
    again = after_source(state, replace(SOURCE, tier="authoritative"), NOW + 1)
    assert again == replace(state, source=replace(SOURCE, tier="authoritative"))
    assert after_source(state, SOURCE, NOW + 1) == state


def test_a_failing_feed_registered_again_is_asked_at_once() -> None:
    state, _ = poll(new(), outcome="failed", reason="timeout")
    again = after_source(state, replace(SOURCE, registered_ms=1), NOW + 5)
    assert again is not None
    assert again.next_poll_ms == NOW + 5


# ---------------------------------------------------------------- interval


def rated(per_hour: float, tier: str = "tail", since_new_ms: int = DAY_MS) -> FeedState:
    """A feed long observed at a rate, its last new item some time ago."""
    hours = 10_000.0
    state = new(replace(SOURCE, tier=tier))
    return replace(
        state,
        count=per_hour * hours,
        exposure_h=hours,
        rated_ms=NOW,
        seen=pack_seen([SeenItem(1)], 1),
        since_ms=NOW,
        last_new_ms=NOW - since_new_ms,
    )


@pytest.mark.parametrize(
    ("per_hour", "tier", "wait_ms"),
    [
        pytest.param(0.001, "tail", HOUR_MS, id="silent: ceiling"),
        pytest.param(1.0, "tail", round(math.sqrt(2 / 3 * 60) * MINUTE_MS), id="one an hour: 6.3 minutes"),
        pytest.param(4.0, "authoritative", round(math.sqrt(2 / 3 * 15) * MINUTE_MS), id="four an hour: 3.2 minutes"),
        pytest.param(600.0, "tail", 5 * MINUTE_MS, id="ten a minute: floor of the tail"),
        pytest.param(600.0, "authoritative", MINUTE_MS, id="floor of the authoritative"),
    ],
)
def test_waits_until_the_expected_items_are_worth_a_poll_within_bounds(
    per_hour: float, tier: str, wait_ms: int
) -> None:
    state, _ = poll(rated(per_hour, tier), outcome="not_modified")
    assert state.next_poll_ms - NOW == pytest.approx(wait_ms, rel=0.01)


def test_sooner_after_a_new_item_decaying_back() -> None:
    waits = []
    for since_ms in (0, 5 * MINUTE_MS, 30 * MINUTE_MS, DAY_MS):
        state, _ = poll(rated(0.2, since_new_ms=since_ms), outcome="not_modified")
        waits.append(state.next_poll_ms - NOW)
    assert waits == sorted(waits)
    assert waits[0] == pytest.approx(waits[-1] / 2, rel=0.01)


def test_a_verified_lease_leaves_a_backstop_poll() -> None:
    held = Subscribed("https://hub.example/", URL, "t1", "s1", "pending", NOW)
    lease = PollSignal(feed_id=SOURCE.feed_id, signal="lease", signalled_ms=NOW, until_ms=NOW + 90 * DAY_MS, token="t1")
    rate = replace(rated(60.0), subscription=held, hub=held.hub, topic=URL)
    state, _ = after_signal(rate, lease, NOW, POLICY)
    assert state.lease_until_ms == NOW + 14 * DAY_MS
    state, _ = poll(state, outcome="not_modified")
    assert state.next_poll_ms - NOW == POLICY.leased_ms


@pytest.mark.parametrize(
    ("tier", "rate", "max_age_ms", "wait_ms"),
    [
        pytest.param("tail", 60.0, 0, 5 * MINUTE_MS, id="no hint"),
        pytest.param("tail", 60.0, 7 * MINUTE_MS, 7 * MINUTE_MS, id="lengthens"),
        pytest.param("tail", 60.0, DAY_MS, 10 * MINUTE_MS, id="two floors at most"),
        pytest.param("authoritative", 60.0, DAY_MS, 2 * MINUTE_MS, id="two of its floors"),
        pytest.param("tail", 0.3, MINUTE_MS, round(math.sqrt(2 / 3 * 200) * MINUTE_MS), id="never shortens"),
    ],
)
def test_a_publishers_hint_lengthens_the_interval_within_a_cap(
    tier: str, rate: float, max_age_ms: int, wait_ms: int
) -> None:
    for outcome in ("not_modified", "fetched"):
        state, _ = poll(rated(rate, tier), outcome=outcome, max_age_ms=max_age_ms)
        assert state.next_poll_ms - NOW == pytest.approx(wait_ms, rel=0.02)


def test_the_documents_own_ttl_is_remembered() -> None:
    document = policy_with(items(1), ttl_ms=HOUR_MS)
    state, _ = poll(rated(60.0), document)
    assert state.next_poll_ms - NOW == 10 * MINUTE_MS
    state, _ = poll(state, outcome="not_modified")
    assert state.next_poll_ms - NOW == 20 * MINUTE_MS


def test_jitter_is_the_feeds_own_and_moves_no_bound() -> None:
    policy = PollPolicy(jitter=0.1)
    waits = set()
    for number in range(50):
        source = replace(SOURCE, feed_id=feed_id(f"http://n.example/{number}"))
        state = replace(rated(0.3), source=source)
        first, _ = poll(state, outcome="not_modified", policy=policy)
        again, _ = poll(state, outcome="not_modified", policy=policy)
        assert first == again
        waits.add(first.next_poll_ms - NOW)
    assert len(waits) > 40
    usual = math.sqrt(2 / 3 * 200) * MINUTE_MS
    assert all(abs(wait - usual) <= 0.11 * usual for wait in waits)


def test_only_new_items_count_into_the_rate() -> None:
    state, _ = poll(new(), items(1, 2))
    first = state.count
    state, _ = poll(state, items(1, 2))
    state, _ = poll(state, items(1, 2, title="Corrected"))
    state, _ = poll(state, outcome="not_modified")
    assert state.count <= first
    state, _ = poll(state, items(1, 2, 3))
    assert state.count == pytest.approx(first + 1, abs=0.1)


def test_a_first_documents_own_dates_tell_its_rate() -> None:
    fast = poll(new(), items(*range(20), date="Mon, 30 Nov 2026 10:10:00 GMT"))[0]
    slow = poll(new(), items(1))[0]
    assert fast.next_poll_ms < slow.next_poll_ms


# ---------------------------------------------------------------- failures


def test_not_modified_is_success_without_items() -> None:
    state, _ = poll(new(), items(1), etag='"a"')
    for _ in range(3):
        state, actions = poll(state, outcome="not_modified")
        assert actions == ()
    assert (state.health, state.failures) == ("healthy", 0)


def test_failures_lengthen_the_interval_up_to_a_day_and_never_end_it() -> None:
    state, _ = poll(new(), items(1))
    usual = state.next_poll_ms - NOW
    waits = []
    for _ in range(25):
        at_ms = state.next_poll_ms
        state, _ = poll(state, outcome="failed", reason="timeout")
        waits.append(state.next_poll_ms - at_ms)
    assert waits[:4] == [5 * MINUTE_MS, 10 * MINUTE_MS, 20 * MINUTE_MS, 30 * MINUTE_MS]
    assert waits[3:15] == [30 * MINUTE_MS] * 12  # six hours
    assert waits[15:18] == [HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS]
    assert waits == sorted(waits)
    assert waits[-1] == DAY_MS
    assert (state.health, state.reason) == ("sick", "timeout")
    at_ms = state.next_poll_ms
    state, _ = poll(state, items(1))
    assert (state.health, state.failures) == ("healthy", 0)
    assert state.next_poll_ms - at_ms <= max(usual, POLICY.ceiling_ms)


def test_a_feed_that_is_gone_has_ended_until_it_is_registered_again_or_pushed() -> None:
    state, _ = poll(new(), items(1))
    gone, _ = poll(state, outcome="gone")
    assert (gone.health, gone.next_poll_ms) == ("gone", NEVER_MS)
    burst = PollSignal(feed_id=SOURCE.feed_id, signal="burst", signalled_ms=NOW)
    assert signalled(gone, burst, NOW + DAY_MS).next_poll_ms == NEVER_MS
    ping = PollSignal(feed_id=SOURCE.feed_id, signal="ping", signalled_ms=NOW)
    assert signalled(gone, ping, NOW + DAY_MS).next_poll_ms == NOW + DAY_MS
    again = after_source(gone, replace(SOURCE, registered_ms=NOW), NOW + DAY_MS)
    assert again is not None
    assert again.next_poll_ms == NOW + DAY_MS
    back, _ = poll(again, items(1))
    assert back.health == "healthy"
    assert load_state(FeedState, dump_state(gone)) == gone


def test_a_failure_is_set_aside_only_for_what_the_publisher_sent() -> None:
    for outcome, reason in (("failed", "timeout"), ("refused", "private_address"), ("gone", "gone")):
        state, actions = poll(new(), outcome=outcome, reason=reason)
        assert (actions, state.reason, state.failures) == ((), reason, 1)
    _, broken = poll(new(), FeedError("html_not_feed", "a portal"))
    assert broken == (SetAside("html_not_feed", SOURCE.feed_id, "a portal"),)


def test_retry_after_is_obeyed_even_by_a_push_and_has_a_ceiling() -> None:
    state, _ = poll(new(), outcome="failed", status=429, retry_after_ms=HOUR_MS)
    assert state.next_poll_ms == NOW + HOUR_MS
    ping = PollSignal(feed_id=SOURCE.feed_id, signal="ping", signalled_ms=NOW)
    assert signalled(state, ping, NOW + 5).next_poll_ms == NOW + HOUR_MS
    state, _ = poll(new(), outcome="failed", status=503, retry_after_ms=10_000 * DAY_MS)
    assert state.next_poll_ms <= NOW + DAY_MS


def test_a_deferred_feed_is_asked_again_at_its_time_without_a_failure() -> None:
    state, _ = poll(new(), outcome="deferred", reason="host_busy", not_before_ms=NOW + 10 * MINUTE_MS)
    assert (state.next_poll_ms, state.failures, state.health) == (NOW + 10 * MINUTE_MS, 0, "new")
    state, _ = poll(new(), outcome="refused", reason="within_floor")
    assert (state.next_poll_ms, state.failures) == (NOW + POLICY.floor_tail_ms, 0)


def test_a_lost_request_is_asked_again_and_its_late_answer_only_adds_items() -> None:
    state, _ = poll(new(), items(1), etag='"a"')
    state, first = release(state, state.next_poll_ms, POLICY)
    late = answered(state, etag='"b"')
    assert state.next_poll_ms == first.request.requested_ms + POLICY.lost_ms
    state, second = release(state, state.next_poll_ms, POLICY)
    assert second.request.request_id != first.request.request_id
    after, actions = after_result(state, late, items(1, 2), NOW, POLICY)
    assert urls(actions) == ["https://n.example/2"]
    assert (after.next_poll_ms, after.answered, after.etag) == (state.next_poll_ms, False, '"a"')


def test_a_replayed_answer_changes_nothing() -> None:
    state, _ = release(new(), NOW, POLICY)
    result = answered(state, etag='"a"')
    state, _ = after_result(state, result, items(1, 2), NOW, POLICY)
    again, actions = after_result(state, result, items(1, 2), NOW + 50, POLICY)
    assert (again, actions) == (state, ())
    failed = answered(state, "failed", reason="timeout")
    assert after_result(state, failed, None, NOW, POLICY) == (state, ())


# ---------------------------------------------------------------- validators


def test_both_validators_are_replaced_after_every_body() -> None:
    state, _ = poll(new(), items(1), etag='"v1"', last_modified=MODIFIED)
    state, _ = poll(state, items(1), etag='"v2"', last_modified=MODIFIED)
    request = asked(state)
    assert (request.etag, request.last_modified) == ('"v2"', MODIFIED)
    state, _ = poll(state, None, etag="", last_modified="")
    assert (asked(state).etag, asked(state).last_modified) == ("", "")


def test_validators_are_never_made_up_and_sent_as_received() -> None:
    odd = "Mon, 30 Nov 2026 10:00:07 +0000 (about)"
    state, _ = poll(new(), items(1, date="Mon, 30 Nov 2026 09:58:00 GMT"))
    assert asked(state).last_modified == ""
    state, _ = poll(state, items(1), last_modified=odd)
    assert asked(state).last_modified == odd


def test_a_last_modified_after_the_answers_own_date_is_not_stored() -> None:
    state, _ = poll(new(), items(1), etag='"a"', last_modified="Tue, 01 Jan 2041 00:00:00 GMT", date_ms=NOW)
    assert (asked(state).etag, asked(state).last_modified) == ('"a"', "")


def test_validators_of_a_broken_or_cut_body_are_not_kept() -> None:
    state, _ = poll(new(), items(1), etag='"t8"')
    state, _ = poll(state, FeedError("feed_unparsable"), etag='"t9"')
    assert asked(state).etag == '"t8"'
    cut = parse_feed(b"<rss><channel><item><guid>g2</guid><link>https://n.example/2</link></item><item><guid>g3", URL)
    assert not cut.whole
    state, actions = poll(state, cut, etag='"t9"', body=7)
    assert (urls(actions), asked(state).etag, state.reason) == (["https://n.example/2"], '"t8"', "feed_cut_short")


def test_after_a_run_of_304_one_unconditional_request_shows_whether_validators_mean_anything() -> None:
    constant = "Tue, 01 Jan 1980 00:00:01 GMT"
    state, _ = poll(new(), items(1), last_modified=constant)
    for _ in range(POLICY.unmodified_run):
        assert asked(state).last_modified == constant
        state, _ = poll(state, outcome="not_modified")
    assert asked(state).last_modified == ""
    state, actions = poll(state, items(*range(1, 8)), last_modified=constant)
    assert len(urls(actions)) == 6
    assert state.validators_useless
    assert asked(state).last_modified == ""


def test_honest_validators_survive_the_unconditional_request() -> None:
    state, _ = poll(new(), items(1), etag='"a"')
    for _ in range(POLICY.unmodified_run):
        state, _ = poll(state, outcome="not_modified")
    state, _ = poll(state, items(1), etag='"a"')
    assert asked(state).etag == '"a"'


def test_validators_that_are_new_at_every_poll_are_no_longer_sent() -> None:
    state, _ = poll(new(), items(1), etag='"0"')
    for number in range(POLICY.useless_after):
        assert asked(state).etag
        state, _ = poll(state, items(1), etag=f'"{number + 1}"')
    assert asked(state).etag == ""


# ---------------------------------------------------------------- redirects


def test_a_permanent_redirect_to_nonsense_is_a_failed_poll() -> None:
    state, _ = poll(new(), FeedError("html_not_feed"), moved_to="https://portal.example/login")
    assert (state.failures, asked(state).url) == (1, URL)


def test_http_to_https_is_believed_at_once() -> None:
    state, _ = poll(new(), items(1), moved_to="https://n.example/rss")
    assert asked(state).url == "https://n.example/rss"
    assert state.source.feed_id == SOURCE.feed_id


def test_a_feed_gone_from_where_it_moved_to_is_asked_where_it_was_registered() -> None:
    state, _ = poll(new(), items(1), moved_to="https://n.example/rss", etag='"a"')
    state, _ = poll(state, outcome="gone")
    assert (asked(state).url, asked(state).etag, state.health) == (URL, "", "failing")
    state, _ = poll(state, outcome="gone")
    assert state.next_poll_ms == NEVER_MS


def test_another_address_is_believed_when_it_held_for_days() -> None:
    target = "https://feeds.example/n"
    state, _ = poll(new(), items(1), moved_to=target)
    assert asked(state).url == URL
    state, _ = poll(state, items(1), at_ms=NOW + 6 * DAY_MS, moved_to=target)
    assert asked(state).url == URL
    state, _ = poll(state, items(1), at_ms=NOW + 7 * DAY_MS, moved_to=target)
    assert asked(state).url == target
    state, _ = poll(new(), items(1), moved_to=target)
    state, _ = poll(state, items(1), at_ms=NOW + DAY_MS)
    state, _ = poll(state, items(1), at_ms=NOW + 8 * DAY_MS, moved_to=target)
    assert asked(state).url == URL


# ---------------------------------------------------------------- items


def test_one_guid_for_all_is_remembered_as_useless() -> None:
    state, actions = poll(new(), items(1, 2, 3, guid="N/A"))
    assert len(urls(actions)) == 3
    assert state.guids_useless
    _, actions = poll(state, items(1, 2, 3, guid="N/A"))
    assert urls(actions) == []


def test_renumbered_guids_bring_nothing_new() -> None:
    state, _ = poll(new(), items(*range(30), guid="http://n.example/?p={}"))
    count = state.count
    state, actions = poll(state, items(*range(30), guid="https://n.example/?p={}", link="http://n.example/{}"))
    assert actions == ()
    assert state.count <= count


def test_guids_that_change_at_every_poll_are_recognised_and_identity_falls_back_to_the_page() -> None:
    state, _ = poll(new(), items(*range(20), guid="a{}"))
    for turn in "bcd":
        state, actions = poll(state, items(*range(20), guid=turn + "{}"))
        assert actions == ()
    assert state.guids_useless


def test_guids_and_pages_that_change_at_every_poll_fall_back_to_title_and_date() -> None:
    date = "Mon, 30 Nov 2026 09:00:00 GMT"
    state, _ = poll(new(), items(*range(20), guid="a{}", link="https://n.example/{}?s=1", date=date))
    for turn in "bcd":
        guid, link = turn + "{}", f"https://n.example/{{}}?s={turn}"
        state, actions = poll(state, items(*range(20), guid=guid, link=link, date=date))
        assert actions == ()
        assert state.overruns == 0
    _, actions = poll(state, items(*range(1, 21), guid="e{}", link="https://n.example/{}?s=5", date=date))
    assert urls(actions) == ["https://n.example/20?s=5"]


def test_titles_that_recur_on_other_days_are_new_items() -> None:
    state, _ = poll(
        new(), items(1, 2, 3, guid="a{}", link="https://n.example/a{}", date="Mon, 30 Nov 2026 09:00:00 GMT")
    )
    _, actions = poll(
        state, items(1, 2, 3, guid="b{}", link="https://n.example/b{}", date="Tue, 01 Dec 2026 09:00:00 GMT")
    )
    assert len(urls(actions)) == 3


def test_a_front_pages_wording_is_no_change() -> None:
    first = policy_with(items(1, 2), format="front")
    state, _ = poll(new(), first)
    _, actions = poll(state, policy_with(items(1, 2, title="Another teaser"), format="front"))
    assert actions == ()


def test_two_items_alike_settle_at_the_first_poll() -> None:
    twice = items(597, title="Same").entries + items(630, title="Same").entries
    document = ParsedFeed(format="rss", entries=twice)
    state, actions = poll(new(), document)
    assert len(urls(actions)) == 2
    for _ in range(3):
        state, actions = poll(state, document)
        assert actions == ()


def test_a_changed_title_or_time_asks_for_the_page_again() -> None:
    state, _ = poll(new(), items(1, 2, date="Mon, 30 Nov 2026 09:00:00 GMT"))
    changed = items(1, title="Corrected", date="Mon, 30 Nov 2026 09:00:00 GMT").entries
    same = items(2, date="Mon, 30 Nov 2026 09:00:00 GMT").entries
    state, actions = poll(state, ParsedFeed(format="rss", entries=changed + same))
    assert urls(actions) == ["https://n.example/1"]
    later = items(2, date="Mon, 30 Nov 2026 09:30:00 GMT").entries
    state, actions = poll(state, ParsedFeed(format="rss", entries=changed + later))
    assert urls(actions) == ["https://n.example/2"]


def test_times_that_change_at_every_poll_tell_nothing() -> None:
    state, _ = poll(new(), items(*range(10), date="Mon, 30 Nov 2026 09:00:00 GMT"))
    for minute in range(1, 4):
        state, actions = poll(state, items(*range(10), date=f"Mon, 30 Nov 2026 09:0{minute}:00 GMT"))
        assert actions == ()
    assert state.stamps_useless


def test_many_changes_are_asked_for_a_few_at_a_time() -> None:
    state, _ = poll(new(), items(*range(25)))
    found = []
    for _ in range(4):
        state, actions = poll(state, items(*range(25), title="Renamed"))
        found.append(len(actions))
    assert found == [10, 10, 5, 0]


def test_a_feed_that_turned_over_is_an_overrun_and_polled_sooner() -> None:
    state, _ = poll(new(), items(*range(1, 21)))
    at_ms = NOW + 12 * HOUR_MS
    state, _ = poll(state, items(*range(61, 81)), at_ms=at_ms)
    assert state.overruns == 1
    assert state.next_poll_ms - at_ms <= POLICY.ceiling_ms
    fast, _ = poll(replace(state, last_success_ms=at_ms), items(*range(100, 120)), at_ms=at_ms + 20 * MINUTE_MS)
    assert fast.overruns == 2
    assert fast.next_poll_ms - at_ms - 20 * MINUTE_MS == POLICY.overrun_share * 20 * MINUTE_MS


def test_an_overlap_is_no_overrun_and_neither_is_an_empty_document() -> None:
    state, _ = poll(new(), items(*range(20)))
    state, _ = poll(state, items(*range(19, 39)))
    state, _ = poll(state, items())
    state, actions = poll(state, items(*range(30, 41)))
    assert (state.overruns, len(actions)) == (0, 2)


def test_a_long_document_is_remembered_whole() -> None:
    state, _ = poll(new(), items(*range(500)))
    _, actions = poll(state, items(*range(500)))
    assert actions == ()


def test_an_entry_without_a_link_is_set_aside_once() -> None:
    state, actions = poll(new(), items(1, link=""))
    (aside,) = actions
    assert isinstance(aside, SetAside)
    assert (aside.reason, aside.entry) == ("entry_without_link", items(1, link="").entries[0])
    _, actions = poll(state, items(1, link="", title="Changed"))
    assert actions == ()


def test_two_entries_of_one_page_ask_for_it_once() -> None:
    _, actions = poll(new(), items(1, 2, link="https://n.example/live#{}"))
    assert urls(actions) == ["https://n.example/live#1"]


def test_an_entry_gets_its_feeds_language() -> None:
    document = policy_with(items(1), language="de")
    _, actions = poll(new(), document)
    assert actions[0].request.entry.language == "de"  # type: ignore[union-attr]


# ---------------------------------------------------------------- sitemap indexes

INDEX = "https://n.example/s{}.xml"


def index(*modified: int | None) -> ParsedFeed:
    children = tuple(Child(INDEX.format(number), at_ms) for number, at_ms in enumerate(modified))
    return ParsedFeed(format="sitemap_index", children=children)


def child(state: FeedState, number: int, document: ParsedFeed | FeedError) -> tuple[FeedState, tuple[Action, ...]]:
    (url,) = [INDEX.format(number)]
    result = answered(state, request_id=f"{feed_request_id(state)}/{hash64_hex(url)}", url=url, etag='"child"')
    state, actions = after_result(state, result, document, NOW, POLICY)
    return state, without_counts(actions)


def test_an_index_asks_for_the_sitemaps_that_changed_the_newest_first() -> None:
    hours = [NOW - hour * HOUR_MS for hour in range(8)]
    state, actions = poll(new(), index(*reversed(hours)))
    assert urls(actions) == [INDEX.format(number) for number in (7, 6, 5, 4, 3)]
    assert (state.health, state.reason) == ("healthy", "")
    request = actions[0].request  # type: ignore[union-attr]
    assert (request.kind, request.feed_id, request.floor_ms) == ("feed", SOURCE.feed_id, 0)
    state, actions = poll(state, index(*reversed(hours)))
    assert urls(actions) == []
    _, actions = poll(state, index(*hours[1:], NOW + 5))
    assert urls(actions) == [INDEX.format(7)]


def test_an_index_without_times_asks_for_either_end() -> None:
    _, actions = poll(new(), index(*[None] * 50))
    assert urls(actions) == [INDEX.format(number) for number in (0, 1, 48, 49)]
    _, actions = poll(new(), index(None))
    assert urls(actions) == [INDEX.format(0)]


def test_an_index_that_does_not_say_when_its_sitemaps_changed_is_read_at_every_poll() -> None:
    midnight = NOW - NOW % DAY_MS
    for told in (None, midnight):
        state, actions = poll(new(), index(told), etag='"same"', body=7)
        assert urls(actions) == [INDEX.format(0)]
        assert (asked(state).etag, state.body_hash) == ("", 0)
        state, actions = poll(state, index(told), etag='"same"', body=7)
        assert urls(actions) == [INDEX.format(0)]
    # The day has ended, wherever its publisher lives.
    state, actions = poll(state, index(midnight), at_ms=midnight + 2 * DAY_MS, etag='"same"')
    assert (urls(actions), asked(state).etag) == ([], '"same"')


def test_an_index_that_changes_at_every_poll_keeps_its_validators() -> None:
    state = new()
    for number in range(POLICY.useless_after + 3):
        state, _ = poll(state, index(state.next_poll_ms), etag=f'"{number}"')
    assert not state.validators_useless


def test_a_sitemap_of_an_index_that_was_deferred_is_asked_for_by_the_next_poll() -> None:
    state, _ = poll(new(), index(NOW), etag='"index"')
    late = answered(state, "deferred", request_id=f"{feed_request_id(state)}/{hash64_hex(INDEX)}", reason="host_busy")
    state, actions = after_result(state, late, None, NOW, POLICY)
    assert (actions, asked(state).etag) == ((), "")
    assert urls(poll(state, index(NOW))[1]) == [INDEX.format(0)]


def test_what_the_sitemaps_of_an_index_list_is_new_once_and_the_schedule_stays_the_indexs() -> None:
    state, _ = poll(new(), index(NOW - 2, NOW - 1), etag='"index"')
    due = state.next_poll_ms
    state, actions = child(state, 0, items(*range(300)))
    assert len(urls(actions)) == 300
    state, actions = child(state, 1, items(*range(300, 600)))
    assert len(urls(actions)) == 300
    for number, document in ((0, items(*range(1, 301))), (1, items(*range(300, 601)))):
        state, actions = child(state, number, document)
    assert urls(actions) == ["https://n.example/600"]
    assert (state.next_poll_ms, state.overruns, asked(state).etag) == (due, 0, '"index"')


def test_a_broken_or_nested_sitemap_of_an_index_is_set_aside_and_the_index_stays_healthy() -> None:
    state, _ = poll(new(), index(NOW))
    after, actions = child(state, 0, FeedError("feed_unparsable", "cut"))
    assert (after, actions) == (state, (SetAside("feed_unparsable", SOURCE.feed_id, "cut"),))
    after, (aside,) = child(state, 0, index(NOW))
    assert isinstance(aside, SetAside)
    assert (after, aside.reason) == (state, "sitemap_index_nested")


# ---------------------------------------------------------------- what a publisher withdraws


def withdrawn(*deleted: Deletion, known: ParsedFeed | None = None) -> list[Action]:
    state, _ = poll(new(), known or items(1, 2))
    return list(poll(state, policy_with(items(2), deleted=deleted))[1])


def test_a_deleted_entry_of_this_feed_becomes_a_retraction() -> None:
    (serve,) = withdrawn(Deletion("g1", "https://n.example/1", NOW))
    assert isinstance(serve, Serve)
    assert (serve.item.kind, serve.item.url, serve.item.reason) == (
        "retraction",
        "https://n.example/1",
        "deleted_entry",
    )
    address = items(1, 2, guid="https://n.example/{}")
    (serve,) = withdrawn(Deletion("https://n.example/1", "", None), known=address)
    assert isinstance(serve, Serve)
    assert serve.item.url == "https://n.example/1"


def test_what_was_withdrawn_is_told_once_and_new_when_it_comes_back() -> None:
    gone = (Deletion("g1", "https://n.example/1", NOW),)
    state, _ = poll(new(), items(1, 2))
    state, actions = poll(state, policy_with(items(2), deleted=gone))
    assert len(actions) == 1
    state, actions = poll(state, policy_with(items(3, 2), deleted=gone))
    assert urls(actions) == ["https://n.example/3"]
    assert len(actions) == 1
    _, actions = poll(state, policy_with(items(1, 3, 2), deleted=gone))
    assert urls(actions) == ["https://n.example/1"]
    assert not actions[0].request.recheck  # type: ignore[union-attr]


def test_nobody_withdraws_what_another_feed_lists() -> None:
    assert withdrawn(Deletion("g77", "https://other.example/1", NOW)) == []
    assert withdrawn(Deletion("https://other.example/1", "", NOW)) == []
    # The id is this feed's, the page is not: the page is left alone.
    (aside,) = withdrawn(Deletion("g1", "https://other.example/1", NOW))
    assert isinstance(aside, SetAside)
    assert aside.reason == "deletion_without_page"


def test_a_page_of_another_site_is_asked_for_again_when_a_feed_withdraws_it() -> None:
    others = "https://other.example/1"
    for deletion, known in (
        (Deletion("g1", others, NOW), items(1, 2, link="https://other.example/{}")),
        (Deletion(others, "", NOW), items(1, 2, guid="https://other.example/{}")),
        (Deletion("http://[1", "", NOW), items(1, 2, guid="http://[{}")),
    ):
        assert not [action for action in withdrawn(deletion, known=known) if isinstance(action, Serve)]
    (again,) = withdrawn(Deletion("g1", others, NOW), known=items(1, 2, link="https://other.example/{}"))
    assert isinstance(again, Ask)
    assert (again.request.url, again.request.recheck) == (others, True)


def test_a_page_that_is_still_listed_under_another_id_is_not_withdrawn() -> None:
    gone = (Deletion("old1", "https://n.example/1", NOW),)
    state, _ = poll(new(), items(1, guid="old{}"))
    for _ in range(3):
        state, actions = poll(state, policy_with(items(1), deleted=gone))
        assert actions == ()


def test_a_deleted_entry_without_a_page_is_told() -> None:
    (aside,) = withdrawn(Deletion("g1", "", NOW))
    assert isinstance(aside, SetAside)
    assert (aside.reason, aside.detail) == ("deletion_without_page", "g1")


# ---------------------------------------------------------------- signals


def test_a_ping_is_asked_at_once_but_not_within_its_floor() -> None:
    state, _ = poll(new(), items(1))
    ping = PollSignal(feed_id=SOURCE.feed_id, signal="ping", signalled_ms=NOW)
    soon = signalled(state, ping, NOW + 5_000)
    assert soon.next_poll_ms == NOW + POLICY.push_floor_ms
    late = signalled(state, ping, NOW + 10 * MINUTE_MS)
    assert late.next_poll_ms == NOW + 10 * MINUTE_MS
    _, ask = release(late, late.next_poll_ms, POLICY)
    assert ask.priority


def test_a_ping_waits_until_it_says_but_no_longer_than_its_floor() -> None:
    state, _ = poll(new(), items(1))
    at_ms = NOW + 10 * MINUTE_MS
    for until_ms, due_ms in ((0, at_ms), (at_ms + 9_000, at_ms + 9_000), (NOW + DAY_MS, at_ms + POLICY.push_floor_ms)):
        ping = PollSignal(feed_id=SOURCE.feed_id, signal="ping", signalled_ms=at_ms, until_ms=until_ms)
        assert signalled(state, ping, at_ms).next_poll_ms == due_ms


def test_a_ping_while_the_request_is_out_is_not_lost() -> None:
    state, _ = release(new(), NOW, POLICY)
    ping = PollSignal(feed_id=SOURCE.feed_id, signal="ping", signalled_ms=NOW)
    state = signalled(state, ping, NOW + 1_000)
    state, _ = after_result(state, answered(state), items(1), NOW + 2_000, POLICY)
    assert state.next_poll_ms == NOW + POLICY.push_floor_ms


def test_a_burst_is_polled_at_the_floor_with_priority_for_an_hour() -> None:
    state, _ = poll(rated(0.01), outcome="not_modified")
    burst = PollSignal(feed_id=SOURCE.feed_id, signal="burst", signalled_ms=NOW)
    state = signalled(state, burst, NOW)
    assert state.next_poll_ms == NOW + POLICY.floor_tail_ms
    state, _ = poll(state, outcome="not_modified")
    assert state.next_poll_ms == NOW + 2 * POLICY.floor_tail_ms
    assert standing(state, state.next_poll_ms).rank == 1
    state, _ = poll(state, outcome="not_modified", at_ms=NOW + HOUR_MS)
    assert state.next_poll_ms - NOW - HOUR_MS > POLICY.floor_tail_ms


def test_a_recheck_asks_for_pages_and_leaves_the_schedule_alone() -> None:
    state, _ = poll(new(), items(1))
    links = ("https://n.example/1", "https://n.example/1", "no address", *(f"https://n.example/{n}" for n in range(99)))
    wish = PollSignal(feed_id=SOURCE.feed_id, signal="recheck", signalled_ms=NOW, links=links)
    after, actions = after_signal(state, wish, NOW, POLICY)
    assert after == state
    assert len(urls(actions)) == len(set(urls(actions))) == POLICY.recheck_links
    request = actions[0].request  # type: ignore[union-attr]
    assert (request.kind, request.recheck, request.entry, request.found_ms) == ("page", True, None, NOW)


# ---------------------------------------------------------------- pages that wait


def page(state: FeedState, number: int = 1) -> FetchRequest:
    _, actions = poll(state, items(number))
    (ask,) = actions
    assert isinstance(ask, Ask)
    return ask.request


def deferred(request: FetchRequest, not_before_ms: int) -> FetchResult:
    return FetchResult(
        request_id=request.request_id,
        feed_id=request.feed_id,
        kind="page",
        url=request.url,
        outcome="deferred",
        fetched_ms=NOW,
        not_before_ms=not_before_ms,
        request=request,
    )


def test_deferred_pages_are_held_until_their_time() -> None:
    state = new()
    due = []
    for number in range(3):
        not_before_ms = NOW + 30_000 + 1_000 * number
        state, actions = after_result(state, deferred(page(new(), number), not_before_ms), None, NOW, POLICY)
        (hold,) = actions
        assert isinstance(hold, Hold)
        due.append(hold.due_ms - NOW)
    assert due == [30_000, 31_000, 32_000]
    assert state.pending == 3
    request = page(new())
    state, ask = release_page(state, request, NOW + 30_000)
    assert (state.pending, ask.request.attempt, ask.request.found_ms) == (2, 1, request.found_ms)
    _, again = release_page(state, ask.request, NOW + 60_000)
    assert again.request.request_id == f"{request.request_id}+2"


@pytest.mark.parametrize(
    ("pending", "later_ms", "reason"),
    [
        pytest.param(POLICY.pages_held, 0, "too_many_pages_deferred", id="too many"),
        pytest.param(0, POLICY.page_patience_ms + 1, "page_deferred_too_long", id="too long"),
    ],
)
def test_a_page_that_is_given_up_is_served_from_its_entry(pending: int, later_ms: int, reason: str) -> None:
    request = page(new())
    state = replace(new(), pending=pending)
    at_ms = NOW + later_ms
    after, actions = after_result(state, deferred(request, at_ms + 1), None, at_ms, POLICY)
    (serve,) = actions
    assert isinstance(serve, Serve)
    assert (serve.item.kind, serve.item.reason, serve.item.entry, serve.item.found_ms) == (
        "entry",
        reason,
        request.entry,
        request.found_ms,
    )
    assert after == state


# ---------------------------------------------------------------- laws

OUTCOMES = st.sampled_from(
    ["fetched", "empty", "broken", "not_modified", "failed", "gone", "refused", "deferred", "lost"]
)
SIGNALS = st.sampled_from(["", "", "ping", "websub", "burst", "recheck", "lease"])
STEPS = st.lists(
    st.tuples(
        OUTCOMES,
        SIGNALS,
        st.integers(0, 3 * HOUR_MS),  # how late the answer is
        st.one_of(st.none(), st.integers(0, 3 * DAY_MS)),  # Retry-After
        st.integers(0, 40),  # the newest item
    ),
    max_size=30,
)


@given(STEPS, st.sampled_from(["tail", "authoritative"]))
@settings(max_examples=60)
def test_whatever_happens_the_schedule_stays_within_its_bounds(
    steps: list[tuple[str, str, int, int | None, int]], tier: str
) -> None:
    policy = PollPolicy()
    state = new(replace(SOURCE, tier=tier))
    asked_for: set[str] = set()
    for outcome, signal, late_ms, retry_after_ms, newest in steps:
        at_ms = state.next_poll_ms
        assert at_ms >= state.not_before_ms
        state, ask = release(state, at_ms, policy)
        assert at_ms < state.next_poll_ms <= at_ms + policy.lost_ms
        now_ms = at_ms + late_ms
        if signal:
            wish = PollSignal(
                feed_id=state.source.feed_id,
                signal=signal,  # type: ignore[arg-type]
                signalled_ms=now_ms,
                until_ms=now_ms + DAY_MS,
            )
            state, _ = after_signal(state, wish, now_ms, policy)
        if outcome == "lost":
            continue
        document: ParsedFeed | FeedError | None = None
        if outcome == "fetched":
            document = items(*range(newest, max(-1, newest - 10), -1))
        elif outcome == "empty":
            document = items()
        elif outcome == "broken":
            document = FeedError("feed_unparsable")
        sent = {"empty": "fetched", "broken": "fetched"}.get(outcome, outcome)
        result = answered(state, sent, retry_after_ms=retry_after_ms, not_before_ms=now_ms + 1000, etag='"x"')
        state, actions = after_result(state, result, document, now_ms, policy)
        if state.next_poll_ms == NEVER_MS:
            assert state.health == "gone"
            now_ms += DAY_MS
            known = after_source(state, replace(state.source, registered_ms=now_ms), now_ms)
            assert known is not None
            state = known
        wait = state.next_poll_ms - now_ms
        assert 0 <= wait <= DAY_MS
        assert state.next_poll_ms >= at_ms + min(policy.push_floor_ms, policy.floor_ms(tier))
        for request in (action.request for action in actions if isinstance(action, Ask)):
            assert request.url not in asked_for
            asked_for.add(request.url)
        assert load_state(FeedState, dump_state(state)) == state
        assert ask.request.feed_id == state.source.feed_id
