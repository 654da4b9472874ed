from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from state_schemas.codec import dump_state, load_state
from state_schemas.ranking import StoryView
from state_schemas.stories import StoryChange
from tests.unit.ranking_samples import NOW, change, member, view
from tests.unit.story_samples import article as any_article
from udfs.ranking.policy import RankingPolicy
from udfs.ranking.views import fold
from udfs.stories.mirror import brief

POLICY = RankingPolicy()


def _apply(views: dict[str, StoryView], *changes: StoryChange) -> dict[str, StoryView]:
    views = dict(views)
    for one in changes:
        for story, after in fold(views, one, POLICY):
            if after is None:
                views.pop(story, None)
            else:
                views[story] = after
    return views


def test_a_story_grows_by_originals_and_copies() -> None:
    views = _apply(
        {},
        change(1, "started", "s1", "a"),
        change(2, "assigned", "s1", "b", summary={"originals": 2}),
        change(3, "copied", "s1", "c", of="a", summary={"originals": 2, "copies": 1}),
    )
    assert {m.article_id: m.of for m in views["s1"].members} == {"a": "", "b": "", "c": "a"}
    assert (views["s1"].originals, views["s1"].copies) == (2, 1)


def test_a_variant_is_counted_by_the_writer_and_is_no_member() -> None:
    views = _apply(
        {}, change(1, "started", "s1", "a"), change(2, "variant", "s1", "b", of="a", summary={"variants": 1})
    )
    assert [m.article_id for m in views["s1"].members] == ["a"]
    assert views["s1"].variants == 1


def test_a_variant_that_may_be_listed_stands_for_an_original_that_may_not() -> None:
    printed = change(1, "started", "s", "print", brief={"noindex": True})
    counts = {"originals": 1, "variants": 1}
    views = _apply({}, printed, change(2, "variant", "s", "article", of="print", summary=counts))
    assert [(one.article_id, one.of, one.noindex) for one in views["s"].members] == [("article", "", False)]
    assert views["s"].originals == 1
    # Another print page changes nothing.
    second = change(3, "variant", "s", "second", of="print", brief={"noindex": True})
    assert _apply(views, second)["s"].members == views["s"].members


def test_a_corrected_headline_replaces_the_member_and_a_copy_stays_a_copy() -> None:
    views = _apply(
        {},
        change(1, "started", "s1", "a"),
        change(2, "copied", "s1", "c", of="a", summary={"copies": 1}),
        change(3, "updated", "s1", "c", brief={"title": "Corrected", "version": 2}, summary={"copies": 1}),
    )
    corrected = next(m for m in views["s1"].members if m.article_id == "c")
    assert (corrected.title, corrected.version, corrected.of) == ("Corrected", 2, "a")


def test_a_retracted_member_leaves_and_an_empty_story_ends() -> None:
    views = _apply({}, change(1, "started", "s1", "a"), change(2, "assigned", "s1", "b", summary={"originals": 2}))
    views = _apply(views, change(3, "retracted", "s1", "a"))
    assert [m.article_id for m in views["s1"].members] == ["b"]
    assert _apply(views, change(4, "retracted", "s1", "b", summary={"originals": 0})) == {}


def test_an_expired_story_ends() -> None:
    assert _apply({"s1": view("s1", member("a"))}, change(1, "expired", "s1")) == {}


def test_a_merge_moves_the_members() -> None:
    before = {"s1": view("s1", member("a")), "s2": view("s2", member("b"), member("c"))}
    after = _apply(before, change(1, "merged", "s1", other="s2", summary={"originals": 3}))
    assert set(after) == {"s1"}
    assert {m.article_id for m in after["s1"].members} == {"a", "b", "c"}


def test_a_split_divides_them() -> None:
    before = {"s1": view("s1", member("a"), member("b"), member("c"))}
    after = _apply(before, change(1, "split", "s2", other="s1", articles=("b", "c"), summary={"originals": 2}))
    assert {m.article_id for m in after["s1"].members} == {"a"}
    assert after["s1"].originals == 1
    assert {m.article_id for m in after["s2"].members} == {"b", "c"}


def test_only_the_newest_members_are_kept_while_counts_stay_exact() -> None:
    policy = RankingPolicy(members_kept=3)
    views: dict[str, StoryView] = {}
    for number in range(9):
        one = change(
            number + 1,
            "assigned",
            "s1",
            f"a{number}",
            brief={"first_seen_ms": NOW + number},
            summary={"originals": number + 1},
        )
        views |= {story: after for story, after in fold(views, one, policy) if after}
    assert [m.article_id for m in views["s1"].members] == ["a8", "a7", "a6"]
    assert views["s1"].originals == 9


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["assigned", "copied", "updated", "retracted", "merged", "split", "expired"]),
            st.sampled_from(["s1", "s2", "s3"]),
            st.sampled_from(["s1", "s2", "s3"]),
            st.sampled_from("abcdef"),
        ),
        max_size=25,
    )
)
def test_a_change_folded_twice_changes_nothing(steps: list[tuple[str, str, str, str]]) -> None:
    views: dict[str, StoryView] = {}
    for number, (kind, story, other, article) in enumerate(steps):
        if kind in ("merged", "split"):
            if story == other:
                continue
            one = change(number, kind, story, other=other, articles=(article,) if kind == "split" else ())
        else:
            one = change(number, kind, story, article, of="x" if kind == "copied" else "")
        views = _apply(views, one)
        assert _apply(views, one) == views


def test_a_member_knows_the_feed_its_article_came_by() -> None:
    told = brief(any_article("a", feed_id="f" * 16), 0.5)
    started = msgspec.structs.replace(change(1, "started", "s1", "a"), article=told)
    (known,) = _apply({}, started)["s1"].members
    assert known.feed_id == "f" * 16


def test_a_view_stored_before_members_had_a_feed_is_read() -> None:
    stored = dump_state(view("s1", member("a")))
    fields = msgspec.msgpack.decode(stored[1:])
    for one in fields[-1]:
        assert one.pop() == "feed-a"
    loaded = load_state(StoryView, stored[:1] + msgspec.msgpack.encode(fields))
    assert loaded == view("s1", member("a", feed_id=""))
