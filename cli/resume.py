"""Where a job starts from: the savepoint that a stop left, else the last checkpoint of its last run.

Remembered as one object a job (`flink/jobs/NAME` in the store), so that it outlives the cluster, whose own memory of
its jobs ends with its JobManager. Decides only which path; `jobs.py` acts on it.
"""

from __future__ import annotations

import re

import msgspec

from connectors.objects import Objects

CHECKPOINTS = "flink/checkpoints"


class Run(msgspec.Struct, frozen=True):
    """The last run of a job: Flink's id of it, what it was started from, and the savepoint its stop left."""

    job_id: str
    started_from: str = ""
    savepoint: str = ""


def _key(name: str) -> str:
    return f"flink/jobs/{name}"


async def last_run(objects: Objects, name: str) -> Run | None:
    """What is remembered of the job; None when it never ran. Raises ObjectStoreError."""
    found = await objects.get(_key(name))
    return msgspec.json.decode(found.data, type=Run) if found else None


async def remember(objects: Objects, name: str, run: Run) -> None:
    """Replace what is remembered of the job. Raises ObjectStoreError; ObjectConflictError when another command did."""
    found = await objects.get(_key(name))
    data = msgspec.json.encode(run)
    if found is None:
        await objects.create(_key(name), data)
    elif found.data != data:
        await objects.replace(_key(name), data, found.etag)


async def start_from(objects: Objects, name: str, bucket: str) -> str:
    """The path to start the job from; empty when it never ran, or never completed a checkpoint.

    A run that ended before its first checkpoint was started from something itself: that is still the newest state.
    """
    run = await last_run(objects, name)
    if run is None:
        return ""
    if run.savepoint:
        return run.savepoint
    newest = newest_checkpoint([entry.key for entry in await objects.list(f"{CHECKPOINTS}/{run.job_id}/")])
    return f"s3://{bucket}/{newest}" if newest else run.started_from


def newest_checkpoint(keys: list[str]) -> str:
    """The folder of the newest completed checkpoint among a run's objects: the one whose `_metadata` was written."""
    complete = [match for key in keys if (match := re.fullmatch(r"(.*/chk-(\d+))/_metadata", key))]
    return max(complete, key=lambda match: int(match[2]))[1] if complete else ""
