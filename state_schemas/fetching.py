"""What is asked of the fetch tier and what it answers. Topics: fetch.requests(.priority), feeds.fetched, items.raw."""

from __future__ import annotations

from typing import Literal

from state_schemas.codec import Record
from state_schemas.sources import Origin

# A zstd body above this travels as the object evidence/{sha256}, and the record names it.
INLINE_BODY_BYTES = 900 * 1024


class Entry(Record, frozen=True):
    """One item in its feed's own words; texts may hold HTML. Instants: ms UTC, None where unknown.

    identity: 16 hex digits, the 64-bit hash of guid, else link, else title and date.
    source_url, source_name: the original publisher an aggregating feed names (RSS `source`).
    """

    identity: str
    guid: str = ""
    link: str = ""
    title: str = ""
    summary: str = ""
    content: str = ""
    authors: tuple[str, ...] = ()
    published_ms: int | None = None
    updated_ms: int | None = None
    categories: tuple[str, ...] = ()
    image: str = ""
    language: str = ""
    source_url: str = ""
    source_name: str = ""


class Body(Record, frozen=True):
    """A response body: a zstd frame, or the object that holds one. size: bytes before compression."""

    size: int
    zstd: bytes = b""
    evidence: str = ""  # hex SHA-256 of the uncompressed bytes; object evidence/{sha256}
    content_type: str = ""


class FetchRequest(Record, frozen=True):
    """One request to the fetch tier. Key: host.

    kind: a feed or page is got; to a hub (WebSub) `form` is posted, and only whether it took it is answered.
    floor_ms: a feed asked again sooner than this after the last request is refused (`within_floor`).
    entry, found_ms: for pages, the feed's own item and when it was first found; they come back with the answer.
    recheck: the page is known and asked for again: the fetcher adds its own validators, and nothing is sent where it is
    as it was. missing_ms: when it first answered 404, in a request that was handed back for it; else 0.
    """

    request_id: str
    kind: Literal["feed", "page", "hub"]
    url: str
    host: str
    feed_id: str
    origin: Origin
    requested_ms: int
    etag: str = ""
    last_modified: str = ""
    floor_ms: int = 0
    entry: Entry | None = None
    found_ms: int = 0
    attempt: int = 0
    recheck: bool = False
    form: dict[str, str] = {}
    missing_ms: int = 0


Outcome = Literal["fetched", "not_modified", "gone", "failed", "refused", "deferred"]


class FetchResult(Record, frozen=True):
    """The answer to a feed or hub request, or a deferred page request handed back. Key: feed id. Topic: feeds.fetched.

    outcome: fetched (2xx with a body), not_modified (304), gone (410), failed (any other status, time-out, broken
    transfer), refused (never asked: robots, private address, scheme, floor), deferred (the host's gate, breaker or
    Retry-After: ask again at `not_before_ms`). reason: a code for all but the first two.
    moved_to: the address all of whose redirects on the way were permanent, else empty.
    """

    request_id: str
    feed_id: str
    kind: Literal["feed", "page", "hub"]
    url: str
    outcome: Outcome
    fetched_ms: int
    reason: str = ""
    detail: str = ""
    status: int = 0
    final_url: str = ""
    moved_to: str = ""
    etag: str = ""
    last_modified: str = ""
    date_ms: int | None = None
    retry_after_ms: int | None = None  # a duration from receipt
    max_age_ms: int | None = None
    not_before_ms: int = 0
    link_header: str = ""  # as received: hub and self of WebSub
    body: Body | None = None
    elapsed_ms: int = 0
    request: FetchRequest | None = None  # of a deferred page, so that it can be asked again


class RawItem(Record, frozen=True):
    """The raw evidence of one article. Key: 64-bit hash of `url`, the address asked for. Topic: items.raw.

    kind: page (a body came), entry (the page could not be had, `reason` says why: the entry serves), retraction
    (410, or the publisher said so; `reason`), reinstatement (the operator takes his retraction back). by_operator: the
    retraction is ours; only a reinstatement, and then its page, brings the article back. article_id: of a retraction
    that parsing found for an article by another of its addresses. headers: lower-case names of those parsing needs.
    found_ms: when the item was first found in a feed: the article's first-seen time comes from it.
    """

    kind: Literal["page", "entry", "retraction", "reinstatement"]
    url: str
    origin: Origin
    found_ms: int
    fetched_ms: int
    feed_id: str = ""
    request_id: str = ""
    final_url: str = ""
    status: int = 0
    headers: dict[str, str] = {}
    body: Body | None = None
    entry: Entry | None = None
    reason: str = ""
    detail: str = ""
    recheck: bool = False
    by_operator: bool = False
    article_id: str = ""
