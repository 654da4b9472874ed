"""News sitemaps and sitemap indexes. Only `news:news` makes an article, not a declared namespace and not `lastmod`."""

from __future__ import annotations

from itertools import islice

from state_schemas.fetching import Entry
from udfs.feeds.dates import parse_instant
from udfs.feeds.document import Child, Known, ParsedFeed, ReaderPolicy
from udfs.feeds.markup import Element, children, elements, text_of
from udfs.feeds.texts import absolute, clip, plain

# Bound on the children of an index that are named: one level, the newest lists of a large site are few.
MAX_CHILDREN = 100
# Looked at in one document: a news sitemap has 1,000 articles at most, an index of many years some thousand lists.
_LISTED = 10_000


def read(root: Element, url: str, policy: ReaderPolicy, whole: bool, known: Known | None) -> ParsedFeed:
    """The articles of a `urlset`. One without any is healthy: publishers take the news tags off after two days."""
    entries: list[Entry] = []
    beyond = 0
    listed = list(islice(elements(root, "url"), _LISTED))
    for item in listed if whole else listed[:-1]:
        about = children(item)
        news = about.get("news:news")
        if not news:
            continue
        if len(entries) == policy.max_entries:
            beyond += 1
            continue
        entries.append(_entry(about, children(news[0]), url, policy))
    return ParsedFeed(format="news_sitemap" if entries else "sitemap", entries=tuple(entries), dropped=beyond)


def read_index(root: Element, url: str, policy: ReaderPolicy, whole: bool, known: Known | None) -> ParsedFeed:
    """An index's sitemaps, the last changed first, MAX_CHILDREN at most; an index has no articles of its own.

    Those without a date follow in document order: next to archives of many years, the list of the day has one.
    """
    found: dict[str, Child] = {}
    for child in islice(elements(root, "sitemap"), _LISTED):
        about = children(child)
        address = absolute(_text(about, "loc"), url)
        if address and address not in found:
            found[address] = Child(address, parse_instant(_text(about, "lastmod")))
    newest = sorted(found.values(), key=lambda child: -(child.modified_ms or 0))
    return ParsedFeed(format="sitemap_index", children=tuple(newest[:MAX_CHILDREN]), dropped=len(newest[MAX_CHILDREN:]))


def _entry(about: dict[str, list[Element]], news: dict[str, list[Element]], url: str, policy: ReaderPolicy) -> Entry:
    publication = children(news["news:publication"][0]) if "news:publication" in news else {}
    image = children(about["image:image"][0]) if "image:image" in about else {}
    keywords = dict.fromkeys(clip(plain(word), 200) for word in _text(news, "news:keywords").split(","))
    keywords.pop("", None)
    return Entry(
        identity="",
        link=absolute(_text(about, "loc"), url),
        title=clip(plain(_text(news, "news:title")), policy.max_title),
        published_ms=parse_instant(_text(news, "news:publication_date")),
        updated_ms=parse_instant(_text(about, "lastmod")),
        categories=tuple(keywords)[: policy.max_names],
        image=absolute(_text(image, "image:loc"), url),
        language=clip(_text(publication, "news:language") or _text(news, "news:language"), 40),
    )


def _text(about: dict[str, list[Element]], name: str) -> str:
    return text_of(about[name][0]).strip() if name in about else ""
