"""Requests in, offsets out: the group's member in a thread of its own, so that no host and no result delays its polls.

The thread alone touches the consumer. It hands records to the event loop, reads less when the loop holds many, and
commits up to the oldest unfinished offset of each partition. Urgent requests are read as long as there is any room.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import structlog

from connectors.kafka import BrokerUnreachableError, KafkaClientError, Message, Partition
from connectors.kafka_group import GroupMember
from connectors.settings import Endpoints
from services.fetcher.offsets import OffsetTracker, Ticket
from services.fetcher.policy import FetchPolicy
from state_schemas.topics import FETCH_REQUESTS, FETCH_REQUESTS_PRIORITY

GROUP = "broadsheet-fetcher"
_POLL_S = 0.2
_AT_ONCE = 200  # records a poll

log = structlog.get_logger()


class Works(Protocol):
    """What the event loop's side offers to this thread. It alone counts what has ended, this thread what began."""

    ended: int
    ended_bytes: int

    def accept(self, requests: Sequence[tuple[Message, Ticket]]) -> None:
        """Begin to work on these. Called in the event loop."""
        ...

    async def hand_over(self, gone: set[Partition]) -> None:
        """Partitions moved: end all work on those that are gone and has no result yet, and start gently on the new."""
        ...


class Intake(threading.Thread):
    """Runs until `stop`; `failed` is called, in the event loop, when no waiting heals what went wrong."""

    def __init__(
        self,
        endpoints: Endpoints,
        policy: FetchPolicy,
        loop: asyncio.AbstractEventLoop,
        works: Works,
        *,
        failed: Callable[[str], None],
        commit_failed: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name="intake", daemon=True)
        self._endpoints = endpoints
        self._policy = policy
        self._loop = loop
        self._works = works
        self._failed = failed
        self._commit_failed = commit_failed
        self._lock = threading.Lock()
        self._tracker = OffsetTracker()
        self._stopping = threading.Event()
        self._draining = False
        self._begun = 0
        self._begun_bytes = 0
        self._held: set[Partition] = set()
        self.joined = False
        self.polled = time.monotonic()

    @property
    def partitions(self) -> int:
        """Partitions held now."""
        return len(self._held)

    @property
    def held(self) -> int:
        """Requests read and not yet ended."""
        return self._begun - self._works.ended

    # ------------------------------------------------------------ called from the event loop

    def finish(self, ticket: Ticket) -> None:
        """The broker has the request's result."""
        with self._lock:
            self._tracker.finish(ticket)

    def drain(self) -> None:
        """Read nothing more; stay in the group and commit what still ends."""
        self._draining = True

    def stop(self) -> None:
        """Commit for the last time and leave the group."""
        self._stopping.set()

    # ------------------------------------------------------------ the thread

    def run(self) -> None:
        """Join, read, commit, leave."""
        try:
            member = self._join()
            if member is None:
                return
            try:
                self._read(member)
            finally:
                self._commit(member, timeout_s=1)
                member.close(timeout_s=1)
        except KafkaClientError as error:
            self._call(self._failed, str(error))
        except RuntimeError:
            # The event loop is gone: the process ends.
            if not self._stopping.is_set():
                raise

    def _call(self, function: Callable[..., object], *values: object) -> None:
        self._loop.call_soon_threadsafe(function, *values)

    def _join(self) -> GroupMember | None:
        while not self._stopping.is_set():
            try:
                return GroupMember(
                    self._endpoints,
                    GROUP,
                    (FETCH_REQUESTS_PRIORITY, FETCH_REQUESTS),
                    GROUP,
                    finished=self._finished,
                    on_held=self._moved,
                )
            except BrokerUnreachableError as error:
                log.warning("broker_unreachable", detail=str(error))
        return None

    def _read(self, member: GroupMember) -> None:
        committed = time.monotonic()
        while not self._stopping.is_set():
            self._pause(member)
            messages = member.poll(_POLL_S, _AT_ONCE)
            self.polled = time.monotonic()
            held = member.held() if messages else set()
            # Urgent ones of a batch go first; order matters nowhere else.
            messages.sort(key=lambda each: each.topic != FETCH_REQUESTS_PRIORITY.name)
            self._begin([message for message in messages if (message.topic, message.partition) in held])
            if time.monotonic() - committed > self._policy.commit_ms / 1000:
                self._commit(member, timeout_s=3)
                committed = time.monotonic()

    def _begin(self, messages: list[Message]) -> None:
        with self._lock:
            tickets = [self._tracker.begin((each.topic, each.partition), each.offset) for each in messages]
        # Counted here, not in the loop: it may be behind, and the next poll must know.
        self._begun += len(messages)
        self._begun_bytes += sum(len(message.value) for message in messages)
        if messages:
            self._call(self._works.accept, list(zip(messages, tickets, strict=True)))

    def _pause(self, member: GroupMember) -> None:
        """Read only what there is room for."""
        policy = self._policy
        held_bytes = self._begun_bytes - self._works.ended_bytes
        full = self.held >= policy.buffered_urgent or held_bytes >= policy.buffered_bytes or self._draining
        high = self.held >= policy.buffered
        held = member.held()
        urgent = {name for name in held if name[0] == FETCH_REQUESTS_PRIORITY.name}
        paused = held if full else held - urgent if high else set()
        member.pause(paused)
        member.resume(held - paused)

    def _commit(self, member: GroupMember, *, timeout_s: float) -> None:
        held = member.held()
        with self._lock:
            offsets = {name: at for name, at in self._tracker.committable().items() if name in held}
        if member.commit(offsets, timeout_s):
            with self._lock:
                self._tracker.committed(offsets)
        else:
            self._commit_failed()

    # ------------------------------------------------------------ called on the library's I/O thread

    def _finished(self) -> Mapping[Partition, int]:
        with self._lock:
            return self._tracker.committable()

    def _moved(self, held: set[Partition]) -> None:
        gone, came = self._held - held, held - self._held
        self._held = held
        with self._lock:
            self._tracker.give_up(gone)
        if gone or came:
            # No host may be asked by two owners: requests for what is gone end before this goes on, and a new owner
            # lets a gap pass before it asks.
            try:
                asyncio.run_coroutine_threadsafe(self._works.hand_over(gone), self._loop).result(timeout=2)
            except (TimeoutError, RuntimeError):
                log.warning("hand_over_in_a_hurry", gone=len(gone))
            log.info("partitions", held=len(held), came=len(came), gone=len(gone))
        self.joined = self.joined or bool(held)
