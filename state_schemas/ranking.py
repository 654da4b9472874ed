"""Keyed state of the rank job: stories as ranking sees them, and what each edition has published."""

from __future__ import annotations

from state_schemas.articles import Label
from state_schemas.codec import State


class Member(State, frozen=True, array_like=True):
    """An original (or, with `of`, a copy) of a story. Instants ms UTC; authority in [0, 1]; centrality in [-1, 1]."""

    article_id: str
    version: int
    url: str
    title: str
    publisher: str
    publisher_name: str
    owner: str
    country: str
    authority: float
    first_seen_ms: int
    published_ms: int | None
    lede: str
    image: str
    labels: tuple[Label, ...]
    words: int
    centrality: float
    from_entry: bool
    noindex: bool
    max_snippet: int | None
    max_image_preview: str
    of: str = ""
    feed_id: str = ""


class StoryView(State, frozen=True, array_like=True):
    """A live story. Counters are the writer's; `members` holds the newest ones, as many as the policy keeps.

    places: (entity id, name as met, country) of the story's places, heaviest first.
    """

    story_id: str
    originals: int
    copies: int
    variants: int
    first_ms: int
    latest_ms: int
    updated_ms: int
    topics: tuple[str, ...]
    places: tuple[tuple[str, str, str], ...]
    centroid: bytes
    members: tuple[Member, ...]


class ChangeCursor(State, frozen=True, array_like=True):
    """The last change of a language that was folded in: a repeated one is recognised and ignored."""

    epoch: int = 0
    sequence: int = 0


class PublishedPage(State, frozen=True, array_like=True):
    """What this writer last made count for one section.

    digest: hex, of what a reader sees; equal digests need no new version. stories: how many it shows. etag: of the
    pointer as it was put; another one says that somebody else moved it.
    """

    version: int
    digest: str
    stories: int
    cycle: int
    etag: str = ""


class PublishedEdition(State, frozen=True, array_like=True):
    """All sections of one edition, and the last cycle it was published for.

    uncleared: tombstones of which it is not yet sure that no page shows them: (article id, retracted, decided_ms,
    reason, language).
    """

    cycle: int
    pages: dict[str, PublishedPage]
    uncleared: tuple[tuple[str, bool, int, str, str], ...] = ()
