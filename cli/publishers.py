"""`broadsheet publishers`: keys for publishers' pings, and a ping to try them with.

A key is shown once and stored as its hash alone (topic `publishers`); the other fields of a publisher's record stay.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urlsplit

import click
import msgspec
from rich.console import Console
from rich.table import Table

from cli.errors import UserError
from cli.terminal import plain
from connectors.kafka import COMMAND_CONNECT_S, KafkaClientError, Producer, read_all
from connectors.settings import Endpoints, SettingsError
from services.push.pings import NONCE, SIGNATURE, TIMESTAMP
from services.push.signatures import KEYS, key_hash, sign_ping
from state_schemas.codec import DecodeError, decode_record, encode_record
from state_schemas.sources import Publisher, Source
from state_schemas.topics import PUBLISHERS, SOURCES, Topic

T = TypeVar("T")
R = TypeVar("R", Publisher, Source)

KEY_BYTES = 32
# A key that is found in a log or a repository says what it is.
KEY_PREFIX = "bsp_"


@click.group()
def publishers() -> None:
    """List publishers, make keys for their pings, send a ping."""


@publishers.command()
@click.argument("publisher")
@click.option("--revoke-others", is_flag=True, help="Only the new key is valid from now on.")
def key(publisher: str, revoke_others: bool) -> None:
    """Make a key for PUBLISHER's pings and show it, this once; its other keys stay valid."""
    endpoints = _endpoints()
    record = _known(endpoints, publisher)
    made = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
    kept = () if revoke_others else record.ping_keys
    if len(kept) >= KEYS:
        raise UserError(f"{publisher} has {len(kept)} valid keys, and {KEYS} is the most: add --revoke-others")
    changed = msgspec.structs.replace(record, ping_keys=(*kept, key_hash(made).hex()))

    def send() -> None:
        with Producer(endpoints, "broadsheet-publishers", connect_s=COMMAND_CONNECT_S) as producer:
            producer.send(PUBLISHERS, publisher, encode_record(changed)).result(timeout=30)

    _kafka(send)
    click.echo(made)
    count = len(changed.ping_keys)
    click.echo(f"{publisher}: {count} valid key{'s' if count > 1 else ''}; this one is not shown again", err=True)


@publishers.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def list_publishers(as_json: bool) -> None:
    """Show the publishers of the registered feeds, and which may ping."""
    endpoints = _endpoints()
    found = _all(endpoints)
    feeds = _feed_counts(endpoints)
    rows = [_plain(record, feeds[name]) for name, record in sorted(found.items())]
    if as_json:
        click.echo(json.dumps({"publishers": rows}))
        return
    table = Table("publisher", "name", "country", "feeds", "ping keys", "blocked")
    for row in rows:
        shown = (row[name] for name in ("publisher", "name", "country", "feeds", "ping_keys"))
        table.add_row(*(plain(str(value)) for value in shown), "yes" if row["blocked"] else "")
    (Console() if sys.stdout.isatty() else Console(width=160)).print(table)


@publishers.command()
@click.argument("publisher")
def show(publisher: str) -> None:
    """Show what is known of PUBLISHER, as JSON; of its keys how many there are."""
    endpoints = _endpoints()
    record = _known(endpoints, publisher)
    click.echo(json.dumps(_plain(record, _feed_counts(endpoints)[publisher]), indent=1, ensure_ascii=False))


@publishers.command()
@click.argument("publisher")
@click.option("--feed", default="", help="The one feed that has news: its id or address.  [default: the main feeds]")
@click.option("--url", help="Where push listens.  [default: BROADSHEET_PUSH]")
@click.option(
    "--key-file", required=True, type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), help="- for stdin."
)
def ping(publisher: str, feed: str, url: str | None, key_file: Path) -> None:
    """Tell push that PUBLISHER has news, as the publisher itself would."""
    secret = _read_key(key_file)
    parts = urlsplit(url or _endpoints().push)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"--url {url} must be an http(s) address")
    path = f"/ping/{quote(publisher, safe='')}" + (f"/{quote(feed, safe='')}" if feed else "")
    status, retry = _post(url or _endpoints().push, path, secret)
    if status == 202:
        click.echo(f"{publisher}: accepted")
    elif status == 404:
        raise UserError("refused: unknown publisher or feed, wrong key, or this machine's clock is minutes off")
    elif status in (429, 503):
        raise UserError(f"{'too many pings' if status == 429 else 'push is not ready'}; again in {retry or '?'} s")
    else:
        raise UserError(f"push answered {status}")


def _post(base: str, path: str, secret: str) -> tuple[int, str]:
    """(status, Retry-After) of one signed ping."""
    parts = urlsplit(base)
    timestamp, nonce = str(int(time.time())), secrets.token_hex(16)
    headers = {TIMESTAMP: timestamp, NONCE: nonce, SIGNATURE: sign_ping(secret, timestamp, nonce, path)}
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=10)
        try:
            connection.request("POST", parts.path.rstrip("/") + path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Retry-After", "")
        finally:
            connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UserError(f"no push answers at {base} ({error})") from None


def _read_key(file: Path) -> str:
    try:
        text = (sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")).strip()
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        text = ""
    if not text or len(text.split()) != 1:
        raise UserError(f"{file} does not hold a key: one line, as `broadsheet publishers key` shows it")
    return text


def _known(endpoints: Endpoints, publisher: str) -> Publisher:
    found = _all(endpoints).get(publisher)
    if found is None:
        raise UserError(f"no publisher {publisher!r}; `broadsheet publishers list` shows those there are")
    return found


def _all(endpoints: Endpoints) -> dict[str, Publisher]:
    """Publishers by id: their own records, and for those without one what their feeds say of them."""
    found: dict[str, Publisher] = {}
    for source in _latest(endpoints, SOURCES, Source).values():
        about = source.origin
        if source.removed or not about.publisher or about.publisher in found:
            continue
        found[about.publisher] = Publisher(
            publisher=about.publisher,
            name=about.name,
            country=about.country,
            languages=(about.language,) if about.language else (),
            owner=about.owner,
            authority=about.authority,
            noindex=about.noindex,
            max_snippet=about.max_snippet,
        )
    for name, record in _latest(endpoints, PUBLISHERS, Publisher).items():
        if not record.removed:
            found[name] = record
    return found


def _feed_counts(endpoints: Endpoints) -> Counter[str]:
    sources = _latest(endpoints, SOURCES, Source).values()
    return Counter(source.origin.publisher for source in sources if not source.removed)


def _latest(endpoints: Endpoints, topic: Topic, kind: type[R]) -> dict[str, R]:
    """The last record of each key; what cannot be decoded is left out."""

    def read() -> dict[str, R]:
        found: dict[str, R] = {}
        for message in read_all(endpoints, topic, connect_s=COMMAND_CONNECT_S):
            with suppress(DecodeError):
                found[message.key] = decode_record(kind, message.value)
        return found

    return _kafka(read)


def _plain(record: Publisher, feeds: int) -> dict[str, object]:
    """A record for people: its keys are counted, not shown."""
    plain: dict[str, object] = {"name": "", "country": "", "blocked": False, **msgspec.to_builtins(record)}
    return {**plain, "ping_keys": len(record.ping_keys), "feeds": feeds}


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
