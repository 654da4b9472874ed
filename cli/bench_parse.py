"""`broadsheet bench parse`: the parse job on a real cluster, by step and against a plain loop.

Phases: steps by plain calls, the plain loop; then the job, at each parallelism a backlog of fresh articles, and at the
last one a burst offered at a fixed rate. The job decides as in production; its one changed number turns the cache of
vectors off, for no article here is met again. Reading order: parse, Run.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
import psutil
from rich.console import Console

from cli.bench import Figure, bench, show, spent_s
from cli.bench_parse_evidence import Supply, captured, encoded_bytes, generated
from cli.bench_parse_profile import STEPS, by_step, plain_loop_ms
from cli.errors import UserError
from cli.jobs import JobError, stop_job, submit_job, wait_jobs
from cli.stack.control import Stack, StackError, free_ports
from connectors.flink import RestError
from connectors.kafka import KafkaClientError, Producer, end_offsets, group_lag, read_all
from connectors.objects import ObjectStoreError
from connectors.settings import Endpoints
from state_schemas.articles import Article, decode_normalised
from state_schemas.codec import encode_record
from state_schemas.ids import hash64_hex
from state_schemas.topics import ARTICLES, ITEMS_RAW
from udfs.articles.canonical import load_tracking_parameters
from udfs.articles.encoder import EncoderError, load_encoder

PORT_BASE = 31_300
WARM = 60  # articles a subtask: the children come up
PATIENCE_S = 240.0  # without any progress
# docs/articles.md: what one article may cost, and what one core is to do.
GOAL_MS = 40.0

PROFILE = """
[bench_parse.parse]
signatures_kept = 0
"""


@bench.command("parse")
@click.option(
    "--pages",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of captured pages (*.html, *.html.gz, truth.jsonl). Default: ../shared/data/pages, else the press.",
)
@click.option("--articles", default=400, show_default=True, type=click.IntRange(100, 100_000), help="Of each backlog.")
@click.option("--parallelism", "parallelisms", multiple=True, default=(1, 2), show_default=True, type=int)
@click.option("--burst-rate", default=200.0, show_default=True, type=click.FloatRange(1, 2_000), help="Articles/s.")
@click.option("--burst-seconds", default=60.0, show_default=True, type=click.FloatRange(0, 600), help="0: no burst.")
@click.option("--profile-only", is_flag=True, help="Steps and the plain loop alone; starts no stack.")
@click.option("--json", "as_json", is_flag=True)
def parse(
    pages: Path | None,
    articles: int,
    parallelisms: Sequence[int],
    burst_rate: float,
    burst_seconds: float,
    profile_only: bool,
    as_json: bool,
) -> None:
    """Articles a second and processor time an article, by step, of the parse job; and what a burst leaves waiting.

    Beside it: trafilatura, the same encoder and datasketch in a plain loop, which reads no language, place or topic and
    remembers nothing.
    """
    console = Console(stderr=True)
    endpoints = Endpoints()
    reference = endpoints.reference_data_folder()
    supply = _supply(pages, articles, reference)
    console.print(
        f"{supply.what}, {encoded_bytes(supply.bases) / 1000:.0f} kB of HTML on average; load {os.getloadavg()[0]:.1f}",
        highlight=False,
    )
    try:
        encoder = load_encoder(endpoints.encoder, Path(__file__).resolve().parent.parent / endpoints.encoder_folder)
    except EncoderError as error:
        raise UserError(str(error)) from None
    console.print("steps by plain calls ...")
    steps = by_step([supply.item(number) for number in range(min(articles, 300))], reference, encoder)
    console.print("plain loop ...")
    loop_ms = plain_loop_ms(supply.html[:150], encoder)
    found: dict[str, float] = {}
    if not profile_only:
        found = _on_a_cluster(supply, articles, sorted(parallelisms), burst_rate, burst_seconds, console)
    show(figures(steps, loop_ms, found, sorted(parallelisms)), as_json)


def _supply(pages: Path | None, articles: int, reference: Path) -> Supply:
    folder = pages or Path(__file__).resolve().parents[2] / "shared" / "data" / "pages"
    if pages is None and not folder.is_dir():
        return generated(articles)
    try:
        return captured(folder, load_tracking_parameters(reference / "tracking_parameters.txt"))
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from None


def figures(
    steps: dict[str, float], loop_ms: float, found: dict[str, float], parallelisms: Sequence[int]
) -> list[Figure]:
    """What is shown. found: values of `Run`, empty without a cluster; steps, loop_ms: processor ms an article."""
    plain = "trafilatura, encoder, datasketch in a loop"
    total = sum(steps.values())
    listed = [Figure("plain_calls_cpu_ms_per_article", total, "ms", plain, loop_ms, loop_ms / total)]
    if found:
        first = parallelisms[0]
        whole = found[f"cpu_ms_{first}"]
        listed = [
            Figure("articles_per_second_per_core", 1000 / whole, "1/s", plain, 1000 / loop_ms, loop_ms / whole),
            Figure("cpu_ms_per_article", whole, "ms", plain, loop_ms, loop_ms / whole),
            Figure("cpu_ms_per_article_of_goal", whole, "ms", "goal", GOAL_MS, GOAL_MS / whole),
            *listed,
            Figure("flink_kafka_rest_cpu_ms", whole - total, "ms"),
        ]
    for step in STEPS:
        listed.append(Figure(f"{step}_cpu_ms", steps[step], "ms"))
        listed.append(Figure(f"{step}_articles_per_second_per_core", 1000 / max(steps[step], 1e-3), "1/s"))
    units = {
        "cpu_ms": "ms",
        "jvm_ms": "ms",
        "worker_ms": "ms",
        "children_ms": "ms",
        "broker_ms": "ms",
        "cores": "cores",
    }
    for name, value in found.items():
        kind, _, parallelism = name.rpartition("_")
        unit = units.get(kind, "s" if name.endswith("_s") else "1/s" if "per_second" in name else "")
        label = f"{kind}_parallelism_{parallelism}" if parallelism.isdigit() else name
        against = (plain, 1000 / loop_ms, value * loop_ms / 1000) if kind == "articles_per_second" else ("", None, None)
        listed.append(Figure(label, value, unit, *against))
    return listed


def _on_a_cluster(
    supply: Supply, articles: int, parallelisms: Sequence[int], rate: float, seconds: float, console: Console
) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "reference_data"
        shutil.copytree(Endpoints().reference_data_folder(), data)
        with (data / "profiles.toml").open("a") as profiles:
            profiles.write(PROFILE)
        try:
            ports, _ = free_ports(PORT_BASE)
            given = Endpoints(reference_data=str(data))
            stack = Stack(Path(folder) / "stack", ports, "default", given=given, slots=max(parallelisms))
            try:
                stack.up(("kafka", "s3", "flink"), owned=True)
                with Producer(stack.endpoints, "bench", linger_ms=20) as producer:
                    run = Run(stack, producer, supply, console)
                    for parallelism in parallelisms:
                        run.submit(parallelism)
                        run.backlog(articles)
                        if parallelism == parallelisms[-1] and seconds:
                            run.burst(rate, seconds)
                        run.stop()
                    return run.found
            finally:
                stack.down()
        except (StackError, JobError, KafkaClientError, RestError, ObjectStoreError) as error:
            raise UserError(str(error)) from None


@dataclass
class Run:
    """The job under measurement; `found` are the values by name."""

    stack: Stack
    producer: Producer
    supply: Supply
    console: Console
    found: dict[str, float] = field(default_factory=dict)
    _sent: int = 0
    _parallelism: int = 1

    def submit(self, parallelism: int) -> None:
        """Start the job, or go on from where it stopped, and warm it up."""
        self._parallelism = parallelism
        endpoints = self.stack.endpoints
        job = submit_job("parse", endpoints, profile="bench_parse", parallelism=parallelism, fresh=not self._sent)
        wait_jobs(endpoints, [job])
        self._send(WARM * parallelism)
        self._drain()

    def stop(self) -> None:
        """With a savepoint."""
        stop_job("parse", self.stack.endpoints)

    def backlog(self, articles: int) -> None:
        """So many at once: what the job does when there is always more."""
        numbers = range(self._sent, self._sent + articles)
        before, broker, began = self._cpu_s(), spent_s(self.stack.pids("kafka")), time.monotonic()
        self._send(articles)
        self._drain()
        took = time.monotonic() - began
        spent = {what: after - before[what] for what, after in self._cpu_s().items()}
        compiling = spent.pop("jvm_compiling")
        written = self._written(numbers)
        times = sorted(written.values())
        number = self._parallelism
        rate = (len(times) - 1) / max(0.001, (times[-1] - times[0]) / 1000) if len(times) > 1 else 0.0
        self.found |= {
            f"articles_per_second_{number}": rate,
            f"cpu_ms_{number}": 1000 * sum(spent.values()) / articles,
            **{f"{what}_ms_{number}": 1000 * value / articles for what, value in spent.items()},
            f"jvm_compiling_ms_{number}": 1000 * compiling / articles,
            f"broker_ms_{number}": 1000 * (spent_s(self.stack.pids("kafka")) - broker) / articles,
            f"cores_{number}": sum(spent.values()) / took,
            f"missing_{number}": articles - len(written),
        }
        self._say(
            f"{rate:.1f} articles/s, {self.found[f'cpu_ms_{number}']:.1f} ms of CPU each, load {os.getloadavg()[0]:.1f}"
        )

    def burst(self, rate: float, seconds: float) -> None:
        """Articles at a fixed rate, then none: what waits at the end, and how long until all is read."""
        first, began = self._sent, time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            self._send(max(0, int(passed * rate) - (self._sent - first)), flush=False)
            time.sleep(0.02)
        self.producer.flush()
        ended = time.monotonic()
        sent, pending = self._sent - first, self._unread()
        self._say(f"burst: {sent} offered in {ended - began:.0f} s, {pending} unread at its end; draining ...")
        self._drain()
        drained = time.monotonic() - ended
        self.found |= {
            "burst_offered_per_second": sent / (ended - began),
            "burst_pending": pending,
            "burst_drained_s": drained,
            "burst_articles_per_second": sent / (ended - began + drained),
            "burst_missing": sent - len(self._written(range(first, self._sent))),
        }
        self._say(f"drained {drained:.0f} s after its end, load {os.getloadavg()[0]:.1f}")

    # ------------------------------------------------------------ parts

    def _send(self, count: int, *, flush: bool = True) -> None:
        for number in range(self._sent, self._sent + count):
            item = self.supply.item(number)
            self.producer.send(ITEMS_RAW, hash64_hex(item.url), encode_record(item))
        self._sent += count
        if flush:
            self.producer.flush()

    def _unread(self) -> int:
        """Records that the job has not read as of its last checkpoint."""
        committed = {
            (lag.topic, lag.partition): max(0, lag.committed)
            for lag in group_lag(self.stack.endpoints, "broadsheet-parse")
        }
        ends = end_offsets(self.stack.endpoints, [(ITEMS_RAW.name, each) for each in range(ITEMS_RAW.partitions)])
        return sum(end - committed.get(place, 0) for place, end in ends.items())

    def _drain(self) -> None:
        """Wait until all is read and committed. Raises JobError when nothing moves for long."""
        last, moved = -1, time.monotonic()
        while unread := self._unread():
            if unread != last:
                last, moved = unread, time.monotonic()
            if time.monotonic() - moved > PATIENCE_S:
                raise JobError(f"parse: reading stands still with {unread} unread; see the TaskManager's log")
            time.sleep(0.5)

    def _written(self, numbers: range) -> dict[str, int]:
        """URL asked for -> when its article was written (broker's time, ms), of the evidence of these numbers."""
        wanted = {self.supply.item(number).url for number in numbers}
        found: dict[str, int] = {}
        for message in read_all(self.stack.endpoints, ARTICLES, timeout_s=60):
            record = decode_normalised(message.value)
            if isinstance(record, Article) and record.asked_url in wanted:
                found.setdefault(record.asked_url, message.timestamp_ms)
        return found

    def _cpu_s(self) -> dict[str, float]:
        """Processor seconds of the TaskManager's processes so far: JVM, Python workers, extraction children.

        The JVM's compilers are apart: a job that has run for some minutes has compiled what it needs.
        """
        spent = {"jvm": 0.0, "worker": 0.0, "children": 0.0, "jvm_compiling": 0.0}
        for pid in self.stack.pids("taskmanager"):
            try:
                process = psutil.Process(pid)  # type: ignore[no-untyped-call]
                command = " ".join(process.cmdline())  # type: ignore[no-untyped-call]
                times = process.cpu_times()
            except psutil.Error:
                continue
            what = "children" if "udfs.articles.child" in command else "jvm" if "java" in command[:200] else "worker"
            spent[what] += times.user + times.system
            if what == "jvm":
                compiling = _compiling_s(pid)
                spent["jvm"] -= compiling
                spent["jvm_compiling"] += compiling
        return spent

    def _say(self, line: str) -> None:
        self.console.print(f"parallelism {self._parallelism}: {line}", highlight=False)


def _compiling_s(pid: int) -> float:
    """Processor seconds of a JVM's compiler threads so far; Linux shows a thread's name and its clock."""
    ticks = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if re.match(r"C[12] Compiler", name):
            user, system = rest.split()[11:13]
            ticks += int(user) + int(system)
    return ticks / os.sysconf("SC_CLK_TCK")
