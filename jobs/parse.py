"""The parse job: from raw evidence to articles, one version after another.

items.raw ─► Extract ─► key_by(shard) ─► Decide ─► Sign ────────────────┬─► articles.normalised  (exactly once)
(parse-      (parse-                     (parse-   (parse-sign)         │
 source-…)    extract)                    decide)   ├─ languages ─► key_by(language) ─► Clock
                 │                                  │                                 (parse-clock)
                 └───────────── quarantine ─────────┴─► topic quarantine                 (at least once)

Extract is stateless and costs nearly all the time, with Sign; both scale with parallelism. Decide keeps one small row
an article. Decide and Sign stay one to one, so the versions of an article keep their order up to the topic.
"""

from __future__ import annotations

import argparse
import os
import sys

from pyflink.common import Types
from pyflink.datastream import CheckpointingMode, StreamExecutionEnvironment

from connectors.kafka_flink import KEYED, ROW, first, quarantine_tag, sink, source
from connectors.settings import Endpoints
from state_schemas.topics import ARTICLES, ITEMS_RAW, QUARANTINE
from udfs.articles.operator import BYTES, Clock, Decide, Extract, Sign, clock_tag, itself
from udfs.articles.policy import ArticlesPolicy
from udfs.profiles import policy

MAX_PARALLELISM = 128


def main(argv: list[str]) -> None:
    """Build the graph and submit it to the cluster this script was sent to."""
    options = argparse.ArgumentParser(prog="parse")
    options.add_argument("--profile", default="default")
    options.add_argument("--parallelism", type=int, default=1)
    chosen = options.parse_args(argv)
    endpoints = Endpoints.from_mapping(os.environ)
    bounds = policy(ArticlesPolicy, "parse", chosen.profile, endpoints.reference_data_folder())

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(chosen.parallelism)
    env.set_max_parallelism(MAX_PARALLELISM)
    env.enable_checkpointing(bounds.checkpoint_ms, CheckpointingMode.EXACTLY_ONCE)

    events = (
        source(env, ITEMS_RAW, "parse", endpoints)
        .process(Extract(bounds, endpoints), output_type=KEYED)
        .name("parse-extract")
        .uid("parse-extract")
    )
    decided = (
        events.key_by(first, key_type=Types.STRING())
        .process(Decide(bounds), output_type=BYTES)
        .name("parse-decide")
        .uid("parse-decide")
    )
    signed = decided.process(Sign(bounds, endpoints), output_type=ROW).name("parse-sign").uid("parse-sign")
    ticks = (
        signed.get_side_output(clock_tag())
        .key_by(itself, key_type=Types.STRING())
        .process(Clock(bounds), output_type=ROW)
        .name("parse-clock")
        .uid("parse-clock")
    )
    sink(signed.union(ticks), ARTICLES, "parse", endpoints, "exactly_once")
    aside = events.get_side_output(quarantine_tag()).union(signed.get_side_output(quarantine_tag()))
    sink(aside, QUARANTINE, "parse", endpoints, "at_least_once")
    env.execute("broadsheet-parse")


if __name__ == "__main__":
    main(sys.argv[1:])
