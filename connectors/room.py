"""Room for bodies in memory: small ones have it, larger ones wait for a place, which is given back with the body.

Decides who waits, never how large a body may be. Whoever holds a place of one tier waits at most for the next, so
nobody waits in a circle.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RoomPolicy:
    """tiers: (bytes, places), rising: so many bodies above so many bytes may be held at once, those of the next tier
    counted too."""

    # With 512 requests under way and bodies of 5 MB at most: 128 + 64 + 80 MB where every host is hostile.
    tiers: tuple[tuple[int, int], ...] = ((256 * 1024, 80), (1024 * 1024, 16))


class Rooms:
    """All places. Used inside one event loop."""

    def __init__(self, policy: RoomPolicy) -> None:
        self._tiers = tuple((above, asyncio.Semaphore(places)) for above, places in policy.tiers)

    def holding(self) -> Room:
        """Room for one body; as a context it is given back at the end."""
        return Room(self._tiers)


class Room:
    """What one body holds."""

    __slots__ = ("_held", "_tiers", "enough", "waiting")

    def __init__(self, tiers: tuple[tuple[int, asyncio.Semaphore], ...]) -> None:
        self._tiers = tiers
        self._held = 0
        self.enough = self._next()  # bytes: up to here the body may grow without asking
        self.waiting = False  # for a place; stays so where the wait was given up

    def _next(self) -> int:
        return self._tiers[self._held][0] if self._held < len(self._tiers) else 2**62

    async def grow(self, size: int) -> None:
        """Wait until a body of so many bytes has its places."""
        while size > self.enough:
            self.waiting = True
            await self._tiers[self._held][1].acquire()
            self.waiting = False
            self._held += 1
            self.enough = self._next()

    def give_back(self) -> None:
        """The body is gone."""
        for _, places in self._tiers[: self._held]:
            places.release()
        self._held = 0
        self.enough = self._next()

    def __enter__(self) -> Room:
        return self

    def __exit__(self, *_: object) -> None:
        self.give_back()
