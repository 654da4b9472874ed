"""`broadsheet stack up | down | status | logs | env`: the command line of the embedded stack."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Table

from cli.errors import UserError
from cli.stack.control import DEFAULT_FOLDER, ComponentStatus, Stack, StackError, StackStatus
from cli.stack.layout import COMPONENTS, Ports, chosen

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def stack() -> None:
    """Start, stop and watch Kafka, the object store, Flink, the fetcher, push and the origin on this machine."""


def data_option(command: F) -> F:
    """--data: the folder that is a stack's identity."""
    option = click.option(
        "--data",
        "folder",
        type=click.Path(path_type=Path, file_okay=False),
        default=DEFAULT_FOLDER,
        show_default=".stack/run in the checkout",
        help="Folder of the stack's data, logs and settings.",
    )
    return option(command)


def port_options(command: F) -> F:
    """--port-base and one option a port."""
    for entry in reversed(fields(Ports)):
        name = entry.name.replace("_", "-")
        command = click.option(f"--{name}-port", type=click.IntRange(1, 65535), help=f"[default: {entry.default}]")(
            command
        )
    base = click.option(
        "--port-base", type=click.IntRange(1024, 65526), help="Take consecutive ports from here on for all of them."
    )
    return base(command)


def chosen_ports(port_base: int | None, options: dict[str, int | None]) -> Ports:
    """The ports that the options of `port_options` name."""
    ports = Ports() if port_base is None else Ports.from_base(port_base)
    named = {name.removesuffix("_port"): port for name, port in options.items() if port is not None}
    return replace(ports, **named)


def _existing(folder: Path) -> Stack:
    found = Stack.existing(folder)
    if found is None:
        raise UserError(f"no stack was ever started in {folder} (`broadsheet stack up`)")
    return found


@stack.command()
@click.option("--profile", type=click.Choice(["default", "demo"]), default="default", show_default=True)
@data_option
@port_options
@click.option("--only", help=f"Start only these, separated by commas: {', '.join(COMPONENTS)}, or flink.")
@click.option("--jobs/--no-jobs", default=False, help="Submit all jobs once the stack is ready.")
@click.option("--gateway", default="", metavar="HOST:PORT", help="Where the fetcher finds every host, instead of DNS.")
@click.option("--slots", type=click.IntRange(1, 256), default=8, show_default=True, help="Task slots.")
@click.option(
    "--metrics",
    is_flag=True,
    help="Flink reports to Prometheus on ports from 9250.",
)
@click.option("--timeout", "timeout_s", type=float, default=180.0, show_default=True, help="Seconds to get ready.")
def up(
    profile: str,
    folder: Path,
    port_base: int | None,
    only: str | None,
    jobs: bool,
    gateway: str,
    slots: int,
    metrics: bool,
    timeout_s: float,
    **port_of: int | None,
) -> None:
    """Start the stack and wait until it serves."""
    try:
        wanted = chosen(tuple(part.strip() for part in only.split(",")) if only else COMPONENTS)
    except ValueError as error:
        raise UserError(str(error)) from None
    one = Stack(folder, chosen_ports(port_base, port_of), profile, gateway=gateway, slots=slots, metrics=metrics)
    try:
        status = one.up(wanted, timeout_s=timeout_s, progress=click.echo)
    except StackError as error:
        raise UserError(str(error)) from None
    click.echo(f"the stack is ready after {status.ready_after_s:.1f} s; data and logs in {one.spec.folder}")
    if jobs:
        _submit_all(one, profile)


def _submit_all(one: Stack, profile: str) -> None:
    from cli.jobs import ORDER, JobError, submit_job, wait_jobs  # they need each other

    try:
        ids = []
        for job in ORDER:
            ids.append(submit_job(job, one.endpoints, profile=profile))
            click.echo(f"{job}: submitted as {ids[-1]}")
        wait_jobs(one.endpoints, ids)
    except JobError as error:
        raise UserError(f"the stack is up, but {error}") from None
    click.echo("all tasks run")


@stack.command()
@data_option
def down(folder: Path) -> None:
    """Stop everything that `stack up` started there; the data stays."""
    began = time.monotonic()
    if not _existing(folder).down():
        raise UserError(f"no stack runs in {folder}")
    click.echo(f"the stack is down ({time.monotonic() - began:.1f} s)")


@stack.command()
@data_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def status(folder: Path, as_json: bool) -> None:
    """Show each component: process, state, restarts, memory, port."""
    found = _existing(folder).status()
    if as_json:
        click.echo(json.dumps(status_json(found)))
    else:
        Console().print(status_table(found))


def status_json(found: StackStatus) -> dict[str, Any]:
    """The status in plain values, with the sums that a table's reader sees."""
    parts = [{**asdict(part), "rss_mb": round(part.rss_mb, 1)} for part in found.components]
    return {**asdict(found), "components": parts, "rss_mb": round(sum(p.rss_mb for p in found.components), 1)}


def status_table(found: StackStatus) -> Table:
    """A row a component, its children below it, the sum at the end."""
    word = "ready" if found.ready else ("starting" if found.up else "down")
    table = Table(title=f"stack: {word}", title_justify="left", show_footer=True)
    total = sum(part.rss_mb for part in found.components)
    for heading, justify, footer in (
        ("component", "left", "all"),
        ("pid", "right", ""),
        ("state", "left", ""),
        ("restarts", "right", ""),
        ("RSS MB", "right", f"{total:.0f}"),
        ("port", "right", ""),
        ("up", "right", ""),
    ):
        table.add_column(heading, justify=justify, footer=footer)  # type: ignore[arg-type]
    for part in found.components:
        table.add_row(*_row(part))
        for process in part.processes[1:]:
            if process.rss_mb >= 10:  # shells and pipes around a worker are noise
                table.add_row(f"  {process.what}", str(process.pid), "", "", f"{process.rss_mb:.0f}", "", "")
    return table


def _row(part: ComponentStatus) -> tuple[str, ...]:
    state = f"{part.state} ({part.reason})" if part.reason and part.state != "ready" else part.state
    minutes, seconds = divmod(int(part.uptime_s), 60)
    return (
        part.name,
        str(part.pid or ""),
        state,
        str(part.restarts),
        f"{part.rss_mb:.0f}",
        str(part.port or ""),
        f"{minutes // 60}:{minutes % 60:02}:{seconds:02}" if part.pid else "",
    )


@stack.command()
@click.argument("name")
@data_option
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written from now on.")
@click.option("-n", "--lines", type=click.IntRange(0), default=100, show_default=True, help="How many last lines.")
def logs(name: str, folder: Path, follow: bool, lines: int) -> None:
    """Show the log of a component, or of the supervisor."""
    spec = _existing(folder).spec
    names = ("supervisor", *spec.components)
    if name not in names:
        raise UserError(f"no log of {name!r}; there are {', '.join(names)}")
    path = spec.log_file(name)
    if not path.exists():
        raise UserError(f"{name} has written nothing yet ({path})")
    with path.open(errors="replace") as log:
        for line in log.readlines()[-lines:] if lines else ():
            click.echo(line, nl=False)
        while follow:
            line = log.readline()
            if line:
                click.echo(line, nl=False)
            elif path.stat().st_size < log.tell():  # cut by the supervisor
                log.seek(0)
            else:
                time.sleep(0.2)


@stack.command()
@data_option
def env(folder: Path) -> None:
    """Print the settings of the stack for a shell: eval "$(broadsheet stack env)"."""
    for name, value in _existing(folder).endpoints.to_mapping().items():
        click.echo(f"export {name}={shlex.quote(value)}")
