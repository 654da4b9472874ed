"""Which of the writers' changes say that no page may show an article any more, and how publishing hears of it.

Decides from one change, and adds to one cycle's pages; keeps nothing. A cycle without a single story, or an edition
without pages, carries tombstones all the same: the page that is out may show what was taken back.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from state_schemas.pages import EditionPages, Tombstone
from state_schemas.stories import StoryChange
from udfs.editions import Edition


def tombstone_of(change: StoryChange) -> Tombstone | None:
    """What a change says of its article's tombstone, if anything. One that moved to another language stays in print."""
    retracted = change.change == "retracted"
    moved = change.cause == "language_changed"
    if change.article is None or moved or not (retracted or change.cause == "reinstated"):
        return None
    return Tombstone(
        article_id=change.article.article_id,
        retracted=retracted,
        decided_ms=change.decided_ms,
        reason=change.cause if retracted else "",
        language=change.language,
    )


def with_tombstones(
    ranked: Sequence[EditionPages], editions: Sequence[Edition], now_ms: int, tombstones: tuple[Tombstone, ...]
) -> Sequence[EditionPages]:
    """The cycle's pages with the tombstones; where there are any, every edition has an entry."""
    if not tombstones:
        return ranked
    found = {pages.edition: pages for pages in ranked}
    return [
        replace(
            found.get(edition.id) or EditionPages(edition=edition.id, cycle=now_ms, pages=()), tombstones=tombstones
        )
        for edition in editions
    ]
