"""Flink's REST interface: what runs, and starting and stopping it. Never reads a job's logic, keeps no state.

Python jobs go through the `flink-python` jar and its PythonDriver, which runs the job script on the JobManager's
machine: paths in the arguments are that machine's. https://nightlies.apache.org/flink/ : Operations, REST API.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PYTHON_DRIVER = "org.apache.flink.client.python.PythonDriver"
# A job in one of these takes slots and writes; in any other it is over.
LIVE_STATES = frozenset({"INITIALIZING", "CREATED", "RUNNING", "FAILING", "RESTARTING", "CANCELLING", "RECONCILING"})


class RestError(Exception):
    """Flink did not do what was asked: `status` is HTTP's (0: no answer), `lines` its error text, root cause last."""

    def __init__(self, message: str, status: int = 0, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.lines = tuple(lines)


@dataclass(frozen=True, slots=True)
class Overview:
    """The cluster in four numbers."""

    taskmanagers: int
    slots: int
    free_slots: int
    running_jobs: int


@dataclass(frozen=True, slots=True)
class Job:
    """One job, live or over. `started_ms` in ms UTC."""

    id: str
    name: str
    state: str
    started_ms: int
    running_tasks: int
    tasks: int

    @property
    def live(self) -> bool:
        return self.state in LIVE_STATES

    @property
    def running(self) -> bool:
        """Every task runs: records flow."""
        return self.state == "RUNNING" and self.tasks > 0 and self.running_tasks == self.tasks


class FlinkRest:
    """A client of one cluster. Every method raises RestError when Flink refuses or does not answer."""

    def __init__(self, address: str, timeout_s: float = 30.0) -> None:
        self.address = address.rstrip("/")
        self._timeout_s = timeout_s

    # ------------------------------------------------------------ what there is

    def overview(self) -> Overview:
        found = self._json("GET", "/overview")
        return Overview(
            taskmanagers=int(found["taskmanagers"]),
            slots=int(found["slots-total"]),
            free_slots=int(found["slots-available"]),
            running_jobs=int(found["jobs-running"]),
        )

    def heartbeats_ms(self) -> list[int]:
        """When each registered TaskManager was last heard of, ms UTC."""
        return [int(entry["timeSinceLastHeartbeat"]) for entry in self._json("GET", "/taskmanagers")["taskmanagers"]]

    def jobs(self) -> list[Job]:
        """All jobs the cluster remembers, the newest first."""
        found = self._json("GET", "/jobs/overview")["jobs"]
        jobs = [
            Job(
                id=str(job["jid"]),
                name=str(job["name"]),
                state=str(job["state"]),
                started_ms=int(job["start-time"]),
                running_tasks=int(job["tasks"]["running"]),
                tasks=int(job["tasks"]["total"]),
            )
            for job in found
        ]
        return sorted(jobs, key=lambda job: -job.started_ms)

    def live_job(self, name: str) -> Job | None:
        """The live job of that name, if there is one."""
        return next((job for job in self.jobs() if job.name == name and job.live), None)

    def root_exception(self, job_id: str) -> str:
        """The newest failure of a job, as Java prints it; empty when it never failed."""
        entries = self._json("GET", f"/jobs/{job_id}/exceptions")["exceptionHistory"]["entries"]
        return str(entries[0]["stacktrace"]) if entries else ""

    def checkpoints(self, job_id: str) -> Mapping[str, Any]:
        """Counts and the latest checkpoints, in Flink's own form."""
        return self._json("GET", f"/jobs/{job_id}/checkpoints")

    def completed_checkpoints(self, job_id: str) -> int:
        """How many checkpoints the job has completed."""
        return int(self.checkpoints(job_id)["counts"]["completed"])

    def latest_checkpoint(self, job_id: str) -> str:
        """Where the job's last completed checkpoint or savepoint lies; empty when there is none."""
        latest = self.checkpoints(job_id)["latest"]
        found = [entry for key in ("completed", "savepoint") if (entry := latest.get(key))]
        if not found:
            return ""
        return str(max(found, key=lambda entry: entry["id"])["external_path"])

    def totals(self, job_id: str, scope: str) -> dict[str, float]:
        """The job's metrics whose name holds `scope`, by what follows it, each summed over all subtasks."""
        found: dict[str, float] = {}
        for vertex in self._json("GET", f"/jobs/{job_id}")["vertices"]:
            address = f"/jobs/{job_id}/vertices/{vertex['id']}/subtasks/metrics"
            names = [name for metric in self._list(address) if scope in (name := str(metric["id"]))]
            # An address has its limits; a name is some 80 characters.
            for first in range(0, len(names), 40):
                asked = urllib.parse.quote(",".join(names[first : first + 40]), safe=",")
                for metric in self._list(f"{address}?get={asked}&agg=sum"):
                    name = str(metric["id"]).partition(scope)[2]
                    found[name] = found.get(name, 0.0) + float(metric["sum"])
        return found

    # ------------------------------------------------------------ starting

    def python_jar(self, jar: Path) -> str:
        """The id of the uploaded flink-python jar; uploads `jar` when the cluster has none of that name."""
        for entry in self._json("GET", "/jars")["files"]:
            if entry["name"] == jar.name:
                return str(entry["id"])
        return str(self._upload(jar)["filename"]).rsplit("/", 1)[-1]

    def run_python(
        self,
        jar_id: str,
        script: Path,
        python: str,
        arguments: Sequence[str] = (),
        *,
        parallelism: int | None = None,
        savepoint: str | None = None,
        allow_dropped_state: bool = False,
    ) -> str:
        """Run a job script and return the id of the job that it submitted.

        `python`: the interpreter, on the JobManager's machine and the TaskManagers'. `savepoint`: the savepoint or
        checkpoint to start from. Waits as long as the script takes to build its graph (seconds).
        """
        request: dict[str, object] = {
            "entryClass": PYTHON_DRIVER,
            "programArgsList": [
                "-py", str(script), "-pyexec", python, "-pyclientexec", python, *arguments,
            ],
        }  # fmt: skip
        if parallelism is not None:
            request["parallelism"] = parallelism
        if savepoint:
            request["savepointPath"] = savepoint
            request["allowNonRestoredState"] = allow_dropped_state
        answer = self._json("POST", f"/jars/{jar_id}/run", request, timeout_s=max(self._timeout_s, 180.0))
        return str(answer["jobid"])

    def wait_running(self, job_id: str, timeout_s: float) -> Job:
        """Wait until every task of the job runs. Raises RestError when it ends, or does not start in time."""
        deadline = time.monotonic() + timeout_s
        while True:
            job = next((job for job in self.jobs() if job.id == job_id), None)
            if job is not None and job.running:
                return job
            if job is not None and not job.live:
                raise RestError(f"{job.name} ended as {job.state}", lines=self.root_exception(job_id).splitlines())
            if time.monotonic() > deadline:
                state = "unknown" if job is None else f"{job.state}, {job.running_tasks} of {job.tasks} tasks run"
                reason = self.root_exception(job_id) if job is not None else ""
                raise RestError(f"not running after {timeout_s:.0f} s: {state}", lines=reason.splitlines())
            time.sleep(0.25)

    # ------------------------------------------------------------ stopping

    def stop(self, job_id: str, folder: str | None = None, timeout_s: float = 120.0) -> str:
        """Stop with a savepoint: sources end, everything in flight is committed. Returns where the savepoint is.

        `folder`: where to write it; the cluster's own savepoint folder when None.
        """
        request: dict[str, object] = {"drain": False, "formatType": "CANONICAL"}
        if folder:
            request["targetDirectory"] = folder
        trigger = self._json("POST", f"/jobs/{job_id}/stop", request)["request-id"]
        deadline = time.monotonic() + timeout_s
        while True:
            found = self._json("GET", f"/jobs/{job_id}/savepoints/{trigger}")
            if found["status"]["id"] == "COMPLETED":
                operation = found["operation"]
                if "failure-cause" in operation:
                    lines = str(operation["failure-cause"].get("stack-trace", "")).splitlines()
                    raise RestError("the savepoint failed", lines=lines)
                return str(operation["location"])
            if time.monotonic() > deadline:
                raise RestError(f"no savepoint after {timeout_s:.0f} s")
            time.sleep(0.2)

    def cancel(self, job_id: str, timeout_s: float = 60.0) -> None:
        """Cancel without a savepoint, and wait until the job is over."""
        self._call("PATCH", f"/jobs/{job_id}?mode=cancel")
        deadline = time.monotonic() + timeout_s
        while any(job.id == job_id and job.live for job in self.jobs()):
            if time.monotonic() > deadline:
                raise RestError(f"still not cancelled after {timeout_s:.0f} s")
            time.sleep(0.2)

    def jobmanager_log(self) -> str:
        """The JobManager's log (all of it: for a seldom look, such as at a script's failure)."""
        return self._call("GET", "/jobmanager/log").decode(errors="replace")

    # ------------------------------------------------------------ HTTP

    def _list(self, path: str) -> list[dict[str, Any]]:
        """What a GET answers where Flink answers with a list."""
        found = json.loads(self._call("GET", path))
        if not isinstance(found, list):
            raise RestError(f"Flink answered GET {path} with something other than a list")
        return found

    def _json(
        self, method: str, path: str, body: Mapping[str, object] | None = None, timeout_s: float | None = None
    ) -> dict[str, Any]:
        payload = None if body is None else json.dumps(body).encode()
        answer = self._call(method, path, payload, {"Content-Type": "application/json"}, timeout_s)
        found = json.loads(answer) if answer else {}
        if not isinstance(found, dict):
            raise RestError(f"Flink answered {method} {path} with something other than an object")
        return found

    def _call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> bytes:
        request = urllib.request.Request(self.address + path, data=body, method=method, headers=dict(headers or {}))
        try:
            with urllib.request.urlopen(request, timeout=timeout_s or self._timeout_s) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            raise _refusal(error.code, error.read()) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)  # a URLError's own words are made for tracebacks
            raise RestError(f"no answer from Flink at {self.address} ({reason}); is the stack up?") from None

    def _upload(self, jar: Path) -> dict[str, Any]:
        boundary = uuid.uuid4().hex
        head = (
            f"--{boundary}\r\n"
            f'Content-Disposition: form-data; name="jarfile"; filename="{jar.name}"\r\n'
            "Content-Type: application/x-java-archive\r\n\r\n"
        ).encode()
        body = head + jar.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        answer = self._call("POST", "/jars/upload", body, headers, timeout_s=120)
        found: dict[str, Any] = json.loads(answer)
        return found


def _refusal(status: int, body: bytes) -> RestError:
    """Flink's error body ({"errors": [summary, stack trace]}) with the root cause as the message."""
    try:
        errors = [str(text) for text in json.loads(body)["errors"]]
    except (ValueError, KeyError, TypeError):
        errors = [body.decode(errors="replace").strip() or f"HTTP {status}"]
    lines = [line for text in errors for line in text.splitlines() if line.strip()]
    return RestError(root_cause(lines) or f"HTTP {status}", status, lines)


def root_cause(lines: Sequence[str]) -> str:
    """The innermost cause of a Java stack trace without its class's package; the first line when none is named."""
    causes = [line.strip().removeprefix("Caused by: ") for line in lines if line.strip().startswith("Caused by: ")]
    text = causes[-1] if causes else (lines[0].strip() if lines else "")
    kind, colon, message = text.partition(": ")
    return f"{kind.rsplit('.', 1)[-1]}{colon}{message}" if " " not in kind else text
