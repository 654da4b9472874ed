"""Validators and conditional requests (RFC 9110, 8.8 and 13): is a client's copy still good? Values in, values out."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC
from email.utils import parsedate_to_datetime

_TAG = re.compile(r'(?:W/)?("[^"]*")')


def etag(body: bytes) -> str:
    """A strong entity tag of these bytes, with its quotes."""
    return f'"{hashlib.blake2b(body, digest_size=8).hexdigest()}"'


def is_not_modified(
    if_none_match: str | None, if_modified_since: str | None, tag: str, modified_ms: int | None
) -> bool:
    """True where the answer is 304. If-None-Match is a list, compared weakly, and alone decides where it is sent."""
    if if_none_match is not None:
        return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)
    if if_modified_since is None or modified_ms is None:
        return False
    try:
        since = parsedate_to_datetime(if_modified_since)
    except ValueError:
        return False
    if since.tzinfo is None:
        since = since.replace(tzinfo=UTC)
    return modified_ms // 1000 <= since.timestamp()
