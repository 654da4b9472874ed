"""An article of the log, with its parts read before anything is decided, so that no decision fails half-way.

Decides only whether a record is one: another length of vector or signature, a body that does not unpack, an id or
instant that no story id can hold are the sender's fault, and refused with a reason code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from state_schemas import ids
from state_schemas.articles import Article, Removed, Tick
from state_schemas.clusters import MemberState
from state_schemas.codec import DecodeError, unpack_text
from udfs.stories import vectors
from udfs.stories.copies import Signature, read_signature
from udfs.stories.terms import Terms

_ARTICLE_ID = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Incoming:
    """An article whose parts were all read, so that nothing fails half-way through a decision."""

    article: Article
    embedding: NDArray[np.float32] | None
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


def check(record: Article | Removed | Tick) -> None:
    """Raises DecodeError on an instant that no story id holds, or an article id that is none."""
    if not 0 < record.decided_ms < 1 << ids.STORY_MS_BITS:
        raise DecodeError("decided_ms_invalid", f"{record.decided_ms}")
    if not isinstance(record, Tick) and not _ARTICLE_ID.fullmatch(record.article_id):
        raise DecodeError("article_id_invalid", f"{record.article_id[:64]!r} is not 32 hex digits")


def read(article: Article) -> Incoming:
    """Raises DecodeError on a part that is not what it should be."""
    return Incoming(
        article,
        vectors.read_embedding(article.embedding),
        read_signature(article.minhash),
        unpack_text(article.body),
    )
