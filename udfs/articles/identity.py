"""Whether what was read of an article is new, a change, a repeat, older than what is known, or a retraction.

Pure: the row of the article, what was read and the instant of deciding go in; the next row and what to send come out.
The order of versions is that of fetching, never of arrival: a page always outranks the feed's entry, a later page an
earlier one, and a retraction everything read before it. So the events of one article end in the same row in whatever
order they arrive (only a retraction that comes before the article was ever met is lost: there is nothing to retract).
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import msgspec

from state_schemas.articles import Article, Label, Removed
from state_schemas.rows import ArticleRow

DAY_MS = 86_400_000
# Fields whose change makes a new version, in the order in which an update names them.
VERSIONED = ("title", "lede", "body", "labels")
_HASH_BYTES = 8


class Reading(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What one look at an article found, before it has a version. article: complete but for the identity's fields.

    read_ms: when it was fetched. from_page: read off its page, not told by the feed alone. body: its text.
    alone: a known page, checked again without its feed's entry: what only the entry may have stated (a lede that the
    page does not state itself, the language) stays as it was.
    """

    article: Article
    body: str
    read_ms: int
    from_page: bool
    alone: bool = False


class Retraction(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The publisher took the article back."""

    article_id: str
    read_ms: int
    found_ms: int
    reason: str
    publisher: str = ""


Event = Reading | Retraction
Status = Literal["new", "update", "duplicate", "older", "removed", "unknown_retracted"]


@dataclass(frozen=True, slots=True)
class Decision:
    """row: as it shall be stored, None for "leave it". send: records in order. status: the event's one end."""

    status: Status
    row: ArticleRow | None
    send: tuple[Article | Removed, ...] = ()


def decide(row: ArticleRow | None, event: Event, now_ms: int) -> Decision:
    """The decision on one event of the article that `row` is the memory of. now_ms: ms UTC, for the records' stamps."""
    if isinstance(event, Retraction):
        return _retracted(row, event, now_ms)
    return _new(event, now_ms) if row is None else _again(row, event, now_ms)


def changed_fields(row: ArticleRow, event: Reading) -> tuple[str, ...]:
    """Which of title, lede, body and labels differ from the row's."""
    return _differing(row, _held_hashes(row, event))


def _new(event: Reading, now_ms: int) -> Decision:
    article = event.article
    hashes = _hashes(event)
    row = ArticleRow(
        first_seen_ms=article.found_ms,
        version=1,
        language=article.language,
        read_ms=event.read_ms,
        tie=_tie(event),
        from_page=event.from_page,
        met_day=now_ms // DAY_MS,
        title=hashes["title"],
        lede=hashes["lede"],
        body=hashes["body"],
        labels=hashes["labels"],
    )
    return Decision("new", row, (_stamped(article, row, "new", (), now_ms),))


def _again(row: ArticleRow, event: Reading, now_ms: int) -> Decision:
    first_seen = min(row.first_seen_ms, event.article.found_ms)
    met = msgspec.structs.replace(row, first_seen_ms=first_seen, met_day=max(row.met_day, now_ms // DAY_MS))
    if _rank(event.from_page, event.read_ms, _tie(event)) <= _rank(row.from_page, row.read_ms, row.tie):
        repeat = not changed_fields(row, event) or (row.from_page and not event.from_page)
        return Decision("duplicate" if repeat else "older", met)
    # A feed goes on listing what its site has taken back: only the page itself, read later, brings it back.
    if row.removed_ms and (event.read_ms <= row.removed_ms or not event.from_page):
        return Decision("older" if event.from_page else "duplicate", _holding(met, event))
    changed = VERSIONED if row.removed else changed_fields(row, event)
    language = row.language if event.alone else event.article.language
    holding = _holding(met, event)
    if not changed and language == row.language:
        return Decision("duplicate", holding)
    # What is sent for another reason carries the event's own lede, be it a better one or not.
    hashes = _hashes(event)
    changed = VERSIONED if row.removed else _differing(row, hashes)
    holding = msgspec.structs.replace(
        holding, version=row.version + 1, language=language, lede=hashes["lede"], removed=False
    )
    article = _stamped(event.article, holding, "update", changed, now_ms)
    if language == row.language or row.removed:
        return Decision("update", holding, (article,))
    moved = Removed(
        article_id=article.article_id,
        language=row.language,
        version=holding.version,
        decided_ms=now_ms,
        reason="language_changed",
        publisher=article.publisher,
    )
    return Decision("update", holding, (moved, article))


def _retracted(row: ArticleRow | None, event: Retraction, now_ms: int) -> Decision:
    if row is None:
        return Decision("unknown_retracted", None)
    met = msgspec.structs.replace(
        row,
        first_seen_ms=min(row.first_seen_ms, event.found_ms),
        removed_ms=max(row.removed_ms, event.read_ms),
        met_day=max(row.met_day, now_ms // DAY_MS),
    )
    if row.removed:
        return Decision("duplicate", met)
    if row.from_page and row.read_ms > event.read_ms:
        return Decision("older", met)
    gone = msgspec.structs.replace(met, version=row.version + 1, removed=True)
    record = Removed(
        article_id=event.article_id,
        language=row.language,
        version=gone.version,
        decided_ms=now_ms,
        reason=event.reason or "retracted",
        publisher=event.publisher,
    )
    return Decision("removed", gone, (record,))


def _holding(row: ArticleRow, event: Reading) -> ArticleRow:
    """The row with the event's content as what is known."""
    return msgspec.structs.replace(
        row, read_ms=event.read_ms, tie=_tie(event), from_page=event.from_page, **_held_hashes(row, event)
    )


def _stamped(
    article: Article, row: ArticleRow, event: Literal["new", "update"], changed: tuple[str, ...], now_ms: int
) -> Article:
    return msgspec.structs.replace(
        article,
        language=row.language,
        version=row.version,
        event=event,
        changed=changed,
        first_seen_ms=row.first_seen_ms,
        decided_ms=now_ms,
    )


def _rank(from_page: bool, read_ms: int, tie: bytes) -> tuple[bool, int, bytes]:
    return from_page, read_ms, tie


def _hashes(event: Reading) -> dict[str, bytes]:
    article = event.article
    return {
        "title": _hash(article.title),
        "lede": _hash(article.lede),
        "body": _hash(event.body),
        "labels": _hash(_labels(article.labels)),
    }


def _differing(row: ArticleRow, hashes: dict[str, bytes]) -> tuple[str, ...]:
    return tuple(name for name in VERSIONED if getattr(row, name) != hashes[name])


def _held_hashes(row: ArticleRow, event: Reading) -> dict[str, bytes]:
    """The event's, with the row's lede where the event cannot know it."""
    hashes = _hashes(event)
    if event.alone and row.lede and event.article.sources.get("lede", "page") == "page":
        hashes["lede"] = row.lede
    return hashes


def _labels(labels: tuple[Label, ...]) -> str:
    return ",".join(sorted(labels))


def _tie(event: Reading) -> bytes:
    article = event.article
    return _hash("\x00".join((article.language, article.title, article.lede, event.body, _labels(article.labels))))


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest() if text else b""
