"""`broadsheet bench fetch`: one fetcher process on one core, with Kafka before and behind it, against many hosts.

backlog: every request waits in Kafka already, for four times the hosts, so that the pace of a host (one start a second)
does not bound what is measured. calm, then beside bad hosts: requests come evenly, one every two seconds a host; what
counts is the time from a request's place in Kafka to its answer's, at hosts that are healthy both times. Then the plain
loop, on the same core. Reading order: fetch, Answers, Run and its phases, figures.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click
import psutil
from rich.console import Console

from cli.bench import Figure, bench, show
from cli.bench_publishers import PublishersProcess
from cli.errors import UserError
from cli.stack.control import Stack, StackError, free_ports
from connectors.kafka import KafkaClientError, Message, open_consumer
from connectors.kafka_native import NativeProducer
from connectors.settings import Endpoints
from state_schemas.codec import encode_record
from state_schemas.fetching import FetchRequest
from state_schemas.ids import hash64_hex
from state_schemas.sources import Origin
from state_schemas.topics import FEEDS_FETCHED, FETCH_REQUESTS

PORT_BASE = 31_200
GOAL_PER_S = 1_000.0
GOAL_RATIO = 1.2
BACKLOG_HOSTS = 4  # times the hosts
HOST_PERIOD_S = 2.0  # between two requests to a host, where they come evenly
BAD_EACH = 100  # one host of so many
PATIENCE_S = 120.0
SETTLING_MS = 2_000  # of an even phase, left out
PLAIN = "a plain aiohttp loop, no Kafka, no politeness"


@bench.command("fetch")
@click.option("--hosts", default=1_000, show_default=True, type=click.IntRange(20, 20_000))
@click.option("--seconds", default=30, show_default=True, type=click.IntRange(5, 600), help="Of each measurement.")
@click.option("--plain/--no-plain", default=True, show_default=True, help="Also measure a plain aiohttp loop.")
@click.option("--json", "as_json", is_flag=True)
def fetch(hosts: int, seconds: int, plain: bool, as_json: bool) -> None:
    """Requests a second on one core, and what slow and broken hosts cost the healthy ones.

    One host in a hundred is bad: four in ten of these take 30 s, the others drip, reset, are endless, send garbage or
    half an answer, or fail. No host may be asked more than twice at once, or twice within a second: the hosts count.
    """
    console = Console(stderr=True)
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        try:
            ports, gateway = free_ports(PORT_BASE)
            given = Endpoints(gateway=f"127.0.0.1:{gateway}")
            stack = Stack(Path(folder), ports, "default", gateway=given.gateway, given=given)
            # What is measured has a core to itself; all that serves it shares the others.
            with _on(set(cores[1:]) or set(cores)):
                try:
                    stack.up(("kafka",), owned=True)
                    with PublishersProcess(gateway) as publishers, Answers(stack.endpoints) as answers:
                        run = Run(stack.endpoints, publishers, answers, cores[0], gateway, hosts, seconds, console)
                        with run.fetcher(ports.fetcher, Path(folder) / "fetcher.log"):
                            run.warm()
                            run.backlog()
                            run.even("calm", ())
                            run.even("beside_bad", run.bad_hosts())
                        if plain:
                            run.plain()
                finally:
                    stack.down()
        except (StackError, KafkaClientError) as error:
            raise UserError(str(error)) from None
    show(figures(run.found), as_json)


@contextmanager
def _on(cores: set[int]) -> Iterator[None]:
    """Processes started meanwhile run on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Answers(threading.Thread):
    """Reads all answers as they come. at_ms: request id -> when the broker had its answer first."""

    _ID = re.compile(rb'"request_id":"([0-9a-f]+)"')

    def __init__(self, endpoints: Endpoints) -> None:
        super().__init__(daemon=True)
        self.at_ms: dict[str, int] = {}
        self._endpoints = endpoints
        self._stopping = threading.Event()

    def run(self) -> None:
        """Until the context ends."""
        from kafka import TopicPartition

        consumer = open_consumer(self._endpoints, client_id="bench-answers", auto_offset_reset="earliest")
        consumer.assign([TopicPartition(FEEDS_FETCHED.name, place) for place in range(FEEDS_FETCHED.partitions)])
        while not self._stopping.is_set():
            for records in consumer.poll(timeout_ms=200).values():
                for record in records:
                    # Read whole they would cost more than they are worth.
                    found = self._ID.search(record.value, 0, 60)
                    if found:
                        self.at_ms.setdefault(found[1].decode(), record.timestamp)
        consumer.close(timeout_ms=2_000)

    def until(self, ids: Collection[str]) -> None:
        """Wait for the answers to all of these. Raises UserError when none comes any more."""
        there, since = -1, time.monotonic()
        while (now := sum(each in self.at_ms for each in ids)) < len(ids):
            if now > there:
                there, since = now, time.monotonic()
            elif time.monotonic() - since > PATIENCE_S:
                raise UserError(f"{len(ids) - now} of {len(ids)} requests have no answer")
            time.sleep(0.3)

    def __enter__(self) -> Answers:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.join(5)


def p99(values: list[float]) -> float:
    """The 99th percentile, the higher of two neighbours; 0 of none."""
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.99))] if values else 0.0


@dataclass
class Run:
    """One fetcher under measurement; `found` are the values by name."""

    endpoints: Endpoints
    publishers: PublishersProcess
    answers: Answers
    core: int
    gateway: int
    hosts: int
    seconds: int
    console: Console
    found: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._sent = 0

    @contextmanager
    def fetcher(self, port: int, log: Path) -> Iterator[None]:
        """The process, on its own core, until the end."""
        environ = {**os.environ, **self.endpoints.to_mapping(), "BROADSHEET_FETCHER_PORT": str(port)}
        with _on({self.core}), log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "services.fetcher"], env=environ, stdout=output, stderr=output
            )
        try:
            self._process = psutil.Process(process.pid)  # type: ignore[no-untyped-call]
            began = time.monotonic()
            while _partitions(port) < 2 * FETCH_REQUESTS.partitions:
                if time.monotonic() - began > PATIENCE_S or process.poll() is not None:
                    raise UserError("the fetcher does not start")
                time.sleep(0.2)
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    # ------------------------------------------------------------ phases

    def warm(self) -> None:
        """Each host once: its robots.txt is known from then on, as it is for a day."""
        began = time.monotonic()
        count = self.hosts * BACKLOG_HOSTS
        self.answers.until(self._ask(range(count)))
        self.found["first_requests_per_second"] = count / (time.monotonic() - began)
        self._say(f"{count} hosts met in {time.monotonic() - began:.1f} s")

    def backlog(self) -> None:
        """As fast as it goes; the first and the last fifth of the answers are left out."""
        count = max(self.hosts * BACKLOG_HOSTS, int(GOAL_PER_S * self.seconds))
        self.publishers.ask("mark")
        cpu, began = self._cpu_s(), time.monotonic()
        ids = self._ask(number % (self.hosts * BACKLOG_HOSTS) for number in range(count))
        self.answers.until(ids)
        spent, took = self._cpu_s() - cpu, time.monotonic() - began
        times = sorted(self.answers.at_ms[each] for each in ids)[count // 5 : -count // 5]
        self.found["requests_per_second"] = (len(times) - 1) / max(0.001, (times[-1] - times[0]) / 1000)
        self.found["requests_per_cpu_second"] = count / spent
        self.found["cores_used_backlog"] = spent / took
        self._limits("backlog")
        self._say(f"{self.found['requests_per_second']:.0f} a second, {1000 * spent / count:.2f} ms of CPU each")

    def even(self, name: str, bad: tuple[str, ...]) -> None:
        """Requests at an even rate; the latencies of hosts that are never bad."""
        self.publishers.ask("bad", *bad)
        self.publishers.ask("mark")
        cpu, began, rate = self._cpu_s(), time.monotonic(), self.hosts / HOST_PERIOD_S
        placed = self._ask((number % self.hosts for number in range(int(rate * self.seconds))), rate)
        spoilt = set(self.bad_hosts())
        # What the phase before has left is over by then.
        from_ms = min(at_ms for _, at_ms in placed.values()) + SETTLING_MS
        healthy = {asked: at_ms for asked, (host, at_ms) in placed.items() if host not in spoilt and at_ms >= from_ms}
        self.answers.until(healthy)
        took = [float(self.answers.at_ms[asked] - at_ms) for asked, at_ms in healthy.items()]
        self.found[f"healthy_p99_ms_{name}"] = p99(took)
        self.found[f"healthy_p50_ms_{name}"] = sorted(took)[len(took) // 2]
        self.found[f"cores_used_{name}"] = (self._cpu_s() - cpu) / (time.monotonic() - began)
        self._limits(name)
        self._say(f"{name}: {rate:.0f} a second, p99 of healthy hosts {p99(took):.0f} ms")

    def plain(self) -> None:
        """The same of the plain loop: as fast as it goes, then evenly, without and with bad hosts."""
        spoilt, rate = set(self.bad_hosts()), self.hosts / HOST_PERIOD_S
        for name, hosts, pace, bad in (
            ("backlog", self.hosts * BACKLOG_HOSTS, 0.0, ()),
            ("calm", self.hosts, rate, ()),
            ("beside_bad", self.hosts, rate, self.bad_hosts()),
        ):
            self.publishers.ask("bad", *bad)
            self.publishers.ask("mark")
            wanted = {"port": self.gateway, "hosts": [_host(n) for n in range(hosts)], "rate": pace}
            with _on({self.core}):
                done = subprocess.run(
                    [sys.executable, "-P", "-m", "cli.bench_plain_loop"],
                    input=json.dumps({**wanted, "seconds": self.seconds}) + "\n",
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                    timeout=self.seconds + 120,
                )
            found = json.loads(done.stdout)
            if name == "backlog":
                self.found["plain_requests_per_second"] = found["per_second"]
                self.found["plain_requests_per_cpu_second"] = found["done"] / found["cpu_s"]
            else:
                self.found[f"plain_p99_ms_{name}"] = p99([ms for host, ms in found["took"] if host not in spoilt])
            self._limits(f"plain_{name}")
            self._say(f"plain loop, {name}: {found['per_second']:.0f} a second")

    def bad_hosts(self) -> tuple[str, ...]:
        """One in a hundred, and at least one."""
        return tuple(_host(number) for number in range(0, self.hosts, BAD_EACH))

    # ------------------------------------------------------------ what they share

    def _ask(self, numbers: Iterable[int], rate: float = 0) -> dict[str, tuple[str, int]]:
        """Ask these hosts, `rate` a second (0: as fast as it goes). Returns by request its host, and when Kafka had it
        (ms UTC)."""
        return asyncio.run(self._asked(numbers, rate))

    async def _asked(self, numbers: Iterable[int], rate: float) -> dict[str, tuple[str, int]]:
        loop = asyncio.get_running_loop()
        producer = NativeProducer(self.endpoints, "bench", loop, linger_ms=5)
        await asyncio.to_thread(producer.prepare, (FETCH_REQUESTS,))
        placed: dict[str, tuple[str, int]] = {}
        failed: list[KafkaClientError] = []

        def told(asked: str, message: Message | None, error: KafkaClientError | None) -> None:
            if message is not None:
                placed[asked] = (message.key, message.timestamp_ms)
            elif error is not None:
                failed.append(error)

        began, sent = loop.time(), 0
        for number in numbers:
            if rate and (early := began + sent / rate - loop.time()) > 0:
                await asyncio.sleep(early)
            elif sent % 100 == 0:
                await asyncio.sleep(0.005)  # small batches, as the poll job writes them
            request = self._request(_host(number))
            producer.send(FETCH_REQUESTS, request.host, encode_record(request), partial(told, request.request_id))
            sent += 1
        while len(placed) + len(failed) < sent:
            await asyncio.sleep(0.01)
        await producer.close()
        if failed:
            raise failed[0]
        return placed

    def _request(self, host: str) -> FetchRequest:
        self._sent += 1
        return FetchRequest(
            request_id=f"{self._sent:x}",
            kind="feed",
            url=f"http://{host}/feed.xml",
            host=host,
            feed_id=hash64_hex(host),
            origin=Origin(publisher=host, name="A publisher of the bench", country="NZ", language="en"),
            requested_ms=time.time_ns() // 1_000_000,
        )

    def _limits(self, name: str) -> None:
        counted = self.publishers.ask("counts")
        self.found[f"hosts_over_limit_{name}"] = counted["over_limit"]
        self.found[f"most_at_once_{name}"] = counted["most_at_once"]
        self.found[f"least_gap_s_{name}"] = counted["least_gap_s"]
        self.found[f"counted_late_s_{name}"] = counted["counted_late_s"]

    def _cpu_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def _say(self, line: str) -> None:
        self.console.print(line, highlight=False)


def _host(number: int) -> str:
    return f"h{number:05d}.bench.example"


def _partitions(port: int) -> int:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
        return int(json.load(answer)["partitions"])
    return 0


def figures(found: dict[str, float]) -> list[Figure]:
    """What was found, beside the goals and the plain loop."""
    ratio = found["healthy_p99_ms_beside_bad"] / max(1.0, found["healthy_p99_ms_calm"])
    over = sum(found[f"hosts_over_limit_{name}"] for name in ("backlog", "calm", "beside_bad"))
    goal = found["requests_per_second"] / GOAL_PER_S
    shown = [
        Figure("requests_per_second", found["requests_per_second"], "1/s", "the goal, one core", GOAL_PER_S, goal),
        Figure("healthy_p99_ratio", ratio, "", "the goal, at most", GOAL_RATIO, GOAL_RATIO / ratio),
        Figure("hosts_over_limit", over, "hosts", "the goal", 0.0),
    ]
    if "plain_requests_per_second" in found:
        plain = found["plain_p99_ms_beside_bad"] / max(1.0, found["plain_p99_ms_calm"])
        plain_over = sum(found[f"hosts_over_limit_plain_{name}"] for name in ("backlog", "calm", "beside_bad"))
        for name in ("requests_per_second", "requests_per_cpu_second"):
            other = found[f"plain_{name}"]
            shown.append(Figure(name, found[name], "1/s", PLAIN, other, found[name] / other))
        shown.append(Figure("healthy_p99_ratio", ratio, "", PLAIN, plain, plain / ratio))
        shown.append(Figure("hosts_over_limit", over, "hosts", PLAIN, plain_over))
    told = {figure.name for figure in shown}
    return shown + [Figure(name, value, _unit(name)) for name, value in found.items() if name not in told]


UNITS = {"_ms_": "ms", "gap_s": "s", "late_s": "s", "cores": "cores", "per_": "1/s", "hosts_over": "hosts"}


def _unit(name: str) -> str:
    return next((unit for part, unit in UNITS.items() if part in name), "")
