"""Dates, Retry-After and freshness as numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.headers import FRESH_CEILING_MS, RETRY_AFTER_CEILING_MS, date_ms, fresh_ms, retry_after_ms

TWO = "Mon, 30 Nov 2026 14:00:00 GMT"
THREE = "Mon, 30 Nov 2026 15:00:00 GMT"
TEN_PAST_THREE_MS = 1_796_051_400_000


@pytest.mark.parametrize(
    ("value", "date", "wait_ms"),
    [
        ("120", TWO, 120_000),
        (" 0 ", TWO, 0),
        (THREE, TWO, 3_600_000),  # the local clock is already past three: the response's own counts
        (TWO, THREE, 0),
        (THREE, "", 0),
        ("999999999999999999", TWO, RETRY_AFTER_CEILING_MS),
        ("Mon, 30 Nov 2099 15:00:00 GMT", TWO, RETRY_AFTER_CEILING_MS),
        ("soon", TWO, None),
        ("-5", TWO, None),
        ("", TWO, None),
        ("1.5", TWO, None),
        ("٣٠", TWO, None),
    ],
)
def test_retry_after(value: str, date: str, wait_ms: int | None) -> None:
    assert retry_after_ms(value, date, TEN_PAST_THREE_MS) == wait_ms


@given(st.text(max_size=40), st.text(max_size=40))
def test_retry_after_is_none_or_within_a_day(value: str, date: str) -> None:
    wait = retry_after_ms(value, date, TEN_PAST_THREE_MS)
    assert wait is None or 0 <= wait <= RETRY_AFTER_CEILING_MS


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("Mon, 30 Nov 2026 14:00:00 GMT", 1_796_047_200_000),
        ("Monday, 30-Nov-26 14:00:00 GMT", 1_796_047_200_000),
        ("Mon, 30 Nov 2026 15:00:00 +0100", 1_796_047_200_000),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates(value: str, found: int | None) -> None:
    assert date_ms(value) == found


HALF_PAST_TWO = "Mon, 30 Nov 2026 14:30:00 GMT"


@pytest.mark.parametrize(
    ("headers", "fresh"),
    [
        pytest.param({}, None, id="nothing said"),
        pytest.param({"cache-control": "public"}, None, id="nothing of time"),
        pytest.param({"cache-control": "max-age=300"}, 300_000, id="max-age"),
        pytest.param({"cache-control": 'Public , MAX-AGE = "60"'}, 60_000, id="case, space, quotes"),
        pytest.param({"cache-control": "max-age=60, s-maxage=600"}, 600_000, id="shared caches have their own"),
        pytest.param({"cache-control": "s-maxage=10, max-age=60"}, 10_000, id="in whatever order"),
        pytest.param({"cache-control": "max-age=300", "age": "100"}, 200_000, id="less its age"),
        pytest.param({"cache-control": "max-age=300", "age": "301"}, 0, id="older than it may be"),
        pytest.param({"cache-control": "max-age=300", "age": "9" * 40}, 0, id="as old as can be"),
        pytest.param({"cache-control": "max-age=300", "age": "-5"}, 300_000, id="a negative age is none"),
        pytest.param({"cache-control": "max-age=300", "age": "soon"}, 300_000, id="nor is a word"),
        pytest.param({"cache-control": "max-age=300", "age": "100, 7"}, 200_000, id="the first of two ages"),
        pytest.param({"cache-control": "max-age=300, max-age=900"}, 300_000, id="the first of two"),
        pytest.param({"cache-control": "public, max-age=300; must-revalidate"}, 300_000, id="a semicolon"),
        pytest.param({"cache-control": "no-store"}, 0, id="no-store"),
        pytest.param({"cache-control": "max-age=300, no-cache"}, 0, id="no-cache beside a time"),
        pytest.param({"cache-control": 'no-cache="set-cookie", max-age=300'}, 300_000, id="no-cache of one header"),
        pytest.param({"cache-control": 'private="x, max-age=5", max-age=300'}, 300_000, id="within quotes it is text"),
        pytest.param({"cache-control": "x-max-age=5"}, None, id="another directive"),
        pytest.param({"cache-control": "max-age=0"}, 0, id="zero"),
        pytest.param({"cache-control": "max-age=-1"}, 0, id="negative"),
        pytest.param({"cache-control": "max-age=1.5"}, 0, id="a fraction"),
        pytest.param({"cache-control": "max-age=x"}, 0, id="a word"),
        pytest.param({"cache-control": "max-age"}, 0, id="no value"),
        pytest.param({"cache-control": "max-age=٣٠"}, 0, id="digits of another script"),
        pytest.param({"cache-control": "max-age=" + "9" * 400}, FRESH_CEILING_MS, id="huge"),
        pytest.param({"expires": THREE, "date": TWO}, 3_600_000, id="Expires"),
        pytest.param({"expires": THREE, "date": TWO, "age": "600"}, 3_000_000, id="Expires less its age"),
        pytest.param({"expires": TWO, "date": THREE}, 0, id="expired"),
        pytest.param({"expires": HALF_PAST_TWO}, 0, id="without a Date the time of receipt: past three"),
        pytest.param({"expires": THREE, "date": "today"}, 0, id="as with one that is none"),
        pytest.param({"expires": "0", "date": TWO}, 0, id="Expires 0"),
        pytest.param({"expires": "never", "date": TWO}, 0, id="Expires that is no date"),
        pytest.param({"expires": f"{THREE}, {TWO}", "date": f"{TWO}, {THREE}"}, 3_600_000, id="the first of each"),
        pytest.param({"expires": "Fri, 31 Dec 9999 23:59:59 GMT", "date": TWO}, FRESH_CEILING_MS, id="for ever"),
        pytest.param(
            {"cache-control": "max-age=60", "expires": THREE, "date": TWO}, 60_000, id="max-age before Expires"
        ),
        pytest.param({"cache-control": "public", "expires": THREE, "date": TWO}, 3_600_000, id="else Expires"),
    ],
)
def test_freshness(headers: dict[str, str], fresh: int | None) -> None:
    assert fresh_ms(headers, TEN_PAST_THREE_MS) == fresh


ANY = st.text(max_size=40) | st.text('0123456789-=,; "maxges', max_size=40)


@given(ANY, ANY, ANY, ANY)
def test_freshness_is_none_or_within_a_year(control: str, age: str, expires: str, date: str) -> None:
    headers = {"cache-control": control, "age": age, "expires": expires, "date": date}
    fresh = fresh_ms(headers, TEN_PAST_THREE_MS)
    assert fresh is None or 0 <= fresh <= FRESH_CEILING_MS
