"""What the line is told of each way a request can end."""

from __future__ import annotations

import msgspec
import pytest

from connectors.http import HttpError, HttpFailedError, HttpRefusedError, Response
from services.fetcher.answers import (
    SET_ASIDE,
    Got,
    Unsent,
    feed_result,
    host_verdict,
    hub_result,
    is_html,
    page_answer,
    retractions,
    set_aside_reason,
)
from services.fetcher.floors import Floors
from services.fetcher.gate import Throttled
from services.fetcher.hosts import DeferredError
from services.fetcher.policy import FetchPolicy
from state_schemas.codec import encode_record
from state_schemas.fetching import Body, Entry, FetchRequest, FetchResult, RawItem
from state_schemas.sources import Origin

NOW = 1_796_000_000_000
POLICY = FetchPolicy()
BODY = Body(size=6, zstd=b"packed", content_type="text/html")
URL = "https://news.example/x"


def request(kind: str, **more: object) -> FetchRequest:
    fields = {"entry": Entry(identity="e1", title="Ferry"), "found_ms": 5} if kind == "page" else {}
    return FetchRequest(
        request_id="r1",
        kind=kind,  # type: ignore[arg-type]
        url=URL,
        host="news.example",
        feed_id="f1",
        origin=Origin(publisher="p1"),
        requested_ms=1,
        **{**fields, **more},  # type: ignore[arg-type]
    )


def response(status: int, *, moved: bool = False, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(URL, "https://news.example/final", status, named, b"<html>" * (status == 200), moved, 12)


@pytest.mark.parametrize(
    ("got", "body", "outcome", "reason"),
    [
        (response(200), BODY, "fetched", ""),
        (response(203), BODY, "fetched", ""),
        (response(200), None, "failed", "body_empty"),
        (response(204), None, "failed", "body_empty"),
        (response(304), None, "not_modified", ""),
        (response(404), None, "failed", "status_404"),
        (response(410), None, "gone", "gone"),
        (response(302), None, "failed", "status_302"),
        (response(503), None, "failed", "status_503"),
        (HttpFailedError("timed_out"), None, "failed", "timed_out"),
        (HttpFailedError("body_too_large"), None, "failed", "body_too_large"),
        (HttpRefusedError("private_address"), None, "refused", "private_address"),
        (HttpRefusedError("within_floor"), None, "refused", "within_floor"),
        (HttpRefusedError("robots_unreachable"), None, "refused", "robots_unreachable"),
        (DeferredError("retry_after", NOW + 9), None, "deferred", "retry_after"),
    ],
)
def test_the_end_of_a_feed_request(got: Got, body: Body | None, outcome: str, reason: str) -> None:
    result = feed_result(request("feed"), got, body, NOW)
    assert (result.outcome, result.reason, result.kind, result.feed_id) == (outcome, reason, "feed", "f1")
    assert (result.body is not None) is (outcome == "fetched")
    assert result.not_before_ms == (NOW + 9 if outcome == "deferred" else 0)


def test_a_fetched_feed_carries_what_scheduling_needs() -> None:
    got = response(
        200,
        moved=True,
        etag='"v2"',
        last_modified="Mon, 30 Nov 2026 10:00:07 GMT",
        date="Mon, 30 Nov 2026 10:05:12 GMT",
        cache_control="public, max-age=360",
        age="60",
        retry_after="60",
        link='<https://hub.example/>; rel="hub"',
    )
    result = feed_result(request("feed"), got, BODY, NOW)
    assert result == FetchResult(
        request_id="r1",
        feed_id="f1",
        kind="feed",
        url=URL,
        outcome="fetched",
        fetched_ms=NOW,
        status=200,
        final_url="https://news.example/final",
        moved_to="https://news.example/final",
        etag='"v2"',
        last_modified="Mon, 30 Nov 2026 10:00:07 GMT",
        date_ms=1_796_033_112_000,
        retry_after_ms=60_000,
        max_age_ms=300_000,
        link_header='<https://hub.example/>; rel="hub"',
        body=BODY,
        elapsed_ms=12,
    )


def test_an_unchanged_feed_says_anew_how_long_it_is_fresh() -> None:
    result = feed_result(request("feed"), response(304, cache_control="max-age=120"), None, NOW)
    assert (result.outcome, result.max_age_ms) == ("not_modified", 120_000)


@pytest.mark.parametrize(
    ("got", "html", "kind", "reason"),
    [
        (response(200), True, "page", ""),
        (response(200), False, "entry", "not_html"),
        (response(204), False, "entry", "body_empty"),
        (response(404), False, "entry", "status_404"),
        (response(403), False, "entry", "status_403"),
        (response(500), False, "entry", "status_500"),
        (response(410), False, "retraction", "gone"),
        (HttpFailedError("timed_out"), False, "entry", "timed_out"),
        (HttpFailedError("decompression_bomb"), False, "entry", "decompression_bomb"),
        (HttpRefusedError("robots_disallowed"), False, "entry", "robots_disallowed"),
        (HttpRefusedError("private_address"), False, "entry", "private_address"),
    ],
)
def test_the_end_of_a_page_request(got: Got, html: bool, kind: str, reason: str) -> None:
    body = BODY if isinstance(got, Response) and got.status == 200 else None
    item = page_answer(request("page"), got, body, NOW, POLICY, html=html)
    assert isinstance(item, RawItem)
    assert (item.kind, item.reason, item.url, item.found_ms) == (kind, reason, URL, 5)
    assert item.entry is not None
    assert (item.body is not None) is (kind == "page")


def test_a_page_keeps_the_headers_that_parsing_needs_and_no_others() -> None:
    got = response(
        200, content_type="text/html; charset=utf-8", x_robots_tag="noindex", set_cookie="id=1", link="x" * 9_000
    )
    item = page_answer(request("page"), got, BODY, NOW, POLICY, html=True)
    assert isinstance(item, RawItem)
    assert set(item.headers) == {"content-type", "x-robots-tag", "link"}
    assert len(item.headers["link"]) == 8_192


@pytest.mark.parametrize(
    ("got", "attempt", "until_ms"),
    [
        (DeferredError("host_busy", NOW + 40_000), 9, NOW + 40_000),
        (HttpRefusedError("robots_unreachable"), 9, NOW + 60_000),
        (response(503, retry_after="120"), 0, NOW + 120_000),
        (response(429), 1, NOW + 30_000),
    ],
)
def test_a_page_that_must_come_again_is_handed_back_whole(got: Got, attempt: int, until_ms: int) -> None:
    asked = request("page", attempt=attempt)
    answer = page_answer(asked, got, None, NOW, POLICY, html=False)
    assert isinstance(answer, FetchResult)
    assert (answer.outcome, answer.kind, answer.not_before_ms, answer.request) == ("deferred", "page", until_ms, asked)


def test_after_enough_attempts_the_entry_serves() -> None:
    answer = page_answer(request("page", attempt=2), response(503, retry_after="120"), None, NOW, POLICY, html=False)
    assert isinstance(answer, RawItem)
    assert (answer.kind, answer.reason) == ("entry", "status_503")


def recheck(**more: object) -> FetchRequest:
    return request("page", recheck=True, **more)


def test_a_page_that_is_as_it_was_is_told_to_nobody() -> None:
    unmodified = page_answer(recheck(), response(304), None, NOW, POLICY, html=False, conditional=True)
    assert unmodified == Unsent("not_modified", "")
    same = page_answer(recheck(), response(200), BODY, NOW, POLICY, html=True, known=True)
    assert same == Unsent("not_modified", "body_known")


@pytest.mark.parametrize("again", [False, True])
def test_a_304_that_nobody_asked_for_leaves_the_entry(again: bool) -> None:
    item = page_answer(request("page", recheck=again), response(304), None, NOW, POLICY, html=False)
    assert isinstance(item, RawItem)
    assert (item.kind, item.reason) == ("entry", "status_304")


def test_a_page_that_changed_says_that_it_was_checked_again() -> None:
    item = page_answer(recheck(entry=None), response(200), BODY, NOW, POLICY, html=True)
    assert isinstance(item, RawItem)
    assert (item.kind, item.recheck, item.entry) == ("page", True, None)


@pytest.mark.parametrize(
    ("got", "outcome", "reason"),
    [
        (response(500), "failed", "status_500"),
        (response(403), "failed", "status_403"),
        (response(204), "failed", "body_empty"),
        (response(200), "failed", "not_html"),
        (response(304), "failed", "status_304"),
        (HttpFailedError("timed_out"), "failed", "timed_out"),
        (HttpRefusedError("robots_disallowed"), "refused", "robots_disallowed"),
    ],
)
def test_a_re_check_that_fails_without_an_entry_leaves_the_article_alone(got: Got, outcome: str, reason: str) -> None:
    body = BODY if isinstance(got, Response) and got.status == 200 else None
    asked = recheck(entry=None)
    assert page_answer(asked, got, body, NOW, POLICY, html=False) == Unsent(outcome, reason)  # type: ignore[arg-type]
    item = page_answer(recheck(), got, body, NOW, POLICY, html=False)
    assert isinstance(item, RawItem)
    assert (item.kind, item.reason) == ("entry", reason)


@pytest.mark.parametrize("entry", [None, Entry(identity="e1", title="Ferry")])
def test_a_known_page_is_retracted_by_its_second_404(entry: Entry | None) -> None:
    asked = recheck(entry=entry)
    first = page_answer(asked, response(404), None, NOW, POLICY, html=False)
    assert isinstance(first, FetchResult)
    assert (first.outcome, first.reason, first.not_before_ms) == ("deferred", "status_404", NOW + 600_000)
    assert first.request is not None
    assert first.request == msgspec.structs.replace(asked, missing_ms=NOW)
    # Deferred for another reason, or delivered twice: it is still the first.
    again = page_answer(first.request, response(404), None, NOW + 1_000, POLICY, html=False)
    assert isinstance(again, FetchResult)
    assert (again.not_before_ms, again.request) == (NOW + 600_000, first.request)
    second = page_answer(first.request, response(404), None, NOW + 600_000, POLICY, html=False)
    assert isinstance(second, RawItem)
    assert (second.kind, second.reason, second.status, second.body) == ("retraction", "status_404", 404, None)


def test_a_page_that_is_back_after_a_404_was_never_gone() -> None:
    asked = recheck(missing_ms=NOW - 600_000)
    assert page_answer(asked, response(304), None, NOW, POLICY, html=False, conditional=True) == Unsent(
        "not_modified", ""
    )


@pytest.mark.parametrize("again", [False, True])
def test_a_410_retracts_at_once(again: bool) -> None:
    item = page_answer(request("page", recheck=again), response(410), None, NOW, POLICY, html=False)
    assert isinstance(item, RawItem)
    assert (item.kind, item.reason) == ("retraction", "gone")


def test_a_retraction_names_the_address_asked_for_and_the_one_it_led_to() -> None:
    item = page_answer(request("page"), response(410), None, NOW, POLICY, html=False)
    assert isinstance(item, RawItem)
    both = retractions(item)
    assert [(one.url, one.final_url) for one in both] == [(URL, "https://news.example/final"), (URL, URL)]
    assert retractions(both[1]) == (both[1],)


@pytest.mark.parametrize(
    ("got", "verdict"),
    [
        (response(200), "answered"),
        (response(404), "answered"),
        (response(500), "failed"),
        (response(503, retry_after="30"), Throttled(30_000)),
        (response(503), "failed"),
        (response(429), Throttled(None)),
        (HttpFailedError("timed_out"), "failed"),
        (HttpFailedError("dns_failed"), "failed"),
        (HttpFailedError("body_too_large"), "answered"),
        (HttpRefusedError("robots_disallowed"), "answered"),
        (DeferredError("host_busy", NOW), "unasked"),
    ],
)
def test_what_an_end_says_of_the_host(got: Got, verdict: object) -> None:
    assert host_verdict(got, NOW) == verdict


@pytest.mark.parametrize(
    ("content_type", "body", "is_page"),
    [
        ("text/html; charset=utf-8", b"", True),
        ("Text/HTML", b"anything", True),
        ("application/xhtml+xml", b"", True),
        ("", b"\n <!DOCTYPE html><title>x", True),
        ("text/plain", b"<html lang=de>", True),
        ("text/plain", b"Plain words about <html tags", False),
        ("application/pdf", b"%PDF-1.7 <html>", False),
        ("image/jpeg", b"\xff\xd8", False),
        ("", b"{}", False),
        ("application/xml", b"<rss><channel/></rss>", False),
    ],
)
def test_what_is_a_page(content_type: str, body: bytes, is_page: bool) -> None:
    assert is_html(content_type, body) is is_page


def test_only_the_hostile_and_broken_are_set_aside() -> None:
    assert all(set_aside_reason(HttpFailedError(reason)) == reason for reason in SET_ASIDE)
    ordinary: list[Got] = [
        response(404),
        HttpFailedError("timed_out"),
        HttpRefusedError("robots_disallowed"),
        HttpRefusedError("within_floor"),
        DeferredError("host_busy", NOW),
    ]
    assert [set_aside_reason(got) for got in ordinary] == [""] * len(ordinary)


def test_any_text_of_an_error_can_stand_in_a_record() -> None:
    error: HttpError = HttpFailedError("connection_lost", "bad \udcff byte")
    encode_record(feed_result(request("feed"), error, None, NOW))
    item = page_answer(request("page"), error, None, NOW, POLICY, html=False)
    assert isinstance(item, RawItem)
    encode_record(item)


def test_floors() -> None:
    floors = Floors(2)
    assert floors.wait_ms("f1", 60_000, NOW) == 0
    floors.asked("f1", NOW)
    assert floors.wait_ms("f1", 60_000, NOW + 20_000) == 40_000
    assert floors.wait_ms("f1", 10_000, NOW + 20_000) == 0
    floors.asked("f2", NOW)
    floors.asked("f3", NOW)
    assert floors.wait_ms("f1", 60_000, NOW) == 0, "the oldest is forgotten"
    floors.forget("f3")
    assert floors.wait_ms("f3", 60_000, NOW) == 0


@pytest.mark.parametrize(
    ("got", "outcome", "reason", "status"),
    [
        (response(202), "fetched", "", 202),
        (response(204), "fetched", "", 204),
        (response(410), "gone", "gone", 410),
        (response(301), "failed", "hub_redirected", 301),
        (response(302), "failed", "hub_redirected", 302),
        (response(303), "failed", "hub_redirected", 303),
        (response(307), "failed", "hub_redirected", 307),  # without a Location there is nowhere to follow it to
        (response(304), "failed", "status_304", 304),
        (response(400), "failed", "status_400", 400),
        (response(429, retry_after="60"), "failed", "status_429", 429),
        (response(503), "failed", "status_503", 503),
        (HttpFailedError("timed_out"), "failed", "timed_out", 0),
        (HttpRefusedError("private_address"), "refused", "private_address", 0),
        (HttpRefusedError("form_missing"), "refused", "form_missing", 0),
        (DeferredError("host_busy", NOW + 9), "deferred", "host_busy", 0),
    ],
)
def test_the_end_of_a_request_to_a_hub(got: Got, outcome: str, reason: str, status: int) -> None:
    asked = request("hub", form={"hub.mode": "subscribe", "hub.secret": "not to be told"})
    result = hub_result(asked, got, NOW)
    assert (result.kind, result.outcome, result.reason, result.status) == ("hub", outcome, reason, status)
    assert (result.body, result.request, result.feed_id) == (None, None, "f1")
    assert b"not to be told" not in encode_record(result)
    assert result.retry_after_ms == (60_000 if status == 429 else None)
    assert result.not_before_ms == (NOW + 9 if outcome == "deferred" else 0)
