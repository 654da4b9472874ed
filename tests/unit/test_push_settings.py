"""Settings and policy: read once, refused in one line, documented values."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import pytest

from cli.stack import components
from cli.stack.layout import Ports, StackSpec
from connectors.settings import Endpoints, SettingsError
from services.push.policy import PushPolicy
from services.push.server import limit_name
from services.push.settings import PushSettings
from udfs.profiles import policy


def test_defaults_and_what_the_environment_says() -> None:
    assert PushSettings.from_mapping({}) == PushSettings()
    found = PushSettings.from_mapping(
        {"BROADSHEET_PUSH_METRICS_PORT": "9000", "BROADSHEET_PUSH_PROXIES": "10.0.0.0/8, ::1"}
    )
    assert found.metrics_port == 9000
    assert [str(network) for network in found.proxies] == ["10.0.0.0/8", "::1/128"]


@pytest.mark.parametrize(
    "environ",
    [
        {"BROADSHEET_PUSH_METRICS_PORT": "http"},
        {"BROADSHEET_PUSH_METRICS_PORT": "0"},
        {"BROADSHEET_PUSH_METRICS_PORT": "1" * 30},
        {"BROADSHEET_PUSH_PROXIES": "proxy.example"},
        {"BROADSHEET_PUSH_PROXIES": "10.0.0.1/8"},
    ],
)
def test_what_cannot_be_used_is_named(environ: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=next(iter(environ))):
        PushSettings.from_mapping(environ)


@pytest.mark.parametrize("profile", ["default", "demo"])
def test_every_profile_has_a_policy(profile: str) -> None:
    assert policy(PushPolicy, "push", profile, Endpoints().reference_data_folder()).body_bytes > 0


def test_what_waits_in_memory_is_bounded_below_half_a_gigabyte() -> None:
    bounds = PushPolicy()
    waiting = 2 * 16 * 1024 * bounds.connections + bounds.held_bytes
    assert waiting + 300 * (bounds.replays + bounds.nonces) + 3 * 250 * bounds.addresses < 512 * 2**20


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::1", "2001:db8:1:2::"),
    ],
)
def test_under_which_name_an_address_is_limited(address: str, name: str) -> None:
    assert limit_name(ip_address(address)) == name


def test_the_stack_runs_it_where_the_defaults_say_and_tells_hubs_of_the_press_alone() -> None:
    spec = StackSpec(Path("/x"))
    assert spec.endpoints().push == Endpoints().push
    assert spec.endpoints().push_public == ""
    pressed = StackSpec(Path("/x"), gateway="127.0.0.1:18090")
    assert pressed.endpoints().push_public == pressed.endpoints().push
    assert pressed.endpoints(Endpoints(push_public="https://push.example")).push_public == "https://push.example"
    made = components._push(StackSpec(Path("/x"), Ports.from_base(4000)), Endpoints())
    assert made.argv[-1] == "services.push"
    assert made.env["BROADSHEET_PUSH_METRICS_PORT"] == str(Ports.from_base(4000).push_metrics)
