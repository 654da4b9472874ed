"""The cluster job: from articles.normalised to story.changes, one writer a language.

articles.normalised ─► route ─► key_by(language key) ─► Cluster ─► story.changes   (exactly once)
(cluster-source-…)  (cluster-route)               (cluster-cluster)
                         │                               │
                         └────────── quarantine ─────────┴──► topic quarantine     (at least once)
"""

from __future__ import annotations

import argparse
import os
import sys

from pyflink.common import Types
from pyflink.datastream import CheckpointingMode, StreamExecutionEnvironment

from connectors.kafka_flink import ROW, first, quarantine_tag, sink, source
from connectors.settings import Endpoints
from state_schemas.topics import ARTICLES, QUARANTINE, STORY_CHANGES
from udfs.profiles import policy
from udfs.stories.language_keys import MAX_PARALLELISM
from udfs.stories.operator import ROUTED, Cluster, Route
from udfs.stories.policy import ClusterPolicy, load_model

CHECKPOINT_MS = 2_000


def main(argv: list[str]) -> None:
    """Build the graph and submit it to the cluster this script was sent to."""
    options = argparse.ArgumentParser(prog="cluster")
    options.add_argument("--profile", default="default")
    options.add_argument("--parallelism", type=int, default=1)
    chosen = options.parse_args(argv)
    endpoints = Endpoints.from_mapping(os.environ)
    folder = endpoints.reference_data_folder()
    bounds = policy(ClusterPolicy, "cluster", chosen.profile, folder)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(chosen.parallelism)
    env.set_max_parallelism(MAX_PARALLELISM)
    env.enable_checkpointing(CHECKPOINT_MS, CheckpointingMode.EXACTLY_ONCE)

    articles = source(env, ARTICLES, "cluster", endpoints)
    routed = articles.process(Route(), output_type=ROUTED).name("cluster-route").uid("cluster-route")
    changes = (
        routed.key_by(first, key_type=Types.INT())
        .process(Cluster(load_model(folder / "clustering.toml"), bounds), output_type=ROW)
        .name("cluster-cluster")
        .uid("cluster-cluster")
    )
    sink(changes, STORY_CHANGES, "cluster", endpoints, "exactly_once")
    aside = routed.get_side_output(quarantine_tag()).union(changes.get_side_output(quarantine_tag()))
    sink(aside, QUARANTINE, "cluster", endpoints, "at_least_once")
    env.execute("broadsheet-cluster")


if __name__ == "__main__":
    main(sys.argv[1:])
