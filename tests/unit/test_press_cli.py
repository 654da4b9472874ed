"""`broadsheet press`: sources for the importer, and one line for what is wrong."""

from __future__ import annotations

import csv
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.press import press
from services.press import content, hostile

HEADER = "feed_url,publisher_id,publisher_name,country,language,category,authority,owner"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(press, list(arguments))


def test_sources_of_the_sample_press() -> None:
    result = run("sources", "--port", "1234")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == HEADER
    rows = list(csv.DictReader(lines))
    feeds = [feed for publisher in content.load().publishers.values() for feed in publisher.feeds]
    assert len(rows) == len(feeds)
    assert all(".localhost:1234/" in row["feed_url"] for row in rows)
    assert {row["language"] for row in rows} == {"en", "de", "es", "fr", "ja"}
    assert all(0 < float(row["authority"]) < 1 for row in rows)


def test_sources_of_other_presses() -> None:
    generated = run("sources", "--generated", "30", "--hosts", "3", "--base", "").output.splitlines()
    assert len(generated) == 4
    assert generated[1].startswith("http://h001.localhost/feed.xml,h001,")
    with_hostile = run("sources", "--generated", "30", "--hosts", "3", "--hostile").output.splitlines()
    assert len(with_hostile) == 4 + sum(len(paths) for paths in hostile.FEEDS.values())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param(("serve", "--speed", "0"), "--speed", id="no speed"),
        pytest.param(("serve", "--speed", "nan"), "--speed", id="not a number"),
        pytest.param(("serve", "--generated", "5", "--minutes", "0"), "--minutes", id="no time"),
        pytest.param(("sources", "--captured", "/nonexistent"), "MANIFEST.tsv: No such file", id="no captures"),
        pytest.param(("sources", "--content", "/nonexistent"), "publishers.toml: No such file", id="no content"),
        pytest.param(("sources", "--generated", "0"), "--generated", id="nothing to generate"),
    ],
)
def test_a_users_fault_is_one_line(arguments: tuple[str, ...], complaint: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert "Traceback" not in result.output


def test_a_taken_port_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("serve", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert "cannot listen" in result.stderr


def test_content_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "publishers.toml").write_text("[[publisher]]\nid = 'x'\n")
    result = run("sources", "--content", str(tmp_path))
    assert result.exit_code == 2
    assert "publishers.toml: x" in result.stderr
