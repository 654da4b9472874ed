"""What is remembered of pages: which validators a re-check carries, and what counts as the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.pages import PageMemory, digest
from state_schemas.fetching import Entry, FetchRequest
from state_schemas.sources import Origin

URL = "https://news.example/ferry"
DATE = "Mon, 30 Nov 2026 10:05:12 GMT"
EARLIER = "Mon, 30 Nov 2026 10:00:07 GMT"
LATER = "Mon, 30 Nov 2026 11:00:00 GMT"
HEADERS = {"etag": '"v1"', "last-modified": EARLIER, "date": DATE}
ENTRY = Entry(identity="e1", title="Ferry late", published_ms=1)
PAGE = digest(b"<html>ferry late")


def request(url: str = URL, *, recheck: bool = True, entry: Entry | None = None) -> FetchRequest:
    return FetchRequest(
        request_id="r1",
        kind="page",
        url=url,
        host="news.example",
        feed_id="f1",
        origin=Origin(publisher="p1"),
        requested_ms=1,
        recheck=recheck,
        entry=entry,
    )


def memory(**headers: str) -> PageMemory:
    """One that knows the page, with its entry."""
    pages = PageMemory(10, 3)
    pages.keep(request(recheck=False, entry=ENTRY), PAGE, headers or HEADERS)
    return pages


def validators(pages: PageMemory, asked: FetchRequest) -> tuple[str, str]:
    sent = pages.conditional(asked)
    return sent.etag, sent.last_modified


def test_a_re_check_carries_both_validators_as_they_came() -> None:
    assert validators(memory(), request()) == ('"v1"', EARLIER)
    assert validators(memory(etag='W/"x, y"', date=DATE), request()) == ('W/"x, y"', "")


def test_a_page_never_met_and_a_first_request_are_asked_for_without() -> None:
    assert validators(memory(), request("https://news.example/other")) == ("", "")
    assert validators(memory(), request(recheck=False)) == ("", "")


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        pytest.param({"last-modified": LATER, "date": DATE}, ("", ""), id="later than the answer itself"),
        pytest.param({"last-modified": LATER}, ("", LATER), id="without a Date to hold it against"),
        pytest.param({"last-modified": "yesterday", "date": DATE}, ("", "yesterday"), id="opaque"),
        pytest.param({"etag": "x" * 257, "last-modified": EARLIER}, ("", EARLIER), id="too long"),
    ],
)
def test_which_validators_are_kept(headers: dict[str, str], kept: tuple[str, str]) -> None:
    assert validators(memory(**headers), request()) == kept


def test_a_body_replaces_the_validators_of_the_last() -> None:
    pages = memory()
    pages.keep(request(), digest(b"other"), {"etag": '"v2"'})
    assert validators(pages, request()) == ('"v2"', "")


def test_the_same_page_with_the_same_or_no_entry_is_held() -> None:
    pages = memory()
    assert pages.holds(request(), PAGE)
    assert pages.holds(request(entry=ENTRY), PAGE)
    assert not pages.holds(request(), digest(b"other"))
    assert not pages.holds(request("https://news.example/other"), PAGE)
    assert not pages.holds(request(recheck=False), PAGE), "a first request is always answered"


def test_an_entry_that_says_something_new_needs_the_body_again() -> None:
    pages = memory()
    changed = Entry(identity="e1", title="Ferry sunk", published_ms=1)
    assert validators(pages, request(entry=changed)) == ("", "")
    assert not pages.holds(request(entry=changed), PAGE)
    pages.keep(request(entry=changed), PAGE, HEADERS)
    assert validators(pages, request(entry=changed)) == ('"v1"', EARLIER)


def test_an_entry_with_nothing_new_but_its_times_does_not() -> None:
    restless = Entry(identity="e1", title="Ferry late", published_ms=2, updated_ms=3)
    assert validators(memory(), request(entry=restless)) == ('"v1"', EARLIER)
    assert memory().holds(request(entry=restless), PAGE)


def test_a_re_check_without_an_entry_does_not_forget_the_entry() -> None:
    pages = memory()
    pages.keep(request(), digest(b"other"), HEADERS)
    assert pages.holds(request(entry=ENTRY), digest(b"other"))


def test_after_a_run_of_304_one_request_goes_without_validators() -> None:
    pages = memory(**{"last-modified": "Tue, 01 Jan 1980 00:00:01 GMT"})
    sent = []
    for _ in range(9):
        conditional = pages.conditional(request())
        sent.append(bool(conditional.last_modified))
        if conditional.last_modified:
            pages.unmodified(request())
        else:
            pages.keep(request(), PAGE, HEADERS)
    assert sent == [True, True, True, False] * 2 + [True]


def test_what_was_taken_back_is_news_when_it_returns() -> None:
    pages = memory()
    pages.forget(request())
    pages.forget(request())
    assert not pages.holds(request(), PAGE)
    assert validators(pages, request()) == ("", "")


@given(st.lists(st.tuples(st.sampled_from(["keep", "unmodified", "forget"]), st.integers(0, 9))))
def test_no_more_than_its_size_and_always_the_last_met(events: list[tuple[str, int]]) -> None:
    pages = PageMemory(4, 3)
    met: list[int] = []
    for kind, number in events:
        asked = request(f"https://news.example/{number}")
        if kind == "forget":
            pages.forget(asked)
            met = [other for other in met if other != number]
        elif kind == "keep" or number in met:
            met = [*(other for other in met if other != number), number][-4:]
            if kind == "keep":
                pages.keep(asked, PAGE, HEADERS)
            else:
                pages.unmodified(asked)
    assert len(pages) == len(met)
    assert all(pages.holds(request(f"https://news.example/{number}"), PAGE) for number in met)
    pages.clear()
    assert len(pages) == 0
