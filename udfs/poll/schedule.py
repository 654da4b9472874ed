"""When a feed is asked, and what follows from its answer: the poll stage's decisions.

Each function takes a feed's row, what happened, the time and the policy, and gives the next row and the actions
(actions.py). No clock, no I/O, no chance, no Flink; jitter comes from the feed's id. Reading order: after_source,
release, after_result with its parts, after_signal; then items.py (what is new), rate.py (the interval), health.py
(back-off), validators.py, pages.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from msgspec.structs import replace

from state_schemas.fetching import FetchRequest, FetchResult
from state_schemas.polling import FeedState
from state_schemas.sources import PollSignal, Source
from udfs.feeds.document import FeedError, ParsedFeed
from udfs.feeds.identity import page_address
from udfs.poll.actions import Action, Ask, Decision, SetAside
from udfs.poll.health import Event, backoff_ms, health_after
from udfs.poll.items import difference
from udfs.poll.pages import ask_page, hold_page, host_of, is_priority
from udfs.poll.policy import PollPolicy
from udfs.poll.rate import first_observed, interval_ms, observed, within
from udfs.poll.validators import moved, validated

# ---------------------------------------------------------------- sources


def after_source(state: FeedState | None, source: Source, now_ms: int) -> FeedState | None:
    """The row after a feed was registered, registered again, or removed (None: no row).

    A new feed is due at once. A known one keeps its memory; registering a failing one again has it asked at once.
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
    """Where a due feed stands when the budget does not reach. rank: 0 pushed or in a burst, 1 authoritative, 2 tail."""

    rank: int
    due_ms: int
    waited_ms: int  # how long it was to wait, > 0

    def order(self, now_ms: int) -> tuple[int, float]:
        """Sort key, first served smallest: by rank, then the most overdue for its interval."""
        return self.rank, (self.due_ms - now_ms) / self.waited_ms


def standing(state: FeedState, now_ms: int) -> Standing:
    """The standing of a row that is due."""
    tier = 1 if state.source.tier == "authoritative" else 2
    waited = max(1, state.next_poll_ms - state.released_ms)
    return Standing(0 if is_priority(state, now_ms) else tier, state.next_poll_ms, waited)


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
        released_ms=now_ms,
        next_poll_ms=now_ms + policy.lost_ms,
    )
    floor_ms = policy.push_floor_ms if priority else policy.floor_ms(state.source.tier)
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
) -> Decision:
    """What an answer changes: schedule, validators, rate, health; and the pages of its new and changed entries.

    document: what was read from a fetched body; None for other outcomes, and for a body equal to the last (whose hash
    is `body`). An answer to another request than the last (a replay, or one given up as lost) only adds its items.
    A deferred page is held: see hold_page.
    """
    if result.kind == "page":
        if result.request is None:
            return state, ()
        return hold_page(state, result.request, result.not_before_ms, now_ms, policy)
    expected = not state.answered and result.request_id == feed_request_id(state)
    if not expected:
        if isinstance(document, ParsedFeed):
            state, actions, _ = _take_items(state, document, now_ms, policy, count=False)
            return state, actions
        return state, ()

    state = replace(state, answered=True)
    if result.retry_after_ms is not None and result.outcome != "deferred":
        waited = min(max(0, result.retry_after_ms), policy.retry_after_ceiling_ms)
        state = replace(state, not_before_ms=now_ms + waited)
    match result.outcome:
        case "fetched":
            return _fetched(state, result, document, now_ms, policy, body)
        case "not_modified":
            state = replace(state, unmodified=state.unmodified + 1, useless=0)
            state = _succeeded(observed(state, 0, now_ms, policy), now_ms, policy, reason="")
            return _due(state, interval_ms(state, now_ms, policy), now_ms, policy), ()
        case "deferred":
            wait = min(result.not_before_ms, now_ms + policy.retry_after_ceiling_ms) - now_ms
            return _due(state, max(wait, policy.floor_ms(state.source.tier)), now_ms, policy), ()
        case "refused" if result.reason == "within_floor":
            return _due(state, policy.floor_ms(state.source.tier), now_ms, policy), ()
        case _:
            event: Event = "gone" if result.outcome == "gone" else "failure"
            reason = result.reason or f"status_{result.status}"
            return _failed(state, event, reason, now_ms, policy), ()


def _fetched(
    state: FeedState,
    result: FetchResult,
    document: ParsedFeed | FeedError | None,
    now_ms: int,
    policy: PollPolicy,
    body: int,
) -> Decision:
    """A body came. Validators are kept only with one that was read whole and parsed, and replaced after every such."""
    if isinstance(document, FeedError):
        aside = SetAside(document.reason, state.source.feed_id, document.detail)
        return _failed(state, "failure", document.reason, now_ms, policy), (aside,)
    before = state
    odd: list[Action] = []
    if document is None:
        actions: tuple[Action, ...] = ()
        wait = None
        state = observed(state, 0, now_ms, policy)
        news, reason = 0, "" if before.failures else before.reason
    else:
        state, actions, wait = _take_items(state, document, now_ms, policy, count=True)
        news = len(actions)
        reason = _oddity(document)
        state = replace(state, hub=document.hub, topic=document.topic)
        if reason in ("sitemap_index", "too_many_entries") and reason != before.reason:
            odd.append(SetAside(reason, state.source.feed_id, _oddity_detail(document)))
    if document is None or document.whole:
        state = validated(state, result, news, policy)
        state = replace(state, body_hash=body or state.body_hash)
    state = _succeeded(moved(state, result, now_ms, policy), now_ms, policy, reason=reason)
    state = replace(state, unmodified=0)
    usual = interval_ms(state, now_ms, policy)
    return _due(state, usual if wait is None else min(usual, wait), now_ms, policy), (*odd, *actions)


def _oddity(document: ParsedFeed) -> str:
    """What an operator may want to know of a document that was read; empty for nothing."""
    if document.children:
        return "sitemap_index"
    if not document.whole:
        return "feed_cut_short"
    if document.dropped:
        return "too_many_entries"
    return "feed_malformed" if document.malformed else ""


def _oddity_detail(document: ParsedFeed) -> str:
    if document.children:
        return f"{len(document.children)} sitemaps, such as {document.children[0].url}"
    return f"{document.dropped} entries beyond {len(document.entries)}"


def _take_items(
    state: FeedState, document: ParsedFeed, now_ms: int, policy: PollPolicy, *, count: bool
) -> tuple[FeedState, tuple[Action, ...], int | None]:
    """Ask for the pages of new and changed entries, and remember them. count: they count into the rate.

    The third value is the interval that follows from an overrun (no item of the last document is in this one, so some
    were never seen), or None.
    """
    first = not state.seen and not state.document_items
    found = difference(state.seen, document.entries, policy, trust_stamps=not state.stamps_useless)
    actions: list[Action] = []
    asked: set[str] = set()
    changed = {entry.identity for entry in found.changed}
    new = {entry.identity for entry in found.new}
    for entry in document.entries:
        if entry.identity not in new and entry.identity not in changed:
            continue
        if not entry.link:
            # A known one that changed was set aside when it was new.
            if entry.identity in new:
                actions.append(SetAside("entry_without_link", state.source.feed_id, entry.title, entry))
            continue
        page = page_address(entry.link)
        if page not in asked:
            asked.add(page)
            actions.append(ask_page(state, entry, document.language, now_ms))
    overrun = count and not first and found.overlap == 0 and len(document.entries) > 1 and state.document_items > 1
    wait = _overrun_wait(state, document, now_ms, policy) if overrun else None
    if count:
        if first:
            stamps = [entry.published_ms or entry.updated_ms for entry in document.entries]
            state = first_observed(state, stamps, now_ms, policy)
        else:
            state = observed(state, len(found.new), now_ms, policy)
    state = replace(
        state,
        seen=found.seen,
        document_items=len(document.entries) or state.document_items,
        overruns=state.overruns + overrun,
        guids_useless=state.guids_useless or document.guids_repeat,
        stamps_useless=state.stamps_useless or found.stamps_restless,
    )
    return state, tuple(actions), wait


def _overrun_wait(state: FeedState, document: ParsedFeed, now_ms: int, policy: PollPolicy) -> int:
    """A fraction of the time that a document's items last: of the span of their own dates, or since the last poll."""
    spans = [now_ms - (state.last_success_ms or state.rated_ms)]
    dated = sorted(at for entry in document.entries if (at := entry.published_ms) is not None and at <= now_ms)
    if len(dated) == len(document.entries) and dated[-1] > dated[0]:
        spans.append(dated[-1] - dated[0])
    return within(policy.overrun_share * min(spans), policy.floor_ms(state.source.tier), policy.ceiling_ms)


def _succeeded(state: FeedState, now_ms: int, policy: PollPolicy, *, reason: str) -> FeedState:
    state = replace(state, failures=0, last_success_ms=now_ms, reason=reason)
    return replace(state, health=health_after(state, "success", policy))


def _failed(state: FeedState, event: Event, reason: str, now_ms: int, policy: PollPolicy) -> FeedState:
    """Back off."""
    state = replace(state, failures=state.failures + 1, reason=reason)
    state = replace(state, health=health_after(state, event, policy))
    return _due(state, backoff_ms(state, policy), now_ms, policy)


def _due(state: FeedState, wait_ms: int, now_ms: int, policy: PollPolicy) -> FeedState:
    """Due after `wait_ms`; sooner for a push that came while the request was out; never before a Retry-After."""
    due = now_ms + wait_ms
    if state.signalled_ms > state.released_ms:
        due = min(due, max(now_ms, state.released_ms + policy.push_floor_ms))
    return replace(state, next_poll_ms=max(due, state.not_before_ms))


# ---------------------------------------------------------------- signals


def after_signal(state: FeedState, signal: PollSignal, now_ms: int, policy: PollPolicy) -> FeedState:
    """The row after a wish to poll sooner. Pushes obey their own floor and Retry-After; their links are not used."""
    if signal.signal == "lease":
        until = min(signal.until_ms, now_ms + policy.lease_ceiling_ms)
        return replace(state, lease_until_ms=max(0, until))
    if signal.signal == "burst":
        until = min(signal.until_ms or now_ms + policy.burst_ms, now_ms + policy.burst_ms)
        state = replace(state, burst_until_ms=max(until, state.burst_until_ms))
        soonest = state.released_ms + policy.floor_ms(state.source.tier)
    else:
        state = replace(state, signalled_ms=max(now_ms, state.released_ms + 1))
        soonest = state.released_ms + policy.push_floor_ms
    if not state.answered:
        return state  # its answer is on the way and looks at the signal
    due = max(now_ms, soonest, state.not_before_ms)
    return replace(state, next_poll_ms=min(state.next_poll_ms, due))
