"""New, changed, repeated, older, retracted: decisions on one article's row, and the law of order."""

from __future__ import annotations

import itertools

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from state_schemas.articles import Article, Removed
from state_schemas.codec import dump_state, load_state
from state_schemas.rows import ArticleRow, RareFacts
from udfs.articles.events import Alias, Event, Reading, Reinstatement, Retraction, pack_event
from udfs.articles.identity import DAY_MS, Decision, IdentityPolicy, decide, is_waiting, without_waiting

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
    published_ms: int | None = None,
    others: bool = False,
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
        published_ms=published_ms,
        from_entry=not page,
        sources={"lede": lede_from} if lede else {},
    )
    return Reading(article=article, body=body, read_ms=read_ms, from_page=page, alone=alone, by_others=others)


def gone(read_ms: int = NOW, found_ms: int = NOW - 60_000, *, by_operator: bool = False, **more: str) -> Retraction:
    facts: dict[str, object] = {"article_id": "ab" * 16, "reason": "gone", "publisher": "n.example"}
    facts |= {"read_ms": read_ms, "found_ms": found_ms, "by_operator": by_operator}
    return Retraction(**(facts | more))  # type: ignore[arg-type]


def back(read_ms: int) -> Reinstatement:
    return Reinstatement(article_id="ab" * 16, read_ms=read_ms, found_ms=read_ms)


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


def test_another_publishers_entry_never_counts_where_the_articles_own_site_said_anything() -> None:
    theirs = reading(title="Dam fails!", lede="Panic.", language="de", page=False, others=True, read_ms=NOW + DAY_MS)
    own = reading(page=False)
    _, decisions = run(own, theirs)
    assert not decisions[1].send
    row, decisions = run(theirs, own)
    assert isinstance(decisions[1].send[-1], Article)
    assert (decisions[1].send[-1].title, decisions[1].send[-1].language) == ("Dam holds", "en")
    assert row is not None
    assert row.read_ms == NOW
    later = reading(title="Dam fails again!", page=False, others=True, read_ms=NOW + 2 * DAY_MS)
    assert statuses(theirs, later) == ["new", "update"], "where nobody else tells of it, their latest word counts"
    assert statuses(gone(NOW + 3 * DAY_MS), theirs) == ["waiting", "removed"]


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


def test_a_re_check_of_an_article_never_met_waits_for_it() -> None:
    checked = reading(title="Dam broken", lede_from="page", language="da", read_ms=NOW + 5, alone=True)
    row, decisions = run(checked, reading(language="no", lede="As the feed has it.", lede_from="entry"))
    assert [decision.status for decision in decisions] == ["waiting", "new"]
    first, second = decisions[1].send
    assert isinstance(first, Article)
    assert isinstance(second, Article)
    assert (first.title, second.title, second.language, second.version) == ("Dam holds", "Dam broken", "no", 2)
    assert decisions[1].bodies == (first.title and "The dam held overnight.",) * 2
    assert row is not None
    assert row.rare is not None
    assert (row.version, row.rare.waiting) == (2, ())


def test_a_retraction_is_a_versioned_tombstone() -> None:
    row, decisions = run(reading(), gone(NOW + 5))
    (removed,) = decisions[1].send
    assert isinstance(removed, Removed)
    assert (removed.version, removed.reason, removed.language) == (2, "gone", "en")
    assert row is not None
    assert row.removed


def test_what_was_retracted_before_it_was_met_is_never_sent_and_its_page_read_later_is() -> None:
    row, decisions = run(gone(NOW + 5), reading(), reading(page=False, read_ms=NOW + 9), reading(read_ms=NOW + 7))
    assert [decision.status for decision in decisions] == ["waiting", "removed", "duplicate", "update"]
    assert [len(decision.send) for decision in decisions] == [0, 0, 0, 1]
    assert row is not None
    assert (row.removed, row.removed_ms) == (False, NOW + 5)


def test_what_waits_is_bounded_and_the_latest_retraction_stays() -> None:
    policy = IdentityPolicy(waiting_events=4, waiting_bytes=600)
    row: ArticleRow | None = None
    for number in range(20):
        row = decide(row, gone(NOW + number), NOW, policy).row or row
    checks = [decide(row, reading(title=f"T{n}", read_ms=NOW + n, alone=True), NOW, policy) for n in range(5)]
    assert row is not None
    assert row.rare is not None
    assert len(row.rare.waiting) <= 4
    assert pack_event(gone(NOW + 19)) in row.rare.waiting
    assert {decision.status for decision in checks} == {"waiting"}
    large = reading(body="x" * 700, alone=True)
    assert decide(row, large, NOW, policy).status == "waited_too_large"
    assert is_waiting(row)
    assert without_waiting(row) is None


def test_what_the_operator_said_is_not_forgotten_for_a_flood_of_re_checks() -> None:
    checks = [reading(title=f"Dam {n}", alone=True, read_ms=NOW + n) for n in range(1, 20)]
    _, decisions = run(gone(NOW, by_operator=True), *checks, reading(read_ms=NOW + 30))
    assert decisions[-1].status == "removed"
    assert not decisions[-1].send


def test_an_operators_retraction_holds_until_it_is_taken_back() -> None:
    later = reading(title="Dam again", read_ms=NOW + 9)
    row, decisions = run(reading(), gone(NOW + 5, by_operator=True), later)
    assert [decision.status for decision in decisions] == ["new", "removed", "older"]
    assert row is not None
    row = decide(row, back(NOW + 20), NOW).row
    assert row is not None
    assert (row.removed, row.rare is not None and row.rare.withheld) == (True, False)
    decision = decide(row, reading(title="Dam again", read_ms=NOW + 30), NOW)
    (article,) = decision.send
    assert isinstance(article, Article)
    assert (article.title, article.version) == ("Dam again", 3)


def test_an_operators_retraction_beats_a_page_read_after_it() -> None:
    assert statuses(reading(read_ms=NOW + 10), gone(NOW + 5, by_operator=True)) == ["new", "removed"]


def test_a_retraction_follows_the_address_to_its_article_and_404_does_not() -> None:
    alias = Alias(article_id="ab" * 16, leads_to="cd" * 16, read_ms=NOW)
    row, decisions = run(alias, gone(NOW + 5, url="http://n.example/dam?x=1"), gone(NOW + 6, reason="status_404"))
    forward = decisions[1].forward
    assert forward is not None
    assert (forward.article_id, forward.forwarded, forward.read_ms) == ("cd" * 16, True, NOW + 5)
    assert decisions[2].forward is None
    assert decide(row, forward, NOW).forward is None, "one that was forwarded goes no further"
    assert row is not None
    assert not is_waiting(row)
    assert without_waiting(row) is not None


def test_a_retraction_that_came_before_the_alias_follows_it() -> None:
    _, decisions = run(gone(NOW + 5), Alias(article_id="ab" * 16, leads_to="cd" * 16, read_ms=NOW))
    assert decisions[1].forward is not None
    assert decisions[1].forward.article_id == "cd" * 16


# ---------------------------------------------------------------- dates

MIDNIGHT = NOW - NOW % DAY_MS
MORNING = MIDNIGHT + 9 * 3_600_000


def told(day: int, published_ms: int | None, **more: object) -> Reading:
    return reading(read_ms=MORNING + day * DAY_MS, found_ms=MORNING, published_ms=published_ms, **more)  # type: ignore[arg-type]


def faults(*events: Event) -> list[tuple[str, ...]]:
    return [record.date_faults for one in run(*events)[1] for record in one.send if isinstance(record, Article)]


def test_a_new_date_alone_is_a_version_that_gains_nothing_once_a_day() -> None:
    hourly = [told(1, MIDNIGHT + DAY_MS + hour * 3_600_000) for hour in range(5)]
    _, decisions = run(told(0, MIDNIGHT), *hourly, told(2, MIDNIGHT + 2 * DAY_MS), told(2, MIDNIGHT + 2 * DAY_MS))
    sent = [record for one in decisions for record in one.send if isinstance(record, Article)]
    assert [record.changed for record in sent] == [(), ("published",), ("published",)]
    assert [record.date_faults for record in sent] == [(), ("redated",), ("redated",)]
    assert {record.first_seen_ms for record in sent} == {MORNING}


def test_many_new_dates_in_one_day_are_one_version() -> None:
    events = [told(0, MIDNIGHT), *(told(1, MIDNIGHT - days * DAY_MS) for days in range(1, 9))]
    ordered = [msgspec.structs.replace(event, read_ms=event.read_ms + n) for n, event in enumerate(events)]
    assert sum(len(decision.send) for decision in run(*ordered)[1]) == 2


def test_dates_of_page_and_entry_are_not_compared_and_a_corrected_hour_is_no_new_date() -> None:
    entry = told(0, MIDNIGHT - DAY_MS, page=False)
    assert statuses(entry, told(0, MIDNIGHT), told(1, MIDNIGHT + 7_200_000)) == ["new", "duplicate", "duplicate"]


def test_a_new_date_rides_with_a_new_title() -> None:
    _, decisions = run(told(0, MIDNIGHT), told(1, MIDNIGHT + DAY_MS, title="The 10 best ferries"))
    (article,) = decisions[1].send
    assert isinstance(article, Article)
    assert (article.changed, article.date_faults, article.first_seen_ms) == (
        ("title", "published"),
        ("redated",),
        MORNING,
    )


def test_far_and_future_dates_are_marked() -> None:
    assert faults(told(0, MORNING - 30 * DAY_MS)) == [("far",)]
    assert faults(told(0, MORNING + 5 * 3_600_000)) == [("future",)]
    assert faults(told(0, MORNING - DAY_MS), told(1, MORNING - 60 * DAY_MS)) == [(), ("far",)], "an older date: no gain"
    assert faults(told(0, MORNING + 60_000)) == [()]
    assert faults(told(0, None), told(1, MORNING)) == [()]


def test_a_row_without_a_date_takes_the_first_one_silently() -> None:
    row, decisions = run(told(0, None), told(1, MIDNIGHT))
    assert decisions[1].status == "duplicate"
    assert row is not None
    assert row.published_s == MIDNIGHT // 1000


# ---------------------------------------------------------------- rows and laws


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
    row, _ = run(reading(published_ms=NOW))
    assert row is not None
    stored = dump_state(row)
    assert len(stored) < 115
    assert load_state(ArticleRow, stored) == row


def test_rows_of_the_first_version_load() -> None:
    first = bytes.fromhex(
        "019dcf000001a229f03da001a2656ecf000001a229f12800c4080101010101010101c3c4080202020202020202c4080303030303030303"
        "c4080404040404040404c400cd5133cf000001a229f128ffc3"
    )
    row = load_state(ArticleRow, first)
    assert row is not None
    assert (row.version, row.language, row.read_ms, row.removed) == (1, "en", NOW, True)
    assert (row.published_s, row.redated_day, row.rare) == (0, 0, None)
    assert load_state(ArticleRow, dump_state(row)) == row


_TIMES = st.integers(NOW, NOW + 3)
_PAGES = {
    "title": st.sampled_from(["Dam holds", "Dam fails"]),
    "lede": st.sampled_from(["The dam held.", "It held."]),
    "read_ms": _TIMES,
    "found_ms": st.integers(NOW - 3, NOW),
}
_RETRACTIONS = st.builds(gone, read_ms=_TIMES, found_ms=st.integers(NOW - 3, NOW), by_operator=st.booleans())
_EVENTS = st.one_of(
    st.builds(
        reading,
        **_PAGES,
        body=st.sampled_from(["", "One.", "Two."]),
        page=st.booleans(),
        language=st.sampled_from(["en", "de"]),
        published_ms=st.sampled_from([None, NOW, NOW - 3 * DAY_MS]),
    ),
    st.builds(reading, **_PAGES, page=st.just(False), others=st.just(True), language=st.sampled_from(["en", "de"])),
    _RETRACTIONS,
)
# A re-check knows its language from those that came with their entry: these agree.
_CHECKED = st.one_of(
    st.builds(reading, **_PAGES, page=st.booleans()),
    st.builds(
        reading,
        **_PAGES,
        alone=st.just(True),
        language=st.sampled_from(["en", "de"]),
        lede_from=st.sampled_from(["og", "page"]),
    ),
    _RETRACTIONS,
)
# Each read on a day of its own.
_DATED = st.lists(
    st.builds(
        reading,
        title=st.sampled_from(["Dam holds", "Dam fails"]),
        published_ms=st.integers(-3, 3).map(lambda days: MIDNIGHT + days * DAY_MS),
    ),
    min_size=1,
    max_size=4,
).map(lambda events: [msgspec.structs.replace(one, read_ms=MORNING + n * DAY_MS) for n, one in enumerate(events)])


def ends(events: list[Event], *, lede: bool = True, dates: bool = True) -> set[tuple[object, ...]]:
    """What each order of the events ends in: the row, but for what counts the records sent, and the last record."""
    found: set[tuple[object, ...]] = set()
    for order in itertools.permutations(events):
        row, decisions = run(*order)
        assert row is not None
        known = msgspec.structs.replace(row, version=min(row.version, 1), redated_day=0)
        alive: dict[str, Article] = {}
        for record in itertools.chain.from_iterable(decision.send for decision in decisions):
            alive.pop(record.language, None)
            if isinstance(record, Article):
                alive[record.language] = record
        last = [
            (one.language, one.title, one.lede if lede else "", one.labels, one.published_ms if dates else None)
            for one in alive.values()
        ]
        found.add((msgspec.msgpack.encode(known), *last))
    return found


@given(st.lists(_EVENTS, min_size=1, max_size=4))
def test_events_in_any_order_end_in_the_same_row_and_the_same_last_record(events: list[Event]) -> None:
    # Of several new dates on one day only one is sent: whichever came first.
    assert len(ends(events, dates=False)) == 1


@given(_DATED, st.lists(_RETRACTIONS, max_size=1))
def test_new_dates_in_any_order_end_in_the_same_row_and_record(events: list[Event], retractions: list[Event]) -> None:
    assert len(ends([*events, *retractions])) == 1


@given(st.lists(_CHECKED, min_size=1, max_size=4))
def test_re_checks_in_any_order_end_in_the_same_row_and_record(events: list[Event]) -> None:
    # A re-check that is sent carries the lede it has: of several, whichever was sent last.
    weak = any(isinstance(event, Reading) and event.alone for event in events)
    assert len(ends(events, lede=not weak)) == 1


@given(st.lists(_EVENTS | _CHECKED, min_size=1, max_size=6))
def test_the_last_record_of_every_log_but_one_is_a_tombstone(events: list[Event]) -> None:
    row, decisions = run(*events)
    last: dict[str, Article | Removed] = {}
    for record in itertools.chain.from_iterable(decision.send for decision in decisions):
        assert record.language not in last or last[record.language].version < record.version
        last[record.language] = record
    alive = [language for language, record in last.items() if isinstance(record, Article)]
    assert alive == ([row.language] if row is not None and row.version and not row.removed else [])


@given(st.lists(_EVENTS | _CHECKED, min_size=1, max_size=6))
def test_first_seen_never_moves_later_and_stored_rows_come_back_equal(events: list[Event]) -> None:
    row: ArticleRow | None = None
    for number, event in enumerate(events):
        decision = decide(row, event, NOW + number)
        if row is not None and row.version and decision.row is not None:
            assert decision.row.first_seen_ms <= row.first_seen_ms
        row = decision.row or row
        assert row is None or load_state(ArticleRow, dump_state(row)) == row


def test_rare_facts_that_are_none_take_one_byte() -> None:
    assert ArticleRow(1, 1, "en", 1, b"", True, b"", b"", b"", b"", 1).rare is None
    assert RareFacts() == RareFacts(None, None, 0, False, "", 0, ())
