"""Instants as feeds write them: RFC 822 and its neighbours, ISO 8601. A date read only in part is no date.

Never the clock, never the machine's zone data. Order of day and month is never guessed: numbers alone are read only
with the year first. Reading order: parse_instant, then the two forms it tries.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

# Hours east of UTC: RFC 822 5.1 and what publishers elsewhere write. A name of two meanings (CST, IST, BST, AST) is
# read as RFC 822 says, else as most publishers who write it mean it.
_ZONES = {
    "UT": 0.0, "UTC": 0.0, "GMT": 0.0, "Z": 0.0, "WET": 0.0, "WEST": 1.0, "BST": 1.0,
    "CET": 1.0, "MET": 1.0, "MEZ": 1.0, "CEST": 2.0, "MEST": 2.0, "MESZ": 2.0,
    "EET": 2.0, "EEST": 3.0, "MSK": 3.0, "TRT": 3.0,
    "EST": -5.0, "EDT": -4.0, "CST": -6.0, "CDT": -5.0, "MST": -7.0, "MDT": -6.0, "PST": -8.0, "PDT": -7.0,
    "AKST": -9.0, "AKDT": -8.0, "HST": -10.0, "AST": -4.0, "ADT": -3.0, "NST": -3.5, "NDT": -2.5,
    "BRT": -3.0, "ART": -3.0, "SAST": 2.0, "EAT": 3.0, "WAT": 1.0, "CAT": 2.0,
    "JST": 9.0, "KST": 9.0, "HKT": 8.0, "SGT": 8.0, "PHT": 8.0, "WIB": 7.0, "ICT": 7.0, "PKT": 5.0, "IST": 5.5,
    "NPT": 5.75, "AEST": 10.0, "AEDT": 11.0, "ACST": 9.5, "ACDT": 10.5, "AWST": 8.0, "NZST": 12.0, "NZDT": 13.0,
}  # fmt: skip
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
         "sep sept september", "oct october", "nov november", "dec december"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip

_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d{1,9})?)?"
_ZONE = r"(?:\s*(?P<zone>[+-]\d{1,2}:?\d{2}|[+-]\d{2}|(?:GMT|UTC)[+-]\d{1,2}(?::?\d{2})?|[A-Za-z]{1,5}))?"
_DAY_FIRST = re.compile(
    rf"(?:[A-Za-z]{{3,9}}\.?,?\s+)?(?P<day>\d{{1,2}})[\s-]+(?P<month>[A-Za-z]{{3,9}})\.?,?[\s-]+(?P<year>\d{{4}}|\d{{2}})"
    rf"(?:,?\s+(?:{_CLOCK}){_ZONE})?(?:\s*\([^)]*\))?"
)
_MONTH_FIRST = re.compile(
    rf"(?:[A-Za-z]{{3,9}}\.?,?\s+)?(?P<month>[A-Za-z]{{3,9}})\.?\s+(?P<day>\d{{1,2}}),?\s+"
    rf"(?:(?P<year>\d{{4}})(?:,?\s+(?:at\s+)?(?:{_CLOCK})\s*(?P<half>[AaPp]\.?[Mm]\.?)?{_ZONE})?)"
)
_ASCTIME = re.compile(
    rf"[A-Za-z]{{3}}\s+(?P<month>[A-Za-z]{{3}})\s+(?P<day>\d{{1,2}})\s+{_CLOCK}{_ZONE}\s+(?P<year>\d{{4}})"
)
_YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})"
    rf"(?:(?:\s*[Tt]\s*|\s+)(?:{_CLOCK}){_ZONE})?"
)
_COMPACT = re.compile(
    rf"(?P<year>\d{{4}})(?P<month>\d{{2}})(?P<day>\d{{2}})(?:[Tt]?(?P<hour>\d{{2}})(?P<minute>\d{{2}})(?P<second>\d{{2}})?){_ZONE}"
)

_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
_LATEST = datetime(2100, 1, 1, tzinfo=UTC)  # as for pages' own dates: a year past this is a typing error


def parse_instant(text: str) -> int | None:
    """ms UTC of a date as a feed writes it, or None where any part is not understood.

    An unknown zone name is UTC (RFC 5322 4.3: -0000), and so is none. A date without a clock is midnight UTC. Before
    1990 or from 2100 on (publishers' placeholders: 1970, 0001, 9999) is no date.
    """
    if not text:
        return None
    text = " ".join(text.split())
    if not 6 <= len(text) <= 100:
        return None
    for form in (_DAY_FIRST, _YEAR_FIRST, _MONTH_FIRST, _ASCTIME, _COMPACT):
        match = form.fullmatch(text)
        if match:
            return _instant(match.groupdict())
    return None


def _instant(parts: dict[str, str | None]) -> int | None:
    year = int(parts["year"] or 0)
    if len(parts["year"] or "") == 2:
        year += 2000 if year < 70 else 1900
    name = (parts["month"] or "").lower()
    month = int(name) if name.isdigit() else _MONTHS.get(name, 0)
    hour = int(parts.get("hour") or 0)
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] in "Pp" else 0)
    try:
        # 24:00 is the next midnight (ISO 8601); a leap second is the second before it.
        zone = timezone(timedelta(minutes=_offset(parts.get("zone") or "")))
        minute, second = int(parts.get("minute") or 0), min(int(parts.get("second") or 0), 59)
        at = datetime(year, month, int(parts["day"] or 0), hour % 24, minute, second, tzinfo=zone)
        if hour == 24 and not (at.minute or at.second):
            at += timedelta(days=1)
        elif hour > 23:
            return None
        return round(at.timestamp() * 1000) if _EARLIEST <= at < _LATEST else None
    except (ValueError, OverflowError):
        return None


def _offset(zone: str) -> int:
    """Minutes east of UTC; 0 for an unknown name. Raises ValueError on an offset no place has."""
    name = zone.upper()
    if name in _ZONES:
        return round(_ZONES[name] * 60)
    digits = name.removeprefix("GMT").removeprefix("UTC")
    if not digits or digits[0] not in "+-":
        return 0
    number = digits[1:].replace(":", "")
    hours, minutes = (int(number[:-2]), int(number[-2:])) if len(number) > 2 else (int(number), 0)
    if hours > 14 or minutes > 59:
        raise ValueError(zone)
    return (hours * 60 + minutes) * (-1 if digits[0] == "-" else 1)
