"""Signals on their way to Kafka: each is out once the broker has it, and the same one is written once.

Used inside one event loop. What could not be written was not promised: the caller answers 503.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Protocol

import structlog

from connectors.kafka import KafkaClientError, Message
from connectors.kafka_native import Told
from services.push.policy import PushPolicy
from services.push.windows import Window
from state_schemas.codec import encode_record
from state_schemas.sources import PollSignal
from state_schemas.topics import POLL_SIGNALS, Topic

Written = asyncio.Future[None]
# An idempotent producer that met a fatal error refuses all that comes after; with a broker back, a new one does not.
_BROKEN_AFTER = 20

log = structlog.get_logger()


class Sender(Protocol):
    """What is needed of `connectors.kafka_native.NativeProducer`."""

    def send(self, topic: Topic, key: str, value: bytes, told: Told) -> None:
        """Hand over one record; `told` is called when the broker has it, or does not."""
        ...


class NotWrittenError(Exception):
    """Kafka has not acknowledged a signal in time, or cannot be asked: nothing was promised."""


class Signals:
    """Writes to poll.signals."""

    def __init__(self, producer: Sender, policy: PushPolicy) -> None:
        self._producer = producer
        self._policy = policy
        self._written = Window(policy.replay_ms, policy.replays)
        self._writing: dict[Hashable, Written] = {}
        self.waiting = 0
        self.failures = 0  # in a row
        self.broken = asyncio.Event()

    def renew(self, producer: Sender) -> None:
        """Write by another producer from now on."""
        self._producer = producer
        self.failures = 0
        self.broken.clear()

    async def send(self, signal: PollSignal) -> None:
        """Returns when the broker has it. Raises NotWrittenError."""
        await self._hand_over(signal)

    def begin(self, name: Hashable, now_ms: int, signal: Callable[[], PollSignal]) -> tuple[Written | None, bool]:
        """Hand over the signal of this name, if it was not within the last minutes, and say whether it was now.

        The first is to be waited for, by whoever comes while it is being written, too; it raises NotWrittenError. None:
        the broker has it already. Raises NotWrittenError.
        """
        if self._written.holds(name, now_ms):
            return None, False
        under_way = self._writing.get(name)
        if under_way is not None:
            return under_way, False
        handed = self._hand_over(signal())
        self._writing[name] = handed

        def ended(future: Written) -> None:
            # Not when a caller stops waiting: the record may still be written after that.
            del self._writing[name]
            if not future.cancelled() and future.exception() is None:
                self._written.add(name, now_ms)

        handed.add_done_callback(ended)
        return handed, True

    def _hand_over(self, signal: PollSignal) -> Written:
        if self.waiting >= self._policy.waiting:
            raise NotWrittenError("too many signals wait for Kafka")
        loop = asyncio.get_running_loop()
        handed: Written = loop.create_future()

        def fail(why: str) -> None:
            if not handed.done():
                handed.set_exception(NotWrittenError(why))
                handed.exception()  # known to be looked at: nobody may be waiting any more

        # Not one for each caller that waits: a timer less is a twentieth of all the time.
        late = loop.call_later(self._policy.ack_s, fail, f"no acknowledgement within {self._policy.ack_s:g} s")

        def told(_: Message | None, error: KafkaClientError | None) -> None:
            late.cancel()
            self.waiting -= 1
            if error is not None:
                self._failed(error)
                fail(str(error))
                return
            if self.failures:
                log.info("written_again", failures=self.failures)
                self.failures = 0
            if not handed.done():
                handed.set_result(None)

        self.waiting += 1
        try:
            self._producer.send(POLL_SIGNALS, signal.feed_id, encode_record(signal), told)
        except KafkaClientError as error:
            told(None, error)
        return handed

    def _failed(self, error: KafkaClientError) -> None:
        self.failures += 1
        if self.failures == 1:  # a line for an outage, not one for each signal of it
            log.warning("not_written", detail=str(error))
        if self.failures >= _BROKEN_AFTER:
            self.broken.set()
