"""`broadsheet bench`: how fast a stage is on this machine. Starts a stack of its own; loads only 127.0.0.1."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import psutil
from rich.console import Console
from rich.table import Table

from cli.errors import UserError
from cli.jobs import JobError, submit_job, wait_jobs
from cli.stack.control import Stack, StackError
from cli.stack.layout import Ports
from connectors.kafka import KafkaClientError, Message, Producer, read_all
from connectors.settings import Endpoints
from services.press.generated import generate, load_words
from services.press.site import Clock, PressSite
from state_schemas.codec import decode_record, encode_record, pack_text
from state_schemas.fetching import Body, RawItem
from state_schemas.ids import hash64_hex
from state_schemas.sources import Origin
from state_schemas.stories import StoryChange
from state_schemas.topics import ARTICLES, ITEMS_RAW, STORY_CHANGES, Topic

PORT_BASE = 31_000
START_MS = 1_796_000_000_000


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number beside what it is held against; ratio above 1: better than that."""

    name: str
    value: float
    unit: str
    against: str = ""
    against_value: float | None = None
    ratio: float | None = None


@click.group()
def bench() -> None:
    """Measure a stage on this machine."""


@bench.command()
@click.option("--articles", default=600, show_default=True, type=click.IntRange(50, 100_000))
@click.option("--parallelism", default=1, show_default=True, type=click.IntRange(1, 8), help="Of the parse job.")
@click.option("--json", "as_json", is_flag=True)
def line(articles: int, parallelism: int, as_json: bool) -> None:
    """Articles a second through the parse job, then through the cluster job, from a backlog of generated pages.

    Beside parse: trafilatura alone on the same pages, in one process.
    """
    console = Console(stderr=True)
    pages = list(press_items(articles))
    console.print(f"{len(pages)} pages; trafilatura alone ...", highlight=False)
    alone = _trafilatura_alone(pages)
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(Path(folder), Ports.from_base(PORT_BASE), "default", given=Endpoints())
        try:
            stack.up(("kafka", "s3", "flink"), owned=True)
            endpoints = stack.endpoints
            with Producer(endpoints, "bench") as producer:
                for raw in pages:
                    producer.send(ITEMS_RAW, hash64_hex(raw.url), encode_record(raw))
            console.print("parse job ...")
            with cpu_seconds(stack) as used:
                parsed = _through("parse", endpoints, ARTICLES, _articles_of, len(pages), parallelism)
            parse_cpu = used()
            console.print("cluster job ...")
            with cpu_seconds(stack) as used:
                clustered = _through("cluster", endpoints, STORY_CHANGES, _decided_of, len(pages), 1)
            cluster_cpu = used()
        except (StackError, JobError, KafkaClientError) as error:
            raise UserError(str(error)) from None
        finally:
            stack.down()
    figures = [
        Figure("parse_articles_per_second", parsed, "1/s", "trafilatura alone, one process", alone, parsed / alone),
        Figure("parse_cpu_ms_per_article", 1000 * parse_cpu / len(pages), "ms"),
        Figure("cluster_articles_per_second", clustered, "1/s"),
        Figure("cluster_cpu_ms_per_article", 1000 * cluster_cpu / len(pages), "ms"),
    ]
    show(figures, as_json)


def press_items(count: int) -> Iterator[RawItem]:
    """The pages of a generated press, as the fetcher would hand them over."""
    press = generate(count, 20, 1, 60.0, load_words())
    site = PressSite(press, Clock(START_MS, 1.0), "")
    end_ms = START_MS + 7_200_000
    for article in press.articles:
        url = site.url(article)
        host = press.publishers[article.publisher].host
        answer = site.answer("http", host, article.path, "", end_ms)
        if answer is None or answer.status != 200:
            raise UserError(f"the generated press does not serve {url}")
        found_ms = START_MS + int(article.published_s * 1000)
        yield RawItem(
            kind="page",
            url=url,
            final_url=url,
            origin=Origin(publisher=article.publisher, name=article.publisher, language="en", authority=0.5),
            found_ms=found_ms,
            fetched_ms=found_ms,
            status=200,
            headers={"content-type": answer.content_type},
            body=Body(size=len(answer.body), zstd=pack_text(answer.body), content_type=answer.content_type),
        )


def _trafilatura_alone(pages: list[RawItem]) -> float:
    import trafilatura

    from state_schemas.codec import unpack_bytes

    bodies = [unpack_bytes(raw.body.zstd) for raw in pages[:200] if raw.body]
    began = time.process_time()
    for body in bodies:
        trafilatura.extract(body)
    return len(bodies) / (time.process_time() - began)


def _through(
    job: str,
    endpoints: Endpoints,
    topic: Topic,
    subjects: Callable[[Message], str | None],
    wanted: int,
    parallelism: int,
) -> float:
    """Articles a second: from the first record the job wrote to the last, by the broker's time.

    Ends when no new article came for ten seconds: variants make one article of several pages.
    """
    ids = [submit_job(job, endpoints, profile="default", parallelism=parallelism, fresh=True)]
    wait_jobs(endpoints, ids)
    seen: dict[str, int] = {}
    quiet_since = time.monotonic()
    while len(seen) < wanted and time.monotonic() - quiet_since < (10 if seen else 120):
        before = len(seen)
        for message in read_all(endpoints, topic, timeout_s=60):
            subject = subjects(message)
            if subject is not None:
                seen.setdefault(subject, message.timestamp_ms)
        if len(seen) > before:
            quiet_since = time.monotonic()
        time.sleep(1)
    if len(seen) < 2:
        raise UserError(f"{job} wrote nothing; see the TaskManager's log")
    times = sorted(seen.values())
    return (len(times) - 1) / max((times[-1] - times[0]) / 1000, 0.001)


def _articles_of(message: Message) -> str | None:
    from state_schemas.articles import Article, decode_normalised

    record = decode_normalised(message.value)
    return record.article_id if isinstance(record, Article) else None


def _decided_of(message: Message) -> str | None:
    change = decode_record(StoryChange, message.value)
    return change.article.article_id if change.article else None


@contextmanager
def cpu_seconds(stack: Stack) -> Iterator[Callable[[], float]]:
    """CPU of the TaskManager and all its children meanwhile, idle polling of all jobs included."""

    before = spent_s(stack.pids("taskmanager"))
    yield lambda: spent_s(stack.pids("taskmanager")) - before


def spent_s(pids: Iterable[int]) -> float:
    """Processor seconds of these processes so far; one that has ended counts no more."""
    spent = 0.0
    for pid in pids:
        try:
            times = psutil.Process(pid).cpu_times()  # type: ignore[no-untyped-call]
        except psutil.Error:
            continue
        spent += times.user + times.system
    return spent


def show(figures: list[Figure], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"figures": [asdict(figure) for figure in figures]}))
        return
    table = Table("figure", "value", "unit", "against", "its value", "ratio")
    for figure in figures:
        other = "" if figure.against_value is None else _shown(figure.against_value)
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
        table.add_row(figure.name, _shown(figure.value), figure.unit, figure.against, other, ratio)
    Console().print(table)


def _shown(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.4g}"


# Its commands stand in modules of their own; they use what is above, so they come last.
import cli.bench_fetch  # noqa: E402
import cli.bench_parse  # noqa: E402
import cli.bench_poll  # noqa: E402
import cli.bench_push  # noqa: E402
import cli.bench_signatures  # noqa: E402, F401
