"""Dates, Retry-After and Cache-Control as numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.headers import RETRY_AFTER_CEILING_MS, date_ms, max_age_ms, retry_after_ms

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


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("max-age=300", 300_000),
        ('public, MAX-AGE="60"', 60_000),
        ("s-maxage=10", None),
        ("no-store", None),
        ("max-age=x", None),
        ("", None),
    ],
)
def test_max_age(value: str, found: int | None) -> None:
    assert max_age_ms(value) == found
