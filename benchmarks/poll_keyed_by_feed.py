"""The poll job as one would write it first: a Flink key a feed, its row in ValueState, its due time as its timer.

`broadsheet bench poll --alternative` submits it beside jobs/poll.py, over the same deciders, topics and sinks. What it
leaves out is what this form has no place for or the comparison does not need: a budget of all feeds (it would need a
second stage), signals, held pages, bodies in the object store. Never run it on a stack that matters.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import DataStream
from pyflink.datastream.functions import KeyedProcessFunction, ProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor

from connectors.kafka_flink import KEYED, ROW, first, quarantine_tag, sink, source, to_row
from jobs.start import start
from state_schemas.codec import decode_record, dump_state, encode_record, load_state, unpack_bytes
from state_schemas.fetching import FetchResult
from state_schemas.polling import FeedState
from state_schemas.quarantine import quarantined
from state_schemas.sources import Source
from state_schemas.topics import FEEDS_FETCHED, FETCH_REQUESTS, FETCH_REQUESTS_PRIORITY, QUARANTINE, SOURCES, Topic
from udfs.feeds.document import FeedError, ParsedFeed, ReaderPolicy
from udfs.poll import schedule
from udfs.poll.actions import Ask, SetAside
from udfs.poll.operator import priority_tag, read_document
from udfs.poll.policy import PollPolicy

CHECKPOINT_MS = 30_000
JOB = "poll-keyed"


class RouteByFeed(ProcessFunction):
    """Bytes of one topic to (feed id, kind byte + bytes)."""

    def __init__(self, tag: bytes) -> None:
        self._tag = tag

    def process_element(self, value: bytes, ctx: ProcessFunction.Context) -> Iterator[Any]:
        record: Source | FetchResult
        record = decode_record(Source, value) if self._tag == b"s" else decode_record(FetchResult, value)
        yield record.feed_id, self._tag + value


class PollByFeed(KeyedProcessFunction):
    """One feed: its row, and one timer at its due time."""

    def __init__(self, policy: PollPolicy, reader: ReaderPolicy) -> None:
        self._policy, self._reader = policy, reader

    def open(self, runtime_context: RuntimeContext) -> None:
        self._row = runtime_context.get_state(ValueStateDescriptor("feed", Types.PRIMITIVE_ARRAY(Types.BYTE())))
        self._priority, self._quarantine = priority_tag(), quarantine_tag()
        metrics = runtime_context.get_metrics_group()
        self._released, self._answers = metrics.counter("polls"), metrics.counter("answers")

    def process_element(self, value: tuple[str, bytes], ctx: Any) -> Iterator[Any]:
        tag, record = value[1][:1], value[1][1:]
        now_ms = ctx.timer_service().current_processing_time()
        state = load_state(FeedState, self._row.value())
        if tag == b"s":
            after = schedule.after_source(state, decode_record(Source, record), now_ms)
            if after is None:
                self._row.clear()
            else:
                self._keep(after, ctx)
        elif state is not None:
            self._answers.inc()
            yield from self._on_result(state, decode_record(FetchResult, record), now_ms, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        state = load_state(FeedState, self._row.value())
        if state is None or state.next_poll_ms != timestamp:
            return  # the feed was put off or brought forward since
        released, ask = schedule.release(state, ctx.timer_service().current_processing_time(), self._policy)
        self._keep(released, ctx)
        self._released.inc()
        yield self._sent(ask)

    def _on_result(self, state: FeedState, result: FetchResult, now_ms: int, ctx: Any) -> Iterator[Any]:
        document: ParsedFeed | FeedError | None = None
        digest = 0
        if result.outcome == "fetched" and result.body is not None:
            body = unpack_bytes(result.body.zstd)
            digest = schedule.body_hash(body)
            if digest != state.body_hash:
                try:
                    document = read_document(body, result, state, self._reader)
                except FeedError as error:
                    document = error
        after, actions = schedule.after_result(state, result, document, now_ms, self._policy, body=digest)
        self._keep(after, ctx)
        for action in actions:
            if isinstance(action, Ask):
                yield self._sent(action)
            elif isinstance(action, SetAside):
                aside = quarantined(FEEDS_FETCHED.name, "poll", action.reason, now_ms, subject=action.subject)
                yield self._quarantine, to_row(FEEDS_FETCHED.name, aside)

    def _keep(self, state: FeedState, ctx: Any) -> None:
        self._row.update(dump_state(state))
        ctx.timer_service().register_processing_time_timer(state.next_poll_ms)

    def _sent(self, ask: Ask) -> Any:
        row = to_row(ask.request.host, encode_record(ask.request))
        return (self._priority, row) if ask.priority else row


def main(argv: list[str]) -> None:
    """Build the graph and submit it."""
    job = start(JOB, argv)
    endpoints = job.endpoints
    job.checkpoint_every(CHECKPOINT_MS)

    def routed(topic: Topic, tag: bytes) -> DataStream:
        uid = f"{JOB}-route-{topic.name}"
        return source(job.env, topic, JOB, endpoints).process(RouteByFeed(tag), output_type=KEYED).name(uid).uid(uid)

    requests = (
        routed(SOURCES, b"s")
        .union(routed(FEEDS_FETCHED, b"f"))
        .key_by(first, key_type=Types.STRING())
        .process(PollByFeed(job.policy(PollPolicy, "poll"), job.policy(ReaderPolicy, "feeds")), output_type=ROW)
        .name("poll-poll")
        .uid("poll-poll")
    )
    sink(requests, FETCH_REQUESTS, JOB, endpoints, "at_least_once")
    sink(requests.get_side_output(priority_tag()), FETCH_REQUESTS_PRIORITY, JOB, endpoints, "at_least_once")
    sink(requests.get_side_output(quarantine_tag()), QUARANTINE, JOB, endpoints, "at_least_once")
    job.env.execute(f"broadsheet-{JOB}")


if __name__ == "__main__":
    main(sys.argv[1:])
