"""The desk: each request ends in one answer and one finished offset, whatever happens to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from connectors.http import HttpFailedError, HttpRefusedError, Response
from connectors.kafka import Message
from connectors.room import RoomPolicy, Rooms
from services.fetcher import outlet as outlet_module
from services.fetcher import service as service_module
from services.fetcher.answers import Got
from services.fetcher.fetching import Held
from services.fetcher.hosts import DeferredError
from services.fetcher.metrics import Metrics
from services.fetcher.offsets import Ticket
from services.fetcher.outlet import Outlet
from services.fetcher.policy import FetchPolicy
from services.fetcher.service import Desk
from state_schemas.codec import decode_record, encode_record, unpack_bytes
from state_schemas.fetching import Entry, FetchRequest, FetchResult, RawItem
from state_schemas.quarantine import Quarantined
from state_schemas.sources import Origin
from state_schemas.topics import FEEDS_FETCHED, FETCH_REQUESTS, FETCH_REQUESTS_PRIORITY, ITEMS_RAW, QUARANTINE
from tests.contracts.memory_kafka import MemoryKafka, TellingKafka
from tests.contracts.memory_objects import MemoryObjects

NOW = 1_796_000_000_000
URL = "http://news.example/x"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlet_module, "_RETRY_S", (0.001,))


def request(kind: str, *, recheck: bool = False) -> FetchRequest:
    return FetchRequest(
        request_id="r1",
        kind=kind,  # type: ignore[arg-type]
        url=URL,
        host="news.example",
        feed_id="f1",
        origin=Origin(publisher="p1"),
        requested_ms=1,
        entry=Entry(identity="e1", title="Ferry") if kind == "page" else None,
        recheck=recheck,
    )


class Hosts:
    gentle = 0

    def start_gently(self) -> None:
        self.gentle += 1


class Asked:
    """Stands for Fetching: each request ends as told, or never."""

    def __init__(self, end: Got | BaseException | None) -> None:
        self.end = end
        self.urgent: list[bool] = []
        self.requests: list[FetchRequest] = []
        self.hosts = Hosts()
        self.given_up = 0

    def holding(self) -> Held:
        return Held(self.hosts, Rooms(RoomPolicy()).holding())  # type: ignore[arg-type]

    async def end_of(self, request: FetchRequest, held: Held, *, urgent: bool) -> Got:
        self.urgent.append(urgent)
        self.requests.append(request)
        if self.end is None:
            try:
                await asyncio.Event().wait()
            finally:
                self.given_up += 1
        if isinstance(self.end, BaseException) and not isinstance(
            self.end, HttpFailedError | HttpRefusedError | DeferredError
        ):
            raise self.end
        assert self.end is not None
        return self.end


class Office:
    """A desk with fakes around it."""

    def __init__(self, end: Got | BaseException | None) -> None:
        self.asked = Asked(end)
        self.kafka = MemoryKafka()
        self.finished: list[int] = []
        self.failed: list[str] = []

    def desk(self) -> Desk:
        return Desk(
            self.asked,  # type: ignore[arg-type]
            Outlet(TellingKafka(self.kafka), MemoryObjects()),
            FetchPolicy(),
            Metrics(),
            finish=lambda ticket: self.finished.append(ticket.offset),
            failed=self.failed.append,
            utc_ms=lambda: NOW,
        )

    def work(self, value: bytes, topic: str = FETCH_REQUESTS.name) -> None:
        async def main() -> None:
            desk = self.desk()
            desk.accept([(Message(3, 17, NOW, "news.example", value, topic), Ticket((topic, 3), 17, 0))])
            await desk.drain(5)
            assert (desk.ended, desk.ended_bytes) == (1, len(value))

        asyncio.run(main())

    def read(self, topic: Any, kind: Callable[..., Any]) -> list[Any]:
        return [decode_record(kind, message.value) for message in self.kafka.read_all(topic)]  # type: ignore[arg-type]


def test_a_feed_goes_to_feeds_fetched() -> None:
    office = Office(Response(URL, URL, 200, {"content-type": "text/xml"}, b"<rss/>"))
    office.work(encode_record(request("feed")))
    (result,) = office.read(FEEDS_FETCHED, FetchResult)
    assert (result.outcome, unpack_bytes(result.body.zstd)) == ("fetched", b"<rss/>")
    assert office.finished == [17]
    assert office.asked.urgent == [False]


def test_a_page_goes_to_items_raw_and_the_priority_topic_is_urgent() -> None:
    office = Office(Response(URL, URL, 200, {"content-type": "text/html"}, b"<html>x"))
    office.work(encode_record(request("page")), FETCH_REQUESTS_PRIORITY.name)
    (item,) = office.read(ITEMS_RAW, RawItem)
    assert (item.kind, unpack_bytes(item.body.zstd)) == ("page", b"<html>x")
    assert office.asked.urgent == [True]
    assert office.finished == [17]


def test_what_is_no_page_leaves_its_entry() -> None:
    office = Office(Response(URL, URL, 200, {"content-type": "application/pdf"}, b"%PDF"))
    office.work(encode_record(request("page")))
    (item,) = office.read(ITEMS_RAW, RawItem)
    assert (item.kind, item.reason, item.body, item.detail) == ("entry", "not_html", None, "application/pdf")


def test_a_deferred_page_is_handed_back() -> None:
    office = Office(DeferredError("host_busy", NOW + 31_000))
    office.work(encode_record(request("page")))
    (result,) = office.read(FEEDS_FETCHED, FetchResult)
    assert (result.outcome, result.kind, result.not_before_ms) == ("deferred", "page", NOW + 31_000)
    assert result.request == request("page")
    assert office.read(ITEMS_RAW, RawItem) == []


@pytest.mark.parametrize("kind", ["feed", "page"])
def test_the_hostile_is_answered_and_set_aside(kind: str) -> None:
    office = Office(HttpRefusedError("private_address", "news.example has the address 10.0.0.8"))
    office.work(encode_record(request(kind)))
    (aside,) = office.read(QUARANTINE, Quarantined)
    assert (aside.stage, aside.reason, aside.subject, aside.publisher) == ("fetcher", "private_address", URL, "p1")
    answers = office.read(FEEDS_FETCHED, FetchResult) + office.read(ITEMS_RAW, RawItem)
    assert [answer.reason for answer in answers] == ["private_address"]
    assert office.finished == [17]


@pytest.mark.parametrize(
    ("value", "reason"), [(b"junk", "record_undecodable"), (b"{}", "record_invalid"), (b"", "record_undecodable")]
)
def test_what_is_no_request_is_set_aside_and_finished(value: bytes, reason: str) -> None:
    office = Office(None)
    office.work(value)
    (aside,) = office.read(QUARANTINE, Quarantined)
    assert (aside.topic, aside.reason, aside.record) == (FETCH_REQUESTS.name, reason, value)
    assert office.finished == [17]


def test_our_own_bug_is_answered_too() -> None:
    office = Office(KeyError("oops"))
    office.work(encode_record(request("page")))
    (item,) = office.read(ITEMS_RAW, RawItem)
    assert (item.kind, item.reason) == ("entry", "fetcher_fault")
    assert [aside.reason for aside in office.read(QUARANTINE, Quarantined)] == ["fetcher_fault"]
    assert office.finished == [17]


def test_an_offset_is_finished_only_when_the_broker_has_the_answer() -> None:
    office = Office(HttpFailedError("timed_out"))
    office.kafka.away = True

    async def main() -> None:
        desk = office.desk()
        value = encode_record(request("feed"))
        place = (FETCH_REQUESTS.name, 0)
        desk.accept([(Message(0, 1, NOW, "news.example", value, FETCH_REQUESTS.name), Ticket(place, 1, 0))])
        await asyncio.sleep(0.005)
        assert office.finished == []
        office.kafka.away = False
        await desk.drain(5)

    asyncio.run(main())
    assert office.finished == [1]


def test_a_broken_producer_ends_the_process_and_finishes_nothing() -> None:
    office = Office(HttpFailedError("timed_out"))
    office.kafka.away = True
    office.work(encode_record(request("feed")))
    assert office.finished == []
    assert len(office.failed) == 1


def test_what_is_given_up_is_neither_answered_nor_finished() -> None:
    office = Office(None)

    async def main() -> None:
        desk = office.desk()
        value = encode_record(request("feed"))
        for partition in (0, 1):
            place = (FETCH_REQUESTS.name, partition)
            desk.accept([(Message(partition, 1, NOW, "h", value, FETCH_REQUESTS.name), Ticket(place, 1, 0))])
        await asyncio.sleep(0)
        await desk.hand_over({(FETCH_REQUESTS.name, 0)})
        assert office.asked.hosts.gentle == 1
        assert office.asked.given_up == 1
        await desk.drain(0)
        assert office.asked.given_up == 2

    asyncio.run(main())
    assert office.finished == []
    assert office.read(FEEDS_FETCHED, FetchResult) == []


def test_an_answer_that_cannot_be_made_is_set_aside_and_its_offset_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")

    monkeypatch.setattr(service_module, "feed_result", fails)
    office = Office(Response(URL, URL, 200, {}, b"<rss/>"))
    office.work(encode_record(request("feed")))
    assert office.finished == [17]
    assert office.failed == []
    (aside,) = office.read(QUARANTINE, Quarantined)
    assert (aside.reason, aside.subject) == ("fetcher_fault", URL)


PAGE = Response(URL, URL, 200, {"content-type": "text/html", "etag": '"v1"'}, b"<html>x")


class Rechecks:
    """One desk that is asked for one page again and again, each time with another end."""

    def __init__(self) -> None:
        self.office = Office(None)

    def run(self, *ends: Got, hand_over: bool = False) -> list[tuple[str, str]]:
        """The validators of each request, and what its answer became; the first is no re-check."""

        async def main() -> list[tuple[str, str]]:
            desk = self.office.desk()
            found: list[tuple[str, str]] = []
            for number, end in enumerate(ends):
                self.office.asked.end = end
                value = encode_record(request("page", recheck=number > 0))
                topic = FETCH_REQUESTS.name
                message = Message(3, number, NOW, "news.example", value, topic)
                desk.accept([(message, Ticket((topic, 3), number, 0))])
                before = len(self.items())
                await desk.drain(5)
                sent = self.items()[before:]
                found.append((self.office.asked.requests[-1].etag, sent[0].kind if sent else ""))
                if hand_over:
                    await desk.hand_over({(topic, 3)})
            return found

        found = asyncio.run(main())
        assert self.office.finished == list(range(len(ends))), "each request's offset is finished, told or not"
        return found

    def items(self) -> list[RawItem]:
        return self.office.read(ITEMS_RAW, RawItem)


def test_a_re_check_carries_validators_and_sends_only_news() -> None:
    changed = Response(URL, URL, 200, {"content-type": "text/html", "etag": '"v2"'}, b"<html>y")
    unmodified = Response(URL, URL, 304, {})
    rechecks = Rechecks()
    assert rechecks.run(PAGE, unmodified, PAGE, changed, unmodified) == [
        ("", "page"),
        ('"v1"', ""),
        ('"v1"', ""),
        ('"v1"', "page"),
        ('"v2"', ""),
    ]
    assert [item.recheck for item in rechecks.items()] == [False, True]
    assert rechecks.office.read(FEEDS_FETCHED, FetchResult) == []


def test_a_page_that_comes_back_after_its_retraction_is_sent_although_it_is_as_it_was() -> None:
    found = Rechecks().run(PAGE, Response(URL, URL, 410, {}), PAGE, PAGE)
    assert found == [("", "page"), ('"v1"', "retraction"), ("", "page"), ('"v1"', "")]


def test_when_hosts_leave_their_pages_are_forgotten() -> None:
    assert Rechecks().run(PAGE, PAGE, hand_over=True) == [("", "page"), ("", "page")]


def test_a_missing_page_is_handed_back_and_remembered() -> None:
    rechecks = Rechecks()
    assert rechecks.run(PAGE, Response(URL, URL, 404, {}), PAGE) == [("", "page"), ('"v1"', ""), ('"v1"', "")]
    (result,) = rechecks.office.read(FEEDS_FETCHED, FetchResult)
    assert (result.outcome, result.reason, result.request.missing_ms) == ("deferred", "status_404", NOW)


def test_a_retraction_that_was_redirected_goes_out_under_both_addresses() -> None:
    office = Office(Response(URL, "http://news.example/notice", 410, {}))
    office.work(encode_record(request("page")))
    items = office.read(ITEMS_RAW, RawItem)
    assert [(item.kind, item.final_url) for item in items] == [
        ("retraction", "http://news.example/notice"),
        ("retraction", URL),
    ]


SECRET, TOKEN = "5f1e3d7c9b2a4860d1f2", "c0ffee00c0ffee00c0ffee00c0ffee00"


def hub() -> FetchRequest:
    form = {"hub.mode": "subscribe", "hub.secret": SECRET, "hub.callback": f"https://reader.example/websub/{TOKEN}"}
    return replace(request("hub"), form=form)


def test_a_hub_s_answer_goes_to_feeds_fetched_without_a_body() -> None:
    office = Office(Response(URL, URL, 202, {}))
    office.work(encode_record(hub()))
    (message,) = office.kafka.read_all(FEEDS_FETCHED)
    result = decode_record(FetchResult, message.value)
    assert (message.key, result.kind, result.outcome, result.status, result.body) == ("f1", "hub", "fetched", 202, None)
    assert office.finished == [17]
    assert office.read(QUARANTINE, Quarantined) == []


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (HttpRefusedError("private_address", f"http://10.0.0.8/?was={SECRET}"), "private_address"),
        (HttpFailedError("response_malformed", f"Bad status line {SECRET}"), "response_malformed"),
        (KeyError(SECRET), "fetcher_fault"),
    ],
)
def test_a_hub_s_secret_is_told_to_nobody(
    end: Got | BaseException, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    office = Office(end)
    office.work(encode_record(hub()))
    (aside,) = office.read(QUARANTINE, Quarantined)
    assert (aside.reason, aside.subject) == (reason, URL)
    assert decode_record(FetchRequest, aside.record).form == {}
    (result,) = office.read(FEEDS_FETCHED, FetchResult)
    assert result.reason == reason
    told = [message.value for topic in (FEEDS_FETCHED, QUARANTINE) for message in office.kafka.read_all(topic)]
    told.append(capsys.readouterr().out.encode())
    for word in (SECRET, TOKEN):
        assert not any(word.encode() in each for each in told)


def test_a_hub_s_request_that_cannot_be_read_is_set_aside_without_its_bytes() -> None:
    office = Office(None)
    office.work(encode_record(hub())[:-1])
    (aside,) = office.read(QUARANTINE, Quarantined)
    assert (aside.reason, aside.record) == ("record_undecodable", b"")
    assert office.finished == [17]
