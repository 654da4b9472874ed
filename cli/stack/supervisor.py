"""The process that runs a stack: starts its components, waits for health, starts again what dies, ends all.

`python -m cli.stack.supervisor FOLDER`, detached, its own session. It reads FOLDER/stack.json, writes
FOLDER/status.json (whole, at every change) and FOLDER/logs/, and ends on SIGTERM or when its owner is gone.
It decides nothing about what the components do; `components.py` says what they are.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from cli.stack.components import Component, NotInstalledError, components, environment
from cli.stack.layout import StackSpec
from cli.stack.processes import MARK, Identity, descendants, end, marked, reap_adopted
from connectors.settings import Endpoints

log = logging.getLogger("supervisor")

# A component that dies is started again at once; one that keeps dying, ever later, up to this many seconds.
BACKOFF_FIRST_S = 0.5
BACKOFF_MOST_S = 30.0
# Alive this long, it counts as well again, and the next death starts the backoff anew.
SETTLED_S = 60.0
TICK_S = 0.2
# A log longer than this is moved aside (one older part is kept): a stack may run for weeks.
LOG_LIMIT_BYTES = 64 * 2**20
PR_SET_CHILD_SUBREAPER = 36

# What must serve before a component is started: Flink's processes need nobody to start.
NEEDS = {"fetcher": ("kafka",), "push": ("kafka",), "origin": ("s3",)}


@dataclass
class Watched:
    """A component and what became of it."""

    component: Component
    child: subprocess.Popen[bytes] | None = None
    identity: Identity | None = None
    state: str = "waiting"  # waiting, starting, ready, backoff, stopped
    started: float = 0.0  # seconds since 1970
    restarts: int = 0
    backoff_s: float = 0.0
    start_at: float = 0.0  # monotonic; when in backoff
    began: float = 0.0  # monotonic start of the child
    said_slow: bool = False
    reason: str = ""


class Supervisor:
    """Runs one stack until it is told to end."""

    def __init__(self, spec: StackSpec, endpoints: Endpoints, parts: Mapping[str, Component]) -> None:
        """`parts`: the components to run, in starting order; `endpoints`: where they will answer."""
        self._spec = spec
        self._endpoints = endpoints
        self._watched = {name: Watched(component) for name, component in parts.items()}
        self._ending = False
        self._began = time.monotonic()
        self._ready_after_s: float | None = None
        self._prepared: set[str] = set()
        self._failure = ""
        self._last_status = ""

    # ------------------------------------------------------------ the loop

    def run(self) -> int:
        """Until SIGTERM, SIGINT, the owner's end, or a failure that starting again cannot cure."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        owner = Identity(self._spec.owner, self._spec.owner_started) if self._spec.owner else None
        try:
            while not self._ending:
                self._step()
                self._write_status()
                if self._failure:
                    log.error("%s", self._failure)
                    break
                if owner is not None and not owner.alive():
                    log.info("process %d, which this stack belongs to, has ended", owner.pid)
                    break
                time.sleep(TICK_S)
        finally:
            self._end_all()
        return 1 if self._failure else 0

    def end(self) -> None:
        """Make `run` end everything and return."""
        self._ending = True

    def _on_signal(self, number: int, _frame: object) -> None:
        self.end()

    def _step(self) -> None:
        own = {watched.child.pid for watched in self._watched.values() if watched.child is not None}
        reap_adopted(own)
        for watched in self._watched.values():
            if watched.child is not None and watched.child.poll() is not None:
                self._died(watched)
            if watched.state == "waiting" and self._may_start(watched):
                self._start(watched)
            elif watched.state == "backoff" and time.monotonic() >= watched.start_at:
                watched.restarts += 1
                self._start(watched)
            elif watched.state == "starting":
                self._check_health(watched)
            elif watched.backoff_s and time.monotonic() - watched.began > SETTLED_S:
                watched.backoff_s = 0.0
            self._keep_log_short(watched.component.name)
        self._prepare()
        if self._ready_after_s is None and self._ready():
            self._ready_after_s = round(time.monotonic() - self._began, 1)
            log.info("ready after %.1f s", self._ready_after_s)

    def _ready(self) -> bool:
        serving = all(watched.state == "ready" for watched in self._watched.values())
        return serving and self._prepared >= ({"kafka", "s3"} & set(self._watched))

    # ------------------------------------------------------------ one component

    def _may_start(self, watched: Watched) -> bool:
        needs = [name for name in NEEDS.get(watched.component.name, ()) if name in self._watched]
        return all(self._watched[name].state == "ready" and name in self._prepared for name in needs)

    def _start(self, watched: Watched) -> None:
        component = watched.component
        try:
            component.before()
            with self._log(component.name) as output:
                watched.child = subprocess.Popen(
                    component.argv,
                    env=component.env,
                    cwd=component.cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            self._later(watched, f"cannot be started: {error}")
            return
        watched.identity = Identity.of(watched.child.pid)
        watched.state = "starting"
        watched.started = time.time()
        watched.began = time.monotonic()
        watched.said_slow = False
        log.info("%s: started, process %d", component.name, watched.child.pid)

    def _check_health(self, watched: Watched) -> None:
        component = watched.component
        if component.serves(watched.started):
            watched.state = "ready"
            watched.reason = ""
            log.info("%s: serves after %.1f s", component.name, time.monotonic() - watched.began)
        elif time.monotonic() - watched.began > component.patience_s and not watched.said_slow:
            watched.said_slow = True
            watched.reason = f"does not serve after {component.patience_s:.0f} s"
            log.warning("%s: %s", component.name, watched.reason)

    def _died(self, watched: Watched) -> None:
        assert watched.child is not None
        status = watched.child.returncode
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        self._end_left_behind(watched)
        watched.child = None
        self._later(watched, how)

    def _later(self, watched: Watched, reason: str) -> None:
        watched.backoff_s = min(watched.backoff_s * 2 or BACKOFF_FIRST_S, BACKOFF_MOST_S)
        watched.start_at = time.monotonic() + watched.backoff_s
        watched.state = "backoff"
        watched.reason = reason
        log.warning("%s: ended (%s); starts again in %.1f s", watched.component.name, reason, watched.backoff_s)

    def _end_left_behind(self, watched: Watched) -> None:
        """End what a dead component's children still run: Flink's Python workers outlive a killed TaskManager."""
        left = marked(f"{self._spec.folder}:{watched.component.name}")
        if left:
            killed = end(left, grace_s=1)
            log.info(
                "%s: ended %d processes it left behind (%d killed)", watched.component.name, len(left), len(killed)
            )

    # ------------------------------------------------------------ bucket and topics

    def _prepare(self) -> None:
        ready = {name for name in ("s3", "kafka") if name in self._watched and self._watched[name].state == "ready"}
        wanted = ready - self._prepared
        # Both in one go where both are part of the stack: each costs the start of a Python process.
        if not wanted or any(name in self._watched and name not in self._prepared | ready for name in ("s3", "kafka")):
            return
        env = environment(self._spec, self._endpoints, "prepare")
        done = subprocess.run(
            [sys.executable, "-P", "-m", "cli.stack.prepare", *sorted(wanted)],
            env=env,
            cwd=self._spec.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode == 0:
            self._prepared |= wanted
            log.info("bucket and topics are there")
        else:
            lines = done.stdout.strip().splitlines()
            self._failure = lines[-1] if lines else "the bucket or the topics cannot be created"

    # ------------------------------------------------------------ the end

    def _end_all(self) -> None:
        log.info("ending")
        # What writes ends before what it writes to: Flink and services first, then the broker and the store.
        stores = ("kafka", "s3")
        for last in (False, True):
            group = [watched for name, watched in self._watched.items() if (name in stores) == last]
            processes = []
            for watched in group:
                running = watched.identity.process() if watched.identity else None
                if running is not None and watched.child is not None:
                    processes.append(running)
            left = [child for process in processes for child in descendants(process)]
            grace = max((watched.component.grace_s for watched in group), default=0)
            killed = end(processes, grace)
            if killed:
                log.warning("had to kill %s", ", ".join(str(pid) for pid in killed))
            end([child for child in left if child.is_running()], grace_s=1)
            for watched in group:
                if watched.child is not None:
                    watched.child.wait()
                self._end_left_behind(watched)
                watched.child, watched.state = None, "stopped"
        self._write_status()
        log.info("ended")

    # ------------------------------------------------------------ files

    def _log(self, name: str) -> IO[bytes]:
        return self._spec.log_file(name).open("ab")

    def _keep_log_short(self, name: str) -> None:
        """Copy and cut: the writer has the file open for appending, so it goes on at the new end."""
        path = self._spec.log_file(name)
        try:
            if not path.exists() or path.stat().st_size <= LOG_LIMIT_BYTES:
                return
            older = path.with_suffix(".log.1")
            older.write_bytes(path.read_bytes())
            os.truncate(path, 0)
        except OSError as error:
            log.warning("%s: its log cannot be cut: %s", name, error)

    def _write_status(self) -> None:
        status = {
            "supervisor": os.getpid(),
            "supervisor_started": psutil.Process().create_time(),
            "ready": self._ready(),
            "ready_after_s": self._ready_after_s,
            "ending": self._ending,
            "failure": self._failure,
            "components": {
                name: {
                    "pid": watched.identity.pid if watched.child and watched.identity else None,
                    "started": watched.identity.started if watched.child and watched.identity else None,
                    "state": watched.state,
                    "restarts": watched.restarts,
                    "port": watched.component.port,
                    "reason": watched.reason,
                }
                for name, watched in self._watched.items()
            },
        }
        text = json.dumps(status)
        if text != self._last_status:
            part = self._spec.status_file.with_suffix(".part")
            part.write_text(text)
            part.rename(self._spec.status_file)
            self._last_status = text


def main(folder: Path) -> int:
    """Run the stack that FOLDER/stack.json describes."""
    spec = StackSpec.from_json(json.loads((folder / "stack.json").read_text()))
    spec.logs.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=spec.log_file("supervisor"), level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
    )
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # a broker that starts refuses connections: no news
    # Orphans of our components become our children, so that they are found and collected.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.environ.pop(MARK, None)
    try:
        given = Endpoints.from_mapping(os.environ)
        return Supervisor(spec, spec.endpoints(given), components(spec, given)).run()
    except NotInstalledError as error:
        log.error("%s", error)
        spec.status_file.write_text(json.dumps({"failure": str(error), "components": {}}))
        return 2


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
