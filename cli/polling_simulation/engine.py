"""The production's poll decisions (udfs/poll) in virtual time, over simulated publishers.

Plays the operator's part: a heap of due times, a tick, the global budget as a token bucket in which a feed's poll
costs its weight, served in the order of `Standing`. Decides nothing itself, reads no clock.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from cli.polling_simulation.publishers import Feed, Publisher, item_of, link_of
from cli.polling_simulation.world import DAY_MS, HOUR_MS, START_MS, World
from state_schemas.fetching import FetchRequest, FetchResult
from state_schemas.polling import FeedState
from state_schemas.sources import PollSignal
from udfs.feeds.document import ParsedFeed
from udfs.poll import schedule
from udfs.poll.actions import Action, Ask, Hold
from udfs.poll.policy import PollPolicy
from udfs.poll.websub import CHANCE_BYTES, Callbacks

_DUE, _ANSWER, _SIGNAL, _BUDGET = range(4)

# Polls of mean weight that the bucket holds at least; one second of 320 in a sample of a tenth.
LUMPS = 30

_CALLBACKS, _CHANCE = Callbacks("https://push.example"), bytes(CHANCE_BYTES)

# Columns of Outcome.counts.
POLLS, UNMODIFIED, NEWS, BODY_ONLY, FAILED, RECHECKS = range(6)


@dataclass(slots=True)
class Outcome:
    """What happened to one feed. counts: 2 x 6, before and after the warm-up, columns as above.

    found: when each item was found, ms since the start; -1: never. lost: items that fell out before a poll, bool.
    shadow: a twin of a feed with WebSub that gets no pushes; it counts in the figures without pushes only.
    shortest_ms: the least time between two releases of which the second was scheduled, not wished for.
    """

    feed: Feed
    shadow: bool
    counts: NDArray[np.int64]
    found: NDArray[np.int64]
    lost: NDArray[np.bool_]
    shortest_ms: int = 2**62


@dataclass(slots=True)
class _Slot:
    """A feed in the engine."""

    feed: Feed
    publisher: Publisher
    outcome: Outcome
    cost: float  # of one poll, in polls of the budget
    state: FeedState
    pushed: bool
    request: FetchRequest | None = None
    served_at: int = 0
    seen_items: int = 0
    due_at: int = -1


@dataclass(slots=True)
class Engine:
    """One run. minutes: weighted polls by minute of virtual time. late: weighted polls that the budget held back."""

    feeds: list[Feed]
    policy: PollPolicy
    world: World
    days: int
    warm_up_days: float
    seed: int
    budget_per_s: float
    minutes: NDArray[np.float64] = field(init=False)
    late: float = 0.0
    _heap: list[tuple[int, int, int, int, PollSignal | None]] = field(default_factory=list)
    _sequence: int = 0
    _waiting: dict[int, schedule.Standing] = field(default_factory=dict)
    _tokens: float = 0.0
    _most_tokens: float = 0.0
    _refilled: int = 0
    _slots: list[_Slot] = field(default_factory=list)
    _delays: list[int] = field(default_factory=list)  # from release to answer, drawn in turn
    _faults: list[float] = field(default_factory=list)
    _drawn: int = 0

    def run(self) -> list[Outcome]:
        """Every feed from registration to the last day's end."""
        self.minutes = np.zeros(self.days * 24 * 60)
        end = self.days * DAY_MS
        chance = np.random.default_rng([self.seed, 4])
        spread = np.exp(self.world.answer_spread * chance.standard_normal(1 << 16))
        self._delays = np.minimum(self.world.answer_median_ms * spread, 20_000).astype(int).tolist()
        self._faults = chance.random(1 << 16).tolist()
        self._slots = [slot for feed in self.feeds for slot in self._enter(feed)]
        # Polls of a sample come in lumps of its feeds' weight, which must not look like a rush.
        lump = sum(feed.about.weight for feed in self.feeds) / max(1, len(self.feeds))
        saved = self.budget_per_s * self.policy.budget_saved_s
        self._most_tokens = max(1.0, saved, LUMPS * lump if lump > 1 else 0.0)
        self._tokens = self._most_tokens
        for n, slot in enumerate(self._slots):
            self._schedule(n, 0)
            for at in slot.feed.bursts.tolist():
                until = START_MS + at + self.world.event_signal_ms
                self._push(at, _SIGNAL, n, self._signal(slot, "burst", at, until))
            for at, first, behind in slot.feed.pushes if slot.pushed else ():
                links = tuple(link_of(slot.feed, item) for item in range(first, behind))
                self._push(at, _SIGNAL, n, self._signal(slot, "websub", at, 0, links))
        heap = self._heap
        while heap and heap[0][0] < end:
            at, _, kind, n, signal = heapq.heappop(heap)
            if kind == _DUE:
                self._due(n, at)
            elif kind == _ANSWER:
                self._answer(n, at)
            elif kind == _SIGNAL:
                assert signal is not None
                self._signalled(n, signal, at)
            else:
                self._serve(at)
        return [slot.outcome for slot in self._slots]

    def _enter(self, feed: Feed) -> list[_Slot]:
        state = schedule.after_source(None, feed.source, START_MS)
        assert state is not None
        slots = []
        for shadow in (False, True) if feed.hub else (False,):
            outcome = Outcome(
                feed=feed,
                shadow=shadow,
                counts=np.zeros((2, 6), dtype=np.int64),
                found=np.full(len(feed.visible), -1, dtype=np.int64),
                lost=np.zeros(len(feed.visible), dtype=np.bool_),
            )
            cost = 0.0 if shadow else feed.about.weight
            slots.append(_Slot(feed, Publisher(feed), outcome, cost, state, feed.hub and not shadow))
        return slots

    @staticmethod
    def _signal(slot: _Slot, kind: str, at: int, until_ms: int, links: tuple[str, ...] = ()) -> PollSignal:
        return PollSignal(
            feed_id=slot.feed.source.feed_id,
            signal=kind,  # type: ignore[arg-type]
            signalled_ms=START_MS + at,
            until_ms=until_ms,
            links=links,
        )

    def _push(self, at: int, kind: int, n: int, signal: PollSignal | None = None) -> None:
        self._sequence += 1
        heapq.heappush(self._heap, (at, self._sequence, kind, n, signal))

    def _schedule(self, n: int, not_before: int) -> None:
        """Put the feed's due time on the heap, at its shard's next tick; only the latest such entry counts."""
        slot = self._slots[n]
        tick = self.policy.tick_ms
        place = n * 37 % tick
        due = max(slot.state.next_poll_ms - START_MS, not_before)
        at = -(-(due - place) // tick) * tick + place
        if at != slot.due_at:
            slot.due_at = at
            self._push(at, _DUE, n)

    def _due(self, n: int, at: int) -> None:
        slot = self._slots[n]
        if at != slot.due_at or n in self._waiting:
            return
        self._refill(at)
        if self._waiting or self._tokens <= 0:
            if not self._waiting:
                self._push(at + self.policy.tick_ms, _BUDGET, -1)
            self._waiting[n] = schedule.standing(slot.state, START_MS + at)
            return
        self._release(n, at)

    def _serve(self, at: int) -> None:
        """Release those who wait, by standing, as far as the budget reaches."""
        self._refill(at)
        now_ms = START_MS + at
        if self._tokens > 0:
            ordered = sorted(self._waiting, key=lambda n: self._waiting[n].order(now_ms))
            for n in ordered:
                if self._tokens <= 0:
                    break
                del self._waiting[n]
                self.late += self._slots[n].cost
                self._release(n, at)
        if self._waiting:
            self._push(at + self.policy.tick_ms, _BUDGET, -1)

    def _refill(self, at: int) -> None:
        self._tokens = min(self._tokens + (at - self._refilled) / 1000 * self.budget_per_s, self._most_tokens)
        self._refilled = at

    def _release(self, n: int, at: int) -> None:
        slot = self._slots[n]
        before = slot.state.released_ms
        slot.state, ask = schedule.release(slot.state, START_MS + at, self.policy)
        slot.due_at = -1
        if before and not ask.priority:
            slot.outcome.shortest_ms = min(slot.outcome.shortest_ms, START_MS + at - before)
        self._tokens -= slot.cost
        self.minutes[at // 60_000] += slot.cost
        slot.request, slot.served_at = ask.request, at
        self._drawn = (self._drawn + 1) & 0xFFFF
        takes = self._delays[self._drawn]
        if self._faults[self._drawn] < self.world.timed_out:
            takes = self.world.time_out_ms
        self._push(at + takes, _ANSWER, n)

    def _answer(self, n: int, at: int) -> None:
        slot = self._slots[n]
        request = slot.request
        assert request is not None
        phase = int(slot.served_at >= self.warm_up_days * DAY_MS)
        counts = slot.outcome.counts[phase]
        counts[POLLS] += 1
        document: ParsedFeed | None = None
        digest = 0
        items = -1
        if slot.publisher.is_out(at):
            result = self._failure(request, at, "status_503", 503)
            counts[FAILED] += 1
        elif self._luck() < self.world.failed:
            result = self._failure(request, at, "status_500", 500)
            counts[FAILED] += 1
        elif at - slot.served_at >= self.world.time_out_ms:
            result = self._failure(request, at, "timeout", 0)
            counts[FAILED] += 1
        else:
            result, document, digest, items = slot.publisher.answer(request, at)
            if document is not None and digest == slot.state.body_hash:
                document = None  # as the operator does
        slot.state, actions = schedule.after_result(
            slot.state, result, document, START_MS + at, self.policy, body=digest, callbacks=_CALLBACKS, chance=_CHANCE
        )
        counts[RECHECKS] += self._act(n, slot, actions, at)
        if result.outcome == "not_modified":
            counts[UNMODIFIED] += 1
        elif result.outcome == "fetched":
            counts[NEWS if items > slot.seen_items else BODY_ONLY] += 1
        if document is not None:
            oldest = items - slot.feed.length
            if oldest > slot.seen_items > 0:
                missed = slot.outcome.found[slot.seen_items : oldest] < 0
                slot.outcome.lost[slot.seen_items : oldest] = missed
            slot.seen_items = items
        self._schedule(n, at)

    def _act(self, n: int, slot: _Slot, actions: tuple[Action, ...], at: int) -> int:
        """Note which items were found, and answer for the hub; how many pages were asked for again."""
        again = 0
        for action in actions:
            if not isinstance(action, Ask | Hold):
                continue
            request = action.request
            if request.kind == "page":
                item = item_of(request)
                if slot.outcome.found[item] < 0:
                    slot.outcome.found[item] = at
                else:
                    again += 1
            elif request.kind == "hub" and request.form.get("hub.mode") == "subscribe" and slot.pushed:
                asked = max(at, action.due_ms - START_MS) if isinstance(action, Hold) else at
                granted = asked + self.world.push_median_ms
                until = START_MS + granted + self.world.lease_ms
                self._push(granted, _SIGNAL, n, self._signal(slot, "lease", granted, until))
        return again

    def _luck(self) -> float:
        self._drawn = (self._drawn + 1) & 0xFFFF
        return self._faults[self._drawn]

    @staticmethod
    def _failure(request: FetchRequest, at: int, reason: str, status: int) -> FetchResult:
        return FetchResult(
            request_id=request.request_id,
            feed_id=request.feed_id,
            kind="feed",
            url=request.url,
            outcome="failed",
            reason=reason,
            status=status,
            fetched_ms=START_MS + at,
        )

    def _signalled(self, n: int, signal: PollSignal, at: int) -> None:
        slot = self._slots[n]
        if slot.state.subscription is not None:
            signal = msgspec.structs.replace(signal, token=slot.state.subscription.token)
        slot.state, actions = schedule.after_signal(slot.state, signal, START_MS + at, self.policy)
        self._act(n, slot, actions, at)
        if slot.state.answered:
            if n in self._waiting:
                self._waiting[n] = schedule.standing(slot.state, START_MS + at)
            else:
                self._schedule(n, at)


def with_values(policy: PollPolicy, changes: dict[str, float]) -> PollPolicy:
    """The policy with some fields replaced, each in its field's own type. Raises KeyError on an unknown field."""
    typed = {}
    for name, value in changes.items():
        if name not in PollPolicy.__dataclass_fields__:
            raise KeyError(name)
        typed[name] = type(getattr(policy, name))(value)
    return replace(policy, **typed)


__all__ = ["HOUR_MS", "Engine", "Outcome", "with_values"]
