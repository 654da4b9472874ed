"""Extraction in a process of its own that can be killed: neither lxml nor a regular expression can be interrupted.

The parent side, `ExtractionChild`, gives a page to the child, waits until it has used up its time and replaces a child
that hangs, crashes or has used up its memory. The child side is this module run as a program: it reads requests from
an inherited socket until the parent closes it. A fresh interpreter, not a fork: a worker's threads and gRPC do not
survive one.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

import msgspec
import psutil

from state_schemas.codec import decode_record, encode_record
from state_schemas.fetching import RawItem
from udfs.articles.canonical import TrackingParameters, load_tracking_parameters
from udfs.articles.extract import Extraction, Rejection, extract_entry, extract_page
from udfs.articles.policy import ArticlesPolicy

Failure = Literal["extract_timed_out", "extract_crashed", "extract_out_of_memory", "extract_failed"]
FAILURES: frozenset[str] = frozenset(
    {"extract_timed_out", "extract_crashed", "extract_out_of_memory", "extract_failed"}
)

_READY = b"ready"
_GRACE_S = 1.0
_SHORTEST_WAIT_S = 0.02


class _Request(msgspec.Struct, array_like=True):
    """raw: the RawItem as JSON, without its body. body None: the entry is to be read, `rejected` says why."""

    raw: bytes
    body: bytes | None
    rejected: str = ""


_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(_Request).decode
_decode_answer = msgspec.msgpack.Decoder(Extraction | Rejection).decode


class ChildError(RuntimeError):
    """No child process can be started: the installation is broken, and the message says how it ended."""


class ExtractionChild:
    """One child at a time, started at the first page. Not for use by two threads at once. Close it."""

    def __init__(self, policy: ArticlesPolicy, reference_data: Path) -> None:
        self._policy = policy
        self._reference_data = reference_data
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._pages = 0
        self.restarts = 0

    def page(self, raw: RawItem, body: bytes) -> Extraction | Rejection:
        """`extract_page` in the child. A rejection with a reason of FAILURES is the child's end."""
        return self._ask(_Request(_without_body(raw), body))

    def entry(self, raw: RawItem, rejected: str = "") -> Extraction | Rejection:
        """`extract_entry` in the child."""
        return self._ask(_Request(_without_body(raw), None, rejected))

    def close(self) -> None:
        """End the child. The next page would start another."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._connection = self._process = None

    def _ask(self, request: _Request) -> Extraction | Rejection:
        if self._pages >= self._policy.pages_per_child:
            self.close()
        connection = self._connection or self._start()
        self._pages += 1
        try:
            used_s = self._cpu_s()
            connection.send_bytes(_encode(request))
            if not self._answered(connection, used_s):
                return self._ended("extract_timed_out", f"over {self._policy.page_limit_ms} ms")
            answer = _decode_answer(connection.recv_bytes())
        except (EOFError, OSError):
            code = self._process.wait() if self._process else 0
            return self._ended("extract_crashed", f"exit status {code}")
        if isinstance(answer, Rejection) and answer.reason == "extract_out_of_memory":
            return self._ended("extract_out_of_memory", answer.detail)
        return answer

    def _answered(self, connection: Connection, used_s: float) -> bool:
        """Wait until the child answers, has used its time or the wall time is over. used_s: of the pages before."""
        limit_s, wall_s = self._policy.page_limit_ms / 1000, self._policy.page_wall_ms / 1000
        until = time.monotonic() + wall_s
        wait_s = min(limit_s, wall_s)
        while not connection.poll(wait_s):
            left_s = min(limit_s - (self._cpu_s() - used_s), until - time.monotonic())
            if left_s <= 0:
                return False
            wait_s = max(left_s, _SHORTEST_WAIT_S)
        return True

    def _cpu_s(self) -> float:
        """Processor time the child has used, s; 0 for one that is gone."""
        try:
            process = psutil.Process(self._process.pid) if self._process else None  # type: ignore[no-untyped-call]
            times = process.cpu_times() if process else None
        except psutil.Error:
            return 0.0
        return times.user + times.system if times else 0.0

    def _ended(self, reason: Failure, detail: str) -> Rejection:
        self.close()
        self.restarts += 1
        return Rejection(reason=reason, detail=detail)

    def _start(self) -> Connection:
        ours, theirs = Pipe()
        # The child's interpreter finds the same packages as this one, wherever Flink has put them.
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        policy = self._policy
        process = subprocess.Popen(
            [
                sys.executable, "-m", "udfs.articles.child", str(theirs.fileno()), str(self._reference_data),
                str(policy.child_memory_bytes), str(policy.page_wall_ms),
            ],
            pass_fds=(theirs.fileno(),),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        theirs.close()
        self._process, self._connection, self._pages = process, ours, 0
        with contextlib.suppress(EOFError, OSError):
            if ours.poll(policy.start_limit_ms / 1000) and ours.recv_bytes() == _READY:
                return ours
        self.close()
        raise ChildError(f"the extraction process did not start: exit status {process.returncode}")


def _without_body(raw: RawItem) -> bytes:
    return encode_record(msgspec.structs.replace(raw, body=None) if raw.body else raw)


def main(argv: list[str]) -> int:
    """The child: socket number, folder of reference data, bytes of memory, ms until it ends itself."""
    connection = Connection(int(argv[0]))
    tracking = load_tracking_parameters(Path(argv[1]) / "tracking_parameters.txt")
    memory, limit_s = int(argv[2]), int(argv[3]) / 1000
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the parent, which then closes the socket
    # Should the parent die while a page hangs: the default action ends the process even inside native code.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    connection.send_bytes(_READY)
    while True:
        try:
            request = _decode_request(connection.recv_bytes())
        except (EOFError, OSError):
            return 0
        signal.setitimer(signal.ITIMER_REAL, limit_s + _GRACE_S)
        answer = _answer(request, tracking)
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            connection.send_bytes(_encode(answer))
        except OSError:
            return 0


def _answer(request: _Request, tracking: TrackingParameters) -> Extraction | Rejection:
    try:
        raw = decode_record(RawItem, request.raw)
        if request.body is None:
            return extract_entry(raw, tracking, request.rejected)
        return extract_page(raw, request.body, tracking)
    except MemoryError:
        return Rejection(reason="extract_out_of_memory", detail="over the limit of the address space")
    except Exception as error:  # whatever a hostile page brings about ends with its page
        return Rejection(reason="extract_failed", detail=f"{type(error).__name__}: {error}"[:500])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
