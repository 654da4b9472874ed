from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import psutil
import pytest

from cli.errors import UserError
from cli.line import press, refuse_second, refuse_taken
from cli.stack import Stack


def _stack_in(folder: Path, supervisor: int, started: float) -> None:
    stack = Stack(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stack.spec.spec_file.write_text(json.dumps(stack.spec.to_json()))
    stack.spec.status_file.write_text(json.dumps({"supervisor": supervisor, "supervisor_started": started}))


def test_a_second_demo_leaves_the_first_alone(tmp_path: Path) -> None:
    _stack_in(tmp_path / "demo", os.getpid(), psutil.Process().create_time())
    with pytest.raises(UserError, match="runs already"):
        refuse_second(tmp_path / "demo")


def test_what_an_ended_one_left_is_no_hindrance(tmp_path: Path) -> None:
    refuse_second(tmp_path / "never")
    _stack_in(tmp_path / "demo", os.getpid(), 1.0)
    refuse_second(tmp_path / "demo")


def test_a_taken_port_is_said_before_anything_starts() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(UserError, match="--press-port"):
            refuse_taken(other.getsockname()[1])


def test_a_press_that_does_not_start_says_why() -> None:
    with pytest.raises(UserError, match="speed"), press("--port", "0", "--speed", "-1"):
        pass


def test_a_press_tells_where_its_truth_stands() -> None:
    with press("--port", "0") as url:
        assert url.startswith("http://127.0.0.1:")
        assert url.endswith("/_press/status")
