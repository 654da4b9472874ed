"""`broadsheet demo`: the embedded stack, the sample press at speed, and the front page that comes of it."""

from __future__ import annotations

import json
import os
import queue
import shutil
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click
from rich.console import Console

from cli.errors import UserError
from cli.jobs import JobError
from cli.line import import_sources, press, refuse_second, refuse_taken, start_jobs
from cli.observe import Observed, quantile
from cli.pages import print_page
from cli.stack.control import Stack, StackError
from cli.stack.layout import INSTALLATION
from connectors.kafka import KafkaClientError, tail
from connectors.settings import Endpoints, SettingsError
from state_schemas.codec import DecodeError, decode_record
from state_schemas.pages import Page
from state_schemas.stories import StoryChange
from state_schemas.topics import STORY_CHANGES
from udfs.editions import load_reference

FOLDER = INSTALLATION / "demo"
# After the last article: its poll, fetch, three jobs and a cycle, with room for a busy machine.
GRACE_S = 90.0
SHOWN = 12
SAY_EVERY = 20  # articles, where there is no terminal to show a moving line on


@click.command()
@click.option("--once", is_flag=True, help="End when the front page holds every event; exit 1 with the faults if not.")
@click.option("--speed", default=20.0, show_default=True, help="Press time in one of wall time.")
@click.option("--press-port", default=18090, show_default=True, type=click.IntRange(1, 65535))
@click.option("--hostile", is_flag=True, help="Also feeds of hosts that misbehave.")
@click.option("--json", "as_json", is_flag=True, help="With --once: the figures as one JSON object on stdout.")
def demo(once: bool, speed: float, press_port: int, hostile: bool, as_json: bool) -> None:
    """The whole line on the sample press: polled, fetched, parsed, clustered, ranked, published, served."""
    console = Console(stderr=True)
    began = time.monotonic()

    def say(line: str) -> None:
        console.print(f"  {line}", highlight=False)

    if not 0 < speed < float("inf"):
        raise UserError("demo: --speed is a number above 0")
    refuse_second(FOLDER)
    refuse_taken(press_port)
    shutil.rmtree(FOLDER, ignore_errors=True)  # each demo starts with an empty past
    try:
        gateway = f"127.0.0.1:{press_port}"
        given = replace(Endpoints.from_mapping(os.environ), gateway=gateway, profile="demo")
        stack = Stack(FOLDER, profile="demo", gateway=gateway, given=given)
    except SettingsError as error:
        raise UserError(str(error)) from None
    try:
        console.print("Starting Kafka, object storage, Flink, fetcher and origin ...")
        stack.up(owned=True, progress=say)
        start_jobs(stack.endpoints, "demo", say)
        chosen = ("--port", str(press_port), *(("--hostile",) if hostile else ()))
        with press(*chosen, "--speed", str(speed)) as status_url:
            import_sources(stack.endpoints, *chosen)
            console.print(
                f"The press opens, {speed:g} times as fast as life ({time.monotonic() - began:.0f} s so far)."
            )
            console.print(f"Watch the pages form: {stack.endpoints.origin}/", highlight=False)
            observed = _follow(stack.endpoints, status_url, console)
            faults = observed.faults()
            _report(observed, faults, stack.endpoints, console, as_json)
            if once:
                if faults:
                    sys.exit(1)
                return
            console.print(f"The front page: {stack.endpoints.origin}/ (Ctrl-C ends everything)")
            while True:
                time.sleep(1)
    except (StackError, JobError, KafkaClientError) as error:
        raise UserError(str(error)) from None
    except KeyboardInterrupt:
        console.print("Ending.")
    finally:
        stack.down()


def _follow(endpoints: Endpoints, status_url: str, console: Console) -> Observed:
    """Watch until everything is as it should be, or the press has long ended."""
    observed = Observed()
    changes: queue.Queue[StoryChange] = queue.Queue()
    ended = threading.Event()
    reader = threading.Thread(target=_read_changes, args=(endpoints, changes, ended), daemon=True)
    reader.start()
    editions = _one_edition_a_language()
    versions: dict[str, int] = {}
    said = 0
    with console.status("waiting for the first article") as line:
        try:
            while True:
                status = _get(status_url)
                observed.published(status["articles"])
                while not changes.empty():
                    observed.change(changes.get())
                for page in _new_pages(endpoints.origin, editions, versions):
                    observed.page(page, _now_ms())
                out, total = status["published"], status["total"]
                line.update(
                    f"published {out}/{total} · decisions {observed.changes} · stories {len(observed.stories)} "
                    f"· pages of {len(versions)} languages"
                )
                if not console.is_terminal and out >= said + SAY_EVERY:
                    said = out
                    console.print(f"  published {out}/{total}, decisions {observed.changes}", highlight=False)
                if out == total and (not observed.faults() or _now_ms() > status["ends_ms"] + GRACE_S * 1000):
                    return observed
                time.sleep(0.5)
        finally:
            ended.set()


def _read_changes(endpoints: Endpoints, changes: queue.Queue[StoryChange], ended: threading.Event) -> None:
    for message in tail(endpoints, STORY_CHANGES, from_start=True, stop=ended.is_set):
        if message is not None:
            changes.put(decode_record(StoryChange, message.value))


def _one_edition_a_language() -> list[str]:
    found: dict[str, str] = {}
    for edition in load_reference().editions:
        found.setdefault(edition.language, edition.id)
    return list(found.values())


def _new_pages(origin: str, editions: Sequence[str], versions: dict[str, int]) -> Iterator[Page]:
    """The top pages that changed since `versions`, which is brought up to date."""
    for row in _get(f"{origin}/v1/editions"):
        edition = row["id"]
        if edition not in editions or "top" not in row["sections"]:
            continue
        version = _get(f"{origin}/v1/editions/{edition}/version")["versions"].get("top", 0)
        if version != versions.get(edition):
            versions[edition] = version
            yield decode_record(Page, _fetch(f"{origin}/v1/editions/{edition}/top"))


def _fetch(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            data: bytes = answer.read()
            return data
    except (urllib.error.URLError, OSError) as error:
        raise UserError(f"{url} did not answer: {error}") from None


def _get(url: str) -> Any:
    return json.loads(_fetch(url))


def _report(observed: Observed, faults: Sequence[str], endpoints: Endpoints, console: Console, as_json: bool) -> None:
    delays = observed.delays_s()
    figures: dict[str, float | int | None] = {
        "articles": len(observed.truth),
        "stories": len(observed.stories),
        "faults": len(faults),
        "first_page_s": observed.first_page_s(),
        "publication_to_page_p50_s": quantile(delays, 0.5) if delays else None,
        "publication_to_page_p95_s": quantile(delays, 0.95) if delays else None,
    }
    if as_json:
        click.echo(json.dumps(figures))
    else:
        out = Console()
        for edition in _one_edition_a_language():
            try:
                page = decode_record(Page, _fetch(f"{endpoints.origin}/v1/editions/{edition}/top"))
            except (UserError, DecodeError):
                continue  # a language the press does not write in
            print_page(out, page, SHOWN)
            out.print()
    for fault in faults:
        console.print(f"  fault: {fault}", highlight=False, markup=False)
    if delays:
        console.print(
            f"From first publication to first page {figures['first_page_s']:.1f} s; publication to page "
            f"p50 {figures['publication_to_page_p50_s']:.1f} s, p95 {figures['publication_to_page_p95_s']:.1f} s "
            f"({len(delays)} articles, {len(observed.stories)} stories, {len(faults)} faults)",
            highlight=False,
        )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
