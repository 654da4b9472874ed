"""`broadsheet bench poll`: the poll job on a real cluster with its rows in RocksDB, in phases.

fill: every feed is registered and met with its first document. busy: all are due again within seconds, and the job does
what it can. kill: its TaskManager is killed. drain: without a budget it reads what is unread, until every feed is due.
outage: it was stopped so, and goes on with the default profile. Phases differ in the profile's numbers alone, never in
code. Reading order: poll, Run and its phases; bench_poll_figures.py has the figures.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import psutil
from rich.console import Console

from cli.bench import bench, cpu_seconds, show
from cli.bench_answerer import SHARDS, Answerer
from cli.bench_feeds import source
from cli.bench_poll_figures import Hour, checkpoint_s, figures
from cli.errors import UserError
from cli.jobs import JobError, stop_job, submit_job, wait_jobs
from cli.stack.control import Stack, StackError, free_ports
from cli.stack.layout import CHECKOUT
from connectors.flink import FlinkRest, RestError
from connectors.kafka import KafkaClientError, Producer, group_lag
from connectors.objects import ObjectStoreError, S3Objects
from connectors.settings import Endpoints
from state_schemas.codec import encode_record
from state_schemas.topics import FEEDS_FETCHED, SOURCES

PORT_BASE = 31_100
KEYED_BY_FEED = CHECKOUT / "benchmarks" / "poll_keyed_by_feed.py"
BUSY_S = 60.0
METRICS_S = 11.0  # between two looks at the job's counters, which the JobManager keeps for ten
PATIENCE_S = 240.0  # without any progress

PROFILES = """
[bench_fill.poll]
audit_authoritative = 0
audit_tail = 0
budget_per_s = 1e9
floor_authoritative_ms = {fill_ms}
floor_tail_ms = {fill_ms}
ceiling_ms = {fill_ms}

[bench_busy.poll]
audit_authoritative = 0
audit_tail = 0
budget_per_s = 1e9
floor_authoritative_ms = {busy_ms}
floor_tail_ms = {busy_ms}
ceiling_ms = {busy_ms}

[bench_drain.poll]
audit_authoritative = 0
audit_tail = 0
budget_per_s = 1e-9
floor_authoritative_ms = 1000
floor_tail_ms = 1000
ceiling_ms = 1000
"""


@bench.command("poll")
@click.option("--feeds", default=200_000, show_default=True, type=click.IntRange(1_000, 1_000_000))
@click.option("--minutes-after-outage", default=10.0, show_default=True, type=click.FloatRange(0, 120))
@click.option(
    "--bodies", default=0.20, show_default=True, type=click.FloatRange(0, 0.9), help="Share of answers with news."
)
@click.option("--alternative", is_flag=True, help="Also measure a job with a Flink key and a timer a feed.")
@click.option(
    "--alternative-feeds", default=10_000, show_default=True, type=click.IntRange(1_000, 1_000_000), help="Of that job."
)
@click.option("--json", "as_json", is_flag=True)
def poll(
    feeds: int,
    minutes_after_outage: float,
    bodies: float,
    alternative: bool,
    alternative_feeds: int,
    as_json: bool,
) -> None:
    """Polls a second a core, state, memory, restore, and what follows an outage in which every feed fell due.

    Answers come from a process of their own: documents with one to three new items, 2 % failures, the rest says 304.
    """
    console = Console(stderr=True)
    main = _measured("poll", None, feeds, minutes_after_outage, bodies, console)
    other: dict[str, float] = {}
    if alternative:
        console.print("a key and a timer a feed:", highlight=False)
        other = _measured("poll-keyed", KEYED_BY_FEED, alternative_feeds, None, bodies, console)
    show(figures(main, other, alternative_feeds), as_json)


def _measured(
    job: str, script: Path | None, feeds: int, minutes_after_outage: float | None, bodies: float, console: Console
) -> dict[str, float]:
    """All phases on a stack of their own; without the outage where `minutes_after_outage` is None."""
    with tempfile.TemporaryDirectory() as folder:
        fill_ms, busy_ms = max(60_000, 2 * feeds), min(10_000, max(500, feeds // 4))
        data = Path(folder) / "reference_data"
        shutil.copytree(Endpoints().reference_data_folder(), data)
        with (data / "profiles.toml").open("a") as profiles:
            profiles.write(PROFILES.format(fill_ms=fill_ms, busy_ms=busy_ms))
        try:
            ports, _ = free_ports(PORT_BASE)
            stack = Stack(Path(folder) / "stack", ports, "default", given=Endpoints(reference_data=str(data)), slots=2)
            try:
                stack.up(("kafka", "s3", "flink"), owned=True)
                start_ms = now_ms()
                with Answerer(stack.endpoints, start_ms, bodies) as answerer:
                    run = Run(stack, answerer, job, script, feeds, fill_ms, start_ms, console)
                    run.fill()
                    run.busy()
                    run.kill()
                    if minutes_after_outage is not None:
                        run.drain()
                        run.outage(minutes_after_outage)
                    return run.found
            finally:
                stack.down()
        except (StackError, JobError, KafkaClientError, RestError, ObjectStoreError) as error:
            raise UserError(str(error)) from None


def now_ms() -> int:
    """This machine's clock, ms UTC."""
    return time.time_ns() // 1_000_000


@dataclass
class Run:
    """One job under measurement; `found` are the values by name."""

    stack: Stack
    answerer: Answerer
    job: str
    script: Path | None
    feeds: int
    fill_ms: int
    start_ms: int
    console: Console
    found: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._flink = FlinkRest(self.stack.endpoints.flink_rest)
        self._job_id = ""

    # ------------------------------------------------------------ phases

    def fill(self) -> None:
        """Register every feed and meet it with its first document."""
        self._submit("bench_fill", fresh=True)
        began = time.monotonic()
        with Producer(self.stack.endpoints, "bench", linger_ms=20) as producer:
            for number in range(self.feeds):
                one = source(number, self.start_ms)
                producer.send(SOURCES, one.feed_id, encode_record(one))
        self._say(f"{self.feeds} feeds sent in {time.monotonic() - began:.0f} s; their first documents ...")
        self._until(lambda: self.answers() >= self.feeds, self.answers, "first documents")
        took = time.monotonic() - began
        self.found["first_documents_per_second"] = self.feeds / took
        self._all_due_ms = now_ms() + self.fill_ms
        savepoint = stop_job(self.job, self.stack.endpoints)
        self.found["state_bytes_per_feed"] = self._size(savepoint) / self.feeds
        self._say(f"filled in {took:.0f} s, {self.found['state_bytes_per_feed']:.0f} bytes a feed in the savepoint")

    def busy(self) -> None:
        """Polls as fast as they go: every feed is due again soon after its answer."""
        due_s = (self._all_due_ms - now_ms()) / 1000 - self.feeds / max(1.0, self.found["first_documents_per_second"])
        time.sleep(max(0.0, due_s))
        self._submit("bench_busy")
        time.sleep(30 + self.feeds / 10_000)
        polled = self.answers_now()
        before, began, python = self.answerer.ask("counts"), time.monotonic(), self._worker_cpu_s()
        with cpu_seconds(self.stack) as used:
            time.sleep(BUSY_S)
            after, took, spent = self.answerer.ask("counts"), time.monotonic() - began, used()
        results = self.answers_now() - polled
        released = after["released"] - before["released"]
        done = min(results, released)
        self.found |= {
            "polls_per_second_per_core": done / spent,
            "polls_per_second": done / took,
            "releases_per_poll": released / max(1, results),
            "cpu_cores_used": spent / took,
            "cpu_cores_used_by_python": (self._worker_cpu_s() - python) / took,
            "page_requests_per_second": (after["pages"] - before["pages"]) / took,
            "worker_memory_busy": self._worker_gb(),
            "busy_checkpoint_max": checkpoint_s(self._flink.checkpoints(self._job_id), "max"),
        }
        self._say(f"{done / took:.0f} polls a second with {spent / took:.2f} cores")

    def kill(self) -> None:
        """kill -9 of the TaskManager: how long until the job is back."""
        self._until(
            lambda: self._flink.completed_checkpoints(self._job_id) > 0,
            lambda: self._flink.completed_checkpoints(self._job_id),
            "a checkpoint",
        )
        os.kill(self.stack.pid("taskmanager"), signal.SIGKILL)
        killed = now_ms()
        # What is still on its way into the broker is not yet the restored job's.
        self.answerer.ask(f"mark {killed + 500}")
        self._until(lambda: not self._runs(), lambda: 0, "the failure to be noticed")
        self._until(self._runs, lambda: 0, "the job to run again")
        back = self._back(now_ms(), "restore")
        self.found["killed_restore_seconds"] = (back - killed) / 1000
        self._say(f"all shards back {self.found['killed_restore_seconds']:.1f} s after kill -9")

    def drain(self) -> None:
        """Read every answer and release nothing: afterwards all feeds are due but those that failed lately."""
        stop_job(self.job, self.stack.endpoints)
        self._submit("bench_drain")
        self._until(lambda: self._unread() == 0, self._unread, "answers to be read")
        savepoint = stop_job(self.job, self.stack.endpoints)
        self.found["state_bytes_per_feed_later"] = self._size(savepoint) / self.feeds
        self._say("stopped; every feed is due ...")

    def outage(self, minutes: float) -> None:
        """On from the drained savepoint with the default profile."""
        self.answerer.ask(f"mark {now_ms()}")
        self._submit("default")
        hour = Hour()
        hour.sample(time.monotonic(), 0, 0)
        self._back(now_ms(), "resume")
        ends = time.monotonic() + 60 * minutes
        cleared = False
        while time.monotonic() < ends and not (cleared and self._flink.completed_checkpoints(self._job_id) >= 2):
            time.sleep(min(METRICS_S, max(0.1, ends - time.monotonic())))
            if not cleared:
                read, counts = self.answers_now(), self.answerer.ask("counts")
                hour.sample(time.monotonic(), read, counts["answered"])
                # Those that fail wait for their back-off, and are not due.
                cleared = counts["feeds"] >= 0.99 * self.feeds
        hour.end()
        for entry in self._flink.checkpoints(self._job_id)["history"]:
            if entry["status"] == "FAILED":
                self._say(f"checkpoint {entry['id']} failed: {entry.get('failure_message')}")
        self.found |= hour.values(self.answerer.ask("releases"), self._flink.checkpoints(self._job_id), self.feeds)
        self.found["worker_memory"] = self._worker_gb()

    # ------------------------------------------------------------ parts

    def _submit(self, profile: str, *, fresh: bool = False) -> None:
        endpoints = self.stack.endpoints
        self._job_id = submit_job(self.job, endpoints, profile=profile, fresh=fresh, script=self.script)
        wait_jobs(endpoints, [self._job_id])

    def _runs(self) -> bool:
        with suppress(RestError):
            return any(job.id == self._job_id and job.running for job in self._flink.jobs())
        return False

    def _back(self, running_ms: int, name: str) -> int:
        """Wait until every shard has released; when that was. Seconds count from when every task ran."""
        shards = min(SHARDS, self.feeds // 4)
        self._until(
            lambda: self.answerer.ask("counts")["shards"] >= shards,
            lambda: self.answerer.ask("counts")["shards"],
            "shards to release again (one whose timer was lost never does)",
        )
        counts = self.answerer.ask("counts")
        self.found[f"{name}_first_request_seconds"] = max(0.0, (counts["first_ms"] - running_ms) / 1000)
        self.found[f"{name}_seconds"] = max(0.0, (counts["shards_ms"] - running_ms) / 1000)
        return int(counts["shards_ms"])

    def answers(self) -> int:
        """Results that the job has read since it was submitted or restored, by its own counter; up to 10 s old."""
        return counter(self.stack.endpoints, self._job_id, ".answers")

    def answers_now(self) -> int:
        """The same, not older than a second: the JobManager fetches metrics every ten, when it is asked for them."""
        self.answers()
        time.sleep(1)
        return self.answers()

    def _unread(self) -> int:
        """Answers that the job has not read, as of its last checkpoint; -1 before its first."""
        if not self._flink.completed_checkpoints(self._job_id):
            return -1
        lags = group_lag(self.stack.endpoints, f"broadsheet-{self.job}")
        return sum(lag.lag for lag in lags if lag.topic == FEEDS_FETCHED.name)

    def _worker_gb(self) -> float:
        part = self.stack.status().component("taskmanager")
        return sum(p.rss_mb for p in part.processes if p.what == "Python worker") / 1024 if part else 0.0

    def _worker_cpu_s(self) -> float:
        """CPU seconds of the Python workers so far."""
        times = [psutil.Process(pid).cpu_times() for pid in self.stack.python_workers()]  # type: ignore[no-untyped-call]
        return float(sum(each.user + each.system for each in times))

    def _size(self, savepoint: str) -> int:
        """Bytes of all files of a savepoint."""
        endpoints = self.stack.endpoints
        prefix = savepoint.split(f"{endpoints.s3_bucket}/", 1)[1].rstrip("/") + "/"
        return sum(entry.size for entry in asyncio.run(S3Objects(endpoints).list(prefix)))

    def _until(self, done: Callable[[], bool], progress: Callable[[], int], what: str) -> None:
        """Wait. Raises JobError when nothing moves for long."""
        last, moved = -1, time.monotonic()
        while not done():
            at = progress()
            if at != last:
                last, moved = at, time.monotonic()
            if time.monotonic() - moved > PATIENCE_S:
                raise JobError(f"{self.job}: waiting for {what} stands still at {last}")
            time.sleep(0.25)

    def _say(self, line: str) -> None:
        self.console.print(f"{self.job}: {line}", highlight=False)


def counter(endpoints: Endpoints, job_id: str, name: str) -> int:
    """A counter of the poll operator, added up over its subtasks; 0 while there is none."""

    def get(path: str) -> Any:
        with urllib.request.urlopen(f"{endpoints.flink_rest}/jobs/{job_id}{path}", timeout=30) as answer:
            return json.loads(answer.read())

    total = 0.0
    with suppress(OSError, KeyError, ValueError):
        for vertex in get("")["vertices"]:
            path = f"/vertices/{vertex['id']}/subtasks/metrics"
            known = [quote(entry["id"]) for entry in get(path) if entry["id"].endswith(name)]
            if known:
                total += sum(entry["sum"] for entry in get(f"{path}?get={','.join(known)}&agg=sum"))
    return int(total)
