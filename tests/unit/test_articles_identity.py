"""New, changed, repeated, older, retracted: decisions on one article's row, and the law of order."""

from __future__ import annotations

import itertools

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from state_schemas.articles import Article, Removed
from state_schemas.codec import dump_state, load_state
from state_schemas.rows import ArticleRow
from udfs.articles.identity import DAY_MS, Decision, Event, Reading, Retraction, decide

NOW = 1_796_000_000_000


def reading(
    *,
    title: str = "Dam holds",
    lede: str = "The dam held.",
    body: str = "The dam held overnight.",
    read_ms: int = NOW,
    found_ms: int = NOW - 60_000,
    page: bool = True,
    language: str = "en",
    labels: tuple[str, ...] = (),
    alone: bool = False,
    lede_from: str = "og",
) -> Reading:
    article = Article(
        article_id="ab" * 16,
        language=language,
        version=0,
        event="new",
        canonical_url="https://n.example/dam",
        publisher="n.example",
        title=title,
        lede=lede,
        labels=labels,  # type: ignore[arg-type]
        first_seen_ms=found_ms,
        decided_ms=0,
        parser_version="1",
        found_ms=found_ms,
        from_entry=not page,
        sources={"lede": lede_from} if lede else {},
    )
    return Reading(article=article, body=body, read_ms=read_ms, from_page=page, alone=alone)


def gone(read_ms: int = NOW, found_ms: int = NOW - 60_000) -> Retraction:
    return Retraction(article_id="ab" * 16, read_ms=read_ms, found_ms=found_ms, reason="gone", publisher="n.example")


def run(*events: Event) -> tuple[ArticleRow | None, list[Decision]]:
    row: ArticleRow | None = None
    decisions = []
    for number, event in enumerate(events):
        decision = decide(row, event, NOW + number)
        row = decision.row if decision.row is not None else row
        decisions.append(decision)
    return row, decisions


def statuses(*events: Event) -> list[str]:
    return [decision.status for decision in run(*events)[1]]


def test_a_first_reading_is_new_in_version_one() -> None:
    row, (decision,) = run(reading())
    (article,) = decision.send
    assert isinstance(article, Article)
    assert (decision.status, article.event, article.version, article.changed) == ("new", "new", 1, ())
    assert (article.first_seen_ms, article.decided_ms) == (NOW - 60_000, NOW)
    assert row is not None
    assert row.first_seen_ms == NOW - 60_000


def test_the_same_again_is_a_duplicate_and_sends_nothing() -> None:
    _, decisions = run(reading(), reading(), reading(read_ms=NOW + 5))
    assert [decision.status for decision in decisions[1:]] == ["duplicate", "duplicate"]
    assert not any(decision.send for decision in decisions[1:])


def test_a_corrected_headline_is_a_version_that_names_what_changed() -> None:
    _, decisions = run(reading(), reading(title="Dam holds, two hurt", read_ms=NOW + 5))
    (article,) = decisions[1].send
    assert isinstance(article, Article)
    assert (article.event, article.version, article.changed) == ("update", 2, ("title",))


def test_a_change_of_labels_alone_is_an_update() -> None:
    _, decisions = run(reading(), reading(labels=("opinion",), read_ms=NOW + 5))
    (article,) = decisions[1].send
    assert isinstance(article, Article)
    assert article.changed == ("labels",)


def test_an_older_reading_that_arrives_late_changes_nothing_but_first_seen() -> None:
    row, decisions = run(reading(read_ms=NOW), reading(title="Dam may fail", read_ms=NOW - 9, found_ms=NOW - 90_000))
    assert decisions[1].status == "older"
    assert not decisions[1].send
    assert row is not None
    assert row.first_seen_ms == NOW - 90_000


def test_first_seen_never_moves_later() -> None:
    re_dated = reading(title="The 10 best ferries", read_ms=NOW + 500 * DAY_MS, found_ms=NOW + 500 * DAY_MS)
    _, decisions = run(reading(title="The 7 best ferries"), re_dated)
    (article,) = decisions[1].send
    assert isinstance(article, Article)
    assert (article.event, article.first_seen_ms) == ("update", NOW - 60_000)


def test_the_page_updates_what_the_entry_told() -> None:
    _, decisions = run(reading(page=False, body=""), reading(read_ms=NOW - 1))
    assert [decision.status for decision in decisions] == ["new", "update"]
    (article,) = decisions[1].send
    assert isinstance(article, Article)
    assert article.changed == ("body",)


def test_an_entry_read_again_after_its_page_is_a_duplicate() -> None:
    assert statuses(reading(), reading(page=False, body="", title="Dam", read_ms=NOW + 5)) == ["new", "duplicate"]


def test_a_change_of_language_moves_the_article_between_logs() -> None:
    _, decisions = run(reading(), reading(language="de", title="Damm hält", read_ms=NOW + 5))
    removed, article = decisions[1].send
    assert isinstance(removed, Removed)
    assert isinstance(article, Article)
    assert (removed.language, removed.version, removed.reason) == ("en", 2, "language_changed")
    assert (article.language, article.version, article.event) == ("de", 2, "update")


def test_a_change_of_language_alone_is_sent_too() -> None:
    _, decisions = run(reading(), reading(language="de", read_ms=NOW + 5))
    assert [type(record) for record in decisions[1].send] == [Removed, Article]


def test_a_re_check_without_its_entry_takes_nothing_back_that_the_entry_said() -> None:
    told = reading(lede="As the feed has it.", lede_from="entry", language="no")
    checked = reading(lede="The dam held overnight.", lede_from="page", language="da", read_ms=NOW + 5, alone=True)
    without = reading(lede="", language="da", read_ms=NOW + 6, alone=True)
    row, decisions = run(told, checked, without)
    assert [decision.status for decision in decisions] == ["new", "duplicate", "duplicate"]
    assert row is not None
    assert (row.language, row.read_ms) == ("no", NOW + 6)
    assert statuses(told, checked, reading(lede="As the feed has it.", language="no", read_ms=NOW + 7)) == [
        "new",
        "duplicate",
        "duplicate",
    ]


def test_a_re_check_sends_what_the_page_itself_states_anew() -> None:
    _, decisions = run(reading(), reading(lede="The dam broke.", read_ms=NOW + 5, alone=True))
    (article,) = decisions[1].send
    assert isinstance(article, Article)
    assert (article.version, article.changed, article.lede) == (2, ("lede",), "The dam broke.")


def test_a_re_check_that_is_sent_says_all_that_differs_in_the_log_it_stands_in() -> None:
    told = reading(lede="As the feed has it.", lede_from="entry", language="no")
    checked = reading(title="Dam broken", lede_from="page", language="da", read_ms=NOW + 5, alone=True)
    _, decisions = run(told, checked, msgspec.structs.replace(checked, read_ms=NOW + 6))
    (article,) = decisions[1].send
    assert isinstance(article, Article)
    assert (article.language, article.changed, article.lede) == ("no", ("title", "lede"), "The dam held.")
    assert decisions[2].status == "duplicate"


def test_a_re_check_of_an_article_never_met_is_new() -> None:
    row, (decision,) = run(reading(language="da", alone=True))
    assert (decision.status, len(decision.send)) == ("new", 1)
    assert row is not None
    assert row.language == "da"


def test_a_retraction_is_a_versioned_tombstone() -> None:
    row, decisions = run(reading(), gone(NOW + 5))
    (removed,) = decisions[1].send
    assert isinstance(removed, Removed)
    assert (removed.version, removed.reason, removed.language) == (2, "gone", "en")
    assert row is not None
    assert row.removed


def test_what_was_never_met_cannot_be_retracted() -> None:
    row, (decision,) = run(gone())
    assert (decision.status, decision.send, row) == ("unknown_retracted", (), None)


def test_the_feed_does_not_bring_a_retracted_article_back_and_its_page_does() -> None:
    back = reading(read_ms=NOW + 10)
    _, decisions = run(reading(), gone(NOW + 5), reading(page=False, read_ms=NOW + 7), reading(read_ms=NOW + 3), back)
    assert [decision.status for decision in decisions] == ["new", "removed", "duplicate", "older", "update"]
    (article,) = decisions[4].send
    assert isinstance(article, Article)
    assert (article.version, article.event) == (3, "update")


def test_a_second_retraction_sends_nothing() -> None:
    assert statuses(reading(), gone(NOW + 5), gone(NOW + 6)) == ["new", "removed", "duplicate"]


def test_a_retraction_older_than_the_page_is_older() -> None:
    assert statuses(reading(read_ms=NOW + 10), gone(NOW + 5)) == ["new", "older"]


def test_versions_grow_by_one_with_each_record_of_a_log() -> None:
    events = [reading(title=f"Dam {n}", read_ms=NOW + n) for n in range(5)]
    _, decisions = run(*events)
    assert [record.version for decision in decisions for record in decision.send] == [1, 2, 3, 4, 5]


def test_a_row_is_small_and_comes_back_equal() -> None:
    row, _ = run(reading())
    assert row is not None
    stored = dump_state(row)
    assert len(stored) < 110
    assert load_state(ArticleRow, stored) == row


_EVENTS = st.one_of(
    st.builds(
        reading,
        title=st.sampled_from(["Dam holds", "Dam fails"]),
        body=st.sampled_from(["", "One.", "Two."]),
        read_ms=st.integers(NOW, NOW + 3),
        found_ms=st.integers(NOW - 3, NOW),
        page=st.booleans(),
        language=st.sampled_from(["en", "de"]),
    ),
    st.builds(gone, read_ms=st.integers(NOW, NOW + 3), found_ms=st.integers(NOW - 3, NOW)),
)


@given(st.lists(_EVENTS, min_size=1, max_size=4))
def test_events_in_any_order_end_in_the_same_row(events: list[Event]) -> None:
    ends = set()
    for order in itertools.permutations(events):
        if isinstance(order[0], Retraction):  # of an article never met: there is nothing to retract
            continue
        row, decisions = run(*order)
        assert row is not None
        known = msgspec.structs.replace(row, version=0, language="" if row.removed else row.language)
        ends.add(known)
        sent = [(record.language, record.version) for decision in decisions for record in decision.send]
        assert len(set(sent)) == len(sent)
    assert len(ends) <= 1


@given(st.lists(_EVENTS, min_size=1, max_size=6))
def test_the_last_record_of_every_log_but_one_is_a_tombstone(events: list[Event]) -> None:
    row, decisions = run(*events)
    last: dict[str, Article | Removed] = {}
    for record in itertools.chain.from_iterable(decision.send for decision in decisions):
        assert record.language not in last or last[record.language].version < record.version
        last[record.language] = record
    alive = [language for language, record in last.items() if isinstance(record, Article)]
    assert alive == ([row.language] if row is not None and not row.removed else [])
