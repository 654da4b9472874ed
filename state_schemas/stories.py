"""What the language writers decided. Topics: story.changes, story.links, story.breaking."""

from __future__ import annotations

from typing import Literal

from state_schemas import ids
from state_schemas.articles import Entity, Label
from state_schemas.codec import Record

Change = Literal["started", "assigned", "copied", "variant", "updated", "retracted", "merged", "split", "expired"]


class ArticleBrief(Record, frozen=True):
    """What consumers need of a member, so that none of them looks anything up.

    centrality: cosine to the story's centroid when decided (mean removed), in [-1, 1].
    """

    article_id: str
    version: int
    url: str
    title: str
    publisher: str
    first_seen_ms: int
    publisher_name: str = ""
    owner: str = ""
    country: str = ""
    authority: float = 0.3
    lede: str = ""
    image: str = ""
    authors: tuple[str, ...] = ()
    published_ms: int | None = None
    found_ms: int = 0
    labels: tuple[Label, ...] = ()
    topics: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
    words: int = 0
    centrality: float = 0.0
    from_entry: bool = False
    noindex: bool = False
    max_snippet: int | None = None
    max_image_preview: str = ""
    feed_id: str = ""


class StorySummary(Record, frozen=True):
    """A story as it stands after a change. Counters are recomputed from members, never counted up.

    centroid: 384 float16, unit length, the language's running mean removed. topics, entities: heaviest first.
    """

    story_id: str
    language: str
    originals: int
    copies: int
    variants: int
    publishers: tuple[str, ...]  # distinct, of originals
    first_ms: int
    latest_ms: int  # first-seen of the newest original
    updated_ms: int
    centroid: bytes = b""
    topics: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
    representative: str = ""  # the writer's own choice, an article id


class StoryChange(Record, frozen=True):
    """One decision. Key: language. (language, epoch, sequence) has no gap and no double within an epoch.

    started, assigned, copied, variant, updated, retracted: `article` is the one concerned (`of`: the original that a
    copy or variant repeats). merged: `story` took in `other`. split: `articles` left `other` for `story`.
    expired: no update for 48 h. probability: of the join, where one was scored. cause: why (retracted: the reason, or
    language_changed; reinstated: the article was retracted before). A retraction of an expired story's article comes
    with a summary that counts nothing.
    """

    language: str
    epoch: int
    sequence: int
    change: Change
    decided_ms: int
    model_version: str
    story: StorySummary
    article: ArticleBrief | None = None
    of: str = ""
    other: str = ""
    articles: tuple[str, ...] = ()
    probability: float | None = None
    cause: str = ""

    @property
    def change_id(self) -> str:
        """The change's name."""
        return ids.change_id(self.language, self.epoch, self.sequence)


class StoryLink(Record, frozen=True):
    """One end of a link between stories about one event in two languages. Key: language of `story_id`."""

    language: str
    story_id: str
    other: str
    other_language: str
    version: int
    score: float
    decided_ms: int
    removed: bool = False


class Breaking(Record, frozen=True):
    """A story that became breaking news. Key: story id; once a story and level."""

    story_id: str
    language: str
    level: int
    decided_ms: int
    headline: str
    editions: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
