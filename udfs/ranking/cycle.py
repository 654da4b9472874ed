"""One ranking cycle: from a language's board to the pages of its editions. Decides; touches no store and no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from state_schemas.pages import EditionPages, Link, Page, PageStory
from state_schemas.ranking import Member, StoryView
from udfs.editions import Edition
from udfs.publish.decide import is_web
from udfs.ranking.board import Board, Bools, Coverage, Scores
from udfs.ranking.policy import RANKER_VERSION, RankingPolicy
from udfs.ranking.representative import representative
from udfs.weights import RankingWeights


def cycle(
    board: Board,
    views: Mapping[str, StoryView],
    editions: Sequence[Edition],
    sections: Sequence[str],
    now_ms: int,
    policy: RankingPolicy,
    weights: RankingWeights,
) -> list[EditionPages]:
    """The pages of every edition of the board's language, ranked for `now_ms`; a section without stories has none.

    A page holds at most `max_stories_per_section`, best first; equal scores fall by story id, older first.
    """
    if not board.slots:
        return []
    coverage = board.coverage(now_ms)
    results = []
    for edition in editions:
        scores = board.scores(coverage, edition.regions)
        pages = []
        for section in sections:
            candidates = scores.score * _belongs(board, section, scores, weights)
            stories = _best(board, views, candidates, scores, coverage, edition, policy, weights)
            if stories:
                pages.append(
                    Page(
                        edition=edition.id,
                        section=section,
                        version=0,
                        cycle=now_ms,
                        ranker_version=RANKER_VERSION,
                        stories=stories,
                        language=edition.language,
                    )
                )
        results.append(EditionPages(edition=edition.id, cycle=now_ms, pages=tuple(pages)))
    return results


def _belongs(board: Board, section: str, scores: Scores, weights: RankingWeights) -> Bools:
    own = scores.home >= weights.nation_min_region_share
    if section == "top":
        return np.ones(len(board.ids), bool)
    if section == "nation":
        # Reported at home about home; where no place was recognised the publishers' own rubric must say so.
        return own & (scores.home_place | board.with_topic("nation"))
    if section == "world":
        return ~scores.home_place & (board.with_topic("world") | ~own)
    if section == "local":
        return (scores.home >= weights.local_min_region_share) & board.with_topic("local")
    return board.with_topic(section)


def _best(
    board: Board,
    views: Mapping[str, StoryView],
    candidates: np.ndarray[tuple[int], np.dtype[np.float64]],
    scores: Scores,
    coverage: Coverage,
    edition: Edition,
    policy: RankingPolicy,
    weights: RankingWeights,
) -> tuple[PageStory, ...]:
    wanted = weights.max_stories_per_section
    # Some may turn out to have no member that may be listed, so a few more are looked at.
    looked = min(2 * wanted, len(candidates))
    slots = np.argpartition(-candidates, looked - 1)[:looked]
    ordered = sorted(
        (int(slot) for slot in slots if candidates[slot] > 0), key=lambda s: (-candidates[s], board.ids[s])
    )
    stories: list[PageStory] = []
    for slot in ordered:
        view = views[board.ids[slot]]
        chosen = representative(view, edition.regions, coverage.now_ms, policy, weights)
        if chosen is None:
            continue
        stories.append(_page_story(view, chosen, slot, scores, coverage, policy))
        if len(stories) == wanted:
            break
    return tuple(stories)


def _page_story(
    view: StoryView, chosen: Member, slot: int, scores: Scores, coverage: Coverage, policy: RankingPolicy
) -> PageStory:
    names: dict[str, str] = {}
    # What is not to be listed is neither named nor counted.
    unlisted = [member for member in view.members if member.noindex]
    listed = [member for member in view.members if not member.noindex]
    # Who reports it himself: the names agree with the number of publishers, which copies do not raise either.
    reporting = [member for member in listed if not member.of] or listed
    for member in sorted(reporting, key=lambda m: (-m.authority, m.publisher)):
        names.setdefault(member.publisher, member.publisher_name or member.publisher)
    return PageStory(
        story_id=view.story_id,
        representative=Link(
            article_id=chosen.article_id,
            url=chosen.url,
            title=chosen.title,
            publisher=chosen.publisher,
            publisher_name=chosen.publisher_name,
            published_ms=chosen.published_ms,
            first_seen_ms=chosen.first_seen_ms,
            labels=chosen.labels,
        ),
        score=round(float(scores.score[slot]), 6),
        originals=max(view.originals - sum(not member.of for member in unlisted), 0),
        copies=max(view.copies - sum(bool(member.of) for member in unlisted), 0),
        publishers=int(coverage.publishers[slot]),
        first_ms=view.first_ms,
        latest_ms=view.latest_ms,
        lede=_snippet(chosen),
        image=chosen.image if chosen.max_image_preview != "none" and is_web(chosen.image) else "",
        topics=view.topics,
        places=tuple(name for _, name, _ in view.places[:3]),
        top_sources=tuple(names.values())[: policy.top_sources],
        parts={
            "coverage": round(float(scores.coverage[slot]), 4),
            "freshness": round(float(coverage.freshness[slot]), 4),
            "relevance": round(float(scores.relevance[slot]), 4),
            "home": round(float(scores.home[slot]), 4),
        },
    )


def _snippet(member: Member) -> str:
    # A publisher's max-snippet is in characters; -1 means no limit (robots meta, as search engines document it).
    limit = member.max_snippet
    if limit is None or limit < 0 or len(member.lede) <= limit:
        return member.lede
    return member.lede[:limit]
