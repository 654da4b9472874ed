"""A job script's failure in one line, and where a job starts from."""

from __future__ import annotations

import asyncio

import pytest
from click.testing import CliRunner

from cli.jobs import ORDER, jobs, python_error, script_output
from cli.resume import Run, last_run, newest_checkpoint, remember, start_from
from tests.contracts.memory_objects import MemoryObjects

LOG = """2026-01-01 10:00:00,000 INFO  PythonDriver - --------------------------- Python Process Started ----------
2026-01-01 10:00:00,100 INFO  PythonDriver - ValueError: of an earlier script
2026-01-01 10:00:00,200 INFO  PythonDriver - --------------------------- Python Process Exited ---------------------
2026-01-01 10:00:01,000 INFO  PythonDriver - --------------------------- Python Process Started ----------
Traceback (most recent call last):
2026-01-01 10:00:01,100 INFO  PythonDriver - Traceback (most recent call last):
2026-01-01 10:00:01,100 INFO  PythonDriver -   File "/jobs/poll.py", line 16, in <module>
2026-01-01 10:00:01,100 INFO  PythonDriver -     main()
2026-01-01 10:00:01,100 INFO  PythonDriver - state_schemas.editions.UnknownEditionError: edition 'atlantis': not there
2026-01-01 10:00:01,200 INFO  PythonDriver - --------------------------- Python Process Exited ---------------------
2026-01-01 10:00:01,200 ERROR PythonDriver - Run python process failed
java.lang.RuntimeException: Python process exits with code: 1
"""


def test_the_last_scripts_own_error_is_found_in_the_log() -> None:
    assert (
        python_error(script_output(LOG)) == "state_schemas.editions.UnknownEditionError: edition 'atlantis': not there"
    )


def test_the_shipped_form_of_the_log_is_read_too() -> None:
    shipped = LOG.replace(" PythonDriver -", " org.apache.flink.client.python.PythonDriver   [] -")
    assert python_error(script_output(shipped)).endswith("edition 'atlantis': not there")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "Traceback (most recent call last):\n  x\nKeyError: 'a'\n\nDuring handling of the above exception, another"
            " exception occurred:\n\nTraceback (most recent call last):\n  y\nRuntimeError: b",
            "RuntimeError: b",
        ),
        (
            '  File "poll.py", line 3\n    def main(:\n             ^\nSyntaxError: invalid syntax',
            "SyntaxError: invalid syntax",
        ),
        (
            "Traceback (most recent call last):\n  z\npy4j.protocol.Py4JJavaError: An error occurred while calling o1.execute.\n"
            ": java.lang.Exception: Failed\n\tat x\nCaused by: a.b.TopicError: no topic 'items.raw'\n\t... 3 more",
            "TopicError: no topic 'items.raw'",
        ),
        ("Traceback (most recent call last):\n  z\nKeyboardInterrupt", "KeyboardInterrupt"),
        ("all is well", ""),
        ("", ""),
    ],
)
def test_the_last_exception_of_a_text(text: str, line: str) -> None:
    assert python_error(text.splitlines()) == line


def test_only_a_checkpoint_with_its_metadata_is_complete() -> None:
    run = "flink/checkpoints/j"
    keys = [f"{run}/chk-9/_metadata", f"{run}/chk-10/_metadata", f"{run}/chk-11/part", f"{run}/shared/x"]
    assert newest_checkpoint(keys) == f"{run}/chk-10"
    assert newest_checkpoint([]) == ""


def test_a_job_goes_on_where_it_last_was() -> None:
    async def scenario() -> list[str]:
        objects = MemoryObjects()
        found = [await start_from(objects, "poll", "b")]
        await remember(objects, "poll", Run("j1", started_from="s3://b/old"))
        # Ended before its first checkpoint: what it was started from is still the newest.
        found.append(await start_from(objects, "poll", "b"))
        await objects.create("flink/checkpoints/j1/chk-3/_metadata", b"x")
        found.append(await start_from(objects, "poll", "b"))
        await remember(objects, "poll", Run("j1", savepoint="s3://b/savepoint-1"))
        await remember(objects, "poll", Run("j1", savepoint="s3://b/savepoint-1"))
        found.append(await start_from(objects, "poll", "b"))
        assert await last_run(objects, "poll") == Run("j1", savepoint="s3://b/savepoint-1")
        return found

    found = asyncio.run(scenario())
    assert found == ["", "s3://b/old", "s3://b/flink/checkpoints/j1/chk-3", "s3://b/savepoint-1"]


def test_neither_names_nor_all_is_refused_and_both_too() -> None:
    for arguments in (["stop"], ["stop", "--all", *ORDER[:1]]):
        outcome = CliRunner().invoke(jobs, arguments)
        assert outcome.exit_code == 2
        assert "name one or more jobs, or say --all" in outcome.output


def test_a_savepoint_is_one_jobs() -> None:
    outcome = CliRunner().invoke(jobs, ["submit", "--all", "--from-savepoint", "s3://b/sp"])
    assert outcome.exit_code == 2
    assert "--from-savepoint is one job's" in outcome.output
