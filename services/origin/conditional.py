"""Conditional requests and content encodings, as RFC 9110 says. Decides; sends nothing."""

from __future__ import annotations

import re

_TAG = re.compile(r'(?:W/)?"[^"]*"')


def not_modified(if_none_match: str | None, etag: str) -> bool:
    """Whether the client's copy is current: a list, weak tags compared weakly, or `*` (RFC 9110 13.1.2)."""
    if if_none_match is None:
        return False
    if if_none_match.strip() == "*":
        return True
    return etag in {tag.removeprefix("W/") for tag in _TAG.findall(if_none_match)}


def encoding(accept_encoding: str | None) -> str:
    """`br`, `gzip` or `identity`: the smallest the client accepts (RFC 9110 12.5.3; never 406)."""
    weights: dict[str, float] = {}
    for part in (accept_encoding or "").lower().split(","):
        name, _, parameters = part.strip().partition(";")
        quality = 1.0
        if parameters.strip().startswith("q="):
            try:
                quality = float(parameters.strip()[2:])
            except ValueError:
                quality = 0.0
        weights[name.strip()] = quality
    for name in ("br", "gzip"):
        if weights.get(name, weights.get("*", 0.0)) > 0:
            return name
    return "identity"
