"""`broadsheet articles`: take an article back, let it return, and see what became of it.

A retraction is a record of items.raw, like a publisher's own; the line does the rest. Pages and state stay untouched.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import urlsplit

import click
from rich.table import Table

from cli.errors import UserError
from cli.terminal import console, plain
from connectors.kafka import COMMAND_CONNECT_S, KafkaClientError, Producer, read_all
from connectors.settings import Endpoints, SettingsError
from state_schemas.articles import Article, Removed, decode_normalised
from state_schemas.codec import DecodeError, decode_record, encode_record
from state_schemas.fetching import FetchRequest, RawItem
from state_schemas.ids import article_id, hash64_hex
from state_schemas.sources import Origin, Source
from state_schemas.topics import ARTICLES, FETCH_REQUESTS_PRIORITY, ITEMS_RAW, SOURCES
from udfs.articles.canonical import clean, identity_form, load_tracking_parameters
from udfs.poll.pages import host_of

T = TypeVar("T")
_REASON_CHARS = 200
_ID_DIGITS = frozenset("0123456789abcdef")


@click.group()
def articles() -> None:
    """Take articles back, and see their versions."""


@articles.command()
@click.argument("url")
@click.option("--reason", default="", metavar="TEXT", help="Why: it stands in every record of the removal.")
@click.option("--undo", is_flag=True, help="Take the retraction back, and ask for the article's page again.")
def retract(url: str, reason: str, undo: bool) -> None:
    """Take the article at URL out of every story and page, until --undo.

    No page of its publisher brings it back before that. Prints its id.
    """
    if not undo and not reason.strip():
        raise UserError("say why: --reason TEXT")
    if reason.strip() == "language_changed":
        raise UserError("--reason language_changed is what the line itself says of an article that stays in print")
    endpoints = _endpoints()
    address, article = article_at(url, endpoints)
    now_ms = time.time_ns() // 1_000_000
    source = _source_of(address, _kafka(lambda: _sources(endpoints)))
    origin = source.origin if source is not None else Origin(publisher=host_of(address))
    item = RawItem(
        kind="reinstatement" if undo else "retraction",
        url=address,
        origin=origin,
        found_ms=now_ms,
        fetched_ms=now_ms,
        reason=reason.strip()[:_REASON_CHARS],
        by_operator=True,
    )
    asked = page_request(address, source, now_ms) if undo and source is not None else None

    def send() -> None:
        with Producer(endpoints, "broadsheet-articles", connect_s=COMMAND_CONNECT_S) as producer:
            producer.send(ITEMS_RAW, hash64_hex(item.url), encode_record(item))
            if asked is not None:
                producer.send(FETCH_REQUESTS_PRIORITY, asked.host, encode_record(asked))

    _kafka(send)
    if not undo:
        click.echo(f"{article} {address}: retracted")
    elif asked is not None:
        click.echo(f"{article} {address}: may return, its page is asked for")
    else:
        click.echo(f"{article} {address}: may return, once its page is read again (no feed of its site is registered)")


@articles.command()
@click.argument("article")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def show(article: str, as_json: bool) -> None:
    """Print the versions of ARTICLE, given by its URL or id, of the last nine days.

    Reads the whole topic `articles.normalised`: on a busy installation that takes a while.
    """
    endpoints = _endpoints()
    wanted = article.strip().lower()
    if len(wanted) != 32 or not _ID_DIGITS.issuperset(wanted):
        _, wanted = article_at(article, endpoints)
    found = _kafka(lambda: _versions(endpoints, wanted))
    if not found:
        raise UserError(f"no article {wanted} in the last nine days")
    if as_json:
        versions = [json.loads(encode_record(one)) for one in found]
        for version in versions:
            for heavy in ("body", "embedding", "minhash"):
                version.pop(heavy, None)
        click.echo(json.dumps({"article_id": wanted, "versions": versions}))
        return
    table = Table("version", "decided", "language", "what", "title or reason")
    for one in found:
        what = f"{one.event} {' '.join(one.changed)}".strip() if isinstance(one, Article) else "removed"
        told = one.title if isinstance(one, Article) else one.reason
        table.add_row(str(one.version), _time(one.decided_ms), one.language, what, plain(told))
    click.echo(f"{wanted} {next((one.canonical_url for one in found if isinstance(one, Article)), '')}".rstrip())
    console().print(table)


def article_at(url: str, endpoints: Endpoints) -> tuple[str, str]:
    """The canonical form of an address and the id of the article there. Raises UserError on what is no web address."""
    tracking = load_tracking_parameters(endpoints.reference_data_folder() / "tracking_parameters.txt")
    given = url.strip()
    address = clean(given, tracking) if given.lower().startswith(("http://", "https://")) else None
    if address is None:
        raise UserError(f"{url!r} is no http(s) address")
    return address, article_id(identity_form(address))


def page_request(url: str, source: Source, now_ms: int) -> FetchRequest:
    """A request for the page at `url`, as for one never read: the fetcher's memory of it does not count."""
    return FetchRequest(
        request_id=f"{source.feed_id}-{hash64_hex(url)}-{now_ms}",
        kind="page",
        url=url,
        host=host_of(url),
        feed_id=source.feed_id,
        origin=source.origin,
        requested_ms=now_ms,
        found_ms=now_ms,
    )


def _source_of(url: str, sources: list[Source]) -> Source | None:
    """A registered feed of the address's own host; the one with the most authority."""
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    own = [one for one in sources if host_of(one.url).removeprefix("www.") == host]
    return max(own, key=lambda one: (one.origin.authority, one.feed_id), default=None)


def _sources(endpoints: Endpoints) -> list[Source]:
    found: dict[str, Source] = {}
    for message in read_all(endpoints, SOURCES, connect_s=COMMAND_CONNECT_S):
        try:
            source = decode_record(Source, message.value)
        except DecodeError:
            continue  # the poll job's to set aside
        found[source.feed_id] = source
    return [source for source in found.values() if not source.removed]


def _versions(endpoints: Endpoints, article: str) -> list[Article | Removed]:
    """In the order of versions. Records that do not name the id are not decoded."""
    found: list[Article | Removed] = []
    for message in read_all(endpoints, ARTICLES, connect_s=COMMAND_CONNECT_S):
        if article.encode() not in message.value:
            continue
        try:
            record = decode_normalised(message.value)
        except DecodeError:
            continue
        if isinstance(record, Article | Removed) and record.article_id == article:
            found.append(record)
    return sorted(found, key=lambda one: (one.version, isinstance(one, Article)))


def _time(instant_ms: int) -> str:
    return datetime.fromtimestamp(instant_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _endpoints() -> Endpoints:
    try:
        return Endpoints.from_mapping(os.environ)
    except SettingsError as error:
        raise UserError(str(error)) from None


def _kafka(work: Callable[[], T]) -> T:
    try:
        return work()
    except KafkaClientError as error:
        raise UserError(str(error)) from None
