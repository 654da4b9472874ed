"""`broadsheet sources`: register feeds in the `sources` topic, and see how they do from what the topics hold.

An import is all or nothing: one bad row, and nothing is sent (unless --skip-bad). Health is read from the answers of
the fetch tier and from quarantine, so it needs Kafka alone and shows what the last day holds.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console
from rich.table import Table

from cli.discover import discover
from cli.errors import UserError
from cli.feed_health import FeedHealth, feed_health
from cli.poll_figures import JOB, SCOPE, Delay, TierFigures, tier_figures
from cli.source_rows import COLUMNS, RowFault, read_rows, source_of
from cli.terminal import plain
from connectors.flink import FlinkRest, RestError
from connectors.kafka import COMMAND_CONNECT_S, KafkaClientError, Producer, read_all
from connectors.settings import Endpoints, SettingsError
from state_schemas.codec import DecodeError, decode_record, encode_record
from state_schemas.ids import feed_id
from state_schemas.sources import Source
from state_schemas.topics import FEEDS_FETCHED, FETCH_REQUESTS, FETCH_REQUESTS_PRIORITY, QUARANTINE, SOURCES, Topic

T = TypeVar("T")

# Faulty rows printed one by one; a file of another form has as many faults as rows.
SHOWN_FAULTS = 20


@click.group()
def sources() -> None:
    """Add, import, list and watch feeds."""


sources.add_command(discover)


@sources.command()
@click.argument("url")
@click.option("--publisher", help="Publisher id.  [default: the feed's host name]")
@click.option("--name", default="", help="Publisher's name.  [default: its id]")
@click.option("--country", default="", help="ISO 3166 alpha-2 code, such as JP.")
@click.option("--language", default="", help="Language code, such as ja.")
@click.option("--category", default="", help="One of the sections, or empty.")
@click.option("--authority", default="0.3", show_default=True, help="Prior from 0 to 1; 0.6 and more is polled faster.")
@click.option("--owner", default="", help="Who owns the publisher, where known.")
def add(
    url: str, publisher: str | None, name: str, country: str, language: str, category: str, authority: str, owner: str
) -> None:
    """Register the feed at URL; it is polled within seconds. Registering it again replaces what is known of it."""
    endpoints = _endpoints()
    row = dict(zip(COLUMNS, (url, publisher or "", name, country, language, category, authority, owner), strict=True))
    found = source_of(row, _now_ms(), gateway=endpoints.gateway)
    if isinstance(found, str):
        raise UserError(found)
    _send(endpoints, [found])
    click.echo(f"{found.feed_id} {found.url}: registered, {found.tier}")


@sources.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option("--skip-bad", is_flag=True, help="Import the rows that are right; exit status 2 only if none is.")
def import_sources(file: Path, skip_bad: bool) -> None:
    """Register the feeds of a CSV FILE (- for standard input), all or none.

    Its header: feed_url,publisher_id,publisher_name,country,language,category,authority,owner
    """
    endpoints = _endpoints()
    good, bad = read_list(file, endpoints.gateway, skip_bad=skip_bad)
    _send(endpoints, good)
    fast = sum(1 for source in good if source.tier == "authoritative")
    skipped = f", {_rows(bad)} skipped" if bad else ""
    click.echo(f"{len(good)} feeds registered, {fast} authoritative{skipped}")


def read_list(file: Path, gateway: str, *, skip_bad: bool = False) -> tuple[list[Source], list[RowFault]]:
    """The feeds of a CSV file ("-": standard input) and its bad rows, which are shown on stderr.

    Raises UserError where nothing of it may be imported: it cannot be read, has bad rows (all of them bad, with
    skip_bad), or none.
    """
    try:
        text = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        good, bad = read_rows(text.decode("utf-8-sig"), _now_ms(), gateway=gateway)
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 at byte {error.start}") from None
    except csv.Error as error:
        raise UserError(f"{file} is not CSV: {error}") from None
    for fault in bad[:SHOWN_FAULTS]:
        click.echo(f"row {fault.row}: {fault.reason}", err=True)
    if len(bad) > SHOWN_FAULTS:
        click.echo(f"and {len(bad) - SHOWN_FAULTS} more", err=True)
    if bad and not (skip_bad and good):
        raise UserError(f"{file}: {_rows(bad)} cannot be imported, nothing was")
    if not good:
        raise UserError(f"{file} has no rows")
    return good, bad


def _rows(bad: list[RowFault]) -> str:
    return f"{len(bad)} row" if len(bad) == 1 else f"{len(bad)} rows"


@sources.command()
@click.argument("feed")
def remove(feed: str) -> None:
    """Stop polling FEED, given by its URL or feed id."""
    endpoints = _endpoints()
    wanted = feed_id(feed.strip()) if "/" in feed else feed.strip().lower()
    known = _registered(endpoints).get(wanted)
    if known is None:
        raise UserError(f"no feed {feed}; `broadsheet sources list` shows those there are")
    _send(endpoints, [Source(feed_id=known.feed_id, url=known.url, origin=known.origin, removed=True)])
    click.echo(f"{known.feed_id} {known.url}: removed")


@sources.command("list")
@click.option("--publisher", help="Only this publisher's.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def list_sources(publisher: str | None, as_json: bool) -> None:
    """Show the registered feeds."""
    found = [
        source
        for source in _registered(_endpoints()).values()
        if publisher is None or source.origin.publisher == publisher
    ]
    found.sort(key=lambda source: (source.origin.publisher, source.url))
    if as_json:
        click.echo(json.dumps({"sources": [json.loads(encode_record(source)) for source in found]}))
        return
    table = Table("publisher", "country", "language", "tier", "feed id", "url")
    for source in found:
        origin = source.origin
        table.add_row(
            plain(origin.publisher), origin.country, origin.language, source.tier, source.feed_id, plain(source.url)
        )
    _console().print(table)


@sources.command()
@click.option("--failing", is_flag=True, help="Only feeds whose last poll failed, or that were never polled.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def health(failing: bool, as_json: bool) -> None:
    """Show how each feed does: its last poll, what the last day held, and how late news is found."""
    endpoints = _endpoints()
    found = _kafka(lambda: _health(endpoints))
    polling = _polling(endpoints)
    shown = [entry for entry in found if not failing or entry.health not in ("healthy", "waiting")]
    if as_json:
        tiers = {tier: asdict(figures) for tier, figures in polling.items()} if polling is not None else None
        click.echo(json.dumps({"feeds": [asdict(entry) for entry in shown], "polling": tiers}))
        return
    now_ms = _now_ms()
    table = Table("feed", "health", "last poll", "outcome", "polls", "304", "wasted", "pages", "set aside")
    for entry in shown:
        outcome = entry.outcome + (f" {entry.status}" if entry.status else "")
        table.add_row(
            plain(entry.url),
            entry.health,
            _ago(now_ms - entry.last_poll_ms) if entry.last_poll_ms else "never",
            f"{outcome} {entry.reason}".strip(),
            str(entry.polls),
            str(entry.not_modified),
            str(entry.wasted),
            str(entry.pages),
            ", ".join(f"{reason} {count}" for reason, count in entry.set_aside.items()),
        )
    _console().print(table)
    states: dict[str, int] = {}
    for entry in found:
        states[entry.health] = states.get(entry.health, 0) + 1
    click.echo(f"{len(found)} feeds: " + ", ".join(f"{count} {state}" for state, count in sorted(states.items())))
    if polling is None:
        click.echo(f"no figures of polling: no poll job runs at {endpoints.flink_rest}")
        return
    _show_polling(polling)


def _show_polling(polling: dict[str, TierFigures]) -> None:
    """The tiers side by side: counts since the poll job started."""

    def delay(found: Delay) -> str:
        if found.p50_s is None:
            return "none yet"
        return f"{found.p50_s:g} / {found.p90_s:g} / {found.p99_s:g} s of {found.items}"

    table = Table("polling since the job started", *polling)
    tiers = polling.values()
    table.add_row("polls", *(str(tier.polls) for tier in tiers))
    table.add_row("answered 304", *(f"{tier.not_modified_share:.0%}" for tier in tiers))
    table.add_row("wasted: a body, nothing new", *(f"{tier.wasted_share:.0%}" for tier in tiers))
    table.add_row("failures, lost requests", *(f"{tier.failures}, {tier.lost}" for tier in tiers))
    table.add_row("new items", *(str(tier.new_items) for tier in tiers))
    table.add_row("found by a push", *(f"{tier.pushed_share:.0%}" for tier in tiers))
    table.add_row("dated before the poll before", *(f"{tier.late_share:.0%}" for tier in tiers))
    table.add_row("overruns: items lost between polls", *(str(tier.overruns) for tier in tiers))
    table.add_row("feeds found with useless validators", *(str(tier.useless_validators) for tier in tiers))
    table.add_row("discovery delay p50/p90/p99, by publishers' times", *(delay(tier.discovery) for tier in tiers))
    table.add_row("discovery delay p50/p90/p99, by audit polls", *(delay(tier.audit) for tier in tiers))
    _console().print(table)


def _polling(endpoints: Endpoints) -> dict[str, TierFigures] | None:
    """The poll job's own figures; None where none runs, or its cluster does not answer."""
    flink = FlinkRest(endpoints.flink_rest, timeout_s=5)
    try:
        job = flink.live_job(JOB)
        return None if job is None else tier_figures(flink.totals(job.id, SCOPE))
    except RestError:
        return None


def _health(endpoints: Endpoints) -> list[FeedHealth]:
    requests = (value for topic in (FETCH_REQUESTS, FETCH_REQUESTS_PRIORITY) for value in _values(endpoints, topic))
    return feed_health(
        _fold_sources(_values(endpoints, SOURCES)).values(),
        _values(endpoints, FEEDS_FETCHED),
        requests,
        _values(endpoints, QUARANTINE),
    )


def _console() -> Console:
    """The terminal; a file or pipe gets lines wide enough for whole addresses."""
    return Console() if sys.stdout.isatty() else Console(width=220)


def _ago(ms: int) -> str:
    for unit, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min")):
        if ms >= unit:
            return f"{ms / unit:.1f} {name} ago"
    return f"{max(0, ms) / 1000:.0f} s ago"


def _registered(endpoints: Endpoints) -> dict[str, Source]:
    return _kafka(lambda: _fold_sources(_values(endpoints, SOURCES)))


def _values(endpoints: Endpoints, topic: Topic) -> Iterator[bytes]:
    return (message.value for message in read_all(endpoints, topic, connect_s=COMMAND_CONNECT_S))


def _fold_sources(records: Iterable[bytes]) -> dict[str, Source]:
    """The last record of each feed id, without removed ones; what cannot be decoded is the poll job's to set aside."""
    found: dict[str, Source] = {}
    for record in records:
        try:
            source = decode_record(Source, record)
        except DecodeError:
            continue
        found[source.feed_id] = source
    return {key: source for key, source in found.items() if not source.removed}


def _send(endpoints: Endpoints, found: Iterable[Source]) -> None:
    def send() -> None:
        with Producer(endpoints, "broadsheet-sources", connect_s=COMMAND_CONNECT_S) as producer:
            sent = [producer.send(SOURCES, source.feed_id, encode_record(source)) for source in found]
            producer.flush()
            for each in sent:
                each.result(timeout=10)

    _kafka(send)


def _kafka(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except KafkaClientError as error:
        raise UserError(str(error)) from None


def _endpoints() -> Endpoints:
    try:
        return Endpoints.from_mapping(os.environ)
    except SettingsError as error:
        raise UserError(str(error)) from None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
