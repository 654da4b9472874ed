"""The feeds that `bench poll` measures with: who they are, their documents, and how they answer.

All of it follows from a feed's id and the number of its answer: the same for every run and process. No clock, no I/O.
Documents are shared by feeds of one template, so that a few thousand are written for any number of feeds; rows are as
large as with documents of their own. Nothing hints at how soon to come again: the intervals are the profile's.
Reading order: Mix, source, Feeds (documents, answer).
"""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import formatdate
from functools import cache

import msgspec

from state_schemas.codec import pack_text
from state_schemas.fetching import Body, FetchResult
from state_schemas.ids import feed_id
from state_schemas.sources import Origin, Source, Tier

TEMPLATES = 64
ITEM_GAP_MS = 30 * 60_000
_WORDS = """
harbour council budget minister storm river bridge court appeal union strike market price growth vote party season coach
injury final study vaccine hospital school teacher patient energy reactor satellite launch orbit festival film award
museum city region border talks treaty agreement report says after before against under first second third record
largest new old police fire rescue crew ship train airport route
""".split()  # noqa: SIM905 a column of quoted words is no easier to read


class Asked(msgspec.Struct):
    """What answering needs of a feed request."""

    request_id: str
    kind: str
    feed_id: str
    url: str
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Mix:
    """Shares of answers, in [0, 1]; the rest is 304. A tenth of what fails is a time-out, the rest is a 503."""

    bodies: float = 0.20
    failures: float = 0.02


def mixed(number: int) -> int:
    """64 well mixed bits of a number (splitmix64)."""
    number = (number + 0x9E3779B97F4A7C15) % 2**64
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ number >> 27) * 0x94D049BB133111EB % 2**64
    return number ^ number >> 31


def tier_of(feed: str) -> Tier:
    """One feed in forty is authoritative: 5,000 of 200,000. From the upper bits: the lower ones are the shard."""
    return "authoritative" if (int(feed, 16) >> 40) % 40 == 0 else "tail"


def template_of(feed: str) -> int:
    """Which documents a feed has."""
    return (int(feed, 16) >> 20) % TEMPLATES


def source(number: int, start_ms: int) -> Source:
    """The registration of one feed, as large as those of a curated list."""
    publisher = f"publisher{number // 3}.example"
    url = f"https://www.{publisher}/feeds/section-{number % 3}/rss.xml"
    feed = feed_id(url)
    origin = Origin(
        publisher=publisher,
        name=f"The Publisher {number // 3}",
        country="GB",
        language="en",
        category="business" if number % 3 else "",
        authority=0.8 if tier_of(feed) == "authoritative" else 0.3,
        owner=f"Owner {number // 30}",
    )
    return Source(feed_id=feed, url=url, origin=origin, tier=tier_of(feed), registered_ms=start_ms)


class Feeds:
    """Their documents and answers. start_ms: when the newest item of each first document was published."""

    def __init__(self, start_ms: int, mix: Mix | None = None) -> None:
        self._start_ms, self._mix = start_ms, mix or Mix()
        self._versions: dict[str, int] = {}  # bodies served of a feed
        self._answers = 0
        self.first_body = cache(self._first_body)
        self.body = cache(self._body)

    # ------------------------------------------------------------ documents

    def items(self, template: int, version: int) -> range:
        """The numbers of a document's items, oldest first: 25 to 60, one to three of them newer than the last one's."""
        count = 25 + mixed(template) % 36
        start = version // 3 * 6 + (0, 1, 3)[version % 3]
        return range(start, start + count)

    def item(self, template: int, number: int) -> tuple[str, str, str, int]:
        """Guid, title, summary and publication (ms UTC, whole seconds) of an item."""
        bits = mixed(template << 32 | number)
        words = [_WORDS[mixed(bits + place) % len(_WORDS)] for place in range(60)]
        count = len(self.items(template, 0))
        published = (self._start_ms - (count - number) * ITEM_GAP_MS) // 1000 * 1000
        return (
            f"https://title{template}.example/?p={bits % 10**9}",
            f"{' '.join(words[:9]).capitalize()} {number}",
            f"{' '.join(words[9:])}. ",
            published,
        )

    def _first_body(self, template: int) -> Body:
        """The document a new feed is met with: its items all point to one page, so that a feed that is new asks for
        one page and not for dozens, and filling 200,000 rows does not write 8 million requests."""
        items = []
        for number in reversed(self.items(template, 0)):
            guid, title, _, published = self.item(template, number)
            date = formatdate(published / 1000, usegmt=True)
            items.append(
                {"id": guid, "title": title, "url": f"https://title{template}.example/", "date_published": date}
            )
        document = {
            "version": "https://jsonfeed.org/version/1.1",
            "title": f"Title {template}",
            "language": "en",
            "items": items,
        }
        return packed(msgspec.json.encode(document), "application/feed+json")

    def _body(self, template: int, version: int) -> Body:
        """A document as RSS, with summaries."""
        items = []
        for number in reversed(self.items(template, version)):
            guid, title, summary, published = self.item(template, number)
            items.append(
                f'<item><guid isPermaLink="false">{guid}</guid><title>{title}</title>'
                f"<link>https://title{template}.example/{published // 86_400_000}/story-{number}</link>"
                f"<description><![CDATA[<p>{summary}</p>]]></description><category>News</category>"
                f"<dc:creator>Reporter {number % 20}</dc:creator>"
                f"<pubDate>{formatdate(published / 1000, usegmt=True)}</pubDate></item>"
            )
        document = (
            '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<channel><title>Title {template}</title><link>https://title{template}.example/</link>"
            f"<language>en</language>{''.join(items)}</channel></rss>"
        )
        return packed(document.encode(), "application/rss+xml")

    # ------------------------------------------------------------ answers

    def answer(self, asked: Asked, now_ms: int) -> FetchResult:
        """What the fetch tier would say: a first document, later mostly 304, then a document with news, or a failure.

        Only the tail fails, and only once it was met: how soon all authoritative feeds were asked stays countable.
        """
        version = self._versions.get(asked.feed_id)
        self._answers += 1
        chance = mixed(int(asked.feed_id, 16) + self._answers) / 2**64
        template = template_of(asked.feed_id)
        if version is None:
            self._versions[asked.feed_id] = 0
            return self.fetched(asked, self.first_body(template), now_ms)
        if chance < self._mix.bodies:
            self._versions[asked.feed_id] = version = version + 1
            return self.fetched(asked, self.body(template, version), now_ms)
        if chance > 1 - self._mix.failures and tier_of(asked.feed_id) == "tail":
            return failed(asked, now_ms, timed_out=chance > 1 - self._mix.failures / 10)
        return not_modified(asked, now_ms)

    def fetched(self, asked: Asked, body: Body, now_ms: int) -> FetchResult:
        """200 with a body, with new validators."""
        tag = f"{mixed(now_ms + body.size):016x}"
        return FetchResult(
            request_id=asked.request_id,
            feed_id=asked.feed_id,
            kind="feed",
            url=asked.url,
            outcome="fetched",
            fetched_ms=now_ms,
            status=200,
            final_url=asked.url,
            etag=f'W/"{tag}"',
            last_modified=formatdate(self._start_ms / 1000, usegmt=True),
            date_ms=now_ms,
            body=body,
            elapsed_ms=180,
        )


def not_modified(asked: Asked, now_ms: int) -> FetchResult:
    """304."""
    return FetchResult(
        request_id=asked.request_id,
        feed_id=asked.feed_id,
        kind="feed",
        url=asked.url,
        outcome="not_modified",
        fetched_ms=now_ms,
        status=304,
        final_url=asked.url,
        etag=asked.etag,
        date_ms=now_ms,
        elapsed_ms=90,
    )


def failed(asked: Asked, now_ms: int, *, timed_out: bool) -> FetchResult:
    """A 503 or a time-out."""
    return FetchResult(
        request_id=asked.request_id,
        feed_id=asked.feed_id,
        kind="feed",
        url=asked.url,
        outcome="failed",
        reason="timeout" if timed_out else "status_503",
        fetched_ms=now_ms,
        status=0 if timed_out else 503,
        date_ms=None if timed_out else now_ms,
        elapsed_ms=20_000 if timed_out else 90,
    )


def packed(document: bytes, content_type: str) -> Body:
    """A document as the fetcher hands it over."""
    return Body(size=len(document), zstd=pack_text(document), content_type=content_type)
