"""Whatever happens between a shard and its fetcher, each feed's schedule comes right again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from state_schemas.codec import dump_state
from state_schemas.fetching import FetchRequest, FetchResult
from state_schemas.ids import feed_id
from state_schemas.polling import NEVER_MS, FeedState
from state_schemas.sources import Origin, PollSignal, Source
from udfs.feeds.document import ParsedFeed
from udfs.feeds.reader import parse_feed
from udfs.poll.actions import Ask
from udfs.poll.policy import DAY_MS, MINUTE_MS, PollPolicy
from udfs.poll.schedule import after_result, after_signal, after_source, release
from udfs.poll.shard import Shard

NOW = 1_796_034_600_000
POLICY = PollPolicy(audit_authoritative=0, audit_tail=0, budget_per_s=1e6)
FEEDS = [
    Source(
        feed_id=feed_id(f"https://n{number}.example/feed"),
        url=f"https://n{number}.example/feed",
        origin=Origin(publisher=f"n{number}"),
        tier="authoritative" if number % 2 else "tail",
    )
    for number in range(4)
]


@dataclass
class Publisher:
    """What a feed lists: its ten newest items."""

    newest: int = 10
    asked_for: list[str] = field(default_factory=list)

    def document(self) -> ParsedFeed:
        items = "".join(
            f"<item><guid>g{n}</guid><link>https://n.example/{n}</link></item>"
            for n in range(self.newest, self.newest - 10, -1)
        )
        return parse_feed(f"<rss><channel>{items}</channel></rss>".encode(), "https://n.example/")


class Polling(RuleBasedStateMachine):
    """One shard, four feeds, a fetcher that answers, loses, delays and repeats; the clock only goes on."""

    @initialize()
    def begin(self) -> None:
        self.now_ms = NOW
        self.shard = Shard((), (), NOW, POLICY)
        self.publishers = {source.feed_id: Publisher() for source in FEEDS}
        self.out: list[FetchRequest] = []
        self.answers: list[FetchResult] = []
        self.released: dict[str, list[int]] = {}
        self.pushed: set[str] = set()

    def tick(self) -> None:
        for state in self.shard.take_due(self.now_ms):
            released, ask = release(state, self.now_ms, POLICY)
            self.shard.put(released)
            name = state.source.feed_id
            before = self.released.setdefault(name, [])
            if before and not ask.priority and name not in self.pushed:
                assert self.now_ms - before[-1] >= POLICY.floor_ms(state.source.tier)
            self.pushed.discard(name)
            before.append(self.now_ms)
            self.out.append(ask.request)

    def give(self, result: FetchResult) -> None:
        state = self.shard.get(result.feed_id)
        if state is None:
            return
        document = self.publishers[result.feed_id].document() if result.outcome == "fetched" else None
        after, actions = after_result(state, result, document, self.now_ms, POLICY)
        self.shard.put(after)
        pages = [action.request.url for action in actions if isinstance(action, Ask)]
        self.publishers[result.feed_id].asked_for += pages

    def answer(self, request: FetchRequest, outcome: str, **more: Any) -> None:
        result = FetchResult(
            request_id=request.request_id,
            feed_id=request.feed_id,
            kind="feed",
            url=request.url,
            outcome=outcome,  # type: ignore[arg-type]
            fetched_ms=self.now_ms,
            **more,
        )
        self.answers.append(result)
        self.give(result)

    @rule(number=st.integers(0, 3))
    def register(self, number: int) -> None:
        source = FEEDS[number]
        known = self.shard.get(source.feed_id)
        state = after_source(known, replace(source, registered_ms=self.now_ms), self.now_ms)
        assert state is not None
        self.pushed.add(source.feed_id)  # whoever registers a feed wants it asked
        if known is None:
            self.publishers[source.feed_id].asked_for = []
        self.shard.put(state)

    @rule(number=st.integers(0, 3))
    def remove(self, number: int) -> None:
        self.shard.remove(FEEDS[number].feed_id)
        self.released.pop(FEEDS[number].feed_id, None)

    @rule(ms=st.integers(1, 90 * MINUTE_MS), outcome=st.sampled_from(["fetched", "not_modified", "failed"]))
    def live(self, ms: int, outcome: str) -> None:
        """Time passes, and what was asked is answered at its end."""
        self.now_ms += ms
        self.tick()
        for request in self.out:
            self.answer(request, outcome)
        self.out = []

    @rule(ms=st.integers(1, 90 * MINUTE_MS))
    def lose(self, ms: int) -> None:
        self.now_ms += ms
        self.tick()
        self.out = []

    @rule()
    def fetcher_down_for_ten_minutes(self) -> None:
        for _ in range(10):
            self.now_ms += MINUTE_MS
            self.tick()
        for request in self.out:
            self.answer(request, "deferred", not_before_ms=self.now_ms + MINUTE_MS)
        self.out = []

    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        if self.answers:
            before = self.shard.get(self.answers[-1].feed_id)
            self.give(data.draw(st.sampled_from(self.answers)))
            after = self.shard.get(self.answers[-1].feed_id)
            if before is not None and after is not None:
                assert after.next_poll_ms == before.next_poll_ms

    @rule(number=st.integers(0, 3), signal=st.sampled_from(["ping", "burst"]))
    def signal(self, number: int, signal: str) -> None:
        name = FEEDS[number].feed_id
        state = self.shard.get(name)
        if state is not None:
            wish = PollSignal(feed_id=name, signal=signal, signalled_ms=self.now_ms)  # type: ignore[arg-type]
            self.pushed.add(name)
            self.shard.put(after_signal(state, wish, self.now_ms, POLICY)[0])

    @rule(number=st.integers(0, 3), items=st.integers(1, 12))
    def publish(self, number: int, items: int) -> None:
        self.publishers[FEEDS[number].feed_id].newest += items

    @rule()
    def restart(self) -> None:
        """A new worker over what keyed state holds."""
        rows = [(name, packed) for name in self.publishers if (packed := self.packed(name)) is not None]
        self.shard = Shard(rows, (), self.now_ms, POLICY)

    def packed(self, name: str) -> bytes | None:
        state = self.shard.get(name)
        return None if state is None else dump_state(state)

    def rows(self) -> list[FeedState]:
        return [state for name in self.publishers if (state := self.shard.get(name)) is not None]

    @invariant()
    def every_feed_has_its_next_poll(self) -> None:
        for state in self.rows():
            assert state.next_poll_ms != NEVER_MS
            assert state.next_poll_ms <= self.now_ms + DAY_MS
            assert state.next_poll_ms > NOW - 1

    @invariant()
    def no_page_is_asked_for_twice(self) -> None:
        for publisher in self.publishers.values():
            assert len(publisher.asked_for) == len(set(publisher.asked_for))

    def teardown(self) -> None:
        """Once the fetcher answers again, each feed is asked within its ceiling and its newest items are found."""
        if not hasattr(self, "shard"):
            return
        self.now_ms += DAY_MS
        for _ in range(3 * 62):
            self.now_ms += MINUTE_MS
            self.tick()
            for request in self.out:
                self.answer(request, "fetched")
            self.out = []
        for state in self.rows():
            assert state.health == "healthy"
            assert self.now_ms < state.next_poll_ms <= self.now_ms + POLICY.ceiling_ms
            publisher = self.publishers[state.source.feed_id]
            assert f"https://n.example/{publisher.newest}" in publisher.asked_for


TestPolling = Polling.TestCase
TestPolling.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
