"""What readers do. Topic: reader.events (kept a day, then folded into profiles)."""

from __future__ import annotations

from typing import Literal

from state_schemas.codec import Record


class ReaderEvent(Record, frozen=True):
    """One act of one reader. Key: reader id, random and unlinked to a person."""

    reader: str
    action: Literal["read", "impression", "follow", "unfollow", "hide", "not_about_this_story", "pause", "delete"]
    at_ms: int
    story_id: str = ""
    article_id: str = ""
    subject: str = ""
    edition: str = ""
    section: str = ""
    position: int = -1
    variant: str = ""
