"""The rank job: from story.changes to published pages.

story.changes ─► route ─► key_by(language) ─► Rank ──(edition, pages)──► key_by(edition) ─► Publish ─► objects
(rank-source-…)                               (rank-rank)  │             (rank-publish)
                                                           └─ quarantine ─► topic quarantine
"""

from __future__ import annotations

import argparse
import os
import sys

from pyflink.common import Types
from pyflink.datastream import CheckpointingMode, StreamExecutionEnvironment

from connectors.kafka_flink import KEYED, ROW, first, quarantine_tag, sink, source
from connectors.settings import Endpoints
from state_schemas.topics import QUARANTINE, STORY_CHANGES
from udfs.editions import load_reference
from udfs.profiles import policy
from udfs.publish.decide import PublishPolicy
from udfs.publish.operator import Publish
from udfs.ranking.operator import Rank, Route
from udfs.ranking.policy import RankingPolicy

CHECKPOINT_MS = 2_000
MAX_PARALLELISM = 128


def main(argv: list[str]) -> None:
    """Build the graph and submit it to the cluster this script was sent to."""
    options = argparse.ArgumentParser(prog="rank")
    options.add_argument("--profile", default="default")
    options.add_argument("--parallelism", type=int, default=1)
    chosen = options.parse_args(argv)
    endpoints = Endpoints.from_mapping(os.environ)
    folder = endpoints.reference_data_folder()
    ranking = policy(RankingPolicy, "ranking", chosen.profile, folder)
    publishing = policy(PublishPolicy, "publish", chosen.profile, folder)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(chosen.parallelism)
    env.set_max_parallelism(MAX_PARALLELISM)
    env.enable_checkpointing(CHECKPOINT_MS, CheckpointingMode.EXACTLY_ONCE)

    changes = source(env, STORY_CHANGES, "rank", endpoints)
    routed = changes.flat_map(Route(), output_type=KEYED).name("rank-route").uid("rank-route")
    ranked = (
        routed.key_by(first, key_type=Types.STRING())
        .process(Rank(ranking, load_reference(folder)), output_type=KEYED)
        .name("rank-rank")
        .uid("rank-rank")
    )
    refused = (
        ranked.key_by(first, key_type=Types.STRING())
        .process(Publish(publishing, endpoints), output_type=ROW)
        .name("rank-publish")
        .uid("rank-publish")
    )
    aside = ranked.get_side_output(quarantine_tag()).union(refused)
    sink(aside, QUARANTINE, "rank", endpoints, "at_least_once")
    env.execute("broadsheet-rank")


if __name__ == "__main__":
    main(sys.argv[1:])
