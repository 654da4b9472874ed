"""The embedded stack itself: that it holds what it says, refuses plainly, and heals what is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.jobs import JobError, cancel_job, stop_job, submit_job, wait_jobs
from cli.stack import Ports, Stack, StackError
from connectors.flink import FlinkRest
from connectors.kafka import read_all
from connectors.kafka_admin import ensure_topics, partition_counts
from state_schemas.topics import ALL, DAY_MS, Topic

JOBS = Path(__file__).parent / "jobs"
ECHO_IN = Topic("echo.in", 4, DAY_MS)
ECHO_OUT = Topic("echo.out", 4, DAY_MS)
KEYS = 20


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for a condition; the limit only ends a test that would hang."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)


def test_holds_topics_bucket_and_slots(stack: Stack) -> None:
    # Contract tests make topics of their own on the same stack.
    counts = partition_counts(stack.endpoints)
    ours = {name: count for name, count in counts.items() if not name.startswith("contract.")}
    assert ours == {topic.name: topic.partitions for topic in ALL}
    assert (stack.spec.data / "s3" / stack.endpoints.s3_bucket).is_dir()
    assert FlinkRest(stack.endpoints.flink_rest).overview().slots == 8
    found = stack.status()
    assert found.ready
    assert {part.name for part in found.components} == {"kafka", "s3", "jobmanager", "taskmanager"}
    assert all(part.rss_mb > 10 for part in found.components)


def test_refuses_to_come_up_twice(stack: Stack) -> None:
    with pytest.raises(StackError, match="is up already"):
        Stack(stack.spec.folder, stack.spec.ports).up(("kafka",))


def test_refuses_a_taken_port_and_names_it(stack: Stack, tmp_path: Path) -> None:
    taken = Ports(kafka=stack.spec.ports.kafka, kafka_controller=1, s3=2)
    with pytest.raises(StackError, match=f"port {taken.kafka} .*--kafka-port"):
        Stack(tmp_path, taken).up(("kafka",))
    assert stack.status().ready


def test_a_failing_script_is_one_line(stack: Stack) -> None:
    with pytest.raises(JobError) as caught:
        submit_job("failing", stack.endpoints, script=JOBS / "failing.py")
    message = str(caught.value)
    assert "UnknownEditionError: edition 'atlantis' is not in editions.toml" in message
    assert "stack logs jobmanager" in message
    assert "\n" not in message


def counted(stack: Stack) -> dict[str, list[int]]:
    """For each key, the numbers that its committed records carry."""
    found: dict[str, list[int]] = {}
    for message in read_all(stack.endpoints, ECHO_OUT, timeout_s=90):
        key, number, _ = message.value.decode().split(" ", 2)
        found.setdefault(key, []).append(int(number))
    return found


class Source:
    """Sends numbered records from a process of its own, until `end`."""

    def __init__(self, stack: Stack) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "source.py"), ECHO_IN.name, "200"],
            env={**os.environ, **stack.endpoints.to_mapping()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def end(self) -> int:
        """Stop sending; returns how many were sent and acknowledged."""
        answer, _ = self._process.communicate(timeout=120)
        assert self._process.returncode == 0
        return int(answer)


def test_every_record_once_whatever_is_killed(make_stack: Callable[..., Stack]) -> None:
    stack = make_stack("kafka", "s3", "flink")
    ensure_topics(stack.endpoints, (ECHO_IN, ECHO_OUT))
    flink = FlinkRest(stack.endpoints.flink_rest)

    def submit() -> str:
        job_id = submit_job("echo", stack.endpoints, parallelism=2, script=JOBS / "echo.py")
        wait_jobs(stack.endpoints, [job_id])
        return job_id

    job_id = submit()
    with pytest.raises(JobError, match="runs already"):
        submit()

    def checkpoints_again() -> None:
        """The job has healed when it completes checkpoints once more."""
        seen = flink.completed_checkpoints(job_id)
        until(lambda: flink.completed_checkpoints(job_id) >= seen + 3)

    sent: list[int] = []
    source = Source(stack)
    try:
        checkpoints_again()
        os.kill(stack.python_workers()[0], signal.SIGKILL)
        checkpoints_again()
        workers = set(stack.python_workers())
        os.kill(stack.pid("taskmanager"), signal.SIGKILL)
        until(lambda: (found := stack.status().component("taskmanager")) is not None and found.restarts == 1)
        checkpoints_again()
        assert not workers & set(stack.python_workers()), "workers of the killed TaskManager were left behind"
        os.kill(stack.pid("kafka"), signal.SIGKILL)
        until(lambda: (found := stack.status().component("kafka")) is not None and found.restarts == 1)
        until(lambda: stack.status().ready)
        checkpoints_again()
    finally:
        sent.append(source.end())
    savepoint = stop_job("echo", stack.endpoints)
    assert savepoint.startswith("s3://broadsheet/flink/savepoints/")
    # From a savepoint the counts go on, and from the last checkpoint of a cancelled run too.
    for end in (cancel_job, stop_job):
        job_id = submit()
        source = Source(stack)
        try:
            checkpoints_again()
        finally:
            sent.append(source.end())
        checkpoints_again()
        end("echo", stack.endpoints)

    total = Counter(f"k{number % KEYS}" for count in sent for number in range(count))
    assert {key: sorted(numbers) for key, numbers in counted(stack).items()} == {
        key: list(range(1, count + 1)) for key, count in total.items()
    }
    stack.down()
    assert not stack.status().up
    assert all(part.pid is None for part in stack.status().components)


def test_ends_with_the_process_that_owns_it(tmp_path: Path, port_base: Callable[[], int]) -> None:
    script = (
        "import sys, pathlib\n"
        "from cli.stack import Ports, Stack\n"
        "Stack(pathlib.Path(sys.argv[1]), Ports.from_base(int(sys.argv[2]))).up(('s3',), owned=True)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path), str(port_base())], check=True, timeout=60)
    existing = Stack.existing(tmp_path)
    assert existing is not None
    until(lambda: not existing.status().up, 30)
    assert all(part.pid is None for part in existing.status().components)
