"""When a feed is asked, and what follows from its answer: the poll stage's decisions.

Each function takes a feed's row, what happened, the time and the policy, and gives the next row and the actions
(actions.py). No clock, no I/O, no chance, no Flink; jitter comes from the feed's id. Reading order: after_source,
release, after_result with its parts, after_signal, after_clock_jump; then news.py (what a document brings), items.py
(what of it is new), rate.py and rhythm.py (the interval), health.py (back-off), validators.py, pages.py, audit.py,
websub.py.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from hashlib import blake2b

from msgspec.structs import replace

from state_schemas.fetching import FetchRequest, FetchResult
from state_schemas.polling import NEVER_MS, FeedState
from state_schemas.sources import PollSignal, Source
from udfs.feeds.document import FeedError, ParsedFeed
from udfs.poll.actions import Action, Ask, Decision, Found, SetAside
from udfs.poll.audit import audited, is_audited
from udfs.poll.health import Event, backoff_ms, health_after
from udfs.poll.news import (
    ask_announced,
    ask_children,
    changes_unseen,
    is_child_of,
    read_anew,
    take_child,
    take_items,
)
from udfs.poll.pages import ask_again, hold_page, host_of, is_priority, is_pushed
from udfs.poll.policy import PollPolicy
from udfs.poll.rate import interval_ms, observed
from udfs.poll.validators import moved, validated
from udfs.poll.websub import Callbacks, after_answer, after_word, delivered, hub_and_topic, missed, step

# ---------------------------------------------------------------- sources


def after_source(state: FeedState | None, source: Source, now_ms: int) -> FeedState | None:
    """The row after a feed was registered, registered again, or removed (None: no row).

    A new feed is due at once. A known one keeps its memory; registering one again that fails or has ended has it asked
    at once.
    """
    if source.removed:
        return None
    if state is None:
        return FeedState(source=source, next_poll_ms=now_ms, rated_ms=now_ms)
    if state.source == source:
        return state
    if state.failures:
        return replace(state, source=source, next_poll_ms=max(now_ms, state.not_before_ms))
    return replace(state, source=source)


# ---------------------------------------------------------------- asking


def feed_request_id(state: FeedState) -> str:
    """The id of the row's latest feed request; a request repeated after a restart has the same."""
    return f"{state.source.feed_id}-{state.polls}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a due feed stands when the budget does not reach. rank: 0 pushed, 1 in a burst, 2 authoritative, 3 tail."""

    rank: int
    due_ms: int
    waited_ms: int  # how long it was to wait, > 0

    def order(self, now_ms: int) -> tuple[int, float]:
        """Sort key, first served smallest: by rank, then the most overdue for its interval."""
        return self.rank, (self.due_ms - now_ms) / self.waited_ms


def standing(state: FeedState, now_ms: int) -> Standing:
    """The standing of a row that is due."""
    if is_pushed(state):
        rank = 0
    elif now_ms < state.burst_until_ms:
        rank = 1
    else:
        rank = 2 if state.source.tier == "authoritative" else 3
    return Standing(rank, state.next_poll_ms, max(1, state.next_poll_ms - state.released_ms))


def release(state: FeedState, now_ms: int, policy: PollPolicy) -> tuple[FeedState, Ask]:
    """Ask the feed now, with its validators unless they tell nothing.

    The row is armed again at `lost_ms`, and the answer moves that nearer: a lost request never ends a feed. After a
    run of 304s one request goes without validators: it shows whether they still mean anything.
    """
    priority = is_priority(state, now_ms)
    asked = replace(
        state,
        polls=state.polls + 1,
        answered=False,
        urgent=priority,
        pushed=is_pushed(state),
        released_ms=now_ms,
        next_poll_ms=now_ms + policy.lost_ms,
    )
    floor_ms = policy.push_floor_ms if priority else policy.floor_ms(state.source.tier)
    if is_audited(state.source, policy):
        floor_ms = min(floor_ms, policy.audit_ms)
    conditional = not state.validators_useless and state.unmodified < policy.unmodified_run
    url = state.address or state.source.url
    request = FetchRequest(
        request_id=feed_request_id(asked),
        kind="feed",
        url=url,
        host=host_of(url),
        feed_id=state.source.feed_id,
        origin=state.source.origin,
        requested_ms=now_ms,
        etag=state.etag if conditional else "",
        last_modified=state.last_modified if conditional else "",
        floor_ms=round(floor_ms * (1 - policy.floor_slack)),
    )
    return asked, Ask(request, priority)


# ---------------------------------------------------------------- answers


def body_hash(body: bytes) -> int:
    """64 bits that tell a body from the last one, never 0."""
    return int.from_bytes(blake2b(body, digest_size=8).digest(), "big") or 1


def after_result(
    state: FeedState,
    result: FetchResult,
    document: ParsedFeed | FeedError | None,
    now_ms: int,
    policy: PollPolicy,
    *,
    body: int = 0,
    callbacks: Callbacks | None = None,
    chance: bytes = b"",
) -> Decision:
    """What an answer changes: schedule, validators, rate, health; and the pages of its new and changed entries.

    document: what was read from a fetched body; None for other outcomes, and for a body equal to the last (whose hash
    is `body`). An answer to another request than the last (a replay, or one given up as lost) only adds its items, as
    that of a sitemap index's child does. A deferred page is held: see hold_page. callbacks, chance: for subscriptions
    at hubs, see websub.step; without callbacks there are none.
    """
    callbacks = callbacks or Callbacks()
    if result.kind == "hub":
        return after_answer(state, result, now_ms, policy, callbacks)
    if result.kind == "page":
        if result.request is None:
            return state, ()
        return hold_page(state, result.request, result.not_before_ms, now_ms, policy)
    if is_child_of(state, result):
        if result.outcome == "deferred":
            return replace(read_anew(state), children_ms=0), ()  # asked for again by the next poll of the index
        return take_child(state, document, now_ms, policy)
    if state.answered or result.request_id != feed_request_id(state):
        if isinstance(document, ParsedFeed):
            taken = take_items(state, document, now_ms, policy, count=False)
            return taken.state, taken.actions
        return state, ()

    state = replace(state, answered=True)
    if result.retry_after_ms is not None and result.outcome != "deferred":
        waited = min(max(0, result.retry_after_ms), policy.retry_after_ceiling_ms)
        state = replace(state, not_before_ms=now_ms + waited)
    match result.outcome:
        case "fetched":
            state, found, wait, actions = _fetched(state, result, document, now_ms, policy, body)
        case "not_modified":
            state = replace(observed(state, (), now_ms, policy), unmodified=state.unmodified + 1, useless=0)
            state = _succeeded(state, now_ms, policy, reason="")
            found, wait, actions = Found(0, pushed=state.pushed), None, ()
        case "deferred":
            wait = min(result.not_before_ms, now_ms + policy.retry_after_ceiling_ms) - now_ms
            return _due(state, max(wait, policy.floor_ms(state.source.tier)), now_ms, policy), ()
        case "refused" if result.reason == "within_floor":
            return _due(state, policy.floor_ms(state.source.tier), now_ms, policy), ()
        case _:
            event: Event = "gone" if result.outcome == "gone" else "failure"
            reason = result.reason or f"status_{result.status}"
            return _failed(state, event, reason, now_ms, policy), ()
    if found is None:
        return state, actions
    state, of_misses = missed(state, 0 if state.pushed else found.new, now_ms, policy)
    state, of_hub = step(state, now_ms, policy, callbacks, chance)
    state, found = _scheduled(state, result, found, wait, now_ms, policy)
    return state, (*actions, *of_misses, *of_hub, found)


def _fetched(
    state: FeedState,
    result: FetchResult,
    document: ParsedFeed | FeedError | None,
    now_ms: int,
    policy: PollPolicy,
    body: int,
) -> tuple[FeedState, Found | None, int | None, tuple[Action, ...]]:
    """A body came: the row, what it brought (None: it was no feed), the wait that an overrun asks for, the actions.

    Validators are kept only with a body that was read whole and parsed, and replaced after every such.
    """
    if isinstance(document, FeedError):
        aside = SetAside(document.reason, state.source.feed_id, document.detail)
        return _failed(state, "failure", document.reason, now_ms, policy), None, None, (aside,)
    before = state
    actions: list[Action] = []
    found, wait, changes = Found(0, pushed=state.pushed), None, 0
    if document is None:
        state = observed(state, (), now_ms, policy)
        reason = "" if before.failures else before.reason
    else:
        taken = take_items(state, document, now_ms, policy, count=True)
        state, found, wait, changes = taken.state, taken.found, taken.wait_ms, taken.changes
        hub, topic = hub_and_topic(result.link_header, result.final_url or result.url)
        state = replace(state, hub=document.hub or hub, topic=document.topic or topic, ttl_ms=document.ttl_ms or 0)
        reason = _oddity(document)
        if reason == "too_many_entries" and reason != before.reason:
            detail = f"{document.dropped} entries beyond {len(document.entries)}"
            actions.append(SetAside(reason, state.source.feed_id, detail))
        actions += taken.actions
        if document.children:
            state, children = ask_children(state, document.children, feed_request_id(state), now_ms, policy)
            actions += children
            changes += len(children)
    if document is None or document.whole:
        state = validated(state, result, changes, policy)
        state = replace(state, body_hash=body or state.body_hash)
    if document is not None and changes_unseen(document.children, now_ms):
        state = read_anew(state)
    found = dataclasses.replace(found, useless=state.validators_useless and not before.validators_useless)
    state = _succeeded(moved(state, result, now_ms, policy), now_ms, policy, reason=reason)
    return replace(state, unmodified=0), found, wait, tuple(actions)


def _oddity(document: ParsedFeed) -> str:
    """What an operator may want to know of a document that was read; empty for nothing."""
    if not document.whole:
        return "feed_cut_short"
    if document.dropped:
        return "too_many_entries"
    return "feed_malformed" if document.malformed else ""


def _succeeded(state: FeedState, now_ms: int, policy: PollPolicy, *, reason: str) -> FeedState:
    health = health_after(state, "success", policy)
    return replace(state, failures=0, last_success_ms=now_ms, reason=reason, health=health)


def _scheduled(
    state: FeedState, result: FetchResult, found: Found, wait_ms: int | None, now_ms: int, policy: PollPolicy
) -> tuple[FeedState, Found]:
    """Due after the interval that its rate and the publisher's hints give, or after `wait_ms` if that is sooner. An
    audited feed is asked at once again; its schedule is only kept."""
    hint = max(result.max_age_ms or 0, state.ttl_ms)
    wait = interval_ms(state, now_ms, policy, hint_ms=hint)
    if wait_ms is not None:
        wait = min(wait, wait_ms)
    if is_audited(state.source, policy):
        if state.pushed or not state.audit_due_ms:
            state = replace(state, audit_due_ms=now_ms)
        state, delays = audited(state, found.new, now_ms, policy)
        found = dataclasses.replace(found, delays_ms=(), audited_ms=delays)
        if now_ms >= state.audit_due_ms:
            state = replace(state, audit_due_ms=now_ms + wait)
        wait = min(wait, policy.audit_ms)
    return _due(state, wait, now_ms, policy), found


def _failed(state: FeedState, event: Event, reason: str, now_ms: int, policy: PollPolicy) -> FeedState:
    """Back off; or end, when the publisher says that the feed is gone for good."""
    if event == "gone" and state.address:
        # Only the address that it moved to is gone; what was registered may say where it is now.
        state, event = replace(state, address="", etag="", last_modified=""), "failure"
    state = replace(state, failures=state.failures + 1, reason=reason)
    state = replace(state, health=health_after(state, event, policy))
    if state.health == "gone":
        return replace(state, next_poll_ms=NEVER_MS)
    return _due(state, backoff_ms(state, policy), now_ms, policy)


def _due(state: FeedState, wait_ms: int, now_ms: int, policy: PollPolicy) -> FeedState:
    """Due after `wait_ms`; sooner for a push that came while the request was out; never before a Retry-After."""
    due = now_ms + wait_ms
    if is_pushed(state):
        due = min(due, max(now_ms, state.released_ms + policy.push_floor_ms))
    return replace(state, next_poll_ms=max(due, state.not_before_ms))


# ---------------------------------------------------------------- signals


def after_signal(state: FeedState, signal: PollSignal, now_ms: int, policy: PollPolicy) -> Decision:
    """What a wish of another stage changes. Pushes obey their own floor and Retry-After.

    The pages that a delivery names are asked for at once, beside the poll. A re-check asks for pages again and leaves
    the feed's schedule alone.
    """
    if signal.signal == "recheck":
        return state, ask_again(state, signal.links, now_ms, policy)
    if signal.signal in ("lease", "denied", "unsubscribed"):
        after, told = after_word(state, signal, now_ms, policy)
        # Without a lease it is polled by its schedule again, which may be long before the backstop.
        ended = after is not state and signal.signal != "lease"
        return (_sooner(after, now_ms, policy) if ended else after), told
    if signal.signal == "websub" and not delivered(state, signal):
        return state, ()
    actions: tuple[Action, ...] = ()
    if signal.signal == "websub":
        state, actions = ask_announced(replace(state, push_misses=0), signal.links, now_ms, policy)
    if signal.signal == "burst":
        until = min(signal.until_ms or now_ms + policy.burst_ms, now_ms + policy.burst_ms)
        state = replace(state, burst_until_ms=max(until, state.burst_until_ms))
        soonest = state.released_ms + policy.floor_ms(state.source.tier)
        if state.health == "gone":
            return state, ()
    else:
        state = replace(state, signalled_ms=max(now_ms, state.released_ms + 1))
        soonest = state.released_ms + policy.push_floor_ms
        if signal.signal == "ping":
            # A publisher's pings are spaced by push, which tells at once and says when.
            soonest = max(soonest, min(signal.until_ms, now_ms + policy.push_floor_ms))
    if not state.answered:
        return state, actions  # its answer is on the way and looks at the signal
    due = max(now_ms, soonest, state.not_before_ms)
    return replace(state, next_poll_ms=min(state.next_poll_ms, due)), actions


def _sooner(state: FeedState, now_ms: int, policy: PollPolicy) -> FeedState:
    if not state.answered or state.next_poll_ms == NEVER_MS:
        return state
    due = max(state.released_ms + interval_ms(state, now_ms, policy), state.not_before_ms)
    return replace(state, next_poll_ms=min(state.next_poll_ms, due))


# ---------------------------------------------------------------- the clock


def after_clock_jump(state: FeedState, now_ms: int, policy: PollPolicy) -> FeedState:
    """The row when the clock is found to be behind what it was: nothing of it lies further ahead than it may.

    A clock that leapt forward and back would else leave feeds waiting for days that are years away.
    """
    ended = state.next_poll_ms == NEVER_MS
    held = state.not_before_ms if state.not_before_ms <= now_ms + policy.retry_after_ceiling_ms else 0
    subscribed = state.subscription
    if subscribed is not None and subscribed.asked_ms > now_ms:
        subscribed = None
    return replace(
        state,
        next_poll_ms=NEVER_MS if ended else max(held, min(state.next_poll_ms, now_ms + policy.ceiling_ms)),
        released_ms=min(state.released_ms, now_ms),
        not_before_ms=held,
        rated_ms=min(state.rated_ms, now_ms),
        since_ms=min(state.since_ms, now_ms),
        last_new_ms=min(state.last_new_ms, now_ms),
        last_success_ms=min(state.last_success_ms, now_ms),
        moved_since_ms=min(state.moved_since_ms, now_ms),
        signalled_ms=min(state.signalled_ms, now_ms),
        lease_until_ms=min(state.lease_until_ms, now_ms + policy.lease_ceiling_ms) if subscribed else 0,
        burst_until_ms=min(state.burst_until_ms, now_ms + policy.burst_ms),
        children_ms=min(state.children_ms, now_ms),
        audit_due_ms=min(state.audit_due_ms, now_ms + policy.ceiling_ms),
        audit_found=b"",
        hub_retry_ms=min(state.hub_retry_ms, now_ms + policy.hub_retry_ceiling_ms),
        subscription=subscribed,
    )
