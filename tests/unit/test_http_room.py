"""Room for bodies: never more of a size than there are places, nobody waits in a circle, all is given back."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.room import RoomPolicy, Rooms

POLICY = RoomPolicy(tiers=((10, 3), (100, 2)))


def test_small_bodies_never_wait() -> None:
    async def main() -> None:
        rooms = Rooms(POLICY)
        for _ in range(50):
            await asyncio.wait_for(rooms.holding().grow(10), 1)

    asyncio.run(main())


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(1, 1_000), min_size=1, max_size=5), max_size=30))
def test_no_more_large_bodies_than_places_and_every_one_comes_to_its_turn(bodies: list[list[int]]) -> None:
    """Bodies: the sizes each grows through."""
    held = [0, 0]
    done = 0

    async def one(rooms: Rooms, sizes: list[int]) -> None:
        nonlocal done
        size = 0
        with rooms.holding() as room:
            for step in sizes:
                await room.grow(size + step)
                for tier, (above, places) in enumerate(POLICY.tiers):
                    if size <= above < size + step:
                        held[tier] += 1
                    assert held[tier] <= places
                size += step
                await asyncio.sleep(0)
            for tier, (above, _) in enumerate(POLICY.tiers):
                held[tier] -= size > above
        done += 1

    async def main() -> None:
        rooms = Rooms(POLICY)
        await asyncio.wait_for(asyncio.gather(*(one(rooms, sizes) for sizes in bodies)), 10)

    asyncio.run(main())
    assert done == len(bodies)
    assert held == [0, 0]


def test_what_is_given_back_early_is_given_back_once() -> None:
    async def main() -> None:
        rooms = Rooms(RoomPolicy(tiers=((10, 1),)))
        with rooms.holding() as room:
            await room.grow(11)
            room.give_back()
            other = rooms.holding()
            await asyncio.wait_for(other.grow(11), 1)
        third = asyncio.create_task(rooms.holding().grow(11))
        await asyncio.sleep(0.01)
        assert not third.done()
        other.give_back()
        await third

    asyncio.run(main())
