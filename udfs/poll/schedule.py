"""When a feed is asked, and what follows from its answer: the poll stage's decisions.

Each function takes a feed's row, what happened, the time and the policy, and gives the next row and the actions. No
clock, no I/O, no chance, no Flink; jitter comes from the feed's id. Reading order: the actions; after_source,
release, after_result with its parts, after_signal, hold_page, release_page.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from urllib.parse import urlsplit

from msgspec.structs import replace

from connectors.headers import date_ms
from state_schemas.fetching import Entry, FetchRequest, FetchResult, RawItem
from state_schemas.polling import FeedState
from state_schemas.sources import PollSignal, Source
from udfs.feeds.document import FeedError, ParsedFeed
from udfs.feeds.identity import page_address
from udfs.poll.health import Event, backoff_ms, health_after
from udfs.poll.items import difference
from udfs.poll.policy import PollPolicy
from udfs.poll.rate import first_observed, interval_ms, observed, within


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a request to the fetch tier, by the priority topic or the other."""

    request: FetchRequest
    priority: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep a page request and hand it to `release_page` at `due_ms` (ms UTC)."""

    request: FetchRequest
    due_ms: int


@dataclass(frozen=True, slots=True)
class Serve:
    """Pass on an item without its page."""

    item: RawItem


@dataclass(frozen=True, slots=True)
class SetAside:
    """Something that cannot be used, for quarantine."""

    reason: str
    subject: str
    detail: str = ""
    entry: Entry | None = None


Action = Ask | Hold | Serve | SetAside
Decision = tuple[FeedState, tuple[Action, ...]]


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


def is_priority(state: FeedState, now_ms: int) -> bool:
    """Whether its requests go before all others: it was pushed, or is part of a burst."""
    return now_ms < state.burst_until_ms or state.signalled_ms > state.released_ms


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
        floor_ms=policy.push_floor_ms if priority else policy.floor_ms(state.source.tier),
    )
    return asked, Ask(request, priority)


def host_of(url: str) -> str:
    """The lower-case host name of a URL: the key under which one fetcher owns it."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


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
            # A network's failure is no evidence of anything; a refusal is the operator's to see, once.
            told = result.outcome == "refused" and not (state.failures and state.reason == reason)
            aside = (SetAside(reason, state.source.feed_id, result.detail),) if told else ()
            return _failed(state, event, reason, now_ms, policy), aside


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
        state = _validated(state, result, news, policy)
        state = replace(state, body_hash=body or state.body_hash)
    state = _succeeded(_moved(state, result, now_ms, policy), now_ms, policy, reason=reason)
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
        return f"{len(document.children)} sitemaps, such as {document.children[0]}"
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
            actions.append(_ask_page(state, entry, document.language, now_ms))
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


def _ask_page(state: FeedState, entry: Entry, language: str, now_ms: int) -> Ask:
    if not entry.language and language:
        entry = replace(entry, language=language)
    request = FetchRequest(
        request_id=f"{state.source.feed_id}-{entry.identity}-{now_ms}",
        kind="page",
        url=entry.link,
        host=host_of(entry.link),
        feed_id=state.source.feed_id,
        origin=state.source.origin,
        requested_ms=now_ms,
        entry=entry,
        found_ms=now_ms,
    )
    return Ask(request, state.urgent or now_ms < state.burst_until_ms)


def _overrun_wait(state: FeedState, document: ParsedFeed, now_ms: int, policy: PollPolicy) -> int:
    """A fraction of the time that a document's items last: of the span of their own dates, or since the last poll."""
    spans = [now_ms - (state.last_success_ms or state.rated_ms)]
    dated = sorted(at for entry in document.entries if (at := entry.published_ms) is not None and at <= now_ms)
    if len(dated) == len(document.entries) and dated[-1] > dated[0]:
        spans.append(dated[-1] - dated[0])
    return within(policy.overrun_share * min(spans), policy.floor_ms(state.source.tier), policy.ceiling_ms)


def _validated(state: FeedState, result: FetchResult, news: int, policy: PollPolicy) -> FeedState:
    """The row with the validators of a body that was read whole and parsed; they are opaque and never made up."""
    modified = date_ms(result.last_modified) if result.last_modified else None
    # A Last-Modified after the response's own Date would hide every later change (RFC 9110, 8.8.2.1 forbids it).
    future = modified is not None and result.date_ms is not None and modified > result.date_ms
    last_modified = "" if future else result.last_modified
    asked_without = state.unmodified >= policy.unmodified_run
    useless = state.validators_useless
    if asked_without and news:
        # The validators still matched, yet there were news behind them.
        useless = (
            useless
            or (bool(result.etag) and result.etag == state.etag)
            or (not result.etag and last_modified == state.last_modified)
        )
    idle = bool(state.etag) and result.etag != state.etag and not news
    idle_run = state.useless + 1 if idle else 0
    return replace(
        state,
        etag=result.etag,
        last_modified=last_modified,
        useless=idle_run,
        validators_useless=useless or idle_run >= policy.useless_after,
    )


def _moved(state: FeedState, result: FetchResult, now_ms: int, policy: PollPolicy) -> FeedState:
    """Believe a permanent redirect whose target parsed: http to https at once, anything else when it held for days."""
    here = state.address or state.source.url
    target = result.moved_to
    if not target or target == here:
        return replace(state, moved_to="", moved_since_ms=0)
    same_but_scheme = here.startswith("http://") and target == "https://" + here.removeprefix("http://")
    held = state.moved_to == target and now_ms - state.moved_since_ms >= policy.moved_held_ms
    if same_but_scheme or held:
        return replace(state, address=target, moved_to="", moved_since_ms=0)
    if state.moved_to == target:
        return state
    return replace(state, moved_to=target, moved_since_ms=now_ms)


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


# ---------------------------------------------------------------- pages that wait


def hold_page(state: FeedState, request: FetchRequest, not_before_ms: int, now_ms: int, policy: PollPolicy) -> Decision:
    """Keep a page that the fetcher could not start, one every `page_gap_ms` a feed; give up when it grows old.

    What is given up is served from its entry, so that no article is lost; a re-check without an entry just ends.
    """
    too_old = now_ms - request.found_ms > policy.page_patience_ms
    if too_old or state.pending >= policy.pages_held:
        if request.entry is None:
            return state, ()
        item = RawItem(
            kind="entry",
            url=request.url,
            origin=request.origin,
            found_ms=request.found_ms,
            fetched_ms=now_ms,
            feed_id=request.feed_id,
            request_id=request.request_id,
            entry=request.entry,
            reason="page_deferred_too_long" if too_old else "too_many_pages_deferred",
            recheck=request.recheck,
        )
        return state, (Serve(item),)
    earliest = max(not_before_ms, now_ms + policy.page_gap_ms, state.page_slot_ms)
    due = min(earliest, now_ms + policy.page_patience_ms)
    state = replace(state, pending=state.pending + 1, page_slot_ms=due + policy.page_gap_ms)
    return state, (Hold(request, due),)


def release_page(state: FeedState, request: FetchRequest, now_ms: int) -> tuple[FeedState, Ask]:
    """Ask for a held page again: the same request, one attempt on."""
    attempt = request.attempt + 1
    request_id = f"{request.request_id.partition('+')[0]}+{attempt}"
    again = replace(request, attempt=attempt, request_id=request_id, requested_ms=now_ms)
    return replace(state, pending=max(0, state.pending - 1)), Ask(again)
