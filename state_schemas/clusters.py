"""Keyed state of a language's writer (stage cluster): what is stored, in which map, under which key.

Each Flink key (one language) holds five maps of name -> bytes:

    writer    "writer" -> WriterState; "mean" -> float64[384], a sum; "df:00".. -> blocks of document frequencies
    stories   story id -> StoryState, while live
    members   article id -> MemberState, while its story is live (or, retracted, for as long)
    articles  article id -> ArticleState, for 30 days from its story's expiry
    retired   minute of stream time -> article ids (16 bytes each) whose 30 days began then

Everything else a writer knows (counters, centroids, indexes) is computed from these when it is rebuilt.
"""

from __future__ import annotations

from state_schemas.articles import Entity
from state_schemas.codec import State

WRITER, STORIES, MEMBERS, ARTICLES, RETIRED = "writer", "stories", "members", "articles", "retired"
MAPS: tuple[str, ...] = (WRITER, STORIES, MEMBERS, ARTICLES, RETIRED)

ORIGINAL, COPY, VARIANT, RETRACTED = 0, 1, 2, 3


class WriterState(State, frozen=True, array_like=True):
    """A writer's counters and clock; written with every decision.

    clock_ms: stream time, 0 until two publishers agreed on one. claim_ms, claim_by: a jump that waits for a second
    publisher. minted_ms, minted: the last story id's time and counter. folded, folded_ms: up to which change stories
    are counted in the frequencies, and when. swept_minute: the last minute whose housekeeping was done.
    df_epoch_ms: when a count in the frequencies weighed 1. documents: weight of the stories counted there. vectors:
    weight of the articles in the mean.
    """

    epoch: int = 1
    sequence: int = 0
    clock_ms: int = 0
    claim_ms: int = 0
    claim_by: str = ""
    minted_ms: int = 0
    minted: int = 0
    folded: int = 0
    folded_ms: int = 0
    swept_minute: int = 0
    df_epoch_ms: int = 0
    documents: float = 0.0
    vectors: float = 0.0


class StoryState(State, frozen=True, array_like=True):
    """A live story. Times in ms of stream time. sequence: of the change that started it.

    claimed_ms: what its last article said the time was, where that was a jump still unconfirmed; it counts as the
    update's time once the clock has got there. repaired_ms, held, aliases: for repairs and editors.
    """

    sequence: int
    first_ms: int
    updated_ms: int
    claimed_ms: int = 0
    repaired_ms: int = 0
    held: bool = False
    aliases: tuple[str, ...] = ()


class MemberState(State, frozen=True, array_like=True):
    """An article in a live story: what copies, scores and summaries need of it again.

    sequence: of the change that brought it in; members of a story are in this order. role: ORIGINAL, COPY, VARIANT or
    RETRACTED (then only version and decided_ms count). of: the first original, of a copy or variant.
    vector: 384 int16, unit length x 4,000, the language's mean of then removed; empty without an embedding.
    terms: uint32 ids; flags, priors: a byte each a term (udfs/stories/terms.py). minhash: 100 uint32, or empty.
    """

    story: str
    sequence: int
    version: int
    role: int
    decided_ms: int
    of: str = ""
    publisher: str = ""
    title: str = ""
    url: str = ""
    first_seen_ms: int = 0
    authority: float = 0.0
    words: int = 0
    content_hash: str = ""
    minhash: bytes = b""
    vector: bytes = b""
    terms: bytes = b""
    flags: bytes = b""
    priors: bytes = b""
    topics: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()


class ArticleState(State, frozen=True, array_like=True):
    """Where an article was, once its story has expired: its last version, so that a late one starts nothing."""

    story: str
    version: int
