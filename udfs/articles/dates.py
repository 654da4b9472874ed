"""Instants as pages write them: what feeds write too, and numeric dates in the order of the page's language.

No guess: a partial match is no match, and 03/04/2026 on an English page stays undated. The clock is not asked.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from udfs.feeds.dates import parse_instant

# No article on the web is older than the web; a year past this is a typing error.
_EARLIEST = round(datetime(1990, 1, 1, tzinfo=UTC).timestamp() * 1000)
_LATEST = round(datetime(2100, 1, 1, tzinfo=UTC).timestamp() * 1000)
_EPOCH = re.compile(r"\d{10}|\d{13}")
_DAY_MONTH = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[,\sT-]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?")
# Languages in which numbers alone may put the month first: English (American), Tagalog after it, and unknown ones.
_MONTH_FIRST = frozenset({"en", "tl", "und", ""})


def instant_ms(text: str, language: str = "") -> int | None:
    """The instant a publisher wrote, ms UTC (without a zone: taken as UTC); None if it cannot be read whole, one way.

    language: BCP 47, of the page. Numeric dates are day first with points, and in every language but English, where
    only a day above 12 settles the order.
    """
    text = " ".join(text[:100].split())
    if _EPOCH.fullmatch(text):
        return _bounded(int(text) * (1 if len(text) == 13 else 1000))
    match = _DAY_MONTH.fullmatch(text)
    if match:
        return _numeric(match, language)
    found = parse_instant(text) if text else None
    return _bounded(found) if found is not None else None


def _numeric(match: re.Match[str], language: str) -> int | None:
    first, separator, second, year, hour, minute, seconds = match.groups()
    if (
        separator == "."
        or language.split("-")[0].split("_")[0].lower() not in _MONTH_FIRST
        or int(first) > 12
        or first == second
    ):
        day, month = first, second
    elif int(second) > 12:
        day, month = second, first
    else:
        return None
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(seconds or 0), tzinfo=UTC
        )
    except ValueError:
        return None
    return _bounded(round(moment.timestamp()) * 1000)


def _bounded(value: int) -> int | None:
    return value if _EARLIEST <= value < _LATEST else None
