"""The HTTP edge: how many may connect, how slow they may be, and whose address a request comes from.

aiohttp's bare server, without routes: 80 us a request of 13 KB here, an application with routes 120. A connection that
has not sent a whole head within `header_s` is closed, the first as any later one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, ip_address

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from services.push.policy import PushPolicy
from services.push.settings import PushSettings

Address = IPv4Address | IPv6Address


class Connections:
    """Those that are open, by address; says whether one more may be."""

    def __init__(self, settings: PushSettings, policy: PushPolicy, refused: Callable[[], None]) -> None:
        self._settings = settings
        self._policy = policy
        self._refused = refused
        self._by_address: Counter[str] = Counter()
        self.open = 0

    def admit(self, transport: asyncio.BaseTransport) -> str | None:
        """The name under which it is counted until `left`; None: it must be closed."""
        peer = peer_of(transport)
        name = "" if peer is None or is_proxy(peer, self._settings) else limit_name(peer)
        full = self.open >= self._policy.connections
        if full or (name and self._by_address[name] >= self._policy.address_connections):
            self._refused()
            return None
        self.open += 1
        self._by_address[name] += 1
        return name

    def left(self, name: str) -> None:
        """It is closed."""
        self.open -= 1
        self._by_address[name] -= 1
        if not self._by_address[name]:
            del self._by_address[name]


class _Connection(RequestHandler):
    __slots__ = ("_admitted", "_door")

    def __init__(self, server: BoundedServer, door: Connections, bounds: PushPolicy) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]  # as aiohttp itself does
            keepalive_timeout=bounds.header_s,
            # What a refused sender still has under way is read for so long, or it would not see the answer.
            lingering_time=1.0,
            # Twice as much of a body waits in memory for each connection.
            read_bufsize=16 * 1024,
            # A signature is over the bytes as they came.
            auto_decompress=False,
        )
        self._door = door
        self._admitted: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._admitted = self._door.admit(transport)
        super().connection_made(transport)
        if self._admitted is None:
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._admitted is not None:
            self._door.left(self._admitted)
            self._admitted = None
        super().connection_lost(exc)


class BoundedServer(web.Server):
    """A server whose connections are counted."""

    def __init__(
        self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], door: Connections, bounds: PushPolicy
    ) -> None:
        super().__init__(handler)
        self._door = door
        self._bounds = bounds

    def __call__(self) -> RequestHandler:
        return _Connection(self, self._door, self._bounds)


def peer_of(transport: asyncio.BaseTransport | None) -> Address | None:
    """The other end's address."""
    name = transport.get_extra_info("peername") if transport is not None else None
    return _address(name[0]) if isinstance(name, tuple) else None


def client_of(request: web.BaseRequest, settings: PushSettings) -> str:
    """The name under which a request's sender is limited: its own address, or what a proxy of ours says it is.

    Of X-Forwarded-For only what our proxies added is believed: the last address that is none of theirs.
    """
    peer = peer_of(request.transport)
    if peer is None:
        return ""
    if is_proxy(peer, settings):
        for text in reversed(",".join(request.headers.getall("X-Forwarded-For", ())).split(",")):
            hop = _address(text.strip())
            if hop is None:
                break
            peer = hop
            if not is_proxy(hop, settings):
                break
    return limit_name(peer)


def is_proxy(address: Address, settings: PushSettings) -> bool:
    """Whether it is one of the configured proxies."""
    return any(address in network for network in settings.proxies)


def limit_name(address: Address) -> str:
    """IPv4: the address. IPv6: its /64, for one customer has all of it."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(IPv6Address(int(address) >> 64 << 64))
    return str(address)


def _address(text: str) -> Address | None:
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None
