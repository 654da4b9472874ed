"""Which offsets are finished, and how far a partition may be committed. Pure.

An offset is finished when the broker has acknowledged its result. A partition is committed up to its oldest unfinished
offset: a crash repeats requests and loses none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

Partition = tuple[str, int]  # topic name, partition


@dataclass(frozen=True, slots=True)
class Ticket:
    """One record that is being worked on. A partition that went away and came back has another epoch."""

    partition: Partition
    offset: int
    epoch: int


@dataclass(slots=True)
class _Progress:
    unfinished: dict[int, None] = field(default_factory=dict)  # in the order of their offsets
    next_offset: int = 0


@dataclass(slots=True)
class OffsetTracker:
    """The offsets of all partitions held. Not safe between threads: whoever shares it holds a lock."""

    _partitions: dict[Partition, _Progress] = field(default_factory=dict)
    _committed: dict[Partition, int] = field(default_factory=dict)
    _epochs: dict[Partition, int] = field(default_factory=dict)

    def begin(self, partition: Partition, offset: int) -> Ticket:
        """A record was read. Offsets of a partition come in rising order."""
        progress = self._partitions.setdefault(partition, _Progress())
        progress.unfinished[offset] = None
        progress.next_offset = offset + 1
        return Ticket(partition, offset, self._epochs.get(partition, 0))

    def finish(self, ticket: Ticket) -> None:
        """Its result is with the broker. A ticket of a partition that has been given up meanwhile changes nothing."""
        if self.holds(ticket):
            self._partitions[ticket.partition].unfinished.pop(ticket.offset, None)

    def holds(self, ticket: Ticket) -> bool:
        """Whether the ticket still counts."""
        return ticket.partition in self._partitions and ticket.epoch == self._epochs.get(ticket.partition, 0)

    def committable(self) -> dict[Partition, int]:
        """The next offset to read of each partition in which it has moved since it was last committed."""
        found = {}
        for partition, progress in self._partitions.items():
            at = next(iter(progress.unfinished), progress.next_offset)
            if at > self._committed.get(partition, 0):
                found[partition] = at
        return found

    def committed(self, offsets: dict[Partition, int]) -> None:
        """The broker has these."""
        for partition, offset in offsets.items():
            if partition in self._partitions:
                self._committed[partition] = offset

    def give_up(self, partitions: Iterable[Partition]) -> None:
        """These went to another member: nothing of them is committed any more, and their tickets count no more."""
        for partition in partitions:
            self._partitions.pop(partition, None)
            self._committed.pop(partition, None)
            self._epochs[partition] = self._epochs.get(partition, 0) + 1

    def unfinished(self) -> int:
        """Records being worked on."""
        return sum(len(progress.unfinished) for progress in self._partitions.values())
