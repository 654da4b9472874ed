"""Whether a document is one to register: a feed, a news sitemap, an index of them, a section front; and which of two
that are the same.

Documents in, verdicts out. Never asks anything. Reading order: Answer, judge, covering, without_duplicates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from state_schemas.sources import SourceKind
from udfs.articles.canonical import TrackingParameters, clean, identity_form
from udfs.feeds.candidates import Candidate, LeftOut, Via, address_key
from udfs.feeds.discovery import websub_links
from udfs.feeds.document import Child, FeedError, Format, ParsedFeed
from udfs.feeds.reader import parse_feed

# Fewer links than this are no list of news: a page for a cookie wall or a moved site has one or two.
FRONT_ENTRIES = 5
# From so many entries on, the same ones in the same places are no chance: section feeds of a small site share fewer.
_TELLING = 5
# Of the entries that both list at the top. The documents are read seconds apart, and news goes on.
_SAME_SHARE = 0.8
# Compared at most; a news sitemap has a thousand.
_COMPARED = 100


@dataclass(frozen=True, slots=True)
class Answer:
    """A document as it came. url: the last hop's; moved: all redirects on the way were permanent."""

    url: str
    body: bytes
    content_type: str = ""
    link_header: str = ""
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A document worth registering. url: to be registered; seen: other addresses that led to it, as keys.

    newest_ms: of its entries, None where none is dated. keys: of its entries, in order. hub, topic: WebSub's links, of
    the document or its header. children: an index's sitemaps, empty otherwise.
    """

    url: str
    kind: SourceKind
    format: Format
    via: Via
    title: str = ""
    language: str = ""
    entries: int = 0
    newest_ms: int | None = None
    hub: str = ""
    topic: str = ""
    keys: tuple[str, ...] = ()
    seen: frozenset[str] = frozenset()
    children: tuple[Child, ...] = ()


def judge(candidate: Candidate, answer: Answer, tracking: TrackingParameters, page: str = "") -> Offer | LeftOut:
    """What the document is. An index is an Offer with children; `covering` says what of it is to be registered.

    page: the page that was given; the feed below its own address, if empty, waits for comments on it.
    Reasons to leave it out: those of FeedError, comment_feed, sitemap_without_news, front_without_articles.
    """
    try:
        parsed = parse_feed(
            answer.body, answer.url, answer.content_type, kind="front" if candidate.kind == "front" else "feed"
        )
    except FeedError as error:
        return LeftOut(candidate.url, candidate.via, error.reason, error.detail[:200])
    if parsed.format == "sitemap":
        return LeftOut(candidate.url, candidate.via, "sitemap_without_news", "no entry has news:news")
    if parsed.format == "sitemap_index" and not parsed.children:
        return LeftOut(candidate.url, candidate.via, "sitemap_without_news", "an index that names none")
    if parsed.format == "front" and len(parsed.entries) < FRONT_ENTRIES:
        return LeftOut(
            candidate.url, candidate.via, "front_without_articles", f"{len(parsed.entries)} of at least {FRONT_ENTRIES}"
        )
    own = bool(urlsplit(page).path.strip("/")) and address_key(candidate.url).startswith(f"{address_key(page)}/")
    if _is_comments(parsed) or (own and not parsed.entries and parsed.format in ("rss", "atom")):
        return LeftOut(candidate.url, candidate.via, "comment_feed", parsed.title[:200])
    hub, topic = websub_links(answer.link_header, answer.url)
    dates = [entry.published_ms or entry.updated_ms for entry in parsed.entries]
    return Offer(
        url=_registered(candidate.url, answer),
        kind=_KINDS.get(parsed.format, "feed"),
        format=parsed.format,
        via=candidate.via,
        title=parsed.title or candidate.title,
        language=parsed.language or next((entry.language for entry in parsed.entries if entry.language), ""),
        entries=len(parsed.entries),
        newest_ms=max((date for date in dates if date is not None), default=None),
        hub=parsed.hub or hub,
        topic=parsed.topic or topic,
        keys=tuple(_key(entry.link or entry.guid, tracking) for entry in parsed.entries[:_COMPARED]),
        seen=frozenset({address_key(candidate.url), address_key(answer.url)}),
        children=parsed.children,
    )


_KINDS: dict[Format, SourceKind] = {"news_sitemap": "sitemap", "sitemap_index": "sitemap", "front": "front"}
# What WordPress calls the feed of comments on a page that has none yet, and those of its translations that end alike.
_NO_COMMENTS = re.compile(r"comments (?:on|for)\b|kommentare (?:zu|für)\b|commentaires sur\b|comentarios en\b", re.I)
_COMMENT = re.compile(r"#(?:comment|c\d|respond)|[?&]showcomment=", re.IGNORECASE)


def _is_comments(parsed: ParsedFeed) -> bool:
    """Whether every entry is a place below an article, or there is none and the title says so."""
    if not parsed.entries:
        return bool(_NO_COMMENTS.match(parsed.title))
    return all(_COMMENT.search(entry.link) for entry in parsed.entries)


def _registered(url: str, answer: Answer) -> str:
    """The address to register: where permanent redirects lead, and https for http."""
    same = address_key(url) == address_key(answer.url)
    return answer.url if answer.moved or (same and answer.url.startswith("https:")) else url


def _key(link: str, tracking: TrackingParameters) -> str:
    cleaned = clean(link, tracking)
    return identity_form(cleaned) if cleaned else link[:500]


# Names that change with the calendar or the count of articles; what they hold moves to the next name.
_ROLLING = re.compile(r"\d{4}|[-_/]\d{1,2}[-_/]\d{1,2}|[-_=]\d{2,3}(?:\.xml|$)")


def covering(index: Offer, found: Sequence[Offer]) -> list[Offer]:
    """What to register of an index whose likeliest children were read, `found` being those that are news sitemaps.

    The children themselves, where their names stay: they are then asked without a detour. The index, where their names
    roll on with the calendar. Nothing, where none of them has news.
    """
    if not any(_ROLLING.search(urlsplit(child.url).path) for child in found):
        return list(found)
    newest = [child.newest_ms for child in found if child.newest_ms is not None]
    return [
        replace(
            index,
            entries=sum(child.entries for child in found),
            newest_ms=max(newest, default=None),
            language=found[0].language,
            keys=tuple(key for child in found for key in child.keys)[:_COMPARED],
        )
    ]


def without_duplicates(offers: Iterable[Offer]) -> tuple[list[Offer], list[LeftOut]]:
    """Of documents that are the same, the best one, in the place of the first; and the others, with why they are not.

    The same: reached at the same address, whatever its scheme; or of one kind and with the same entries at the top.
    """
    kept: list[Offer] = []
    left: list[LeftOut] = []
    for offer in offers:
        alike = [other for other in kept if _same(offer, other)]
        best = min((*alike, offer), key=_rank)
        for worse in (*alike, offer):
            if worse is not best and worse.url != best.url:
                left.append(LeftOut(worse.url, worse.via, "duplicate", f"as {best.url}, {_why(best, worse)}"))
        whole = replace(best, seen=frozenset().union(offer.seen, *(other.seen for other in alike)))
        first = next((place for place, other in enumerate(kept) if other in alike), len(kept))
        kept = [*kept[:first], whole, *(other for other in kept[first:] if other not in alike)]
    return kept, left


def _same(left: Offer, right: Offer) -> bool:
    if left.seen & right.seen:
        return True
    if left.kind != right.kind:
        return False
    count = min(len(left.keys), len(right.keys))
    if count < _TELLING:
        return (
            left.keys == right.keys
            and bool(left.title)
            and left.title == right.title
            and left.language == right.language
        )
    ours, theirs = set(left.keys[:count]), set(right.keys[:count])
    return len(ours & theirs) >= _SAME_SHARE * count


_FORMATS: dict[Format, int] = {"atom": 0, "rss": 1, "json": 2, "rdf": 3}


def _rank(offer: Offer) -> tuple[bool, int, int, bool]:
    """The order in which variants are preferred: with a hub, by format, with more entries, over TLS."""
    return not offer.hub, _FORMATS.get(offer.format, 0), -offer.entries, not offer.url.startswith("https:")


def _why(best: Offer, worse: Offer) -> str:
    if bool(best.hub) != bool(worse.hub):
        return "which has a hub"
    if best.format != worse.format and best.kind == "feed":
        return f"which is {best.format.upper() if best.format in ('rss', 'rdf', 'json') else best.format.title()}"
    if best.entries != worse.entries:
        return f"which has {best.entries} entries, not {worse.entries}"
    return "which was found first" if best.url.startswith("https:") == worse.url.startswith("https:") else "over https"


def has_feed(section: Candidate, offers: Iterable[Offer]) -> bool:
    """Whether one of the feeds is that of the section, by the last folder of its address or the words of its link."""
    folder = urlsplit(section.url).path.rstrip("/").rpartition("/")[2].partition(".")[0].casefold()
    words = section.title.casefold()
    for offer in offers:
        if offer.kind != "feed":
            continue
        parts = re.split(r"[/._-]+", urlsplit(offer.url).path.casefold())
        named = re.split(r"\W+", offer.title.casefold())
        if folder in parts or folder in named or (words and words in offer.title.casefold()):
            return True
    return False
