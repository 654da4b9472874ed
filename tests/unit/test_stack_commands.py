"""The command line of the stack, with no stack behind it."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from cli.stack import Ports, Stack, StackError, StackStatus, free_ports, stack
from cli.stack.commands import chosen_ports, status_json, status_table
from cli.stack.control import ComponentStatus, Process, port_free
from connectors.settings import Endpoints

STATUS = StackStatus(
    up=True,
    ready=False,
    ready_after_s=None,
    failure="",
    components=(
        ComponentStatus("kafka", "backoff", None, 3, 19092, 0.0, "killed by SIGKILL", ()),
        ComponentStatus(
            *("taskmanager", "ready", 12, 1, 0, 3725.0, ""),
            (Process(12, "Java", 600.0), Process(13, "bash", 3.0), Process(14, "Python worker", 180.4)),
        ),
    ),
)


def test_the_table_names_workers_reasons_and_the_sum() -> None:
    console = Console(width=120, record=True)
    console.print(status_table(STATUS))
    text = console.export_text()
    assert "stack: starting" in text
    assert "backoff (killed by SIGKILL)" in text
    assert "Python worker" in text
    assert "bash" not in text
    assert "1:02:05" in text
    assert "783" in text


def test_json_is_plain_and_adds_up() -> None:
    found = json.loads(json.dumps(status_json(STATUS)))
    assert found["rss_mb"] == 783.4
    assert [part["rss_mb"] for part in found["components"]] == [0.0, 783.4]
    assert found["components"][1]["processes"][2] == {"pid": 14, "what": "Python worker", "rss_mb": 180.4}


def test_a_port_option_wins_over_the_base() -> None:
    assert chosen_ports(None, {"kafka_port": None}) == Ports()
    ports = chosen_ports(4000, {"origin_port": 80, "kafka_port": None})
    assert (ports.kafka, ports.origin) == (4000, 80)


def test_free_ports_leave_out_a_taken_one() -> None:
    ports, spare = free_ports()
    assert spare == ports.origin + 1
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", ports.s3))
        taken.listen()
        assert not port_free(ports.s3)
        other, _ = free_ports(ports.kafka)
        assert other.kafka > ports.kafka


def test_no_stack_is_one_line(tmp_path: Path) -> None:
    for command in ("down", "status", "env"):
        outcome = CliRunner().invoke(stack, [command, "--data", str(tmp_path)])
        assert outcome.exit_code == 2
        assert outcome.output.count("\n") == 1
        assert "no stack was ever started" in outcome.output


def test_an_unknown_component_is_one_line(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(stack, ["up", "--only", "zookeeper", "--data", str(tmp_path)])
    assert outcome.exit_code == 2
    assert "no component 'zookeeper'" in outcome.output


def test_what_runs_nowhere_has_no_process(tmp_path: Path) -> None:
    one = Stack(tmp_path, given=Endpoints())
    assert not one.status().up
    assert not one.down()
    assert one.pids("kafka") == ()
    with pytest.raises(StackError, match="kafka does not run"):
        one.pid("kafka")


def test_a_stack_is_found_again_by_its_folder(tmp_path: Path) -> None:
    assert Stack.existing(tmp_path) is None
    one = Stack(tmp_path, Ports.from_base(4000), "demo", gateway="127.0.0.1:1", given=Endpoints())
    one.spec.spec_file.write_text(json.dumps(one.spec.to_json()))
    again = Stack.existing(tmp_path)
    assert again is not None
    assert again.spec == one.spec
    outcome = CliRunner().invoke(stack, ["env", "--data", str(tmp_path)])
    assert "export BROADSHEET_KAFKA=127.0.0.1:4000" in outcome.output


def test_a_log_is_shown_from_its_end(tmp_path: Path) -> None:
    one = Stack(tmp_path, given=Endpoints())
    one.spec.spec_file.write_text(json.dumps(one.spec.to_json()))
    outcome = CliRunner().invoke(stack, ["logs", "kafka", "--data", str(tmp_path)])
    assert "kafka has written nothing yet" in outcome.output
    one.spec.logs.mkdir()
    one.spec.log_file("kafka").write_text("one\ntwo\nthree\n")
    outcome = CliRunner().invoke(stack, ["logs", "kafka", "-n", "2", "--data", str(tmp_path)])
    assert outcome.output == "two\nthree\n"
    outcome = CliRunner().invoke(stack, ["logs", "nobody", "--data", str(tmp_path)])
    assert outcome.exit_code == 2
