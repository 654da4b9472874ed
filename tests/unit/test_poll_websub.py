"""A feed's subscription at its hub, from the link in the document to the end of the lease."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from state_schemas.codec import dump_state, load_state
from state_schemas.fetching import FetchRequest, FetchResult
from state_schemas.ids import feed_id
from state_schemas.polling import FeedState, Subscribed
from state_schemas.sources import Origin, PollSignal, Source, Subscription
from udfs.feeds.document import ParsedFeed
from udfs.feeds.reader import parse_feed
from udfs.poll.actions import Action, Ask, Found, Hold, Subscribe
from udfs.poll.policy import DAY_MS, HOUR_MS, MINUTE_MS, PollPolicy
from udfs.poll.schedule import after_result, after_signal, after_source, feed_request_id, release
from udfs.poll.websub import CHANCE_BYTES, Callbacks, hub_and_topic, leave

NOW = 1_796_034_600_000
POLICY = PollPolicy(jitter=0.0, audit_authoritative=0, audit_tail=0)
URL = "https://n.example/feed"
HUB, OTHER = "https://hub.example/", "https://other-hub.example/"
SOURCE = Source(feed_id=feed_id(URL), url=URL, origin=Origin(publisher="n"), tier="authoritative")
CALLBACKS = Callbacks("https://push.broadsheet.example/")
CHANCE = bytes(range(CHANCE_BYTES))
TOKEN, SECRET = CHANCE[:16].hex(), CHANCE[16:].hex()


def new() -> FeedState:
    state = after_source(None, SOURCE, NOW)
    assert state is not None
    return state


def document(*numbers: int, hub: str = HUB, topic: str = "") -> ParsedFeed:
    links = "".join(
        f'<atom:link rel="{rel}" href="{href}" xmlns:atom="http://www.w3.org/2005/Atom"/>'
        for rel, href in (("hub", hub), ("self", topic))
        if href
    )
    items = "".join(
        f"<item><guid isPermaLink='false'>g{n}</guid><title>Item {n}</title><link>https://n.example/{n}</link></item>"
        for n in numbers or (1,)
    )
    return parse_feed(f"<rss><channel>{links}{items}</channel></rss>".encode(), URL)


def poll(
    state: FeedState,
    what: ParsedFeed | None = None,
    at_ms: int | None = None,
    *,
    callbacks: Callbacks = CALLBACKS,
    chance: bytes = CHANCE,
    **more: Any,
) -> tuple[FeedState, list[Action]]:
    """A poll when it is due; 304 without a document. What is only counted is left out."""
    at_ms = state.next_poll_ms if at_ms is None else at_ms
    state, _ = release(state, at_ms, POLICY)
    result = FetchResult(
        request_id=feed_request_id(state),
        feed_id=SOURCE.feed_id,
        kind="feed",
        url=URL,
        outcome="fetched" if what else "not_modified",
        fetched_ms=at_ms,
        **more,
    )
    state, actions = after_result(state, result, what, at_ms, POLICY, callbacks=callbacks, chance=chance)
    return state, [action for action in actions if not isinstance(action, Found)]


def told(actions: list[Action]) -> list[Subscription]:
    return [action.subscription for action in actions if isinstance(action, Subscribe)]


def posts(actions: list[Action]) -> list[FetchRequest]:
    return [action.request for action in actions if isinstance(action, (Ask, Hold)) and action.request.kind == "hub"]


def word(state: FeedState, signal: str, at_ms: int, token: str = TOKEN, **more: Any) -> tuple[FeedState, list[Action]]:
    wish = PollSignal(feed_id=SOURCE.feed_id, signal=signal, signalled_ms=at_ms, token=token, **more)  # type: ignore[arg-type]
    state, actions = after_signal(state, wish, at_ms, POLICY)
    return state, list(actions)


def subscribed(lease_ms: int = 9 * DAY_MS) -> FeedState:
    state, _ = poll(new(), document())
    state, _ = word(state, "lease", NOW + 20_000, until_ms=NOW + lease_ms)
    assert state.subscription is not None
    assert state.subscription.state == "verified"
    return state


def answered(request: FetchRequest, outcome: str, **more: Any) -> FetchResult:
    return FetchResult(
        request_id=request.request_id,
        feed_id=SOURCE.feed_id,
        kind="hub",
        url=request.url,
        outcome=outcome,  # type: ignore[arg-type]
        fetched_ms=NOW,
        **more,
    )


def test_a_feed_that_names_a_hub_is_subscribed_to_and_push_knows_before_the_hub_is_asked() -> None:
    state, actions = poll(new(), document(topic="https://n.example/topic"))
    (record,) = told(actions)
    assert (record.state, record.hub, record.topic) == ("pending", HUB, "https://n.example/topic")
    assert (record.callback_token, record.secret) == (TOKEN, SECRET)
    (hold,) = [action for action in actions if isinstance(action, Hold)]
    assert hold.due_ms == NOW + POLICY.subscribe_after_ms
    request = hold.request
    assert (request.kind, request.url, request.host) == ("hub", HUB, "hub.example")
    assert request.form == {
        "hub.mode": "subscribe",
        "hub.topic": "https://n.example/topic",
        "hub.callback": f"https://push.broadsheet.example/websub/{TOKEN}",
        "hub.secret": SECRET,
        "hub.lease_seconds": str(POLICY.lease_wish_ms // 1000),
    }
    assert len(SECRET) < 200
    assert load_state(FeedState, dump_state(state)) == state
    _, actions = poll(state, at_ms=NOW + MINUTE_MS)
    assert actions == []


def test_the_topic_is_the_feeds_own_address_where_it_names_none_and_a_link_header_counts() -> None:
    (record,) = told(poll(new(), document())[1])
    assert record.topic == URL
    header = f'<{HUB}>; rel="hub", </t>; rel=self'
    (record,) = told(poll(new(), document(hub=""), link_header=header, final_url=URL)[1])
    assert (record.hub, record.topic) == (HUB, "https://n.example/t")


@pytest.mark.parametrize(
    ("header", "found"),
    [
        pytest.param('<https://h.example/>; rel="hub"', ("https://h.example/", ""), id="quoted"),
        pytest.param("<h>;rel=hub,<s>;rel=self", ("https://n.example/h", "https://n.example/s"), id="relative"),
        pytest.param('<https://h.example/>; title="a, b"; rel="alternate hub"', ("", ""), id="a comma in a title"),
        pytest.param(
            '<https://h.example/>; type=x; rel="other HUB"', ("https://h.example/", ""), id="several relations"
        ),
        pytest.param('<javascript:x>; rel="hub"', ("", ""), id="another scheme"),
        pytest.param("<" * 9_000, ("", ""), id="nonsense"),
        pytest.param("<http://[>; rel=hub", ("", ""), id="no address"),
    ],
)
def test_hub_and_self_of_link_headers(header: str, found: tuple[str, str]) -> None:
    assert hub_and_topic(header, "https://n.example/feed") == found


def test_without_a_public_address_no_hub_is_asked() -> None:
    state, actions = poll(new(), document(), callbacks=Callbacks())
    assert (told(actions), posts(actions), state.subscription) == ([], [], None)


def test_a_guessable_subscription_is_our_bug() -> None:
    with pytest.raises(ValueError, match="chance"):
        poll(new(), document(), chance=b"short")


def test_a_lease_makes_the_backstop_and_is_renewed_at_two_thirds() -> None:
    state = subscribed(lease_ms=9 * DAY_MS)
    state, actions = poll(state)
    assert posts(actions) == []
    assert state.next_poll_ms == state.released_ms + POLICY.leased_ms
    (renewal,) = posts(poll(state, at_ms=NOW + 6 * DAY_MS + MINUTE_MS)[1])
    assert (renewal.form["hub.mode"], renewal.form["hub.callback"][-32:]) == ("subscribe", TOKEN)
    state, _ = poll(state, at_ms=NOW + 6 * DAY_MS + MINUTE_MS)
    assert state.next_poll_ms == state.released_ms + POLICY.leased_ms
    assert posts(poll(state)[1]) == []
    state, actions = word(state, "lease", NOW + 6 * DAY_MS + 2 * MINUTE_MS, until_ms=NOW + 15 * DAY_MS)
    assert (state.lease_until_ms, told(actions)[0].state) == (NOW + 15 * DAY_MS, "verified")


def test_a_lease_is_believed_for_fourteen_days_at_most() -> None:
    assert subscribed(lease_ms=900 * DAY_MS).lease_until_ms == NOW + 20_000 + 14 * DAY_MS


def test_a_lease_of_a_second_is_kept_for_an_hour() -> None:
    assert subscribed(lease_ms=1_000).lease_until_ms == NOW + 20_000 + HOUR_MS


def test_a_renewal_that_fails_is_tried_again_and_a_lapsed_lease_goes_back_to_the_schedule() -> None:
    state = subscribed(lease_ms=3 * DAY_MS)
    tries = 0
    at_ms = NOW + 2 * DAY_MS
    while at_ms < NOW + 3 * DAY_MS:
        state, actions = poll(state, at_ms=at_ms)
        for request in posts(actions):
            tries += 1
            state, _ = after_result(state, answered(request, "failed", status=500), None, at_ms, POLICY)
        at_ms += 15 * MINUTE_MS
    assert 10 < tries < 30
    state, actions = poll(state, at_ms=NOW + 3 * DAY_MS + 1)
    assert [record.state for record in told(actions)] == ["lapsed"]
    assert state.next_poll_ms - state.released_ms != POLICY.leased_ms
    state, actions = poll(state)
    assert [record.state for record in told(actions)] == ["pending"]


@pytest.mark.parametrize("outcome", ["failed", "refused", "gone"])
def test_a_hub_that_refuses_is_asked_more_and_more_rarely(outcome: str) -> None:
    state, actions = poll(new(), document())
    waits = []
    for _ in range(10):
        (request,) = posts(actions)
        asked_ms = state.released_ms
        state, told_of = after_result(state, answered(request, outcome, status=500), None, asked_ms, POLICY)
        assert [record.state for record in told(list(told_of))] == ["lapsed"]
        waits.append(state.hub_retry_ms - asked_ms)
        assert told(poll(state)[1]) == []
        state, actions = poll(state, at_ms=state.hub_retry_ms)
    assert waits[:3] == [HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS]
    assert waits[-1] == 7 * DAY_MS


def test_a_busy_hub_is_asked_again_when_it_said() -> None:
    state, actions = poll(new(), document())
    (request,) = posts(actions)
    deferred = answered(request, "deferred", not_before_ms=NOW + 5 * MINUTE_MS)
    state, again = after_result(state, deferred, None, NOW, POLICY, callbacks=CALLBACKS)
    (hold,) = again
    assert isinstance(hold, Hold)
    assert (hold.due_ms, hold.request.form) == (NOW + 5 * MINUTE_MS, request.form)
    state, _ = after_result(
        state, answered(replace(request, request_id=f"{request.request_id}+1"), "fetched"), None, NOW, POLICY
    )
    assert state.subscription is not None


def test_a_hub_that_takes_the_request_and_never_asks_back_is_given_up() -> None:
    state, _ = poll(new(), document())
    state, actions = poll(state, at_ms=NOW + POLICY.verification_ms + 1)
    assert [record.state for record in told(actions)] == ["lapsed"]
    assert state.hub_retry_ms > state.released_ms


def test_a_late_denial_ends_the_lease_at_once() -> None:
    state = subscribed()
    state, _ = poll(state)
    state, actions = word(state, "denied", state.released_ms + 1)
    assert [record.state for record in told(actions)] == ["denied"]
    assert (state.subscription, state.lease_until_ms) == (None, 0)
    assert state.hub_retry_ms > state.released_ms


def test_the_words_of_another_subscription_change_nothing() -> None:
    state = subscribed()
    for signal in ("lease", "denied", "unsubscribed", "websub"):
        after, actions = word(
            state, signal, NOW + HOUR_MS, token="ff" * 16, until_ms=NOW + 99 * DAY_MS, links=("https://n.example/9",)
        )
        assert (after, actions) == (state, [])


def test_another_hub_is_taken_only_when_the_old_one_is_left() -> None:
    state = subscribed()
    state, actions = poll(state, document(hub=OTHER))
    (record,), (request,) = told(actions), posts(actions)
    assert (record.state, record.hub, request.url, request.form["hub.mode"]) == (
        "unsubscribed",
        HUB,
        HUB,
        "unsubscribe",
    )
    assert "hub.secret" not in request.form
    assert state.lease_until_ms == 0
    state, _ = word(state, "unsubscribed", state.released_ms + 1_000)
    state, actions = poll(state, chance=bytes(CHANCE_BYTES))
    (record,) = told(actions)
    assert (record.state, record.hub, record.callback_token) == ("pending", OTHER, "00" * 16)


def test_an_old_hub_that_never_lets_go_is_left_all_the_same() -> None:
    state, _ = poll(subscribed(), document(hub=""))
    assert state.subscription is not None
    state, actions = poll(state, at_ms=state.released_ms + POLICY.verification_ms)
    assert (state.subscription, actions) == (None, [])


def test_a_removed_feed_leaves_its_hub() -> None:
    actions = list(leave(subscribed(), NOW, POLICY, CALLBACKS))
    assert ([record.state for record in told(actions)], len(posts(actions))) == (["unsubscribed"], 1)
    assert leave(new(), NOW, POLICY, CALLBACKS) == ()


def test_a_hub_that_goes_silent_is_trusted_no_more() -> None:
    state = subscribed(lease_ms=90 * DAY_MS)
    states = []
    for number in (2, 3, 4):
        state, actions = poll(state, document(number, 1))
        states += [record.state for record in told(actions)]
    assert states == ["lapsed"]
    assert (state.lease_until_ms, state.subscription) == (0, None)
    assert state.hub_retry_ms > state.released_ms


def test_a_push_between_shows_that_the_hub_is_not_silent() -> None:
    state = subscribed(lease_ms=90 * DAY_MS)
    for number in range(2, 12):
        state, _ = poll(state, document(number, 1))
        state, _ = word(state, "websub", state.released_ms + 1_000)
        state, _ = poll(state, document(number, 1))
    assert state.subscription is not None


def test_the_pages_of_a_delivery_are_asked_for_at_once_and_again_with_their_entries() -> None:
    state = subscribed()
    state, _ = poll(state, document(2, 1))
    at_ms = state.released_ms + MINUTE_MS
    links = ("https://n.example/3", "https://n.example/2", "https://n.example/3", "ftp://x", "https://")
    state, actions = word(state, "websub", at_ms, links=links)
    (page,) = [action for action in actions if isinstance(action, Ask)]
    assert page.priority
    assert (page.request.url, page.request.kind, page.request.entry, page.request.recheck) == (
        "https://n.example/3",
        "page",
        None,
        False,
    )
    assert state.next_poll_ms == at_ms
    again, actions = word(state, "websub", at_ms + 1, links=links)
    assert actions == []
    count = again.count
    state, actions = poll(again, document(3, 2, 1))
    (page,) = [action for action in actions if isinstance(action, Ask)]
    assert (page.request.url, page.request.recheck, page.request.entry is not None) == (
        "https://n.example/3",
        True,
        True,
    )
    assert state.count == pytest.approx(count + 1, abs=0.1)
    assert not state.guids_useless
    _, actions = poll(state, document(3, 2, 1))
    assert actions == []


def test_a_hub_that_names_pages_without_end_makes_nothing_the_feed_lists_new_again() -> None:
    state = subscribed()
    for number in range(200):
        links = tuple(f"https://n.example/1?sent={number}.{n}" for n in range(20))
        state, _ = word(state, "websub", NOW + HOUR_MS, links=links)
    assert len(dump_state(state)) < 50_000
    _, actions = poll(state, document(1))
    assert [action for action in actions if isinstance(action, Ask)] == []


def test_a_subscription_from_a_clock_that_was_ahead_is_begun_anew() -> None:
    from udfs.poll.schedule import after_clock_jump

    held = Subscribed(HUB, URL, TOKEN, SECRET, "verified", NOW + 900 * DAY_MS)
    ahead = replace(new(), subscription=held, lease_until_ms=NOW + 909 * DAY_MS)
    steadied = after_clock_jump(ahead, NOW, POLICY)
    assert (steadied.subscription, steadied.lease_until_ms) == (None, 0)
