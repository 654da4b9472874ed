"""`replay parse` on a real broker and object store: bounds, large bodies, an open transaction, what it refuses."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from confluent_kafka import Producer as Transactional

import cli.main
from cli import replay
from cli.replay_parse import ParseReplay
from connectors.kafka import Message, Producer, create_topics, read_all
from connectors.objects import S3Objects
from connectors.settings import Endpoints
from state_schemas.articles import Article, Tick, decode_normalised
from state_schemas.codec import encode_record, pack_text
from state_schemas.fetching import Body, RawItem
from state_schemas.sources import Origin
from state_schemas.topics import ARTICLES, ITEMS_RAW, Topic
from udfs.articles.parse import InProcess, Reader

READER = Reader(Path(__file__).parents[2] / "reference_data")


def raw(name: str, title: str, evidence: str = "") -> RawItem:
    html = page(title)
    body = Body(size=len(html), evidence=evidence) if evidence else Body(size=len(html), zstd=pack_text(html))
    url = f"https://replay.example/{name}"
    return RawItem(
        kind="page", url=url, origin=Origin(publisher="replay.example"), found_ms=1, fetched_ms=2, body=body
    )  # fmt: skip


def page(title: str) -> str:
    return (
        f'<html lang="en"><head><meta property="og:type" content="article"><title>{title}</title></head><body><article>'
        f"<p>{title}. The harbour board closed the eastern lock on Monday after a crack was found.</p></article></body></html>"
    )


def sent(producer: Producer, *items: RawItem) -> Message:
    last = [producer.send(ITEMS_RAW, item.url, encode_record(item)) for item in items]
    producer.flush()
    return last[-1].result(10)


def run(endpoints: Endpoints, *arguments: str) -> Result:
    return CliRunner(env=endpoints.to_mapping()).invoke(cli.main.broadsheet, ["replay", "parse", *arguments])


def told(answer: Result) -> dict[str, object]:
    assert answer.exit_code == 0, answer.output
    found: dict[str, object] = json.loads(answer.stdout)
    return found


def since(message: Message) -> str:
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(message.timestamp_ms / 1000))
        + f".{message.timestamp_ms % 1000:03}Z"
    )


def test_a_span_is_decided_anew(endpoints: Endpoints) -> None:
    create_topics(endpoints, [ITEMS_RAW, ARTICLES])
    into, evidence = f"contract.again.{uuid.uuid4().hex}", uuid.uuid4().hex * 2
    asyncio.run(S3Objects(endpoints).create(f"evidence/{evidence}", pack_text(page("Large"))))
    with Producer(endpoints, "contract") as producer:
        sent(producer, raw("before", "Before"))
        time.sleep(0.05)
        first = sent(producer, raw("same", "Same"))
        sent(producer, raw("changed", "Now"), raw("large", "Large", evidence), raw("missing", "M", "0" * 64))
        # What production made of it: one as now, one by older code.
        plain = ParseReplay(READER, InProcess(READER.tracking), lambda _: None, None)
        for item in (raw("same", "Same"), raw("changed", "Then")):
            for record in plain.decided(encode_record(item), 1):
                producer.send(ARTICLES, record.language, encode_record(record))
        producer.send(ARTICLES, "en", encode_record(Tick(language="en", decided_ms=1)))
        producer.flush()
        found = told(run(endpoints, "--from", since(first), "--into", into, "--without-vectors", "--json"))
        assert {name: found[name] for name in found if name.startswith(("raw", "articles", "written"))} == {
            "raw_records": 4, "written": 3, "articles_before": 2, "articles_after": 3, "articles_new": 1,
            "articles_gone": 0, "articles_same": 1, "articles_changed": 1,
        }  # fmt: skip
        assert found["rejected"] == {"evidence_missing": 1}
        fields = found["fields"]
        assert isinstance(fields, dict)
        assert fields["title"] == 1
        new = [decode_normalised(message.value) for message in read_all(endpoints, Topic(into, 16, 1))]
        assert {record.title for record in new if isinstance(record, Article)} == {"Same", "Now", "Large"}

        # Once more into the same topic: refused.
        answer = run(endpoints, "--from", since(first), "--into", into)
        assert (answer.exit_code, "holds records already" in answer.output) == (2, True)

        # Nothing after `--to`.
        time.sleep(0.05)
        after = sent(producer, raw("after", "After"))
        bounded = told(
            run(endpoints, "--from", since(first), "--to", since(after), "--into", into + "b", "--without-vectors", "--json")
        )  # fmt: skip
        assert bounded["raw_records"] == 4


def test_an_open_transaction_is_waited_for(endpoints: Endpoints) -> None:
    """The committed end stands before what another producer has committed already: those records are read all the same."""
    create_topics(endpoints, [ITEMS_RAW, ARTICLES])
    url = "https://replay.example/open"
    slow = Transactional(
        {"bootstrap.servers": endpoints.kafka, "transactional.id": uuid.uuid4().hex, "partitioner": "murmur2_random"}
    )
    slow.init_transactions(30)
    with Producer(endpoints, "contract") as producer:
        first = sent(producer, raw("open", "One"))
        slow.begin_transaction()
        slow.produce(ITEMS_RAW.name, encode_record(raw("open", "Two")), url.encode())
        slow.flush(10)
        sent(producer, raw("open", "Three"))
        later = threading.Timer(3, slow.commit_transaction)
        later.start()
        try:
            into = f"contract.again.{uuid.uuid4().hex}"
            found = told(run(endpoints, "--from", since(first), "--into", into, "--without-vectors", "--json"))
        finally:
            later.join()
        assert found["raw_records"] == 3


def test_what_is_not_there_is_told_in_one_line(endpoints: Endpoints) -> None:
    nowhere = Endpoints.from_mapping(endpoints.to_mapping() | {"BROADSHEET_KAFKA": "127.0.0.1:9"})
    answer = run(nowhere, "--from", "1h", "--into", "again")
    assert answer.exit_code == 2
    assert len(answer.output.strip().splitlines()) == 1
    assert "no Kafka answers" in answer.output


def test_a_missing_topic_is_told_in_one_line(endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "ARTICLES", Topic(f"missing.{uuid.uuid4().hex}", 16, None))
    answer = run(endpoints, "--from", "1h", "--into", "again")
    assert answer.exit_code == 2
    assert len(answer.output.strip().splitlines()) == 1
    assert "no such topic" in answer.output
