"""A stack from outside: bring it up, ask how it is, take it down. Used by the commands, the demo and the tests.

Talks to the supervisor only through the files of the stack's folder and signals, so any process can do it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import psutil

from cli.stack.layout import CHECKOUT, COMPONENTS, INSTALLATION, Ports, StackSpec, chosen
from cli.stack.processes import MARK, Identity, descendants, end, marked, memory_mb, wait_gone
from connectors.settings import Endpoints

DEFAULT_FOLDER = INSTALLATION / "run"
# Ends of all components one after the other at their longest, with room.
DOWN_PATIENCE_S = 90.0
# Above the default ports, below the range from which the kernel hands out ports to clients (32768 on).
FIRST_FREE, LAST_FREE = 21_000, 32_000


class StackError(Exception):
    """The stack is not as asked; the message is one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a component: itself or one of its children."""

    pid: int
    what: str
    rss_mb: float


@dataclass(frozen=True, slots=True)
class ComponentStatus:
    """A component as it is now. `pid` None: not running. `uptime_s` of the present process."""

    name: str
    state: str
    pid: int | None
    restarts: int
    port: int
    uptime_s: float
    reason: str
    processes: tuple[Process, ...]

    @property
    def rss_mb(self) -> float:
        """Resident memory of it and all its children, MiB."""
        return sum(process.rss_mb for process in self.processes)


@dataclass(frozen=True, slots=True)
class StackStatus:
    """The whole stack as it is now."""

    up: bool
    ready: bool
    ready_after_s: float | None
    failure: str
    components: tuple[ComponentStatus, ...]

    def component(self, name: str) -> ComponentStatus | None:
        return next((part for part in self.components if part.name == name), None)


class Stack:
    """One stack, known by its folder. Nothing runs until `up`."""

    def __init__(
        self,
        folder: Path = DEFAULT_FOLDER,
        ports: Ports | None = None,
        profile: str = "default",
        *,
        gateway: str = "",
        slots: int = 8,
        state_memory: str = "256m",
        metrics: bool = False,
        given: Endpoints | None = None,
    ) -> None:
        self._given = given or Endpoints.from_mapping(os.environ)
        self.spec = StackSpec(
            folder=folder.resolve(),
            ports=ports or Ports(),
            profile=profile,
            gateway=gateway,
            slots=slots,
            state_memory=state_memory,
            metrics=metrics,
        )
        # Held while it runs: the supervisor is a child of the process that brought it up.
        self._child: subprocess.Popen[bytes] | None = None

    @classmethod
    def existing(cls, folder: Path = DEFAULT_FOLDER) -> Stack | None:
        """The stack that was last brought up in this folder, running or not."""
        try:
            spec = StackSpec.from_json(json.loads((folder.resolve() / "stack.json").read_text()))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        stack = cls(folder)
        stack.spec = spec
        return stack

    @property
    def endpoints(self) -> Endpoints:
        """Where its systems answer; `to_mapping()` of it is the environment for anything that uses the stack."""
        return self.spec.endpoints(self._given)

    # ------------------------------------------------------------ up

    def up(
        self,
        components: tuple[str, ...] = COMPONENTS,
        *,
        timeout_s: float = 180.0,
        owned: bool = False,
        progress: Callable[[str], None] = lambda line: None,
    ) -> StackStatus:
        """Start the named components (groups allowed) and wait until they serve.

        owned: the stack ends by itself when the calling process does. progress: gets a line a component.
        Raises StackError when it is up already, a port is taken, something is not installed or does not start;
        then nothing of it is left running.
        """
        spec = replace(
            self.spec,
            components=chosen(components),
            owner=os.getpid() if owned else 0,
            owner_started=psutil.Process().create_time() if owned else 0.0,
        )
        if self._supervisor() is not None:
            raise StackError(
                f"the stack in {spec.folder} is up already (`broadsheet stack status`, or `stack down` first)"
            )
        # A supervisor that was killed leaves its components running: they are ours to end.
        self._end_remains()
        for name, port in spec.ports.of(spec.components).items():
            if not port_free(port):
                option = name.replace("_", "-")
                raise StackError(
                    f"port {port} ({name.replace('_', ' ')}) is taken: "
                    f"choose another with --{option}-port, or --port-base for all of them"
                )
        self.spec = spec
        for folder in (spec.folder, spec.logs, spec.data):
            folder.mkdir(parents=True, exist_ok=True)
        spec.status_file.unlink(missing_ok=True)
        spec.spec_file.write_text(json.dumps(spec.to_json(), indent=1))
        env = {key: value for key, value in os.environ.items() if key != MARK}
        env.update(self._given.to_mapping())
        with spec.log_file("supervisor").open("ab") as output:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "cli.stack.supervisor", str(spec.folder)],
                env=env,
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            return self._wait_ready(self._child, timeout_s, progress)
        except BaseException:
            self.down()
            raise

    def _wait_ready(
        self, supervisor: subprocess.Popen[bytes], timeout_s: float, progress: Callable[[str], None]
    ) -> StackStatus:
        began = time.monotonic()
        told: set[str] = set()
        while True:
            ended = supervisor.poll() is not None
            found = self._read_status()
            for name, part in found.get("components", {}).items():
                if part["state"] == "ready" and name not in told:
                    told.add(name)
                    progress(f"{name} serves ({time.monotonic() - began:.1f} s)")
            if found.get("failure"):
                raise StackError(found["failure"])
            if found.get("ready"):
                return self.status()
            if ended:
                raise StackError(f"the supervisor ended; see {self.spec.log_file('supervisor')}")
            for name, part in found.get("components", {}).items():
                # One death may be chance; a component that dies again and again before it served has a reason.
                if part["restarts"] >= 3 and name not in told:
                    raise StackError(f"{name} does not start ({part['reason']}): {self._last_words(name)}")
            if time.monotonic() - began > timeout_s:
                waiting = [name for name, part in found.get("components", {}).items() if part["state"] != "ready"]
                late = ", ".join(waiting) or "the supervisor"
                raise StackError(f"not ready after {timeout_s:.0f} s: {late}; logs in {self.spec.logs}")
            time.sleep(0.1)

    def _last_words(self, name: str) -> str:
        path = self.spec.log_file(name)
        lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
        return f"{lines[-1][:200]} ({path})" if lines else str(path)

    # ------------------------------------------------------------ down

    def down(self) -> bool:
        """End it all, the data stays. False when nothing ran."""
        supervisor = self._supervisor()
        if supervisor is None and self._child is not None and self._child.poll() is None:
            supervisor = Identity.of(self._child.pid)  # so young that it has not written its status yet
        if supervisor is None:
            return self._end_remains() > 0
        os.kill(supervisor.pid, signal.SIGTERM)
        if not wait_gone(supervisor, DOWN_PATIENCE_S):
            process = supervisor.process()
            if process is not None:
                end([process], grace_s=0)
        self._end_remains()
        if self._child is not None:
            self._child.wait()
            self._child = None
        return True

    def _end_remains(self) -> int:
        """End what carries this stack's mark without a supervisor; how many there were."""
        left = marked(str(self.spec.folder))
        end(left, grace_s=10)
        return len(left)

    # ------------------------------------------------------------ how it is

    def _read_status(self) -> dict[str, Any]:
        try:
            found = json.loads(self.spec.status_file.read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _supervisor(self) -> Identity | None:
        found = self._read_status()
        if "supervisor" not in found:
            return None
        identity = Identity(int(found["supervisor"]), float(found["supervisor_started"]))
        return identity if identity.alive() else None

    def status(self) -> StackStatus:
        """How each component is, with its memory, now."""
        found = self._read_status()
        up = self._supervisor() is not None
        parts = []
        for name, part in found.get("components", {}).items():
            identity = Identity(part["pid"], part["started"]) if part["pid"] else None
            running = identity.process() if identity else None
            state = part["state"] if up else ("unwatched" if running else "stopped")
            parts.append(
                ComponentStatus(
                    name=name,
                    state=state,
                    pid=running.pid if running else None,
                    restarts=part["restarts"],
                    port=part["port"],
                    uptime_s=time.time() - part["started"] if running else 0.0,
                    reason=part["reason"],
                    processes=_family(running) if running else (),
                )
            )
        return StackStatus(
            up=up,
            ready=bool(up and found.get("ready")),
            ready_after_s=found.get("ready_after_s"),
            failure=str(found.get("failure", "")),
            components=tuple(parts),
        )

    def pid(self, name: str) -> int:
        """The process of a component. Raises StackError when it does not run."""
        part = self.status().component(name)
        if part is None or part.pid is None:
            raise StackError(f"{name} does not run")
        return part.pid

    def pids(self, name: str) -> tuple[int, ...]:
        """The process of a component and all its children, itself first; empty when it does not run."""
        part = self.status().component(name)
        return tuple(process.pid for process in part.processes) if part else ()

    def python_workers(self) -> tuple[int, ...]:
        """The processes in which Flink runs the jobs' Python."""
        part = self.status().component("taskmanager")
        return tuple(p.pid for p in part.processes if p.what == "Python worker") if part else ()


def _family(process: psutil.Process) -> tuple[Process, ...]:
    found = []
    for member in (process, *descendants(process)):
        try:
            command = member.cmdline()
            rss = memory_mb([member])
        except psutil.Error:
            continue
        found.append(Process(member.pid, _what(command), rss))
    return tuple(found)


def _what(command: list[str]) -> str:
    """What a process is, in a word or two."""
    line = " ".join(command)
    if "pyflink.fn_execution.beam.beam_boot" in line:
        return "Python worker"
    if "multiprocessing" in line:
        return "child of a worker"
    if command and command[0].endswith("java"):
        return "Java"
    return Path(command[0]).name if command else "?"


def free_ports(first: int = FIRST_FREE, spare: int = 3) -> tuple[Ports, int]:
    """A run of free ports at or above `first`: those of a stack, and the first of `spare` more behind them.

    For the demo and the tests, which choose no ports themselves and run beside a stack that a user has up.
    Raises StackError when there are none below the range from which the kernel hands out ports.
    """
    count = len(fields(Ports))
    for base in range(first, LAST_FREE, count + spare):
        if all(port_free(port) for port in range(base, base + count + spare)):
            return Ports.from_base(base), base + count
    raise StackError(f"no {count + spare} free ports between {first} and {LAST_FREE}")


def port_free(port: int) -> bool:
    """Whether a server could listen there on 127.0.0.1."""
    with socket.socket() as probe:
        # As servers do: a port whose last connections are still closing counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
