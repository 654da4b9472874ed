"""The parse job: from raw evidence to articles, one version after another.

items.raw ─► Extract ─► key_by(shard) ─► Decide ─► Sign ────────────────┬─► articles.normalised  (exactly once)
(parse-      (parse-                     (parse-   (parse-sign)         │
 source-…)    extract)                    decide)   ├─ languages ─► key_by(language) ─► Clock
    ▲                                        │      │
    └─ retractions for another address ──────┘      │
                 │                                  │                                 (parse-clock)
                 └───────────── quarantine ─────────┴─► topic quarantine                 (at least once)

Extract is stateless and costs nearly all the time, with Sign; both scale with parallelism. Decide keeps one small row
an article. Decide and Sign stay one to one, so the versions of an article keep their order up to the topic.
"""

from __future__ import annotations

import sys

from pyflink.common import Configuration, Types

from connectors.kafka_flink import KEYED, ROW, first, quarantine_tag, sink, source
from jobs.start import start
from state_schemas.topics import ARTICLES, ITEMS_RAW, QUARANTINE
from udfs.articles.operator import BYTES, Clock, Decide, Extract, Sign, clock_tag, forwarded_tag, itself
from udfs.articles.policy import ArticlesPolicy

# A barrier waits for the bundle before it: of 1,000 articles (the default) that is a minute, of 8 half a second.
BUNDLE_SIZE = 8
# An article is seen when its checkpoint is complete, within 2 s. Waking up every 10 to 20 ms until then, as the cluster
# is set for the sake of other jobs, is processor time for nothing.
BUNDLE_MS = 100
BUFFER_MS = 100


def main(argv: list[str]) -> None:
    """Build the graph and submit it to the cluster this script was sent to."""
    job = start("parse", argv)
    endpoints = job.endpoints
    bounds = job.policy(ArticlesPolicy, "parse")
    job.checkpoint_every(bounds.checkpoint_ms)
    bundles = Configuration()
    bundles.set_integer("python.fn-execution.bundle.size", BUNDLE_SIZE)
    bundles.set_integer("python.fn-execution.bundle.time", BUNDLE_MS)
    job.env.configure(bundles)
    job.env.set_buffer_timeout(BUFFER_MS)

    events = (
        source(job.env, ITEMS_RAW, "parse", endpoints)
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
    sink(decided.get_side_output(forwarded_tag()), ITEMS_RAW, "parse", endpoints, "at_least_once")
    aside = events.get_side_output(quarantine_tag()).union(signed.get_side_output(quarantine_tag()))
    sink(aside, QUARANTINE, "parse", endpoints, "at_least_once")
    job.env.execute("broadsheet-parse")


if __name__ == "__main__":
    main(sys.argv[1:])
