"""A feed's subscription at its hub (WebSub): when to ask for one, renew it, give it up. No clock, no I/O, no chance.

Three parties act on what is decided here: the fetch tier posts to the hub, push answers the hub's question and takes
its deliveries, and both tell poll. A row's subscription is None, asked for (pending, leaving), or verified; every end
that was not wished for leads back to None, with a time before which no hub is asked again.
Reading order: step, what the hub said (after_answer, after_word), delivered, missed, leave.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urljoin

from msgspec.structs import replace

from state_schemas.fetching import FetchRequest, FetchResult
from state_schemas.polling import FeedState, Subscribed
from state_schemas.sources import PollSignal, Subscription
from udfs.poll.actions import Action, Ask, Decision, Hold, Subscribe
from udfs.poll.pages import host_of
from udfs.poll.policy import PollPolicy

# Bytes of chance that a subscription takes: 16 for the callback's path, 32 for the secret (at most 199 by the
# recommendation, 5.1).
TOKEN_BYTES, SECRET_BYTES = 16, 32
CHANCE_BYTES = TOKEN_BYTES + SECRET_BYTES

_LINK = re.compile(r"<([^<>]{1,2048})>((?:\s*;\s*[^,;<>]{1,300})*)")
_REL = re.compile(r""";\s*rel\s*=\s*(?:"([^"]{1,200})"|([^\s;,"]{1,200}))""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Where hubs call back: the public address of the push service, or empty (then no hub is ever asked)."""

    base: str = ""

    def address(self, token: str) -> str:
        """The callback of one subscription."""
        return f"{self.base.rstrip('/')}/websub/{token}"


def hub_and_topic(link_header: str, base: str) -> tuple[str, str]:
    """The first hub and self of Link headers (RFC 8288), absolute; empty where there is none."""
    found = {"hub": "", "self": ""}
    for target, parameters in _LINK.findall(link_header[:8_192]):
        rel = _REL.search(parameters)
        for name in ((rel.group(1) or rel.group(2)) if rel else "").lower().split():
            if name in found and not found[name]:
                try:
                    address = urljoin(base, target.strip())
                except ValueError:
                    continue
                found[name] = address if address.startswith(("http://", "https://")) else ""
    return found["hub"], found["self"]


# ---------------------------------------------------------------- what to do next


def step(state: FeedState, now_ms: int, policy: PollPolicy, callbacks: Callbacks, chance: bytes) -> Decision:
    """What a feed's subscription needs after a poll that succeeded.

    chance: CHANCE_BYTES that nobody can guess. Raises ValueError on fewer: our bug.
    """
    held = state.subscription
    topic = state.topic or state.address or state.source.url
    if held is None:
        if not state.hub or not callbacks.base or now_ms < state.hub_retry_ms:
            return state, ()
        return _subscribe(state, topic, now_ms, policy, callbacks, chance)
    silent_ms = now_ms - held.asked_ms
    if held.state == "leaving":
        if silent_ms < policy.verification_ms:
            return state, ()
        return replace(state, subscription=None), ()
    if (held.hub, held.topic) != (state.hub, topic):
        return _unsubscribe(state, held, now_ms, policy, callbacks)
    if held.state == "pending":
        if silent_ms < policy.verification_ms:
            return state, ()
        return _given_up(state, held, "lapsed", now_ms, policy)
    if now_ms >= state.lease_until_ms:
        return _given_up(state, held, "lapsed", now_ms, policy, at_once=True)
    if now_ms >= held.renew_ms:
        again = replace(held, asked_ms=now_ms, renew_ms=now_ms + policy.hub_retry_ms)
        return replace(state, subscription=again), (_post(state, again, "subscribe", now_ms, policy, callbacks, 0),)
    return state, ()


def _subscribe(
    state: FeedState, topic: str, now_ms: int, policy: PollPolicy, callbacks: Callbacks, chance: bytes
) -> Decision:
    if len(chance) < CHANCE_BYTES:
        raise ValueError(f"{len(chance)} bytes of chance, {CHANCE_BYTES} are needed")
    if not host_of(state.hub):
        return state, ()
    wanted = Subscribed(
        hub=state.hub,
        topic=topic,
        token=chance[:TOKEN_BYTES].hex(),
        secret=chance[TOKEN_BYTES:CHANCE_BYTES].hex(),
        state="pending",
        asked_ms=now_ms,
    )
    # Push must know the subscription before the hub can ask about it.
    asked = _post(state, wanted, "subscribe", now_ms, policy, callbacks, policy.subscribe_after_ms)
    after = replace(state, subscription=wanted, pending=state.pending + 1)
    return after, (_record(state, wanted, "pending", 0), asked)


def _unsubscribe(state: FeedState, held: Subscribed, now_ms: int, policy: PollPolicy, callbacks: Callbacks) -> Decision:
    """The feed names another hub or topic, or none: leave the one before a new one is asked."""
    leaving = replace(held, state="leaving", asked_ms=now_ms)
    after = replace(state, subscription=leaving, lease_until_ms=0, pending=state.pending + 1)
    asked = _post(state, leaving, "unsubscribe", now_ms, policy, callbacks, policy.subscribe_after_ms)
    return after, (_record(state, leaving, "unsubscribed", 0), asked)


def leave(state: FeedState, now_ms: int, policy: PollPolicy, callbacks: Callbacks) -> tuple[Action, ...]:
    """What a feed that is no longer registered owes its hub. Push drops deliveries from here on."""
    held = state.subscription
    if held is None or held.state == "leaving":
        return ()
    asked = _post(state, held, "unsubscribe", now_ms, policy, callbacks, 0)
    return (_record(state, held, "unsubscribed", 0), asked)


def _given_up(
    state: FeedState, held: Subscribed, why: str, now_ms: int, policy: PollPolicy, *, at_once: bool = False
) -> Decision:
    """Without a subscription again; a hub that fails is asked more and more rarely."""
    failures = 0 if at_once else state.hub_failures + 1
    wait = 0 if at_once else min(policy.hub_retry_ms * 2 ** min(failures - 1, 20), policy.hub_retry_ceiling_ms)
    after = replace(
        state,
        subscription=None,
        lease_until_ms=0,
        push_misses=0,
        hub_failures=failures,
        hub_retry_ms=now_ms + wait,
    )
    return after, (_record(state, held, why, 0),)


# ---------------------------------------------------------------- what the hub said


def after_answer(
    state: FeedState, result: FetchResult, now_ms: int, policy: PollPolicy, callbacks: Callbacks
) -> Decision:
    """The hub's answer to our request: taken, its question follows by way of push; refused, it is tried later."""
    held = state.subscription
    asked = result.request_id.partition("+")[0]
    if held is None or result.outcome == "fetched" or asked != _request_id(state, held):
        return state, ()
    if result.outcome == "deferred":
        wait = min(max(result.not_before_ms - now_ms, policy.tick_ms), policy.verification_ms)
        mode = "unsubscribe" if held.state == "leaving" else "subscribe"
        again = _post(state, held, mode, now_ms, policy, callbacks, wait)
        return replace(state, pending=state.pending + 1), (again,)
    if held.state == "pending":
        after, actions = _given_up(state, held, "lapsed", now_ms, policy)
        if result.retry_after_ms is not None:
            asked_for = now_ms + min(max(0, result.retry_after_ms), policy.hub_retry_ceiling_ms)
            after = replace(after, hub_retry_ms=max(after.hub_retry_ms, asked_for))
        return after, actions
    # A renewal that failed is tried again while the lease lasts; a hub that cannot be left is left all the same.
    return state, ()


def after_word(state: FeedState, signal: PollSignal, now_ms: int, policy: PollPolicy) -> Decision:
    """What a hub said of a subscription, by way of push: a lease, a denial, or that it let go."""
    held = state.subscription
    if held is None or signal.token != held.token:
        return state, ()
    if signal.signal == "lease":
        if held.state == "leaving":
            return state, ()
        until = min(max(signal.until_ms, now_ms + policy.lease_floor_ms), now_ms + policy.lease_ceiling_ms)
        verified = replace(
            held, state="verified", renew_ms=now_ms + round((until - now_ms) * policy.renew_share), asked_ms=now_ms
        )
        after = replace(state, subscription=verified, lease_until_ms=max(0, until), hub_failures=0)
        return after, (_record(state, verified, "verified", after.lease_until_ms),)
    if signal.signal == "denied":
        return _given_up(state, held, "denied", now_ms, policy)
    if held.state != "leaving":
        return state, ()
    return replace(state, subscription=None, lease_until_ms=0), ()


def delivered(state: FeedState, signal: PollSignal) -> bool:
    """Whether a delivery is that of the row's own subscription, and so believed."""
    return state.subscription is not None and signal.token == state.subscription.token


def missed(state: FeedState, new: int, now_ms: int, policy: PollPolicy) -> Decision:
    """A poll that no push asked for found `new` items although a lease is verified.

    A few such without a push between: the hub went silent, and the feed is polled by its schedule again.
    """
    held = state.subscription
    if held is None or held.state != "verified" or not new or now_ms >= state.lease_until_ms:
        return state, ()
    misses = state.push_misses + new
    if misses < policy.push_misses:
        return replace(state, push_misses=misses), ()
    return _given_up(state, held, "lapsed", now_ms, policy)


# ---------------------------------------------------------------- words to others


def _request_id(state: FeedState, held: Subscribed) -> str:
    return f"{state.source.feed_id}-hub-{held.asked_ms}"


def _record(state: FeedState, held: Subscribed, word: str, lease_until_ms: int) -> Subscribe:
    return Subscribe(
        Subscription(
            feed_id=state.source.feed_id,
            topic=held.topic,
            hub=held.hub,
            callback_token=held.token,
            secret=held.secret,
            lease_until_ms=lease_until_ms,
            state=word,  # type: ignore[arg-type]
        )
    )


def _post(
    state: FeedState,
    held: Subscribed,
    mode: str,
    now_ms: int,
    policy: PollPolicy,
    callbacks: Callbacks,
    after_ms: int,
) -> Ask | Hold:
    form = {"hub.mode": mode, "hub.topic": held.topic, "hub.callback": callbacks.address(held.token)}
    if mode == "subscribe":
        form |= {"hub.secret": held.secret, "hub.lease_seconds": str(policy.lease_wish_ms // 1000)}
    request = FetchRequest(
        request_id=_request_id(state, held),
        kind="hub",
        url=held.hub,
        host=host_of(held.hub),
        feed_id=state.source.feed_id,
        origin=state.source.origin,
        requested_ms=now_ms,
        found_ms=now_ms,
        form=form,
    )
    return Hold(request, now_ms + after_ms) if after_ms else Ask(request)
