"""A hub for tests, as the W3C recommendation describes one; and the ways in which hubs misbehave, each by its name.

It takes subscriptions at its address, asks the callback back, and delivers what is published. Used in one event loop:

    async with Hub() as hub:
        hub.does = {"redirect"}
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType

from aiohttp import ClientSession, web

# What a hub may do wrong (or only unusually); `Hub.does` holds those that it does now.
WAYS = {
    "verify_first",  # it asks the callback before it answers the subscriber's request
    "no_verification",  # it takes the request and never asks
    "deny",  # it denies instead of asking
    "other_topic",  # it asks about, and delivers as, a topic nobody asked for
    "no_challenge",
    "page_as_challenge",
    "huge_lease",
    "no_lease",
    "bad_lease",
    "replay",  # each delivery is sent three times
    "bad_signature",
    "no_signature",
    "unknown_method",
    "silent",  # leases are granted, nothing is delivered
    "redirect",  # it sends the subscriber to `Hub.location`
    "fail",  # 500
    "retry_later",  # 503 with Retry-After
}


@dataclass(slots=True)
class Subscriber:
    """One subscription at the hub."""

    topic: str
    callback: str
    secret: str
    lease_s: str
    active: bool = False


@dataclass(slots=True)
class Asked:
    """One verification of intent: what was asked and what the callback said."""

    mode: str
    topic: str
    challenge: str
    status: int
    body: str
    content_type: str

    @property
    def confirmed(self) -> bool:
        """Whether the callback confirmed: 2xx and the challenge, byte for byte."""
        return 200 <= self.status < 300 and self.body == self.challenge


@dataclass
class Hub:
    """One hub on 127.0.0.1; `url` once it serves. method: of signatures. location: where redirects lead."""

    does: set[str] = field(default_factory=set)
    method: str = "sha256"
    location: str = ""
    url: str = ""
    subscribers: dict[str, Subscriber] = field(default_factory=dict)  # by callback
    requests: list[dict[str, str]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    delivered: list[int] = field(default_factory=list)  # statuses
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _challenges: int = 0

    async def __aenter__(self) -> Hub:
        assert self.does <= WAYS, self.does - WAYS
        self._client = ClientSession()
        self._runner = web.ServerRunner(web.Server(self._take))
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.settled()
        await self._client.close()
        await self._runner.cleanup()

    async def settled(self) -> None:
        """Wait until everything it set out to do is done."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    async def _take(self, request: web.BaseRequest) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.requests.append(form)
        if "redirect" in self.does:
            return web.Response(status=307, headers={"Location": self.location})
        if "fail" in self.does:
            return web.Response(status=500)
        if "retry_later" in self.does:
            return web.Response(status=503, headers={"Retry-After": "120"})
        mode, callback, topic = (form.get(f"hub.{name}", "") for name in ("mode", "callback", "topic"))
        if mode not in ("subscribe", "unsubscribe") or not callback or not topic:
            return web.Response(status=400, text="hub.mode, hub.callback and hub.topic are needed")
        wanted = Subscriber(topic, callback, form.get("hub.secret", ""), form.get("hub.lease_seconds", "864000"))
        if "verify_first" in self.does:
            await self.verify(mode, wanted)
        elif "no_verification" not in self.does:
            task = asyncio.get_running_loop().create_task(self.verify(mode, wanted))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return web.Response(status=202)

    async def verify(self, mode: str, wanted: Subscriber) -> None:
        """Verification of intent (5.3), or a denial (5.2)."""
        if "deny" in self.does:
            await self.deny(wanted)
            return
        self._challenges += 1
        challenge = f"challenge-{self._challenges:020d}"
        if "page_as_challenge" in self.does:
            challenge = "<script>alert(1)</script>"
        query = {
            "hub.mode": mode,
            "hub.topic": wanted.topic if "other_topic" not in self.does else "https://elsewhere.example/feed",
            "hub.challenge": challenge if "no_challenge" not in self.does else "",
        }
        if mode == "subscribe" and "no_lease" not in self.does:
            huge, bad = "huge_lease" in self.does, "bad_lease" in self.does
            query["hub.lease_seconds"] = "9" * 40 if huge else "-1 day" if bad else wanted.lease_s
        answer = await self._ask(wanted.callback, query)
        if answer.confirmed:
            wanted.active = mode == "subscribe"
            self.subscribers[wanted.callback] = wanted

    async def deny(self, subscriber: Subscriber, reason: str = "quota") -> None:
        """Say no, now or long after."""
        subscriber.active = False
        await self._ask(
            subscriber.callback, {"hub.mode": "denied", "hub.topic": subscriber.topic, "hub.reason": reason}
        )

    async def _ask(self, callback: str, query: dict[str, str]) -> Asked:
        async with self._client.get(callback, params=query, allow_redirects=False) as answer:
            text = await answer.text("latin-1")
            asked = Asked(
                query["hub.mode"],
                query["hub.topic"],
                query.get("hub.challenge", ""),
                answer.status,
                text,
                answer.content_type,
            )
        self.asked.append(asked)
        return asked

    async def publish(self, topic: str, body: bytes, content_type: str = "application/atom+xml") -> list[int]:
        """Deliver to all subscribers of a topic; returns the statuses they answered."""
        statuses: list[int] = []
        if "silent" in self.does:
            return statuses
        for subscriber in list(self.subscribers.values()):
            if subscriber.active and subscriber.topic == topic:
                for _ in range(3 if "replay" in self.does else 1):
                    statuses.append(await self._deliver(subscriber, body, content_type))
        self.delivered += statuses
        return statuses

    async def _deliver(self, subscriber: Subscriber, body: bytes, content_type: str) -> int:
        named = "https://elsewhere.example/feed" if "other_topic" in self.does else subscriber.topic
        headers = {
            "Content-Type": content_type,
            "Link": f'<{self.url}>; rel="hub", <{named}>; rel="self"',
            **self._signature(subscriber.secret, body),
        }
        async with self._client.post(subscriber.callback, data=body, headers=headers) as answer:
            await answer.read()
            if answer.status == 410:
                # 7: the subscription is over.
                subscriber.active = False
            return answer.status

    def _signature(self, secret: str, body: bytes) -> dict[str, str]:
        if not secret or "no_signature" in self.does:
            return {}
        given = hmac.new(secret.encode(), body, self.method).hexdigest()
        if "bad_signature" in self.does:
            given = given[::-1] if given != given[::-1] else "0" * len(given)
        return {"X-Hub-Signature": f"{'md5' if 'unknown_method' in self.does else self.method}={given}"}


def form_of(mode: str, topic: str, callback: str, secret: str, lease_s: int = 864_000) -> dict[str, str]:
    """What a subscriber posts to a hub (5.1)."""
    names = ("mode", "topic", "callback", "secret", "lease_seconds")
    return dict(zip((f"hub.{name}" for name in names), (mode, topic, callback, secret, str(lease_s)), strict=True))


def atom(links: Iterable[str], *, serial: int = 0) -> bytes:
    """A delivery: an Atom document with an entry for each link."""
    entries = "".join(
        f"<entry><id>{link}</id><title>News</title><link rel='alternate' href='{link}'/></entry>" for link in links
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><id>tag:news,{serial}</id>{entries}</feed>'.encode()
