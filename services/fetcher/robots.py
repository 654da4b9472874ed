"""robots.txt as RFC 9309 reads it: which answers allow, which forbid, which rules bind. Pure; protego parses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protego import Protego
from yarl import URL

from connectors.http import HttpError, HttpFailedError, HttpRefusedError

# The product token that publishers write in a User-agent line.
TOKEN = "broadsheet"


@dataclass(frozen=True, slots=True)
class Rules:
    """What binds us at one authority. parsed: None where all is allowed. error: why nothing may be asked now."""

    parsed: Any = None
    error: HttpError | None = None

    def check(self, url: URL) -> None:
        """Raises HttpRefusedError (robots_disallowed), or the error for which nothing may be asked at all."""
        if self.error is not None:
            # A fresh one: a raised error gathers a traceback each time.
            raise type(self.error)(self.error.reason, self.error.detail, self.error.status)
        if self.parsed is not None and not self.parsed.can_fetch(str(url), TOKEN):
            raise HttpRefusedError("robots_disallowed", f"{url.raw_host} disallows {url.raw_path_qs}"[:200])

    def crawl_delay_ms(self, cap_ms: int) -> int:
        """The delay asked for, at most `cap_ms`; 0 where there is none."""
        delay = self.parsed.crawl_delay(TOKEN) if self.parsed is not None else None
        return min(int(delay * 1000), cap_ms) if delay is not None and delay > 0 else 0


def rules_of(status: int, body: bytes, limit: int) -> Rules:
    """The rules in an answer to a request for robots.txt.

    2xx: the file (2.3.1.1). 4xx: all allowed (2.3.1.3), but 429, which says nothing of rules. All else: complete
    disallow until it can be had (2.3.1.4). Only the first `limit` bytes are read (2.5).
    """
    if 200 <= status < 300:
        text = body[:limit].decode("utf-8", "replace").removeprefix("\ufeff")
        return Rules(Protego.parse(text))
    if 400 <= status < 500 and status != 429:
        return Rules()
    return Rules(error=HttpRefusedError("robots_unreachable", f"robots.txt answered {status}", status))


def rules_without_answer(error: HttpError) -> Rules:
    """The rules where robots.txt could not be had.

    A refusal of the host's address stays one, and so does a fault of the network, which the page would meet too:
    whoever reads the answer learns what is wrong. What is wrong with the file alone allows nothing.
    """
    if error.reason in ("body_too_large", "decompression_bomb", "body_undecodable", "body_truncated"):
        return Rules(error=HttpRefusedError("robots_unreachable", f"robots.txt: {error}"[:200]))
    kind = HttpRefusedError if isinstance(error, HttpRefusedError) else HttpFailedError
    return Rules(error=kind(error.reason, f"robots.txt: {error.detail}"[:200], error.status))


def authority(url: URL) -> str:
    """What one robots.txt binds: scheme, host and port."""
    return f"{url.scheme}://{(url.raw_host or '').lower()}:{url.port}"


def robots_url(url: URL) -> str:
    """Where the rules for a URL are."""
    return str(url.with_path("/robots.txt", encoded=True).with_query(None))
