"""Page objects: immutable snapshots, the pointer that says which one counts, pools and recent articles."""

from __future__ import annotations

from state_schemas.articles import Label
from state_schemas.codec import Record

PAGE_SCHEMA = 1


def page_key(edition: str, section: str, version: int) -> str:
    """The object of one page version."""
    return f"pages/{edition}/{section}/v{version}"


def cycle_key(edition: str) -> str:
    """The edition's cycle mark."""
    return f"latest/{edition}/_cycle"


def pointer_key(edition: str, section: str) -> str:
    """The pointer of a page (or of `_pool`, `_local`)."""
    return f"latest/{edition}/{section}"


def tombstone_key(article_id: str) -> str:
    """The tombstone of an article that was retracted."""
    return f"tombstones/{article_id}"


def pointed_section(key: str) -> str:
    """The section at whose page an object below `latest/` points; empty for the edition's own, named with a "_"."""
    section = key.rpartition("/")[2]
    return "" if section.startswith("_") else section


class Link(Record, frozen=True):
    """A publisher's own headline, linked to its page."""

    article_id: str
    url: str
    title: str
    publisher: str
    publisher_name: str = ""
    published_ms: int | None = None
    first_seen_ms: int = 0
    labels: tuple[Label, ...] = ()


class PageStory(Record, frozen=True):
    """One story on a page: its representative's headline, how widely it is covered, why it stands here.

    parts: name -> value of each part of the score, so that a rank can be explained.
    """

    story_id: str
    representative: Link
    score: float
    originals: int
    copies: int
    publishers: int
    first_ms: int
    latest_ms: int
    lede: str = ""
    image: str = ""
    topics: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    top_sources: tuple[str, ...] = ()
    supporting: tuple[Link, ...] = ()
    breaking: bool = False
    parts: dict[str, float] = {}


class Page(Record, frozen=True):
    """One version of one page. `cycle`: the instant it was ranked for, ms UTC; `version`: n of its object."""

    edition: str
    section: str
    version: int
    cycle: int
    ranker_version: str
    stories: tuple[PageStory, ...]
    schema: int = PAGE_SCHEMA
    language: str = ""


class Tombstone(Record, frozen=True):
    """An article that was retracted: no page may show it. Object: tombstones/{article_id}, kept as long as pages are.

    retracted: false once it was published again. decided_ms: stream time of the writer's decision, ms UTC.
    """

    article_id: str
    retracted: bool
    decided_ms: int
    reason: str = ""
    language: str = ""
    schema: int = PAGE_SCHEMA


class EditionPages(Record, frozen=True):
    """One cycle's pages of one edition on their way to publishing; `version` of each is still 0.

    tombstones: what was retracted, or came back, in the edition's language since the cycle before.
    """

    edition: str
    cycle: int
    pages: tuple[Page, ...]
    tombstones: tuple[Tombstone, ...] = ()


class Pointer(Record, frozen=True):
    """Which version counts. `sequence` grows with every write, since equal bytes would give equal ETags (ABA).

    marks: breaking; retracted, where the version before showed an article that was taken back: caches must drop it at
    once; rolled_back. pinned_until_ms: a rollback keeps the ranker from moving it until then.
    """

    edition: str
    section: str
    version: int
    object: str
    sha256: str
    cycle: int
    sequence: int
    marks: tuple[str, ...] = ()
    pinned_until_ms: int = 0
    schema: int = PAGE_SCHEMA


class CycleMark(Record, frozen=True):
    """The cycle up to which each section of an edition was seen to be as it should. Object: latest/{edition}/_cycle.

    A page that shows nothing new is not written again; this keeps it from looking stuck. A page that was refused,
    pinned or failed keeps its earlier cycle here, so that it says its age.
    """

    edition: str
    cycle: int
    sequence: int
    sections: dict[str, int]
    schema: int = PAGE_SCHEMA


class PoolStory(Record, frozen=True):
    """A candidate for readers' own pages, with its 64-d vector (float16)."""

    story: PageStory
    vector: bytes


class Pool(Record, frozen=True):
    """About 1,000 candidates of one edition, published with each snapshot. Object: pools/{edition}/v{n}."""

    edition: str
    version: int
    cycle: int
    ranker_version: str
    stories: tuple[PoolStory, ...]
    projection_version: str = ""
    schema: int = PAGE_SCHEMA


class LocalPool(Record, frozen=True):
    """Local candidates by place. Object: local/{edition}/v{n}."""

    edition: str
    version: int
    cycle: int
    places: dict[str, tuple[PageStory, ...]]
    schema: int = PAGE_SCHEMA


class Recent(Record, frozen=True):
    """The newest articles of an edition, for the degraded view. Object: recent/{edition}."""

    edition: str
    cycle: int
    articles: tuple[Link, ...]
    schema: int = PAGE_SCHEMA


class StoryPage(Record, frozen=True):
    """Full Coverage of one story. Object: stories/{id}; `alias_of` where the id lives on in another story."""

    story_id: str
    language: str
    updated_ms: int
    last_change: str
    originals: tuple[Link, ...] = ()
    copies: tuple[Link, ...] = ()
    alias_of: str = ""
    retracted: bool = False
    schema: int = PAGE_SCHEMA
