"""`broadsheet quarantine`: what was set aside, where it came from and why."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import click
from rich.table import Table

from cli.errors import UserError
from cli.terminal import console, plain
from connectors.kafka import COMMAND_CONNECT_S, KafkaClientError, read_all
from connectors.settings import Endpoints, SettingsError
from state_schemas.codec import DecodeError, decode_record
from state_schemas.quarantine import Quarantined
from state_schemas.topics import QUARANTINE


@click.group(invoke_without_command=True)
@click.pass_context
def quarantine(context: click.Context) -> None:
    """Show what was set aside, and why; without a command, the summary."""
    if context.invoked_subcommand is None:
        context.invoke(summary, as_json=False)


@quarantine.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def summary(as_json: bool) -> None:
    """Count what is there by topic, stage and reason, most first."""
    counts: Counter[tuple[str, str, str]] = Counter()
    latest: dict[tuple[str, str, str], Quarantined] = {}
    for record in _records():
        kind = (record.topic, record.stage, record.reason)
        counts[kind] += 1
        latest[kind] = max(record, latest.get(kind, record), key=lambda entry: entry.at_ms)
    rows = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    if as_json:
        reasons = [
            {"topic": topic, "stage": stage, "reason": reason, "count": count, "last_ms": latest[kind].at_ms}
            for kind, count in rows
            for topic, stage, reason in (kind,)
        ]
        click.echo(json.dumps({"total": sum(counts.values()), "reasons": reasons}))
        return
    if not rows:
        click.echo("nothing was set aside")
        return
    table = Table("topic", "stage", "reason", "count", "last", "such as")
    for kind, count in rows:
        last = latest[kind]
        table.add_row(*kind, str(count), _time(last.at_ms), plain(last.subject, 80))
    console().print(table)


@quarantine.command("list")
@click.option("--topic", help="Only what came from this topic.")
@click.option("--reason", help="Only this reason.")
@click.option("--publisher", help="Only this publisher's.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="The newest so many.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, with the records' own bytes as text.")
def list_records(topic: str | None, reason: str | None, publisher: str | None, limit: int, as_json: bool) -> None:
    """Show the newest records, oldest of them first."""
    wanted = selected(_records(), topic=topic, reason=reason, publisher=publisher)
    # Partitions are read side by side: the newest are known only at the end.
    found = sorted(wanted, key=lambda record: record.at_ms)[-limit:]
    if as_json:
        click.echo(json.dumps({"records": [_as_json(record) for record in found]}))
        return
    if not found:
        click.echo("nothing of that kind was set aside")
        return
    table = Table("time", "topic", "stage", "reason", "subject", "detail")
    for record in found:
        table.add_row(
            _time(record.at_ms),
            record.topic,
            record.stage,
            record.reason,
            plain(record.subject, 100),
            plain(record.detail, 200),
        )
    console().print(table)


def selected(
    records: Iterable[Quarantined], *, topic: str | None = None, reason: str | None = None, publisher: str | None = None
) -> Iterator[Quarantined]:
    """The records that have all of the values asked for."""
    for record in records:
        if (
            (topic is None or record.topic == topic)
            and (reason is None or record.reason == reason)
            and (publisher is None or record.publisher == publisher)
        ):
            yield record


def _as_json(record: Quarantined) -> dict[str, Any]:
    fields = ("topic", "stage", "reason", "at_ms", "subject", "detail", "publisher", "truncated")
    return {name: getattr(record, name) for name in fields} | {"record": record.record.decode("utf-8", "replace")}


def _records() -> Iterator[Quarantined]:
    try:
        endpoints = Endpoints.from_mapping(os.environ)
        for message in read_all(endpoints, QUARANTINE, connect_s=COMMAND_CONNECT_S):
            try:
                yield decode_record(Quarantined, message.value)
            except DecodeError as error:
                # Nothing is dropped in silence, not even here.
                yield Quarantined(
                    topic=QUARANTINE.name,
                    stage="quarantine",
                    reason=error.reason,
                    at_ms=message.timestamp_ms,
                    detail=error.detail,
                    record=message.value,
                )
    except SettingsError as error:
        raise UserError(str(error)) from None
    except KafkaClientError as error:
        raise UserError(str(error)) from None


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%m-%d %H:%M:%S")
