"""Whether a page may go live, and what its pointer becomes. Decides; the publisher beside it reads and writes."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from state_schemas.codec import encode_record
from state_schemas.pages import PAGE_SCHEMA, Page, Pointer


@dataclass(frozen=True, slots=True)
class PublishPolicy:
    """Bounds of publishing, each with its unit and reason."""

    min_stories: int = 1  # below it a section is not published and its last version stays
    kept_share: float = 0.5  # of the last version's stories, at least: a page that lost more is a fault, not news
    kept_share_from: int = 10  # stories: smaller pages shrink by halves on a quiet night
    shrunken_ms: int = 1_800_000  # after half an hour of refusals the news itself has shrunk, and the page follows
    max_bytes: int = 1024 * 1024  # thirty stories take 60 KB; the origin holds every page in memory
    deadline_ms: int = 10_000  # a cycle: then the rest is dropped, for the next cycle is newer
    tries: int = 4  # at a pointer somebody else moves, each after a fresh read
    in_flight: int = 64  # objects written at once (1,900/s against 330/s one by one)


def refusal(page: Page, last_stories: int, last_cycle: int, policy: PublishPolicy) -> str | None:
    """Why a page must not go live, as a reason code, or None.

    last_stories: of the version that counts now; last_cycle: up to which it was seen to be as it should.
    """
    if page.schema != PAGE_SCHEMA:
        return "wrong_schema"
    if len(page.stories) < policy.min_stories:
        return "too_few_stories"
    shrunken = last_stories >= policy.kept_share_from and len(page.stories) < policy.kept_share * last_stories
    if shrunken and page.cycle - last_cycle < policy.shrunken_ms:
        return "shrunken"
    if len({story.story_id for story in page.stories}) != len(page.stories):
        return "story_twice"
    for story in page.stories:
        links = (story.representative, *story.supporting)
        if not all(is_web(link.url) and link.title.strip() for link in links):
            return "link_unusable"
        if story.image and not is_web(story.image):
            return "image_unusable"
    if len(encode_record(page)) > policy.max_bytes:
        return "too_large"
    return None


def is_web(url: str) -> bool:
    """Whether a reader's browser may be sent there; schemes have no case (RFC 3986, 3.1)."""
    return url[:8].lower().startswith(("http://", "https://"))


def digest(page: Page) -> str:
    """Hex digest of what a reader sees of a page: scores and the cycle may change without a new version."""
    seen = [msgspec.structs.replace(story, score=0.0, parts={}) for story in page.stories]
    return sha256(encode_record(msgspec.structs.replace(page, cycle=0, version=0, stories=tuple(seen)))).hexdigest()


def shows(page: Page, gone: Container[str]) -> bool:
    """Whether a page shows any of these articles."""
    return any(link.article_id in gone for story in page.stories for link in (story.representative, *story.supporting))


def without(page: Page, gone: Container[str]) -> Page:
    """The page without these articles: a story that one of them stands for leaves it, until the next cycle.

    It may be left empty, and much shorter than the last one: what was taken back weighs more than how a page looks.
    """
    left = (
        replace(story, supporting=tuple(link for link in story.supporting if link.article_id not in gone))
        for story in page.stories
        if story.representative.article_id not in gone
    )
    return replace(page, stories=tuple(left))


def purged(current: Pointer, page: Page, object_key: str, object_sha256: str) -> Pointer:
    """The pointer to such a page: of the same cycle, and as pinned as it was."""
    return replace(
        current,
        version=page.version,
        object=object_key,
        sha256=object_sha256,
        sequence=current.sequence + 1,
        marks=("retracted",),
    )


def moved(
    current: Pointer | None,
    page: Page,
    object_key: str,
    object_sha256: str,
    now_ms: int,
    marks: tuple[str, ...] = (),
) -> Pointer | str:
    """The pointer that makes a version count, or why it must not: `pinned` or `newer_cycle`.

    A writer that was replaced after a failover may still hold an older cycle: it cannot move a pointer back.
    """
    if current is not None:
        if current.pinned_until_ms > now_ms:
            return "pinned"
        if current.cycle >= page.cycle:
            return "newer_cycle"
    return Pointer(
        edition=page.edition,
        section=page.section,
        version=page.version,
        object=object_key,
        sha256=object_sha256,
        cycle=page.cycle,
        sequence=1 if current is None else current.sequence + 1,
        marks=marks,
    )
