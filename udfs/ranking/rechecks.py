"""Which articles' pages are to be asked for again, because they stand for a story on a page: edits and retractions.

Decides from one cycle's pages alone; keeps nothing. Each article has its own instants on a grid, given by a hash of its
id, and is asked for in the cycle that one falls into: so a restart asks for no more than any other cycle, and articles
that came together are not asked for together. A cycle that was skipped leaves its articles to their next instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from zlib import crc32

from state_schemas.pages import EditionPages, Link
from state_schemas.ranking import Member, StoryView
from state_schemas.sources import PollSignal
from udfs.ranking.policy import RankingPolicy


def rechecks(
    pages: Sequence[EditionPages], views: Mapping[str, StoryView], now_ms: int, policy: RankingPolicy
) -> tuple[PollSignal, ...]:
    """The wishes of the cycle at `now_ms`, at most `rechecks_a_cycle`: the best placed go first, the others wait for
    their next instant.

    Nothing is asked for an article of which no feed is known.
    """
    signals: dict[str, PollSignal] = {}
    for story, link in _by_place(pages):
        if link.article_id in signals or not due(link, now_ms, policy):
            continue
        member = _member(views.get(story), link.article_id)
        if member is None or not member.feed_id:
            continue
        signals[link.article_id] = PollSignal(
            feed_id=member.feed_id, signal="recheck", signalled_ms=now_ms, links=(link.url,)
        )
        if len(signals) == policy.rechecks_a_cycle:
            break
    return tuple(signals.values())


def due(link: Link, now_ms: int, policy: RankingPolicy) -> bool:
    """Whether one of the article's instants lies within the cycle that ends at `now_ms`.

    An article younger than the shorter interval was read just now.
    """
    age_ms = now_ms - link.first_seen_ms
    if age_ms < policy.recheck_young_ms:
        return False
    every_ms = policy.recheck_young_ms if age_ms < policy.young_ms else policy.recheck_ms
    place = crc32(link.article_id.encode()) % every_ms
    return (now_ms - place) % every_ms < policy.cycle_ms


def _by_place(pages: Sequence[EditionPages]) -> Iterable[tuple[str, Link]]:
    """Story and link of every place, all first places before all second ones, all representatives before the rest."""
    lists = [page.stories for edition in pages for page in edition.pages]
    placed = [
        stories[place] for place in range(max(map(len, lists), default=0)) for stories in lists if place < len(stories)
    ]
    yield from ((story.story_id, story.representative) for story in placed)
    yield from ((story.story_id, link) for story in placed for link in story.supporting)


def _member(view: StoryView | None, article: str) -> Member | None:
    members = view.members if view is not None else ()
    return next((member for member in members if member.article_id == article), None)
