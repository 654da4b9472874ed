"""`broadsheet bench push`: deliveries a second through the receiver on one core, and how long a hub waits for its 202.

A broker of its own, the receiver alone on the first core, the hub and the broker on the others. Held against the least
that any receiver does: the same server reading the body and answering 202, without signature, links or Kafka.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import psutil
from rich.console import Console

from cli.bench import Figure, bench, show
from cli.bench_hub import WARM_UP_S, subscriptions
from cli.errors import UserError
from cli.stack.control import Stack, StackError, free_ports
from connectors.kafka import KafkaClientError, Producer
from connectors.settings import Endpoints
from state_schemas.codec import encode_record
from state_schemas.topics import POLL_SIGNALS, WEBSUB_SUBSCRIPTIONS

PORT_BASE = 31_200
READY_S = 60.0


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the hub against one server. cpu_us: the server's CPU for each delivery, all its threads."""

    answers: dict[str, Any]
    cpu_us: float
    rss_mb: float


@bench.command()
@click.option("--rate", default=2_000, show_default=True, type=click.IntRange(1, 20_000), help="Deliveries a second.")
@click.option("--seconds", default=20, show_default=True, type=click.IntRange(1, 600))
@click.option("--json", "as_json", is_flag=True)
def push(rate: int, seconds: int, as_json: bool) -> None:
    """Signed WebSub deliveries of 5 to 20 KB at a steady rate, to a receiver on one core, Kafka's word included."""
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(Path(folder), free_ports(PORT_BASE)[0], "default", given=Endpoints())
        try:
            console.print("Kafka ...")
            stack.up(("kafka",), owned=True)
            for pid in stack.pids("kafka"):
                _pin(pid, _cores()[1:])
            _subscribe(stack.endpoints, rate)
            console.print(f"receiver: {rate}/s for {seconds} s ...", highlight=False)
            with _receiver(stack) as server:
                found = _load(server, stack.endpoints.push, rate, seconds)
            console.print("the same server answering alone ...")
            with _floor(stack.spec.ports.push) as server:
                floor = _load(server, stack.endpoints.push, rate, seconds)
            written = _written(stack.endpoints)
        except (StackError, KafkaClientError) as error:
            raise UserError(str(error)) from None
        finally:
            stack.down()
    bad = {status: count for status, count in found.answers["statuses"].items() if status != "202"}
    if bad or found.answers["answered"] < found.answers["sent"]:
        console.print(f"[red]of {found.answers['sent']} deliveries {found.answers['answered']} were answered; {bad}")
    if written < found.answers["statuses"].get("202", 0):
        raise UserError(
            f"{written} signals in Kafka, fewer than deliveries answered 202: the receiver promised too much"
        )
    show(_figures(found, floor), as_json)


def _figures(found: Run, floor: Run) -> list[Figure]:
    alone = "the same server, answering alone"

    def beside(name: str, value: float, unit: str, other: float, ratio: float) -> Figure:
        return Figure(name, value, unit, alone, other, ratio)

    a, b = found.answers, floor.answers
    return [
        beside("deliveries_per_second", a["per_second"], "1/s", b["per_second"], a["per_second"] / b["per_second"]),
        beside("p50_ms", a["p50_ms"], "ms", b["p50_ms"], b["p50_ms"] / a["p50_ms"]),
        beside("p99_ms", a["p99_ms"], "ms", b["p99_ms"], b["p99_ms"] / a["p99_ms"]),
        beside("cpu_us_per_delivery", found.cpu_us, "us", floor.cpu_us, floor.cpu_us / found.cpu_us),
        Figure("receiver_rss_mb", found.rss_mb, "MiB"),
    ]


def _cores() -> list[int]:
    cores = sorted(os.sched_getaffinity(0))
    return cores if len(cores) > 1 else cores * 2


def _pin(pid: int, cores: list[int]) -> None:
    """Every thread of a process, for each has its own affinity."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            os.sched_setaffinity(int(task.name), cores)
        except ProcessLookupError:
            continue


def _subscribe(endpoints: Endpoints, count: int) -> None:
    with Producer(endpoints, "bench") as producer:
        for each in subscriptions(count):
            producer.send(WEBSUB_SUBSCRIPTIONS, each.feed_id, encode_record(each))


def _written(endpoints: Endpoints) -> int:
    """Signals in Kafka: offsets, for nothing else writes to this broker."""
    from connectors.kafka import end_offsets

    names = [(POLL_SIGNALS.name, number) for number in range(POLL_SIGNALS.partitions)]
    return sum(end_offsets(endpoints, names).values())


@contextmanager
def _process(arguments: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A server on the first core."""
    server = subprocess.Popen(
        [sys.executable, "-P", *arguments], env={**os.environ, **environment}, stdout=subprocess.DEVNULL
    )
    try:
        os.sched_setaffinity(server.pid, _cores()[:1])  # before it has threads, which inherit it
        yield server
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@contextmanager
def _receiver(stack: Stack) -> Iterator[subprocess.Popen[bytes]]:
    port = stack.spec.ports.push_metrics
    environment = {**stack.endpoints.to_mapping(), "BROADSHEET_PUSH_METRICS_PORT": str(port)}
    with _process(["-m", "services.push"], environment) as server:
        _wait(server, f"http://127.0.0.1:{port}/health", 200)
        yield server


@contextmanager
def _floor(port: int) -> Iterator[subprocess.Popen[bytes]]:
    with _process(["-m", "cli.bench_hub", "floor", str(port)], {}) as server:
        _wait(server, f"http://127.0.0.1:{port}/", 202)
        yield server


def _wait(server: subprocess.Popen[bytes], url: str, wanted: int) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                if answer.status == wanted:
                    return
        except OSError:
            pass
        time.sleep(0.1)
    raise UserError(f"{url} does not serve; see what it says above")


def _load(server: subprocess.Popen[bytes], url: str, rate: int, seconds: int) -> Run:
    process = psutil.Process(server.pid)  # type: ignore[no-untyped-call]
    before = _cpu_s(process)
    hub = subprocess.run(
        [sys.executable, "-P", "-m", "cli.bench_hub", "load", url, str(rate), str(seconds), str(_cores()[-1])],
        stdout=subprocess.PIPE,
        check=False,
        timeout=WARM_UP_S + seconds + 120,
    )
    if hub.returncode:
        raise UserError("the hub of the bench ended with an error; see above")
    answers = json.loads(hub.stdout)
    if not answers["statuses"].get("202"):
        raise UserError(f"no delivery was answered 202: {answers['statuses']}")
    spent = _cpu_s(process) - before
    return Run(answers, 1e6 * spent / max(answers["answered"], 1), process.memory_info().rss / 2**20)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
