"""The fetch tier of `bench poll`: answers every feed request at once, and counts what was released, and when.

A process of its own (`python -m cli.bench_answerer START_MS BODIES`), so that its cost is not the job's. It obeys one
line on standard input at a time and answers each with one line of JSON; it ends with its input. Instants are the
broker's.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from cli.bench_feeds import Asked, Feeds, Mix, tier_of
from connectors.kafka import Producer, message_of, open_consumer
from connectors.settings import Endpoints
from state_schemas.codec import decode_record, encode_record
from state_schemas.topics import FEEDS_FETCHED, FETCH_REQUESTS, FETCH_REQUESTS_PRIORITY

SHARDS = 256  # only to see that all are back; the job's own keys do not depend on it


class Count:
    """What was released since `since_ms` (ms UTC; older requests are answered and not counted)."""

    def __init__(self, since_ms: int = 0) -> None:
        self.since_ms = since_ms
        self.released = self.answered = self.pages = 0
        self.by_second: Counter[int] = Counter()
        self.first_ms: dict[str, int] = {}  # feed -> its first release
        self.shards: dict[int, int] = {}  # shard -> its first release

    def release(self, feed: str, at_ms: int) -> None:
        """Note one feed request."""
        self.released += 1
        self.by_second[at_ms // 1000] += 1
        # Partitions are read one after the other: what is read later may have been released sooner.
        self.first_ms[feed] = min(at_ms, self.first_ms.get(feed, at_ms))
        shard = int(feed, 16) % SHARDS
        self.shards[shard] = min(at_ms, self.shards.get(shard, at_ms))

    def counts(self) -> dict[str, Any]:
        """Numbers alone. shards_ms: when the last of the shards seen so far released its first."""
        return {
            "released": self.released,
            "answered": self.answered,
            "pages": self.pages,
            "feeds": len(self.first_ms),
            "shards": len(self.shards),
            "first_ms": min(self.shards.values(), default=0),
            "shards_ms": max(self.shards.values(), default=0),
        }

    def releases(self) -> dict[str, Any]:
        """Each feed's first release by tier, ascending; all releases by second (s since 1970); the shards seen."""
        tiers: dict[str, list[int]] = {"authoritative": [], "tail": []}
        for feed, at_ms in self.first_ms.items():
            tiers[tier_of(feed)].append(at_ms)
        ordered = {tier: sorted(found) for tier, found in tiers.items()}
        return {**ordered, "by_second": dict(self.by_second), "shards": sorted(self.shards)}


def serve(endpoints: Endpoints, feeds: Feeds, commands: queue.Queue[str]) -> None:
    """Answer until the command `end`. `mark MS`: count anew from then; `counts`; `releases`."""
    count = Count()
    consumer = open_consumer(
        endpoints, client_id="bench-answerer", auto_offset_reset="earliest", max_poll_records=2_000
    )
    from kafka import TopicPartition

    topics = (FETCH_REQUESTS, FETCH_REQUESTS_PRIORITY)
    consumer.assign([TopicPartition(topic.name, place) for topic in topics for place in range(topic.partitions)])
    with Producer(endpoints, "bench-answerer", linger_ms=20) as producer:
        producer.prepare([FEEDS_FETCHED])
        while True:
            for records in consumer.poll(timeout_ms=50).values():
                _answer(records, feeds, count, producer)
            try:
                command, _, argument = commands.get_nowait().partition(" ")
            except queue.Empty:
                continue
            if command == "end":
                break
            if command == "mark":
                count = Count(int(argument))
            found = count.releases() if command == "releases" else count.counts()
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()
    consumer.close(timeout_ms=2_000)


def _answer(records: Iterable[Any], feeds: Feeds, count: Count, producer: Producer) -> None:
    now_ms = time.time_ns() // 1_000_000
    for record in records:
        message = message_of(record)
        counted = message.timestamp_ms >= count.since_ms
        # Pages are not asked for here; they are told apart without being read.
        if b'"kind":"page"' in message.value[:200]:
            count.pages += counted
            continue
        asked = decode_record(Asked, message.value)
        if counted:
            count.release(asked.feed_id, message.timestamp_ms)
            count.answered += 1
        producer.send(FEEDS_FETCHED, asked.feed_id, encode_record(feeds.answer(asked, now_ms)))


class Answerer:
    """The process from outside. Ends with its context."""

    def __init__(self, endpoints: Endpoints, start_ms: int, bodies: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "cli.bench_answerer", str(start_ms), str(bodies)],
            env={**os.environ, **endpoints.to_mapping()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, command: str) -> dict[str, Any]:
        """One command and its answer. Raises RuntimeError when the process has ended: our bug, its trace is shown."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError("the answering process has ended")
        found: dict[str, Any] = json.loads(line)
        return found

    def __enter__(self) -> Answerer:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main(argv: list[str]) -> None:
    """Serve what the environment names."""
    commands: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            commands.put(line.strip())
        commands.put("end")

    threading.Thread(target=read, daemon=True).start()
    serve(Endpoints.from_mapping(os.environ), Feeds(int(argv[0]), Mix(bodies=float(argv[1]))), commands)


if __name__ == "__main__":
    main(sys.argv[1:])
