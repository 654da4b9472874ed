"""Response headers as numbers: dates, Retry-After, Cache-Control. Pure; a value that cannot be read is none."""

from __future__ import annotations

import re
from datetime import UTC
from email.utils import parsedate_to_datetime

# A publisher cannot silence its own feed for longer than this by a slip of the pen.
RETRY_AFTER_CEILING_MS = 86_400_000

_MAX_AGE = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)


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


def max_age_ms(cache_control: str) -> int | None:
    """Cache-Control's max-age in ms; None where there is none."""
    found = _MAX_AGE.search(cache_control)
    return int(found.group(1)) * 1000 if found else None
