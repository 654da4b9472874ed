"""The whole line while a Python worker, the TaskManager and the broker are killed, and hostile hosts are among the feeds."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
import urllib.request
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import pytest

from cli.line import import_sources, press, start_jobs
from cli.stack import Stack
from connectors.kafka import KafkaClientError, Producer
from connectors.objects import S3Objects
from connectors.settings import Endpoints
from state_schemas.codec import decode_record
from state_schemas.fetching import FetchResult
from state_schemas.pages import Page, Pointer
from state_schemas.topics import ARTICLES, FEEDS_FETCHED, ITEMS_RAW, STORY_CHANGES
from tests.end_to_end.topics import DECISIONS, NONSENSE, assert_decided_once, changes, quarantine, records

ARTICLES_PUBLISHED = 520
# Published evenly over two minutes; each fault comes while articles are under way.
KILLS_AT = {"worker": 130, "taskmanager": 260, "broker": 390}
PATIENCE_S = 420.0
VANDALISED = (FEEDS_FETCHED, ITEMS_RAW, ARTICLES, STORY_CHANGES)


def _status(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def _kill(stack: Stack, fault: str) -> None:
    if fault == "worker":
        os.kill(stack.python_workers()[0], signal.SIGKILL)
    else:
        os.kill(stack.pid("kafka" if fault == "broker" else fault), signal.SIGKILL)


@pytest.mark.timeout(1200)
def test_nothing_is_lost_or_decided_twice(own_stack: Stack) -> None:
    endpoints = own_stack.endpoints
    port = endpoints.gateway.rpartition(":")[2]
    start_jobs(endpoints, "demo", lambda line: None)
    chosen = ("--generated", str(ARTICLES_PUBLISHED), "--hosts", "26", "--minutes", "2", "--hostile", "--port", port)
    with press(*chosen) as status_url:
        import_sources(endpoints, *chosen)
        for topic in VANDALISED:
            with Producer(endpoints, "vandal") as vandal:
                vandal.send(topic, "en", NONSENSE)
        left = dict(KILLS_AT)
        expected: set[str] = set()
        began = time.monotonic()
        while True:
            status = _status(status_url)
            for fault, published in KILLS_AT.items():
                if fault in left and status["published"] >= published:
                    del left[fault]
                    _kill(own_stack, fault)
            if status["published"] == status["total"] and not left:
                expected = {article["url"] for article in status["articles"] if article["kind"] != "variant"}
                missing = expected - _decided(endpoints)
                if not missing:
                    break
                assert time.monotonic() - began < PATIENCE_S, f"{len(missing)} never decided: {sorted(missing)[:5]}"
            time.sleep(2)

        found = changes(endpoints)
        assert_decided_once(found)
        assert len(expected) >= 400
        _assert_pages_whole(endpoints)
        _assert_hostile_set_aside(endpoints)
    restarts = {part.name: part.restarts for part in own_stack.status().components}
    assert restarts["kafka"] >= 1
    assert restarts["taskmanager"] >= 1


def _decided(endpoints: Endpoints) -> set[str]:
    try:
        found = changes(endpoints, timeout_s=20)
    except KafkaClientError:
        return set()  # the broker is on its way back
    return {change.article.url for change in found if change.article and change.change in DECISIONS}


def _assert_pages_whole(endpoints: Endpoints) -> None:
    async def run() -> int:
        objects = S3Objects(endpoints)
        whole = 0
        for entry in await objects.list("latest"):
            if entry.key.rpartition("/")[2].startswith("_"):
                continue  # the edition's cycle mark: no page's pointer
            stored = await objects.get(entry.key)
            assert stored is not None
            pointer = decode_record(Pointer, stored.data)
            found = await objects.get(pointer.object)
            assert found is not None, f"{entry.key} names {pointer.object}, which does not exist"
            assert sha256(found.data).hexdigest() == pointer.sha256
            page = decode_record(Page, found.data)
            assert (page.edition, page.section, page.version) == (pointer.edition, pointer.section, pointer.version)
            whole += 1
        return whole

    assert asyncio.run(run()) > 0


# Host of a hostile feed -> the reasons any one of which it must have got, in an answer to poll or in quarantine.
HOSTILE = {
    "huge.localhost": {"body_too_large"},
    "bomb.localhost": {"xml_entities"},
    "gzipbomb.localhost": {"body_too_large", "decompression_bomb"},
    "slow.localhost": {"timed_out"},
    "private.localhost": {"private_address", "address_literal"},
    "loop.localhost": {"too_many_redirects"},
    "flaky.localhost": {"status_503", "retry_after"},
}


def _assert_hostile_set_aside(endpoints: Endpoints) -> None:
    aside = quarantine(endpoints)
    undecodable = {record.topic for record in aside if record.reason in ("record_undecodable", "record_invalid")}
    assert {topic.name for topic in VANDALISED} <= undecodable
    answers = records(
        endpoints, FEEDS_FETCHED, lambda data: None if data == NONSENSE else decode_record(FetchResult, data)
    )
    asked = [answer for answer in answers if answer is not None]
    for host, reasons in HOSTILE.items():
        here = [answer for answer in asked if urlsplit(answer.url).hostname == host]
        feeds = {answer.feed_id for answer in here}
        met = {answer.reason for answer in here if answer.reason}
        met |= {
            record.reason for record in aside if record.subject in feeds or urlsplit(record.subject).hostname == host
        }
        assert met & reasons, f"{host}: {met or 'nothing'}"
