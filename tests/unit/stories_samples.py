"""Logs of one language for the clusterer's laws: invented articles, and a consumer that believes only the changes.

Vectors, signatures and texts are made from names, so equal names give equal records and no encoder is needed. Reading
order: article and its relatives, Keeper (a writer over its stored rows), Reader (stories as story.changes tells them).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from state_schemas.articles import Article, Entity, Normalised, Removed, Tick
from state_schemas.codec import encode_record, pack_text, pack_vector
from state_schemas.ids import article_id
from state_schemas.stories import ArticleBrief, StoryChange
from udfs.articles.signatures import SignaturePolicy, signature
from udfs.stories.ledger import Put
from udfs.stories.pairs import PAIR_FEATURES
from udfs.stories.policy import DIMENSIONS, ClusterModel, ClusterPolicy
from udfs.stories.score import STORY_FEATURES
from udfs.stories.writer import LanguageWriter

START = 1_790_000_000_000  # ms UTC
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
FRANCE = Entity(id="country:FR", name="France", country="FR", in_title=True)

_PAIR = {"cosine": 14.0, "title": 1.0, "lede": 1.0, "text": 4.0, "names": 0.3, "names_held": 1.0, "entities": 0.2}
_STORY = {
    "best": 0.3,
    "three": 0.5,
    "centroid": 1.5,
    "leads_held": 0.5,
    "hours": -0.1,
    "exclusive": 0.3,
    "around": -0.5,
}
_NOUNS = [
    "quay",
    "ledger",
    "sluice",
    "kiln",
    "turbine",
    "orchard",
    "ferry",
    "archive",
    "reservoir",
    "viaduct",
    "granary",
    "beacon",
    "pasture",
    "foundry",
    "causeway",
    "lighthouse",
    "estuary",
    "tramway",
    "quarry",
    "cistern",
]


@cache
def model(threshold: float = 0.5) -> ClusterModel:
    """Weights by hand, every kind of feature among them, so that a counter that went wrong shows in a probability."""
    mean = np.zeros(DIMENSIONS, dtype=np.float32)
    mean[0] = 0.2
    pairs = dict.fromkeys(PAIR_FEATURES, 0.0) | _PAIR
    return ClusterModel(
        "by-hand", -6.0, pairs, -2.0, dict.fromkeys(STORY_FEATURES, 0.0) | _STORY, threshold, {"": mean}
    )


@cache
def embedding(event: str, name: str, noise: float = 0.5) -> bytes:
    """float16[384] near the event's direction; two articles of one event have a cosine of about 0.8."""
    return pack_vector(_direction(f"event/{event}") + noise * _direction(f"article/{name}"))


@cache
def _direction(name: str) -> np.ndarray[Any, Any]:
    vector = np.random.default_rng(list(name.encode())).normal(size=DIMENSIONS)
    return vector / np.linalg.norm(vector)


@cache
def text(event: str, name: str, words: int = 60) -> str:
    """An article's own sentences, with the names of its event in the first one."""
    random = np.random.default_rng(list(f"text/{event}/{name}".encode()))
    own = " ".join(f"{_NOUNS[at]}{random.integers(1_000)}" for at in random.integers(len(_NOUNS), size=words))
    return f"People of {event.title()}borough met the {event.title()}man council. {own}."


@cache
def _signed(body: str) -> tuple[str, bytes]:
    signed = signature(body, SignaturePolicy())
    return signed.content_hash, signed.minhash


def article(name: str, event: str, at_ms: int = START, version: int = 1, /, **given: Any) -> Article:
    """Version `version` of the article `name` about `event`, of a publisher of its own; `body` may be given as text."""
    body = given.pop("body", text(event, name))
    content_hash, minhash = _signed(body)
    fields: dict[str, Any] = {
        "article_id": article_id(f"https://{name}.example/story"),
        "language": "en",
        "version": version,
        "event": "new" if version == 1 else "update",
        "canonical_url": f"https://{name}.example/story",
        "publisher": f"{name}.example",
        "title": f"What {name} knows of the {event.title()}man council",
        "first_seen_ms": at_ms,
        "decided_ms": at_ms,
        "parser_version": "test",
        "body": pack_text(body),
        "words": len(body.split()),
        "content_hash": content_hash,
        "minhash": minhash,
        "embedding": embedding(event, name),
        "topics": (event,),
    }
    return Article(**(fields | given))


def tick(at_ms: int, language: str = "en") -> Tick:
    """The log's clock."""
    return Tick(language=language, decided_ms=at_ms)


def removed(of: Article, version: int, at_ms: int, reason: str = "retracted") -> Removed:
    """The tombstone of an article."""
    return Removed(
        article_id=of.article_id,
        language=of.language,
        version=version,
        decided_ms=at_ms,
        reason=reason,
        publisher=of.publisher,
    )


def on_the_clock(records: Iterable[Normalised]) -> list[Normalised]:
    """Each record after a tick of its own time: a log whose clock never waits for a confirmation."""
    return [one for record in records for one in (tick(record.decided_ms, record.language), record)]


class Keeper:
    """A writer, and the rows it has stored. `rebuild` forgets the writer and makes another one from the rows."""

    def __init__(self, policy: ClusterPolicy | None = None, using: ClusterModel | None = None) -> None:
        self.policy = policy or ClusterPolicy()
        self.model = using or model()
        self.rows: dict[tuple[str, str], bytes] = {}
        self.changes: list[StoryChange] = []
        self.puts: list[int] = []  # a record
        self.rebuild()

    def rebuild(self) -> None:
        """Fail: what is not stored is gone. The maps give their rows in an order of their own."""
        self.writer = LanguageWriter("en", self.model, self.policy, lambda name, key: self.rows.get((name, key)))
        self.writer.restore(
            lambda wanted: sorted(
                ((key, row) for (name, key), row in self.rows.items() if name == wanted), reverse=True
            )
        )

    def send(self, *records: Normalised) -> list[StoryChange]:
        """The changes of these records."""
        made: list[StoryChange] = []
        for record in records:
            decision = self.writer.decide(record)
            self._store(decision.puts)
            made += decision.changes
        self.changes += made
        return made

    def kinds(self) -> list[str]:
        """What each change so far was."""
        return [change.change for change in self.changes]

    def published(self) -> list[bytes]:
        """The changes as the topic holds them."""
        return [encode_record(change) for change in self.changes]

    def _store(self, puts: Sequence[Put]) -> None:
        assert len({put[:2] for put in puts}) == len(puts)
        for name, key, value in puts:
            if value is None:
                self.rows.pop((name, key), None)
            else:
                self.rows[name, key] = value
        self.puts.append(len(puts))


@dataclass
class Told:
    """A member as told. kind: of the change that placed it; of: the original it repeats, "" for an original."""

    story: str
    kind: str
    of: str
    brief: ArticleBrief


@dataclass
class Reader:
    """Believes story.changes and nothing else; `take` asserts that each change agrees with all before it."""

    members: dict[str, Told] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)  # stories
    gone: set[str] = field(default_factory=set)  # articles whose story expired
    placed: dict[str, int] = field(default_factory=dict)  # article id -> how often, since its last retraction
    sequence: int = 0

    def take(self, change: StoryChange) -> None:
        """The next change. Raises AssertionError where it contradicts the ones before."""
        assert (change.epoch, change.sequence) == (1, self.sequence + 1)
        self.sequence += 1
        story = change.story.story_id
        if change.change == "retracted" and change.article is not None and change.article.article_id in self.gone:
            assert story in self.ended
            self.gone.remove(change.article.article_id)
            self._counts(change)
            return
        assert story not in self.ended
        if change.change == "expired":
            assert change.article is None
            left = {name for name, told in self.members.items() if told.story == story}
            assert bool(left) == (change.cause != "empty")
            self._counts(change)
            for name in left:
                del self.members[name]
            self.gone |= left
            self.ended.add(story)
            return
        assert change.article is not None
        name = change.article.article_id
        if change.change == "retracted":
            self._retract(name, story)
        elif change.change == "updated":
            told = self.members[name]
            assert told.story == story
            assert change.of == told.of
            assert change.article.version > told.brief.version
            told.brief = change.article
        else:
            self._place(change, change.article)
        self._counts(change)

    def of_story(self, story: str) -> list[Told]:
        """A story's members, first first."""
        return [told for told in self.members.values() if told.story == story]

    def _place(self, change: StoryChange, brief: ArticleBrief) -> None:
        story = change.story.story_id
        assert brief.article_id not in self.members
        assert brief.article_id not in self.gone
        known = bool(self.of_story(story))
        assert known == (change.change != "started")
        if change.change in ("copied", "variant"):
            original = self.members[change.of]
            assert (original.story, original.of) == (story, "")
            group = [original, *(told for told in self.members.values() if told.of == change.of)]
            own = any(told.brief.publisher == brief.publisher for told in group)
            assert own == (change.change == "variant")
        else:
            assert change.of == ""
        assert (change.probability is not None) == (change.change == "assigned")
        self.members[brief.article_id] = Told(story, change.change, change.of, brief)
        self.placed[brief.article_id] = self.placed.get(brief.article_id, 0) + 1
        assert self.placed[brief.article_id] == 1

    def _retract(self, name: str, story: str) -> None:
        told = self.members.pop(name)
        assert told.story == story
        self.placed[name] = 0
        first = ""
        for other, heir in self.members.items():
            if heir.of == name:
                heir.of = first
                first = first or other

    def _counts(self, change: StoryChange) -> None:
        """The summary is that of the members, counted anew."""
        summary = change.story
        members = self.of_story(summary.story_id)
        originals = [told.brief for told in members if not told.of]
        repeats = [told.kind for told in members if told.of]
        assert summary.originals == len(originals)
        assert (summary.copies, summary.variants) == (repeats.count("copied"), repeats.count("variant"))
        assert summary.publishers == tuple(sorted({brief.publisher for brief in originals}))
        assert summary.language == change.language
        if originals:
            seen = [brief.first_seen_ms for brief in originals]
            assert (summary.first_ms, summary.latest_ms) == (min(seen), max(seen))
            assert summary.representative in {brief.article_id for brief in originals}
            if change.change != "expired":
                assert summary.updated_ms == change.decided_ms
