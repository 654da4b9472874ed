"""Which member speaks for a story in an edition: central, authoritative, fresh, soundly headlined, closer to home.

Decides among a story's members; never alters a headline. Ties fall by article id, so equal input gives equal pages.
"""

from __future__ import annotations

from state_schemas.ranking import Member, StoryView
from udfs.publish.decide import is_web
from udfs.ranking.policy import RankingPolicy
from udfs.weights import RankingWeights

# A headline outside these lengths (characters) is a stub or a paragraph; scripts without spaces need fewer.
_HOUR_MS = 3_600_000
_SHORT, _SHORT_DENSE, _LONG = 20, 8, 130


def representative(
    view: StoryView, regions: tuple[str, ...], now_ms: int, policy: RankingPolicy, weights: RankingWeights
) -> Member | None:
    """The member to show, or None where none may be listed.

    Originals before copies, reports before opinion, those within the window before older ones; within the first of
    these groups that has anyone the best weighted sum wins.
    """
    # Publishing refuses a whole page for one such link: a member that no page can show must not get there.
    listed = [member for member in view.members if not member.noindex and showable(member)]
    for group in (
        [m for m in listed if not m.of and "opinion" not in m.labels and _recent(m, now_ms, weights)],
        [m for m in listed if not m.of and "opinion" not in m.labels],
        [m for m in listed if not m.of],
        listed,
    ):
        if group:
            return min(group, key=lambda m: (-_worth(m, regions, now_ms, policy, weights), m.article_id))
    return None


def showable(member: Member) -> bool:
    """Whether the member has a headline and a web address, as every page's links must."""
    return bool(member.title.strip()) and is_web(member.url)


def headline_soundness(title: str) -> float:
    """How far a headline is free of the marks of a poor one, in [0, 1]: length, capitals, punctuation."""
    letters = [char for char in title if char.isalpha()]
    cased = [char for char in letters if char.lower() != char.upper()]
    dense = len(cased) < len(letters) / 2
    sound = 1.0
    if not (_SHORT_DENSE if dense else _SHORT) <= len(title) <= _LONG:
        sound -= 0.5
    if cased and sum(char.isupper() for char in cased) > 0.6 * len(cased):
        sound -= 0.3
    if title.rstrip().endswith(("?", "!", "…", "...")) or "!!" in title:
        sound -= 0.2
    return max(sound, 0.0)


def _recent(member: Member, now_ms: int, weights: RankingWeights) -> bool:
    return now_ms - member.first_seen_ms < weights.original_window_h * _HOUR_MS


def _worth(
    member: Member, regions: tuple[str, ...], now_ms: int, policy: RankingPolicy, weights: RankingWeights
) -> float:
    hours = max(now_ms - member.first_seen_ms, 0) / _HOUR_MS
    worth: float = (
        policy.centrality_weight * max(member.centrality, 0.0)
        + policy.authority_weight * member.authority
        + policy.recency_weight * 0.5 ** (hours / weights.freshness_half_life_h)
        + policy.soundness_weight * headline_soundness(member.title)
    )
    if member.from_entry:
        worth -= policy.soundness_weight
    if member.country in regions:
        worth += policy.home_boost
    return worth
