"""What is signed and encoded anew when an article changes, and what is not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from state_schemas.articles import Article
from udfs.articles import signing
from udfs.articles.policy import ArticlesPolicy
from udfs.articles.signatures import Signature, SignaturePolicy, signature
from udfs.articles.signing import Signer

FIRST, SECOND = "The harbour closed on Monday. Ferries wait outside.", "Ships turn back. The port expects more wind."
REST = " ".join(f"paragraph{number} says what came next." for number in range(30))
BODY = f"{FIRST}\n{SECOND}\n{REST}"
ARTICLE = Article(
    article_id="0" * 32,
    language="en",
    version=1,
    event="new",
    canonical_url="https://n.example/a",
    publisher="n",
    title="Storm",
    first_seen_ms=0,
    decided_ms=0,
    parser_version="1",
    lede="Ferries wait.",
)


class Known:
    model_version, dimensions = "known", 2

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return np.array([[1.0, len(text)] for text in texts], dtype=np.float32)


@pytest.mark.parametrize(
    ("change", "body", "encodings", "signatures"),
    [
        pytest.param({"labels": ("opinion",)}, BODY, 0, 0, id="labels"),
        pytest.param({"lede": "Another lede."}, BODY, 0, 0, id="lede, where there is a body"),
        pytest.param({"title": "Gale"}, BODY, 1, 0, id="title"),
        pytest.param({}, BODY + " More to come.", 0, 1, id="end of the body"),
        pytest.param({}, "Now open. " + BODY, 1, 1, id="beginning of the body"),
        pytest.param({"lede": "Another lede."}, "", 1, 1, id="no body: the lede is encoded"),
    ],
)
def test_only_what_depends_on_the_change_is_made_anew(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, object], body: str, encodings: int, signatures: int
) -> None:
    signed: list[str] = []

    def counted(text: str, policy: SignaturePolicy) -> Signature:
        signed.append(text)
        return signature(text, policy)

    monkeypatch.setattr(signing, "signature", counted)
    encoder = Known()
    signer = Signer(encoder, ArticlesPolicy())
    before = signer.signed(ARTICLE, BODY)
    encoder.texts.clear()
    signed.clear()
    after = signer.signed(msgspec.structs.replace(ARTICLE, **change), body)
    assert (len(encoder.texts), len(signed)) == (encodings, signatures)
    assert (after.content_hash == before.content_hash) is (signatures == 0)
    assert signer.signed(ARTICLE, BODY) == before
    assert (len(encoder.texts), len(signed)) == (encodings, signatures)  # going back costs nothing


def test_what_is_kept_is_bounded() -> None:
    encoder = Known()
    signer = Signer(encoder, ArticlesPolicy(signatures_kept=1))
    for title in ("One", "Two", "One"):
        signer.signed(msgspec.structs.replace(ARTICLE, title=title), BODY)
    assert len(encoder.texts) == 3
