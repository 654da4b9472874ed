"""What parse remembers of each article: enough to tell new, changed, repeated and older versions apart, and no text.

Keyed state of the parse job, one `ArticleRow` an article id, about 100 bytes as stored; kept for 90 days after it was
last met.
"""

from __future__ import annotations

from typing import Any, ClassVar

from state_schemas.codec import State, upgrades

# Which of two readings counts: (read off its page, when it was fetched in ms UTC, 8 bytes of its content).
ReadingRank = tuple[bool, int, bytes]


class RareFacts(State, frozen=True):
    """What few rows have; a row without any of it stores one byte for them all.

    language_from, lede_from: the rank of the reading that language and lede were taken from, where a later re-check
    that cannot know them holds the rest; None: the row's own. command_ms, withheld: the operator's last word, if any.
    leads_to: the id of the article that the page at this address says it is, empty for none; leads_ms: when it said so.
    waiting: packed events that came before the article did, oldest first.
    """

    language_from: ReadingRank | None = None
    lede_from: ReadingRank | None = None
    command_ms: int = 0
    withheld: bool = False
    leads_to: str = ""
    leads_ms: int = 0
    waiting: tuple[bytes, ...] = ()


class ArticleRow(State, frozen=True):
    """One article. Instants: ms UTC. Hashes: 8 bytes of BLAKE2b, empty for an empty field.

    version: of the last record sent, 0 for an address under which no article was met yet (see RareFacts). language:
    whose log it stands in. read_ms: when what it holds was fetched, below 0 if told by others than its own site;
    with `tie` (8 bytes of the whole content) it orders versions that were fetched at the same instant. from_page:
    an article's page was read; entries alone never change it again. removed_ms: when it was retracted, 0 if it was
    not. removed: its log says it is gone. met_day: days since 1970 of the last event, for expiry. published_s: the
    claimed date in seconds since 1970, 0 for none. redated_day: the day of reading for which a version was last
    sent because of its date alone.
    """

    VERSION: ClassVar[int] = 2

    first_seen_ms: int
    version: int
    language: str
    read_ms: int
    tie: bytes
    from_page: bool
    title: bytes
    lede: bytes
    body: bytes
    labels: bytes
    met_day: int
    removed_ms: int = 0
    removed: bool = False
    published_s: int = 0
    redated_day: int = 0
    rare: RareFacts | None = None


@upgrades(ArticleRow, 1)
def _dated(fields: list[Any]) -> list[Any]:
    return [*fields, 0, 0, None]
