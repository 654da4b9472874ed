"""Response headers as numbers: dates, Retry-After, freshness. Pure; a value that cannot be read is none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

# A publisher cannot silence its own feed for longer than this by a slip of the pen.
RETRY_AFTER_CEILING_MS = 86_400_000

# Servers should not say more than a year (RFC 2616, 14.21), and what does is a slip as well.
FRESH_CEILING_MS = 365 * 86_400_000

# One directive: a name, with or without a value, which may be quoted.
_DIRECTIVE = re.compile(r"([^\s,;=\"]+)(?:\s*=\s*(?:(\"[^\"]*\"?)|([^,;]*)))?")


def date_ms(value: str) -> int | None:
    """An HTTP date as ms UTC; None where it is none."""
    try:
        moment = parsedate_to_datetime(value.strip())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def retry_after_ms(value: str, date: str, received_ms: int) -> int | None:
    """How long to wait from receipt on, in [0, one day]; None for no or an unreadable value.

    A date is read against the response's own Date, so that neither clock need be right (RFC 9110, 10.2.3 and 6.6.1);
    against `received_ms` where there is none.
    """
    value = value.strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return min(int(value[:12]) * 1000, RETRY_AFTER_CEILING_MS)
    at = date_ms(value)
    if at is None:
        return None
    sent = date_ms(date) if date else None
    return max(0, min(at - (sent if sent is not None else received_ms), RETRY_AFTER_CEILING_MS))


def fresh_ms(headers: Mapping[str, str], received_ms: int) -> int | None:
    """How much longer the answer says it is fresh, in [0, a year]; None where it says nothing of it.

    By the rules of a shared cache, which one reader for many is (RFC 9111, 4.2): s-maxage, else max-age, else Expires
    minus the answer's own Date (`received_ms` where it has none), each less its Age. 0 for no-store and no-cache, and
    for a freshness that cannot be read: that is stale, never unsaid. headers: lower-case names, repeated ones joined
    by ", "; of repeated values the first counts.
    """
    directives = _directives(headers.get("cache-control", ""))
    # With a value, no-cache speaks of the named headers alone (RFC 9111, 5.2.2.4).
    if "no-store" in directives or directives.get("no-cache") == "":
        return 0
    stated = directives.get("s-maxage", directives.get("max-age"))
    if stated is not None:
        lifetime = _seconds(stated) or 0
    elif "expires" in headers:
        at = date_ms(_first_date(headers["expires"]))
        sent = date_ms(_first_date(headers.get("date", "")))
        lifetime = 0 if at is None else (at - (received_ms if sent is None else sent)) // 1000
    else:
        return None
    age = _seconds(headers.get("age", "").partition(",")[0]) or 0
    return max(0, min((lifetime - age) * 1000, FRESH_CEILING_MS))


def _directives(value: str) -> dict[str, str]:
    """Cache-Control as lower-case name -> value, unquoted; empty for none."""
    found: dict[str, str] = {}
    for name, quoted, plain in _DIRECTIVE.findall(value):
        found.setdefault(name.lower(), quoted.strip('"') if quoted else plain.strip())
    return found


def _seconds(value: str) -> int | None:
    value = value.strip()
    # More digits than any clock needs are as good as for ever (RFC 9111, 1.2.2).
    return min(int(value[:20]), 2**31) if value.isascii() and value.isdigit() else None


def _first_date(value: str) -> str:
    """The first of joined dates. The usual form has a comma of its own, after the weekday."""
    return ",".join(value.split(",", 2)[:2])
