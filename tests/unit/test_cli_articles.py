"""Retracting by command: the records that are sent, the article that is named, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli import articles
from connectors.kafka import BrokerUnreachableError
from state_schemas.articles import Article, Removed
from state_schemas.codec import decode_record, encode_record
from state_schemas.fetching import FetchRequest, RawItem
from state_schemas.ids import article_id
from state_schemas.sources import Origin, Source
from state_schemas.topics import ARTICLES, SOURCES, Topic

URL = "http://www.n.example/dam/?utm_source=feed"
ARTICLE = article_id("n.example/dam")
FEED = Source(feed_id="f" * 16, url="https://n.example/feed.xml", origin=Origin(publisher="n", authority=0.4))


class Kafka:
    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes]] = []
        self.topics: dict[str, list[bytes]] = {
            SOURCES.name: [encode_record(FEED)],
            ARTICLES.name: [b"{broken " + ARTICLE.encode()],
        }

    def producer(self, *_: Any, **__: Any) -> Kafka:
        return self

    def __enter__(self) -> Kafka:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, topic: Topic, key: str, value: bytes) -> None:
        self.sent.append((topic.name, value))

    def read_all(self, _: Any, topic: Topic, **__: Any) -> Iterator[Any]:
        class Message:
            def __init__(self, value: bytes) -> None:
                self.value = value

        return (Message(value) for value in self.topics[topic.name])


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    made = Kafka()
    monkeypatch.setattr(articles, "Producer", made.producer)
    monkeypatch.setattr(articles, "read_all", made.read_all)
    return made


def run(*arguments: str) -> Result:
    return CliRunner().invoke(articles.articles, arguments)


def test_a_retraction_is_sent_as_evidence_and_its_id_printed(kafka: Kafka) -> None:
    done = run("retract", URL, "--reason", "Court order 7")
    assert done.exit_code == 0
    assert done.output.startswith(ARTICLE)
    ((topic, data),) = kafka.sent
    item = decode_record(RawItem, data)
    assert (topic, item.kind, item.reason, item.by_operator) == ("items.raw", "retraction", "Court order 7", True)
    assert (item.origin.publisher, item.fetched_ms > 0) == ("n", True)


def test_an_undo_lets_it_return_and_asks_for_its_page_anew(kafka: Kafka) -> None:
    assert "its page is asked for" in run("retract", URL, "--undo").output
    (first, item), (second, asked) = kafka.sent
    assert (first, decode_record(RawItem, item).kind) == ("items.raw", "reinstatement")
    request = decode_record(FetchRequest, asked)
    assert (second, request.kind, request.recheck, request.feed_id) == (
        "fetch.requests.priority",
        "page",
        False,
        "f" * 16,
    )


def test_an_undo_without_a_feed_waits_for_the_page(kafka: Kafka) -> None:
    kafka.topics[SOURCES.name] = []
    assert "once its page is read again" in run("retract", URL, "--undo").output
    assert len(kafka.sent) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("retract", URL), "say why"),
        (("retract", URL, "--reason", " language_changed "), "stays in print"),
        (("retract", "no address", "--reason", "x"), "is no http(s) address"),
        (("retract", "javascript:alert(1)", "--reason", "x"), "is no http(s) address"),
        (("show", "no address"), "is no http(s) address"),
        (("show", "0" * 32), "no article 0000"),
    ],
)
def test_what_is_refused(kafka: Kafka, arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert kafka.sent == []


def test_a_broker_that_is_away_is_one_line(monkeypatch: pytest.MonkeyPatch, kafka: Kafka) -> None:
    def away(*_: Any, **__: Any) -> Iterator[Any]:
        raise BrokerUnreachableError("no broker at 127.0.0.1:1")

    monkeypatch.setattr(articles, "read_all", away)
    done = run("retract", URL, "--reason", "x")
    assert (done.exit_code, done.output.count("\n")) == (2, 1)


def test_the_versions_of_an_article_are_shown_in_order(kafka: Kafka) -> None:
    first = Article(
        article_id=ARTICLE, language="en", version=1, event="new", canonical_url="https://n.example/dam", publisher="n",
        title="Dam [holds]", first_seen_ms=1, decided_ms=2, parser_version="1", body=b"x",
    )  # fmt: skip
    gone = Removed(article_id=ARTICLE, language="en", version=2, decided_ms=3, reason="gone")
    kafka.topics[ARTICLES.name] += [encode_record(gone), encode_record(first)]
    done = run("show", URL)
    assert done.exit_code == 0
    assert done.output.index("Dam [holds]") < done.output.index("gone")
    found = json.loads(run("show", ARTICLE, "--json").output)
    assert [version["kind"] for version in found["versions"]] == ["article", "removed"]
    assert "body" not in found["versions"][0]
