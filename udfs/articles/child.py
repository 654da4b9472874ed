"""Extraction in a process of its own that can be killed: neither lxml nor a regular expression can be interrupted.

The parent side, `ExtractionChild`, gives a page to the child, waits until it has used up its time and replaces a child
that hangs, crashes, answers rubbish or has used up its memory. The child side is this module run as a program: it reads
requests from an inherited socket until the parent closes it. A fresh interpreter, not a fork: a worker's threads and
gRPC do not survive one. On the socket, both ways: the page's number, a length, and so many bytes of msgpack.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import msgspec

from state_schemas.codec import decode_record, encode_record
from state_schemas.fetching import RawItem
from udfs.articles.canonical import TrackingParameters, load_tracking_parameters
from udfs.articles.extract import Extraction, Rejection, extract_entry, extract_page
from udfs.articles.overrides import Overrides, load_overrides
from udfs.articles.policy import ArticlesPolicy

Failure = Literal["extract_timed_out", "extract_crashed", "extract_out_of_memory", "extract_failed"]
FAILURES: frozenset[str] = frozenset(
    {"extract_timed_out", "extract_crashed", "extract_out_of_memory", "extract_failed"}
)

PROGRAM = "udfs.articles.child"
# A page's number, so that a late or doubled answer is never taken for another page's, and the bytes that follow.
_HEADER = struct.Struct("<II")
_READY = 0  # the number of a child's first word; pages count from 1
# The longest answer: a body of 400,000 characters of four bytes, twice.
_MAX_ANSWER_BYTES = 4 * 1024 * 1024
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


class _LateError(Exception):
    """The time for a page is over."""


class ExtractionChild:
    """One child at a time, started at the first page. Not for use by two threads at once. Close it."""

    def __init__(self, policy: ArticlesPolicy, reference_data: Path, program: str = PROGRAM) -> None:
        """program: the module that is run as the child; tests run one that misbehaves."""
        self._policy = policy
        self._reference_data = reference_data
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
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
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._socket = self._process = None

    def cpu_s(self) -> float:
        """Processor time the child has used, s; 0 for one that is gone."""
        if self._process is None:
            return 0.0
        try:
            # The clock of another process: clock_getcpuclockid(3) makes this number of a pid on Linux.
            return time.clock_gettime((~self._process.pid << 3) | 2)
        except OSError:
            return 0.0

    def _ask(self, request: _Request) -> Extraction | Rejection:
        if self._pages >= self._policy.pages_per_child:
            self.close()
        connection = self._socket or self._start()
        self._pages += 1
        policy, process = self._policy, self._process
        until = _Until(self, policy.page_limit_ms / 1000, policy.page_wall_ms / 1000)
        data = _encode(request)
        try:
            until.send(connection, _HEADER.pack(self._pages, len(data)) + data)
            answer = _decode_answer(until.receive(connection, self._pages))
        except _LateError:
            return self._ended("extract_timed_out", f"over {policy.page_limit_ms} ms")
        except (EOFError, OSError):
            if process is not None:  # it may have shut its socket and live on
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE_S)
            self.close()
            return self._ended("extract_crashed", f"exit status {process.returncode if process else None}")
        except (msgspec.DecodeError, ValueError) as error:
            return self._ended("extract_crashed", f"its answer is none: {error}"[:500])
        if isinstance(answer, Rejection) and answer.reason == "extract_out_of_memory":
            return self._ended("extract_out_of_memory", answer.detail)
        return answer

    def _ended(self, reason: Failure, detail: str) -> Rejection:
        self.close()
        self.restarts += 1
        return Rejection(reason=reason, detail=detail)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        # The child's interpreter finds the same packages as this one, wherever Flink has put them.
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        policy = self._policy
        process = subprocess.Popen(
            [
                sys.executable, "-m", self._program, str(theirs.fileno()), str(self._reference_data),
                str(policy.child_memory_bytes), str(policy.page_wall_ms),
            ],
            pass_fds=(theirs.fileno(),),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        theirs.close()
        ours.setblocking(False)
        self._process, self._socket, self._pages = process, ours, 0
        start_s = policy.start_limit_ms / 1000
        try:
            _Until(self, start_s, start_s).receive(ours, _READY)
        except (_LateError, EOFError, OSError, ValueError):
            self.close()
            raise ChildError(f"the extraction process did not start: exit status {process.returncode}") from None
        return ours


class _Until:
    """A child's processor time and the wall time that one page has, from now, s."""

    def __init__(self, child: ExtractionChild, cpu_s: float, wall_s: float) -> None:
        self._child = child
        self._cpu_until = child.cpu_s() + cpu_s
        self._wall_until = time.monotonic() + wall_s

    def send(self, connection: socket.socket, data: bytes) -> None:
        """Raises _LateError, OSError."""
        left = memoryview(data)
        while left:
            try:
                left = left[connection.send(left) :]
            except BlockingIOError:
                self._wait(connection, select.POLLOUT)

    def receive(self, connection: socket.socket, number: int) -> bytes:
        """The bytes sent for a page. Raises _LateError, EOFError, OSError; ValueError for what is no answer to it."""
        said, size = _HEADER.unpack(self._bytes(connection, _HEADER.size))
        if said != number or size > _MAX_ANSWER_BYTES:
            raise ValueError(f"{size} bytes for page {said}, asked was page {number}")
        return self._bytes(connection, size)

    def _bytes(self, connection: socket.socket, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            try:
                piece = connection.recv(size - len(found))
            except BlockingIOError:
                self._wait(connection, select.POLLIN)
                continue
            if not piece:
                raise EOFError
            found += piece
        return bytes(found)

    def _wait(self, connection: socket.socket, event: int) -> None:
        """Until the socket is ready. Raises _LateError when the child has used its time, or the wall time is over."""
        poller = select.poll()
        poller.register(connection, event)
        while True:
            left_s = min(self._cpu_until - self._child.cpu_s(), self._wall_until - time.monotonic())
            if left_s <= 0:
                raise _LateError
            if poller.poll(1000 * max(left_s, _SHORTEST_WAIT_S)):
                return


def _without_body(raw: RawItem) -> bytes:
    return encode_record(msgspec.structs.replace(raw, body=None) if raw.body else raw)


def main(argv: list[str]) -> int:
    """The child: socket number, folder of reference data, bytes of memory, ms until it ends itself."""
    connection = socket.socket(fileno=int(argv[0]))
    tracking = load_tracking_parameters(Path(argv[1]) / "tracking_parameters.txt")
    overrides = load_overrides(Path(argv[1]))
    memory, limit_s = int(argv[2]), int(argv[3]) / 1000
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the parent, which then closes the socket
    # Should the parent die while a page hangs: the default action ends the process even inside native code.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    connection.sendall(_HEADER.pack(_READY, 0))
    while True:
        try:
            header = connection.recv(_HEADER.size, socket.MSG_WAITALL)
            if len(header) < _HEADER.size:
                return 0
            number, size = _HEADER.unpack(header)
            request = connection.recv(size, socket.MSG_WAITALL)
            if len(request) < size:
                return 0
            signal.setitimer(signal.ITIMER_REAL, limit_s + _GRACE_S)
            answer = _answer(request, tracking, overrides)
            signal.setitimer(signal.ITIMER_REAL, 0)
            connection.sendall(_HEADER.pack(number, len(answer)) + answer)
        except OSError:
            return 0


def _answer(data: bytes, tracking: TrackingParameters, overrides: Overrides) -> bytes:
    try:
        return _encode(_extracted(_decode_request(data), tracking, overrides))
    except MemoryError:
        return _encode(Rejection(reason="extract_out_of_memory", detail="over the limit of the address space"))
    except Exception as error:  # whatever a hostile page brings about ends with its page
        detail = f"{type(error).__name__}: {error}"[:500].encode("ascii", "backslashreplace").decode()
        return _encode(Rejection(reason="extract_failed", detail=detail))


def _extracted(request: _Request, tracking: TrackingParameters, overrides: Overrides) -> Extraction | Rejection:
    raw = decode_record(RawItem, request.raw)
    if request.body is None:
        return extract_entry(raw, tracking, request.rejected)
    return extract_page(raw, request.body, tracking, overrides)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
