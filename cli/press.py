"""`broadsheet press`: serve a press over HTTP, and list its feeds for the importer of sources."""

from __future__ import annotations

import asyncio
import csv
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from cli.errors import UserError
from services.press import captured, content, generated, hostile
from services.press.site import SOURCE_COLUMNS, Clock, PressSite, Site

DEFAULT_PORT = 18090
SAMPLE_SPEED = 20.0  # the sample press's 80 minutes in 4


@dataclass(frozen=True, slots=True)
class Choice:
    """Which press: the sample where neither captured nor generated is asked for."""

    directory: Path | None
    captured: Path | None
    generated: int | None
    hosts: int
    seed: int
    minutes: float
    hostile: bool


_CHOICE = (
    click.option("--content", "directory", type=click.Path(path_type=Path), help="Folder with another sample press."),
    click.option("--captured", type=click.Path(path_type=Path), help="Folder with captured feeds/ and pages/."),
    click.option("--generated", type=click.IntRange(1, 1_000_000), metavar="N", help="N generated articles instead."),
    click.option("--hosts", default=20, show_default=True, type=click.IntRange(1, 999), help="Of the generated press."),
    click.option("--seed", default=1, show_default=True, help="Of the generated press."),
    click.option("--minutes", default=10.0, show_default=True, help="Of press time that the generated press takes."),
    click.option("--hostile", is_flag=True, help="Also the hosts that misbehave."),
    click.option("--base", metavar="SUFFIX", help="What follows a host in addresses.  [default: :PORT]"),
    click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535)),
)


def _with_choice(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in _CHOICE:
        command = option(command)
    return command


@click.group()
def press() -> None:
    """Serve the sample press, or captured feeds and pages."""


@press.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--speed", type=float, help="Press time in one of wall time.  [default: 20; generated: 1]")
@_with_choice
def serve(host: str, port: int, speed: float | None, base: str | None, **choice: Any) -> None:
    """Serve a press over HTTP, each host by its name, until interrupted."""
    from services.press import server

    asked = Choice(**choice)
    rate = speed if speed is not None else 1.0 if asked.generated else SAMPLE_SPEED
    if not 0 < rate < float("inf"):
        raise UserError("press: --speed is a number above 0")
    suffix = base if base is not None else f":{port}"
    behaviours = hostile.Hostile().behaviours() if asked.hostile else {}
    sites = _sites(asked, Clock(_now_ms(), rate), suffix)
    web = server.PressServer(sites, _now_ms, behaviours)

    def started(bound: int) -> None:
        click.echo(f"press: http://{host}:{bound}/_press/status", err=True)

    try:
        asyncio.run(server.serve(web, host, port, started))
    except OSError as error:
        raise UserError(f"press: cannot listen on {host}:{port}: {error.strerror or error}") from error


@press.command()
@_with_choice
def sources(port: int, base: str | None, **choice: Any) -> None:
    """Print the feeds of a press as CSV, for `broadsheet sources import`."""
    asked = Choice(**choice)
    suffix = base if base is not None else f":{port}"
    sites = _sites(asked, Clock(0, 1.0), suffix)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(SOURCE_COLUMNS)
    for site in sites:
        writer.writerows(site.sources(suffix))
    if asked.hostile:
        writer.writerows(hostile.sources(suffix))


def _sites(asked: Choice, clock: Clock, suffix: str) -> list[Site]:
    """The presses asked for; their content is read here, so that what is wrong with it is said at once."""
    if asked.minutes <= 0:
        raise UserError("press: --minutes is a number above 0")
    sites: list[Site] = []
    try:
        if asked.captured is not None:
            folder = captured.CapturedSite(asked.captured)
            folder.status(clock.start_ms)
            sites.append(folder)
        if asked.generated is not None:
            words = generated.load_words()
            made = generated.generate(asked.generated, asked.hosts, asked.seed, asked.minutes, words)
            sites.append(PressSite(made, clock, suffix))
        if not sites:
            sites.append(PressSite(content.load(asked.directory or content.SAMPLE_DIR), clock, suffix))
    except content.ContentError as error:
        raise UserError(f"press: {error}") from error
    return sites


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
