"""An article with its signatures filled in: content hash, MinHash, vector. The same in the job and in a replay.

No Flink, no clock. What was encoded lately is kept by text hash: an update that changes labels alone, or goes back to
an earlier text, costs no encoding.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import msgspec

from state_schemas.articles import Article
from state_schemas.codec import pack_text, pack_vector
from udfs.articles.encoder import Encoder, encoder_input
from udfs.articles.policy import ArticlesPolicy
from udfs.articles.section_model import SectionModel, with_section
from udfs.articles.signatures import SignaturePolicy, signature, text_hash


class Signer:
    """Holds an encoder and the last `signatures_kept` vectors. encoded: called for each text that was encoded anew.

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
        self._kept = policy.signatures_kept
        self._signatures = SignaturePolicy(min_shingles=policy.min_shingles)
        self._encoded = encoded
        self._sections = sections
        self._vectors: OrderedDict[str, bytes] = OrderedDict()

    def signed(self, article: Article, body: str) -> Article:
        """`article` with its body packed and its signatures. body: the plain text. Raises what the encoder raises."""
        found = signature(body, self._signatures)
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
        key = text_hash(text)
        known = self._vectors.get(key)
        if known is None:
            known = pack_vector(self._encoder.encode([text])[0])
            self._encoded()
        self._vectors[key] = known
        self._vectors.move_to_end(key)
        while len(self._vectors) > self._kept:
            self._vectors.popitem(last=False)
        return known
