"""Asks a site for its feeds, news sitemaps and section fronts, politely and within bounds.

The fetch tier's own `Fetching` asks: robots.txt, two requests at once and a second between starts for each host,
Retry-After, every hop judged. What to ask for and what an answer is worth is decided in udfs/feeds (discovery,
candidates, offers); the order of the questions is decided here. Every failure of one address is a line of the result.
Reading order: SurveyPolicy, survey, `_Survey`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from yarl import URL

from connectors.http import BeforeHop, HttpClient, HttpError, HttpRefusedError, Response, Sending
from connectors.room import Room
from services.fetcher.answers import is_html
from services.fetcher.fetching import Fetching
from services.fetcher.hosts import DeferredError
from services.fetcher.robots import robots_url
from state_schemas.fetching import FetchRequest
from state_schemas.ids import feed_id
from state_schemas.sources import Origin
from udfs.articles.canonical import TrackingParameters
from udfs.feeds.candidates import (
    Candidate,
    DiscoveryPolicy,
    LeftOut,
    address_key,
    feed_places,
    news_children,
    robots_sitemaps,
    sitemap_places,
)
from udfs.feeds.discovery import SiteFacts, read_site
from udfs.feeds.offers import Answer, Offer, covering, has_feed, judge, without_duplicates
from udfs.sections import SectionTerms


@dataclass(frozen=True, slots=True)
class SurveyPolicy:
    """What one survey may cost."""

    requests: int = 40  # hops and robots.txt included: at a second each the site is asked for 40 seconds
    total_s: float = 60.0  # what a person waits for
    bytes: int = 50 * 1024 * 1024  # bodies, unpacked; a large newspaper's feeds and sitemaps take some 5 MB
    at_once: int = 4  # over all hosts; the gate allows 2 at each
    places_at_once: int = 2  # guessed addresses: the first that is right spares the site the others


class SurveyError(Exception):
    """The site cannot be surveyed at all; the message says why in one line."""


@dataclass(slots=True)
class Survey:
    """What was found. offers: in the order of finding, each document once. spent: requests that were sent."""

    facts: SiteFacts
    offers: list[Offer]
    left_out: list[LeftOut]
    spent: int
    received_bytes: int


class SurveyClient(HttpClient):
    """An HttpClient that counts what one survey costs, and keeps the robots.txt files that went through it."""

    def __init__(self, bounds: SurveyPolicy, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)  # type: ignore[arg-type]
        self._bounds = bounds
        self.spent = 0
        self.received_bytes = 0
        self.robots: dict[str, bytes] = {}

    def _spend(self) -> None:
        if self.spent >= self._bounds.requests:
            raise HttpRefusedError("out_of_requests", f"{self._bounds.requests} were sent")
        if self.received_bytes >= self._bounds.bytes:
            raise HttpRefusedError("out_of_bytes", f"{self.received_bytes} bytes came")
        self.spent += 1

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
        """As HttpClient's. Raises HttpRefusedError out_of_requests, out_of_bytes too."""

        async def counted(hop: URL) -> None:
            self._spend()
            if before_hop is not None:
                await before_hop(hop)

        self._spend()
        response = await super().get(
            url,
            max_bytes=max_bytes,
            headers=headers,
            before_hop=counted,
            sending=sending,
            total_s=total_s,
            cut=cut,
            room=room,
        )
        self.received_bytes += len(response.body)
        if urlsplit(url).path == "/robots.txt":
            self.robots[url] = response.body
        return response


async def survey(
    url: str,
    fetching: Fetching,
    client: SurveyClient,
    tracking: TrackingParameters,
    terms: SectionTerms,
    *,
    fronts: bool = False,
    bounds: SurveyPolicy,
) -> Survey:
    """What the site at `url`, or the feed there, has to offer. terms: what sections are called.

    Raises SurveyError where the site cannot be asked or read.
    """
    asking = _Survey(fetching, client, tracking, terms, bounds)
    facts = await asking.whole(url, fronts)
    offers, same = without_duplicates(asking.offers)
    return Survey(facts, offers, asking.left + same, client.spent, client.received_bytes)


# Where the site's own address has one of these ends, no other of its addresses would fare better.
_FATAL = {
    "dns_failed": "no such host",
    "connect_failed": "no connection",
    "tls_failed": "no secure connection (try http://)",
    "timed_out": "no answer in time",
    "connection_lost": "the connection was lost",
    "private_address": "leads to an address that is not of the public internet",
    "address_literal": "must name a host, not an IP address",
    "port_refused": "leads to another port than 80 and 443",
    "scheme_refused": "leads to an address that is not http:// or https://",
    "credentials_in_url": "leads to an address with a user name or password",
    "redirect_malformed": "redirects to what is no address",
    "too_many_redirects": "redirects in a circle",
    "url_malformed": "is no address",
}


@dataclass
class _Survey:
    fetching: Fetching
    client: SurveyClient
    tracking: TrackingParameters
    terms: SectionTerms
    bounds: SurveyPolicy
    policy: DiscoveryPolicy = field(default_factory=DiscoveryPolicy)
    offers: list[Offer] = field(default_factory=list)
    left: list[LeftOut] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    pages: list[Response] = field(default_factory=list)  # HTML that came where a feed was looked for
    page: str = ""  # the address of the page that was given, once it came
    children: int = 0  # of sitemap indexes, asked so far

    def __post_init__(self) -> None:
        self.places = asyncio.Semaphore(self.bounds.at_once)
        self.ends = asyncio.get_running_loop().time() + self.bounds.total_s

    async def whole(self, url: str, fronts: bool) -> SiteFacts:
        """All questions in order: what the site declares, what it links, what is usual, then its sections."""
        given = Candidate(url, "given")
        page = await self._fetch(given, "page")
        if isinstance(page, LeftOut) and page.reason in _FATAL:
            raise SurveyError(f"{url}: {_FATAL[page.reason]}")
        if isinstance(page, LeftOut):
            self.left.append(page)
            facts = SiteFacts(url)
        else:
            self.asked |= {address_key(url), address_key(page.final_url)}
            verdict = await self._judge(given, page)
            if isinstance(verdict, Offer):
                await self._keep([verdict])
                return SiteFacts(verdict.url)
            if not is_html(page.headers.get("content-type", ""), page.body):
                raise SurveyError(f"{url} is no page, feed or news sitemap ({verdict.reason.replace('_', ' ')})")
            facts = await asyncio.to_thread(read_site, page.body, page.final_url, page.headers, self.policy)
            self.left += facts.left_out
            self.page = facts.url
        await self._ask([*facts.feeds, *self._sitemaps(facts.url)])
        await self._ask(facts.anchors)
        await self._read_directories(facts.url)
        for kind, places in (("feed", feed_places(facts.url)), ("sitemap", sitemap_places(facts.url))):
            step = self.bounds.places_at_once
            for start in range(0, len(places), step):
                if any(offer.kind == kind for offer in self.offers):
                    break
                await self._ask(places[start : start + step])
                await self._read_directories(facts.url)
        if fronts:
            await self._ask_fronts(facts)
        if not self.offers and not isinstance(page, LeftOut):
            await self._take(await self._judge(Candidate(url, "given", "front"), page))
        return facts

    def _sitemaps(self, url: str) -> tuple[Candidate, ...]:
        where = robots_url(URL(url))
        named = robots_sitemaps(self.client.robots.get(where, b""), where, self.policy)
        limit = self.policy.sitemaps
        self.left += [LeftOut(one.url, one.via, "too_many_links", f"more than {limit}") for one in named[limit:]]
        return named[:limit]

    async def _ask(self, candidates: Iterable[Candidate]) -> None:
        """Ask for those not asked for yet, and keep what came, in the order of the candidates."""
        fresh = []
        for one in candidates:
            if address_key(one.url) not in self.asked:
                self.asked.add(address_key(one.url))
                fresh.append(one)
        await self._keep(await asyncio.gather(*(self._verdict(one) for one in fresh)))

    async def _verdict(self, candidate: Candidate) -> Offer | LeftOut:
        async with self.places:
            got = await self._fetch(candidate, "page" if candidate.kind == "front" else "feed")
            if isinstance(got, LeftOut):
                return got
            if candidate.kind == "front" and address_key(got.final_url) == address_key(self.page):
                return LeftOut(candidate.url, candidate.via, "duplicate", f"leads to {self.page}")
            verdict = await self._judge(candidate, got)
        if isinstance(verdict, LeftOut) and verdict.reason == "html_not_feed":
            self.pages.append(got)
        return verdict

    async def _judge(self, candidate: Candidate, got: Response) -> Offer | LeftOut:
        kind, link = got.headers.get("content-type", ""), got.headers.get("link", "")
        # Beside the loop: a large document takes a second, in which the other answers would run out of time.
        return await asyncio.to_thread(
            judge, candidate, Answer(got.final_url, got.body, kind, link, got.moved), self.tracking, self.page
        )

    async def _fetch(self, candidate: Candidate, kind: str) -> Response | LeftOut:
        """A whole answer of status 2xx, or why there is none."""
        request = FetchRequest(
            request_id="discover",
            kind=kind,  # type: ignore[arg-type]
            url=candidate.url,
            host=(urlsplit(candidate.url).hostname or ""),
            feed_id=feed_id(candidate.url),
            origin=Origin(publisher=""),
            requested_ms=0,
        )
        try:
            async with asyncio.timeout_at(self.ends):
                with self.fetching.holding() as held:
                    got = await self.fetching.end_of(request, held, urgent=False)
        except TimeoutError:
            return LeftOut(candidate.url, candidate.via, "out_of_time", f"{self.bounds.total_s:g} s are over")
        if isinstance(got, HttpError):
            return LeftOut(candidate.url, candidate.via, got.reason, got.detail)
        if isinstance(got, DeferredError):
            return LeftOut(candidate.url, candidate.via, got.reason)
        if not 200 <= got.status < 300:
            return LeftOut(candidate.url, candidate.via, f"status_{got.status}")
        return got

    async def _keep(self, verdicts: Iterable[Offer | LeftOut]) -> None:
        # Indexes last: a child that was found without them is not asked for again.
        for verdict in sorted(verdicts, key=lambda each: isinstance(each, Offer) and bool(each.children)):
            if isinstance(verdict, Offer):
                self.asked |= verdict.seen
            await self._take(verdict)

    async def _take(self, verdict: Offer | LeftOut) -> None:
        if isinstance(verdict, LeftOut):
            self.left.append(verdict)
        elif verdict.children:
            await self._read_index(verdict)
        else:
            self.offers.append(verdict)

    async def _read_index(self, index: Offer) -> None:
        """One level: an index in an index is left out."""
        wanted = [one for one in news_children(index.children) if address_key(one.url) not in self.asked]
        wanted = wanted[: self.policy.children - self.children]
        self.children += len(wanted)
        self.asked |= {address_key(one.url) for one in wanted}
        found: list[Offer] = []
        for verdict in await asyncio.gather(*(self._verdict(one) for one in wanted)):
            if isinstance(verdict, LeftOut):
                self.left.append(verdict)
            elif verdict.format == "news_sitemap":
                found.append(verdict)
            else:
                self.left.append(LeftOut(verdict.url, "index", "not_a_news_sitemap", verdict.format))
        if not found:
            known = {address_key(child.url) for child in index.children}
            known &= {key for offer in self.offers for key in offer.seen}
            detail = "its news sitemap was found already" if known else f"none of {len(wanted)} children has news"
            self.left.append(LeftOut(index.url, index.via, "sitemap_without_news", detail))
        self.offers += covering(index, found) if found else []

    async def _read_directories(self, url: str) -> None:
        """Pages that came where a feed was looked for: what they list is asked for, one level deep."""
        pages, self.pages = self.pages, []
        for page in pages[: self.policy.directories]:
            facts = await asyncio.to_thread(read_site, page.body, page.final_url, page.headers, self.policy)
            listed = [*facts.feeds, *facts.anchors][: self.policy.anchors]
            await self._ask([Candidate(one.url, "directory", one.kind, one.title) for one in listed])
        self.pages.clear()

    async def _ask_fronts(self, facts: SiteFacts) -> None:
        """Sections whose names are known first: a navigation also leads to offers, games and the publisher itself."""
        without = []
        for section in facts.sections:
            if has_feed(section, self.offers):
                self.left.append(LeftOut(section.url, section.via, "section_has_feed"))
            else:
                without.append(section)

        def rank(section: Candidate) -> tuple[bool, int]:
            folders = urlsplit(section.url).path.strip("/").split("/")
            named = (section.title, folders[-1].partition(".")[0])
            return not any(self.terms.section_of(name, facts.language) for name in named), len(folders)

        without.sort(key=rank)
        limit = self.policy.fronts
        self.left += [LeftOut(one.url, one.via, "too_many_links", f"more than {limit}") for one in without[limit:]]
        await self._ask(without[:limit])
