"""The poll operator over fake keyed state: releases, answers, restarts, what is unknown or no record at all."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from fake_flink import Harness

from connectors.objects import Stored
from connectors.settings import Endpoints
from state_schemas.codec import decode_record, encode_record, load_state, pack_text
from state_schemas.fetching import Body, FetchRequest, FetchResult, RawItem
from state_schemas.ids import feed_id
from state_schemas.polling import FeedState
from state_schemas.quarantine import Quarantined
from state_schemas.sources import Origin, PollSignal, Source, Subscription
from state_schemas.topics import FEEDS_FETCHED, SOURCES
from udfs.feeds.document import ReaderPolicy
from udfs.poll.operator import Poll, Route, shard_of
from udfs.poll.policy import PollPolicy

POLICY = PollPolicy()
URL = "https://harbour.example/feed.xml"
FEED = feed_id(URL)
SHARD = shard_of(FEED, POLICY.shards)
SOURCE = Source(feed_id=FEED, url=URL, origin=Origin(publisher="harbour"), tier="authoritative")


def document(*numbers: int) -> bytes:
    items = "".join(
        f"<item><guid>g{n}</guid><title>Item {n}</title><link>https://harbour.example/{n}</link></item>"
        for n in numbers
    )
    return f'<rss version="2.0"><channel><title>Harbour</title>{items}</channel></rss>'.encode()


def answer(request: FetchRequest, body: bytes | None = None, /, **more: object) -> FetchResult:
    given = {
        "request_id": request.request_id,
        "feed_id": request.feed_id,
        "kind": request.kind,
        "url": request.url,
        "outcome": "fetched",
        "status": 200,
        "fetched_ms": 0,
    }
    if body is not None:
        given["body"] = Body(size=len(body), zstd=pack_text(body), content_type="application/rss+xml")
    return FetchResult(**(given | more))  # type: ignore[arg-type]


def make() -> Harness:
    return Harness(lambda: Poll(POLICY, ReaderPolicy(), Endpoints()))


def send(harness: Harness, record: Source | PollSignal | FetchResult) -> list[FetchRequest]:
    tag = {Source: b"s", PollSignal: b"p", FetchResult: b"f"}[type(record)]
    shard = shard_of(record.feed_id, POLICY.shards)
    return requests(harness.send(shard, (shard, tag + encode_record(record))))


def requests(rows: list[object]) -> list[FetchRequest]:
    return [decode_record(FetchRequest, row[1]) for row in rows]  # type: ignore[index]


def quarantine(harness: Harness) -> list[Quarantined]:
    return [decode_record(Quarantined, row[1]) for row in harness.side["quarantine"]]


@pytest.fixture
def harness() -> Harness:
    return make()


def polled(harness: Harness, ms: int = 2_000) -> FetchRequest:
    (request,) = requests(harness.advance(ms))
    assert request.kind == "feed"
    return request


def test_a_registered_feed_is_asked_within_a_tick_and_its_entries_pages_follow(harness: Harness) -> None:
    assert send(harness, SOURCE) == []
    request = polled(harness)
    assert (request.url, request.host, request.feed_id) == (URL, "harbour.example", FEED)
    pages = send(harness, answer(request, document(1, 2), etag='"v1"'))
    assert [page.url for page in pages] == ["https://harbour.example/1", "https://harbour.example/2"]
    assert all(page.kind == "page" and page.found_ms == harness.clock.now_ms and page.entry for page in pages)


def test_the_key_of_a_request_is_its_host(harness: Harness) -> None:
    send(harness, SOURCE)
    (row,) = harness.advance(2_000)
    assert row[0] == b"harbour.example"


def test_validators_come_back_and_only_new_entries_are_asked_for(harness: Harness) -> None:
    send(harness, SOURCE)
    send(harness, answer(polled(harness), document(1, 2), etag='"v1"', last_modified="Mon, 30 Nov 2026 10:00:07 GMT"))
    (again,) = requests(harness.advance(POLICY.ceiling_ms))[:1]
    assert (again.etag, again.last_modified) == ('"v1"', "Mon, 30 Nov 2026 10:00:07 GMT")
    (page,) = send(harness, answer(again, document(3, 1, 2), etag='"v2"'))
    assert page.url == "https://harbour.example/3"


def test_a_restart_goes_on_from_the_checkpoint(harness: Harness) -> None:
    send(harness, SOURCE)
    send(harness, answer(polled(harness), document(1, 2)))
    harness.checkpoint()
    harness.restart(after_ms=POLICY.ceiling_ms)
    (again,) = requests(harness.advance(1_000))
    assert again.kind == "feed"
    (page,) = send(harness, answer(again, document(1, 2, 3)))
    assert page.url == "https://harbour.example/3"


def test_a_restart_without_input_wakes_by_its_restored_timer(harness: Harness) -> None:
    send(harness, SOURCE)
    harness.checkpoint()
    harness.restart()
    assert len(harness.advance(2_000)) == 1


def test_timers_stay_the_next_two_ticks_of_a_shard(harness: Harness) -> None:
    for _ in range(3):
        send(harness, SOURCE)
        harness.checkpoint()
        harness.restart()
        harness.advance(500)
    harness.advance(5_000)
    (first, _), (second, _) = sorted(harness.store.timers)
    assert second - first == POLICY.tick_ms


def test_a_tick_that_a_savepoint_lost_is_made_up_by_the_next(harness: Harness) -> None:
    send(harness, SOURCE)
    harness.checkpoint()
    harness.store.timers.discard(min(harness.store.timers))
    assert len(harness.advance(3_000)) == 1


def test_a_lost_request_is_asked_again(harness: Harness) -> None:
    send(harness, SOURCE)
    polled(harness)
    assert harness.advance(POLICY.lost_ms - 5_000) == []
    assert len(harness.advance(10_000)) == 1
    assert harness.metrics.counts["lost"] == 1


def test_a_removed_feed_is_asked_no_more_and_its_answers_are_dropped(harness: Harness) -> None:
    send(harness, SOURCE)
    request = polled(harness)
    send(harness, Source(feed_id=FEED, url=URL, origin=SOURCE.origin, removed=True))
    assert send(harness, answer(request, document(1))) == []
    assert harness.advance(2 * POLICY.lost_ms) == []
    assert harness.metrics.counts["unknown_feed"] == 1
    harness.checkpoint()
    harness.restart()
    assert harness.advance(2 * POLICY.lost_ms) == []


def test_only_sources_make_rows(harness: Harness) -> None:
    send(harness, PollSignal(feed_id=FEED, signal="ping", signalled_ms=0))
    assert harness.advance(POLICY.ceiling_ms) == []
    assert harness.metrics.counts["unknown_feed"] == 1


def test_a_signal_makes_a_priority_request_and_its_pages_priority(harness: Harness) -> None:
    send(harness, SOURCE)
    send(harness, answer(polled(harness), document(1)))
    send(harness, PollSignal(feed_id=FEED, signal="ping", signalled_ms=harness.clock.now_ms))
    assert harness.advance(POLICY.push_floor_ms + 1_000) == []
    (request,) = requests(harness.side["priority"])
    send(harness, answer(request, document(1, 2)))
    assert [page.url for page in requests(harness.side["priority"])[1:]] == ["https://harbour.example/2"]


def test_a_deferred_page_is_asked_again_after_its_time_even_over_a_restart(harness: Harness) -> None:
    send(harness, SOURCE)
    (page,) = send(harness, answer(polled(harness), document(1)))
    later = harness.clock.now_ms + 120_000
    deferred = answer(page, outcome="deferred", status=0, reason="host_busy", not_before_ms=later, request=page)
    assert send(harness, deferred) == []
    harness.checkpoint()
    harness.restart()
    early = harness.advance(119_000)
    assert all(request.kind == "feed" for request in requests(early))
    again = [request for request in requests(harness.advance(5_000)) if request.kind == "page"]
    assert [(request.url, request.attempt) for request in again] == [(page.url, 1)]
    assert again[0].entry == page.entry
    assert again[0].found_ms == page.found_ms
    assert list(harness.store.maps["held_pages", SHARD]) == []


def test_a_page_deferred_for_too_long_is_served_from_its_entry(harness: Harness) -> None:
    send(harness, SOURCE)
    (page,) = send(harness, answer(polled(harness), document(1)))
    harness.advance(POLICY.page_patience_ms + 1)
    send(harness, answer(page, outcome="deferred", status=0, not_before_ms=harness.clock.now_ms, request=page))
    ((key, value),) = harness.side["items"]
    item = decode_record(RawItem, value)
    assert (item.kind, item.reason, item.url, item.entry) == ("entry", "page_deferred_too_long", page.url, page.entry)
    assert len(key) == 16


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b"<html><body>Sign in</body></html>", "html_not_feed", id="a portal"),
        pytest.param(b'<!DOCTYPE r [<!ENTITY a "b">]><rss><channel/></rss>', "xml_entities", id="a bomb"),
        pytest.param(b"", "feed_empty", id="nothing"),
    ],
)
def test_what_is_no_feed_is_set_aside_and_backs_off(harness: Harness, body: bytes, reason: str) -> None:
    send(harness, SOURCE)
    assert send(harness, answer(polled(harness), body, etag='"portal"')) == []
    again = polled(harness, 3 * POLICY.floor_authoritative_ms)
    assert again.etag == ""
    send(harness, answer(again, body))
    aside, _ = quarantine(harness)
    assert (aside.topic, aside.stage, aside.reason, aside.subject) == ("feeds.fetched", "poll", reason, FEED)
    assert aside.record == body


def test_a_body_above_the_limit_is_never_unpacked(harness: Harness) -> None:
    send(harness, SOURCE)
    big = answer(polled(harness), b"x")
    assert big.body is not None
    send(harness, replace_body(big, Body(size=50 * 1024 * 1024, evidence="00" * 32)))
    assert quarantine(harness)[0].reason == "feed_too_large"


def test_a_large_body_is_read_from_the_object_store(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    body = document(1)
    kept = {f"evidence/{'ab' * 32}": Stored(pack_text(body), "e")}

    class Objects:
        def __init__(self, _: Endpoints) -> None: ...

        async def get(self, key: str) -> Stored | None:
            return kept.get(key)

    monkeypatch.setattr("udfs.poll.operator.S3Objects", Objects)
    send(harness, SOURCE)
    there = replace_body(answer(polled(harness), b"x"), Body(size=len(body), evidence="ab" * 32))
    assert [page.url for page in send(harness, there)] == ["https://harbour.example/1"]
    gone = answer(polled(harness, POLICY.ceiling_ms), b"x")
    send(harness, replace_body(gone, Body(size=len(body), evidence="cd" * 32)))
    assert quarantine(harness)[0].reason == "evidence_missing"


def replace_body(result: FetchResult, body: Body) -> FetchResult:
    from msgspec.structs import replace as replaced

    return replaced(result, body=body)


def test_a_body_equal_to_the_last_is_not_read_again(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    send(harness, SOURCE)
    send(harness, answer(polled(harness), document(1)))
    monkeypatch.setattr("udfs.poll.operator.parse_feed", lambda *_, **__: pytest.fail("read again"))
    assert send(harness, answer(polled(harness, POLICY.ceiling_ms), document(1))) == []


def test_a_fault_of_the_reader_costs_its_feed_alone(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise IndexError("a bug")

    monkeypatch.setattr("udfs.poll.operator.parse_feed", broken)
    send(harness, SOURCE)
    send(harness, answer(polled(harness), document(1)))
    assert quarantine(harness)[0].reason == "feed_reader_failed"


def test_an_undecodable_record_is_set_aside_and_the_job_goes_on(harness: Harness) -> None:
    bad = b'{"feed_id":"%s","outcome":"unheard of"}' % FEED.encode()
    harness.send(SHARD, (SHARD, b"f" + bad))
    assert quarantine(harness)[0].reason == "record_invalid"
    send(harness, SOURCE)
    polled(harness)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        pytest.param(b"\xff{", "record_undecodable", id="no JSON"),
        pytest.param(b'{"url":"x"}', "record_invalid", id="no feed id"),
        pytest.param(b'{"feed_id":"harbour"}', "feed_id_invalid", id="not 16 hex digits"),
        pytest.param(b'{"feed_id":"zzzzzzzzzzzzzzzz"}', "feed_id_invalid", id="no hex"),
    ],
)
def test_route_sets_aside_what_has_no_feed_id(record: bytes, reason: str) -> None:
    route = Harness(lambda: Route(FEEDS_FETCHED, 256))
    assert route.send(None, record) == []
    (row,) = route.side["quarantine"]
    aside = decode_record(Quarantined, row[1])
    assert (row[0], aside.topic, aside.reason, aside.record) == (b"feeds.fetched", "feeds.fetched", reason, record)


def test_route_gives_the_shard_and_the_kind() -> None:
    route = Harness(lambda: Route(SOURCES, 256))
    record = encode_record(SOURCE)
    assert route.send(None, record) == [(SHARD, b"s" + record)]


def test_a_shard_keeps_its_share_of_the_budget_and_authoritative_feeds_go_first() -> None:
    few = replace(POLICY, budget_per_s=256.0, budget_saved_s=1.0)  # one a second and shard
    harness = Harness(lambda: Poll(few, ReaderPolicy(), Endpoints()))
    found = []
    number = 0
    while len(found) < 6:
        url = f"https://press{number}.example/feed"
        number += 1
        if shard_of(feed_id(url), 256) == SHARD:
            tier = "authoritative" if len(found) >= 3 else "tail"
            found.append(Source(feed_id=feed_id(url), url=url, origin=Origin(publisher=url), tier=tier))
    for source in found:
        send(harness, source)
    order = []
    for _ in range(7):
        rows = requests(harness.advance(1_000))
        assert len(rows) <= 1
        order += [row.url for row in rows]
    assert set(order[:3]) == {source.url for source in found[3:]}
    assert set(order[3:]) == {source.url for source in found[:3]}


def test_a_number_that_no_row_holds_is_set_aside_and_the_feed_goes_on(harness: Harness) -> None:
    send(harness, msgspec.structs.replace(SOURCE, registered_ms=10**30))
    assert quarantine(harness)[0].reason == "number_out_of_range"
    send(harness, SOURCE)
    polled(harness)


def test_a_page_handed_back_twice_by_one_answer_is_held_once(harness: Harness) -> None:
    send(harness, SOURCE)
    (page,) = send(harness, answer(polled(harness), document(1)))
    deferred = answer(page, outcome="deferred", status=0, not_before_ms=harness.clock.now_ms + 60_000, request=page)
    send(harness, deferred)
    harness.clock.now_ms += 1
    send(harness, deferred)
    pages = [request for request in requests(harness.advance(90_000)) if request.kind == "page"]
    assert [request.attempt for request in pages] == [1]
    row = load_state(FeedState, harness.store.maps["feeds", SHARD][FEED])
    assert row is not None
    assert row.pending == 0


# ---------------------------------------------------------------- subscriptions, re-checks, the clock

PUSHED = Endpoints(push_public="https://push.broadsheet.example")
WITH_HUB = document(1).replace(
    b"<title>Harbour</title>",
    b'<title>Harbour</title><atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="hub" href="https://hub.example/"/>',
)


def subscriptions(harness: Harness) -> list[Subscription]:
    return [decode_record(Subscription, row[1]) for row in harness.side["subscriptions"]]


def test_a_subscription_lives_through_a_restart_and_ends_with_its_feed() -> None:
    harness = Harness(lambda: Poll(POLICY, ReaderPolicy(), PUSHED))
    send(harness, SOURCE)
    send(harness, answer(polled(harness), WITH_HUB))
    (wanted,) = subscriptions(harness)
    assert (wanted.state, wanted.hub, wanted.topic, wanted.feed_id) == ("pending", "https://hub.example/", URL, FEED)
    assert len(set(wanted.callback_token)) > 4
    harness.checkpoint()
    harness.restart()
    (asked,) = [each for each in requests(harness.advance(POLICY.subscribe_after_ms + 1_000)) if each.kind == "hub"]
    assert (asked.url, asked.host) == ("https://hub.example/", "hub.example")
    assert asked.form["hub.callback"] == f"https://push.broadsheet.example/websub/{wanted.callback_token}"
    assert asked.form["hub.secret"] == wanted.secret
    assert send(harness, answer(asked, status=202)) == []
    now_ms = harness.clock.now_ms
    lease = PollSignal(
        feed_id=FEED, signal="lease", signalled_ms=now_ms, token=wanted.callback_token, until_ms=now_ms + 10**9
    )
    send(harness, lease)
    assert subscriptions(harness)[-1].state == "verified"
    links = ("https://harbour.example/9",)
    send(
        harness,
        PollSignal(feed_id=FEED, signal="websub", signalled_ms=now_ms, token=wanted.callback_token, links=links),
    )
    assert [each.url for each in requests(harness.side["priority"])] == ["https://harbour.example/9"]
    (left,) = send(harness, msgspec.structs.replace(SOURCE, removed=True))
    assert (left.kind, left.form["hub.mode"]) == ("hub", "unsubscribe")
    assert subscriptions(harness)[-1].state == "unsubscribed"


def test_two_feeds_never_share_a_token() -> None:
    tokens = set()
    for _ in range(3):
        harness = Harness(lambda: Poll(POLICY, ReaderPolicy(), PUSHED))
        send(harness, SOURCE)
        send(harness, answer(polled(harness), WITH_HUB))
        tokens.add(subscriptions(harness)[0].callback_token)
    assert len(tokens) == 3


def test_a_recheck_asks_for_its_pages(harness: Harness) -> None:
    send(harness, SOURCE)
    links = ("https://harbour.example/1", "https://harbour.example/2")
    pages = send(harness, PollSignal(feed_id=FEED, signal="recheck", signalled_ms=0, links=links))
    assert [(page.url, page.recheck, page.kind) for page in pages] == [(link, True, "page") for link in links]


def test_what_a_feed_withdraws_goes_to_the_items(harness: Harness) -> None:
    send(harness, SOURCE)
    send(harness, answer(polled(harness), document(1, 2)))
    withdrawn = document(2).replace(
        b"</channel>",
        b'<at:deleted-entry xmlns:at="http://purl.org/atompub/tombstones/1.0" ref="g1" when="2026-11-30T10:00:00Z">'
        b'<link href="https://harbour.example/1"/></at:deleted-entry></channel>',
    )
    send(harness, answer(polled(harness, POLICY.ceiling_ms), withdrawn))
    ((_, value),) = harness.side["items"]
    item = decode_record(RawItem, value)
    assert (item.kind, item.url, item.reason) == ("retraction", "https://harbour.example/1", "deleted_entry")


def test_a_section_front_is_read_as_one(harness: Harness) -> None:
    send(harness, msgspec.structs.replace(SOURCE, kind="front"))
    front = b"""<html lang="en"><body><main><article><h2><a href="/2026/11/30/ferry-runs-again-after-storm">Ferry runs
        again after the storm</a></h2></article></main></body></html>"""
    (page,) = send(harness, answer(polled(harness), front))
    assert page.url == "https://harbour.example/2026/11/30/ferry-runs-again-after-storm"


def test_a_clock_that_leapt_and_came_back_leaves_no_feed_waiting(harness: Harness) -> None:
    send(harness, SOURCE)
    send(harness, answer(polled(harness), document(1)))
    years = 10 * 365 * 86_400_000
    harness.clock.now_ms += years
    assert len(harness.advance(2_000)) == 1
    harness.checkpoint()
    harness.restart()
    harness.clock.now_ms -= years
    harness.store.timers.clear()
    send(harness, SOURCE)
    assert len(harness.advance(POLICY.ceiling_ms + 2_000)) == 1
