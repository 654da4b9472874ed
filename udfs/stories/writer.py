"""What one language's writer decides about each record of its log: copy, join or start; update, retract, expire.

Driven by the records alone: no clock, no randomness, no I/O but the reading of rows it stored itself (`read`). Every
decision returns the changes to publish and the rows to store; a writer restored from those rows decides on byte for
byte as the one that wrote them. Reading order: decide, _article, _place, _update, _removed; what time brings is in
`housekeeping.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from state_schemas import ids
from state_schemas.articles import Article, Command, Normalised, Removed, Tick
from state_schemas.clusters import (
    ARTICLES,
    COPY,
    ORIGINAL,
    RETRACTED,
    VARIANT,
    WRITER,
    ArticleState,
    MemberState,
    StoryState,
    WriterState,
)
from state_schemas.codec import load_state
from state_schemas.stories import ArticleBrief, Change, StoryChange, StorySummary
from udfs.stories import housekeeping, vectors
from udfs.stories.clock import Clock, advance
from udfs.stories.frequencies import Frequencies
from udfs.stories.incoming import Incoming, check, read
from udfs.stories.ledger import Ledger, Put, Read
from udfs.stories.live import LiveSet, Rows
from udfs.stories.mirror import LiveStory, Member, brief, brief_of_member, ended_brief, ended_summary, summary
from udfs.stories.pairs import Subject
from udfs.stories.policy import ClusterModel, ClusterPolicy
from udfs.stories.score import Scorer
from udfs.stories.terms import Terms, Vocabulary

# (article id, candidates, a row of features each) -> the story to join, or None, and its probability.
Judge = Callable[[str, Sequence[LiveStory], Sequence[Sequence[float]]], tuple[LiveStory | None, float]]

_STATE, _MEAN = "writer", "mean"
# Story ids minted before a clock is confirmed take the upper half of the counters: no later id can equal one of them.
_UNCONFIRMED = 1 << (ids.STORY_COUNTER_BITS - 1)
_LAST_MS = (1 << ids.STORY_MS_BITS) - 1


@dataclass(frozen=True, slots=True)
class Decision:
    """changes: in their sequence. puts: at most one a (map, key); store them all or none."""

    changes: tuple[StoryChange, ...]
    puts: tuple[Put, ...]


class LanguageWriter:
    """The one writer of a language. Not thread-safe; `decide` takes the records in the order of their log.

    judge: chooses among scored candidates in place of the model's probability and threshold; for training alone.
    """

    def __init__(
        self, language: str, model: ClusterModel, policy: ClusterPolicy, read: Read, judge: Judge | None = None
    ) -> None:
        self.language = language
        self.state = WriterState()
        self.policy = policy
        self.ledger = Ledger(read)
        self.live = LiveSet(policy, self.ledger)
        self.frequencies = Frequencies(policy)
        self._model = model
        self._judge = judge or self._likeliest
        self._mean = vectors.RunningMean(model.mean(language), policy.mean_prior, policy.mean_memory)
        self._vocabulary = Vocabulary(language)
        self._scorer = Scorer(model, self.frequencies)
        self._changes: list[StoryChange] = []

    def restore(self, rows: Rows) -> None:
        """Load what earlier decisions stored. Called once, before the first decision.

        Raises ValueError on rows of another release.
        """
        for key, value in rows(WRITER):
            if key == _STATE:
                self.state = load_state(WriterState, value) or self.state
            elif key == _MEAN:
                self._mean.load(value)
            else:
                self.frequencies.load(housekeeping.block_of(key), value)
        self.frequencies.epoch_ms = self.state.df_epoch_ms
        self.frequencies.documents = self.state.documents
        self._mean.weight = self.state.vectors
        self.live.restore(rows, self.state.folded)

    def decide(self, record: Normalised) -> Decision:
        """What `record` does. A version that is not above the known one does nothing.

        Raises DecodeError, before anything has changed, on an article whose embedding, signature or body is none.
        """
        if isinstance(record, Command):
            return Decision((), ())
        check(record)
        incoming = read(record) if isinstance(record, Article) else None
        before = self.state
        clock = Clock(before.clock_ms, before.claim_ms, before.claim_by)
        publisher = "" if isinstance(record, Tick) else record.publisher
        clock = advance(clock, record.decided_ms, publisher, self.policy.jump_ms)
        self.set(clock_ms=clock.now_ms, claim_ms=clock.claim_ms, claim_by=clock.claim_by)
        now_ms = clock.now_ms or record.decided_ms
        if not before.df_epoch_ms and clock.now_ms:
            self.frequencies.epoch_ms = clock.now_ms
            self.set(df_epoch_ms=clock.now_ms)
        housekeeping.sweep(self, now_ms)
        if incoming is not None:
            self._article(incoming, now_ms)
        elif isinstance(record, Removed):
            self._removed(record, now_ms)
        housekeeping.learn(self, now_ms)
        if self.state != before:
            self.ledger.put(WRITER, _STATE, self.state)
        changes, self._changes = tuple(self._changes), []
        return Decision(changes, self.ledger.take())

    def set(self, **fields: int | float | str) -> None:
        """Change fields of the writer's own row; it is stored with the decision."""
        self.state = msgspec.structs.replace(self.state, **fields)

    def _article(self, new: Incoming, now_ms: int) -> None:
        article = new.article
        member = self.live.members.get(article.article_id)
        if member is not None:
            if article.version > member.row.version:
                self._update(member, new, now_ms)
            return
        retracted = self.live.retracted.get(article.article_id)
        if retracted is not None:
            if article.version <= retracted.row.version:
                return
            del self.live.retracted[article.article_id]  # published again: its row is overwritten below
        elif self._is_late(article, now_ms):
            return
        self._place(new, now_ms, "" if retracted is None else "reinstated")

    def _is_late(self, article: Article, now_ms: int) -> bool:
        """True for an article of an expired story, or an update to one that is no longer known: they start nothing.

        An article found within the live window cannot have expired, and needs no look-up.
        """
        old = article.first_seen_ms + self.policy.live_ms <= now_ms
        sure = not old and article.first_seen_ms <= now_ms + self.policy.jump_ms
        if sure and article.event == "new" and article.version == 1:
            return False
        known = self._expired_version(article.article_id, article.version)
        return known or (old and article.event == "update")

    def _expired_version(self, article_id: str, version: int) -> bool:
        """Whether the article was in a story that has expired; a higher version of it is noted."""
        stored = load_state(ArticleState, self.ledger.read(ARTICLES, article_id))
        if stored is not None and version > stored.version:
            self.ledger.put(ARTICLES, article_id, msgspec.structs.replace(stored, version=version))
        return stored is not None

    def _place(self, new: Incoming, now_ms: int, cause: str) -> None:
        """Copy, join or start. cause: why an article that was known comes in."""
        article = new.article
        vector = vectors.centred(new.embedding, self._mean.value())
        repeated = self._repeated(new)
        if repeated is not None:
            original, role = repeated
            story = self.live.stories[original.row.story]
            # The same text has the same terms; reading it again is the dearest part of an article.
            change: Change = "copied" if role == COPY else "variant"
            self._join(story, new, original.terms, vector, now_ms, change, of=original, cause=cause)
            return
        terms = self._vocabulary.terms(article.title, article.lede, new.body, article.entities)
        subject = Subject(vector, terms, new.signature, article.publisher, now_ms)
        weights = self.frequencies.weights(terms.ids, terms.flags, terms.priors, now_ms)
        candidates = self.live.candidates(subject, weights)
        features = self._scorer.features(subject, candidates, len(self.live.stories))
        chosen, probability = self._judge(article.article_id, [story for story, _ in candidates], features)
        if chosen is not None:
            self._join(chosen, new, terms, vector, now_ms, "assigned", probability=probability, cause=cause)
            return
        started = self.live.start(self._mint(now_ms), StoryState(self.state.sequence + 1, now_ms, now_ms))
        if new.embedding is not None:
            # An event moves the running mean once, by its first article: a burst does not.
            self._mean.add(new.embedding)
            self.set(vectors=self._mean.weight)
            self.ledger.put(WRITER, _MEAN, self._mean.dump())
        self._join(started, new, terms, vector, now_ms, "started", cause=cause)

    def _repeated(self, new: Incoming) -> tuple[Member, int] | None:
        """(the first original that the article repeats, COPY or VARIANT), or None.

        Texts too short for a signature are never equal, but for one publisher's equal titles.
        """
        article = new.article
        matched: Member | None = None
        for known in self.live.by_text(self.live.copies.equal(article.content_hash)):
            own = known.row.publisher == article.publisher and known.row.title == article.title
            if own or (new.signature is not None and known.row.minhash):
                matched = known
                break
        if matched is None and new.signature is not None:
            near = self.live.copies.near(new.signature)
            if near and near[0][0] > self.policy.copy_jaccard:
                (matched,) = self.live.by_text((near[0][1],))
        if matched is None:
            return None
        original = self.live.members[matched.row.of] if matched.row.of else matched
        group = (original, *self.live.copies_of(original))
        own_text = any(member.row.publisher == article.publisher for member in group)
        return original, VARIANT if own_text else COPY

    def _likeliest(
        self, article_id: str, stories: Sequence[LiveStory], features: Sequence[Sequence[float]]
    ) -> tuple[LiveStory | None, float]:
        """The likeliest candidate at or above the threshold, the older of equals."""
        best, best_probability = None, 0.0
        for story, row in zip(stories, features, strict=True):
            probability = self._scorer.probability(row)
            if probability >= self._model.threshold and probability > best_probability:
                best, best_probability = story, probability
        return best, best_probability

    def _join(
        self,
        story: LiveStory,
        new: Incoming,
        terms: Terms,
        vector: vectors.Exact,
        now_ms: int,
        change: Change,
        *,
        of: Member | None = None,
        probability: float | None = None,
        cause: str = "",
    ) -> None:
        role = {"copied": COPY, "variant": VARIANT}.get(change, ORIGINAL)
        first = "" if of is None else of.article_id
        row = new.row(story.story_id, self.state.sequence + 1, role, first, terms, vector, now_ms)
        member = Member(new.article.article_id, row)
        self.live.place(story, (member,), now_ms, new.article.decided_ms)
        rounded = None if probability is None else round(probability, 4)
        told = self._brief(new.article, member, story)
        self.emit(change, story, now_ms, told, of=first, probability=rounded, cause=cause)

    def _update(self, member: Member, new: Incoming, now_ms: int) -> None:
        """A new version stays where the article is; its words and vector count anew where title or lede changed."""
        article, old = new.article, member.row
        story = self.live.stories[old.story]
        if not article.changed or {"title", "lede"} & set(article.changed):
            terms = self._vocabulary.terms(article.title, article.lede, new.body, article.entities)
            vector = vectors.centred(new.embedding, self._mean.value())
        else:
            terms, vector = member.terms, member.vector.astype(np.float32)
        row = new.row(story.story_id, old.sequence, old.role, old.of, terms, vector, now_ms)
        replaced = Member(member.article_id, row)
        # Who dates his article anew keeps no story alive by it.
        news = article.changed != ("published",)
        self.live.place(story, (replaced,), now_ms, article.decided_ms, news=news)
        self.emit("updated", story, now_ms, self._brief(article, replaced, story), of=old.of)

    def _removed(self, record: Removed, now_ms: int) -> None:
        """A retraction cuts the article out; the first copy of its text becomes the text's original."""
        article_id = record.article_id
        member = self.live.members.get(article_id) or self.live.retracted.get(article_id)
        if member is None:
            self._removed_late(record, now_ms)
            return
        if record.version <= member.row.version:
            return
        gone = MemberState("", member.row.sequence, record.version, RETRACTED, now_ms, publisher=member.row.publisher)
        if member.row.role == RETRACTED:
            self.live.retract(article_id, gone)
            return
        story = self.live.stories[member.row.story]
        left = brief_of_member(member)
        if len(story.members) > 1:
            copies = self.live.copies_of(member)
            first = copies[0].article_id if copies else ""
            heirs = [
                Member(copy.article_id, msgspec.structs.replace(copy.row, of=first if place else "", role=role))
                for place, copy in enumerate(copies)
                for role in (copy.row.role if place else ORIGINAL,)
            ]
            self.live.cut(story, member, heirs, now_ms)
            self.live.retract(article_id, gone)
            self.emit("retracted", story, now_ms, left, cause=record.reason)
        else:
            self.live.end(story)
            self.live.retract(article_id, gone)
            story.remove(article_id)
            self.emit("retracted", story, now_ms, left, cause=record.reason)
            self.emit("expired", story, now_ms, None, cause="empty")

    def _removed_late(self, record: Removed, now_ms: int) -> None:
        """The story has expired, but pages that showed the article may be asked for again: consumers hear of it."""
        stored = load_state(ArticleState, self.ledger.read(ARTICLES, record.article_id))
        if stored is None or record.version <= stored.version:
            return
        self.ledger.put(ARTICLES, record.article_id, ArticleState("", record.version))
        if stored.story:
            left = ended_brief(record.article_id, record.version, record.publisher)
            ended = ended_summary(stored.story, self.language, now_ms)
            self.emit("retracted", ended, now_ms, left, cause=record.reason)

    def _mint(self, now_ms: int) -> str:
        if not self.state.clock_ms:
            # No clock is confirmed: the record's own time dates this story, and none after it.
            more_ms, counter = divmod(self.state.minted, _UNCONFIRMED)
            self.set(minted=self.state.minted + 1)
            return ids.story_id(min(max(now_ms, 0) + more_ms, _LAST_MS), self.language, _UNCONFIRMED + counter)
        at_ms, counter = (now_ms, 0) if now_ms > self.state.minted_ms else (self.state.minted_ms, self.state.minted + 1)
        if counter >= _UNCONFIRMED:
            at_ms, counter = at_ms + 1, 0
        self.set(minted_ms=at_ms, minted=counter)
        return ids.story_id(at_ms, self.language, counter)

    @staticmethod
    def _brief(article: Article, member: Member, story: LiveStory) -> ArticleBrief:
        return brief(article, vectors.cosine(member.vector.astype(np.float32), story.centroid))

    def emit(
        self,
        change: Change,
        story: LiveStory | StorySummary,
        now_ms: int,
        article: ArticleBrief | None,
        *,
        of: str = "",
        probability: float | None = None,
        cause: str = "",
    ) -> None:
        """Add a change with the next sequence number, and the story as it stands."""
        self.set(sequence=self.state.sequence + 1)
        self._changes.append(
            StoryChange(
                language=self.language,
                epoch=self.state.epoch,
                sequence=self.state.sequence,
                change=change,
                decided_ms=now_ms,
                model_version=self._model.version,
                story=story if isinstance(story, StorySummary) else summary(story, self.language, self.policy),
                article=article,
                of=of,
                probability=probability,
                cause=cause,
            )
        )
