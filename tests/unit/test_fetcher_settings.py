"""The fetcher's settings, and the ends of a start that cannot be."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from connectors.settings import SettingsError
from services.fetcher.policy import FetchPolicy
from services.fetcher.settings import FetcherSettings
from udfs.profiles import policy


def test_defaults_and_all_variables() -> None:
    assert FetcherSettings.from_mapping({}) == FetcherSettings()
    found = FetcherSettings.from_mapping(
        {
            "BROADSHEET_FETCHER_PORT": "29464",
            "BROADSHEET_CONTACT": "mailto:desk@news.example",
            "BROADSHEET_FETCHER_PORTS": "80, 443,8080",
        }
    )
    assert found == FetcherSettings(29464, "mailto:desk@news.example", (80, 443, 8080))
    assert found.user_agent().endswith(" (news reader; +mailto:desk@news.example)")
    assert FetcherSettings().user_agent().startswith("Broadsheet/")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BROADSHEET_FETCHER_PORT", "0"),
        ("BROADSHEET_FETCHER_PORT", "http"),
        ("BROADSHEET_FETCHER_PORTS", "80,70000"),
        ("BROADSHEET_FETCHER_PORTS", ""),
        ("BROADSHEET_CONTACT", "a\r\nX-Evil: 1"),
        ("BROADSHEET_CONTACT", "me) (you"),
        ("BROADSHEET_CONTACT", "büro@news.example"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        FetcherSettings.from_mapping({name: value})


@pytest.mark.parametrize("profile", ["default", "demo"])
def test_every_profile_has_a_policy(profile: str, checkout: Path) -> None:
    assert policy(FetchPolicy, "fetcher", profile, checkout / "reference_data").host_requests == 2


def start(**environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "services.fetcher"],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_user_s_error_is_one_line_and_status_2() -> None:
    ended = start(BROADSHEET_FETCHER_PORT="x")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "BROADSHEET_FETCHER_PORT" in ended.stderr


def test_a_taken_port_is_one_line_and_status_2() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = start(BROADSHEET_FETCHER_PORT=str(port))
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert str(port) in ended.stderr
