from __future__ import annotations

import subprocess
import sys

import pytest


def _run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "broadsheet: broadsheet needs a command (see `broadsheet --help`)\n"),
        (["config"], "broadsheet: broadsheet config needs a command (see `broadsheet config --help`)\n"),
    ],
)
def test_a_group_without_a_command_is_one_line(arguments: list[str], line: str) -> None:
    done = _run(f"import sys, cli.main; sys.argv = ['broadsheet', *{arguments}]; cli.main.main()")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


@pytest.mark.parametrize("status", [0, 2, 130])
def test_with_the_object_stores_client_the_status_is_the_commands_own(status: int) -> None:
    done = _run(
        "import atexit, sys, obstore, cli.main\n"
        "atexit.register(print, 'closed')\n"
        f"cli.main._run = lambda: (print('shown'), sys.exit({status}))\n"
        "cli.main.main()"
    )
    assert (done.returncode, done.stdout) == (status, "shown\nclosed\n")
