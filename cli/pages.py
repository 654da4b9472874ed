"""`broadsheet pages`: what is published, from the object store itself."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Table

from cli.errors import UserError
from cli.terminal import plain
from connectors.objects import Objects, ObjectStoreError, S3Objects
from connectors.settings import Endpoints, SettingsError
from state_schemas.codec import DecodeError, decode_record, encode_record
from state_schemas.pages import Page, Pointer, pointed_section, pointer_key
from udfs.publish.decide import PublishPolicy
from udfs.publish.rollback import RollbackError, roll_back
from udfs.publish.rollback import release as release_page

T = TypeVar("T")


@click.group()
def pages() -> None:
    """Show published pages, go back to an earlier version."""


@pages.command()
@click.argument("edition")
@click.argument("section", default="top")
@click.option("--json", "as_json", is_flag=True, help="The snapshot itself, one JSON object.")
@click.option("--stories", default=15, show_default=True, type=click.IntRange(0), help="How many to print.")
def show(edition: str, section: str, as_json: bool, stories: int) -> None:
    """Print the page of EDITION and SECTION that counts now."""
    page = _run(current_page(_objects(), edition, section))
    if page is None:
        raise UserError(f"no page {edition}/{section}; `broadsheet pages list` shows those there are")
    if as_json:
        sys.stdout.buffer.write(encode_record(page) + b"\n")
        return
    print_page(Console(), page, stories)


@pages.command("list")
def list_pages() -> None:
    """List every page that counts: edition, section, version, cycle."""
    pointers = _run(_pointers(_objects()))
    table = Table("edition", "section", "version", "cycle", "marks")
    for pointer in pointers:
        table.add_row(
            pointer.edition, pointer.section, f"v{pointer.version}", _time(pointer.cycle), " ".join(pointer.marks)
        )
    Console().print(table)


@pages.command()
@click.argument("edition")
@click.argument("section")
@click.option("--to", type=click.IntRange(1), metavar="N", help="Which version.  [default: the one before]")
@click.option("--minutes", default=60, show_default=True, type=click.IntRange(1, 10_080), help="How long it stays.")
def rollback(edition: str, section: str, to: int | None, minutes: int) -> None:
    """Make an earlier version of EDITION's SECTION count, and keep ranking from moving it for a while.

    Refused where that version shows an article that was retracted since.
    """
    until_ms = time.time_ns() // 1_000_000 + 60_000 * minutes
    pointer = _run(roll_back(_objects(), edition, section, to, until_ms, PublishPolicy()))
    click.echo(f"{edition}/{section}: v{pointer.version} counts until {_time(until_ms)}; `pages release` ends that")


@pages.command()
@click.argument("edition")
@click.argument("section")
def release(edition: str, section: str) -> None:
    """End a rollback of EDITION's SECTION: the next cycle's page counts."""
    pointer = _run(release_page(_objects(), edition, section, PublishPolicy()))
    click.echo(f"{edition}/{section}: v{pointer.version} counts until the next cycle")


async def current_page(objects: Objects, edition: str, section: str) -> Page | None:
    """The page its pointer names, or None. Raises ObjectStoreError, DecodeError."""
    stored = await objects.get(pointer_key(edition, section))
    if stored is None:
        return None
    found = await objects.get(decode_record(Pointer, stored.data).object)
    return None if found is None else decode_record(Page, found.data)


def print_page(console: Console, page: Page, stories: int) -> None:
    """The page for a terminal."""
    console.print(f"[bold]Broadsheet[/] {page.edition} · {page.section} · {_time(page.cycle)} · v{page.version}")
    for place, story in enumerate(page.stories[:stories], 1):
        link = story.representative
        console.print(f"{place:3}. [bold]{plain(link.title)}[/]", highlight=False)
        covered = ", ".join(
            f"{count} {what if count != 1 else one}"
            for count, what, one in (
                (story.publishers, "publishers", "publisher"),
                (story.originals, "originals", "original"),
                (story.copies, "copies", "copy"),
            )
        )
        console.print(f"     {plain(link.publisher_name or link.publisher)} · {covered}", style="dim", highlight=False)


def _time(instant_ms: int) -> str:
    return datetime.fromtimestamp(instant_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


async def _pointers(objects: Objects) -> list[Pointer]:
    listed = [entry for entry in await objects.list("latest") if pointed_section(entry.key)]
    stored = await asyncio.gather(*(objects.get(entry.key) for entry in listed))
    return [decode_record(Pointer, found.data) for found in stored if found is not None]


def _objects() -> Objects:
    try:
        return S3Objects(Endpoints.from_mapping(os.environ))
    except SettingsError as error:
        raise UserError(str(error)) from None


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except ObjectStoreError as error:
        raise UserError(f"the object store did not answer; is the stack up? ({error})") from None
    except DecodeError as error:
        raise UserError(f"the page cannot be read: {error}") from None
    except RollbackError as error:
        raise UserError(str(error)) from None
