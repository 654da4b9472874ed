"""`broadsheet replay`: what is kept in Kafka, decided anew with today's code into a topic of its own.

Production's topics are only read. Bounds are offsets taken first: a transaction that is open then is waited for, and
what is written later is not read. Reading order: parse, _replayed, _told.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from cli.errors import UserError
from cli.replay_comparison import FIELDS, Comparison, Snapshot, compared
from cli.replay_parse import ParseReplay
from connectors.evidence import evidence_of
from connectors.kafka import COMMAND_CONNECT_S, KafkaClientError, Message, Producer, end_offsets, faults, read_all
from connectors.kafka_admin import TopicMismatchError, ensure_topics
from connectors.objects import ObjectStoreError
from connectors.settings import Endpoints
from state_schemas.articles import Article, Removed, decode_normalised
from state_schemas.codec import DecodeError, encode_record
from state_schemas.topics import ALL, ARTICLES, ITEMS_RAW, Topic
from udfs.articles.child import ChildError, ExtractionChild
from udfs.articles.encoder import EncoderError, load_encoder
from udfs.articles.parse import Reader
from udfs.articles.policy import ArticlesPolicy
from udfs.articles.section_model import SectionModelError, load_section_model
from udfs.articles.signing import Signer
from udfs.profiles import ProfileError, policy

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,200}")
_AGO = re.compile(r"(\d{1,6})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
# The job decides soon after evidence came; what it wrote this long after `--to` still counts as before, ms.
_GRACE_MS = 600_000
_UNACKNOWLEDGED = 500
_SAY_EVERY_S = 10.0
# A read that stands still this long, behind an open transaction, is given up with its name, s.
_STAND_STILL_S = 60.0


@click.group()
def replay() -> None:
    """Decide anew, with today's code, what Kafka still keeps."""


@replay.command()
@click.option("--from", "since", required=True, metavar="TIME", help="2026-11-30T12:00Z, or so long ago: 2h, 7d.")
@click.option("--to", "before", metavar="TIME", help="The same; default: what is there when it begins.")
@click.option("--into", required=True, metavar="TOPIC", help="A new topic, like articles.normalised.")
@click.option("--examples", default=3, show_default=True, type=click.IntRange(0, 1_000), help="Shown a field.")
@click.option(
    "--without-vectors", is_flag=True, help="No signatures: quicker, but the cluster job cannot use the topic."
)
@click.option("--profile", default="default", show_default=True)
@click.option("--json", "as_json", is_flag=True)
def parse(
    since: str, before: str | None, into: str, examples: int, without_vectors: bool, profile: str, as_json: bool
) -> None:
    """Parse the raw evidence of a span of time again, and tell what changed against articles.normalised."""
    now_ms = time.time_ns() // 1_000_000
    since_ms, before_ms = instant(since, now_ms), instant(before, now_ms) if before else None
    if before_ms is not None and before_ms <= since_ms:
        raise UserError("--to is not after --from")
    topic = target(into)
    endpoints = Endpoints.from_mapping(os.environ)
    console = Console(stderr=True)
    written = 0
    try:
        bounds = policy(ArticlesPolicy, "parse", profile, endpoints.reference_data_folder())
        # First, for what is then in the old log is what the new one is held against.
        old = _snapshot(endpoints, since_ms, before_ms)
        _prepare(endpoints, topic)
        signer = None if without_vectors else _signer(endpoints, bounds)
        console.print(f"{len(old)} articles in {ARTICLES.name}; reading {ITEMS_RAW.name} ...", highlight=False)
        new = Snapshot()
        with (
            closing(ExtractionChild(bounds, endpoints.reference_data_folder())) as child,
            Producer(endpoints, "replay", linger_ms=20, connect_s=COMMAND_CONNECT_S) as producer,
        ):
            stage = ParseReplay(
                Reader(endpoints.reference_data_folder(), bounds), child, evidence_of(endpoints), signer
            )
            sent: list[Future[Message]] = []
            said = time.monotonic()
            for record in _replayed(endpoints, stage, since_ms, before_ms):
                new.add(record)
                sent.append(producer.send(topic, record.language, encode_record(record)))
                written += 1
                if len(sent) >= _UNACKNOWLEDGED:
                    _acknowledged(producer, sent)
                if time.monotonic() - said > _SAY_EVERY_S:
                    said = time.monotonic()
                    console.print(f"{stage.counts['records']} records, {written} written", highlight=False)
            _acknowledged(producer, sent)
        found = compared(old, new, examples)
    except KeyboardInterrupt:
        click.echo(f"broadsheet: interrupted; {written} records stand in {topic.name}", err=True)
        sys.exit(130)
    except (KafkaClientError, ObjectStoreError, ChildError, EncoderError, ProfileError, SectionModelError) as error:
        raise UserError(str(error)) from None
    _told(found, stage, topic, written, as_json)


def instant(text: str, now_ms: int) -> int:
    """ms UTC of an instant (ISO 8601, UTC where no zone is given) or of so long ago. Raises UserError."""
    if match := _AGO.fullmatch(text):
        return now_ms - int(match[1]) * _SECONDS[match[2]] * 1000
    try:
        moment = datetime.fromisoformat(text)
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise UserError(f"{text!r} is no time: say 2026-11-30T12:00Z, or 2h for two hours ago") from None


def target(name: str) -> Topic:
    """The topic to write to, made like articles.normalised. Raises UserError for a topic of production."""
    if name in {topic.name for topic in ALL}:
        raise UserError(f"{name} is production's: a replay goes into a topic of its own")
    if not _TOPIC.fullmatch(name) or name in (".", "..") or name.startswith("__"):
        raise UserError(f"{name!r} is no name for a topic (letters, digits, '.', '_', '-')")
    return Topic(name, ARTICLES.partitions, ARTICLES.retention_ms)


def _prepare(endpoints: Endpoints, topic: Topic) -> None:
    try:
        with faults(endpoints, f"creating {topic.name}"):
            ensure_topics(endpoints, [topic])
    except TopicMismatchError as error:
        raise UserError(str(error)) from None
    ends = end_offsets(endpoints, [(topic.name, number) for number in range(topic.partitions)])
    if any(ends.values()):
        raise UserError(f"{topic.name} holds records already: name a new topic")


def _signer(endpoints: Endpoints, bounds: ArticlesPolicy) -> Signer:
    folder = Path(__file__).resolve().parent.parent / endpoints.encoder_folder
    sections = load_section_model(endpoints.reference_data_folder())
    return Signer(load_encoder(endpoints.encoder, folder), bounds, sections=sections)


def _snapshot(endpoints: Endpoints, since_ms: int, before_ms: int | None) -> Snapshot:
    """The articles as production decided them in that time."""
    found = Snapshot()
    until = None if before_ms is None else before_ms + _GRACE_MS
    for message in read_all(
        endpoints, ARTICLES, since_ms=since_ms, before_ms=until, timeout_s=_STAND_STILL_S, connect_s=COMMAND_CONNECT_S
    ):
        try:
            record = decode_normalised(message.value)
        except DecodeError:
            continue
        if isinstance(record, Article | Removed):
            found.add(record)
    return found


def _replayed(
    endpoints: Endpoints, stage: ParseReplay, since_ms: int, before_ms: int | None
) -> Iterator[Article | Removed]:
    for message in read_all(endpoints, ITEMS_RAW, since_ms=since_ms, before_ms=before_ms, timeout_s=_STAND_STILL_S):
        yield from stage.decided(message.value, message.timestamp_ms)


def _acknowledged(producer: Producer, sent: list[Future[Message]]) -> None:
    producer.flush()
    for future in sent:
        future.result(1)
    sent.clear()


def _told(found: Comparison, stage: ParseReplay, topic: Topic, written: int, as_json: bool) -> None:
    numbers: dict[str, Any] = {
        "raw_records": stage.counts["records"],
        "written": written,
        "articles_before": found.articles_before,
        "articles_after": found.articles_after,
        "articles_new": found.articles_new,
        "articles_gone": found.articles_gone,
        "articles_same": found.articles_same,
        "articles_changed": found.articles_changed,
    }
    changed = {name: found.fields[name] for name in FIELDS}
    if as_json:
        told = numbers | {
            "into": topic.name,
            "fields": changed,
            "rejected": dict(sorted(stage.rejected.items())),
            "ended": dict(sorted(stage.counts.items())),
            "examples": [asdict(example) for example in found.examples],
        }
        click.echo(json.dumps(told))
        return
    console = Console() if sys.stdout.isatty() else Console(width=200)
    table = Table("what", "count")
    for name, count in numbers.items():
        table.add_row(name.replace("_", " "), str(count))
    for name, count in changed.items():
        if count:
            table.add_row(f"changed: {name}", str(count))
    for reason, count in sorted(stage.rejected.items()):
        table.add_row(f"rejected: {reason}", str(count))
    console.print(table)
    for example in found.examples:
        console.print(f"{example.field} of {example.url}", markup=False, highlight=False)
        console.print(f"  - {example.before}\n  + {example.after}", markup=False, highlight=False)
    console.print(f"the new log is {topic.name}", markup=False, highlight=False)
