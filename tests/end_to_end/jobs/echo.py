"""A job for tests: topic `echo.in` -> count each key in keyed state -> topic `echo.out`, exactly once.

echo.in ─► split ─► key_by(key) ─► count ─► echo.out   (key; "{key} {count} {value}")
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from pyflink.common import Row, Types
from pyflink.datastream import CheckpointingMode, StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor

from connectors.kafka_flink import KEYED, ROW, sink, source, to_row
from connectors.settings import Endpoints
from state_schemas.topics import DAY_MS, Topic

ECHO_IN = Topic("echo.in", 4, DAY_MS)
ECHO_OUT = Topic("echo.out", 4, DAY_MS)


class Count(KeyedProcessFunction):
    """Numbers the records of each key from 1 on."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[str, bytes], ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield to_row(value[0], f"{value[0]} {count} {value[1].decode()}".encode())


def main(argv: list[str]) -> None:
    """Build the graph and submit it."""
    options = argparse.ArgumentParser()
    options.add_argument("--profile")
    options.add_argument("--parallelism", type=int, default=1)
    chosen = options.parse_args(argv)
    endpoints = Endpoints.from_mapping(os.environ)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(chosen.parallelism)
    env.set_max_parallelism(128)
    env.enable_checkpointing(1000, CheckpointingMode.EXACTLY_ONCE)
    records = source(env, ECHO_IN, "echo", endpoints)
    split = records.map(lambda raw: (raw.split(b" ")[0].decode(), raw), output_type=KEYED).uid("echo-split")
    counted = split.key_by(lambda pair: pair[0]).process(Count(), output_type=ROW).uid("echo-count")
    sink(counted, ECHO_OUT, "echo", endpoints, "exactly_once")
    env.execute("broadsheet-echo")


if __name__ == "__main__":
    main(sys.argv[1:])
