"""The feeds of one shard in memory: rows by feed id, a heap of due times, and its share of the global budget.

A mirror of what keyed state holds; it decides who is next, never what is asked. No clock, no I/O, no Flink.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from state_schemas.codec import dump_state, load_state
from state_schemas.polling import FeedState
from udfs.poll.policy import PollPolicy
from udfs.poll.schedule import Standing, after_clock_jump, standing

# Entries of the heap that are no longer valid, before they are swept out, beside one for each row.
_SPARE = 64


class Shard:
    """Rows stay packed: 200,000 of them unpacked would take gigabytes."""

    def __init__(self, rows: Iterable[tuple[str, bytes]], held: Iterable[str], now_ms: int, policy: PollPolicy) -> None:
        """rows: feed id and packed row. held: keys of held pages, which begin with their due time."""
        self._policy = policy
        self._rows: dict[str, bytes] = {}
        self._due_ms: dict[str, int] = {}  # the only valid entry of the heap for a feed
        self._heap: list[tuple[int, str]] = []
        self._waiting: dict[str, Standing] = {}  # due, and the budget did not reach
        self._held = list(held)
        self._leapt: list[str] = []  # held until an instant that only a clock ahead of this one could set
        self._part_held(now_ms)
        self._saved = self._most_saved()
        self._spent_until_ms = 0
        self._latest_ms = now_ms
        for feed_id, packed in rows:
            state = load_state(FeedState, packed)
            assert state is not None
            if state.released_ms > now_ms + policy.clock_jump_ms:
                self._latest_ms = state.released_ms  # the clock jumped back while nothing ran
            self._keep(feed_id, state, packed)

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, feed_id: str) -> FeedState | None:
        """The row, or None for an unknown feed."""
        return load_state(FeedState, self._rows.get(feed_id))

    def put(self, state: FeedState) -> bytes:
        """Keep a row; returns it packed, for the keyed state."""
        packed = dump_state(state)
        self._keep(state.source.feed_id, state, packed)
        return packed

    def _keep(self, feed_id: str, state: FeedState, packed: bytes) -> None:
        self._rows[feed_id] = packed
        waited = self._waiting.pop(feed_id, None) is not None
        if waited or self._due_ms.get(feed_id) != state.next_poll_ms:
            self._due_ms[feed_id] = state.next_poll_ms
            heapq.heappush(self._heap, (state.next_poll_ms, feed_id))
            if len(self._heap) > 2 * len(self._rows) + _SPARE:
                # An answer moves a due time nearer and leaves the old entry behind, which would stay for an hour.
                self._heap = [(due_ms, name) for name, due_ms in self._due_ms.items() if name not in self._waiting]
                heapq.heapify(self._heap)

    def remove(self, feed_id: str) -> bool:
        """Forget a feed; False where there was none."""
        self._due_ms.pop(feed_id, None)
        self._waiting.pop(feed_id, None)
        return self._rows.pop(feed_id, None) is not None

    def after_clock_jump(self, now_ms: int) -> list[FeedState]:
        """Whether the clock fell behind what it was: the rows as they must then be, for the caller to put back."""
        latest, self._latest_ms = self._latest_ms, now_ms
        if now_ms >= latest - self._policy.clock_jump_ms:
            self._latest_ms = max(now_ms, latest)
            return []
        self._spent_until_ms = now_ms
        self._part_held(now_ms)
        rows = []
        for feed_id in self._rows:
            state = self.get(feed_id)
            assert state is not None
            steadied = after_clock_jump(state, now_ms, self._policy)
            if steadied != state:
                rows.append(steadied)
        return rows

    def take_due(self, now_ms: int) -> list[FeedState]:
        """The rows to release now: all that are due, or as many as the budget allows, by standing.

        Whoever is taken must be put back with another due time, else it is due again at once.
        """
        while self._heap and self._heap[0][0] <= now_ms:
            due_ms, feed_id = heapq.heappop(self._heap)
            if self._due_ms.get(feed_id) == due_ms and feed_id not in self._waiting:
                state = self.get(feed_id)
                assert state is not None
                self._waiting[feed_id] = standing(state, now_ms)
        allowed = self._allowed(now_ms)
        if len(self._waiting) <= allowed:
            taken = list(self._waiting)
        else:
            taken = heapq.nsmallest(allowed, self._waiting, key=lambda feed_id: self._waiting[feed_id].order(now_ms))
        self._saved -= len(taken)
        rows = []
        for feed_id in taken:
            del self._waiting[feed_id]
            state = self.get(feed_id)
            assert state is not None
            rows.append(state)
        return rows

    @property
    def waiting(self) -> int:
        """Feeds that are due and beyond the budget."""
        return len(self._waiting)

    def _most_saved(self) -> float:
        share = self._policy.budget_per_s / self._policy.shards
        return max(1.0, share * self._policy.budget_saved_s)

    def _allowed(self, now_ms: int) -> int:
        if self._spent_until_ms:
            earned = max(0, now_ms - self._spent_until_ms) / 1000 * self._policy.budget_per_s / self._policy.shards
            self._saved = min(self._saved + earned, self._most_saved())
        self._spent_until_ms = max(now_ms, self._spent_until_ms)
        return int(self._saved)

    def hold(self, key: str) -> None:
        """Note a held page by its key."""
        heapq.heappush(self._held, key)

    def _part_held(self, now_ms: int) -> None:
        last_ms = now_ms + self._policy.page_patience_ms
        self._leapt += [key for key in self._held if held_until_ms(key) > last_ms]
        self._held = [key for key in self._held if held_until_ms(key) <= last_ms]
        heapq.heapify(self._held)

    def take_held(self, now_ms: int) -> list[str]:
        """The keys of held pages that are due, oldest first; they are no longer held."""
        taken, self._leapt = self._leapt, []
        while self._held and held_until_ms(self._held[0]) <= now_ms:
            taken.append(heapq.heappop(self._held))
        return taken


def held_key(due_ms: int, feed_id: str, request_id: str) -> str:
    """The key of a held page: sorts by its due time (ms UTC, below year 5138)."""
    return f"{due_ms:014d}/{feed_id}/{request_id}"


def held_until_ms(key: str) -> int:
    """The due time in a held page's key."""
    return int(key[:14])


def held_feed(key: str) -> str:
    """The feed id in a held page's key."""
    return key.split("/", 2)[1]
