"""Which processes are ours, and ending them. Knows pids, start times and one environment variable; no component.

A pid alone proves nothing: numbers are used again. A process is taken for ours only when its start time is the
one recorded, or when it carries our mark in its environment (children of Flink, which nobody recorded).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass

import psutil

# Every process of a stack inherits it: MARK=<the stack's folder>:<component>.
MARK = "BROADSHEET_STACK_MARK"
# The kernel counts starts from boot, and its idea of when that was moves by up to a second as clocks are corrected.
START_TOLERANCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Identity:
    """One process for all time: its id and its start in seconds since 1970."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> Identity | None:
        """The identity of a process that runs now; None where there is none (a zombie has ended)."""
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            return cls(pid, process.create_time())
        except psutil.NoSuchProcess:
            return None

    def process(self) -> psutil.Process | None:
        """The running process, or None when it ended (also if another one has its number now)."""
        now = Identity.of(self.pid)
        if now is None or abs(now.started - self.started) > START_TOLERANCE_S:
            return None
        try:
            return psutil.Process(self.pid)
        except psutil.NoSuchProcess:
            return None

    def alive(self) -> bool:
        return self.process() is not None


def descendants(process: psutil.Process) -> list[psutil.Process]:
    """All children of children, those that ended meanwhile left out."""
    try:
        return list(process.children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def marked(mark: str) -> list[psutil.Process]:
    """Processes of this user whose environment carries `mark` (the whole value, or its part before the component)."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            value = process.environ().get(MARK, "")
            if (value == mark or value.startswith(mark + ":")) and process.pid != os.getpid():
                found.append(process)
    return found


def end(processes: Iterable[psutil.Process], grace_s: float) -> list[int]:
    """Ask each to end (SIGTERM), then kill what still runs after `grace_s`. Returns the pids that had to be killed."""
    waiting = list(processes)
    for process in waiting:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGTERM)
    _, alive = psutil.wait_procs(waiting, timeout=grace_s)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=5)
    return [process.pid for process in alive]


def memory_mb(processes: Iterable[psutil.Process]) -> float:
    """Resident memory in MiB, added up (pages that processes share count in each)."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total / 2**20


def reap_adopted(known: set[int]) -> None:
    """Collect the exit status of orphans that became our children, so that they do not stay as zombies."""
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess, ChildProcessError):
            if child.pid not in known and child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)


def wait_gone(identity: Identity, timeout_s: float) -> bool:
    """Wait until the process has ended; False when it still runs after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while identity.alive():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
