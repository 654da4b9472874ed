"""Instants as pages write them: what feeds write too, and numeric dates in the order of the page's language.

No guess: a partial match is no match, "2 hours ago" is no date, and 03/04/2026 on an English page stays undated. The
clock is not asked. Of several statements of one instant the more exact one is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from udfs.feeds.dates import parse_instant

# How a publisher writes numeric dates, where its language does not say; empty: by language.
DateOrder = Literal["", "day_first", "month_first"]

# No article on the web is older than the web; a year past this is a typing error.
_EARLIEST = round(datetime(1990, 1, 1, tzinfo=UTC).timestamp() * 1000)
_LATEST = round(datetime(2100, 1, 1, tzinfo=UTC).timestamp() * 1000)
_DAY_MS = 86_400_000
# Offsets reach from -12 to +14 hours: a zoneless clock this near another statement may be the same instant.
_ZONES_MS = 14 * 3_600_000
_EPOCH = re.compile(r"\d{10}|\d{13}")
_DAY_MONTH = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[,\sT-]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?")
_CLOCK = re.compile(r"\d{1,2}:\d{2}|T\d{4,6}")
_ZONE = re.compile(r"(?:Z|[A-Z]{2,5}|[+-]\d{2}:?\d{2}|[+-]\d{2})(?:\s*\([^)]*\))?$")
# Languages in which numbers alone may put the month first: English (American), Tagalog after it, and unknown ones.
_MONTH_FIRST = frozenset({"en", "tl", "und", ""})


def instant_ms(text: str, language: str = "", order: DateOrder = "") -> int | None:
    """The instant a publisher wrote, ms UTC (without a zone: taken as UTC); None if it cannot be read whole, one way.

    language: BCP 47, of the page. Numeric dates are day first with points, and in every language but English, where
    only a day above 12 settles the order. order: what is known of the publisher.
    """
    text = " ".join(text[:100].split())
    if _EPOCH.fullmatch(text):
        return _bounded(int(text) * (1 if len(text) == 13 else 1000))
    match = _DAY_MONTH.fullmatch(text)
    if match:
        return _numeric(match, language, order)
    found = parse_instant(text) if text else None
    return _bounded(found) if found is not None else None


def most_exact(
    stated: Iterable[tuple[str, str]], language: str, order: DateOrder = ""
) -> tuple[int, str] | tuple[None, str]:
    """(ms UTC, source) of the first statement that can be read; (None, "") where none can.

    stated: (text, source) in the order of trust. Where the first has no clock, a later one of the same day with a clock
    is the same instant said more exactly; where it has no zone, so is a later one with the same clock and a zone. What
    the page prints ("page") may be another's time and only serves where nothing else is stated.
    """
    chosen: tuple[int, str, str] | None = None
    for text, source in stated:
        found = instant_ms(text, language, order)
        if found is None:
            continue
        text = text.strip()
        if chosen is None:
            chosen = found, source, text
        elif source != "page" and _says_more(text, found, chosen[2], chosen[0]):
            return found, source
        if _exactness(chosen[2]) == 2:
            break
    return (chosen[0], chosen[1]) if chosen else (None, "")


def _exactness(text: str) -> int:
    """0: a day; 1: a clock without a zone; 2: an instant."""
    if _EPOCH.fullmatch(text):
        return 2
    if not _CLOCK.search(text):
        return 0
    return 2 if _ZONE.search(text) else 1


def _says_more(text: str, found: int, than: str, its: int) -> bool:
    if _exactness(text) <= _exactness(than):
        return False
    if _exactness(than) == 0:
        return -_ZONES_MS <= found - its < _DAY_MS + _ZONES_MS and text[:10] == than[:10]
    return abs(found - its) <= _ZONES_MS and _wall_clock(text) == _wall_clock(than)


def _wall_clock(text: str) -> str:
    """Date and time to the minute as written, digits alone."""
    return "".join(filter(str.isdigit, text[:19]))[:12]


def _numeric(match: re.Match[str], language: str, order: DateOrder) -> int | None:
    first, separator, second, year, hour, minute, seconds = match.groups()
    if order == "month_first" and separator != "." and int(first) <= 12:
        day, month = second, first
    elif (
        separator == "."
        or order == "day_first"
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
