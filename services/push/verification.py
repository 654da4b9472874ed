"""A hub's question at a callback (WebSub, 5.3): is the subscription wanted, and for how long? Pure.

subscribe is answered yes while poll wants it (pending, or verified: a renewal), unsubscribe once poll has given it up,
denied whenever it comes, for a hub may deny an active subscription too. Anything else is unknown: 404, no detail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from services.push.policy import PushPolicy
from services.push.register import Callback
from state_schemas.sources import PollSignal

# mode -> the states of a subscription in which it is accepted
_WANTED: Mapping[str, frozenset[str]] = {
    "subscribe": frozenset({"pending", "verified"}),
    "unsubscribe": frozenset({"unsubscribed"}),
    "denied": frozenset({"pending", "verified", "denied", "lapsed", "unsubscribed"}),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to answer once Kafka has the signal. outcome: a code that is counted. No signal: 404."""

    outcome: str
    challenge: str = ""
    signal: PollSignal | None = None


def verdict(callback: Callback | None, query: Mapping[str, Sequence[str]], now_ms: int, policy: PushPolicy) -> Verdict:
    """Judge the query of a GET at a callback; None for a token that is not known. query: all values of each name."""
    if callback is None:
        return Verdict("unknown")
    mode, topic = _only(query, "hub.mode"), _only(query, "hub.topic")
    states = _WANTED.get(mode)
    if states is None:
        return Verdict("mode_unknown")
    if topic != callback.topic:
        return Verdict("other_topic")
    if callback.state not in states:
        return Verdict("not_wanted")
    if mode == "denied":
        return Verdict("denied", signal=_signal(callback, "denied", now_ms))
    challenge = _only(query, "hub.challenge")
    if not 0 < len(challenge) <= policy.challenge_chars:
        return Verdict("no_challenge")
    if mode == "unsubscribe":
        return Verdict("unsubscribed", challenge, _signal(callback, "unsubscribed", now_ms))
    until_ms = now_ms + 1000 * lease_s(_only(query, "hub.lease_seconds"), policy)
    return Verdict("verified", challenge, _signal(callback, "lease", now_ms, until_ms))


def lease_s(text: str, policy: PushPolicy) -> int:
    """The lease that is honoured: as the hub says, at most the ceiling; the default for none and for no number."""
    text = text.strip()
    if not (text.isascii() and text.isdigit()):
        return policy.lease_default_s
    digits = text.lstrip("0")
    # Beyond nine digits it is over the ceiling whatever it says, and int() need not read a thousand of them.
    return min(int(digits[:9]), policy.lease_ceiling_s) if digits else policy.lease_default_s


def _only(query: Mapping[str, Sequence[str]], name: str) -> str:
    """The value of a parameter that is there once; one that is there twice says nothing."""
    values = query.get(name, ())
    return values[0] if len(values) == 1 else ""


def _signal(
    callback: Callback, signal: Literal["lease", "denied", "unsubscribed"], now_ms: int, until_ms: int = 0
) -> PollSignal:
    return PollSignal(
        feed_id=callback.feed_id,
        signal=signal,
        signalled_ms=now_ms,
        until_ms=until_ms,
        token=callback.token,
    )
