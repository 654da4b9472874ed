"""The cluster job: from articles.normalised to story.changes, one writer a language.

articles.normalised ─► route ─► key_by(language key) ─► Cluster ─► story.changes   (exactly once)
(cluster-source-…)  (cluster-route)               (cluster-cluster)
                         │                               │
                         └────────── quarantine ─────────┴──► topic quarantine     (at least once)
"""

from __future__ import annotations

import sys

from pyflink.common import Configuration, Types

from connectors.kafka_flink import ROW, first, quarantine_tag, sink, source
from jobs.start import start
from state_schemas.topics import ARTICLES, QUARANTINE, STORY_CHANGES
from udfs.stories.operator import ROUTED, Cluster, Route
from udfs.stories.policy import ClusterPolicy, load_model

CHECKPOINT_MS = 2_000
# A barrier waits for the bundle before it. An article costs 2 ms here, a bundle 1.3 ms: a backlog in bundles of the
# default 1,000 held a checkpoint up for seconds, and for 50 s on a machine under heavy load.
BUNDLE_SIZE = 100


def main(argv: list[str]) -> None:
    """Build the graph and submit it to the cluster this script was sent to."""
    job = start("cluster", argv)
    endpoints = job.endpoints
    bounds = job.policy(ClusterPolicy, "cluster")
    job.checkpoint_every(CHECKPOINT_MS)
    bundles = Configuration()
    bundles.set_integer("python.fn-execution.bundle.size", BUNDLE_SIZE)
    job.env.configure(bundles)

    articles = source(job.env, ARTICLES, "cluster", endpoints)
    routed = articles.process(Route(), output_type=ROUTED).name("cluster-route").uid("cluster-route")
    changes = (
        routed.key_by(first, key_type=Types.INT())
        .process(Cluster(load_model(job.folder / "clustering.toml"), bounds), output_type=ROW)
        .name("cluster-cluster")
        .uid("cluster-cluster")
    )
    sink(changes, STORY_CHANGES, "cluster", endpoints, "exactly_once")
    aside = routed.get_side_output(quarantine_tag()).union(changes.get_side_output(quarantine_tag()))
    sink(aside, QUARANTINE, "cluster", endpoints, "at_least_once")
    job.env.execute("broadsheet-cluster")


if __name__ == "__main__":
    main(sys.argv[1:])
