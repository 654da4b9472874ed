"""Names to addresses, guarded: answers and failures are remembered, and a name with an address that is not public is
refused where it is resolved, at connection time, so that a name which rebinds gains nothing.

Decides nothing of which addresses are public: that verdict is given to it.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from aiohttp.abc import AbstractResolver, ResolveResult

Lookup = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class DnsPolicy:
    """Bounds of look-ups. Times in seconds."""

    patience_s: float = 5.0  # glibc asks twice, 5 s each
    kept_s: float = 60.0  # a name's addresses
    failed_kept_s: float = 30.0  # and its failure, so that a dead host costs one look-up
    names: int = 50_000
    at_once: int = 64  # threads, for getaddrinfo blocks: as many dead zones hold up nobody else


class AddressRefusedError(OSError):
    """Raised where a name is resolved or a socket opened; aiohttp carries OSErrors through."""


def system_lookup(host: str) -> list[str]:
    """The addresses of a name by the system's resolver, IPv4 and IPv6. Blocks. Raises OSError."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "no such name") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedResolver(AbstractResolver):
    """Resolves names, remembers answers and failures, refuses a name any of whose addresses is not public."""

    def __init__(self, policy: DnsPolicy, refusal: Callable[[str], str | None], lookup: Lookup) -> None:
        self._policy = policy
        self._refusal = refusal
        self._lookup = lookup
        # A slow name server holds threads; a pool of its own keeps it from everything else.
        self._pool = ThreadPoolExecutor(policy.at_once, "dns")
        self._known: dict[str, tuple[float, list[str] | OSError]] = {}
        self._asking: dict[str, asyncio.Task[list[str]]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """aiohttp's question. Raises OSError: AddressRefusedError, or the resolver's own."""
        addresses = await self.addresses(host)
        for address in addresses:
            if self._refusal(address):
                raise AddressRefusedError(f"{host} has the address {address}")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def addresses(self, host: str) -> list[str]:
        """The name's addresses, from memory where they are fresh; one look-up at a time for each name."""
        known = self._known.get(host)
        if known is None or known[0] < time.monotonic():
            task = self._asking.get(host)
            if task is None:
                task = self._asking[host] = asyncio.create_task(self._ask(host))
                task.add_done_callback(lambda done: self._asked(host, done))
            # Shielded: one that gives up must not end the look-up of the others.
            return await asyncio.shield(task)
        if isinstance(known[1], OSError):
            # A fresh one: a raised error gathers a traceback each time.
            raise type(known[1])(*known[1].args)
        return known[1]

    def _asked(self, host: str, task: asyncio.Task[list[str]]) -> None:
        self._asking.pop(host, None)
        if not task.cancelled():
            task.exception()  # looked at, for all who wanted it may have given up

    async def _ask(self, host: str) -> list[str]:
        answer: list[str] | OSError
        try:
            asked = asyncio.get_running_loop().run_in_executor(self._pool, self._lookup, host)
            answer = await asyncio.wait_for(asked, self._policy.patience_s)
        except TimeoutError:
            answer = OSError(f"no name server answered for {host} within {self._policy.patience_s:g} s")
        except OSError as error:
            answer = error
        failed = isinstance(answer, OSError)
        kept = self._policy.failed_kept_s if failed else self._policy.kept_s
        if len(self._known) >= self._policy.names:
            for old in list(self._known)[: self._policy.names // 10]:
                del self._known[old]
        self._known.pop(host, None)
        self._known[host] = (time.monotonic() + kept, answer)
        if isinstance(answer, OSError):
            raise type(answer)(*answer.args)
        return answer

    async def close(self) -> None:
        """Leave running look-ups to end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)
