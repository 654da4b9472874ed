"""What every job begins with: its options, its settings, and the environment its graph is built in."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pyflink.datastream import CheckpointingMode, StreamExecutionEnvironment

from connectors.settings import Endpoints
from udfs.profiles import policy
from udfs.stories.language_keys import MAX_PARALLELISM

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Start:
    """A job's environment and settings. `folder` holds the reference data."""

    env: StreamExecutionEnvironment
    endpoints: Endpoints
    profile: str
    folder: Path

    def policy(self, kind: type[P], stage: str) -> P:
        """The stage's policy under the job's profile. Raises ProfileError."""
        return policy(kind, stage, self.profile, self.folder)

    def checkpoint_every(self, interval_ms: int) -> None:
        """Exactly-once checkpoints at this interval, ms."""
        self.env.enable_checkpointing(interval_ms, CheckpointingMode.EXACTLY_ONCE)


def start(job: str, arguments: Sequence[str]) -> Start:
    """Read `--profile` and `--parallelism` and the BROADSHEET_* variables. Raises SettingsError."""
    options = argparse.ArgumentParser(prog=job)
    options.add_argument("--profile", default="default")
    options.add_argument("--parallelism", type=int, default=1)
    chosen = options.parse_args(arguments)
    endpoints = Endpoints.from_mapping(os.environ)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(chosen.parallelism)
    env.set_max_parallelism(MAX_PARALLELISM)
    return Start(env, endpoints, chosen.profile, endpoints.reference_data_folder())
