from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli.demo
import cli.live
import cli.main


def _run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "broadsheet: broadsheet needs a command (see `broadsheet --help`)\n"),
        (["config"], "broadsheet: broadsheet config needs a command (see `broadsheet config --help`)\n"),
        (["pages", "show"], "broadsheet: Missing argument 'EDITION'. (see `broadsheet pages show --help`)\n"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_commands_own_help(arguments: list[str], line: str) -> None:
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


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"url\nhttp://a.example/\n"])
def test_a_list_of_feeds_is_judged_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(cli.live, "FOLDER", tmp_path / "live")
    monkeypatch.setattr(cli.live.Stack, "up", lambda *_, **__: pytest.fail("the stack was started"))
    (tmp_path / "feeds.csv").write_bytes(content)
    done = CliRunner().invoke(cli.main.broadsheet, ["live", "--feeds", str(tmp_path / "feeds.csv")])
    assert done.exit_code == 2
    assert "feeds.csv" in done.output


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf"])
def test_a_demo_at_no_speed_starts_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, speed: str) -> None:
    monkeypatch.setattr(cli.demo, "FOLDER", tmp_path / "demo")
    monkeypatch.setattr(cli.demo.Stack, "up", lambda *_, **__: pytest.fail("the stack was started"))
    done = CliRunner().invoke(cli.main.broadsheet, ["demo", "--once", "--speed", speed])
    assert done.exit_code == 2
    assert "--speed" in done.output


def test_a_wrong_setting_is_one_line() -> None:
    done = _run(
        "import os, sys, cli.main\n"
        "os.environ['BROADSHEET_KAFKA'] = 'foo'\n"
        "sys.argv = ['broadsheet', 'pages', 'list']\n"
        "cli.main.main()"
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("broadsheet: BROADSHEET_KAFKA must be HOST:PORT")
