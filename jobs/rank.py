"""The rank job: from story.changes to published pages, and wishes to have their representatives' pages asked for again.

story.changes ─► route ─► key_by(language) ─► Rank ──(edition, pages)──► key_by(edition) ─► Publish ─► objects
(rank-source-…)                               (rank-rank)  │             (rank-publish)        │
                                                           ├─ signals ────► poll.signals       │
                                                           └─ quarantine ─► topic quarantine ◄─┘

Both sinks write at least once. A repeated wish costs one conditional request; a transaction left open by this job's
failure would hold back, from readers of what is committed, the pushes that others write to poll.signals after it.
"""

from __future__ import annotations

import sys

from pyflink.common import Types

from connectors.kafka_flink import KEYED, ROW, first, quarantine_tag, sink, source
from jobs.start import start
from state_schemas.topics import POLL_SIGNALS, QUARANTINE, STORY_CHANGES
from udfs.editions import load_reference
from udfs.publish.decide import PublishPolicy
from udfs.publish.operator import Publish
from udfs.ranking.operator import Rank, Route, signals_tag
from udfs.ranking.policy import RankingPolicy

CHECKPOINT_MS = 2_000


def main(argv: list[str]) -> None:
    """Build the graph and submit it to the cluster this script was sent to."""
    job = start("rank", argv)
    endpoints = job.endpoints
    ranking = job.policy(RankingPolicy, "ranking")
    publishing = job.policy(PublishPolicy, "publish")
    job.checkpoint_every(CHECKPOINT_MS)

    changes = source(job.env, STORY_CHANGES, "rank", endpoints)
    routed = changes.flat_map(Route(), output_type=KEYED).name("rank-route").uid("rank-route")
    ranked = (
        routed.key_by(first, key_type=Types.STRING())
        .process(Rank(ranking, load_reference(job.folder)), output_type=KEYED)
        .name("rank-rank")
        .uid("rank-rank")
    )
    refused = (
        ranked.key_by(first, key_type=Types.STRING())
        .process(Publish(publishing, endpoints), output_type=ROW)
        .name("rank-publish")
        .uid("rank-publish")
    )
    sink(ranked.get_side_output(signals_tag()), POLL_SIGNALS, "rank", endpoints, "at_least_once")
    aside = ranked.get_side_output(quarantine_tag()).union(refused)
    sink(aside, QUARANTINE, "rank", endpoints, "at_least_once")
    job.env.execute("broadsheet-rank")


if __name__ == "__main__":
    main(sys.argv[1:])
