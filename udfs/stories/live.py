"""The live set of one language: stories, members and the indexes over them, kept in step with their stored rows.

Carries out what the writer decides (a member enters, leaves, is replaced; a story changes or goes) and answers what it
asks: who is near, whose text is this. Decides nothing. Everything but the stored rows is computed again by `restore`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from state_schemas.clusters import MEMBERS, RETRACTED, STORIES, MemberState, StoryState
from state_schemas.codec import load_state
from udfs.stories.copies import CopyIndex
from udfs.stories.index import CentroidIndex, TermIndex
from udfs.stories.ledger import Ledger
from udfs.stories.mirror import LiveStory, Member
from udfs.stories.pairs import Subject
from udfs.stories.policy import ClusterPolicy

Rows = Callable[[str], Iterable[tuple[str, bytes]]]  # map -> its (key, value) pairs, in any order


class LiveSet:
    """Live stories by id, their members by article id; retracted articles for as long as a story would live."""

    def __init__(self, policy: ClusterPolicy, ledger: Ledger) -> None:
        self.stories: dict[str, LiveStory] = {}
        self.members: dict[str, Member] = {}
        self.retracted: dict[str, Member] = {}
        self.fresh: list[LiveStory] = []  # started since the frequencies last took stories in, in their sequence
        self.copies = CopyIndex(policy)
        self._policy = policy
        self._ledger = ledger
        self._by_sequence: dict[int, Member] = {}
        self._by_number: dict[int, LiveStory] = {}
        self._centroids = CentroidIndex(policy)
        self._terms = TermIndex(policy)
        self._due: list[tuple[int, str]] = []  # a heap of (not after the story's last update, story id)

    def restore(self, rows: Rows, folded: int) -> None:
        """Load the stored stories and members; called once, on an empty set.

        folded: the sequence up to which stories are counted in the frequencies.
        """
        for story_id, value in sorted(rows(STORIES)):
            row = load_state(StoryState, value)
            assert row is not None
            self._register(LiveStory(story_id, row, self._policy))
        stored = [(article_id, load_state(MemberState, value)) for article_id, value in rows(MEMBERS)]
        found = [Member(article_id, row) for article_id, row in stored if row is not None]
        for member in sorted(found, key=lambda member: member.row.sequence):
            if member.row.role == RETRACTED:
                self.retracted[member.article_id] = member
            else:
                self.stories[member.row.story].put(member)
                self._enter(member)
        fresh = (story for story in self.stories.values() if story.row.sequence > folded)
        self.fresh = sorted(fresh, key=lambda story: story.row.sequence)
        for story in self.stories.values():
            self._centroids.put(story.number, story.centroid)
            self._terms.add(story.number, story.rare)

    def start(self, story_id: str, row: StoryState) -> LiveStory:
        """A new story, empty until a member enters."""
        story = LiveStory(story_id, row, self._policy)
        self._register(story)
        self.fresh.append(story)
        return story

    def place(
        self, story: LiveStory, members: Iterable[Member], now_ms: int, claimed_ms: int = 0, *, news: bool = True
    ) -> None:
        """Members enter a story, or replace their former versions; the story counts as updated now, if that is news.

        claimed_ms: where the article says another time, that.
        """
        entering = list(members)
        for member in entering:
            former = self.members.get(member.article_id)
            if former is not None:
                self._leave(former)

        def change() -> None:
            for member in entering:
                story.put(member)

        self._change(story, change, now_ms, claimed_ms, news=news)
        for member in entering:
            self._enter(member)
            self._ledger.put(MEMBERS, member.article_id, member.row)

    def cut(self, story: LiveStory, member: Member, heirs: Iterable[Member], now_ms: int) -> None:
        """A member leaves a story that has others; `heirs` are members whose roles change with that."""
        self._leave(member)
        replaced = list(heirs)
        for heir in replaced:
            self._leave(self.members[heir.article_id])

        def change() -> None:
            story.remove(member.article_id)
            for heir in replaced:
                story.put(heir)

        self._change(story, change, now_ms)
        for heir in replaced:
            self._enter(heir)
            self._ledger.put(MEMBERS, heir.article_id, heir.row)

    def end(self, story: LiveStory) -> None:
        """The story and its members leave the live set; their rows are removed."""
        self._terms.remove(story.number, story.rare)
        self._centroids.remove(story.number)
        del self.stories[story.story_id], self._by_number[story.number]
        self._ledger.remove(STORIES, story.story_id)
        for member in story.members.values():
            self._leave(member)
            self._ledger.remove(MEMBERS, member.article_id)

    def retract(self, article_id: str, row: MemberState) -> None:
        """Remember a retracted article."""
        self.retracted[article_id] = Member(article_id, row)
        self._ledger.put(MEMBERS, article_id, row)

    def next_due(self, now_ms: int) -> LiveStory | None:
        """The story that was updated longest ago, if its time is up at `now_ms`: it leaves the queue."""
        while self._due and self._due[0][0] + self._policy.live_ms <= now_ms:
            queued_ms, story_id = heapq.heappop(self._due)
            story = self.stories.get(story_id)
            if story is None:
                continue
            updated_ms = story.updated_ms(now_ms)
            if updated_ms == queued_ms:
                return story
            heapq.heappush(self._due, (updated_ms, story_id))
        return None

    def by_text(self, sequences: Iterable[int]) -> Iterable[Member]:
        """Members of the copy index's answers."""
        return (self._by_sequence[sequence] for sequence in sequences)

    def copies_of(self, original: Member) -> list[Member]:
        """The copies and variants of an original, first first."""
        story = self.stories[original.row.story]
        return [member for member in story.members.values() if member.row.of == original.article_id]

    def candidates(self, subject: Subject, weights: NDArray[np.int32]) -> list[tuple[LiveStory, int]]:
        """Live stories worth comparing with an article, in order of their ids, with what each shares of its rare terms.

        weights: of the article's terms. The nearest centroids, and those that share most.
        """
        shared = self._terms.shared(subject.terms.ids, weights)
        most = sorted((-weight, story) for story, weight in shared.items())[: self._policy.lexical]
        found = {story for _, story in most}
        found.update(self._centroids.nearest(subject.vector, self._policy.nearest))
        stories = ((self._by_number[number], shared[number]) for number in sorted(found))
        now_ms = subject.now_ms
        return [entry for entry in stories if now_ms - entry[0].updated_ms(now_ms) < self._policy.live_ms]

    def _register(self, story: LiveStory) -> None:
        self.stories[story.story_id] = story
        self._by_number[story.number] = story
        heapq.heappush(self._due, (story.row.updated_ms, story.story_id))

    def _enter(self, member: Member) -> None:
        self.members[member.article_id] = member
        self._by_sequence[member.row.sequence] = member
        self.copies.add(member.row.sequence, member.row.content_hash, member.signature)

    def _leave(self, member: Member) -> None:
        del self.members[member.article_id]
        del self._by_sequence[member.row.sequence]
        self.copies.remove(member.row.sequence, member.row.content_hash)

    def _change(
        self, story: LiveStory, change: Callable[[], object], now_ms: int, claimed_ms: int = 0, *, news: bool = True
    ) -> None:
        """Carry out `change` on a story's members, and bring its row and the indexes after it."""
        before = story.rare if story.members else np.zeros(0, dtype=np.uint32)
        change()
        if news:
            updated_ms = max(story.updated_ms(now_ms), now_ms)
            ahead = max(claimed_ms, story.row.claimed_ms)
            story.row = msgspec.structs.replace(
                story.row, updated_ms=updated_ms, claimed_ms=ahead if ahead > updated_ms else 0
            )
            self._ledger.put(STORIES, story.story_id, story.row)
        self._centroids.put(story.number, story.centroid)
        after = story.rare
        if after is not before:
            self._terms.add(story.number, np.setdiff1d(after, before, assume_unique=True))
            self._terms.remove(story.number, np.setdiff1d(before, after, assume_unique=True))
