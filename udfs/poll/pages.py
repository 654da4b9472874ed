"""Asking for the pages of entries: at once, and again where the fetcher could not start. No clock, no I/O.

The fetcher spaces what it defers, each request of a host a gap after the one before; here they only wait.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec.structs import replace

from state_schemas.fetching import Entry, FetchRequest, RawItem
from state_schemas.ids import hash64_hex
from state_schemas.polling import FeedState
from udfs.poll.actions import Ask, Decision, Hold, Serve
from udfs.poll.policy import PollPolicy


def host_of(url: str) -> str:
    """The lower-case host name of a URL: the key under which one fetcher owns it."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_priority(state: FeedState, now_ms: int) -> bool:
    """Whether its requests go before all others: it was pushed, or is part of a burst."""
    return now_ms < state.burst_until_ms or is_pushed(state)


def is_pushed(state: FeedState) -> bool:
    """Whether a push came since it was last asked."""
    return state.signalled_ms > state.released_ms


def ask_page(state: FeedState, entry: Entry, language: str, now_ms: int, *, recheck: bool) -> Ask:
    """Ask for an entry's page; it carries the entry, in the feed's language where it names none.

    recheck: the page was asked for before, and need only come again if it changed.
    """
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
        recheck=recheck,
    )
    return Ask(request, state.urgent or now_ms < state.burst_until_ms)


def ask_again(
    state: FeedState, links: tuple[str, ...], now_ms: int, policy: PollPolicy, *, announced: bool = False
) -> tuple[Ask, ...]:
    """Ask for pages by their addresses alone, to see whether they changed or are gone; each once, the first of many.

    announced: a push named them, and they are asked for the first time, before others.
    """
    asks: list[Ask] = []
    for link in dict.fromkeys(links):
        host = host_of(link)
        if not host or not link.startswith(("http://", "https://")) or len(asks) == policy.recheck_links:
            continue
        request = FetchRequest(
            request_id=f"{state.source.feed_id}-{hash64_hex(link)}-{now_ms}",
            kind="page",
            url=link,
            host=host,
            feed_id=state.source.feed_id,
            origin=state.source.origin,
            requested_ms=now_ms,
            found_ms=now_ms,
            recheck=not announced,
        )
        asks.append(Ask(request, announced))
    return tuple(asks)


def retract(state: FeedState, link: str, now_ms: int) -> Serve:
    """Tell parsing that the publisher withdrew a page."""
    return Serve(
        RawItem(
            kind="retraction",
            url=link,
            origin=state.source.origin,
            found_ms=now_ms,
            fetched_ms=now_ms,
            feed_id=state.source.feed_id,
            request_id=f"{state.source.feed_id}-{hash64_hex(link)}-{now_ms}",
            reason="deleted_entry",
        )
    )


def hold_page(state: FeedState, request: FetchRequest, not_before_ms: int, now_ms: int, policy: PollPolicy) -> Decision:
    """Keep a page that the fetcher could not start until it may; give up when it grows old, or with too many.

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
    due = min(max(not_before_ms, now_ms + policy.tick_ms), now_ms + policy.page_patience_ms)
    return replace(state, pending=state.pending + 1), (Hold(request, due),)


def release_page(state: FeedState, request: FetchRequest, now_ms: int) -> tuple[FeedState, Ask]:
    """Ask for a held page again: the same request, one attempt on."""
    attempt = request.attempt + 1
    request_id = f"{request.request_id.partition('+')[0]}+{attempt}"
    again = replace(request, attempt=attempt, request_id=request_id, requested_ms=now_ms)
    return replace(state, pending=max(0, state.pending - 1)), Ask(again)
