"""The rules of every host asked lately; a host's robots.txt is fetched once, however many requests wait for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from yarl import URL

from connectors.http import HttpError
from services.fetcher.policy import FetchPolicy
from services.fetcher.robots import Rules, authority, robots_url, rules_of, rules_without_answer

# Fetches a robots.txt: its status and body. Raises HttpError.
Fetch = Callable[[str], Awaitable[tuple[int, bytes]]]


class RobotsCache:
    """Rules by authority. Rules reached by a redirect bind the authority that was asked (RFC 9309, 2.3.1.2)."""

    def __init__(self, policy: FetchPolicy, clock_ms: Callable[[], int]) -> None:
        self._policy = policy
        self._clock_ms = clock_ms
        self._known: dict[str, tuple[int, Rules]] = {}
        self._asking: dict[str, asyncio.Task[Rules]] = {}
        self._waiting: Counter[str] = Counter()

    def known(self, url: URL) -> Rules | None:
        """The rules, where they are fresh."""
        found = self._known.get(authority(url))
        return found[1] if found is not None and found[0] > self._clock_ms() else None

    def retry_ms(self, url: URL) -> int:
        """How long until the rules are asked for again; 0 where none are kept."""
        found = self._known.get(authority(url))
        return max(0, found[0] - self._clock_ms()) if found is not None else 0

    async def rules(self, url: URL, fetch: Fetch) -> Rules:
        """The rules, fetched where they are not fresh."""
        known = self.known(url)
        if known is not None:
            return known
        name = authority(url)
        task = self._asking.get(name)
        if task is None:
            task = self._asking[name] = asyncio.create_task(self._ask(name, robots_url(url), fetch))
            task.add_done_callback(lambda done: self._asked(name, done))
        # Shielded: a request that is given up must not take the rules from the others that wait for them. The last one
        # does: whoever waits is in flight at the host, and with nobody there nothing may be.
        self._waiting[name] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[name] -= 1
            if not self._waiting[name]:
                del self._waiting[name]
                task.cancel()

    def _asked(self, name: str, task: asyncio.Task[Rules]) -> None:
        if self._asking.get(name) is task:
            del self._asking[name]
        if not task.cancelled():
            task.exception()  # looked at, for all who wanted the rules may have given up

    async def _ask(self, name: str, url: str, fetch: Fetch) -> Rules:
        try:
            status, body = await fetch(url)
            rules = rules_of(status, body, self._policy.robots_bytes)
        except HttpError as error:
            rules = rules_without_answer(error)
        if len(self._known) >= self._policy.robots_hosts:
            for old in list(self._known)[: self._policy.robots_hosts // 10]:
                del self._known[old]
        kept = self._policy.robots_kept_ms if rules.error is None else self._policy.robots_retry_ms
        self._known.pop(name, None)
        self._known[name] = (self._clock_ms() + kept, rules)
        return rules
