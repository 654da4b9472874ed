"""Articles of invented events for the clusterer's tests: vectors near each other and shared words within an event."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from state_schemas.articles import Article, Entity, Normalised, Removed
from state_schemas.codec import pack_text, pack_vector
from state_schemas.ids import article_id
from state_schemas.stories import StoryChange
from udfs.articles.signatures import Signature, SignaturePolicy, signature
from udfs.stories.ledger import Put
from udfs.stories.pairs import PAIR_FEATURES
from udfs.stories.policy import ClusterModel, ClusterPolicy
from udfs.stories.writer import LanguageWriter

NOW = 1_800_000_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
_WORDS = ["harbour", "tunnel", "bridge", "storm", "council", "orchard", "lantern", "glacier", "market", "railway"]


def model(threshold: float = 0.5) -> ClusterModel:
    """A plain model by hand: cosine and shared names decide, a clear yes above a cosine of about 0.5."""
    weights = dict.fromkeys(PAIR_FEATURES, 0.0) | {"cosine": 12.0, "text": 4.0, "names_held": 2.0}
    mean = np.zeros(384, dtype=np.float32)
    return ClusterModel("test-1", -6.0, weights, -1.0, {"three": 1.0}, threshold, {"": mean})


@cache
def embedding(event: str, article: str, noise: float = 0.4) -> bytes:
    """A unit vector near the event's own direction, the same for the same names."""

    def direction(name: str) -> np.ndarray[Any, Any]:
        vector = np.random.default_rng(list(name.encode())).normal(size=384)
        return vector / np.linalg.norm(vector)

    return pack_vector(direction(f"event {event}") + noise * direction(f"article {article}"))


@cache
def text(event: str, article: str, words: int = 120) -> str:
    """A body of the event's own names and the article's own words."""
    random = np.random.default_rng(list(f"{event}/{article}".encode()))
    name = event.capitalize()
    picked = [_WORDS[place] + str(random.integers(100)) for place in random.integers(len(_WORDS), size=words)]
    return f"Officials in {name} said on Monday that {name}ville was calm. " + " ".join(picked) + "."


@cache
def _signed(body: str) -> Signature:
    return signature(body, SignaturePolicy())


def article(
    name: str,
    event: str = "alpha",
    *,
    publisher: str = "",
    at_ms: int = NOW,
    body: str | None = None,
    version: int = 1,
    **fields: Any,
) -> Article:
    """An article called `name` about `event`; its publisher is its own unless one is given."""
    body = text(event, name) if body is None else body
    signed = _signed(body)
    given: dict[str, Any] = {
        "article_id": article_id(f"https://press.example/{name}"),
        "language": "en",
        "version": version,
        "event": "new" if version == 1 else "update",
        "canonical_url": f"https://press.example/{name}",
        "publisher": publisher or f"{name}.example",
        "title": f"News of {event} by {name}",
        "first_seen_ms": at_ms,
        "decided_ms": at_ms,
        "parser_version": "test",
        "body": pack_text(body),
        "words": len(body.split()),
        "content_hash": signed.content_hash,
        "minhash": signed.minhash,
        "embedding": embedding(event, name),
    }
    return Article(**(given | fields))


def removed(of: Article, version: int = 2, at_ms: int = NOW, reason: str = "retracted") -> Removed:
    """The tombstone of an article."""
    return Removed(
        article_id=of.article_id,
        language=of.language,
        version=version,
        decided_ms=at_ms,
        reason=reason,
        publisher=of.publisher,
    )


def place(name: str, country: str = "", in_title: bool = True) -> Entity:
    """A linked place; a country where its id says so."""
    return Entity(id=name, name=name.split(":")[1], in_title=in_title, country=country)


class Store:
    """The writer's keyed state, in memory."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], bytes] = {}
        self.reads: list[tuple[str, str]] = []

    def apply(self, puts: Iterable[Put]) -> None:
        for name, key, value in puts:
            if value is None:
                self.rows.pop((name, key), None)
            else:
                self.rows[name, key] = value

    def read(self, name: str, key: str) -> bytes | None:
        self.reads.append((name, key))
        return self.rows.get((name, key))

    def of(self, name: str) -> list[tuple[str, bytes]]:
        """Rows of one map, in an order that is not that of their writing."""
        return sorted(((key, value) for (of, key), value in self.rows.items() if of == name), reverse=True)


class Line:
    """A writer over a store. `restart` goes on with a writer rebuilt from what is stored."""

    def __init__(self, policy: ClusterPolicy | None = None, using: ClusterModel | None = None) -> None:
        self.policy = policy or ClusterPolicy()
        self.model = using or model()
        self.store = Store()
        self.changes: list[StoryChange] = []
        self.restart()

    def restart(self) -> None:
        self.writer = LanguageWriter("en", self.model, self.policy, self.store.read)
        self.writer.restore(self.store.of)

    def send(self, *records: Normalised) -> list[StoryChange]:
        """What the records change."""
        made: list[StoryChange] = []
        for record in records:
            decision = self.writer.decide(record)
            self.store.apply(decision.puts)
            made += decision.changes
        self.changes += made
        return made
