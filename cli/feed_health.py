"""How each feed does, from what the topics hold: answers, page requests, quarantine. Pure: records in, rows out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from state_schemas.codec import DecodeError, decode_record
from state_schemas.sources import Source

T = TypeVar("T", bound=msgspec.Struct)

# As the poll job's own table: so many failures in a row, and a failing feed is sick.
SICK_AFTER = 5


class _Answer(msgspec.Struct):
    """What health needs of a FetchResult: bodies are skipped undecoded."""

    feed_id: str
    kind: str
    outcome: str
    fetched_ms: int
    status: int = 0
    reason: str = ""
    elapsed_ms: int = 0


class _Request(msgspec.Struct):
    feed_id: str
    kind: str
    attempt: int = 0
    found_ms: int = 0
    recheck: bool = False


class _Aside(msgspec.Struct):
    reason: str
    at_ms: int
    stage: str = ""
    subject: str = ""


@dataclass(slots=True)
class FeedHealth:
    """One feed. Instants: ms UTC, 0 where never; counts: over what the topics keep, a day.

    health: healthy, waiting (deferred by its host or too early), failing, sick (SICK_AFTER failures in a row), gone
    (410), refused (never asked), never (no answer yet). bodies: answers that brought a document; wasted: of these, how
    many held nothing new. pages: page requests that its entries led to.
    set_aside: quarantine reason -> records that name the feed.
    """

    feed_id: str
    url: str
    publisher: str
    tier: str
    health: str = "never"
    last_poll_ms: int = 0
    last_success_ms: int = 0
    outcome: str = ""
    status: int = 0
    reason: str = ""
    elapsed_ms: int = 0
    polls: int = 0
    not_modified: int = 0
    bodies: int = 0
    wasted: int = 0
    failures: int = 0
    failures_in_a_row: int = 0
    pages: int = 0
    set_aside: dict[str, int] = field(default_factory=dict)


def feed_health(
    sources: Iterable[Source], answers: Iterable[bytes], requests: Iterable[bytes], asides: Iterable[bytes]
) -> list[FeedHealth]:
    """The health of each source, worst first. answers: in order for each feed; undecodable records are skipped."""
    found = {
        source.feed_id: FeedHealth(source.feed_id, source.url, source.origin.publisher, source.tier)
        for source in sources
    }
    for record in answers:
        answer = _decoded(_Answer, record)
        if answer is not None and answer.kind == "feed" and answer.feed_id in found:
            _take(found[answer.feed_id], answer)
    brought: dict[str, set[int]] = {}  # the polls that found something: their pages were found at one instant
    for record in requests:
        request = _decoded(_Request, record)
        if request is not None and request.kind == "page" and not request.attempt and request.feed_id in found:
            found[request.feed_id].pages += 1
            if not request.recheck:
                brought.setdefault(request.feed_id, set()).add(request.found_ms)
    for entry in found.values():
        entry.wasted = max(0, entry.bodies - len(brought.get(entry.feed_id, ())))
    for record in asides:
        aside = _decoded(_Aside, record)
        if aside is None or aside.subject not in found:
            continue
        entry = found[aside.subject]
        entry.set_aside[aside.reason] = entry.set_aside.get(aside.reason, 0) + 1
        if aside.stage == "poll" and aside.reason in DOCUMENT_FAULTS and aside.at_ms >= entry.last_success_ms > 0:
            # The last answer came, but what it held could not be read.
            entry.health, entry.reason = "failing", aside.reason
    rank = {"sick": 0, "gone": 1, "refused": 2, "failing": 3, "never": 4, "waiting": 5, "healthy": 6}
    return sorted(found.values(), key=lambda entry: (rank[entry.health], entry.publisher, entry.url))


# Reasons of a document that is no feed, or only in part.
DOCUMENT_FAULTS = frozenset(
    {
        "feed_empty",
        "feed_too_large",
        "xml_entities",
        "xml_names",
        "html_not_feed",
        "not_a_feed",
        "feed_unparsable",
        "json_invalid",
        "feed_reader_failed",
        "front_without_articles",
    }
)


def _take(entry: FeedHealth, answer: _Answer) -> None:
    entry.polls += 1
    entry.last_poll_ms = answer.fetched_ms
    entry.outcome, entry.status, entry.reason = answer.outcome, answer.status, answer.reason
    entry.elapsed_ms = answer.elapsed_ms
    if answer.outcome in ("fetched", "not_modified"):
        entry.not_modified += answer.outcome == "not_modified"
        entry.bodies += answer.outcome == "fetched"
        entry.failures_in_a_row = 0
        entry.last_success_ms = answer.fetched_ms
        entry.health = "healthy"
        return
    if answer.outcome == "deferred" or answer.reason == "within_floor":
        if entry.health in ("never", "healthy"):
            entry.health = "waiting"
        return
    entry.failures += 1
    entry.failures_in_a_row += 1
    if answer.outcome in ("gone", "refused"):
        entry.health = answer.outcome
    else:
        entry.health = "sick" if entry.failures_in_a_row >= SICK_AFTER else "failing"


def _decoded(kind: type[T], record: bytes) -> T | None:
    try:
        return decode_record(kind, record)
    except DecodeError:
        return None
