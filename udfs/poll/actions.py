"""What follows from an event, as data: the operator carries it out. Nothing here decides."""

from __future__ import annotations

from dataclasses import dataclass

from state_schemas.fetching import Entry, FetchRequest, RawItem
from state_schemas.polling import FeedState
from state_schemas.sources import Subscription


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


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Tell push of a subscription: what to answer its hub, and how its deliveries are signed."""

    subscription: Subscription


@dataclass(frozen=True, slots=True)
class Found:
    """What a poll brought, for the metrics alone.

    new: items. late: of these, how many bear a time from before the poll before this one, so that they came late or
    are dated back. delays_ms: of the others that bear a believable time, from it to now. audited_ms: of items that an
    audit saw, from the time they came until the schedule asks. overran: items were lost between polls. pushed: a push
    asked for the poll. useless: the feed's validators were found to be.
    """

    new: int
    late: int = 0
    delays_ms: tuple[int, ...] = ()
    audited_ms: tuple[int, ...] = ()
    overran: bool = False
    pushed: bool = False
    useless: bool = False


Action = Ask | Hold | Serve | SetAside | Subscribe | Found
Decision = tuple[FeedState, tuple[Action, ...]]
