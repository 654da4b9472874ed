"""The generated press: its shares, its determinism, and that its texts are as alike and unlike as the truth says."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.press import content, generated

WORDS = generated.load_words()
PRESS = generated.generate(400, 12, 7, 10.0, WORDS)


def test_shares() -> None:
    kinds = Counter(article.kind for article in PRESS.articles)
    assert kinds == {"original": 260, "copy": 100, "variant": 40}
    assert len(PRESS.events) == 100
    assert max(Counter(a.event for a in PRESS.articles if a.kind == "original").values()) <= 4


def test_even_steps_over_the_minutes() -> None:
    times = [article.published_s for article in PRESS.articles]
    assert times == pytest.approx([place * 1.5 for place in range(1, 401)])


def test_the_same_seed_gives_the_same_press() -> None:
    assert generated.generate(60, 5, 3, 1.0, WORDS).articles == generated.generate(60, 5, 3, 1.0, WORDS).articles
    assert generated.generate(60, 5, 3, 1.0, WORDS).articles != generated.generate(60, 5, 4, 1.0, WORDS).articles


@given(st.integers(1, 120), st.integers(1, 8), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_any_size(count: int, hosts: int, seed: int) -> None:
    press = generated.generate(count, hosts, seed, 1.0, WORDS)
    assert len(press.articles) == count
    seen = set()
    for article in press.articles:
        assert article.repeats == "" or article.repeats in seen
        seen.add(article.id)
        if article.kind == "copy":
            assert article.publisher != press.by_id[article.repeats].publisher
        if article.kind == "variant":
            assert article.publisher == press.by_id[article.repeats].publisher


def test_repeats_are_alike() -> None:
    for article in PRESS.articles:
        if article.repeats:
            assert content.jaccard(article.text, PRESS.by_id[article.repeats].text) > 0.85


def test_originals_are_not_alike() -> None:
    originals = [article for article in PRESS.articles if article.kind == "original"][:120]
    for left, right in combinations(originals, 2):
        bar = 0.1 if left.event == right.event else 0.4
        assert content.jaccard(left.text, right.text) < bar, (left.id, right.id)


def test_one_newsroom_texts_share_facts() -> None:
    first, second = [a for a in PRESS.articles if a.event == "g00001" and a.kind == "original"][:2]
    assert first.publisher != second.publisher
    capitals = [{word for word in a.text.split() if word[0].isupper()} for a in (first, second)]
    assert len(capitals[0] & capitals[1]) >= 2


def test_every_sentence_can_be_filled() -> None:
    slots = dict.fromkeys(
        ("place", "region", "org", "rival", "person", "rival_person", "last", "role", "thing", "n", "m", "sum", "day"),
        "x",
    )
    sentences = [text for found in WORDS["general"].values() for text in found]
    for kind in WORDS["kind"]:
        assert set(kind) == {"name", "section", "role", "thing", "head", *generated.PARTS}
        sentences += [text for part in ("head", *generated.PARTS) for text in kind[part]]
    for sentence in sentences:
        assert "{" not in sentence.format_map(slots)
    assert len(sentences) == len(set(sentences))
