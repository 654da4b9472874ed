"""One member of a consumer group: the range assignor, offsets committed by hand, told when partitions move."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

# First, for it loads the library without its warnings.
from connectors.kafka import KafkaClientError, Message, Partition, faults, message_of, open_consumer  # isort: skip
from kafka import TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError, RetriableError
from kafka.structs import OffsetAndMetadata

from connectors.settings import Endpoints
from state_schemas.topics import Topic

# Of one partition at a time: the library hands over all it has of one before the next, and a backlog of a partition is
# one of few hosts. A larger batch comes whole all the same.
PARTITION_BYTES = 64 * 1024
# Records are gathered for so long, or until there are so many bytes: at 500 records a second, each fetched by itself as
# it comes, two thirds of a member's CPU go into asking for them.
GATHERED_BYTES = 64 * 1024
GATHERED_MS = 50


class _Rebalance(AsyncConsumerRebalanceListener):
    """Runs on the library's own I/O thread: what it calls must return at once.

    Before a rebalance everything is "revoked", but what stays with this member keeps its position: nothing of it is
    read again. So only the new assignment tells what is gone.
    """

    def __init__(self, member: GroupMember) -> None:
        self._member = member

    async def on_partitions_revoked(self, revoked: Any) -> None:
        names = {(name.topic, name.partition) for name in revoked}
        finished = {name: at for name, at in self._member.finished().items() if name in names}
        if finished:
            with suppress(KafkaError):
                await self._member.consumer.commit_async(_offsets(finished))

    async def on_partitions_lost(self, lost: Any) -> None:
        # Put out of the group: what comes back is read again from what was committed.
        self._member.on_held(set())

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self._member.on_held(self._member.held())


def _offsets(finished: Mapping[Partition, int]) -> dict[Any, Any]:
    return {TopicPartition(*name): OffsetAndMetadata(offset, "", -1) for name, offset in finished.items()}


class GroupMember:
    """One member of a consumer group with the range assignor and offsets committed by hand.

    Used by one thread; only `finished` and `on_held` are called from another, and must return at once.
    finished: asked before each rebalance for the next offset to read of each partition, to be committed.
    on_held: told after it which partitions are held from now on. Work on any other must end; work on one that stays
    goes on, for it is not read again.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        group: str,
        topics: Iterable[Topic],
        client_id: str,
        *,
        finished: Callable[[], Mapping[Partition, int]],
        on_held: Callable[[set[Partition]], None],
        session_timeout_s: float = 15,
    ) -> None:
        """Connects; raises BrokerUnreachableError after 10 s. A killed member's partitions move after the time-out."""
        self._endpoints = endpoints
        self.finished = finished
        self.on_held = on_held
        with faults(endpoints, f"joining {group}"):
            self.consumer = open_consumer(
                endpoints,
                client_id=client_id,
                group_id=group,
                auto_offset_reset="earliest",
                max_partition_fetch_bytes=PARTITION_BYTES,
                fetch_min_bytes=GATHERED_BYTES,
                fetch_max_wait_ms=GATHERED_MS,
                partition_assignment_strategy=(RangePartitionAssignor,),
                session_timeout_ms=int(session_timeout_s * 1000),
                heartbeat_interval_ms=int(session_timeout_s * 1000 / 5),
            )
            self.consumer.subscribe([topic.name for topic in topics], listener=_Rebalance(self))

    def poll(self, timeout_s: float, max_records: int) -> list[Message]:
        """The next records of the partitions held and not paused; also keeps the membership alive.

        Empty while the broker is away. Raises KafkaClientError on what no waiting heals.
        """
        try:
            batches = self.consumer.poll(timeout_ms=int(timeout_s * 1000), max_records=max_records)
        except RetriableError:
            time.sleep(min(timeout_s, 0.2))
            return []
        except KafkaError as error:
            raise KafkaClientError(f"reading as a group member: {error}") from None
        return [message_of(record) for records in batches.values() for record in records]

    def held(self) -> set[Partition]:
        """The partitions assigned now."""
        return {(name.topic, name.partition) for name in self.consumer.assignment()}

    def pause(self, partitions: Iterable[Partition]) -> None:
        """Read no further from these; membership goes on."""
        held = self.consumer.assignment()
        self.consumer.pause(*(name for name in (TopicPartition(*each) for each in partitions) if name in held))

    def resume(self, partitions: Iterable[Partition]) -> None:
        """Read these again."""
        held = self.consumer.assignment()
        self.consumer.resume(*(name for name in (TopicPartition(*each) for each in partitions) if name in held))

    def commit(self, offsets: Mapping[Partition, int], timeout_s: float = 5) -> bool:
        """Commit the next offset to read of each partition. False: not now (broker away, group rebalancing)."""
        if not offsets:
            return True
        try:
            self.consumer.commit(_offsets(offsets), timeout_ms=int(timeout_s * 1000))
        except KafkaError:
            return False
        return True

    def close(self, timeout_s: float = 3) -> None:
        """Leave the group, so that the others take over at once."""
        with suppress(KafkaError):
            self.consumer.close(autocommit=False, timeout_ms=int(timeout_s * 1000))
