"""A thread that keeps the register in step with its topics: from their start, then as they change."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import structlog

from connectors.kafka import KafkaClientError, Message, Partition
from connectors.kafka_follow import follow
from connectors.settings import Endpoints
from services.push.register import KINDS, Register
from state_schemas.codec import DecodeError, decode_record
from state_schemas.sources import Publisher, Source, Subscription
from state_schemas.topics import PUBLISHERS, SOURCES, WEBSUB_SUBSCRIPTIONS

TOPICS = (WEBSUB_SUBSCRIPTIONS, PUBLISHERS, SOURCES)
_RETRY_S = 1.0

log = structlog.get_logger()


class Following(threading.Thread):
    """Reads and decodes; the register itself is only touched in the event loop."""

    def __init__(
        self,
        endpoints: Endpoints,
        loop: asyncio.AbstractEventLoop,
        register: Register,
        *,
        caught_up: Callable[[], None],
        undecodable: Callable[[str], None],
    ) -> None:
        """caught_up: called once in the loop, when all has been read that was there. undecodable: told a topic."""
        super().__init__(name="following", daemon=True)
        self._endpoints = endpoints
        self._loop = loop
        self._register = register
        self._caught_up = caught_up
        self._undecodable = undecodable
        self._stopping = False
        self._told = False
        self._taken: dict[Partition, int] = {}  # the last offset of each that the register has
        self.read_at = time.monotonic()

    def stop(self) -> None:
        """End soon."""
        self._stopping = True

    def run(self) -> None:
        """Follow until told to stop; begins anew after whatever goes wrong."""
        while not self._stopping:
            try:
                for messages, complete in follow(
                    self._endpoints, TOPICS, "broadsheet-push", stop=lambda: self._stopping
                ):
                    self.read_at = time.monotonic()
                    self._hand_over(messages, complete)
            except KafkaClientError as error:
                log.warning("topics_wait", detail=str(error))
            except Exception:
                log.exception("following_fault")
            if not self._stopping:
                time.sleep(_RETRY_S)

    def _hand_over(self, messages: list[Message], complete: bool) -> None:
        """Have one batch taken in before the next is read: what waits in the loop stays bounded."""
        records = []
        for message in messages:
            # Begun anew, what is known comes again: an older record must not take the place of a newer one meanwhile.
            if message.offset > self._taken.get((message.topic, message.partition), -1):
                self._taken[message.topic, message.partition] = message.offset
                if (record := self._decoded(message)) is not None:
                    records.append(record)
        if not records and (self._told or not complete):
            return
        done = threading.Event()

        def take() -> None:
            for record in records:
                self._register.apply(record)
            if complete and not self._told:
                self._told = True
                self._caught_up()
            done.set()

        try:
            self._loop.call_soon_threadsafe(take)
        except RuntimeError:  # the loop has ended
            self._stopping = True
            return
        while not done.wait(0.5) and not self._stopping:
            pass

    def _decoded(self, message: Message) -> Subscription | Publisher | Source | None:
        try:
            record: Subscription | Publisher | Source = decode_record(KINDS[message.topic], message.value)
        except DecodeError as error:
            # The stages that write and decide set it aside; here the record before it stays.
            log.warning("record_undecodable", topic=message.topic, key=message.key[:100], reason=error.reason)
            self._loop.call_soon_threadsafe(self._undecodable, message.topic)
            return None
        return record
