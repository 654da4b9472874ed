"""What parse's memory of articles costs: bytes a row in RocksDB, how it grows, what a checkpoint and an event take.

    .venv/bin/python benchmarks/article_rows.py [--rows 1000000] [--parallelism 1] [--json]

The operator itself (Decide, 4,096 shards) on a cluster of its own, fed by a sequence: each article once, and from then
on the same ones again. Rates are of the whole of that job, generator included. A point is taken when a checkpoint
completes past a quarter, half and all of the rows, and one more when a tenth has come again. State: as Flink gives the
checkpoint's full size; disk: RocksDB's files; CPU: of the Python workers, per event. Takes some ten minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import psutil
from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import CheckpointingMode, FlatMapFunction, ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

from cli.jobs import submit_job, wait_jobs
from cli.stack import Ports, Stack, free_ports
from cli.stack.control import FIRST_FREE
from connectors.flink import FlinkRest
from connectors.kafka_flink import KEYED, first
from state_schemas.articles import Article
from state_schemas.codec import dump_state
from state_schemas.ids import article_id
from udfs.articles import events
from udfs.articles.events import Reading
from udfs.articles.identity import decide
from udfs.articles.operator import BYTES, Decide, shard_of
from udfs.articles.policy import ArticlesPolicy

JOB = "article-rows"
CHECKPOINT_MS = 5_000
NOW_MS = 1_796_000_000_000
_SCOPE = ".broadsheet.parse."


def reading(number: int) -> Reading:
    """One article as parse decides on it; the text is short, for no row holds it."""
    url = f"https://daily-{number % 997}.example/2026/11/30/article-{number}"
    article = Article(
        article_id=article_id(url.removeprefix("https://")),
        language=("en", "de", "es", "fr", "ja")[number % 5],
        version=0,
        event="new",
        canonical_url=url,
        publisher=f"daily-{number % 997}.example",
        title=f"Harbour board closes lock {number}",
        lede=f"A crack was found in gate {number}.",
        labels=("opinion",) if number % 10 == 0 else (),
        first_seen_ms=NOW_MS + number,
        found_ms=NOW_MS + number,
        published_ms=NOW_MS + number - 600_000,
        decided_ms=0,
        parser_version="1",
    )
    return Reading(article=article, body=f"Text {number}. " * 4, read_ms=NOW_MS + number, from_page=True)


class Generate(FlatMapFunction):
    """Number -> (shard, packed Reading); from `rows` on the articles come again."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def flat_map(self, value: int) -> Iterator[tuple[str, bytes]]:
        event = reading(value % self._rows)
        yield shard_of(event.article.article_id), events.pack_event(event)  # a module, for it goes by name


class Drop(ProcessFunction):
    """Where the decisions end."""

    def process_element(self, value: bytes, ctx: ProcessFunction.Context) -> Iterator[Any]:
        return iter(())


def job(argv: list[str]) -> None:
    """The graph, submitted to the cluster this script was sent to."""
    options = argparse.ArgumentParser()
    options.add_argument("--profile")
    options.add_argument("--parallelism", type=int, default=1)
    options.add_argument("--rows", type=int, required=True)
    chosen = options.parse_args(argv)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(chosen.parallelism)
    env.set_max_parallelism(128)
    env.enable_checkpointing(CHECKPOINT_MS, CheckpointingMode.EXACTLY_ONCE)
    numbers = env.from_source(
        NumberSequenceSource(0, 100 * chosen.rows), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    keyed = numbers.flat_map(Generate(chosen.rows), output_type=KEYED).uid("rows-generate")
    decided = (
        keyed.key_by(first, key_type=Types.STRING())
        .process(Decide(ArticlesPolicy()), output_type=BYTES)
        .uid("rows-decide")
    )
    decided.process(Drop(), output_type=BYTES).uid("rows-drop")
    env.execute(f"broadsheet-{JOB}")


@dataclass(frozen=True, slots=True)
class Point:
    """The job at one checkpoint. rows: decided as new; again: met again. Rates and CPU: since the point before."""

    rows: int
    again: int
    state_mb: float
    bytes_a_row: float
    uploaded_mb: float
    checkpoint_ms: int
    disk_mb: float
    events_per_s: float
    cpu_us_an_event: float
    worker_mb: float


def measure(rows: int, parallelism: int, say: Any) -> list[Point]:
    """Run it on a stack of its own, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        ports, _ = free_ports(FIRST_FREE)
        stack = Stack(Path(folder), Ports.from_base(ports.kafka), slots=parallelism)
        try:
            stack.up(("kafka", "s3", "flink"), owned=True)
            submitted = submit_job(
                JOB, stack.endpoints, parallelism=parallelism, fresh=True, script=Path(__file__).resolve(),
                arguments=("--rows", str(rows)),
            )  # fmt: skip
            wait_jobs(stack.endpoints, [submitted])
            points = []
            for point in _points(stack, submitted, rows, say):
                say(json.dumps(asdict(point)))  # a run that is stopped has shown what it knew
                points.append(point)
            return points
        finally:
            stack.down()


def _points(stack: Stack, job_id: str, rows: int, say: Any) -> Iterator[Point]:
    flink = FlinkRest(stack.endpoints.flink_rest)
    wanted = [(rows // 4, 0), (rows // 2, 0), (rows, 0), (rows, rows // 10)]
    seen, before = 0, (time.monotonic(), _cpu_s(stack), 0)
    while wanted:
        time.sleep(1)
        found = flink.checkpoints(job_id)["latest"].get("completed")
        if found is None or found["id"] == seen:
            continue
        counts = flink.totals(job_id, _SCOPE)
        new, again = int(counts.get("new", 0)), int(counts.get("duplicate", 0))
        if seen == 0 or new + again == 0:
            before = (time.monotonic(), _cpu_s(stack), new + again)  # the start is not measured
        seen = found["id"]
        say(f"{new} rows, {again} again, {found['state_size'] / 1e6:.1f} MB")
        if new < wanted[0][0] or again < wanted[0][1]:
            continue
        wanted.pop(0)
        now = (time.monotonic(), _cpu_s(stack), new + again)
        met = max(1, now[2] - before[2])
        yield Point(
            rows=new,
            again=again,
            state_mb=round(found["state_size"] / 1e6, 1),
            bytes_a_row=round(found["state_size"] / max(1, new), 1),
            uploaded_mb=round(found["checkpointed_size"] / 1e6, 1),
            checkpoint_ms=int(found["end_to_end_duration"]),
            disk_mb=round(_disk_bytes(stack) / 1e6, 1),
            events_per_s=round(met / (now[0] - before[0]), 0),
            cpu_us_an_event=round(1e6 * (now[1] - before[1]) / met, 0),
            worker_mb=round(sum(one.memory_info().rss for one in _workers(stack)) / 1e6, 0),
        )
        before = now


def _workers(stack: Stack) -> list[psutil.Process]:
    return [psutil.Process(pid) for pid in stack.python_workers()]  # type: ignore[no-untyped-call]


def _cpu_s(stack: Stack) -> float:
    times = [one.cpu_times() for one in _workers(stack)]
    return sum(float(one.user) + float(one.system) for one in times)


def _disk_bytes(stack: Stack) -> int:
    """RocksDB's own files: tables, logs, manifests."""
    total = 0
    for path in stack.spec.folder.rglob("db/*"):
        try:
            total += path.stat().st_size
        except OSError:
            continue  # compacted away meanwhile
    return total


def row_bytes() -> float:
    """The mean size of a row as stored, of a thousand."""
    stored = [dump_state(row) for n in range(1000) if (row := decide(None, reading(n), NOW_MS).row) is not None]
    return sum(map(len, stored)) / len(stored)


def main(argv: list[str]) -> None:
    """Print a line a point; with --json one object."""
    if "--profile" in argv:
        job(argv)
        return
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--parallelism", type=int, default=1)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args(argv)
    points = measure(chosen.rows, chosen.parallelism, lambda line: click.echo(line, err=True))
    if chosen.json:
        click.echo(json.dumps({"row_bytes": row_bytes(), "points": [asdict(point) for point in points]}))
        return
    click.echo(f"a row as stored: {row_bytes():.0f} bytes")
    for point in points:
        click.echo("  ".join(f"{name} {value:g}" for name, value in asdict(point).items()))


if __name__ == "__main__":
    main(sys.argv[1:])
