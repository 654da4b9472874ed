"""Is this ping its publisher's, fresh and met for the first time? Pure, but for the nonces it remembers.

A ping is signed, so that the key never travels: timestamp and nonce make each one valid once, for minutes. All refusals
look the same from outside and take the same time; what is wrong is only counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from services.push.policy import PushPolicy
from services.push.register import Register
from services.push.signatures import is_ping_signed, ping_message
from services.push.windows import Window

TIMESTAMP, NONCE, SIGNATURE = "X-Broadsheet-Timestamp", "X-Broadsheet-Nonce", "X-Broadsheet-Signature"
_NONCE = re.compile(r"[A-Za-z0-9_\-+/=.]{16,64}")
_SECONDS = re.compile(r"[0-9]{9,12}")


@dataclass(frozen=True, slots=True)
class Ping:
    """One ping as it may be answered. outcome: accepted, or a code that is counted.

    mark: names this ping among the nonces. feeds: those that it is about.
    """

    outcome: str
    publisher: str = ""
    mark: tuple[str, str] = ("", "")
    feeds: tuple[str, ...] = ()


def judge_ping(
    path: str, headers: Mapping[str, str], register: Register, nonces: Window, now_ms: int, policy: PushPolicy
) -> Ping:
    """Judge a POST to `/ping/{publisher}` or `/ping/{publisher}/{feed}`. path: percent-encoded, without its query.

    Remembers nothing: the caller adds `mark` to the nonces when it takes the ping.
    """
    publisher, feed = _target(path)
    timestamp, nonce = headers.get(TIMESTAMP, ""), headers.get(NONCE, "")
    # Always asked, whatever else is wrong: the time it takes tells nothing.
    message = ping_message(timestamp[:16], nonce[:80], path)
    signed = is_ping_signed(register.key_hashes(publisher), headers.get(SIGNATURE, ""), message)
    if not signed:
        return Ping("unsigned")
    if not _SECONDS.fullmatch(timestamp) or abs(int(timestamp) * 1000 - now_ms) > policy.ping_skew_ms:
        return Ping("stale", publisher)
    if not _NONCE.fullmatch(nonce):
        return Ping("nonce_malformed", publisher)
    mark = (publisher, nonce)
    if nonces.holds(mark, now_ms):
        return Ping("replayed", publisher)
    feeds = register.feeds(publisher, feed)
    return Ping("accepted" if feeds else "feed_unknown", publisher, mark, feeds)


def _target(path: str) -> tuple[str, str]:
    """(publisher, feed) of a path below /ping/; the feed may be an address, percent-encoded."""
    parts = path.split("/")
    if len(parts) not in (3, 4) or parts[:2] != ["", "ping"]:
        return "", ""
    return unquote(parts[2]), unquote(parts[3]) if len(parts) == 4 else ""
