"""The way of one request through the hosts it comes to: its own and those its redirects lead to, in line at each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from yarl import URL

from services.fetcher.gate import Ended
from services.fetcher.hosts import HostGates

# Passes where robots.txt allows the URL; whether that took a request of its own. Raises HttpError, DeferredError.
Permit = Callable[[URL], Awaitable[bool]]


def host_of(url: URL) -> str:
    """The host whose gate a URL belongs to."""
    return (url.raw_host or "").lower().removesuffix(".")


class Visit:
    """One request, or one for robots.txt: `enter`, `permit`, the request with `before_hop` and `sending`, `leave`."""

    def __init__(self, hosts: HostGates, url: URL, permitted: Permit | None) -> None:
        """permitted: None where robots.txt is not asked."""
        self._hosts = hosts
        self._permitted = permitted
        self.host = host_of(url)
        self._also: list[str] = []
        self._at = self.host
        self._opening: tuple[str, int] | None = None  # the host that waits for our request to go out, and its number

    async def enter(self, *, urgent: bool) -> None:
        """Wait in line for the first request."""
        self._opening = self.host, await self._hosts.enter(self.host, urgent=urgent)

    async def permit(self, url: URL) -> None:
        """Ask for the rules, then wait in line once more where that took a request to the host."""
        if self._permitted is None:
            return
        if await self._permitted(url):
            self._forgo()
            await self._again(host_of(url))

    async def before_hop(self, url: URL) -> None:
        """A redirect leads to `url`, or it must be asked once more: its line and robots.txt as for a first request."""
        host = host_of(url)
        self._forgo()
        if host == self.host or host in self._also:
            await self._again(host)
        else:
            self._opening = host, await self._hosts.enter(host, under_way=True)
            self._also.append(host)
        self._at = host
        await self.permit(url)

    def sending(self, url: URL) -> None:
        """A request to `url` goes out."""
        self._opening = None
        self._hosts.sent(host_of(url))

    def leave(self, how: Ended) -> None:
        """All its hosts; only the last one asked is judged by how it ended."""
        self.leave_others(how)
        self._hosts.leave(self.host, self.verdict(how))

    def leave_others(self, how: Ended) -> None:
        """The hosts that redirects led to."""
        self._forgo()
        for host in self._also:
            self._hosts.leave(host, how if host == self._at else "answered")
        self._also.clear()

    def verdict(self, how: Ended) -> Ended:
        """What the end says of the first host: where it was not the last one asked, it has answered with a redirect."""
        return how if self.host == self._at or how == "unasked" else "answered"

    async def _again(self, host: str) -> None:
        self._opening = host, await self._hosts.again(host)

    def _forgo(self) -> None:
        if self._opening is not None:
            self._hosts.forgo(*self._opening)
            self._opening = None
