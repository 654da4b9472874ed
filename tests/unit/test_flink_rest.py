"""The REST client against a server that answers as Flink 2.3 does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from connectors.flink import PYTHON_DRIVER, FlinkRest, RestError, root_cause

TRACE = """org.apache.flink.runtime.rest.handler.RestHandlerException: Could not execute application.
\tat org.apache.flink.runtime.webmonitor.handlers.JarRunHandler.lambda$handleRequest$1(JarRunHandler.java:114)
Caused by: java.util.concurrent.CompletionException: org.apache.flink.client.program.ProgramAbortException
\t... 1 more
Caused by: java.lang.RuntimeException: Python process exits with code: 1
\t... 13 more"""


class Cluster:
    """What the server answers: (method, path) -> status and body, or a function of the request's body."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], list[tuple[int, Any]]] = {}
        self.asked: list[tuple[str, str, bytes]] = []

    def answer(self, method: str, path: str, *bodies: Any, status: int = 200) -> None:
        """Answer so, one body after the other; the last one for ever."""
        self.answers[method, path] = [(status, body) for body in bodies]

    def reply(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        self.asked.append((method, path, body))
        found = self.answers.get((method, path))
        if not found:
            return 404, b'{"errors": ["Not found."]}'
        status, content = found.pop(0) if len(found) > 1 else found[0]
        return status, content if isinstance(content, bytes) else json.dumps(content).encode()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, content = made.reply(self.command, self.path, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = answer  # noqa: N815  # the library's names

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    made.address = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def flink(cluster: Cluster) -> FlinkRest:
    return FlinkRest(cluster.address, timeout_s=5)  # type: ignore[attr-defined]


def job(name: str, state: str, started: int, running: int = 2) -> dict[str, Any]:
    tasks = {"running": running, "total": 2}
    return {"jid": f"id-{name}-{started}", "name": name, "state": state, "start-time": started, "tasks": tasks}


def test_jobs_newest_first_and_the_live_one_by_name(cluster: Cluster, flink: FlinkRest) -> None:
    listed = [
        job("broadsheet-poll", "CANCELED", 10, 0),
        job("broadsheet-poll", "RESTARTING", 30, 0),
        job("broadsheet-rank", "FINISHED", 20, 0),
    ]
    cluster.answer("GET", "/jobs/overview", {"jobs": listed})
    assert [found.started_ms for found in flink.jobs()] == [30, 20, 10]
    live = flink.live_job("broadsheet-poll")
    assert live is not None
    assert live.state == "RESTARTING"
    assert flink.live_job("broadsheet-rank") is None


def test_a_python_job_is_run_with_its_interpreter_and_savepoint(cluster: Cluster, flink: FlinkRest) -> None:
    cluster.answer("POST", "/jars/jar-1/run", {"jobid": "abc"})
    job_id = flink.run_python(
        "jar-1", Path("/jobs/poll.py"), "/venv/python", ["--profile", "demo"], parallelism=2, savepoint="s3://b/sp"
    )
    assert job_id == "abc"
    assert json.loads(cluster.asked[0][2]) == {
        "entryClass": PYTHON_DRIVER,
        "programArgsList": [
            *("-py", "/jobs/poll.py", "-pyexec", "/venv/python", "-pyclientexec", "/venv/python"),
            *("--profile", "demo"),
        ],
        "parallelism": 2,
        "savepointPath": "s3://b/sp",
        "allowNonRestoredState": False,
    }


def test_the_jar_is_uploaded_once(cluster: Cluster, flink: FlinkRest, tmp_path: Path) -> None:
    jar = tmp_path / "flink-python-2.3.0.jar"
    jar.write_bytes(b"PK jar")
    uploaded = {"files": [{"id": "u_flink-python-2.3.0.jar", "name": jar.name}]}
    cluster.answer("GET", "/jars", {"files": []}, uploaded)
    cluster.answer("POST", "/jars/upload", {"filename": "/uploads/x/u_flink-python-2.3.0.jar", "status": "success"})
    assert flink.python_jar(jar) == "u_flink-python-2.3.0.jar"
    assert flink.python_jar(jar) == "u_flink-python-2.3.0.jar"
    posts = [body for method, _, body in cluster.asked if method == "POST"]
    assert len(posts) == 1
    assert b"PK jar" in posts[0]


def test_a_refusal_is_its_root_cause(cluster: Cluster, flink: FlinkRest) -> None:
    cluster.answer("POST", "/jars/jar-1/run", {"errors": ["Internal server error.", TRACE]}, status=400)
    with pytest.raises(RestError, match=r"^RuntimeException: Python process exits with code: 1$") as caught:
        flink.run_python("jar-1", Path("/jobs/poll.py"), "python")
    assert caught.value.status == 400


def test_no_answer_is_one_line() -> None:
    with pytest.raises(RestError, match=r"no answer from Flink at http://127\.0\.0\.1:1 \(\[Errno 111\]") as caught:
        FlinkRest("http://127.0.0.1:1", timeout_s=1).overview()
    assert "\n" not in str(caught.value)


def test_stop_waits_for_the_savepoint(cluster: Cluster, flink: FlinkRest) -> None:
    cluster.answer("POST", "/jobs/j/stop", {"request-id": "t"})
    cluster.answer(
        "GET",
        "/jobs/j/savepoints/t",
        {"status": {"id": "IN_PROGRESS"}},
        {"status": {"id": "COMPLETED"}, "operation": {"location": "s3://b/sp-1"}},
    )
    assert flink.stop("j") == "s3://b/sp-1"


def test_a_failed_savepoint_is_an_error_with_its_trace(cluster: Cluster, flink: FlinkRest) -> None:
    cluster.answer("POST", "/jobs/j/stop", {"request-id": "t"})
    failure = {"failure-cause": {"class": "X", "stack-trace": "X: no\nCaused by: a.b.IOException: store is away"}}
    cluster.answer("GET", "/jobs/j/savepoints/t", {"status": {"id": "COMPLETED"}, "operation": failure})
    with pytest.raises(RestError, match="the savepoint failed") as caught:
        flink.stop("j")
    assert root_cause(caught.value.lines) == "IOException: store is away"


def test_cancel_waits_until_the_job_is_over(cluster: Cluster, flink: FlinkRest) -> None:
    cluster.answer("PATCH", "/jobs/id-x-1?mode=cancel", b"")
    cluster.answer("GET", "/jobs/overview", {"jobs": [job("x", "CANCELLING", 1)]}, {"jobs": [job("x", "CANCELED", 1)]})
    flink.cancel("id-x-1")
    assert [path for _, path, _ in cluster.asked].count("/jobs/overview") == 2


def test_running_means_every_task(cluster: Cluster, flink: FlinkRest) -> None:
    states = [job("x", "INITIALIZING", 1, 0), job("x", "RUNNING", 1, 1), job("x", "RUNNING", 1, 2)]
    cluster.answer("GET", "/jobs/overview", *({"jobs": [state]} for state in states))
    assert flink.wait_running("id-x-1", timeout_s=10).running


def test_a_job_that_ends_instead_says_why(cluster: Cluster, flink: FlinkRest) -> None:
    cluster.answer("GET", "/jobs/overview", {"jobs": [job("x", "FAILED", 1, 0)]})
    history = {"exceptionHistory": {"entries": [{"stacktrace": "A: b\nCaused by: c.D: it broke"}]}}
    cluster.answer("GET", "/jobs/id-x-1/exceptions", history)
    with pytest.raises(RestError, match="x ended as FAILED") as caught:
        flink.wait_running("id-x-1", timeout_s=10)
    assert root_cause(caught.value.lines) == "D: it broke"


@pytest.mark.parametrize(
    ("latest", "path"),
    [
        ({"completed": None, "savepoint": None}, ""),
        ({"completed": {"id": 7, "external_path": "s3://b/chk-7"}, "savepoint": None}, "s3://b/chk-7"),
        (
            {"completed": {"id": 7, "external_path": "chk-7"}, "savepoint": {"id": 8, "external_path": "sp-8"}},
            "sp-8",
        ),
    ],
)
def test_the_latest_checkpoint(cluster: Cluster, flink: FlinkRest, latest: dict[str, Any], path: str) -> None:
    cluster.answer("GET", "/jobs/j/checkpoints", {"latest": latest, "counts": {"completed": 3}})
    assert flink.latest_checkpoint("j") == path
    assert flink.completed_checkpoints("j") == 3


def test_the_cluster_in_numbers(cluster: Cluster, flink: FlinkRest) -> None:
    cluster.answer("GET", "/overview", {"taskmanagers": 1, "slots-total": 8, "slots-available": 5, "jobs-running": 3})
    found = flink.overview()
    assert (found.taskmanagers, found.slots, found.free_slots, found.running_jobs) == (1, 8, 5, 3)


def test_something_that_is_not_flink(cluster: Cluster, flink: FlinkRest) -> None:
    cluster.answer("GET", "/overview", [1, 2])
    with pytest.raises(RestError, match="something other than an object"):
        flink.overview()


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (["java.io.IOException: no space left"], "IOException: no space left"),
        (["a.B: c", "Caused by: d.E: f: g"], "E: f: g"),
        (["Job not found"], "Job not found"),
        ([], ""),
    ],
)
def test_root_causes(lines: list[str], cause: str) -> None:
    assert root_cause(lines) == cause


def test_totals_are_summed_over_subtasks_and_vertices_by_what_follows_the_scope(
    cluster: Cluster, flink: FlinkRest
) -> None:
    cluster.answer("GET", "/jobs/j", {"vertices": [{"id": "a"}, {"id": "b"}]})
    cluster.answer("GET", "/jobs/j/vertices/a/subtasks/metrics", [{"id": "op.ours.polls"}, {"id": "op.other"}])
    cluster.answer(
        "GET", "/jobs/j/vertices/b/subtasks/metrics", [{"id": "x.ours.le.+Inf.delay"}, {"id": "x.ours.polls"}]
    )
    cluster.answer(
        "GET", "/jobs/j/vertices/a/subtasks/metrics?get=op.ours.polls&agg=sum", [{"id": "op.ours.polls", "sum": 3.0}]
    )
    cluster.answer(
        "GET",
        "/jobs/j/vertices/b/subtasks/metrics?get=x.ours.le.%2BInf.delay,x.ours.polls&agg=sum",
        [{"id": "x.ours.le.+Inf.delay", "sum": 1.0}, {"id": "x.ours.polls", "sum": 2.0}],
    )
    assert flink.totals("j", "ours.") == {"polls": 5.0, "le.+Inf.delay": 1.0}
