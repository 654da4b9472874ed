"""The parts of a running line that demo, live and end-to-end tests share: its jobs, a press to read, its sources."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.errors import UserError
from cli.jobs import ORDER, submit_job, wait_jobs
from cli.stack.control import Stack, port_free
from connectors.settings import Endpoints


def command(*arguments: str) -> list[str]:
    """The `broadsheet` of this very installation."""
    return [str(Path(sys.executable).with_name("broadsheet")), *arguments]


def start_jobs(endpoints: Endpoints, profile: str, say: Callable[[str], None]) -> list[str]:
    """Submit every job and wait until all their tasks run; Flink's ids of them. Raises JobError."""
    began = time.monotonic()
    ids = []
    for name in ORDER:
        ids.append(submit_job(name, endpoints, profile=profile))
        say(f"job {name} submitted ({time.monotonic() - began:.1f} s)")
    wait_jobs(endpoints, ids)
    say(f"all jobs run ({time.monotonic() - began:.1f} s)")
    return ids


def refuse_second(folder: Path) -> None:
    """Raise UserError where a stack runs in this folder: to go on would take its data, and its end, from it."""
    running = Stack.existing(folder)
    if running is not None and running.status().up:
        raise UserError(f"it runs already, with its data in {folder}: end that one first")


def refuse_taken(press_port: int) -> None:
    """Raise UserError where something listens on the press's port already, before anything is started."""
    if not port_free(press_port):
        raise UserError(f"port {press_port} is taken: choose another with --press-port")


@contextmanager
def press(*arguments: str) -> Iterator[str]:
    """`broadsheet press serve` with these arguments as a process of its own; yields where it tells its truth.

    Raises UserError with the press's own line when it does not start.
    """
    process = subprocess.Popen(
        command("press", "serve", *arguments), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        first = process.stderr.readline().strip()
        if not first.endswith("/_press/status"):
            raise UserError(first.removeprefix("broadsheet: ") or "the press did not start")
        yield first.removeprefix("press: ")
    finally:
        process.terminate()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def import_sources(endpoints: Endpoints, *arguments: str) -> None:
    """Register the feeds of the press with these arguments. Raises UserError."""
    listed = subprocess.run(command("press", "sources", *arguments), capture_output=True, text=True, check=False)
    if listed.returncode:
        raise UserError(listed.stderr.strip().removeprefix("broadsheet: "))
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(listed.stdout)
        file.flush()
        import_file(endpoints, Path(file.name))


def import_file(endpoints: Endpoints, file: Path) -> None:
    """Register the feeds of a CSV file. Raises UserError."""
    done = subprocess.run(
        command("sources", "import", str(file)),
        env=os.environ | endpoints.to_mapping(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UserError(done.stderr.strip().removeprefix("broadsheet: "))
