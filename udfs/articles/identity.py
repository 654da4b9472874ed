"""Whether what was read of an article is new, a change, a repeat, older than what is known, or a retraction.

Pure: the row of the article, what was read and the instant of deciding go in; the next row and what to send come out.
The order of versions is that of fetching, never of arrival: a page always outranks the feed's entry, a later page an
earlier one, and a retraction everything read before it. So the events of one article end in the same row in whatever
order they arrive. What cannot be decided before its article was met (a retraction, a re-check without its feed's
entry) waits in the row and is decided right after it. Reading order: decide, _unmet, _read, _retracted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from state_schemas.articles import Article, DateFault, Removed
from state_schemas.rows import ArticleRow, RareFacts
from udfs.articles.events import (
    Alias,
    Event,
    Reading,
    Reinstatement,
    Retraction,
    claimed_s,
    hashes_of,
    pack_event,
    rank_of,
    states_lede,
    tie_of,
    unpack_event,
)

DAY_MS = 86_400_000
# Fields whose change makes a new version, in the order in which an update names them; the claimed date comes last.
VERSIONED = ("title", "lede", "body", "labels")
# Of these the row knows only hashes; a reading that has them all alike can stand in for the one that is held.
_CORE = ("title", "body", "labels")
_NOTHING = RareFacts()


@dataclass(frozen=True, slots=True)
class IdentityPolicy:
    """Bounds of the decision. far and future are judgements, for publishers to be counted by, never to refuse by."""

    far_ms: int = 7 * DAY_MS  # claimed so long before it was first seen: an old article, or the first poll of a feed
    future_ms: int = 600_000  # claimed later than it was fetched: past what clocks differ by (writer's jump_ms as well)
    redated_ms: int = 3_600_000  # the claimed date moved later by this and into another day: dated anew, not corrected
    waiting_events: int = 8  # of one article that was not met yet, the newest kept
    waiting_bytes: int = 16 * 1024  # of them all: retractions take 100 each, a re-check as much as its page's text


Status = Literal["new", "update", "duplicate", "older", "removed", "reinstated", "alias", "waiting", "waited_too_large"]


@dataclass(frozen=True, slots=True)
class Decision:
    """row: as it shall be stored, None for "leave it". send: records in order. status: the event's one end.

    bodies: the text of each record sent. forward: the retraction, for the article that this address is another one of.
    """

    status: Status
    row: ArticleRow | None
    send: tuple[Article | Removed, ...] = ()
    bodies: tuple[str, ...] = ()
    forward: Retraction | None = None


_POLICY = IdentityPolicy()


def decide(row: ArticleRow | None, event: Event, now_ms: int, policy: IdentityPolicy = _POLICY) -> Decision:
    """The decision on one event of the article that `row` is the memory of. now_ms: ms UTC, for the records' stamps."""
    if isinstance(event, Alias):
        return _alias(row, event, now_ms)
    decided = (
        _known(row, event, now_ms, policy) if row is not None and row.version else _unmet(row, event, now_ms, policy)
    )
    if isinstance(event, Retraction) and row is not None and row.rare is not None:
        return replace(decided, forward=_forward(row.rare, event))
    return decided


def without_waiting(row: ArticleRow) -> ArticleRow | None:
    """The row of an address that no article was met under, without the events that wait there; None if that is all."""
    rare = row.rare or _NOTHING
    return _with(row, waiting=()) if rare.leads_to else None


def is_waiting(row: ArticleRow) -> bool:
    """Whether the row is there only for events that came before their article."""
    return not row.version and not (row.rare or _NOTHING).leads_to


def is_withheld(row: ArticleRow) -> bool:
    """Whether the operator's last word on the article is that it is taken back: such a row is never forgotten."""
    rare = row.rare or _NOTHING
    waiting = filter(_is_command, map(unpack_event, rare.waiting))
    told = [(event.read_ms, isinstance(event, Retraction)) for event in waiting]
    return max([(rare.command_ms, rare.withheld), *told])[1]


def changed_fields(row: ArticleRow, event: Reading) -> tuple[str, ...]:
    """Which of title, lede, body and labels differ from the row's."""
    hashes = hashes_of(event)
    if not states_lede(event):
        hashes["lede"] = row.lede
    return _differing(row, hashes, VERSIONED)


# ---------------------------------------------------------------- an article that was not met yet


def _unmet(row: ArticleRow | None, event: Event, now_ms: int, policy: IdentityPolicy) -> Decision:
    waiting = (row.rare or _NOTHING).waiting if row is not None else ()
    if isinstance(event, Reading) and not event.alone:
        return _new(row, event, tuple(unpack_event(data) for data in waiting), now_ms, policy)
    packed = pack_event(event)
    if len(packed) > policy.waiting_bytes:
        return Decision("waited_too_large", None)
    events = {data: unpack_event(data) for data in (*waiting, packed)}
    if len(events) > policy.waiting_events:
        # Many retractions say no more than the latest of them.
        told = [data for data, one in events.items() if isinstance(one, Retraction) and not one.by_operator]
        for data in sorted(told, key=lambda data: events[data].read_ms)[:-1]:
            del events[data]
    # What the operator said goes last of all: no flood of re-checks makes it forgotten.
    ordered = sorted(events, key=lambda data: (_is_command(events[data]), events[data].read_ms, data))
    ordered = ordered[-policy.waiting_events :]
    while sum(map(len, ordered)) > policy.waiting_bytes:
        del ordered[0]
    ordered.sort(key=lambda data: (events[data].read_ms, data))
    base = row if row is not None else _empty(now_ms)
    met = msgspec.structs.replace(base, met_day=max(base.met_day, now_ms // DAY_MS))
    return Decision("waiting", _with(met, waiting=tuple(ordered)))


def _is_command(event: Event) -> bool:
    return isinstance(event, Reinstatement) or (isinstance(event, Retraction) and event.by_operator)


def _new(
    row: ArticleRow | None, event: Reading, waiting: tuple[Event, ...], now_ms: int, policy: IdentityPolicy
) -> Decision:
    article, hashes = event.article, hashes_of(event)
    made = ArticleRow(
        first_seen_ms=article.found_ms,
        version=1,
        language=article.language,
        read_ms=rank_of(event)[1],
        tie=tie_of(event),
        from_page=event.from_page,
        met_day=now_ms // DAY_MS,
        title=hashes["title"],
        lede=hashes["lede"],
        body=hashes["body"],
        labels=hashes["labels"],
        published_s=claimed_s(article),
        rare=row.rare if row is not None else None,
    )
    made = _with(made, waiting=())
    first = _stamped(article, made, "new", (), now_ms, _faults(None, made, event, policy))
    decided = Decision("new", made, (first,), (event.body,))
    for one in waiting:
        later = _known(made, one, now_ms, policy)
        made = later.row or made
        decided = Decision("new", made, decided.send + later.send, decided.bodies + later.bodies)
    # What was retracted before it was met is never shown: its log need not hear of it.
    return Decision("removed", made) if made.removed else decided


def _alias(row: ArticleRow | None, event: Alias, now_ms: int) -> Decision:
    known = row if row is not None else _empty(now_ms)
    rare = known.rare or _NOTHING
    leads_ms, leads_to = max((rare.leads_ms, rare.leads_to), (event.read_ms, event.leads_to))
    known = msgspec.structs.replace(known, met_day=max(known.met_day, now_ms // DAY_MS))
    known = _with(known, leads_to=leads_to, leads_ms=leads_ms)
    waiting = [one for one in map(unpack_event, rare.waiting) if isinstance(one, Retraction)]
    forward = _forward(known.rare, waiting[-1]) if waiting and known.rare is not None else None
    return Decision("alias", known, forward=forward)


def _forward(rare: RareFacts, event: Retraction) -> Retraction | None:
    """The retraction for the article that the address is another one of.

    404 is not forwarded: of two addresses of an article, one may end without a successor (a site drops its AMP pages).
    """
    if not rare.leads_to or event.forwarded or event.reason == "status_404":
        return None
    return msgspec.structs.replace(event, article_id=rare.leads_to, forwarded=True)


# ---------------------------------------------------------------- an article that is known


def _known(row: ArticleRow, event: Event, now_ms: int, policy: IdentityPolicy) -> Decision:
    if isinstance(event, Reading):
        return _read(row, event, now_ms, policy)
    if isinstance(event, Retraction):
        return _retracted(row, event, now_ms)
    assert isinstance(event, Reinstatement)
    return Decision("reinstated", _commanded(_met(row, event.found_ms, now_ms), event.read_ms, False))


def _read(row: ArticleRow, event: Reading, now_ms: int, policy: IdentityPolicy) -> Decision:
    rank, hashes, rare = rank_of(event), hashes_of(event), row.rare or _NOTHING
    held = (row.from_page, row.read_ms, row.tie)
    wins = rank > held
    alike = not _differing(row, hashes, _CORE)
    tells = not event.alone and rank > (rare.language_from or held)
    states = states_lede(event) and rank > (rare.lede_from or held)
    language = event.article.language if tells else row.language
    lede = hashes["lede"] if states else row.lede
    # Only a text that is current can be sent: an older one may bring its lede and language where all else is alike.
    current = wins or alike
    if language != row.language and not current and not row.removed:
        tells, language = False, row.language
    next_row = _met(row, event.article.found_ms, now_ms)
    next_row = msgspec.structs.replace(next_row, lede=lede)
    next_row = _with(
        next_row,
        language_from=rank if tells else (rare.language_from or held),
        lede_from=rank if states else (rare.lede_from or held),
    )
    redated = wins and _redated(row, event)
    if wins:
        next_row = msgspec.structs.replace(
            next_row,
            read_ms=rank[1],
            tie=tie_of(event),
            from_page=event.from_page,
            published_s=claimed_s(event.article),
            **{name: hashes[name] for name in _CORE},
        )
    next_row = _tidied(next_row)
    if row.removed:
        if _gone(next_row) or not wins:
            status: Status = "older" if event.from_page else "duplicate"
            return Decision(status, msgspec.structs.replace(next_row, language=language))
        return _sent(row, next_row, event, VERSIONED, language, now_ms, policy)
    changed: tuple[str, ...] = ()
    if current:
        changed = _differing(row, hashes, VERSIONED if states else _CORE)
    if redated and (changed or event.read_ms // DAY_MS > row.redated_day):
        changed += ("published",)
    if not changed and language == row.language:
        repeat = wins or not changed_fields(row, event) or (row.from_page and not event.from_page)
        return Decision("duplicate" if repeat else "older", next_row)
    if not states and wins and _differing(row, hashes, ("lede",)):
        # What is sent for another reason carries the event's own lede, be it a better one or not.
        changed = tuple(name for name in (*VERSIONED, "published") if name == "lede" or name in changed)
    return _sent(row, next_row, event, changed, language, now_ms, policy)


def _sent(
    row: ArticleRow,
    next_row: ArticleRow,
    event: Reading,
    changed: tuple[str, ...],
    language: str,
    now_ms: int,
    policy: IdentityPolicy,
) -> Decision:
    redated_day = event.read_ms // DAY_MS if changed == ("published",) else row.redated_day
    next_row = msgspec.structs.replace(
        next_row, version=row.version + 1, language=language, removed=False, redated_day=redated_day
    )
    article = _stamped(event.article, next_row, "update", changed, now_ms, _faults(row, next_row, event, policy))
    if language == row.language or row.removed:
        return Decision("update", next_row, (article,), (event.body,))
    moved = _tombstone(article.article_id, row, next_row.version, "language_changed", article.publisher, now_ms)
    return Decision("update", next_row, (moved, article), ("", event.body))


def _retracted(row: ArticleRow, event: Retraction, now_ms: int) -> Decision:
    met = _met(row, event.found_ms, now_ms)
    met = msgspec.structs.replace(met, removed_ms=max(row.removed_ms, event.read_ms))
    if event.by_operator:
        met = _commanded(met, event.read_ms, True)
    if row.removed:
        return Decision("duplicate", met)
    if not _gone(met):
        return Decision("older", met)
    gone = msgspec.structs.replace(met, version=row.version + 1, removed=True)
    reason = event.reason or "retracted"
    record = _tombstone(event.article_id, row, gone.version, reason, event.publisher, now_ms)
    return Decision("removed", gone, (record,), ("",))


def _gone(row: ArticleRow) -> bool:
    """A feed goes on listing what its site has taken back: only the page itself, read later, brings it back."""
    withheld = row.rare is not None and row.rare.withheld
    return withheld or bool(row.removed_ms and not (row.from_page and row.read_ms > row.removed_ms))


def _commanded(row: ArticleRow, at_ms: int, withheld: bool) -> ArticleRow:
    """The operator's last word counts; of two at the same instant, the retraction."""
    rare = row.rare or _NOTHING
    command_ms, last = max((rare.command_ms, rare.withheld), (at_ms, withheld))
    return _with(row, command_ms=command_ms, withheld=last)


def _redated(row: ArticleRow, event: Reading) -> bool:
    """Whether the claimed date is in another day than the row's. Between page, entry and others it means nothing."""
    new = claimed_s(event.article)
    alike = row.from_page == event.from_page and (row.read_ms < 0) == event.by_others
    return bool(new and row.published_s and alike) and new // 86_400 != row.published_s // 86_400


def _faults(row: ArticleRow | None, made: ArticleRow, event: Reading, policy: IdentityPolicy) -> tuple[DateFault, ...]:
    """What is odd about the claimed date. row: before this version, None for the first."""
    claimed = event.article.published_ms
    if claimed is None:
        return ()
    faults: list[DateFault] = []
    if made.first_seen_ms - claimed > policy.far_ms:
        faults.append("far")
    if row is not None and _redated(row, event) and claimed - 1000 * row.published_s >= policy.redated_ms:
        faults.append("redated")
    if claimed - event.read_ms > policy.future_ms:
        faults.append("future")
    return tuple(faults)


# ---------------------------------------------------------------- rows and hashes


def _empty(now_ms: int) -> ArticleRow:
    return ArticleRow(0, 0, "", 0, b"", False, b"", b"", b"", b"", now_ms // DAY_MS)


def _met(row: ArticleRow, found_ms: int, now_ms: int) -> ArticleRow:
    return msgspec.structs.replace(
        row, first_seen_ms=min(row.first_seen_ms, found_ms), met_day=max(row.met_day, now_ms // DAY_MS)
    )


def _with(row: ArticleRow, **facts: object) -> ArticleRow:
    """The row with some of its rare facts; without any, it has none."""
    rare = msgspec.structs.replace(row.rare or _NOTHING, **facts)
    return msgspec.structs.replace(row, rare=None if rare == _NOTHING else rare)


def _tidied(row: ArticleRow) -> ArticleRow:
    """Ranks that are the row's own are not stored."""
    rare, held = row.rare or _NOTHING, (row.from_page, row.read_ms, row.tie)
    return _with(
        row,
        language_from=None if rare.language_from == held else rare.language_from,
        lede_from=None if rare.lede_from == held else rare.lede_from,
    )


def _stamped(
    article: Article,
    row: ArticleRow,
    event: Literal["new", "update"],
    changed: tuple[str, ...],
    now_ms: int,
    faults: tuple[DateFault, ...],
) -> Article:
    return msgspec.structs.replace(
        article,
        language=row.language,
        version=row.version,
        event=event,
        changed=changed,
        first_seen_ms=row.first_seen_ms,
        decided_ms=now_ms,
        date_faults=faults,
    )


def _tombstone(article_id: str, row: ArticleRow, version: int, reason: str, publisher: str, now_ms: int) -> Removed:
    return Removed(
        article_id=article_id,
        language=row.language,
        version=version,
        decided_ms=now_ms,
        reason=reason,
        publisher=publisher,
    )


def _differing(row: ArticleRow, hashes: dict[str, bytes], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if getattr(row, name) != hashes[name])
