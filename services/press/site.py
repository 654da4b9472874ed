"""What a host of the press serves at an instant: a pure function of content, start, speed and time. No HTTP here."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from services.press import feeds, pages
from services.press.content import Article, Feed, Press, Publisher

FEED_ITEMS = 50  # a feed shows its newest entries; among the captured feeds 9 to 300, the median 27
SITEMAP_ITEMS = 1000  # the most that a news sitemap may hold, by its own rules
RELATED = 3

SITEMAP_INDEX = "/sitemap-index.xml.gz"
NEWS_SITEMAP = "/news-sitemap.xml"
PAGE_SITEMAP = "/page-sitemap.xml"
SECTIONS = "/sections/"

# The one names the other: readers that find a sitemap in two ways must take it once.
ROBOTS = (
    "User-agent: *\nDisallow: /internal/\nAllow: /\n\n"
    f"Sitemap: {{home}}{NEWS_SITEMAP}\nSitemap: {{home}}{SITEMAP_INDEX}\n"
)


@dataclass(frozen=True, slots=True)
class Clock:
    """Press time in wall time. start_ms: ms UTC; speed: seconds of press time in one of wall time, above 0."""

    start_ms: int
    speed: float

    def wall_ms(self, press_s: float) -> int:
        return self.start_ms + round(press_s * 1000 / self.speed)

    def press_s(self, now_ms: int) -> float:
        return (now_ms - self.start_ms) * self.speed / 1000


@dataclass(frozen=True, slots=True)
class Answer:
    """A response before HTTP has looked at it. modified_ms: the last change of what it shows, None if it has none."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    modified_ms: int | None = None
    headers: tuple[tuple[str, str], ...] = ()


class Site(Protocol):
    """A press of any kind: who serves it need not know which."""

    def answer(self, scheme: str, host: str, path: str, query: str, now_ms: int) -> Answer | None:
        """The answer of one host, or None for a host that is not of this press. path: as sent; query: without '?'."""
        ...

    def status(self, now_ms: int) -> dict[str, Any]:
        """Counts and truth at an instant, ready for JSON."""
        ...

    def sources(self, suffix: str) -> Iterator[tuple[str, ...]]:
        """Rows for the importer, in the order of SOURCE_COLUMNS. suffix: what follows a host, such as :18090."""
        ...


SOURCE_COLUMNS = (
    "feed_url", "publisher_id", "publisher_name", "country", "language", "category", "authority", "owner",
)  # fmt: skip

NOT_FOUND = Answer(404, b"Not found\n")
GONE = Answer(410, b"This article was withdrawn by its editors.\n")


@dataclass(frozen=True)
class PressSite:
    """A Press served by a Clock. suffix: what follows the host in absolute addresses, such as :18090."""

    press: Press
    clock: Clock
    suffix: str

    def answer(self, scheme: str, host: str, path: str, query: str, now_ms: int) -> Answer | None:
        publisher = self.press.by_host.get(host)
        if publisher is None:
            return None
        home = self._home(publisher)
        if path == "/":
            return self._front(publisher, home, "", now_ms)
        if path.startswith(SECTIONS):
            section = self._sections(publisher).get(path, "")
            return self._front(publisher, home, section, now_ms) if section else NOT_FOUND
        if path == "/robots.txt":
            return Answer(200, ROBOTS.format(home=home).encode(), modified_ms=self.clock.start_ms)
        if path in (NEWS_SITEMAP, SITEMAP_INDEX):
            items = self._live(publisher, now_ms)[:SITEMAP_ITEMS]
            changed = self._changed_ms(publisher, items, now_ms)
            if path == NEWS_SITEMAP:
                return Answer(200, feeds.news_sitemap(publisher, items), feeds.XML, changed)
            listed = [(home + NEWS_SITEMAP, changed), (home + PAGE_SITEMAP, self.clock.start_ms)]
            return Answer(200, feeds.sitemap_index(listed), feeds.GZIP, changed)
        if path == PAGE_SITEMAP:
            fronts = [f"{home}/", *(home + front for front in self._sections(publisher))]
            return Answer(200, feeds.page_sitemap(fronts), feeds.XML, self.clock.start_ms)
        if path.startswith("/images/") and path.endswith(".png"):
            name = path.removeprefix("/images/").removesuffix(".png")
            return Answer(200, pages.picture(name), "image/png", self.clock.start_ms)
        for feed in publisher.feeds:
            if path == feed.path:
                return self._feed(publisher, feed, home, now_ms)
        article = self.press.by_address.get((publisher.id, path))
        return NOT_FOUND if article is None else self._page(publisher, article, home, now_ms)

    def status(self, now_ms: int) -> dict[str, Any]:
        """published counts what is out, retracted ones too; articles lists it in order of publication."""
        out = self.press.articles[: self._count(self.press.articles, now_ms)]
        return {
            "started_ms": self.clock.start_ms,
            "speed": self.clock.speed,
            "ends_ms": self.clock.wall_ms(self.press.length_s),
            "published": len(out),
            "total": len(self.press.articles),
            "publishers": len(self.press.publishers),
            "events": len({article.event for article in self.press.articles}),
            "articles": [self._truth(article, now_ms) for article in out],
        }

    def sources(self, suffix: str) -> Iterator[tuple[str, ...]]:
        for publisher in self.press.publishers.values():
            for feed in publisher.feeds:
                yield (
                    f"http://{publisher.host}{suffix}{feed.path}",
                    publisher.id,
                    publisher.name,
                    publisher.country,
                    feed.language,
                    feed.category,
                    f"{publisher.authority:g}",
                    publisher.owner,
                )

    def url(self, article: Article) -> str:
        """The article's absolute address."""
        return self._home(self.press.publishers[article.publisher]) + article.path

    def _home(self, publisher: Publisher) -> str:
        return f"http://{publisher.host}{self.suffix}"

    def _count(self, articles: tuple[Article, ...], now_ms: int) -> int:
        """How many of these, which are in order of publication, are out."""
        return bisect_right(articles, now_ms, key=lambda article: self.clock.wall_ms(article.published_s))

    def _is_retracted(self, article: Article, now_ms: int) -> bool:
        after = article.retract_after_s
        return after is not None and now_ms >= self.clock.wall_ms(article.published_s + after)

    def _item(self, article: Article, now_ms: int) -> feeds.Item:
        """The article as it stands now: after its correction, where the time for that has come."""
        published = modified = self.clock.wall_ms(article.published_s)
        title = article.title
        if article.correction is not None:
            corrected = self.clock.wall_ms(article.published_s + article.correction.after_s)
            if now_ms >= corrected:
                title, modified = article.correction.title, corrected
        home = self._home(self.press.publishers[article.publisher])
        image = f"{home}/images/{article.image}.png" if article.image else ""
        return feeds.Item(article, title, home + article.path, published, modified, image)

    def _live(self, publisher: Publisher, now_ms: int) -> list[feeds.Item]:
        """What the publisher has out and has not withdrawn, newest first; at most what the longest list shows."""
        articles = self.press.by_publisher[publisher.id]
        out = articles[: self._count(articles, now_ms)][-SITEMAP_ITEMS:]
        return [self._item(a, now_ms) for a in reversed(out) if not self._is_retracted(a, now_ms)]

    def _changed_ms(self, publisher: Publisher, items: list[feeds.Item], now_ms: int) -> int:
        """When such a list last changed: a publication, a correction or a withdrawal."""
        withdrawn = (
            self.clock.wall_ms(article.published_s + article.retract_after_s)
            for article in self.press.by_publisher[publisher.id]
            if article.retract_after_s is not None and self._is_retracted(article, now_ms)
        )
        return max((self.clock.start_ms, *(item.modified_ms for item in items), *withdrawn))

    def _sections(self, publisher: Publisher) -> dict[str, str]:
        """Path of a section's page -> what the publisher files articles under, in the order of the alphabet."""
        names = sorted({article.section for article in self.press.by_publisher[publisher.id]})
        return {SECTIONS + quote(name): name for name in names}

    def _front(self, publisher: Publisher, home: str, section: str, now_ms: int) -> Answer:
        """The home page, or one section's."""
        live = [item for item in self._live(publisher, now_ms) if section in ("", item.article.section)]
        changed = self._changed_ms(publisher, live[:FEED_ITEMS], now_ms)
        menu = [(home + front, name) for front, name in self._sections(publisher).items()]
        page = pages.home_page(publisher, home, live[:FEED_ITEMS], menu, section)
        return Answer(200, page, "text/html; charset=utf-8", changed)

    def _feed(self, publisher: Publisher, feed: Feed, home: str, now_ms: int) -> Answer:
        items = [
            item
            for item in self._live(publisher, now_ms)
            if item.article.language == feed.language and feed.section in ("", item.article.section)
        ][:FEED_ITEMS]
        changed = self._changed_ms(publisher, items, now_ms)
        hub = f"http://{publisher.hub}{self.suffix}/" if publisher.hub else ""
        if feed.format == "atom":
            return Answer(200, feeds.atom(publisher, feed, home, items, changed, hub), feeds.ATOM, changed)
        return Answer(200, feeds.rss(publisher, feed, home, items, changed, hub), feeds.RSS, changed)

    def _page(self, publisher: Publisher, article: Article, home: str, now_ms: int) -> Answer:
        if now_ms < self.clock.wall_ms(article.published_s):
            return NOT_FOUND
        if self._is_retracted(article, now_ms):
            return GONE
        item = self._item(article, now_ms)
        main = self.press.by_id[article.repeats] if article.kind == "variant" else article
        body = pages.article_page(
            publisher, item, home, home + main.path, self._amp_url(main, home), self._related(article, home)
        )
        return Answer(200, body, "text/html; charset=utf-8", item.modified_ms)

    def _amp_url(self, main: Article, home: str) -> str:
        amp = self.press.amp_of.get(main.id)
        return home + amp.path if amp else ""

    def _related(self, article: Article, home: str) -> list[tuple[str, str]]:
        """What the publisher had before this article, in its language: fixed, so that a page stays as it is."""
        articles = self.press.by_publisher[article.publisher]
        before = bisect_right(articles, article.published_s, key=lambda a: a.published_s)
        found = [
            (home + other.path, other.title)
            for other in reversed(articles[max(0, before - 4 * RELATED) : before])
            if other.id != article.id and other.language == article.language and other.form == "page"
        ]
        return found[:RELATED]

    def _truth(self, article: Article, now_ms: int) -> dict[str, Any]:
        truth: dict[str, Any] = {
            "id": article.id,
            "url": self.url(article),
            "event": article.event,
            "language": article.language,
            "kind": article.kind,
            "publisher": article.publisher,
            "published_ms": self.clock.wall_ms(article.published_s),
        }
        if article.repeats:
            truth["repeats"] = article.repeats
        if article.label:
            truth["label"] = article.label
        if self._is_retracted(article, now_ms):
            truth["retracted"] = True
        return truth
