"""One simulated publisher's feed: when its items appear, and what it answers at an instant. Knows no schedule.

Times are ms since the simulation's start; history before it is negative.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from email.utils import formatdate

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from cli.polling_simulation.world import DAY_MS, HOUR_MS, START_MS, NewsEvent, SampledFeed, World
from state_schemas.fetching import Entry, FetchRequest, FetchResult
from state_schemas.ids import feed_id
from state_schemas.sources import Origin, Source
from udfs.feeds.document import ParsedFeed

Times = NDArray[np.int64]

HISTORY_DAYS = 21  # before the start: what a first document, a week's count and a mean gap look at
NEVER = np.iinfo(np.int64).max

# A newsroom's day by local hour; its form is an assumption: low at night, steep from six, high until the evening.
_DAY = np.array(
    [3, 2, 2, 2, 3, 6, 10, 13, 15, 16, 16, 16, 15, 14, 15, 15, 15, 14, 12, 10, 9, 8, 6, 4],
    dtype=np.float64,
)
# Offsets from UTC in hours and their shares: the Americas, Europe and Africa, Asia and Australia.
_ZONES = np.array([-8, -7, -6, -5, -4, -3, 0, 1, 2, 3, 4, 5.5, 7, 8, 9, 10])
_ZONE_SHARES = np.array([5, 2, 5, 10, 2, 5, 9, 13, 7, 6, 2, 10, 6, 8, 8, 2], dtype=np.float64)


@dataclass(slots=True)
class Feed:
    """What is true of one feed.

    visible: when each item is first served, ascending. published: what it says of itself (ms, or None of all).
    edited: when an item's title changes, NEVER for most. outages: (start, end) of times without an answer.
    pushes: (arrival, first item, behind the last) of a hub's deliveries. bursts: when the ranking's signal arrives.
    """

    about: SampledFeed
    source: Source
    visible: Times
    published: Times
    dated: bool
    edited: Times
    outages: list[tuple[int, int]]
    pushes: list[tuple[int, int, int]]
    bursts: Times
    rhythm: NDArray[np.float64]  # the expected rate, items an hour by hour of the week, Monday 00:00 UTC first
    length: int
    validators: str  # etag, modified, none, restless
    restless_body: bool
    ttl_ms: int | None
    cache_ms: int
    hub: bool


def draw(about: SampledFeed, days: int, seed: int, events: list[NewsEvent], world: World) -> Feed:
    """A feed with all its items, from the seed and its rank alone."""
    chance = np.random.default_rng([seed, 3, about.rank])
    top = about.tier == "top"
    cache_ms = 1000 * int(chance.choice(world.cache_ages_s)) if chance.random() < world.cached else 0
    own = [event for event in events if event.group == about.rank * 7919 % world.groups]
    mine = [event for event in own if chance.random() < world.event_reach]
    kind, week = _week(about, chance, world)
    zone = int(np.floor(chance.choice(_ZONES, p=_ZONE_SHARES / _ZONE_SHARES.sum())))
    # Local time is UTC and the zone.
    rhythm = about.items_a_day / 24 * np.roll(week, -zone)
    published = _items(kind, rhythm, days, mine, chance, world)
    length = world.median_length * np.exp(world.length_spread * chance.standard_normal())
    length = int(np.clip(length, world.shortest, world.longest))
    outages = _outages(days, chance, world)
    visible, kept = _served(published, cache_ms, int(chance.integers(max(1, cache_ms))), outages, length)
    published = published[kept]
    edited = np.full(len(visible), NEVER, dtype=np.int64)
    if chance.random() < world.edited:
        which = chance.random(len(visible)) < world.edits
        later = visible + chance.exponential(30 * 60_000, len(visible)).astype(np.int64) + 60_000
        edited[which] = later[which]
    hub = bool(chance.random() < (world.websub_top if top else world.websub))
    pushes = _pushes(visible, chance, world) if hub else []
    answers = chance.random()
    validators = "etag"
    if answers < world.never_304:
        validators = "none"
    elif answers < world.never_304 + world.restless_etag:
        validators = "restless"
    elif answers < world.never_304 + world.restless_etag + world.modified_only:
        validators = "modified"
    stamps = chance.random()
    dated = bool(stamps >= world.undated)
    claimed = published // 1000 * 1000
    if world.undated <= stamps < world.undated + world.misdated:
        claimed = claimed + HOUR_MS * int(chance.integers(-9, 10))
    says = chance.random()
    ttl = HOUR_MS if says < world.ttl_hour_share else None
    if world.ttl_hour_share <= says < world.ttl_hour_share + world.ttl_short_share:
        ttl = int(chance.choice([5, 15])) * 60_000
    url = f"https://n{about.rank}.example/rss"
    return Feed(
        about=about,
        source=Source(
            feed_id=feed_id(url),
            url=url,
            origin=Origin(publisher=f"n{about.rank}", language="en"),
            tier="authoritative" if top else "tail",
        ),
        visible=visible,
        published=claimed,
        dated=dated,
        edited=edited,
        outages=outages,
        pushes=pushes,
        bursts=np.array([event.start_ms + world.event_noticed_ms for event in mine], dtype=np.int64),
        rhythm=rhythm,
        length=length,
        validators=validators,
        restless_body=bool(chance.random() < 0.5),
        ttl_ms=ttl,
        cache_ms=cache_ms,
        hub=hub,
    )


def _served(
    published: Times, cache_ms: int, phase: int, outages: list[tuple[int, int]], length: int
) -> tuple[Times, NDArray[np.bool_]]:
    """When each item is first served, and which ones ever are: after the cache's renewal, and after an outage.

    No schedule sees them sooner; and of what piles up meanwhile, none sees more than the document holds.
    """
    visible = published.copy()
    if cache_ms:
        visible = -(-(visible - phase) // cache_ms) * cache_ms + phase
    for start, end in outages:
        visible[(visible >= start) & (visible < end)] = end
    kept = np.ones(len(visible), dtype=np.bool_)
    if len(visible) > length:
        kept[:-length] = visible[:-length] < visible[length:]
    return visible[kept], kept


def _spread(chance: np.random.Generator, median_ms: float, spread: float, count: int) -> Times:
    drawn: Times = (median_ms * np.exp(spread * chance.standard_normal(count))).astype(np.int64)
    return drawn


def _items(
    kind: str,
    rhythm: NDArray[np.float64],
    days: int,
    events: list[NewsEvent],
    chance: np.random.Generator,
    world: World,
) -> Times:
    """A non-homogeneous Poisson process by the hour, in runs; events on top; a share put off to the full hour."""
    hours = (days + HISTORY_DAYS) * 24
    daily = np.exp(world.day_spread * chance.standard_normal(days + HISTORY_DAYS) - world.day_spread**2 / 2)
    hourly = np.exp(world.hour_spread * chance.standard_normal(hours) - world.hour_spread**2 / 2)
    alone = rhythm / (1 + world.run_share * world.run_length)
    # The history begins on a Monday as well.
    counts = chance.poisson(alone[np.arange(hours) % 168] * np.repeat(daily, 24) * hourly)
    times = (np.repeat(np.arange(hours), counts) + chance.random(int(counts.sum()))) * HOUR_MS
    times -= HISTORY_DAYS * DAY_MS
    for event in events:
        extra = int(chance.poisson(alone.mean() * (world.event_factor - 1)))
        within = np.minimum(chance.exponential(0.4, extra), 1.5)
        times = np.concatenate([times, event.start_ms + within * HOUR_MS])
    runs = times[chance.random(len(times)) < world.run_share]
    lengths = chance.geometric(1 / world.run_length, len(runs))
    times = np.concatenate([times, np.repeat(runs, lengths) + chance.random(int(lengths.sum())) * 3 * 60_000])
    share = 1.0 if kind == "hourly" else min(0.8, float(chance.exponential(world.on_the_hour)))
    minute = int(chance.integers(60)) if kind == "hourly" else int(chance.choice([0, 0, 30]))
    late = chance.random(len(times)) < share
    times[late] = np.ceil((times[late] - minute * 60_000) / HOUR_MS) * HOUR_MS + minute * 60_000
    times[late] += chance.random(int(late.sum())) * 20_000
    return np.sort(times.astype(np.int64))


def _week(about: SampledFeed, chance: np.random.Generator, world: World) -> tuple[str, NDArray[np.float64]]:
    """The kind of feed and its relative rate by local hour of the week, mean 1."""
    flat = world.flat_top if about.tier == "top" else world.flat
    rest = 1 - flat
    others = world.newsroom + world.morning + world.hourly
    shares = [flat, rest * world.newsroom / others, rest * world.morning / others, rest * world.hourly / others]
    kind = str(chance.choice(["flat", "newsroom", "morning", "hourly"], p=shares))
    day = np.roll(_DAY, int(chance.integers(-1, 2))) ** chance.uniform(0.7, 1.5)
    if kind == "flat":
        day = np.ones(24)
    elif kind == "morning":
        rush = np.zeros(24)
        rush[[5, 6]] = 0.5
        day = 0.5 * day / day.sum() + 0.5 * np.roll(rush, int(chance.integers(-1, 2)))
    weekend = 1.0 if kind == "flat" else chance.uniform(world.weekend_low, world.weekend_high)
    week = np.concatenate([day] * 5 + [day * weekend] * 2)
    return kind, week / week.mean()


def _pushes(visible: Times, chance: np.random.Generator, world: World) -> list[tuple[int, int, int]]:
    """A delivery for all items that appear at once, seconds later; some are lost."""
    told, first = np.unique(visible, return_index=True)
    behind = np.append(first[1:], len(visible))
    arrivals = told + _spread(chance, world.push_median_ms, world.push_spread, len(told))
    sent = (told > 0) & (chance.random(len(told)) >= world.push_lost)
    rows = zip(arrivals[sent].tolist(), first[sent].tolist(), behind[sent].tolist(), strict=True)
    return [(int(at), int(begin), int(end)) for at, begin, end in rows]


def _outages(days: int, chance: np.random.Generator, world: World) -> list[tuple[int, int]]:
    count = int(chance.poisson(world.outages_a_week * days / 7))
    starts = np.sort(chance.random(count)) * days * DAY_MS
    merged: list[tuple[int, int]] = []
    lengths = _spread(chance, world.outage_median_ms, world.outage_spread, count)
    for start, lasts in zip(starts.astype(np.int64), lengths, strict=True):
        begin, end = int(start), int(start + lasts)
        if merged and begin <= merged[-1][1]:
            begin, end = merged[-1][0], max(end, merged[-1][1])
            merged.pop()
        merged.append((begin, end))
    return merged


class Publisher:
    """Answers for one feed; must be asked in time order."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self._visible: list[int] = feed.visible.tolist()
        order = np.argsort(feed.edited, kind="stable")
        self._edits: list[tuple[int, int]] = [(int(feed.edited[i]), int(i)) for i in order if feed.edited[i] != NEVER]
        self._edit_times = [at for at, _ in self._edits]
        self._items = 0
        self._edited = 0
        self._entries: dict[int, Entry] = {}

    def is_out(self, at: int) -> bool:
        """Whether it does not answer now."""
        outages = self.feed.outages
        n = bisect_right(outages, (at, NEVER)) - 1
        return n >= 0 and at < outages[n][1]

    def items_at(self, at: int) -> int:
        """How many items have appeared, older ones that fell out included."""
        return bisect_right(self._visible, at, self._items)

    def answer(self, request: FetchRequest, at: int) -> tuple[FetchResult, ParsedFeed | None, int, int]:
        """The answer, its document (None for a 304), 64 bits of its body, and the number of items so far."""
        feed = self.feed
        items = self.items_at(at)
        edits = bisect_right(self._edit_times, at)
        version = items + edits + 1
        etag = modified = ""
        if feed.validators == "etag":
            etag = f'"{version}"'
        elif feed.validators == "restless":
            etag = f'"{at}"'
        elif feed.validators == "modified":
            changed = max(self._visible[items - 1] if items else 0, self._edit_times[edits - 1] if edits else 0)
            modified = formatdate((START_MS + changed) // 1000, usegmt=True)
        known = (etag and request.etag == etag) or (not etag and modified and request.last_modified == modified)
        result = FetchResult(
            request_id=request.request_id,
            feed_id=request.feed_id,
            kind="feed",
            url=request.url,
            outcome="not_modified" if known else "fetched",
            fetched_ms=START_MS + at,
            status=304 if known else 200,
            etag=etag,
            last_modified=modified,
            date_ms=START_MS + at,
            max_age_ms=self._fresh_for(at) if feed.cache_ms else None,
        )
        if known:
            return result, None, 0, items
        body = at if feed.validators == "restless" and feed.restless_body else version
        return result, self._document(items, edits), body, items

    def _fresh_for(self, at: int) -> int:
        """Until the cache's next renewal; its grid is known only by the items that it held back."""
        cache, visible = self.feed.cache_ms, self._visible
        return cache - (at - visible[0]) % cache if visible else cache

    def _document(self, items: int, edits: int) -> ParsedFeed:
        entries = self._entries
        first = max(0, items - self.feed.length)
        for n in range(max(first, self._items), items):
            entries[n] = self._entry(n)
        for _, n in self._edits[self._edited : edits]:
            if n in entries:
                entries[n] = replace(entries[n], title=entries[n].title + " (updated)")
        for n in [n for n in entries if n < first]:
            del entries[n]
        self._items, self._edited = items, edits
        newest = tuple(entries[n] for n in range(items - 1, first - 1, -1))
        hub = "https://hub.example/" if self.feed.hub else ""
        topic = self.feed.source.url if hub else ""
        return ParsedFeed(format="rss", entries=newest, ttl_ms=self.feed.ttl_ms, hub=hub, topic=topic)

    def _entry(self, n: int) -> Entry:
        feed = self.feed
        identity = (feed.about.rank << 32 | n) + 1
        return Entry(
            identity=f"{identity:016x}",
            guid=str(identity),
            link=link_of(feed, n),
            title=f"Item {n}",
            published_ms=START_MS + int(feed.published[n]) if feed.dated else None,
        )


def link_of(feed: Feed, item: int) -> str:
    """The page of an item."""
    return f"https://n{feed.about.rank}.example/{item}"


def item_of(request: FetchRequest) -> int:
    """Which item of its feed a page is asked for."""
    return int(request.url.rpartition("/")[2])
