"""`broadsheet press`: serve a press over HTTP, and list its feeds for the importer of sources."""

from __future__ import annotations

import asyncio
import csv
import sys
import time
from pathlib import Path

import click

from cli.errors import UserError
from services.press import content
from services.press.site import SOURCE_COLUMNS, Clock, PressSite, Site

DEFAULT_PORT = 18090


@click.group()
def press() -> None:
    """Serve the sample press, or captured feeds and pages."""


@press.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535))
@click.option("--speed", default=20.0, show_default=True, help="Seconds of press time in one second.")
@click.option("--base", help="What follows the host in absolute addresses.  [default: :PORT]")
@click.option("--content", "directory", type=click.Path(path_type=Path), help="Folder of publishers.toml and events/.")
def serve(host: str, port: int, speed: float, base: str | None, directory: Path | None) -> None:
    """Serve a press over HTTP, each host by its name, until interrupted."""
    from services.press import server

    if not 0 < speed < float("inf"):
        raise UserError("--speed: a number above 0")
    suffix = base if base is not None else f":{port}"
    clock = Clock(_now_ms(), speed)
    sites: list[Site] = [PressSite(_load(directory), clock, suffix)]
    web = server.PressServer(sites, _now_ms)
    try:
        asyncio.run(
            server.serve(
                web, host, port, lambda bound: click.echo(f"press: http://{host}:{bound}/_press/status", err=True)
            )
        )
    except OSError as error:
        raise UserError(f"press: cannot listen on {host}:{port}: {error.strerror or error}") from error


@press.command()
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535))
@click.option("--base", help="What follows the host in absolute addresses.  [default: :PORT]")
@click.option("--content", "directory", type=click.Path(path_type=Path), help="Folder of publishers.toml and events/.")
def sources(port: int, base: str | None, directory: Path | None) -> None:
    """Print the feeds of a press as CSV, for `broadsheet sources import`."""
    suffix = base if base is not None else f":{port}"
    site = PressSite(_load(directory), Clock(0, 1.0), suffix)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(SOURCE_COLUMNS)
    writer.writerows(site.sources(suffix))


def _load(directory: Path | None) -> content.Press:
    try:
        return content.load(directory or content.SAMPLE_DIR)
    except content.ContentError as error:
        raise UserError(str(error)) from error


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
