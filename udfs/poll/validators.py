"""What an answer says about the next request: its validators, and where the feed has moved. No clock, no I/O."""

from __future__ import annotations

from msgspec.structs import replace

from connectors.headers import date_ms
from state_schemas.fetching import FetchResult
from state_schemas.polling import FeedState
from udfs.poll.policy import PollPolicy


def validated(state: FeedState, result: FetchResult, news: int, policy: PollPolicy) -> FeedState:
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


def moved(state: FeedState, result: FetchResult, now_ms: int, policy: PollPolicy) -> FeedState:
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
