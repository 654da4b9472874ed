"""What a writer is made of: exact vectors, copies' bands, candidate indexes, frequencies, profiles, figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_schemas.codec import DecodeError, pack_vector
from tests.unit.story_samples import text
from udfs.articles.signatures import SignaturePolicy, signature
from udfs.stories import vectors
from udfs.stories.copies import CopyIndex, estimated_jaccard, read_signature
from udfs.stories.evaluation import figures
from udfs.stories.frequencies import WEIGHT_STEP, Frequencies
from udfs.stories.index import CentroidIndex, TermIndex
from udfs.stories.policy import ClusterPolicy, ModelError, load_model
from udfs.stories.terms import ENTITY, STEP, Vocabulary


def unit(seed: int) -> np.ndarray:
    vector = np.random.default_rng(seed).normal(size=384)
    return vector / np.linalg.norm(vector)


# --- vectors


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_products_are_the_same_in_any_order_and_close_to_the_real_ones(one, other):
    left, right = vectors.exact(unit(one)), vectors.exact(unit(other))
    assert float(np.dot(left, right)) == sum(int(a) * int(b) for a, b in zip(left, right, strict=True))
    assert float(np.dot(left[::-1], right[::-1])) == float(np.dot(left, right))
    assert vectors.cosine(left, right) == pytest.approx(float(unit(one) @ unit(other)), abs=2e-3)
    assert (vectors.unpack(vectors.pack(left)) == left).all()


def test_no_direction_is_like_nothing():
    zero = vectors.centred(None, np.zeros(384))
    assert vectors.cosine(zero, vectors.exact(unit(1))) == 0.0
    assert vectors.pack(zero) == b""
    assert vectors.published(zero) == b""
    assert not vectors.unpack(b"").any()


def test_a_centroid_leans_to_the_newest():
    old, new = vectors.exact(unit(1)), vectors.exact(unit(2))
    centre = vectors.centroid(np.stack([old, new]))
    assert vectors.cosine(centre, new) > vectors.cosine(centre, old) > 0.6


def test_removing_the_mean_spreads_vectors_that_lie_close():
    common = unit(0)
    first, second = (common * 3 + unit(seed) for seed in (1, 2))
    assert float(first @ second) / np.linalg.norm(first) / np.linalg.norm(second) > 0.8
    mean = common * 3
    left, right = (vectors.centred(v.astype(np.float32), mean) for v in (first, second))
    assert abs(vectors.cosine(left, right)) < 0.3


def test_the_running_mean_moves_from_its_prior_and_survives_its_bytes():
    mean = vectors.RunningMean(np.zeros(384, dtype=np.float32), 10.0, 20.0)
    for _ in range(30):
        mean.add(np.ones(384, dtype=np.float32))
    assert mean.weight <= 20.0
    assert 0.5 < mean.value()[0] < 1.0
    again = vectors.RunningMean(np.zeros(384, dtype=np.float32), 10.0, 20.0)
    again.load(mean.dump())
    again.weight = mean.weight
    assert (again.value() == mean.value()).all()


@pytest.mark.parametrize("data", [b"\0" * 766, pack_vector(np.full(384, np.nan)), b"\0"])
def test_what_is_no_embedding_is_refused(data):
    with pytest.raises(DecodeError):
        vectors.read_embedding(data)


# --- copies


def signed(body: str) -> np.ndarray:
    found = read_signature(signature(body, SignaturePolicy()).minhash)
    assert found is not None
    return found


def test_nearly_equal_texts_meet_and_others_do_not():
    index = CopyIndex(ClusterPolicy())
    body = text("alpha", "wire", words=300)
    index.add(1, "h1", signed(body))
    index.add(2, "h2", signed(text("beta", "other", words=300)))
    cut = " ".join(body.split()[:-12])
    (found, *others) = index.near(signed(cut))
    assert found[1] == 1
    assert found[0] > 0.8
    assert not others
    assert index.equal("h1") == [1]
    assert index.equal("") == []
    index.remove(1, "h1")
    assert index.near(signed(body)) == []
    assert index.equal("h1") == []


def test_a_bucket_of_boilerplate_is_looked_at_in_part():
    policy = ClusterPolicy(bucket=4)
    index = CopyIndex(policy)
    same = signed(text("alpha", "wire"))
    for member in range(50):
        index.add(member, "", same)
    assert {member for _, member in index.near(same)} == {46, 47, 48, 49}


def test_jaccard_of_signatures():
    one = np.arange(100, dtype=np.uint32)
    other = one.copy()
    other[:20] += 1_000
    assert estimated_jaccard(one, other) == 0.8


# --- indexes


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=80), st.integers(1, 12))
def test_exact_search_finds_the_nearest_whatever_came_and_went(steps, count):
    index = CentroidIndex(ClusterPolicy())
    live: dict[int, np.ndarray] = {}
    for place, story in enumerate(steps):
        if story in live and place % 3 == 0:
            index.remove(story + 1)
            del live[story]
        else:
            live[story] = vectors.exact(unit(1_000 * place + story))
            index.put(story + 1, live[story])
    query = vectors.exact(unit(77))
    expected = sorted(live, key=lambda story: (-float(live[story] @ query), story))[:count]
    assert index.nearest(query, count) == [story + 1 for story in expected]


def test_hnsw_takes_over_above_the_bar_and_finds_nearly_the_same():
    graph, plain = CentroidIndex(ClusterPolicy(exact_below=100)), CentroidIndex(ClusterPolicy(exact_below=10_000))
    for story in range(1, 400):
        centre = vectors.exact(unit(story % 37) + 0.5 * unit(1_000 + story))
        graph.put(story, centre)
        plain.put(story, centre)
    for story in range(1, 100, 3):
        graph.remove(story)
        plain.remove(story)
    found = same = 0
    for seed in range(37):
        query = vectors.exact(unit(seed) + 0.5 * unit(5_000 + seed))
        expected = set(plain.nearest(query, 10))
        same += len(expected & set(graph.nearest(query, 10)))
        found += len(expected)
    assert same / found > 0.9
    for story in list(graph._rows)[:-20]:
        graph.remove(story)
    assert len(graph.nearest(vectors.exact(unit(5)), 50)) == 20


def test_terms_of_few_stories_lead_to_them():
    policy = ClusterPolicy(posting=3)
    index = TermIndex(policy)
    everywhere, rare, rarer = 1, 2, 3
    for story in range(10, 15):
        index.add(story, np.array([everywhere], dtype=np.uint32))
    index.add(10, np.array([rare, rarer], dtype=np.uint32))
    index.add(11, np.array([rare], dtype=np.uint32))
    terms = np.array([everywhere, rare, rarer], dtype=np.uint32)
    shared = index.shared(terms, np.array([100, 100, 100], dtype=np.int32))
    assert shared == {10: 150, 11: 50}
    index.remove(10, np.array([rare, rarer], dtype=np.uint32))
    assert index.shared(terms, np.array([100, 100, 100], dtype=np.int32)) == {11: 100}


# --- frequencies


def test_what_most_stories_share_carries_no_weight():
    frequencies = Frequencies(ClusterPolicy())
    vocabulary = Vocabulary("fr")
    now = 1_000_000
    common = vocabulary.terms("Grève à Paris", "", "", ())
    ids, flags, priors = common.ids, common.flags | ENTITY, np.full(len(common.ids), 3 * STEP, dtype=np.uint8)
    before = frequencies.weights(ids, flags, priors, now)
    for _ in range(500):
        frequencies.add(common, now)
    after = frequencies.weights(ids, flags, priors, now)
    assert (before == 3 * WEIGHT_STEP).all()
    assert (after < WEIGHT_STEP // 10).all()


def test_a_count_halves_with_its_half_life_and_blocks_give_all_back():
    policy = ClusterPolicy(half_life_ms=1_000)
    frequencies = Frequencies(policy, epoch_ms=1)
    terms = Vocabulary("en").terms("Kestrel lands", "", "", ())
    for step in range(40):
        frequencies.add(terms, 1 + 1_000 * step)  # weights up to 2**39: brought back on the way
    again = Frequencies(policy, frequencies.epoch_ms, frequencies.documents)
    for block, data in frequencies.take_touched():
        again.load(block, data)
    assert frequencies.take_touched() == []
    for late in (39_001, 49_001):
        mine = frequencies.weights(terms.ids, terms.flags, terms.priors, late)
        assert (mine == again.weights(terms.ids, terms.flags, terms.priors, late)).all()
    assert math.isclose(frequencies.documents, again.documents)


# --- figures and the model's file


def test_figures_by_hand():
    assigned = [("s1", "a"), ("s1", "a"), ("s1", "b"), ("s2", "b")]
    found = figures(assigned, [True, True, False, True])
    assert (found.articles, found.events, found.stories) == (4, 2, 2)
    assert found.pair_precision == pytest.approx(1 / 3)
    assert found.pair_recall == pytest.approx(1 / 2)
    assert found.b3_precision == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4)
    assert found.b3_recall == pytest.approx((1 + 1 + 1 / 2 + 1 / 2) / 4)
    assert found.id_stability == 0.75


def test_the_shipped_model_loads_and_a_broken_one_says_why(tmp_path):
    from connectors.settings import Endpoints
    from udfs.stories.pairs import PAIR_FEATURES
    from udfs.stories.score import STORY_FEATURES

    folder = Endpoints().reference_data_folder()
    model = load_model(folder / "clustering.toml")
    assert model.pair_weights.keys() == PAIR_FEATURES.keys()
    assert model.weights.keys() == STORY_FEATURES.keys()
    assert 0 < model.threshold < 1
    assert model.mean("xx").shape == (384,)
    broken = tmp_path / "clustering.toml"
    broken.write_text('version = "1"\n[means]\n', "utf-8")
    with pytest.raises(ModelError, match=r"clustering\.toml"):
        load_model(broken)
    with pytest.raises(ModelError):
        load_model(tmp_path / "absent.toml")
