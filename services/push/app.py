"""What each request gets: the way from a request to a decider, to Kafka, to an answer.

What names no known callback is limited by its address; a body is read only for a callback that wants one; 2xx is
answered once the broker has the signal. Everything unknown is 404 with nothing in it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from urllib.parse import parse_qs

import structlog
from aiohttp import web
from aiohttp.http_exceptions import PayloadEncodingError

from services.push.links import entry_links, names_other_topic
from services.push.metrics import Metrics
from services.push.pings import Ping, judge_ping
from services.push.policy import PushPolicy
from services.push.register import Callback, Register
from services.push.server import client_of
from services.push.settings import PushSettings
from services.push.signals import NotWrittenError, Signals, Written
from services.push.signatures import delivery_mac
from services.push.verification import verdict
from services.push.windows import Buckets, Waves, Window
from state_schemas.sources import PollSignal

_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,128}")
# States in which a hub's delivery is taken: a hub may deliver before poll has heard of the verification, and may not
# know yet that a lease has lapsed. In the others it is told to stop.
_TAKEN = frozenset({"pending", "verified", "lapsed"})
_HEADERS = {"Server": "Broadsheet"}

log = structlog.get_logger()


class _RefusedError(Exception):
    """A request that is answered with a status alone. outcome: what is counted."""

    def __init__(self, outcome: str, status: int, retry_s: int = 0) -> None:
        super().__init__(outcome)
        self.outcome = outcome
        self.status = status
        self.retry_s = retry_s


class Receiver:
    """Answers the internet. `signals` is None until Kafka can be written to; then `ready` says whether the topics are
    read. base: the path that the public address begins with."""

    def __init__(
        self,
        register: Register,
        settings: PushSettings,
        policy: PushPolicy,
        metrics: Metrics,
        *,
        base: str = "",
        utc_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._register = register
        self._settings = settings
        self._policy = policy
        self._metrics = metrics
        self._base = base.rstrip("/")
        self._utc_ms = utc_ms
        self.signals: Signals | None = None
        self.ready = False
        self._nonces = Window(2 * policy.ping_skew_ms, policy.nonces)
        self._addresses = Buckets(policy.address_rate, policy.address_burst, policy.addresses)
        self._callbacks = Buckets(policy.callback_rate, policy.callback_burst, policy.addresses)
        self._publishers = Buckets(policy.publisher_rate, policy.publisher_burst, policy.addresses)
        self._waves = Waves(policy.ping_gap_ms, policy.publishers)
        self._held = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The handler of the server."""
        began = time.perf_counter()
        path, _, query = request.raw_path.partition("?")
        path = path.removeprefix(self._base)
        kind, text = "none", ""
        retry_s = 0
        try:
            if path.startswith("/websub/"):
                kind = "delivery" if request.method == "POST" else "verification"
                outcome, status, text = await self._websub(request, path[8:], query)
            elif path.startswith("/ping/") and request.method == "POST":
                kind = "ping"
                outcome, status = await self._ping(request, path)
            else:
                self._limit_address(request)
                outcome, status = "unknown", 404
        except _RefusedError as refused:
            outcome, status, retry_s = refused.outcome, refused.status, refused.retry_s
        except NotWrittenError:
            outcome, status, retry_s = "not_written", 503, 5
        except Exception:
            # Our own bug: the sender may come again, and the feed is polled anyway.
            log.exception("push_fault", kind=kind)
            outcome, status, retry_s = "push_fault", 503, 60
        self._metrics.answered(kind, outcome, status, time.perf_counter() - began)
        return _response(status, text, retry_s)

    def _signals(self) -> Signals:
        if self.signals is None or not self.ready:
            raise _RefusedError("not_ready", 503, 5)
        return self.signals

    def _limit_address(self, request: web.BaseRequest) -> None:
        wait_ms = self._addresses.wait_ms(client_of(request, self._settings), self._utc_ms())
        if wait_ms:
            raise _RefusedError("address_limited", 429, _seconds(wait_ms))

    # ------------------------------------------------------------ WebSub

    async def _websub(self, request: web.BaseRequest, token: str, query: str) -> tuple[str, int, str]:
        signals = self._signals()
        callback = self._register.callback(token) if _TOKEN.fullmatch(token) else None
        if callback is None or request.method not in ("GET", "POST"):
            self._limit_address(request)
            return "unknown", 404, ""
        wait_ms = self._callbacks.wait_ms(token, self._utc_ms())
        if wait_ms:
            raise _RefusedError("callback_limited", 429, _seconds(wait_ms))
        if request.method == "POST":
            outcome, status = await self._delivery(request, callback, signals)
            return outcome, status, ""
        found = verdict(callback, _query(query), self._utc_ms(), self._policy)
        if found.signal is None:
            return found.outcome, 404, ""
        await signals.send(found.signal)
        return found.outcome, 200, found.challenge

    async def _delivery(self, request: web.BaseRequest, callback: Callback, signals: Signals) -> tuple[str, int]:
        if callback.state not in _TAKEN:
            return "not_subscribed", 410
        body = await self._body(request)
        try:
            taken = self._taken(request, callback, signals, body)
        finally:
            self._held -= len(body)
            del body  # not held while Kafka is waited for
        if isinstance(taken, str):
            return taken, 202
        handed, first = taken
        if handed is not None:
            await handed
        return "signalled" if first else "replayed", 202

    def _taken(
        self, request: web.BaseRequest, callback: Callback, signals: Signals, body: bytes
    ) -> tuple[Written | None, bool] | str:
        """The delivery's signal on its way, or why it is dropped."""
        headers = request.headers
        mac = delivery_mac(headers.get("X-Hub-Signature", ""), callback.secret, body)
        if mac is None:
            return "signature_wrong"
        if names_other_topic(",".join(headers.getall("Link", ())), callback.topic):
            return "other_topic"
        now_ms = self._utc_ms()

        def signal() -> PollSignal:
            links = () if "Content-Encoding" in headers else entry_links(body, callback.topic, self._policy)
            self._metrics.links.inc(len(links))
            return PollSignal(
                feed_id=callback.feed_id, signal="websub", signalled_ms=now_ms, links=links, token=callback.token
            )

        # The MAC stands for the body: nobody without the secret finds another body of the same.
        return signals.begin((callback.token, mac), now_ms, signal)

    async def _body(self, request: web.BaseRequest) -> bytes:
        """The body within its bounds; it counts as held until the caller gives it back."""
        limit = self._policy.body_bytes
        if (request.content_length or 0) > limit:
            raise _RefusedError("body_too_large", 413)
        if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        parts: list[bytes] = []
        size = 0
        try:
            # It came with its head, as a rule: no timer is needed.
            async with nullcontext() if request.content.is_eof() else asyncio.timeout(self._policy.body_s):
                while part := await request.content.readany():
                    parts.append(part)
                    size += len(part)
                    self._held += len(part)
                    if size > limit:
                        raise _RefusedError("body_too_large", 413)
                    if self._held > self._policy.held_bytes:
                        raise _RefusedError("bodies_too_many", 503, 5)
        except BaseException as error:
            self._held -= size
            if isinstance(error, TimeoutError):
                raise _RefusedError("body_slow", 408) from None
            if isinstance(error, web.RequestPayloadError | PayloadEncodingError):
                raise _RefusedError("body_malformed", 400) from None
            raise
        return parts[0] if len(parts) == 1 else b"".join(parts)

    # ------------------------------------------------------------ pings

    async def _ping(self, request: web.BaseRequest, path: str) -> tuple[str, int]:
        self._limit_address(request)
        signals = self._signals()
        now_ms = self._utc_ms()
        ping = judge_ping(path, request.headers, self._register, self._nonces, now_ms, self._policy)
        if ping.outcome != "accepted":
            return ping.outcome, 404
        if request.can_read_body:
            return "body_refused", 404
        wait_ms = self._publishers.wait_ms(ping.publisher, now_ms)
        if wait_ms:
            raise _RefusedError("publisher_limited", 429, _seconds(wait_ms))
        if self._nonces.full(now_ms):
            raise _RefusedError("nonces_full", 503, 60)
        self._nonces.add(ping.mark, now_ms)
        try:
            return ("signalled" if await self._wish(ping, signals, now_ms) else "joined"), 202
        except BaseException:
            self._nonces.forget(ping.mark)  # so that the very same ping may come again
            raise

    async def _wish(self, ping: Ping, signals: Signals, now_ms: int) -> bool:
        """Signal the ping's feeds in the publisher's wave; False where all were in it already."""
        wave_ms = self._waves.wave_ms(ping.publisher, now_ms)
        until_ms = wave_ms if wave_ms > now_ms else 0
        begun = []
        try:
            for feed in ping.feeds:
                signal = partial(PollSignal, feed_id=feed, signal="ping", signalled_ms=now_ms, until_ms=until_ms)
                begun.append(signals.begin((ping.publisher, feed, wave_ms), now_ms, signal))
            for handed, _ in begun:
                if handed is not None:
                    await handed
        except NotWrittenError:
            self._waves.withdraw(ping.publisher, wave_ms)
            raise
        return any(first for _, first in begun)


def _query(text: str) -> dict[str, list[str]]:
    with suppress(ValueError):  # more fields than a hub has reason to send
        return parse_qs(text, keep_blank_values=True, max_num_fields=32, errors="replace")
    return {}


def _seconds(wait_ms: int) -> int:
    return -(-wait_ms // 1000)


def _response(status: int, text: str, retry_s: int) -> web.Response:
    if text:
        # The challenge is the asker's own text: never a page.
        headers = {**_HEADERS, "X-Content-Type-Options": "nosniff"}
        return web.Response(status=status, text=text, content_type="text/plain", headers=headers)
    headers = {**_HEADERS, "Retry-After": str(retry_s)} if retry_s else _HEADERS
    response = web.Response(status=status, headers=headers)
    if status in (400, 408, 413):
        response.force_close()  # what is left of the body is not a request
    return response
