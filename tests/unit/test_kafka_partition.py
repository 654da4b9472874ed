"""Keys are placed as Java's client places them, so that Flink's sinks and ours agree."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

import cli.main
from connectors import kafka
from connectors.kafka import BrokerUnreachableError, Lag, Producer, partition_of
from connectors.settings import Endpoints
from state_schemas.topics import Topic

# What org.apache.kafka.common.utils.Utils.murmur2 gives for these keys.
JAVA = {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}


@pytest.mark.parametrize("key", JAVA)
@pytest.mark.parametrize("partitions", [1, 8, 16, 32, 7])
def test_as_java_does(key: str, partitions: int) -> None:
    assert partition_of(Topic("t", partitions, None), key) == (JAVA[key] & 0x7FFFFFFF) % partitions


def test_lag_is_never_negative() -> None:
    assert [Lag("t", 0, *pair).lag for pair in [(3, 10), (-1, 10), (12, 10)]] == [7, 10, 0]


def test_where_nothing_listens_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "CONNECT_S", 0.0)
    with pytest.raises(BrokerUnreachableError, match=r"no Kafka answers at 127\.0\.0\.1:1; is the stack up"):
        Producer(Endpoints(kafka="127.0.0.1:1"), "test")


@pytest.mark.parametrize(
    "arguments",
    ["sources list", "sources health", "sources add https://a.example/f", "publishers list", "quarantine"],
)
def test_a_command_does_not_wait_as_a_service_does(monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    waits: list[float | None] = []

    def away(_: Endpoints, connect_s: float | None) -> None:
        waits.append(connect_s)
        raise BrokerUnreachableError("no Kafka answers")

    monkeypatch.setattr(kafka, "_reachable", away)
    done = CliRunner().invoke(cli.main.broadsheet, arguments.split())
    assert (done.exit_code, done.stderr) == (2, "broadsheet: no Kafka answers\n")
    assert waits == [kafka.COMMAND_CONNECT_S]


def test_plain_clients_load_no_flink() -> None:
    code = "import connectors.kafka, services.fetcher.service, sys; sys.exit('pyflink' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
