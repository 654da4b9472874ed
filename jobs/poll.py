"""The poll job: when each feed is asked, and what of its answer is new.

sources ───────┐
(poll-source-…)├─► route ─► union ─► key_by(shard) ─► Poll ─► fetch.requests
poll.signals ──┤  (poll-route-…)                   (poll-poll)
feeds.fetched ─┘     │                                 ├─ priority ───► fetch.requests.priority
                     │                                 ├─ items ──────► items.raw
                     └──────────── quarantine ─────────┴─────────────► quarantine

All sinks write at least once: a request asked twice is refused or answered twice, and the row takes either.
"""

from __future__ import annotations

import sys

from pyflink.common import Types
from pyflink.datastream import DataStream

from connectors.kafka_flink import KEYED, ROW, first, quarantine_tag, sink, source
from jobs.start import start
from state_schemas.topics import (
    FEEDS_FETCHED,
    FETCH_REQUESTS,
    FETCH_REQUESTS_PRIORITY,
    ITEMS_RAW,
    POLL_SIGNALS,
    QUARANTINE,
    SOURCES,
    WEBSUB_SUBSCRIPTIONS,
    Topic,
)
from udfs.feeds.document import ReaderPolicy
from udfs.poll.operator import Poll, Route, items_tag, priority_tag, subscriptions_tag
from udfs.poll.policy import PollPolicy

CHECKPOINT_MS = 30_000


def main(argv: list[str]) -> None:
    """Build the graph and submit it to the cluster this script was sent to."""
    job = start("poll", argv)
    endpoints = job.endpoints
    bounds = job.policy(PollPolicy, "poll")
    reader = job.policy(ReaderPolicy, "feeds")
    job.checkpoint_every(CHECKPOINT_MS)

    def routed(topic: Topic) -> DataStream:
        uid = f"poll-route-{topic.name}"
        stream = source(job.env, topic, "poll", endpoints)
        return stream.process(Route(topic, bounds.shards), output_type=KEYED).name(uid).uid(uid)

    sources, signals, answers = routed(SOURCES), routed(POLL_SIGNALS), routed(FEEDS_FETCHED)
    requests = (
        sources.union(signals, answers)
        .key_by(first, key_type=Types.STRING())
        .process(Poll(bounds, reader, endpoints), output_type=ROW)
        .name("poll-poll")
        .uid("poll-poll")
    )
    sink(requests, FETCH_REQUESTS, "poll", endpoints, "at_least_once")
    sink(requests.get_side_output(priority_tag()), FETCH_REQUESTS_PRIORITY, "poll", endpoints, "at_least_once")
    sink(requests.get_side_output(items_tag()), ITEMS_RAW, "poll", endpoints, "at_least_once")
    sink(requests.get_side_output(subscriptions_tag()), WEBSUB_SUBSCRIPTIONS, "poll", endpoints, "at_least_once")
    aside = requests.get_side_output(quarantine_tag()).union(
        *(stream.get_side_output(quarantine_tag()) for stream in (sources, signals, answers))
    )
    sink(aside, QUARANTINE, "poll", endpoints, "at_least_once")
    job.env.execute("broadsheet-poll")


if __name__ == "__main__":
    main(sys.argv[1:])
