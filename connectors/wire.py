"""When a request goes out: connections that tell it, and that send nothing a second time without asking.

aiohttp's own connections, pool and happy eyeballs (RFC 8305); decides nothing of addresses.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import aiohttp


@dataclass(slots=True)
class Attempt:
    """One request on its way. again: awaited before it is sent once more. sending: called as it goes out."""

    again: Callable[[], Awaitable[None]] | None = None
    sending: Callable[[], None] | None = None
    tries: int = 0


# Of the task that asks.
ATTEMPT: ContextVar[Attempt] = ContextVar("ATTEMPT")


class Connector(aiohttp.TCPConnector):
    """A connection may take a second to open: only then does the request go out, and the next one's wait begin.

    aiohttp sends again, at once, where a kept connection turns out to be dead. For all the host knows that is a second
    request, so it waits like one. Of `idle_hosts` at once a connection is kept for their next request.
    """

    def __init__(self, *, idle_hosts: int, **more: Any) -> None:
        super().__init__(**more)
        self._idle_hosts = idle_hosts

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:
        attempt = ATTEMPT.get()
        if attempt.tries and attempt.again is not None:
            await attempt.again()
        attempt.tries += 1
        connection = await super().connect(req, traces, timeout)
        if attempt.sending is not None:
            attempt.sending()
        return connection

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        full = len(self._conns) >= self._idle_hosts and key not in self._conns
        super()._release(key, protocol, should_close=should_close or full)
