"""HTTP towards strangers: polite headers, every hop judged, every byte and second bounded.

`HttpClient` follows redirects by hand, so that each hop meets the same rules as the first address: scheme, port,
credentials, address literals here (`addresses.py`), robots and the host's gate through `before_hop`. Names are judged
where they are resolved, at connection time (`resolver.py`), so a name that rebinds to a private address is refused;
each socket's address is judged once more as it is opened. With a gateway every name leads to one address over plain
HTTP, and nothing is resolved at all. Reading order: policy and errors, `HttpClient.get` and `post`.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from connectors.addresses import DEFAULT_PORTS, AddressPolicy, address_refusal, parse, url_refusal
from connectors.body import ACCEPT_ENCODING, BodyError, decoded, too_large
from connectors.resolver import AddressRefusedError, DnsPolicy, GuardedResolver, Lookup, system_lookup
from connectors.room import Room, RoomPolicy, Rooms
from connectors.wire import ATTEMPT, Attempt, Connector


@dataclass(frozen=True, slots=True)
class HttpPolicy:
    """Bounds of one request. Times in seconds."""

    connect_s: float = 5.0  # a TCP or TLS handshake that takes longer is no healthy server (scrapy 180 in all)
    read_s: float = 10.0  # between two reads
    total_s: float = 20.0  # all hops together, waits of `before_hop` left out
    max_redirects: int = 5  # RFC 9309 asks for at least five for robots.txt; browsers follow 20
    dns: DnsPolicy = field(default_factory=DnsPolicy)
    # A feed's new pages follow it within seconds; then the connection is a burden to both sides.
    keep_alive_s: float = 15.0
    idle_hosts: int = 2_000  # with a connection kept: 50 KB each where it is TLS
    room: RoomPolicy = field(default_factory=RoomPolicy)
    ports: tuple[int, ...] = (80, 443)


class HttpError(Exception):
    """A request without a usable answer. reason: a code; status: of the answer, where there was one, else 0."""

    def __init__(self, reason: str, detail: str = "", status: int = 0) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
        self.status = status


class HttpRefusedError(HttpError):
    """Never asked, or not asked further: the address is none that may be asked. Asking again changes nothing."""


class HttpFailedError(HttpError):
    """Asked, without a whole answer: time-out, broken transfer, no such name, a body beyond the limit."""


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer. headers: lower-case names, repeated ones joined by ", "
    (X-Robots-Tag: by a line end). body: unpacked; empty unless 2xx to GET.

    final_url: of the last hop. moved: there were redirects and all were permanent (301, 308).
    """

    url: str
    final_url: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    moved: bool = False
    elapsed_ms: int = 0


BeforeHop = Callable[[URL], Awaitable[None]]
Sending = Callable[[URL], None]

PERMANENT = frozenset({301, 308})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Bodies above it are unpacked outside the event loop, which would stand still for milliseconds.
_UNPACK_APART_BYTES = 64 * 1024
# The others turn a POST into a GET (RFC 9110, 15.4), and a GET says nothing to whom the form was for.
FORM_REDIRECTS = frozenset({307, 308})


@dataclass(frozen=True, slots=True)
class _Asking:
    """What is the same at every hop of one request. max_bytes None: of the answer only the head is read."""

    method: str
    headers: Mapping[str, str]
    redirects: frozenset[int]
    room: Room
    before_hop: BeforeHop | None
    sending: Sending | None
    max_bytes: int | None = None
    cut: bool = False
    form: bytes | None = None


class HttpClient:
    """For one process: keep-alive connections, one resolver, shared bounds. Create it inside a running loop."""

    def __init__(
        self,
        policy: HttpPolicy,
        *,
        user_agent: str,
        gateway: str = "",
        refusal: Callable[[str], str | None] = address_refusal,
        lookup: Lookup = system_lookup,
    ) -> None:
        """gateway: HOST:PORT that stands for every host name. refusal and lookup are replaced in tests alone."""
        self._policy = policy
        self._gateway = gateway
        self._refusal = refusal
        self.addresses = AddressPolicy(frozenset(policy.ports), gateway=bool(gateway))
        self.rooms = Rooms(policy.room)
        # With a gateway the only name that is ever resolved is the gateway's own.
        allowed: Callable[[str], str | None] = (lambda _: None) if gateway else refusal
        self._resolver = GuardedResolver(policy.dns, allowed, lookup)
        connector = Connector(
            resolver=self._resolver,
            use_dns_cache=False,
            limit=0,
            keepalive_timeout=policy.keep_alive_s,
            idle_hosts=policy.idle_hosts,
            socket_factory=self._socket,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=None,
                sock_connect=policy.connect_s,
                connect=policy.dns.patience_s + policy.connect_s,
                sock_read=policy.read_s,
            ),
            headers={"User-Agent": user_agent, "Accept-Encoding": ACCEPT_ENCODING},
            auto_decompress=False,
            # Some publishers' security policies are longer than aiohttp's 8 KB a header.
            max_field_size=32 * 1024,
            trust_env=False,
        )

    def _socket(self, info: Any) -> socket.socket:
        family, kind, proto, _, address = info
        if not self._gateway and self._refusal(str(address[0])):
            raise AddressRefusedError(f"{address[0]} is no public address")
        return socket.socket(family, kind, proto)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
        await self._resolver.close()

    async def get(
        self,
        url: str,
        *,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        before_hop: BeforeHop | None = None,
        sending: Sending | None = None,
        total_s: float | None = None,
        cut: bool = False,
        room: Room | None = None,
    ) -> Response:
        """GET, following at most `max_redirects` redirects. before_hop is awaited before every request but the first,
        sending called as each goes out.

        total_s: instead of the policy's. cut: of a longer body the first max_bytes serve (ask for no coding then).
        room: of `rooms`, held until the caller gives it back; without one, for the time of the reading. Returns any
        answer but a followed redirect. Raises HttpRefusedError, HttpFailedError, and whatever before_hop raises.
        """
        held = room if room is not None else self.rooms.holding()
        asking = _Asking("GET", headers or {}, REDIRECTS, held, before_hop, sending, max_bytes, cut)
        try:
            got = await self._follow(url, asking, total_s)
        except BaseException:
            held.give_back()
            raise
        if room is None:
            held.give_back()
        return got

    async def post(
        self,
        url: str,
        form: Mapping[str, str],
        *,
        before_hop: BeforeHop | None = None,
        sending: Sending | None = None,
        total_s: float | None = None,
    ) -> Response:
        """POST a form, urlencoded. The answer is its status and headers: no byte of a body is read, for it may be
        endless, and may repeat what the form said in confidence.

        Redirects 307 and 308 are followed with the form, each hop judged; any other is the answer. before_hop, sending,
        total_s and errors as for `get`; also HttpRefusedError where a redirect would take the form from https to http.
        """
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "*/*"}
        body, room = urlencode(form).encode(), self.rooms.holding()
        asking = _Asking("POST", headers, FORM_REDIRECTS, room, before_hop, sending, form=body)
        return await self._follow(url, asking, total_s)

    async def _follow(self, url: str, asking: _Asking, total_s: float | None) -> Response:
        at = parse(url)
        if at is None:
            raise HttpRefusedError("url_malformed", url[:200])
        left = total_s or self._policy.total_s
        permanent = True
        began = time.monotonic()
        for hop in range(self._policy.max_redirects + 1):
            refusal = url_refusal(at, self.addresses)
            if refusal:
                raise HttpRefusedError(refusal, str(at)[:200])
            if hop and asking.before_hop is not None:
                await asking.before_hop(at)
            started = time.monotonic()
            status, received, body = await self._hop(at, asking, left)
            left -= time.monotonic() - started
            location = received.get("location", "")
            if status not in asking.redirects or not location:
                elapsed = int((time.monotonic() - began) * 1000)
                return Response(url, str(at), status, received, body, bool(hop) and permanent, elapsed)
            permanent = permanent and status in PERMANENT
            before, at = at, _joined(at, location)
            if asking.form is not None and before.scheme == "https" and at.scheme == "http":
                raise HttpRefusedError("redirect_insecure", str(at)[:200])
        raise HttpFailedError("too_many_redirects", str(at)[:200])

    def _route(self, url: URL) -> tuple[URL, dict[str, str]]:
        """Where the request goes, and the headers that say what was meant."""
        if not self._gateway:
            return url, {}
        host, _, port = self._gateway.rpartition(":")
        named = (url.raw_host or "").lower()
        if url.port != DEFAULT_PORTS[url.scheme]:
            named = f"{named}:{url.port}"
        target = url.with_scheme("http").with_host(host).with_port(int(port))
        return target, {"Host": named, "X-Forwarded-Proto": url.scheme}

    async def _hop(self, url: URL, asking: _Asking, left_s: float) -> tuple[int, dict[str, str], bytes]:
        target, routing = self._route(url)
        ATTEMPT.set(
            Attempt(
                again=partial(asking.before_hop, url) if asking.before_hop is not None else None,
                sending=partial(asking.sending, url) if asking.sending is not None else None,
            )
        )
        try:
            async with (
                asyncio.timeout(max(0.001, left_s)),
                self._session.request(
                    asking.method,
                    target,
                    data=asking.form,
                    headers={**asking.headers, **routing},
                    allow_redirects=False,
                ) as response,
            ):
                received = _headers(response)
                if asking.max_bytes is None or not 200 <= response.status < 300:
                    # Nothing of such a body is used; a connection with an unread one cannot be kept.
                    if not response.content.at_eof():
                        response.close()
                    return response.status, received, b""
                raw = await self._read(response, asking.max_bytes, asking)
                coding = received.get("content-encoding", "")
                body = await self._unpacked(raw, coding, asking.max_bytes) if coding else raw
                await asking.room.grow(len(body))
                return response.status, received, body
        except TimeoutError:
            if asking.room.waiting:
                raise HttpFailedError("no_room", "too many large bodies at once") from None
            raise HttpFailedError("timed_out", "no whole answer in time") from None
        except BodyError as error:
            raise HttpFailedError(error.reason, error.detail) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _failure(error) from None

    async def _read(self, response: aiohttp.ClientResponse, max_bytes: int, asking: _Asking) -> bytes:
        """The body as sent. Stops reading at the limit, and before it where Content-Length already says so."""
        if (response.content_length or 0) > max_bytes and not asking.cut:
            response.close()
            raise too_large(0, max_bytes)
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > max_bytes:
                response.close()
                if asking.cut:
                    break
                raise too_large(len(body), max_bytes)
            if len(body) > asking.room.enough:
                await asking.room.grow(len(body))
        return bytes(body[:max_bytes])

    @staticmethod
    async def _unpacked(raw: bytes, coding: str, max_bytes: int) -> bytes:
        if len(raw) > _UNPACK_APART_BYTES:
            return await asyncio.to_thread(decoded, raw, coding, max_bytes)
        return decoded(raw, coding, max_bytes)


def _headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in response.headers.items():
        name = name.lower()
        # Bytes that are no UTF-8 come as lone surrogates, which no record can carry.
        clean = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        # Each X-Robots-Tag may be for another robot: a comma would put all that follow under the first one's name.
        between = "\n" if name == "x-robots-tag" else ", "
        joined[name] = f"{joined[name]}{between}{clean}" if name in joined else clean
    return joined


def _joined(base: URL, location: str) -> URL:
    """The target of a redirect. Raises HttpRefusedError where it is no URL."""
    target = parse(location)
    try:
        return base.join(target) if target is not None else _malformed(location)
    except ValueError:
        return _malformed(location)


def _malformed(location: str) -> URL:
    raise HttpRefusedError("redirect_malformed", location[:200])


def _failure(error: Exception) -> HttpError:
    """What aiohttp raised, as this module's own error."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, AddressRefusedError):
        return HttpRefusedError("private_address", str(cause)[:200])
    for kinds, reason in _REASONS:
        if isinstance(error, kinds):
            return HttpFailedError(reason, f"{type(error).__name__}: {error}"[:200])
    return HttpFailedError("connection_lost", f"{type(error).__name__}: {error}"[:200])


# The first that fits: subclasses before their bases.
_REASONS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((aiohttp.ClientConnectorDNSError,), "dns_failed"),
    ((aiohttp.ClientSSLError,), "tls_failed"),
    ((aiohttp.ClientConnectorError,), "connect_failed"),
    ((aiohttp.ClientPayloadError,), "transfer_broken"),
    ((aiohttp.ServerDisconnectedError, aiohttp.ClientOSError), "connection_lost"),
    ((aiohttp.ClientResponseError,), "response_malformed"),
    ((aiohttp.InvalidURL, ValueError), "url_malformed"),
)
