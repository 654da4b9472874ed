"""The supervisor with small processes in the components' place."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from cli.stack import supervisor as module
from cli.stack.components import Component
from cli.stack.layout import StackSpec
from cli.stack.processes import MARK, Identity, marked
from cli.stack.supervisor import Supervisor
from connectors.settings import Endpoints

SLEEP = "import time; time.sleep(60)"
# A child in a session of its own, as Flink's Python workers are: it outlives its parent's death.
WITH_CHILD = (
    "import subprocess, sys, time; "
    f"subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True); time.sleep(60)"
)


def component(spec: StackSpec, name: str, script: str, serves: bool = True) -> Component:
    return Component(
        name=name,
        argv=(sys.executable, "-c", script),
        env={**os.environ, MARK: f"{spec.folder}:{name}"},
        cwd=spec.folder,
        port=0,
        serves=lambda _started: serves,
        grace_s=2,
    )


class Running:
    """A supervisor on a thread of this process; what it writes to its status file is what a test sees."""

    def __init__(self, spec: StackSpec, *parts: Component) -> None:
        self.spec = spec
        self.supervisor = Supervisor(spec, Endpoints(), {part.name: part for part in parts})
        self.thread = threading.Thread(target=self.supervisor.run)
        self.thread.start()

    def status(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self.spec.status_file.read_text())
        except FileNotFoundError:
            return {}
        return found

    def part(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.status().get("components", {}).get(name, {})
        return found

    def end(self) -> None:
        self.supervisor.end()
        self.thread.join()


def until(condition: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Running]]:
    monkeypatch.setattr(module.signal, "signal", lambda *_: None)  # handlers belong to a main thread
    monkeypatch.setattr(module, "TICK_S", 0.02)
    monkeypatch.setattr(module, "BACKOFF_FIRST_S", 0.05)
    spec = StackSpec(tmp_path)
    spec.logs.mkdir()
    started: list[Running] = []

    def run(*scripts: tuple[str, str], **options: Any) -> Running:
        parts = [component(spec, name, script, **options) for name, script in scripts]
        started.append(Running(spec, *parts))
        return started[-1]

    yield run
    for one in started:
        one.end()
    assert marked(str(tmp_path)) == []


def test_what_is_killed_is_started_again_and_counted(start: Callable[..., Running]) -> None:
    running = start(("one", SLEEP), ("two", SLEEP))
    until(lambda: running.status().get("ready"))
    first, other = running.part("one")["pid"], running.part("two")["pid"]
    os.kill(first, signal.SIGKILL)
    until(lambda: running.part("one")["restarts"] == 1 and running.part("one")["state"] == "ready")
    assert running.part("one")["pid"] != first
    assert running.part("two")["pid"] == other


def test_children_that_a_killed_component_leaves_behind_are_ended(start: Callable[..., Running]) -> None:
    running = start(("one", WITH_CHILD))
    until(lambda: running.part("one").get("pid"))
    pid = running.part("one")["pid"]
    until(lambda: psutil.Process(pid).children())
    child = psutil.Process(pid).children()[0]
    os.kill(pid, signal.SIGKILL)
    until(lambda: running.part("one")["restarts"] == 1)
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_one_that_keeps_dying_is_tried_ever_later_and_says_why(start: Callable[..., Running]) -> None:
    running = start(("one", "import sys; sys.exit(3)"), serves=False)
    until(lambda: running.part("one").get("restarts", 0) >= 2)
    assert running.part("one")["reason"] == "exit status 3"
    assert not running.status()["ready"]
    assert running.status()["ready_after_s"] is None


def test_one_that_does_not_serve_is_not_ready(start: Callable[..., Running]) -> None:
    running = start(("one", SLEEP), serves=False)
    until(lambda: running.part("one").get("state") == "starting")
    assert not running.status()["ready"]


def test_an_end_ends_all(start: Callable[..., Running]) -> None:
    running = start(("kept", SLEEP), ("taskmanager", WITH_CHILD))
    until(lambda: running.status().get("ready"))
    pids = [running.part(name)["pid"] for name in ("kept", "taskmanager")]
    running.end()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert running.part("kept")["state"] == "stopped"


def test_a_process_number_used_again_is_not_ours() -> None:
    own = Identity.of(os.getpid())
    assert own is not None
    assert own.alive()
    assert not Identity(os.getpid(), own.started - 3600).alive()


def test_a_long_log_is_cut_and_its_older_part_kept(
    start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "LOG_LIMIT_BYTES", 1000)
    running = start(("one", "import time\nwhile True: print('x' * 200, flush=True); time.sleep(0.02)"))
    log = running.spec.log_file("one")
    until(lambda: log.with_suffix(".log.1").exists())
    assert log.stat().st_size < 1000 + log.with_suffix(".log.1").stat().st_size
