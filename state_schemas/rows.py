"""What parse remembers of each article: enough to tell new, changed, repeated and older versions apart, and no text.

Keyed state of the parse job, one `ArticleRow` an article id, about 100 bytes as stored; kept for 90 days after it was
last met.
"""

from __future__ import annotations

from state_schemas.codec import State


class ArticleRow(State, frozen=True):
    """One article. Instants: ms UTC. Hashes: 8 bytes of BLAKE2b, empty for an empty field.

    version: of the last record sent. language: whose log it stands in. read_ms: when what it holds was fetched; with
    `tie` (8 bytes of the whole content) it orders versions that were fetched at the same instant. from_page: an
    article's page was read; entries alone never change it again. removed_ms: when it was retracted, 0 if it was not.
    met_day: days since 1970 of the last event, for expiry.
    """

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
