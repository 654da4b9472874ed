"""An article with its signatures filled in: content hash, MinHash, vector. The same in the job and in a replay.

No Flink, no clock. What was signed and encoded lately is kept by the hash of its input: an update that changes labels
alone, or goes back to an earlier text, costs neither; one that changes the end of a body costs a MinHash and no vector.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from state_schemas.articles import Article
from state_schemas.codec import pack_text, pack_vector
from udfs.articles.encoder import Encoder, encoder_input
from udfs.articles.policy import ArticlesPolicy
from udfs.articles.section_model import SectionModel, with_section
from udfs.articles.signatures import Signature, SignaturePolicy, signature, text_hash

T = TypeVar("T")


class Signer:
    """Holds an encoder and the last `signatures_kept` signatures and vectors. encoded: called for each text so made.

    sections: gives an article its section where the publisher named none.
    """

    def __init__(
        self,
        encoder: Encoder,
        policy: ArticlesPolicy,
        encoded: Callable[[], None] = lambda: None,
        sections: SectionModel | None = None,
    ) -> None:
        self._encoder = encoder
        self._signatures = SignaturePolicy(min_shingles=policy.min_shingles)
        self._encoded = encoded
        self._sections = sections
        self._signed: _Latest[Signature] = _Latest(policy.signatures_kept)
        self._vectors: _Latest[bytes] = _Latest(policy.signatures_kept)

    def signed(self, article: Article, body: str) -> Article:
        """`article` with its body packed and its signatures. body: the plain text. Raises what the encoder raises."""
        found = self._signed.get(body, lambda: signature(body, self._signatures))
        signed = msgspec.structs.replace(
            article,
            body=pack_text(body) if body else b"",
            content_hash=found.content_hash,
            minhash=found.minhash,
            embedding=self._vector(encoder_input(article.title, body or article.lede, article.language)),
            encoder_version=self._encoder.model_version,
        )
        return with_section(signed, self._sections)

    def _vector(self, text: str) -> bytes:
        if not text:
            return b""
        return self._vectors.get(text, lambda: self._encode(text))

    def _encode(self, text: str) -> bytes:
        made = pack_vector(self._encoder.encode([text])[0])
        self._encoded()
        return made


class _Latest(Generic[T]):
    """What was made from the texts met last, at most `kept` of them."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._made: OrderedDict[str, T] = OrderedDict()

    def __len__(self) -> int:
        return len(self._made)

    def get(self, text: str, make: Callable[[], T]) -> T:
        key = text_hash(text)
        known = self._made.get(key)
        if known is None:
            known = make()
        self._made[key] = known
        self._made.move_to_end(key)
        while len(self._made) > self._kept:
            self._made.popitem(last=False)
        return known
