"""Changes and members for ranking tests; every value has a default, so that a test names only what it is about."""

from __future__ import annotations

from typing import Any

from state_schemas.ranking import Member, StoryView
from state_schemas.stories import ArticleBrief, StoryChange, StorySummary

NOW = 1_796_000_000_000
HOUR = 3_600_000


def member(article: str, **changes: Any) -> Member:
    values: dict[str, Any] = {
        "article_id": article,
        "version": 1,
        "url": f"https://{article}.example/a",
        "title": f"A headline about {article} of ordinary length",
        "publisher": f"{article}.example",
        "publisher_name": article.title(),
        "owner": "",
        "country": "GB",
        "authority": 0.5,
        "first_seen_ms": NOW - HOUR,
        "published_ms": None,
        "lede": "What happened.",
        "image": "",
        "labels": (),
        "words": 200,
        "centrality": 0.8,
        "from_entry": False,
        "noindex": False,
        "max_snippet": None,
        "max_image_preview": "",
        "of": "",
        "feed_id": f"feed-{article}",
    }
    return Member(**values | changes)


def view(story: str, *members: Member, **changes: Any) -> StoryView:
    originals = [m for m in members if not m.of]
    values: dict[str, Any] = {
        "story_id": story,
        "originals": len(originals),
        "copies": len(members) - len(originals),
        "variants": 0,
        "first_ms": min(m.first_seen_ms for m in members),
        "latest_ms": max(m.first_seen_ms for m in originals or members),
        "updated_ms": max(m.first_seen_ms for m in members),
        "topics": (),
        "places": (),
        "centroid": b"",
        "members": members,
    }
    return StoryView(**values | changes)


def change(sequence: int, kind: str, story: str, article: str = "", **changes: Any) -> StoryChange:
    summary = {
        "story_id": story,
        "language": "en",
        "originals": 1,
        "copies": 0,
        "variants": 0,
        "publishers": (),
        "first_ms": NOW,
        "latest_ms": NOW,
        "updated_ms": NOW,
    } | changes.pop("summary", {})
    brief = None
    if article:
        brief = ArticleBrief(
            **{
                "article_id": article,
                "version": 1,
                "url": f"https://{article}.example/a",
                "title": f"A headline about {article}",
                "publisher": f"{article}.example",
                "first_seen_ms": NOW,
            }
            | changes.pop("brief", {})
        )
    return StoryChange(
        language="en",
        epoch=changes.pop("epoch", 1),
        sequence=sequence,
        change=kind,
        decided_ms=NOW,
        model_version="1",
        story=StorySummary(**summary),
        article=brief,
        **changes,
    )
