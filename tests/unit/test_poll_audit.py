"""Audited feeds: asked every minute, while it is known when their schedule would have asked."""

from __future__ import annotations

from msgspec.structs import replace

from state_schemas.fetching import FetchResult
from state_schemas.ids import feed_id
from state_schemas.polling import FeedState
from state_schemas.sources import Origin, PollSignal, Source
from udfs.feeds.document import ParsedFeed
from udfs.feeds.reader import parse_feed
from udfs.poll.actions import Ask, Found
from udfs.poll.audit import is_audited
from udfs.poll.policy import MINUTE_MS, PollPolicy
from udfs.poll.schedule import after_result, after_signal, after_source, feed_request_id, release

NOW = 1_796_034_600_000
URL = "https://n.example/feed"
EVERY = PollPolicy(jitter=0.0, audit_authoritative=1, audit_tail=1, soon_share=1.0)
NEVER = PollPolicy(jitter=0.0, audit_authoritative=0, audit_tail=0, soon_share=1.0)


def feed(tier: str = "tail") -> FeedState:
    state = after_source(None, Source(feed_id=feed_id(URL), url=URL, origin=Origin(publisher="n"), tier=tier), NOW)  # type: ignore[arg-type]
    assert state is not None
    return state


def document(*numbers: int) -> ParsedFeed:
    items = "".join(f"<item><guid>g{n}</guid><link>https://n.example/{n}</link></item>" for n in numbers)
    return parse_feed(f"<rss><channel>{items}</channel></rss>".encode(), URL)


def poll(state: FeedState, *numbers: int, policy: PollPolicy = EVERY) -> tuple[FeedState, Found, list[str]]:
    """Ask when due; a document with these items, or 304 for none."""
    at_ms = state.next_poll_ms
    state, ask = release(state, at_ms, policy)
    assert ask.request.floor_ms < MINUTE_MS
    result = FetchResult(
        request_id=feed_request_id(state),
        feed_id=state.source.feed_id,
        kind="feed",
        url=URL,
        outcome="fetched" if numbers else "not_modified",
        fetched_ms=at_ms,
    )
    state, actions = after_result(state, result, document(*numbers) if numbers else None, at_ms, policy)
    (found,) = [action for action in actions if isinstance(action, Found)]
    return state, found, [action.request.url for action in actions if isinstance(action, Ask)]


def test_the_same_few_feeds_are_audited_more_of_the_authoritative() -> None:
    policy = PollPolicy()
    sources = [
        Source(feed_id=feed_id(f"https://n{number}.example/"), url=URL, origin=Origin(publisher="n"))
        for number in range(20_000)
    ]
    tail = sum(is_audited(source, policy) for source in sources)
    authoritative = sum(is_audited(replace(source, tier="authoritative"), policy) for source in sources)
    assert 5 < tail < 45
    assert 650 < authoritative < 950
    assert not any(is_audited(source, NEVER) for source in sources)


def test_an_audited_feed_is_asked_every_minute_and_its_news_at_once() -> None:
    state, _, _ = poll(feed(), 1)
    for _ in range(3):
        before = state.next_poll_ms
        state, _, _ = poll(state)
        assert state.next_poll_ms == before + MINUTE_MS
    _, found, pages = poll(state, 2, 1)
    assert pages == ["https://n.example/2"]
    assert (found.new, found.delays_ms) == (1, ())


def test_the_delay_is_what_the_schedule_would_have_taken() -> None:
    state, _, _ = poll(feed(), 1)
    due = state.audit_due_ms
    assert due - NOW > 4 * MINUTE_MS
    state, _, _ = poll(state, 1)
    state, found, _ = poll(state, 2, 1)
    seen_ms = NOW + 2 * MINUTE_MS
    delays: tuple[int, ...] = found.audited_ms
    while not delays:
        state, found, _ = poll(state)
        delays = found.audited_ms
    assert delays == (due - (seen_ms - MINUTE_MS // 2),)
    assert state.audit_found == b""
    assert state.audit_due_ms > due


def test_a_push_is_the_schedules_own_poll() -> None:
    state, _, _ = poll(feed(), 1)
    state, _, _ = poll(state)
    at_ms = state.next_poll_ms
    ping = PollSignal(feed_id=state.source.feed_id, signal="ping", signalled_ms=at_ms - 1)
    state, _ = after_signal(state, ping, at_ms - 1, EVERY)
    state, found, _ = poll(state, 2, 1)
    assert found.pushed
    assert found.audited_ms == (MINUTE_MS // 2,)


def test_what_waits_for_a_schedule_is_bounded() -> None:
    state, _, _ = poll(feed(), 1)
    state, _, _ = poll(state, *range(1, 900))
    assert len(state.audit_found) == 8 * EVERY.audit_remembered


def test_the_others_keep_their_schedule() -> None:
    state, found, _ = poll(feed(), 1, policy=EVERY)
    plain = feed()
    plain, _ = release(plain, NOW, NEVER)
    assert plain.audit_due_ms == 0
    assert found.audited_ms == ()
    assert state.audit_due_ms > 0
