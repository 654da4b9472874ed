"""What one language's writer decides about each record of its log: copy, join or start; update, retract, expire.

Driven by the records alone: no clock, no randomness, no I/O but the reading of rows it stored itself (`read`). Every
decision returns the changes to publish and the rows to store; a writer restored from those rows decides on byte for
byte as the one that wrote them. Reading order: decide, _article, _place, then _sweep.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec
import numpy as np

from state_schemas import ids
from state_schemas.articles import Article, Command, Normalised, Removed, Tick
from state_schemas.clusters import (
    ARTICLES,
    COPY,
    MEMBERS,
    ORIGINAL,
    RETIRED,
    RETRACTED,
    STORIES,
    VARIANT,
    WRITER,
    ArticleState,
    MemberState,
    StoryState,
    WriterState,
)
from state_schemas.codec import dump_state, load_state, unpack_text
from state_schemas.stories import ArticleBrief, Change, StoryChange
from udfs.stories import vectors
from udfs.stories.clock import Clock, advance
from udfs.stories.copies import CopyIndex, Signature, read_signature
from udfs.stories.frequencies import Frequencies
from udfs.stories.index import CentroidIndex, TermIndex
from udfs.stories.mirror import LiveStory, Member, brief, brief_of_member, summary
from udfs.stories.policy import DIMENSIONS, MINUTE_MS, ClusterModel, ClusterPolicy
from udfs.stories.score import Scorer, Subject
from udfs.stories.terms import Terms, Vocabulary

Put = tuple[str, str, bytes | None]  # map, key, value; None removes
Read = Callable[[str, str], bytes | None]  # map, key -> what was stored there

_WRITER_KEY, _MEAN_KEY = "writer", "mean"


@dataclass(frozen=True, slots=True)
class Decision:
    """changes: in their sequence. puts: at most one a (map, key); store them all or none."""

    changes: tuple[StoryChange, ...]
    puts: tuple[Put, ...]


class LanguageWriter:
    """The one writer of a language. Not thread-safe; `decide` takes the records in the order of their log."""

    def __init__(self, language: str, model: ClusterModel, policy: ClusterPolicy, read: Read) -> None:
        self.language = language
        self._model = model
        self._policy = policy
        self._read_stored = read
        self._state = WriterState()
        self._mean_sum = np.zeros(DIMENSIONS, dtype=np.float64)
        self._frequencies = Frequencies(policy)
        self._vocabulary = Vocabulary(language)
        self._scorer = Scorer(model)
        self._stories: dict[str, LiveStory] = {}
        self._by_number: dict[int, LiveStory] = {}
        self._members: dict[str, Member] = {}
        self._by_sequence: dict[int, Member] = {}
        self._retracted: dict[str, Member] = {}
        self._copies = CopyIndex(policy)
        self._centroids = CentroidIndex(policy)
        self._terms = TermIndex(policy)
        self._due: list[tuple[int, str]] = []  # (a time not after the story's last update, story id): a heap
        self._puts: dict[tuple[str, str], bytes | None] = {}
        self._changes: list[StoryChange] = []

    @property
    def live_stories(self) -> int:
        """How many stories are live."""
        return len(self._stories)

    def restore(self, rows: Callable[[str], Iterable[tuple[str, bytes]]]) -> None:
        """Load what earlier decisions stored. rows: map -> its (key, value) pairs, in any order. Called once, first.

        Raises ValueError on rows of another release.
        """
        for key, value in rows(WRITER):
            if key == _WRITER_KEY:
                self._state = load_state(WriterState, value) or WriterState()
            elif key == _MEAN_KEY:
                self._mean_sum = np.frombuffer(value, "<f8").copy()
            else:
                self._frequencies.load(int(key.removeprefix("df:")), value)
        self._frequencies.epoch_ms = self._state.df_epoch_ms
        self._frequencies.documents = self._state.documents
        for story_id, value in sorted(rows(STORIES)):
            row = load_state(StoryState, value)
            assert row is not None
            self._stories[story_id] = LiveStory(story_id, row, self._policy)
        members = [(article_id, load_state(MemberState, value)) for article_id, value in rows(MEMBERS)]
        for article_id, stored in sorted(members, key=lambda entry: entry[1].sequence if entry[1] else 0):
            assert stored is not None
            member = Member(article_id, stored)
            if stored.role == RETRACTED:
                self._retracted[article_id] = member
                continue
            self._stories[stored.story].put(member)
            self._enter(member)
        for story in self._stories.values():
            self._by_number[story.number] = story
            self._centroids.put(story.number, story.centroid)
            self._terms.add(story.number, story.profile.rare())
            heapq.heappush(self._due, (story.row.updated_ms, story.story_id))

    def decide(self, record: Normalised) -> Decision:
        """What `record` does. A version that is not above the known one does nothing.

        Raises DecodeError, before anything has changed, on an article whose embedding, signature or body is none.
        """
        if isinstance(record, Command):
            return Decision((), ())
        prepared = self._prepare(record) if isinstance(record, Article) else None
        before = self._state
        self._puts, self._changes = {}, []
        clock = Clock(before.clock_ms, before.claim_ms, before.claim_by)
        publisher = "" if isinstance(record, Tick) else record.publisher
        clock = advance(clock, record.decided_ms, publisher, self._policy.jump_ms)
        self._set(clock_ms=clock.now_ms, claim_ms=clock.claim_ms, claim_by=clock.claim_by)
        now_ms = clock.now_ms or record.decided_ms
        self._sweep(now_ms)
        if prepared is not None:
            self._article(prepared, now_ms)
        elif isinstance(record, Removed):
            self._removed(record, now_ms)
        if self._state != before:
            self._puts[WRITER, _WRITER_KEY] = dump_state(self._state)
        puts = tuple((name, key, value) for (name, key), value in self._puts.items())
        return Decision(tuple(self._changes), puts)

    # --- articles

    def _prepare(self, article: Article) -> _Prepared:
        return _Prepared(
            article,
            vectors.read_embedding(article.embedding),
            read_signature(article.minhash),
            unpack_text(article.body),
        )

    def _article(self, new: _Prepared, now_ms: int) -> None:
        article = new.article
        member = self._members.get(article.article_id)
        if member is not None:
            if article.version > member.row.version:
                self._update(member, new, now_ms)
            return
        retracted = self._retracted.get(article.article_id)
        if retracted is not None:
            if article.version <= retracted.row.version:
                return
            del self._retracted[article.article_id]
        elif self._is_late(article, now_ms):
            return
        self._place(new, now_ms)

    def _is_late(self, article: Article, now_ms: int) -> bool:
        """True for an article of an expired story, or an update to one that is no longer known: they start nothing.

        An article found within the live window cannot have expired, and needs no look-up.
        """
        old = article.first_seen_ms + self._policy.live_ms <= now_ms
        if not old and article.event == "new" and article.version == 1:
            return False
        stored = load_state(ArticleState, self._read(ARTICLES, article.article_id))
        if stored is None:
            return old and article.event == "update"
        if article.version > stored.version:
            self._put_article(article.article_id, msgspec.structs.replace(stored, version=article.version))
        return True

    def _place(self, new: _Prepared, now_ms: int) -> None:
        """Copy, join or start."""
        repeated = self._repeated(new)
        terms = self._vocabulary.terms(new.article.title, new.article.lede, new.body, new.article.entities)
        vector = vectors.centred(new.embedding, self._mean())
        if repeated is not None:
            original, role = repeated
            story = self._stories[original.row.story]
            self._join(story, new, terms, vector, now_ms, role, of=original.article_id)
            return
        subject = Subject(vector, terms, new.signature, new.article.publisher, now_ms)
        story_found, probability = self._best(subject, now_ms)
        if story_found is not None and probability >= self._model.threshold:
            self._join(story_found, new, terms, vector, now_ms, ORIGINAL, probability=probability)
            return
        story = LiveStory(self._mint(now_ms), StoryState(self._state.sequence + 1, now_ms, now_ms), self._policy)
        self._stories[story.story_id] = story
        self._by_number[story.number] = story
        heapq.heappush(self._due, (now_ms, story.story_id))
        self._learn(new)
        self._join(story, new, terms, vector, now_ms, ORIGINAL, started=True)

    def _repeated(self, new: _Prepared) -> tuple[Member, int] | None:
        """(the first original that the article repeats, COPY or VARIANT), or None.

        Equal hashes of texts too short for a signature mean nothing, but for one publisher's equal titles.
        """
        article = new.article
        matched: Member | None = None
        for sequence in self._copies.equal(article.content_hash):
            known = self._by_sequence[sequence]
            same = known.row.publisher == article.publisher and known.row.title == article.title
            if same or (new.signature is not None and known.row.minhash):
                matched = known
                break
        if matched is None and new.signature is not None:
            for jaccard, sequence in self._copies.near(new.signature):
                if jaccard > self._policy.copy_jaccard:
                    matched = self._by_sequence[sequence]
                break
        if matched is None:
            return None
        original = self._members[matched.row.of] if matched.row.of else matched
        group = (original, *self._copies_of(original))
        own = any(member.row.publisher == article.publisher for member in group)
        return original, VARIANT if own else COPY

    def _copies_of(self, original: Member) -> list[Member]:
        story = self._stories[original.row.story]
        return [member for member in story.members.values() if member.row.of == original.article_id]

    def _best(self, subject: Subject, now_ms: int) -> tuple[LiveStory | None, float]:
        """The likeliest live story, the older of equals."""
        found = dict.fromkeys(self._centroids.nearest(subject.vector, self._policy.nearest))
        terms = subject.terms
        weights = self._frequencies.weights(terms.ids, terms.flags, terms.priors, now_ms)
        found |= dict.fromkeys(self._terms.sharing(terms.ids, weights, self._policy.lexical))
        stories = [
            story
            for story in map(self._by_number.__getitem__, sorted(found))
            if now_ms - story.row.updated_ms < self._policy.live_ms
        ]
        best, best_probability = None, 0.0
        rows = self._scorer.features(subject, stories, self._frequencies)
        for story, row in zip(stories, rows, strict=True):
            probability = self._scorer.probability(row)
            if probability > best_probability:
                best, best_probability = story, probability
        return best, best_probability

    def _join(
        self,
        story: LiveStory,
        new: _Prepared,
        terms: Terms,
        vector: vectors.Exact,
        now_ms: int,
        role: int,
        *,
        of: str = "",
        probability: float | None = None,
        started: bool = False,
    ) -> None:
        row = new.row(story.story_id, self._state.sequence + 1, role, of, terms, vector, now_ms)
        member = Member(new.article.article_id, row)
        self._change_story(story, lambda: story.put(member), now_ms)
        self._enter(member)
        self._put_member(member)
        change: Change = "started" if started else ("assigned", "copied", "variant")[role]
        rounded = None if probability is None else round(probability, 4)
        self._emit(change, story, now_ms, self._brief(new.article, member, story), of=of, probability=rounded)

    def _update(self, member: Member, new: _Prepared, now_ms: int) -> None:
        """A new version stays where the article is; its words and vector count anew where title or lede changed."""
        article, old = new.article, member.row
        story = self._stories[old.story]
        rewritten = not article.changed or bool({"title", "lede"} & set(article.changed))
        if rewritten:
            terms = self._vocabulary.terms(article.title, article.lede, new.body, article.entities)
            vector = vectors.centred(new.embedding, self._mean())
        else:
            terms, vector = member.terms, member.vector.astype(np.float32)
        row = new.row(story.story_id, old.sequence, old.role, old.of, terms, vector, now_ms)
        replaced = Member(member.article_id, row)
        self._leave(member)
        self._change_story(story, lambda: story.put(replaced), now_ms)
        self._enter(replaced)
        self._put_member(replaced)
        self._emit("updated", story, now_ms, self._brief(article, replaced, story), of=old.of)

    def _removed(self, record: Removed, now_ms: int) -> None:
        member = self._members.get(record.article_id)
        if member is None:
            self._removed_elsewhere(record)
            return
        if record.version <= member.row.version:
            return
        story = self._stories[member.row.story]
        heirs = self._copies_of(member) if member.row.role == ORIGINAL else []
        self._leave(member)
        gone = MemberState("", member.row.sequence, record.version, RETRACTED, now_ms, publisher=member.row.publisher)
        self._retracted[member.article_id] = Member(member.article_id, gone)
        self._puts[MEMBERS, member.article_id] = dump_state(gone)

        def cut() -> None:
            story.remove(member.article_id)
            # The first copy is now the text's original; the others repeat that one.
            for place, heir in enumerate(heirs):
                of = heirs[0].article_id if place else ""
                role = heir.row.role if place else ORIGINAL
                promoted = Member(heir.article_id, msgspec.structs.replace(heir.row, of=of, role=role))
                self._leave(heir)
                story.put(promoted)
                self._enter(promoted)
                self._put_member(promoted)

        left = brief_of_member(member)
        if len(story.members) > 1:
            self._change_story(story, cut, now_ms)
            self._emit("retracted", story, now_ms, left, cause=record.reason)
        else:
            self._forget(story)
            story.remove(member.article_id)
            self._emit("retracted", story, now_ms, left, cause=record.reason)
            self._emit("expired", story, now_ms, None, cause="empty")

    def _removed_elsewhere(self, record: Removed) -> None:
        """A retraction of what is retracted already or expired: only its version is kept."""
        retracted = self._retracted.get(record.article_id)
        if retracted is not None:
            if record.version > retracted.row.version:
                row = msgspec.structs.replace(retracted.row, version=record.version)
                self._retracted[record.article_id] = Member(record.article_id, row)
                self._puts[MEMBERS, record.article_id] = dump_state(row)
            return
        stored = load_state(ArticleState, self._read(ARTICLES, record.article_id))
        if stored is not None and record.version > stored.version:
            self._put_article(record.article_id, msgspec.structs.replace(stored, version=record.version))

    # --- time

    def _sweep(self, now_ms: int) -> None:
        """Once a minute of stream time: count new stories, expire old ones, forget what is older still."""
        state = self._state
        counted = state.sequence - state.folded
        if counted >= self._policy.fold_every or (counted and now_ms - state.folded_ms >= self._policy.fold_after_ms):
            self._fold(now_ms)
        minute = self._state.clock_ms // MINUTE_MS
        if minute <= state.swept_minute:
            return
        retired = self._expire(now_ms) + self._expire_retracted(now_ms)
        if retired:
            self._puts[RETIRED, str(minute)] = bytes.fromhex("".join(retired))
        if state.swept_minute:
            known_minutes = self._policy.known_ms // MINUTE_MS
            first = max(state.swept_minute + 1, minute - known_minutes)
            for past in range(first - known_minutes, minute - known_minutes + 1):
                block = self._read(RETIRED, str(past))
                if block:
                    self._puts[RETIRED, str(past)] = None
                    for at in range(0, len(block), 16):
                        self._puts[ARTICLES, block[at : at + 16].hex()] = None
        self._set(swept_minute=minute)

    def _fold(self, now_ms: int) -> None:
        fresh = [story for story in self._stories.values() if story.row.sequence > self._state.folded]
        for story in sorted(fresh, key=lambda story: story.row.sequence):
            self._frequencies.add(story.originals[0].terms, now_ms)
        for block, data in self._frequencies.take_touched():
            self._puts[WRITER, f"df:{block:02d}"] = data
        self._set(
            folded=self._state.sequence,
            folded_ms=now_ms,
            df_epoch_ms=self._frequencies.epoch_ms,
            documents=self._frequencies.documents,
        )

    def _expire(self, now_ms: int) -> list[str]:
        """End the stories whose time is up, oldest first; the ids of their articles."""
        retired: list[str] = []
        ended = 0
        while self._due and self._due[0][0] + self._policy.live_ms <= now_ms and ended < self._policy.expired_at_once:
            updated_ms, story_id = heapq.heappop(self._due)
            story = self._stories.get(story_id)
            if story is None:
                continue
            if story.row.updated_ms != updated_ms:
                heapq.heappush(self._due, (story.row.updated_ms, story_id))
                continue
            ended += 1
            self._forget(story)
            for member in story.members.values():
                self._leave(member)
                self._puts[MEMBERS, member.article_id] = None
                self._put_article(member.article_id, ArticleState(story_id, member.row.version))
                retired.append(member.article_id)
            self._emit("expired", story, now_ms, None)
        return retired

    def _expire_retracted(self, now_ms: int) -> list[str]:
        gone = [
            article_id
            for article_id, member in self._retracted.items()
            if member.row.decided_ms + self._policy.live_ms <= now_ms
        ]
        for article_id in gone:
            member = self._retracted.pop(article_id)
            self._puts[MEMBERS, article_id] = None
            self._put_article(article_id, ArticleState("", member.row.version))
        return gone

    # --- rows and indexes

    def _read(self, name: str, key: str) -> bytes | None:
        """A stored row, as this decision has left it so far."""
        place = (name, key)
        return self._puts[place] if place in self._puts else self._read_stored(name, key)

    def _set(self, **fields: int | float | str) -> None:
        self._state = msgspec.structs.replace(self._state, **fields)

    def _put_member(self, member: Member) -> None:
        self._puts[MEMBERS, member.article_id] = dump_state(member.row)

    def _put_article(self, article_id: str, row: ArticleState) -> None:
        self._puts[ARTICLES, article_id] = dump_state(row)

    def _enter(self, member: Member) -> None:
        self._members[member.article_id] = member
        self._by_sequence[member.row.sequence] = member
        self._copies.add(member.row.sequence, member.row.content_hash, member.signature)

    def _leave(self, member: Member) -> None:
        del self._members[member.article_id]
        del self._by_sequence[member.row.sequence]
        self._copies.remove(member.row.sequence, member.row.content_hash)

    def _change_story(self, story: LiveStory, change: Callable[[], None], now_ms: int) -> None:
        """Carry out `change` on a story's members, and bring its row and the indexes after it."""
        rare = story.profile.rare() if story.members else np.zeros(0, dtype=np.uint32)
        change()
        story.row = msgspec.structs.replace(story.row, updated_ms=now_ms)
        self._puts[STORIES, story.story_id] = dump_state(story.row)
        self._centroids.put(story.number, story.centroid)
        now_rare = story.profile.rare()
        self._terms.add(story.number, np.setdiff1d(now_rare, rare, assume_unique=True))
        self._terms.remove(story.number, np.setdiff1d(rare, now_rare, assume_unique=True))

    def _forget(self, story: LiveStory) -> None:
        """Take a story out of the live set; its members are the caller's."""
        self._terms.remove(story.number, story.profile.rare())
        self._centroids.remove(story.number)
        del self._stories[story.story_id], self._by_number[story.number]
        self._puts[STORIES, story.story_id] = None

    def _mean(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        prior = self._policy.mean_prior
        mean = self._model.mean(self.language).astype(np.float64)
        total: np.ndarray[tuple[int], np.dtype[np.float64]] = mean * prior + self._mean_sum
        return total / (prior + self._state.vectors)

    def _learn(self, new: _Prepared) -> None:
        """An event's first article moves the running mean: a burst on one event does not."""
        if new.embedding is None:
            return
        weight = self._state.vectors
        if weight >= self._policy.mean_memory:
            self._mean_sum *= 0.5
            weight *= 0.5
        self._mean_sum += new.embedding
        self._set(vectors=weight + 1.0)
        self._puts[WRITER, _MEAN_KEY] = self._mean_sum.astype("<f8").tobytes()

    def _mint(self, now_ms: int) -> str:
        state = self._state
        at_ms, counter = (now_ms, 0) if now_ms > state.minted_ms else (state.minted_ms, state.minted + 1)
        if counter >> ids.STORY_COUNTER_BITS:
            at_ms, counter = at_ms + 1, 0
        self._set(minted_ms=at_ms, minted=counter)
        return ids.story_id(at_ms, self.language, counter)

    # --- changes

    def _brief(self, article: Article, member: Member, story: LiveStory) -> ArticleBrief:
        return brief(article, vectors.cosine(member.vector.astype(np.float32), story.centroid))

    def _emit(
        self,
        change: Change,
        story: LiveStory,
        now_ms: int,
        article: ArticleBrief | None,
        *,
        of: str = "",
        probability: float | None = None,
        cause: str = "",
    ) -> None:
        self._set(sequence=self._state.sequence + 1)
        self._changes.append(
            StoryChange(
                language=self.language,
                epoch=self._state.epoch,
                sequence=self._state.sequence,
                change=change,
                decided_ms=now_ms,
                model_version=self._model.version,
                story=summary(story, self.language, self._policy),
                article=article,
                of=of,
                probability=probability,
                cause=cause,
            )
        )


@dataclass(frozen=True, slots=True)
class _Prepared:
    """An article whose parts were all read, so that nothing fails half-way through a decision."""

    article: Article
    embedding: np.ndarray[tuple[int], np.dtype[np.float32]] | None
    signature: Signature | None
    body: str

    def row(
        self, story: str, sequence: int, role: int, of: str, terms: Terms, vector: vectors.Exact, now_ms: int
    ) -> MemberState:
        """The article as a member's row."""
        article = self.article
        return MemberState(
            story=story,
            sequence=sequence,
            version=article.version,
            role=role,
            decided_ms=now_ms,
            of=of,
            publisher=article.publisher,
            title=article.title,
            url=article.canonical_url,
            first_seen_ms=article.first_seen_ms,
            authority=article.authority,
            words=article.words,
            content_hash=article.content_hash,
            minhash=article.minhash,
            vector=vectors.pack(vector),
            terms=terms.ids.astype("<u4").tobytes(),
            flags=terms.flags.tobytes(),
            priors=terms.priors.tobytes(),
            topics=article.topics,
            entities=article.entities,
        )
