"""The events that identity decides on, and what of a reading is compared: hashes, order, claimed date.

Pure; decides nothing. Events travel between the parse job's operators, and wait in rows, as their packed bytes.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from state_schemas.articles import Article
from state_schemas.rows import ReadingRank

_HASH_BYTES = 8
# Longer than any two instants of fetching lie apart (31,000 years), and far from the end of 64 bits.
_BEFORE_ALL_MS = 10**15


class Reading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """What one look at an article found, before it has a version. article: complete but for the identity's fields.

    read_ms: when it was fetched. from_page: read off its page, not told by the feed alone. body: its text.
    alone: a known page, checked again without its feed's entry: what only the entry may have stated (a lede that the
    page does not state itself, the language) stays as it was. by_others: told by another site than the article's own,
    a feed's entry or a copy in an archive: it never counts where the article's own site said anything.
    """

    article: Article
    body: str
    read_ms: int
    from_page: bool
    alone: bool = False
    by_others: bool = False


class Retraction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """The publisher took the article back; or, by_operator, we do: then no page brings it back before it is reinstated.

    url: the address asked for. forwarded: it comes from another address of the article, and goes no further.
    """

    article_id: str
    read_ms: int
    found_ms: int
    reason: str
    publisher: str = ""
    by_operator: bool = False
    url: str = ""
    forwarded: bool = False


class Reinstatement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """The operator takes a retraction back: the article's page, read after that retraction, may bring it back."""

    article_id: str
    read_ms: int
    found_ms: int


class Alias(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """A page read at this address said that the article is `leads_to`: what is retracted here is retracted there."""

    article_id: str
    leads_to: str
    read_ms: int


Event = Reading | Retraction | Reinstatement | Alias

pack_event = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Event)


def unpack_event(data: bytes) -> Event:
    """The event of `pack_event`'s bytes."""
    event: Event = _unpack.decode(data)
    return event


def id_of(event: Event) -> str:
    """The article id that an event is decided under."""
    return event.article.article_id if isinstance(event, Reading) else event.article_id


def rank_of(event: Reading) -> ReadingRank:
    """By which of two readings counts: what others tell is older than all that the article's own site says."""
    return event.from_page, event.read_ms - (_BEFORE_ALL_MS if event.by_others else 0), tie_of(event)


def states_lede(event: Reading) -> bool:
    """Whether the reading can know the article's lede: a re-check without the entry, only where the page states one."""
    return not event.alone or event.article.sources.get("lede", "page") != "page"


def hashes_of(event: Reading) -> dict[str, bytes]:
    """Field -> 8 bytes of its hash, of all that a version is told by."""
    article = event.article
    return {
        "title": _hash(article.title),
        "lede": _hash(article.lede),
        "body": _hash(event.body),
        "labels": _hash(_labels(article)),
    }


def _labels(article: Article) -> str:
    """The labels and what may be shown of the article: a publisher that forbids it later is heard by a new version."""
    rules = (
        "noindex" if article.noindex else "",
        "" if article.max_snippet is None else f"max-snippet:{article.max_snippet}",
        "noimage" if article.max_image_preview == "none" else "",
    )
    return ",".join((*sorted(article.labels), *filter(None, rules)))


def claimed_s(article: Article) -> int:
    """The claimed date as rows hold it: whole seconds, 0 for none or one before 1970."""
    return max(0, (article.published_ms or 0) // 1000)


def tie_of(event: Reading) -> bytes:
    """8 bytes of all its content: orders readings of the same instant."""
    article = event.article
    parts = (
        article.language,
        article.title,
        article.lede,
        event.body,
        _labels(article),
        str(claimed_s(article)),
    )
    return _hash("\x00".join((*parts, str(event.alone))))


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest() if text else b""
