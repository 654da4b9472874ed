"""Articles as decided, and what else stands in a language's one ordered log. Topic: articles.normalised."""

from __future__ import annotations

from typing import Any, Literal, cast

from state_schemas.codec import Record, decode_record

Label = Literal["opinion", "fact_check", "live", "video", "gallery", "press_release", "sponsored", "paywalled", "wire"]
DateFault = Literal["far", "redated", "future"]


class Entity(Record, frozen=True):
    """Something named: id, the name as met, mentions.

    id: "place:1850147" (GeoNames), "country:JP" (ISO 3166), "region:DE-BY" (ISO 3166-2), "wd:Q42" (Wikidata), an id of
    the gazetteer's own, or "name:..." for what recurs and is linked to nothing. country: ISO 3166 alpha-2 of a place.
    in_title: met in the title or lede. type: place, country, region, person, organisation, other; empty in old records.
    """

    id: str
    name: str
    mentions: int = 1
    in_title: bool = False
    country: str = ""
    type: str = ""


class OutboundLink(Record, frozen=True):
    """An http(s) address that a sentence of an article leads to, normalised; site: its registrable domain."""

    url: str
    site: str


class Correction(Record, frozen=True):
    """A correction notice as the article states it, plain text. at_ms: its own date, ms UTC, None where unstated."""

    text: str
    at_ms: int | None = None


class Article(Record, frozen=True, tag_field="kind", tag="article"):
    """One version of one article. Key: language.

    version: 1, 2, ... a canonical URL; a consumer ignores one that is not above its own. event: what this version
    is to the row. changed: of title, lede, body, labels, published (for updates). body: zstd UTF-8 of the plain text.
    minhash: 100 little-endian uint32, empty below the minimum number of shingles. embedding: 384 float16, centred by
    nobody. first_seen_ms: the smallest found_ms ever met, never moves later. published_ms: as claimed, for display.
    sources: field -> where it came from (json_ld, og, meta, page, entry, origin). wire_credit: the agency copied.
    feed_id: of the feed it was read for, empty where it came another way. date_faults: what is odd about published_ms:
    far before it was first seen, moved later since the last version, later than it was fetched. links (at most 50):
    of other sites or other articles, in the body's order. credits (at most 10): names beside the authors'. corrections:
    at most 5. max_snippet: characters, None without limit. max_image_preview: none, standard, large, or unstated.
    topics: sections, at most 2. subtopics: topics within sections ("sports/tennis"), at most 3.
    """

    article_id: str
    language: str
    version: int
    event: Literal["new", "update"]
    canonical_url: str
    publisher: str
    title: str
    first_seen_ms: int
    decided_ms: int
    parser_version: str
    changed: tuple[str, ...] = ()
    publisher_name: str = ""
    owner: str = ""
    country: str = ""
    authority: float = 0.3
    lede: str = ""
    body: bytes = b""
    words: int = 0
    authors: tuple[str, ...] = ()
    image: str = ""
    section: str = ""
    keywords: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
    labels: tuple[Label, ...] = ()
    wire_credit: str = ""
    published_ms: int | None = None
    modified_ms: int | None = None
    found_ms: int = 0
    content_hash: str = ""
    minhash: bytes = b""
    embedding: bytes = b""
    encoder_version: str = ""
    from_entry: bool = False
    asked_url: str = ""
    source_url: str = ""
    noindex: bool = False
    max_snippet: int | None = None
    max_image_preview: str = ""
    sources: dict[str, str] = {}
    feed_id: str = ""
    date_faults: tuple[DateFault, ...] = ()
    links: tuple[OutboundLink, ...] = ()
    credits: tuple[str, ...] = ()
    corrections: tuple[Correction, ...] = ()
    subtopics: tuple[str, ...] = ()


class Removed(Record, frozen=True, tag_field="kind", tag="removed"):
    """The tombstone of an article in one language's log: retracted, or moved to another language. Versioned."""

    article_id: str
    language: str
    version: int
    decided_ms: int
    reason: str
    publisher: str = ""


class Tick(Record, frozen=True, tag_field="kind", tag="tick"):
    """The log's clock, once a minute and language: time goes on for a language without news."""

    language: str
    decided_ms: int


class Command(Record, frozen=True, tag_field="kind", tag="command"):
    """What an editor (or enough readers) asked of a language's writer, in sequence with its articles."""

    language: str
    decided_ms: int
    command: Literal["merge", "split", "move", "hold", "reported"]
    stories: tuple[str, ...] = ()
    articles: tuple[str, ...] = ()
    who: str = ""
    why: str = ""


Normalised = Article | Removed | Tick | Command


def decode_normalised(data: bytes) -> Normalised:
    """One record of the log, by its `kind`. Raises DecodeError."""
    return cast(Normalised, decode_record(cast(Any, Normalised), data))
