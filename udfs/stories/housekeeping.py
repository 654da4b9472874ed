"""What stream time brings to a writer, between its records: new stories counted, old ones ended, older ones forgotten.

Decides when; all instants are the writer's clock. Frequencies take in new stories at fixed points of the log (a number
of decisions, or an hour), expiry happens once a minute, and what expired is forgotten a month later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_schemas.clusters import ARTICLES, MEMBERS, RETIRED, WRITER, ArticleState
from udfs.stories.policy import MINUTE_MS

if TYPE_CHECKING:
    from udfs.stories.writer import LanguageWriter

_ID_BYTES = 16


def block_of(key: str) -> int:
    """The block that a frequencies row of map `writer` holds."""
    return int(key.removeprefix("df:"))


def sweep(writer: LanguageWriter, now_ms: int) -> None:
    """Do what is due at `now_ms`, before the record that brought that time is decided."""
    state = writer.state
    minute = state.clock_ms // MINUTE_MS
    if minute <= state.swept_minute:
        return
    retired = _expire_stories(writer, now_ms) + _expire_retracted(writer, now_ms)
    if retired:
        writer.ledger.put(RETIRED, str(minute), bytes.fromhex("".join(retired)))
    if state.swept_minute:
        _forget_retired(writer, state.swept_minute, minute)
    writer.set(swept_minute=minute)


def learn(writer: LanguageWriter, now_ms: int) -> None:
    """After a record: count new stories, where enough was decided or an hour has passed since the last time.

    After and not before the next one, so that a repeated record, which decides nothing, moves nothing either.
    """
    state, policy = writer.state, writer.policy
    decided = state.sequence - state.folded
    enough = min(policy.fold_every, max(policy.fold_first, state.folded))
    if decided >= enough or (decided and now_ms - state.folded_ms >= policy.fold_after_ms):
        _fold(writer, now_ms)


def _fold(writer: LanguageWriter, now_ms: int) -> None:
    """Count the stories that started since the last time, by their first article as it now is."""
    for story in writer.live.fresh:
        if story.story_id in writer.live.stories:
            writer.frequencies.add(story.originals[0].terms, now_ms)
    writer.live.fresh = []
    for block, data in writer.frequencies.take_touched():
        writer.ledger.put(WRITER, f"df:{block:02d}", data)
    writer.set(
        folded=writer.state.sequence,
        folded_ms=now_ms,
        df_epoch_ms=writer.frequencies.epoch_ms,
        documents=writer.frequencies.documents,
    )


def _expire_stories(writer: LanguageWriter, now_ms: int) -> list[str]:
    """End the stories whose time is up, oldest first; the ids of their articles."""
    retired: list[str] = []
    for _ in range(writer.policy.expired_at_once):
        story = writer.live.next_due(now_ms)
        if story is None:
            break
        writer.live.end(story)
        for member in story.members.values():
            writer.ledger.put(ARTICLES, member.article_id, ArticleState(story.story_id, member.row.version))
            retired.append(member.article_id)
        writer.emit("expired", story, now_ms, None)
    return retired


def _expire_retracted(writer: LanguageWriter, now_ms: int) -> list[str]:
    gone = [
        article_id
        for article_id, member in writer.live.retracted.items()
        if member.row.decided_ms + writer.policy.live_ms <= now_ms
    ]
    for article_id in sorted(gone):
        member = writer.live.retracted.pop(article_id)
        writer.ledger.remove(MEMBERS, article_id)
        writer.ledger.put(ARTICLES, article_id, ArticleState("", member.row.version))
    return sorted(gone)


def _forget_retired(writer: LanguageWriter, swept_minute: int, minute: int) -> None:
    """Remove the articles whose month ended between two sweeps; at most a month of minutes is looked at."""
    known_minutes = writer.policy.known_ms // MINUTE_MS
    first = max(swept_minute + 1, minute - known_minutes)
    for past in range(first - known_minutes, minute - known_minutes + 1):
        block = writer.ledger.read(RETIRED, str(past))
        if block:
            writer.ledger.remove(RETIRED, str(past))
            for at in range(0, len(block), _ID_BYTES):
                writer.ledger.remove(ARTICLES, block[at : at + _ID_BYTES].hex())
