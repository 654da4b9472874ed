"""The follower: readiness comes once, after all that was there; what is begun anew never turns the register back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import services.push.following
from connectors.kafka import KafkaClientError, Message
from connectors.settings import Endpoints
from services.push.following import Following
from services.push.policy import PushPolicy
from services.push.register import Register
from state_schemas.codec import encode_record
from state_schemas.sources import Subscription
from state_schemas.topics import WEBSUB_SUBSCRIPTIONS


def message(offset: int, token: str, value: bytes | None = None) -> Message:
    record = Subscription(feed_id="f", topic="t", hub="h", callback_token=token, secret="s")
    value = encode_record(record) if value is None else value
    return Message(0, offset, 1, "f", value, WEBSUB_SUBSCRIPTIONS.name)


def test_it_begins_anew_after_a_fault_and_never_turns_back(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[list[tuple[list[Message], bool]]] = [
        [([], False), ([message(0, "one"), message(1, "", b"no record"), message(2, "two")], True), ([], True)],
        # From the start again, and cut short after the oldest record.
        [([message(0, "one")], False)],
        [([message(0, "one"), message(2, "two")], False), ([message(3, "three")], True)],
    ]
    events: list[str] = []

    def follow(*_: Any, stop: Callable[[], bool], **__: Any) -> Iterator[tuple[list[Message], bool]]:
        if not rounds:
            stop_soon()
            return
        for batch in rounds.pop(0):
            yield batch
            tokens = [token for token in ("one", "two", "three") if register.callback(token)]
            events.append(" ".join(tokens))
        raise KafkaClientError("gone")

    monkeypatch.setattr(services.push.following, "follow", follow)
    monkeypatch.setattr(services.push.following, "_RETRY_S", 0.0)
    register = Register(PushPolicy())
    stop_soon: Callable[[], None]

    async def case() -> None:
        nonlocal stop_soon
        following = Following(
            Endpoints(),
            asyncio.get_running_loop(),
            register,
            caught_up=lambda: events.append("caught up"),
            undecodable=lambda topic: events.append(f"undecodable in {topic}"),
        )
        stop_soon = following.stop
        following.start()
        while following.is_alive():
            await asyncio.sleep(0.01)

    asyncio.run(case())
    assert sorted(events[:4]) == sorted(["", "undecodable in websub.subscriptions", "caught up", "two"])
    assert events[4:] == ["two", "two", "two", "three"]


def test_without_a_loop_it_ends() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    following = Following(Endpoints(), loop, Register(PushPolicy()), caught_up=lambda: None, undecodable=lambda _: None)
    following._hand_over([message(0, "one")], True)
    assert following._stopping
