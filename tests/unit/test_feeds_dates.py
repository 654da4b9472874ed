"""Dates as feeds write them: whole or not at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.feeds.dates import parse_instant


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        pytest.param("Mon, 06 Jul 2026 15:04:05 EDT", "2026-07-06T19:04:05Z", id="named zone"),
        pytest.param("Thu, 30 Apr 2026 08:57:00 MEST", "2026-04-30T06:57:00Z", id="a German one"),
        pytest.param("Tue, 07 Jul 2026 10:00:00 XYZ", "2026-07-07T10:00:00Z", id="unknown zone: UTC"),
        pytest.param("Tue, 07 Jul 2026 10:00:00 -0000", "2026-07-07T10:00:00Z", id="-0000"),
        pytest.param("Mon, 30 Nov 2026 15:00:00 +0530", "2026-11-30T09:30:00Z", id="half an hour"),
        pytest.param("Mon, 30 Nov 2026 15:00:00 GMT+2", "2026-11-30T13:00:00Z", id="GMT and an offset"),
        pytest.param("Mon, 6 Jul 26 15:04 GMT", "2026-07-06T15:04:00Z", id="RFC 822: two digits, no seconds"),
        pytest.param("30 Nov 2026 09:05:00", "2026-11-30T09:05:00Z", id="neither weekday nor zone"),
        pytest.param("July 6, 2026 3:04 PM", "2026-07-06T15:04:00Z", id="month first"),
        pytest.param("Mon Jul  6 15:04:05 2026", "2026-07-06T15:04:05Z", id="asctime"),
        pytest.param("2026-03-01T00:30:00+02:00", "2026-02-28T22:30:00Z", id="the offset counts"),
        pytest.param("2026-03-01 00:30:00.123456789 +0200", "2026-02-28T22:30:00Z", id="fractions"),
        pytest.param("2026-07-06T24:00:00Z", "2026-07-07T00:00:00Z", id="24:00"),
        pytest.param("2026-12-31T23:59:60Z", "2026-12-31T23:59:59Z", id="a leap second"),
        pytest.param("2026/7/3 9:05:11", "2026-07-03T09:05:11Z", id="slashes, year first"),
        pytest.param("20260706T101112Z", "2026-07-06T10:11:12Z", id="compact"),
        pytest.param("2026-11-30", "2026-11-30T00:00:00Z", id="a day"),
        pytest.param("  Mon, 30 Nov\n 2026 15:00:00 GMT (news desk) ", "2026-11-30T15:00:00Z", id="white space"),
    ],
)
def test_reads(text: str, instant: str) -> None:
    assert parse_instant(text) == ms(instant.replace("Z", "+00:00"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026",
        "2026-07",
        "12.07.2026",
        "07/12/2026",
        "yesterday",
        "Mon, 32 Jul 2026 10:00:00 GMT",
        "Mon, 06 Jul 2026 25:04:05 GMT",
        "Mon, 06 Jul 2026 10:00:00 +9900",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "0001-01-01T00:00:00Z",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "2100-01-01T00:00:00Z",
        "2026-07-06T10:11:12Z and more",
        "lun. 30 nove 2026 15:00:00 +0100",
        "9" * 10_000,
    ],
)
def test_a_partial_match_is_no_match(text: str) -> None:
    assert parse_instant(text) is None


@settings(deadline=None)
@given(
    st.datetimes(min_value=datetime(1990, 1, 3), max_value=datetime(2099, 12, 30)),  # noqa: DTZ001
    st.integers(-14 * 60, 14 * 60),
)
def test_reads_back_what_the_standards_write(naive: datetime, east: int) -> None:
    at = naive.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=east)))
    wanted = round(at.astimezone(UTC).timestamp() * 1000)
    assert parse_instant(format_datetime(at)) == wanted
    assert parse_instant(at.isoformat()) == wanted


@settings(deadline=None)
@given(st.text(max_size=120))
def test_never_fails(text: str) -> None:
    found = parse_instant(text)
    assert found is None or found >= 631_152_000_000 - 14 * 3_600_000
