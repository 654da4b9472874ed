"""What one event costs the poll operator in Python, on one core: source, release, answers, rebuild, memory.

    .venv/bin/python benchmarks/poll_operator.py [--feeds 20000] [--profile] [--json]

The operator itself over keyed state that is a dict: decoding, deciders, shard and encoding are measured; Flink's own
cost (some 60 us a record, and its state's) is not in it. CPU time. --profile: where it goes, by cProfile.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import pstats
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from msgspec.structs import replace

from cli.bench_feeds import Asked, Feeds, failed, not_modified, source, template_of
from connectors.settings import Endpoints
from state_schemas.codec import decode_record, dump_state, encode_record, load_state
from state_schemas.fetching import FetchResult
from state_schemas.polling import FeedState, SeenItem, pack_seen
from udfs.feeds.document import ReaderPolicy
from udfs.poll.operator import Poll, shard_of
from udfs.poll.policy import PollPolicy

START_MS = 1_800_000_000_000
# All that is due is released, and a feed answered is due again within a minute.
POLICY = PollPolicy(
    budget_per_s=1e9, floor_tail_ms=60_000, floor_authoritative_ms=60_000, ceiling_ms=60_000, unmodified_run=10**9
)


class DictState:
    """A MapState as a dict a key."""

    def __init__(self, task: Task, name: str) -> None:
        self._task, self._name = task, name

    def _map(self) -> dict[str, bytes]:
        return self._task.maps.setdefault((self._name, self._task.key), {})

    def get(self, key: str) -> bytes | None:
        return self._map().get(key)

    def put(self, key: str, value: bytes) -> None:
        self._map()[key] = value

    def remove(self, key: str) -> None:
        self._map().pop(key, None)

    def items(self) -> Iterator[tuple[str, bytes]]:
        # Copies, as Flink's are: the mirror's memory is its own.
        return ((key[:1] + key[1:], bytes(bytearray(value))) for key, value in self._map().items())

    def keys(self) -> Iterator[str]:
        return iter(self._map())


class Task:
    """The runtime context, the context and the timer service of one operator, in one."""

    def __init__(self) -> None:
        self.maps: dict[tuple[str, str], dict[str, bytes]] = {}
        self.key = ""
        self.now_ms = START_MS
        self.operator = self._opened()

    def _opened(self) -> Poll:
        operator = Poll(POLICY, ReaderPolicy(), Endpoints())
        operator.open(self)  # type: ignore[arg-type]
        return operator

    def restart(self) -> None:
        """A new operator over the same state."""
        self.operator = self._opened()

    # the runtime context
    def get_map_state(self, descriptor: Any) -> DictState:
        return DictState(self, descriptor.name)

    def get_metrics_group(self) -> None:
        return None

    # the context
    def get_current_key(self) -> str:
        return self.key

    def timer_service(self) -> Task:
        return self

    # the timer service
    def current_processing_time(self) -> int:
        return self.now_ms

    def register_processing_time_timer(self, timestamp: int) -> None:
        pass

    # what happens
    def feed(self, elements: list[tuple[str, bytes]]) -> list[Any]:
        """Process elements; what was emitted."""
        out: list[Any] = []
        process = self.operator.process_element
        for element in elements:
            self.key = element[0]
            out.extend(process(element, self))  # type: ignore[arg-type]
        return out

    def tick(self) -> list[Any]:
        """Fire every shard's timer once."""
        out: list[Any] = []
        for shard in range(POLICY.shards):
            self.key = str(shard)
            out.extend(self.operator.on_timer(self.now_ms, self))  # type: ignore[arg-type]
        return out


def element(feed: str, tag: bytes, record: bytes) -> tuple[str, bytes]:
    """A record as routing gives it."""
    return shard_of(feed, POLICY.shards), tag + record


def requests(emitted: list[Any]) -> list[Asked]:
    """The feed requests among what was emitted."""
    rows = (decode_record(Asked, out[1]) for out in emitted if not isinstance(out, tuple))
    return [asked for asked in rows if asked.kind == "feed"]


def aged(row: bytes) -> int:
    """Bytes of a row once its feed has brought as many items as are remembered."""
    state = load_state(FeedState, row)
    assert state is not None
    seen = pack_seen([SeenItem(number) for number in range(POLICY.remembered)], state.document_items)
    return len(dump_state(replace(state, seen=seen)))


class Costs:
    """CPU of each step, us an event, and its profile."""

    def __init__(self, profile: bool) -> None:
        self._profile = profile
        self.figures: dict[str, tuple[float, str]] = {}

    @contextmanager
    def of(self, name: str, count: int, scale: float = 1.0, unit: str = "us") -> Iterator[None]:
        """Time what is inside; `count` events happen in it."""
        profiler = cProfile.Profile() if self._profile else None
        began = time.process_time()
        if profiler:
            profiler.enable()
        yield
        if profiler:
            profiler.disable()
        spent = time.process_time() - began
        self.add(name, 1e6 * spent / max(count, 1) * scale, unit)
        if profiler:
            text = io.StringIO()
            pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(18)
            lines = text.getvalue().splitlines()
            click.echo("\n".join([f"--- {name}, {count} events", *lines[6:]]))

    def add(self, name: str, value: float, unit: str) -> None:
        """Note a figure."""
        self.figures[name] = (round(value, 2), unit)


def measure(count: int, costs: Costs) -> None:
    """All steps on `count` feeds."""
    feeds = Feeds(START_MS)
    sources = [source(number, START_MS) for number in range(count)]
    records = [element(one.feed_id, b"s", encode_record(one)) for one in sources]
    for template in range(64):
        feeds.first_body(template)
        for version in range(1, 4):
            feeds.body(template, version)
    task = Task()
    with costs.of("source_us", count):
        task.feed(records)

    def polled(name: str, answer: Callable[[Asked], FetchResult]) -> None:
        """Every feed is released, then answered."""
        task.now_ms += 120_000
        with costs.of("release_us" if name == "first" else f"release_before_{name}_us", count):
            emitted = task.tick()
        asked = requests(emitted)
        assert len(asked) == count
        elements = [element(one.feed_id, b"f", encode_record(answer(one))) for one in asked]
        del emitted, asked
        with costs.of(f"{name}_us", count):
            task.feed(elements)

    polled("first", lambda asked: feeds.fetched(asked, feeds.first_body(template_of(asked.feed_id)), task.now_ms))
    rows = [row for (name, _), rows in task.maps.items() if name == "feeds" for row in rows.values()]
    costs.add("row_bytes", sum(map(len, rows)) / len(rows), "bytes")
    polled("unmodified", lambda asked: not_modified(asked, task.now_ms))
    version = 0

    def news(asked: Asked) -> FetchResult:
        return feeds.fetched(asked, feeds.body(template_of(asked.feed_id), version), task.now_ms)

    version = 1
    polled("body", news)
    polled("same_body", news)
    version = 2
    polled("body_again", news)
    polled("failed", lambda asked: failed(asked, task.now_ms, timed_out=False))
    rows = [row for (name, _), rows in task.maps.items() if name == "feeds" for row in rows.values()]
    costs.add("row_bytes_later", sum(map(len, rows)) / len(rows), "bytes")
    costs.add("row_bytes_full", sum(map(aged, rows)) / len(rows), "bytes")
    task.restart()
    # Every feed was answered at this instant: nothing is due, so that this is rebuilding alone.
    with costs.of("rebuild_ms_per_1000_rows", count, 1.0, "ms"):
        task.tick()
    task.restart()
    tracemalloc.start()
    task.tick()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    costs.add("mirror_bytes_per_row", held / count, "bytes")


def main(argv: list[str]) -> None:
    """Print a line a figure; with --json one object."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--feeds", type=int, default=20_000)
    options.add_argument("--profile", action="store_true")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args(argv)
    costs = Costs(chosen.profile)
    measure(chosen.feeds, costs)
    if chosen.json:
        figures = [{"name": name, "value": value, "unit": unit} for name, (value, unit) in costs.figures.items()]
        click.echo(json.dumps({"figures": figures}))
        return
    for name, (value, unit) in costs.figures.items():
        click.echo(f"{name:32} {value:10.1f} {unit}")


if __name__ == "__main__":
    main(sys.argv[1:])
