"""`broadsheet bench poll`: the poll job on a real cluster with its rows in RocksDB, in four phases.

fill: every feed is registered and met with its first document. busy: all are due again within seconds, and the job does
what it can; then its TaskManager is killed. outage: the job was stopped while every feed fell due, and goes on with the
default profile. Phases differ in the profile's numbers alone, never in code. Reading order: poll, Run and its phases,
Hour, figures.
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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
from rich.console import Console

from cli.bench import Figure, bench, cpu_seconds, show
from cli.bench_answerer import SHARDS, Answerer
from cli.bench_feeds import source
from cli.errors import UserError
from cli.jobs import JobError, stop_job, submit_job, wait_jobs
from cli.stack.control import Stack, StackError, free_ports
from cli.stack.layout import CHECKOUT
from connectors.flink import FlinkRest, RestError
from connectors.kafka import KafkaClientError, Producer
from connectors.objects import ObjectStoreError, S3Objects
from connectors.settings import Endpoints
from state_schemas.codec import encode_record
from state_schemas.topics import SOURCES

PORT_BASE = 31_100
KEYED_BY_FEED = CHECKOUT / "benchmarks" / "poll_keyed_by_feed.py"
# What the job is meant to reach; docs/bench-poll.md says what it does.
GOALS = {
    "polls_per_second_per_core": 1_000.0,
    "state_bytes_per_feed": 3_000.0,
    "worker_memory": 1.0,
    "restore_seconds": 30.0,
}
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
"""


@bench.command("poll")
@click.option("--feeds", default=200_000, show_default=True, type=click.IntRange(1_000, 1_000_000))
@click.option("--minutes-after-outage", default=10.0, show_default=True, type=click.FloatRange(0, 120))
@click.option("--alternative", is_flag=True, help="Also measure a job with a Flink key and a timer a feed.")
@click.option(
    "--alternative-feeds", default=10_000, show_default=True, type=click.IntRange(1_000, 1_000_000), help="Of that job."
)
@click.option("--json", "as_json", is_flag=True)
def poll(feeds: int, minutes_after_outage: float, alternative: bool, alternative_feeds: int, as_json: bool) -> None:
    """Polls a second a core, state, memory, restore, and what follows an outage in which every feed fell due.

    Answers come from a process of their own: 78 % say 304, 20 % bring a document with news, 2 % fail.
    """
    console = Console(stderr=True)
    main = _measured("poll", None, feeds, minutes_after_outage, console)
    other: dict[str, float] = {}
    if alternative:
        console.print("a key and a timer a feed:", highlight=False)
        other = _measured("poll-keyed", KEYED_BY_FEED, alternative_feeds, None, console)
    show(figures(main, other, alternative_feeds), as_json)


def _measured(
    job: str, script: Path | None, feeds: int, minutes_after_outage: float | None, console: Console
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
                with Answerer(stack.endpoints, start_ms) as answerer:
                    run = Run(stack, answerer, job, script, feeds, fill_ms, start_ms, console)
                    run.fill()
                    run.busy()
                    run.kill()
                    if minutes_after_outage is not None:
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
        before, began = self.answerer.ask("counts"), time.monotonic()
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
            "page_requests_per_second": (after["pages"] - before["pages"]) / took,
            "worker_memory_busy": self._worker_gb(),
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

    def outage(self, minutes: float) -> None:
        """Stopped until every feed is due, then on with the default profile."""
        savepoint = stop_job(self.job, self.stack.endpoints)
        self.found["state_bytes_per_feed_later"] = self._size(savepoint) / self.feeds
        wait = max(0.0, (self._all_due_ms - now_ms()) / 1000) + 15
        self._say(f"stopped for {wait:.0f} s, until every feed is due ...")
        time.sleep(wait)
        self.answerer.ask(f"mark {now_ms()}")
        self._submit("default")
        self._back(now_ms(), "resume")
        hour = Hour()
        ends = time.monotonic() + 60 * minutes
        while time.monotonic() < ends:
            time.sleep(min(METRICS_S, max(0.1, ends - time.monotonic())))
            read = self.answers_now()
            counts = self.answerer.ask("counts")
            hour.sample(read, counts["answered"])
            completed = self._flink.completed_checkpoints(self._job_id)
            if counts["feeds"] >= 0.995 * self.feeds and completed >= 2 and len(hour.rates) >= 6:
                break
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

    def _worker_gb(self) -> float:
        part = self.stack.status().component("taskmanager")
        return sum(p.rss_mb for p in part.processes if p.what == "Python worker") / 1024 if part else 0.0

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


@dataclass
class Hour:
    """What followed an outage. rates: results the job read a second, between samples."""

    rates: list[float] = field(default_factory=list)
    unread: int = 0
    _last: tuple[float, int] | None = None

    def sample(self, read: int, answered: int) -> None:
        """Note how many results were read and answered so far."""
        at = time.monotonic()
        if self._last is not None and at > self._last[0]:
            self.rates.append((read - self._last[1]) / (at - self._last[0]))
        self._last = (at, read)
        self.unread = max(0, answered - read)

    def values(self, releases: dict[str, Any], checkpoints: Mapping[str, Any], feeds: int) -> dict[str, float]:
        """The figures of the time after an outage."""
        authoritative, tail = releases["authoritative"], releases["tail"]
        seconds = {int(second): count for second, count in releases["by_second"].items()}
        first, last = min(seconds, default=0), max(seconds, default=0)
        # The seconds at both ends are cut; a shard's saved budget goes out in the first ones.
        whole = [seconds.get(second, 0) for second in range(first + 1, last)]
        durations = sorted(
            entry["end_to_end_duration"] / 1000 for entry in checkpoints["history"] if entry["status"] == "COMPLETED"
        )
        enough = authoritative[int(0.99 * (len(authoritative) - 1))] if authoritative else first * 1000
        before = sum(1 for at in tail if at < enough)
        return {
            "outage_releases_per_second": sum(whole) / max(1, len(whole)),
            "outage_releases_per_second_max_10s": max(
                (sum(whole[place : place + 10]) / 10 for place in range(max(1, len(whole) - 9))), default=0.0
            ),
            "outage_feeds_released_share": (len(authoritative) + len(tail)) / feeds,
            "outage_seconds": last - first,
            "outage_results_per_second_least": min(self.rates[1:] or self.rates, default=0.0),
            "outage_results_per_second": sum(self.rates) / max(1, len(self.rates)),
            "outage_results_unread": self.unread,
            "outage_checkpoints": checkpoints["counts"]["completed"],
            "outage_checkpoints_failed": checkpoints["counts"]["failed"],
            "outage_checkpoint_p50": durations[len(durations) // 2] if durations else 0.0,
            "outage_checkpoint_max": durations[-1] if durations else 0.0,
            "outage_authoritative_feeds": len(authoritative),
            "outage_authoritative_99_seconds": enough / 1000 - first,
            "outage_tail_first_seconds": (tail[0] / 1000 - first) if tail else 0.0,
            "outage_tail_share_before_authoritative": before / max(1, len(tail)),
        }


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


def unit_of(name: str) -> str:
    """The unit that a figure's name tells."""
    if "_per_second" in name:
        return "1/s"
    if "bytes" in name:
        return "bytes"
    if "memory" in name:
        return "GB"
    if "seconds" in name or "checkpoint_" in name:
        return "s"
    return "" if "share" in name or "per_poll" in name else "cores" if "cores" in name else "number"


def figures(main: dict[str, float], other: dict[str, float], other_feeds: int) -> list[Figure]:
    """Every value with its unit, beside the alternative's where it was measured, else beside the goal."""
    found = []
    for name, value in main.items():
        against, against_value = "", None
        if name in other:
            against, against_value = f"a key and timer a feed ({other_feeds} feeds)", other[name]
        elif name in GOALS:
            against, against_value = "goal", GOALS[name]
        ratio = None
        if against_value and value:
            more_is_better = "_per_second" in name
            ratio = value / against_value if more_is_better else against_value / value
        found.append(Figure(name, value, unit_of(name), against, against_value, ratio))
    return found
