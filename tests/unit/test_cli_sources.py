"""`broadsheet sources` and `quarantine` against Kafka in memory: what is sent, what is shown, one line for each fault."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import cli.main
from connectors.flink import Job
from connectors.kafka import BrokerUnreachableError, Message
from state_schemas.codec import decode_record, encode_record
from state_schemas.fetching import FetchRequest, FetchResult
from state_schemas.ids import feed_id
from state_schemas.quarantine import quarantined
from state_schemas.sources import Origin, Source
from state_schemas.topics import FEEDS_FETCHED, FETCH_REQUESTS, QUARANTINE, SOURCES, Topic

HEADER = "feed_url,publisher_id,publisher_name,country,language,category,authority,owner\n"
GOOD = "https://harbour.example/feed.xml,harbour,Harbour Post,NZ,en,world,0.8,Bay Media\n"
TAIL = "https://quay.example/feed.xml,quay,,,,,,\n"


class Topics:
    """All topics of a broker, as lists of (key, value)."""

    def __init__(self) -> None:
        self.records: defaultdict[str, list[tuple[str, bytes]]] = defaultdict(list)

    def sources(self) -> list[Source]:
        return [decode_record(Source, value) for _, value in self.records[SOURCES.name]]


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Topics:
    kept = Topics()
    monkeypatch.setenv("BROADSHEET_FLINK_REST", "http://127.0.0.1:1")

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

    for name in ("BROADSHEET_GATEWAY", "BROADSHEET_KAFKA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("cli.sources.Producer", Producer)
    monkeypatch.setattr("cli.sources.read_all", read_all)
    monkeypatch.setattr("cli.quarantine.read_all", read_all)
    return kept


def run(*arguments: str, text: str = "") -> Result:
    return CliRunner().invoke(cli.main.broadsheet, list(arguments), input=text, catch_exceptions=False)


def imported(text: str, *options: str) -> Result:
    return run("sources", "import", "-", *options, text=text)


# ---------------------------------------------------------------- add and import


def test_add_registers_under_the_feed_id(topics: Topics) -> None:
    done = run("sources", "add", "https://harbour.example/feed.xml", "--authority", "0.6", "--language", "EN")
    assert done.exit_code == 0, done.output
    ((key, value),) = topics.records["sources"]
    source = decode_record(Source, value)
    assert key == source.feed_id == feed_id("https://harbour.example/feed.xml")
    assert source.tier == "authoritative"
    assert source.registered_ms > 0
    assert source.origin == Origin(publisher="harbour.example", name="harbour.example", language="en", authority=0.6)


def test_import_registers_every_row(topics: Topics) -> None:
    done = imported("\ufeff" + HEADER + GOOD + "\n" + TAIL)
    assert (done.exit_code, done.output) == (0, "2 feeds registered, 1 authoritative\n")
    harbour, quay = topics.sources()
    assert harbour.origin == Origin(
        publisher="harbour",
        name="Harbour Post",
        country="NZ",
        language="en",
        category="world",
        authority=0.8,
        owner="Bay Media",
    )
    assert (quay.tier, quay.origin.name) == ("tail", "quay")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        pytest.param("ftp://a.example/f,a,,,,,,", "must begin with http:// or https://", id="scheme"),
        pytest.param("http://10.0.0.8/f,a,,,,,,", "not of the public internet", id="private"),
        pytest.param("http://2130706433/,a,,,,,,", "not of the public internet", id="private, as a number"),
        pytest.param("http://[::1]/f,a,,,,,,", "not of the public internet", id="loopback"),
        pytest.param("http://localhost/f,a,,,,,,", "not of the public internet", id="a local name"),
        pytest.param("http://u:p@a.example/,a,,,,,,", "user name or password", id="credentials"),
        pytest.param("http://a.example:8080/,a,,,,,,", "port 80 or 443", id="port"),
        pytest.param("http://[a/,a,,,,,,", "is no address", id="no address"),
        pytest.param(",a,,,,,,", "is no address", id="empty"),
        pytest.param("http://a.example/,a,,,,,high,", "authority 'high' must be a number from 0 to 1", id="a word"),
        pytest.param("http://a.example/,a,,,,,1.5,", "authority '1.5'", id="out of range"),
        pytest.param("http://a.example/,a,,,,,nan,", "authority 'nan'", id="not a number"),
        pytest.param("http://a.example/,a,,Japan,,,,", "country 'JAPAN'", id="country"),
        pytest.param("http://a.example/,a,,,english!,,,", "language", id="language"),
        pytest.param("http://a.example/,a b,,,,,,", "publisher_id 'a b'", id="two words"),
        pytest.param("http://a.example/,a", "2 fields where the header has 8", id="short"),
        pytest.param("https://harbour.example/feed.xml,b,,,,,,", "stands in row 2 already", id="twice"),
    ],
)
def test_one_bad_row_and_nothing_is_imported(topics: Topics, row: str, reason: str) -> None:
    done = imported(HEADER + GOOD + row + "\n")
    lines = done.stderr.splitlines()
    assert done.exit_code == 2
    assert lines[0].startswith("row 3: ")
    assert reason in lines[0]
    assert lines[1:] == ["broadsheet: -: 1 row cannot be imported, nothing was"] or len(lines) == 1
    assert topics.records["sources"] == []


def test_skip_bad_imports_the_others(topics: Topics) -> None:
    done = imported(HEADER + GOOD + "nonsense,a,,,,,,\n" + TAIL, "--skip-bad")
    assert done.exit_code == 0
    assert done.stdout == "2 feeds registered, 1 authoritative, 1 row skipped\n"
    assert len(topics.sources()) == 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(HEADER, id="no rows"),
        pytest.param("url,name\nhttp://a.example/,A\n", id="another header"),
        pytest.param(HEADER + '"unclosed,a,,,,,,\n', id="no CSV"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--skip-bad",)])
def test_a_file_of_another_form_is_refused(topics: Topics, text: str, options: tuple[str, ...]) -> None:
    done = imported(text, *options)
    assert done.exit_code == 2
    assert done.stderr
    assert topics.records["sources"] == []


def test_a_file_that_is_not_there_or_not_utf8_is_one_line(topics: Topics, tmp_path: Path) -> None:
    assert "No such file" in run("sources", "import", str(tmp_path / "none.csv")).stderr
    (tmp_path / "latin.csv").write_bytes(HEADER.encode() + "http://a.example/,a,Café,,,,,\n".encode("latin-1"))
    done = run("sources", "import", str(tmp_path / "latin.csv"))
    assert (done.exit_code, "is not UTF-8" in done.stderr) == (2, True)


def test_with_a_gateway_names_and_ports_are_free_but_addresses_are_not(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROADSHEET_GATEWAY", "127.0.0.1:18090")
    assert run("sources", "add", "http://wire.localhost:18090/feed.xml").exit_code == 0
    assert run("sources", "add", "http://127.0.0.1:18090/feed.xml").exit_code == 2


def test_no_broker_is_one_line(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise BrokerUnreachableError("no Kafka answers at 127.0.0.1:1; is the stack up?")

    monkeypatch.setattr("cli.sources.Producer", unreachable)
    done = run("sources", "add", "https://harbour.example/feed.xml")
    assert (done.exit_code, done.stderr) == (2, "broadsheet: no Kafka answers at 127.0.0.1:1; is the stack up?\n")


def test_the_reference_datas_own_list_can_be_imported(topics: Topics, checkout: Path) -> None:
    done = run("sources", "import", str(checkout / "reference_data" / "feeds.csv"))
    assert done.exit_code == 0, done.stderr
    assert len(topics.sources()) > 250


# ---------------------------------------------------------------- list and remove


def test_list_shows_the_last_record_of_each_feed(topics: Topics) -> None:
    imported(HEADER + GOOD + TAIL)
    run("sources", "add", "https://quay.example/feed.xml", "--publisher", "quay", "--country", "fr")
    run("sources", "remove", "https://harbour.example/feed.xml")
    topics.records["sources"].append(("x", b"no record"))
    listed = json.loads(run("sources", "list", "--json").stdout)["sources"]
    assert [(entry["url"], entry["origin"]["country"]) for entry in listed] == [("https://quay.example/feed.xml", "FR")]
    assert "quay" in run("sources", "list").stdout


def test_remove_takes_a_url_or_an_id_and_names_an_unknown_one(topics: Topics) -> None:
    imported(HEADER + GOOD)
    assert run("sources", "remove", "https://nowhere.example/").exit_code == 2
    assert run("sources", "remove", feed_id("https://harbour.example/feed.xml")).exit_code == 0
    assert topics.sources()[-1].removed
    assert run("sources", "remove", "https://harbour.example/feed.xml").exit_code == 2


# ---------------------------------------------------------------- health and quarantine

FEED = feed_id("https://harbour.example/feed.xml")
QUAY = feed_id("https://quay.example/feed.xml")


def answer(feed: str, outcome: str, at_ms: int, **more: Any) -> tuple[str, bytes]:
    result = FetchResult(
        request_id="r",
        feed_id=feed,
        kind="feed",
        url="u",
        outcome=outcome,  # type: ignore[arg-type]
        fetched_ms=at_ms,
        **more,
    )
    return feed, encode_record(result)


def test_health_tells_each_feeds_last_answer_and_counts(topics: Topics) -> None:
    imported(HEADER + GOOD + TAIL + "https://new.example/f,new,,,,,,\n")
    topics.records[FEEDS_FETCHED.name] = [
        answer(FEED, "fetched", 1, status=200),
        answer(FEED, "not_modified", 2, status=304),
        *(answer(QUAY, "failed", at_ms, reason="timeout") for at_ms in range(5)),
        answer("ff" * 8, "fetched", 9),
        ("", b"no record"),
    ]
    request = FetchRequest(
        request_id="p",
        kind="page",
        url="u",
        host="h",
        feed_id=FEED,
        origin=Origin(publisher="harbour"),
        requested_ms=1,
    )
    topics.records[FETCH_REQUESTS.name] = [("h", encode_record(request))]
    topics.records[QUARANTINE.name] = [
        ("feeds.fetched", quarantined("feeds.fetched", "poll", "entry_without_link", 3, subject=FEED))
    ]
    feeds = {entry["publisher"]: entry for entry in json.loads(run("sources", "health", "--json").stdout)["feeds"]}
    assert [entry["health"] for entry in feeds.values()] == ["sick", "never", "healthy"]
    harbour = feeds["harbour"]
    assert (harbour["polls"], harbour["not_modified"], harbour["pages"], harbour["last_poll_ms"]) == (2, 1, 1, 2)
    assert harbour["set_aside"] == {"entry_without_link": 1}
    assert (harbour["bodies"], harbour["wasted"]) == (1, 0)
    topics.records[FEEDS_FETCHED.name].append(answer(FEED, "fetched", 3))
    (wasted,) = [entry["wasted"] for entry in health()["feeds"] if entry["publisher"] == "harbour"]
    assert wasted == 1
    assert (feeds["quay"]["reason"], feeds["quay"]["failures_in_a_row"]) == ("timeout", 5)
    failing = json.loads(run("sources", "health", "--failing", "--json").stdout)["feeds"]
    assert [entry["publisher"] for entry in failing] == ["quay", "new"]
    told = run("sources", "health").stdout
    assert "3 feeds: 1 healthy, 1 never, 1 sick" in told
    assert "no figures of polling: no poll job runs at http://127.0.0.1:1" in told
    assert health()["polling"] is None


def health() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("sources", "health", "--json").stdout)
    return found


def test_health_shows_what_the_poll_job_counted(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    imported(HEADER + GOOD)
    totals = {"tier.tail.polls": 9.0, "tier.tail.answers": 8.0, "tier.tail.not_modified": 6.0}
    job = Job(id="j", name="broadsheet-poll", state="RUNNING", started_ms=1, running_tasks=1, tasks=1)
    monkeypatch.setattr("cli.sources.FlinkRest.live_job", lambda self, name: job)
    monkeypatch.setattr("cli.sources.FlinkRest.totals", lambda self, job_id, scope: totals)
    tail = health()["polling"]["tail"]
    assert (tail["polls"], tail["not_modified_share"], tail["discovery"]["items"]) == (9, 0.75, 0)
    assert "75%" in run("sources", "health").stdout


def test_an_answer_that_could_not_be_read_is_no_health(topics: Topics) -> None:
    imported(HEADER + GOOD + TAIL)
    topics.records[FEEDS_FETCHED.name] = [answer(FEED, "fetched", 10), answer(QUAY, "fetched", 20)]
    topics.records[QUARANTINE.name] = [
        ("feeds.fetched", quarantined("feeds.fetched", "poll", "html_not_feed", 15, subject=feed))
        for feed in (FEED, QUAY)
    ]
    feeds = {entry["publisher"]: entry for entry in json.loads(run("sources", "health", "--json").stdout)["feeds"]}
    assert (feeds["harbour"]["health"], feeds["harbour"]["reason"]) == ("failing", "html_not_feed")
    assert feeds["quay"]["health"] == "healthy"


def test_quarantine_counts_by_reason_and_lists_records(topics: Topics) -> None:
    topics.records[QUARANTINE.name] = [
        (
            "items.raw",
            quarantined("items.raw", "parse", "page_empty", 5, subject="u1", publisher="harbour", record=b"\xff"),
        ),
        ("items.raw", quarantined("items.raw", "parse", "page_empty", 7, subject="u2")),
        ("feeds.fetched", quarantined("feeds.fetched", "poll", "xml_entities", 6, subject=FEED)),
        ("", b"no record"),
    ]
    found = json.loads(run("quarantine", "summary", "--json").stdout)
    assert found["total"] == 4
    assert found["reasons"][0] == {
        "topic": "items.raw",
        "stage": "parse",
        "reason": "page_empty",
        "count": 2,
        "last_ms": 7,
    }
    listed = json.loads(run("quarantine", "list", "--reason", "page_empty", "--json").stdout)["records"]
    assert [record["subject"] for record in listed] == ["u1", "u2"]
    assert (
        json.loads(run("quarantine", "list", "--publisher", "harbour", "--json").stdout)["records"][0]["record"]
        == "\ufffd"
    )
    newest = json.loads(run("quarantine", "list", "--topic", "items.raw", "--limit", "1", "--json").stdout)["records"]
    assert [record["subject"] for record in newest] == ["u2"]
    assert "xml_entities" in run("quarantine", "summary").stdout
    assert run("quarantine").stdout == run("quarantine", "summary").stdout
    assert "u2" in run("quarantine", "list").stdout
