"""`broadsheet jobs submit | list | stop | cancel`: the jobs on a Flink cluster, over REST.

A job goes on from where it last was (`resume.py`): started from committed offsets alone it would have lost its keyed
state, so that is done only when `--fresh` says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from cli import resume
from cli.errors import UserError
from cli.stack.control import Stack
from cli.stack.layout import CHECKOUT, INSTALLATION
from connectors.flink import FlinkRest, Job, RestError, root_cause
from connectors.objects import ObjectConflictError, ObjectStoreError, S3Objects
from connectors.settings import Endpoints, SettingsError

# In the order in which records flow.
ORDER: tuple[str, ...] = ("poll", "parse", "cluster", "rank")
PREFIX = "broadsheet-"
# From submission until every task runs: a Python worker starts in some 3 s a job, the encoder takes a few more.
START_PATIENCE_S = 90.0


class JobError(Exception):
    """A job is not as asked; the message is one line that says why and what to do."""


# ---------------------------------------------------------------- for programs: the demo, the tests


def submit_job(
    name: str,
    endpoints: Endpoints,
    *,
    profile: str = "default",
    parallelism: int = 1,
    from_savepoint: str | None = None,
    fresh: bool = False,
    allow_dropped_state: bool = False,
    script: Path | None = None,
    arguments: Sequence[str] = (),
) -> str:
    """Submit one job and return Flink's id of it, without waiting for its tasks (`wait_jobs` does).

    `script`: jobs/NAME.py when None. `from_savepoint` None: from where it last was, unless `fresh`.
    Raises JobError when it runs already, its script fails (with the script's own error), or a system does not answer.
    """
    script = script or CHECKOUT / "jobs" / f"{name}.py"
    if not script.exists():
        raise JobError(f"no job {name!r}: there is no {script}")
    flink = FlinkRest(endpoints.flink_rest)
    objects = S3Objects(endpoints)
    try:
        running = flink.live_job(PREFIX + name)
        if running is not None:
            raise JobError(
                f"{name} runs already as {running.id} ({running.state}); `broadsheet jobs stop {name}` first"
            )
        start = from_savepoint or ""
        if not start and not fresh:
            start = asyncio.run(resume.start_from(objects, name, endpoints.s3_bucket))
        job_id = flink.run_python(
            flink.python_jar(_python_jar()),
            script,
            sys.executable,
            ["--profile", profile, "--parallelism", str(parallelism), *arguments],
            parallelism=parallelism,
            savepoint=start or None,
            allow_dropped_state=allow_dropped_state,
        )
        asyncio.run(resume.remember(objects, name, resume.Run(job_id, started_from=start)))
    except RestError as error:
        raise JobError(f"{name}: {_why_refused(flink, error)}") from None
    except (ObjectStoreError, ObjectConflictError) as error:
        raise JobError(f"{name}: the object store does not say where to start from: {error}") from None
    return job_id


def wait_jobs(endpoints: Endpoints, job_ids: Sequence[str], timeout_s: float = START_PATIENCE_S) -> None:
    """Wait until every task of these jobs runs. Raises JobError when one ends instead, or does not start in time."""
    flink = FlinkRest(endpoints.flink_rest)
    deadline = time.monotonic() + timeout_s
    for job_id in job_ids:
        try:
            flink.wait_running(job_id, max(1.0, deadline - time.monotonic()))
        except RestError as error:
            cause = python_error(error.lines) or root_cause(error.lines)
            raise JobError(f"{error}{': ' + cause if cause else ''}{_advice(cause)}") from None


def stop_job(name: str, endpoints: Endpoints) -> str:
    """Stop with a savepoint and return where it lies; the next submit starts from it. Raises JobError."""
    flink = FlinkRest(endpoints.flink_rest)
    try:
        job = _running(flink, name)
        savepoint = flink.stop(job.id)
        asyncio.run(resume.remember(S3Objects(endpoints), name, resume.Run(job.id, savepoint=savepoint)))
    except RestError as error:
        raise JobError(f"{name}: {error} {root_cause(error.lines)}".rstrip()) from None
    except (ObjectStoreError, ObjectConflictError) as error:
        raise JobError(f"{name} stopped, its savepoint is {savepoint}, but this could not be noted: {error}") from None
    return savepoint


def cancel_job(name: str, endpoints: Endpoints) -> None:
    """Cancel without a savepoint; the next submit starts from the last checkpoint. Raises JobError."""
    flink = FlinkRest(endpoints.flink_rest)
    try:
        flink.cancel(_running(flink, name).id)
    except RestError as error:
        raise JobError(f"{name}: {error}") from None


def _running(flink: FlinkRest, name: str) -> Job:
    job = flink.live_job(PREFIX + name)
    if job is None:
        raise JobError(f"{name} does not run (`broadsheet jobs list`)")
    return job


def _python_jar() -> Path:
    found = sorted((INSTALLATION / "flink" / "lib").glob("flink-python-*.jar"))
    if not found:
        raise JobError(f"no flink-python jar in {INSTALLATION / 'flink' / 'lib'}: run `make setup`")
    return found[-1]


# ---------------------------------------------------------------- a script's failure, in one line


def _why_refused(flink: FlinkRest, error: RestError) -> str:
    """The script's own error out of the JobManager's log where it failed, else Flink's root cause."""
    if "Python process exits" not in str(error):
        return f"{error}{_advice(str(error))}"
    try:
        text = flink.jobmanager_log()
    except RestError:
        text = ""
    place = f"`broadsheet stack logs jobmanager`, or {flink.address}/jobmanager/log"
    said = python_error(script_output(text)) or "its script failed and wrote nothing"
    return f"{said} (whole trace: {place})"


def script_output(log: str) -> list[str]:
    """What the last job script wrote, out of a JobManager's log, where each line of it is logged by PythonDriver."""
    lines = re.findall(r"^\S+ \S+ +\w+ +\S*PythonDriver +\S* *- (.*)$", log, re.MULTILINE)
    for number in range(len(lines) - 1, -1, -1):
        if "Python Process Started" in lines[number]:
            lines = lines[number + 1 :]
            break
    return [line for line in lines if "Python Process Exited" not in line and line != "Run python process failed"]


def python_error(lines: Sequence[str]) -> str:
    """The last Python exception in a text, as one line; with its root cause where Java raised it. Empty: none."""
    starts = [number for number, line in enumerate(lines) if "Traceback (most recent call last)" in line]
    after = lines[starts[-1] + 1 :] if starts else lines
    # Frames and source lines are indented; the exception's own line is not.
    for number, line in enumerate(after):
        if re.match(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt|Exit|Warning)\b", line):
            if "Py4JJavaError" in line:
                java = [part.removeprefix(": ") for part in after[number + 1 :]]
                return root_cause(java) or line.strip()
            return line.strip()
    return after[-1].strip() if starts and after else ""


def _advice(cause: str) -> str:
    """What to do about a refusal that a user can do something about."""
    if "allowNonRestoredState" in cause or "Cannot map checkpoint/savepoint state" in cause:
        return "; --allow-dropped-state starts without the state that has no operator any more, --fresh without any"
    if "NoResourceAvailable" in cause or "Could not acquire the minimum required resources" in cause:
        return "; the cluster has too few free slots (`broadsheet stack up --slots N`)"
    return ""


# ---------------------------------------------------------------- the command


@click.group()
def jobs() -> None:
    """Submit, stop and list the Flink jobs."""


def _endpoints() -> Endpoints:
    try:
        return Endpoints.from_mapping(os.environ)
    except SettingsError as error:
        raise UserError(str(error)) from None


def _profile(endpoints: Endpoints) -> str:
    """What this checkout's stack was brought up with, where the settings lead to its cluster; else the setting."""
    existing = Stack.existing()
    if existing is not None and existing.endpoints.flink_rest == endpoints.flink_rest:
        return existing.spec.profile
    return endpoints.profile


def _each(names: tuple[str, ...], everything: bool, do: Callable[[str], str]) -> None:
    """Do it for the named jobs, or for all in order; a failure is one line and ends the command."""
    if bool(names) == everything:
        raise UserError("name one or more jobs, or say --all")
    for name in names or ORDER:
        try:
            click.echo(do(name))
        except JobError as error:
            raise UserError(str(error)) from None


ALL = click.option("--all", "everything", is_flag=True, help=f"All jobs, in order: {', '.join(ORDER)}.")
NAMES = click.argument("names", nargs=-1)


@jobs.command()
@NAMES
@ALL
@click.option("--from-savepoint", metavar="PATH", help="Start from this savepoint or checkpoint.")
@click.option("--fresh", is_flag=True, help="Start with empty state, whatever earlier runs left.")
@click.option("--allow-dropped-state", is_flag=True, help="Drop state whose operator the job no longer has.")
@click.option("--parallelism", type=click.IntRange(1, 128), default=1, show_default=True)
@click.option("--profile", help="Policy values: default or demo. [default: the stack's]")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until every task runs.")
def submit(
    names: tuple[str, ...],
    everything: bool,
    from_savepoint: str | None,
    fresh: bool,
    allow_dropped_state: bool,
    parallelism: int,
    profile: str | None,
    wait: bool,
) -> None:
    """Start jobs: from where they last were, unless told otherwise."""
    endpoints = _endpoints()
    if from_savepoint and (everything or len(names) > 1):
        raise UserError("--from-savepoint is one job's: name that job")
    started: list[str] = []

    def one(name: str) -> str:
        job_id = submit_job(
            name,
            endpoints,
            profile=profile or _profile(endpoints),
            parallelism=parallelism,
            from_savepoint=from_savepoint,
            fresh=fresh,
            allow_dropped_state=allow_dropped_state,
        )
        started.append(job_id)
        return f"{name}: submitted as {job_id}"

    _each(names, everything, one)
    if wait:
        try:
            wait_jobs(endpoints, started)
        except JobError as error:
            raise UserError(str(error)) from None
        click.echo("all tasks run")


@jobs.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def list_jobs(as_json: bool) -> None:
    """Show the jobs that the cluster knows, the newest run of each name first."""
    try:
        found = FlinkRest(_endpoints().flink_rest).jobs()
    except RestError as error:
        raise UserError(str(error)) from None
    if as_json:
        keys = ("id", "name", "state", "started_ms", "running_tasks", "tasks")
        click.echo(json.dumps({"jobs": [{key: getattr(job, key) for key in keys} for job in found]}))
        return
    table = Table("job", "state", "tasks", "up", "id")
    for job in found:
        up = f"{(time.time() - job.started_ms / 1000) / 60:.1f} min" if job.live else ""
        table.add_row(job.name.removeprefix(PREFIX), job.state, f"{job.running_tasks}/{job.tasks}", up, job.id)
    Console().print(table)


@jobs.command()
@NAMES
@ALL
def stop(names: tuple[str, ...], everything: bool) -> None:
    """Stop jobs with a savepoint each, from which the next submit starts."""
    endpoints = _endpoints()
    _each(names, everything, lambda name: f"{name}: stopped, savepoint {stop_job(name, endpoints)}")


@jobs.command()
@NAMES
@ALL
def cancel(names: tuple[str, ...], everything: bool) -> None:
    """Cancel jobs at once; the next submit starts from the last checkpoint."""
    endpoints = _endpoints()

    def one(name: str) -> str:
        cancel_job(name, endpoints)
        return f"{name}: cancelled"

    _each(names, everything, one)
