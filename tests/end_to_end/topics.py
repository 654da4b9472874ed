"""Whole topics as records, for counting after a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from connectors.kafka import read_all
from connectors.settings import Endpoints
from state_schemas.codec import decode_record
from state_schemas.quarantine import Quarantined
from state_schemas.stories import StoryChange
from state_schemas.topics import QUARANTINE, STORY_CHANGES, Topic

R = TypeVar("R")


def records(endpoints: Endpoints, topic: Topic, decode: Callable[[bytes], R], timeout_s: float = 60) -> list[R]:
    """Every committed record of a topic, partition by partition."""
    return [decode(message.value) for message in read_all(endpoints, topic, timeout_s=timeout_s)]


# What a test writes into a topic to see it set aside; readers of the whole topic pass over it.
NONSENSE = b'{"no such": record'


def changes(endpoints: Endpoints, timeout_s: float = 60) -> list[StoryChange]:
    """story.changes."""
    found = records(
        endpoints,
        STORY_CHANGES,
        lambda data: None if data == NONSENSE else decode_record(StoryChange, data),
        timeout_s,
    )
    return [change for change in found if change is not None]


def quarantine(endpoints: Endpoints) -> list[Quarantined]:
    """quarantine."""
    return records(endpoints, QUARANTINE, lambda data: decode_record(Quarantined, data))


DECISIONS = frozenset({"started", "assigned", "copied", "variant"})


def assert_decided_once(found: list[StoryChange]) -> None:
    """Each article has one decision; change ids have no gap and no double within a language's epoch."""
    decided = [change.article.article_id for change in found if change.change in DECISIONS and change.article]
    twice = sorted({article for article in decided if decided.count(article) > 1})
    assert twice == []
    sequences: dict[tuple[str, int], list[int]] = {}
    for change in found:
        sequences.setdefault((change.language, change.epoch), []).append(change.sequence)
    for place, numbers in sequences.items():
        # In the order in which readers meet them, too: one writer, one partition.
        assert numbers == list(range(1, len(numbers) + 1)), f"gap, double or disorder in {place}"
