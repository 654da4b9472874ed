"""Feeds and publishers as registered, and wishes to poll out of turn. Topics: sources, publishers, poll.signals."""

from __future__ import annotations

from typing import Literal

from state_schemas.codec import Record

Tier = Literal["authoritative", "tail"]
SourceKind = Literal["feed", "sitemap", "front"]


class Origin(Record, frozen=True):
    """Who stands behind a feed, carried along with everything that comes from it.

    authority: prior in [0, 1]. category: one of the 12 sections, or empty. country: ISO 3166 alpha-2.
    language: BCP 47 base language the publisher declares, or empty.
    """

    publisher: str
    name: str = ""
    country: str = ""
    language: str = ""
    category: str = ""
    authority: float = 0.3
    owner: str = ""
    noindex: bool = False
    max_snippet: int | None = None


class Source(Record, frozen=True):
    """One feed. Key: feed id. A removal is a record with `removed` set, never a null."""

    feed_id: str
    url: str
    origin: Origin
    kind: SourceKind = "feed"
    tier: Tier = "tail"
    registered_ms: int = 0
    removed: bool = False


class Publisher(Record, frozen=True):
    """One publisher. Key: publisher id. ping_keys: hex SHA-256 of each valid key; authority_by_topic in [0, 1]."""

    publisher: str
    name: str = ""
    country: str = ""
    regions: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    owner: str = ""
    authority: float = 0.3
    authority_by_topic: dict[str, float] = {}
    noindex: bool = False
    max_snippet: int | None = None
    ping_keys: tuple[str, ...] = ()
    blocked: bool = False
    removed: bool = False


class PollSignal(Record, frozen=True):
    """A wish to poll a feed sooner, or news of its subscription. Key: feed id.

    ping: its publisher asks, not before `until_ms`. websub: a verified delivery; `links` are the pages it named, never
    its text. burst: it may have news of an event, until `until_ms`. recheck: ask for the pages `links` again. lease,
    denied, unsubscribed: what a hub said of the subscription with this callback `token`; a lease lasts until
    `until_ms`.
    """

    feed_id: str
    signal: Literal["ping", "websub", "burst", "recheck", "lease", "denied", "unsubscribed"]
    signalled_ms: int
    links: tuple[str, ...] = ()
    until_ms: int = 0
    token: str = ""


class Subscription(Record, frozen=True):
    """A WebSub subscription as poll wants it, for push to verify. Key: feed id. Topic: websub.subscriptions.

    callback_token: the secret last part of the callback's path, 32 hex digits or more. secret: signs deliveries.
    pending, verified: a hub's question for mode subscribe is answered yes; unsubscribed: for mode unsubscribe, and
    deliveries are dropped. A record takes the place of the feed's one before: its callback is then unknown.
    """

    feed_id: str
    topic: str
    hub: str
    callback_token: str
    secret: str
    lease_until_ms: int = 0
    state: Literal["pending", "verified", "denied", "lapsed", "unsubscribed"] = "pending"
    removed: bool = False
