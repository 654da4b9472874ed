"""A hub's question at a callback: what is answered yes, what is unknown, and for how long a lease counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.push.policy import PushPolicy
from services.push.register import Callback
from services.push.verification import lease_s, verdict
from state_schemas.sources import PollSignal

NOW = 1_796_000_000_000
POLICY = PushPolicy()
TOKEN = "a1" * 16
TOPIC = "https://news.example/feed.xml"
DAY_S = 86_400


def callback(state: str = "pending") -> Callback:
    return Callback(TOKEN, "feed1", TOPIC, "secret", state)


def question(mode: str = "subscribe", **other: str) -> dict[str, list[str]]:
    query = {"hub.mode": mode, "hub.topic": TOPIC, "hub.challenge": "q7", "hub.lease_seconds": "864000"}
    return {name: [value] for name, value in {**query, **{f"hub.{k}": v for k, v in other.items()}}.items()}


@pytest.mark.parametrize(
    ("mode", "state", "outcome"),
    [
        ("subscribe", "pending", "verified"),
        ("subscribe", "verified", "verified"),  # a renewal
        ("subscribe", "unsubscribed", "not_wanted"),
        ("subscribe", "denied", "not_wanted"),
        ("subscribe", "lapsed", "not_wanted"),
        ("unsubscribe", "unsubscribed", "unsubscribed"),
        ("unsubscribe", "verified", "not_wanted"),  # anybody may ask a hub to end another's subscription
        ("unsubscribe", "pending", "not_wanted"),
        ("denied", "pending", "denied"),
        ("denied", "verified", "denied"),  # late: the hub may deny at any point
        ("denied", "denied", "denied"),
        ("publish", "verified", "mode_unknown"),
        ("", "verified", "mode_unknown"),
    ],
)
def test_each_mode_in_each_state(mode: str, state: str, outcome: str) -> None:
    found = verdict(callback(state), question(mode), NOW, POLICY)
    assert found.outcome == outcome
    assert (found.signal is not None) == (outcome in ("verified", "unsubscribed", "denied"))


def test_a_lease_that_the_hub_grants() -> None:
    found = verdict(callback(), question(), NOW, POLICY)
    assert found.challenge == "q7"
    assert found.signal == PollSignal(
        feed_id="feed1", signal="lease", signalled_ms=NOW, until_ms=NOW + 864_000_000, token=TOKEN
    )


def test_a_denial_has_no_challenge_and_tells_poll_at_once() -> None:
    query = question("denied", reason="quota")
    del query["hub.challenge"]
    found = verdict(callback("verified"), query, NOW, POLICY)
    assert (found.outcome, found.challenge) == ("denied", "")
    assert found.signal == PollSignal(feed_id="feed1", signal="denied", signalled_ms=NOW, token=TOKEN)


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({}, id="nothing"),
        pytest.param(question(topic="https://news.example/other.xml"), id="another topic"),
        pytest.param(question(topic=TOPIC + "/"), id="almost the topic"),
        pytest.param(question(topic=""), id="no topic"),
        pytest.param(question(challenge=""), id="no challenge"),
        pytest.param(question(challenge="x" * 1025), id="a challenge without end"),
        pytest.param({**question(), "hub.topic": [TOPIC, "https://x.example/"]}, id="two topics"),
        pytest.param({**question(), "hub.challenge": ["a", "b"]}, id="two challenges"),
        pytest.param({**question(), "hub.mode": ["subscribe", "denied"]}, id="two modes"),
    ],
)
def test_what_is_not_answered(query: dict[str, list[str]]) -> None:
    assert verdict(callback(), query, NOW, POLICY).signal is None


def test_an_unknown_token_is_not_answered() -> None:
    assert verdict(None, question(), NOW, POLICY).signal is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("864000", 864_000),
        ("1", 1),
        (str(14 * DAY_S), 14 * DAY_S),
        (str(90 * DAY_S), 14 * DAY_S),  # a hub that then goes silent would hide for three months
        ("9" * 5000, 14 * DAY_S),
        ("0000000000000864000", 864_000),
        ("0", DAY_S),
        ("", DAY_S),
        ("-5", DAY_S),
        ("1e9", DAY_S),
        ("864000.0", DAY_S),
        ("٣", DAY_S),
    ],
)
def test_how_long_a_lease_is_honoured(text: str, seconds: int) -> None:
    assert lease_s(text, POLICY) == seconds


@given(st.text())
def test_a_lease_is_always_between_a_second_and_the_ceiling(text: str) -> None:
    assert 1 <= lease_s(text, POLICY) <= POLICY.lease_ceiling_s
