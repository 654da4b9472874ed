"""Settings of the components: only this machine, and as measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.stack import components
from cli.stack.layout import CHECKOUT, Ports, StackSpec
from cli.stack.processes import MARK
from connectors.settings import Endpoints

SPEC = StackSpec(Path("/data/one"), Ports.from_base(4000), slots=4)


@pytest.fixture
def flink_settings(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(components, "_shipped_java_opts", lambda: "--add-opens=java.base/java.lang=ALL-UNNAMED")
    return components.flink_settings(SPEC, SPEC.endpoints(Endpoints()))


def test_every_placeholder_of_flinks_settings_is_filled(flink_settings: str) -> None:
    lines = [line for line in flink_settings.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if "${" in line]
    assert "taskmanager.numberOfTaskSlots: 4" in lines
    assert "rest.port: 4003" in lines


def test_flink_binds_to_this_machine_only(flink_settings: str) -> None:
    addresses = re.findall(r"^\S*(?:address|host): (\S+)$", flink_settings, re.MULTILINE)
    assert len(addresses) >= 6
    assert set(addresses) == {"127.0.0.1"}


def test_flink_keeps_the_shipped_java_options(flink_settings: str) -> None:
    assert "env.java.opts.all: --add-opens=java.base/java.lang=ALL-UNNAMED -XX:+UseSerialGC" in flink_settings


def test_the_broker_listens_on_this_machine_only_and_creates_no_topic_by_itself() -> None:
    settings = components.broker_settings(SPEC)
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:4000,CONTROLLER://127.0.0.1:4001"
    assert settings["auto.create.topics.enable"] == "false"
    # The sinks' transactions (connectors/kafka_flink.py) must be allowed their 10 minutes.
    assert int(settings["transaction.max.timeout.ms"]) >= 600_000


def test_processes_inherit_settings_mark_and_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    found = components.environment(SPEC, SPEC.endpoints(Endpoints()), "taskmanager")
    assert found["BROADSHEET_KAFKA"] == "127.0.0.1:4000"
    assert found["BROADSHEET_FETCHER_PORT"] == "4005"
    assert found["OMP_NUM_THREADS"] == found["OPENBLAS_NUM_THREADS"] == "1"
    assert found[MARK] == "/data/one:taskmanager"


def test_what_set_up_has_not_made_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(components, "INSTALLATION", tmp_path)
    with pytest.raises(components.NotInstalledError, match="run `make setup`"):
        components.components(SPEC, Endpoints())


def test_each_version_is_said_in_one_place() -> None:
    versions = dict(
        line.split("=", 1)
        for line in (CHECKOUT / "docker" / "versions.env").read_text().splitlines()
        if line and not line.startswith("#")
    )
    pom = (CHECKOUT / "docker" / "pom.xml").read_text()
    said = re.findall(r"<version>(.*?)</version>", pom)[1:]  # the first is the file's own
    assert said
    assert all(re.fullmatch(r"\$\{(\w+)\}", text) and text[2:-1] in versions for text in said)
    lock = (CHECKOUT / "requirements.lock").read_text()
    assert f"apache-flink=={versions['FLINK_VERSION']}\n" in lock
