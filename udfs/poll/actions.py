"""What follows from an event, as data: the operator carries it out. Nothing here decides."""

from __future__ import annotations

from dataclasses import dataclass

from state_schemas.fetching import Entry, FetchRequest, RawItem
from state_schemas.polling import FeedState


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
