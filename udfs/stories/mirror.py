"""A language's live stories in memory: what keyed state holds, opened up so that a decision needs no look-up.

Everything here is a function of the stored rows: a mirror rebuilt from state equals the one that wrote it. Decides
nothing about who joins whom; counts, centroids, profiles and summaries are recomputed from members. Reading order:
Member, LiveStory, summary.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from state_schemas.articles import Article, Entity
from state_schemas.clusters import COPY, ORIGINAL, VARIANT, MemberState, StoryState
from state_schemas.stories import ArticleBrief, StorySummary
from udfs.stories import vectors
from udfs.stories.copies import Signature, read_signature
from udfs.stories.policy import DIMENSIONS, ClusterPolicy
from udfs.stories.terms import NAME, NUMBER, PLACE, STEP, TITLE, Terms, unpack

# A term this rare in general language (3.5 decades: one text in 3,000) can lead to candidates.
_RARE = round(3.5 * STEP)

_LEADS = 5


class Member:
    """One article of a live story: its stored row, and views on the row's bytes."""

    __slots__ = ("article_id", "row", "terms", "vector")

    def __init__(self, article_id: str, row: MemberState) -> None:
        self.article_id = article_id
        self.row = row
        self.terms: Terms = unpack(row.terms, row.flags, row.priors)
        data = row.vector or bytes(2 * DIMENSIONS)
        self.vector: NDArray[np.int16] = np.frombuffer(data, dtype="<i2")

    @property
    def signature(self) -> Signature | None:
        """The MinHash values, where the text was long enough for any."""
        return read_signature(self.row.minhash)


@dataclass(frozen=True, slots=True)
class Profile:
    """The terms of a story's window: ids sorted (uint32), in how many of its `members` each stands (int32)."""

    terms: Terms
    counts: NDArray[np.int32]
    members: int


class LiveStory:
    """A live story: its row and its members in the order they came."""

    def __init__(self, story_id: str, row: StoryState, policy: ClusterPolicy) -> None:
        self.story_id = story_id
        self.number = int(story_id, 16)
        self.row = row
        self.members: dict[str, Member] = {}
        self._policy = policy

    def updated_ms(self, now_ms: int) -> int:
        """When the story was last updated, as known at stream time `now_ms`."""
        claimed = self.row.claimed_ms <= now_ms
        return max(self.row.updated_ms, self.row.claimed_ms) if claimed else self.row.updated_ms

    def put(self, member: Member) -> None:
        """Add a member, or replace it by its next version."""
        new = member.article_id not in self.members
        self.members[member.article_id] = member
        if member.row.role == ORIGINAL or not new:  # a copy changes counters alone
            self._forget()

    def remove(self, article_id: str) -> None:
        """Cut a member out."""
        del self.members[article_id]
        self._forget()

    def _forget(self) -> None:
        for name in ("originals", "window", "centroid", "profile", "leads", "rare", "recent", "publishers"):
            self.__dict__.pop(name, None)

    @cached_property
    def originals(self) -> list[Member]:
        """Members that count, oldest first."""
        return [member for member in self.members.values() if member.row.role == ORIGINAL]

    @cached_property
    def window(self) -> list[Member]:
        """The originals that make centroid and profile: the first and the newest."""
        return _first_and_newest(self.originals, self._policy.window)

    @cached_property
    def recent(self) -> list[Member]:
        """The originals that an article is compared with one by one."""
        return _first_and_newest(self.originals, self._policy.compared)

    @cached_property
    def centroid(self) -> vectors.Exact:
        """Of the window's vectors that are any."""
        known = [member.vector for member in self.window if member.row.vector]
        if not known:
            return np.zeros(DIMENSIONS, dtype=np.float32)
        return vectors.centroid(np.stack(known).astype(np.float32))

    @cached_property
    def publishers(self) -> frozenset[str]:
        """Distinct publishers of originals."""
        return frozenset(member.row.publisher for member in self.originals)

    @cached_property
    def profile(self) -> Profile:
        """The window's terms, counted."""
        ids = np.concatenate([member.terms.ids for member in self.window])
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
        if not len(ids):
            return Profile(unpack(b"", b"", b""), np.zeros(0, dtype=np.int32), len(self.window))
        starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
        flags = np.concatenate([member.terms.flags for member in self.window])[order]
        priors = np.concatenate([member.terms.priors for member in self.window])[order]
        return Profile(
            Terms(ids[starts], np.bitwise_or.reduceat(flags, starts), priors[starts]),
            np.diff(np.append(starts, len(ids))).astype(np.int32),
            len(self.window),
        )

    @cached_property
    def leads(self) -> Terms:
        """The names that the story is mostly about: in half of the window, in most of it first, then the rarest."""
        terms, counts = self.profile.terms, self.profile.counts
        core = np.flatnonzero((2 * counts >= self.profile.members) & (terms.flags & NAME > 0))
        order = np.lexsort((terms.ids[core], -terms.priors[core].astype(np.int32), -counts[core]))
        first = core[order[:_LEADS]]
        return Terms(terms.ids[first], terms.flags[first], terms.priors[first])

    @cached_property
    def rare(self) -> NDArray[np.uint32]:
        """Terms by which the story can be found: names, numbers and title words that general language rarely has."""
        terms = self.profile.terms
        telling = (terms.flags & (TITLE | NAME | NUMBER) > 0) & (terms.flags & PLACE == 0)
        rare: NDArray[np.uint32] = terms.ids[(terms.priors >= _RARE) & telling]
        return rare


def _first_and_newest(members: list[Member], count: int) -> list[Member]:
    return members if len(members) <= count + 1 else [members[0], *members[-count:]]


def summary(story: LiveStory, language: str, policy: ClusterPolicy) -> StorySummary:
    """The story as consumers see it; every counter recomputed from its members."""
    roles = Counter(member.row.role for member in story.members.values())
    originals = story.originals
    seen = [member.row.first_seen_ms for member in originals]
    topics = Counter(topic for member in originals for topic in member.row.topics)
    return StorySummary(
        story_id=story.story_id,
        language=language,
        originals=roles[ORIGINAL],
        copies=roles[COPY],
        variants=roles[VARIANT],
        publishers=tuple(sorted(story.publishers)),
        first_ms=min(seen, default=story.row.first_ms),
        latest_ms=max(seen, default=story.row.updated_ms),
        updated_ms=story.row.updated_ms,
        centroid=vectors.published(story.centroid),
        topics=tuple(topic for topic, _ in sorted(topics.items(), key=_heaviest)[: policy.story_topics]),
        entities=_entities(originals, policy.story_entities),
        representative=_representative(story),
    )


def ended_summary(story_id: str, language: str, now_ms: int) -> StorySummary:
    """A story that has expired: nothing is known of it but that it has no members."""
    return StorySummary(
        story_id=story_id,
        language=language,
        originals=0,
        copies=0,
        variants=0,
        publishers=(),
        first_ms=now_ms,
        latest_ms=now_ms,
        updated_ms=now_ms,
    )


def ended_brief(article_id: str, version: int, publisher: str) -> ArticleBrief:
    """An article of an expired story: nothing is known of it but its name."""
    return ArticleBrief(article_id=article_id, version=version, url="", title="", publisher=publisher, first_seen_ms=0)


def _heaviest(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def _entities(originals: list[Member], count: int) -> tuple[Entity, ...]:
    """The entities of most originals, one in a title or lede counting three times; the name as first met."""
    weights: Counter[str] = Counter()
    first: dict[str, Entity] = {}
    mentions: Counter[str] = Counter()
    titled: set[str] = set()
    for member in originals:
        for entity in member.row.entities:
            weights[entity.id] += 3 if entity.in_title else 1
            mentions[entity.id] += entity.mentions
            first.setdefault(entity.id, entity)
            if entity.in_title:
                titled.add(entity.id)
    chosen = [entity for entity, _ in sorted(weights.items(), key=_heaviest)[:count]]
    return tuple(
        Entity(id=key, name=first[key].name, mentions=mentions[key], in_title=key in titled, country=first[key].country)
        for key in chosen
    )


def _representative(story: LiveStory) -> str:
    """The writer's own choice: central, of an authoritative publisher, complete; the older of equals."""
    best, best_score = "", -2.0
    for member in story.window:
        row = member.row
        central = vectors.cosine(member.vector.astype(np.float32), story.centroid)
        score = central + row.authority + 0.25 * min(row.words, 400) / 400
        if score > best_score:
            best, best_score = member.article_id, score
    return best


def brief(article: Article, centrality: float) -> ArticleBrief:
    """What consumers need of a member. centrality: cosine to the story's centroid, rounded to 4 digits."""
    shared: dict[str, Any] = {name: getattr(article, name) for name in _SHARED}
    return ArticleBrief(url=article.canonical_url, centrality=round(centrality, 4), **shared)


def brief_of_member(member: Member) -> ArticleBrief:
    """The same of a stored member: what is left when an article is retracted."""
    row = member.row
    return ArticleBrief(
        article_id=member.article_id,
        version=row.version,
        url=row.url,
        title=row.title,
        publisher=row.publisher,
        first_seen_ms=row.first_seen_ms,
        authority=row.authority,
        topics=row.topics,
        entities=row.entities,
        words=row.words,
    )


_SHARED = tuple(
    name
    for name in ArticleBrief.__struct_fields__
    if name not in ("url", "centrality") and name in Article.__struct_fields__
)
