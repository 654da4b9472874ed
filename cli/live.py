"""`broadsheet live`: the same line on the real internet."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click
from rich.console import Console

from cli.errors import UserError
from cli.jobs import JobError
from cli.line import import_file, refuse_second, start_jobs
from cli.sources import read_list
from cli.stack.control import Stack, StackError
from cli.stack.layout import INSTALLATION
from connectors.settings import Endpoints, SettingsError

FOLDER = INSTALLATION / "live"


@click.command()
@click.option("--feeds", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Another list of feeds.")
def live(feeds: Path | None) -> None:
    """The whole line on the real internet, with the feeds of reference_data/feeds.csv; Ctrl-C ends it, data stays."""
    console = Console(stderr=True)
    try:
        endpoints = Endpoints.from_mapping(os.environ)
        stack = Stack(FOLDER, given=endpoints)
    except SettingsError as error:
        raise UserError(str(error)) from None
    refuse_second(FOLDER)
    listed = feeds or endpoints.reference_data_folder() / "feeds.csv"
    read_list(listed, endpoints.gateway)  # what is wrong with it is said before a minute of starting, not after

    def say(line: str) -> None:
        console.print(f"  {line}", highlight=False)

    try:
        stack.up(owned=True, progress=say)
        start_jobs(stack.endpoints, "default", say)
        import_file(stack.endpoints, listed)
        console.print(f"Pages appear within minutes: {stack.endpoints.origin}/ (Ctrl-C ends everything)")
        while True:
            time.sleep(1)
    except (StackError, JobError) as error:
        raise UserError(str(error)) from None
    except KeyboardInterrupt:
        console.print("Ending.")
    finally:
        stack.down()
