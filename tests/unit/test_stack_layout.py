"""Names, ports and files of a stack."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.stack.layout import COMPONENTS, Ports, StackSpec, chosen
from connectors.settings import Endpoints


def test_the_default_ports_are_the_default_settings() -> None:
    assert StackSpec(Path("/x")).endpoints().kafka == Endpoints().kafka
    assert StackSpec(Path("/x")).endpoints().s3_endpoint == Endpoints().s3_endpoint
    assert StackSpec(Path("/x")).endpoints().flink_rest == Endpoints().flink_rest
    assert StackSpec(Path("/x")).endpoints().origin == Endpoints().origin


@given(st.integers(1024, 65528))
def test_ports_from_a_base_are_its_own_and_no_two_the_same(base: int) -> None:
    ports = Ports.from_base(base)
    values = [getattr(ports, entry.name) for entry in fields(Ports)]
    assert values == list(range(base, base + len(values)))


def test_only_the_ports_of_the_components_that_run_are_asked_for() -> None:
    assert set(Ports().of(("s3", "taskmanager"))) == {"s3"}
    assert set(Ports().of(COMPONENTS)) == {entry.name for entry in fields(Ports)}


def test_a_group_stands_for_its_components_in_starting_order() -> None:
    assert chosen(("flink", "kafka")) == ("kafka", "jobmanager", "taskmanager")
    with pytest.raises(ValueError, match="no component 'zookeeper'"):
        chosen(("zookeeper",))


def test_a_spec_survives_its_file() -> None:
    spec = StackSpec(
        Path("/data/one"), Ports.from_base(4000), ("s3",), "demo", 4, "64m", "127.0.0.1:4099", True, 12, 1.5
    )
    assert StackSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


def test_a_file_of_a_later_version_is_read_without_what_is_unknown() -> None:
    found = {**StackSpec(Path("/x")).to_json(), "colour": "blue"}
    assert StackSpec.from_json(found) == StackSpec(Path("/x"))


def test_workers_find_the_encoder_from_any_folder() -> None:
    assert Path(StackSpec(Path("/x")).endpoints().encoder_folder).is_absolute()
    elsewhere = Endpoints(encoder_folder="/models/e5")
    assert StackSpec(Path("/x")).endpoints(elsewhere).encoder_folder == "/models/e5"
