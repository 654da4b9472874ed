"""What a feed document gives, and the one way of saying that it gives nothing. Data only: feeds/reader.py makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from state_schemas.fetching import Entry

Format = Literal["rss", "atom", "rdf", "json", "news_sitemap", "sitemap", "sitemap_index", "front"]
# What the address was registered as: a feed of any format, or an HTML page whose links are the entries.
Kind = Literal["feed", "front"]
# (guid, title, published_ms, updated_ms) of an entry -> whether it is as it was, so that the rest need not be read.
Known = Callable[[str, str, "int | None", "int | None"], bool]


class FeedError(ValueError):
    """Bytes that are no feed, or one that is refused: the publisher's fault. `reason` is a quarantine code.

    feed_empty, feed_too_large, xml_entities, xml_names, html_not_feed, not_a_feed, feed_unparsable, json_invalid,
    front_without_articles.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class ReaderPolicy:
    """What one document may cost, in bytes: of the document before compression, of texts in UTF-8."""

    # Measured at 5 MB, CPU: plain RSS 0.15 s, the worst of 45 kinds of hostile documents 0.9 s (ampersands alone).
    # Among 26 captured feeds the largest has 1.1 MB; news sitemaps have no more than 1,000 articles, other sitemaps up
    # to 50 MB and nothing for us. CommaFeed stops at 5 MB too. The same for what a gzip file unpacks to.
    max_bytes: int = 5 * 1024 * 1024
    # What feedparser is given, characters: 0.1 to 0.5 s of CPU. Of 26 captured feeds, 24 are shorter.
    second_reader_chars: int = 512 * 1024
    # A news sitemap's own limit; the longest captured feed has 300.
    max_entries: int = 1_000
    # A front shows some 50 to 150 articles; what stands below them was found when it was new.
    max_front_entries: int = 200
    # An entry travels in records of at most 2 MB (state_schemas/topics.py) next to a body of 1.2 MB in base64, and
    # JSON's escapes may double it.
    max_content: int = 256 * 1024
    max_summary: int = 64 * 1024
    max_title: int = 2_048
    max_guid: int = 2_048
    max_deletions: int = 100  # an entry that was withdrawn is named for days; the list is the publisher's to bound
    max_names: int = 50  # authors or categories, of 200 bytes each


class Child(NamedTuple):
    """One sitemap of a sitemap index. modified_ms: its `lastmod`, ms UTC, None where it has none."""

    url: str
    modified_ms: int | None


class Deletion(NamedTuple):
    """The publisher's word that an entry is withdrawn (RFC 6721).

    ref: its id, as Entry.guid has it; link: its page, empty where not given; deleted_ms: ms UTC, None where unreadable.
    """

    ref: str
    link: str
    deleted_ms: int | None


@dataclass(frozen=True, slots=True)
class ParsedFeed:
    """One document.

    entries: in document order, complete ones only, each identity once. Title: plain text; summary, content: HTML.
    malformed: it was no well-formed document and was mended. whole: its end was there; a document cut short must not
    leave validators behind. guids_repeat: one guid stands for several links, so that guids tell nothing here.
    repeated: entries left out because their identity had been met in the same document. dropped: entries (of an
    index: sitemaps) beyond the limit. ttl_ms: how long the feed says it stays the same, None where it does not.
    hub, topic: WebSub's hub and self links. children: of a sitemap index, the sitemaps it names, each address once.
    deleted: entries that the publisher withdrew, each id once.
    """

    format: Format
    entries: tuple[Entry, ...] = ()
    title: str = ""
    language: str = ""
    malformed: bool = False
    whole: bool = True
    guids_repeat: bool = False
    repeated: int = 0
    dropped: int = 0
    ttl_ms: int | None = None
    hub: str = ""
    topic: str = ""
    children: tuple[Child, ...] = ()
    deleted: tuple[Deletion, ...] = ()


def is_known(entry: Entry, known: Known | None) -> bool:
    """Whether nothing more of an entry need be read than what tells it from others."""
    if known is None or not entry.guid or not entry.title:
        return False
    return known(entry.guid, entry.title, entry.published_ms, entry.updated_ms)
