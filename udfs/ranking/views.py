"""Folds the writers' changes into stories as ranking sees them.

Decides what a change does to a view; never orders, scores or publishes. Idempotent: the caller drops changes at or
below its cursor, and folding one twice gives the same view, since counters come from the change itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from state_schemas.ranking import Member, StoryView
from state_schemas.stories import ArticleBrief, StoryChange, StorySummary
from udfs.ranking.policy import RankingPolicy

# As far as JavaScript's numbers are exact; ms UTC up to the year 287396.
_LARGEST = 2**53


def fold(
    views: Mapping[str, StoryView], change: StoryChange, policy: RankingPolicy
) -> tuple[tuple[str, StoryView | None], ...]:
    """The stories a change touches, each as (story id, its new view, or None for a story that is no more).

    views: story id -> view of every live story; not altered. A change may name stories this consumer never met
    (it started late): they begin with what the change's own summary says.
    """
    summary = change.story
    members = _members(views, summary.story_id)
    if change.change in ("started", "assigned", "copied", "updated"):
        if change.article is not None:
            known = members.get(change.article.article_id)
            # An update says nothing of copies: what the member was, it stays.
            of = change.of or (known.of if known is not None and change.change == "updated" else "")
            members[change.article.article_id] = _member(change.article, of)
    elif change.change == "variant":
        first = members.get(change.of)
        if change.article is not None and first is not None and first.noindex and not change.article.noindex:
            # A print page was read before the article itself. What may be listed stands in its place, counted once.
            del members[first.article_id]
            members[change.article.article_id] = _member(change.article, first.of)
    elif change.change == "retracted":
        if change.article is not None:
            members.pop(change.article.article_id, None)
    elif change.change == "merged":
        members |= _members(views, change.other)
        return (change.other, None), _kept(summary, members, policy)
    elif change.change == "split":
        others = _members(views, change.other)
        members |= {key: others.pop(key) for key in change.articles if key in others}
        left = views.get(change.other)
        if left is None:
            return (_kept(summary, members, policy),)
        return (change.other, _recounted(left, others)), _kept(summary, members, policy)
    elif change.change == "expired":
        return ((summary.story_id, None),)
    return (_kept(summary, members, policy),)


def unusable(change: StoryChange) -> str:
    """Why a change cannot be folded though it could be decoded, as a reason code; empty for nothing.

    JSON's integers have no end, while columns and keyed state hold 64 bits.
    """
    summary, article = change.story, change.article
    numbers = [change.epoch, change.sequence, summary.originals, summary.copies, summary.variants]
    numbers += [summary.first_ms, summary.latest_ms, summary.updated_ms]
    if article is not None:
        numbers += [article.version, article.first_seen_ms, article.published_ms or 0, article.words]
        numbers += [article.max_snippet or 0]
    return "" if all(-_LARGEST <= number <= _LARGEST for number in numbers) else "number_out_of_range"


def _members(views: Mapping[str, StoryView], story: str) -> dict[str, Member]:
    view = views.get(story)
    return {} if view is None else {member.article_id: member for member in view.members}


def _kept(summary: StorySummary, members: dict[str, Member], policy: RankingPolicy) -> tuple[str, StoryView | None]:
    if summary.originals + summary.copies == 0:
        return summary.story_id, None
    newest = sorted(members.values(), key=lambda m: (bool(m.of), -m.first_seen_ms, m.article_id))
    view = StoryView(
        story_id=summary.story_id,
        originals=summary.originals,
        copies=summary.copies,
        variants=summary.variants,
        first_ms=summary.first_ms,
        latest_ms=summary.latest_ms,
        updated_ms=summary.updated_ms,
        topics=summary.topics,
        places=tuple((entity.id, entity.name, entity.country) for entity in summary.entities if entity.country),
        centroid=summary.centroid,
        members=tuple(newest[: policy.members_kept]),
    )
    return summary.story_id, view


def _recounted(view: StoryView, members: dict[str, Member]) -> StoryView | None:
    originals = [member for member in members.values() if not member.of]
    if not members:
        return None
    return StoryView(
        story_id=view.story_id,
        originals=len(originals),
        copies=len(members) - len(originals),
        variants=view.variants,
        first_ms=min(member.first_seen_ms for member in members.values()),
        latest_ms=max(member.first_seen_ms for member in originals or members.values()),
        updated_ms=view.updated_ms,
        topics=view.topics,
        places=view.places,
        centroid=view.centroid,
        members=tuple(members.values()),
    )


def _member(brief: ArticleBrief, of: str) -> Member:
    return Member(
        article_id=brief.article_id,
        version=brief.version,
        url=brief.url,
        title=brief.title,
        publisher=brief.publisher,
        publisher_name=brief.publisher_name,
        owner=brief.owner,
        country=brief.country,
        authority=brief.authority,
        first_seen_ms=brief.first_seen_ms,
        published_ms=brief.published_ms,
        lede=brief.lede,
        image=brief.image,
        labels=brief.labels,
        words=brief.words,
        centrality=brief.centrality,
        from_entry=brief.from_entry,
        noindex=brief.noindex,
        max_snippet=brief.max_snippet,
        max_image_preview=brief.max_image_preview,
        of=of,
        feed_id=brief.feed_id,
    )
