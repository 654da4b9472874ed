"""The Kafka topics: name, partitions, how long records stay. Nothing else creates or configures a topic.

A partition count is final: a change is a new topic (keys would move to other partitions, and with them the
order that one writer a language relies on). They are sized for the target load with room: one partition carries
some 5,000 records/s here, and the number of fetchers or of parse subtasks never needs to exceed them.
"""

from __future__ import annotations

from dataclasses import dataclass

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic. retention_ms None: compacted, the last record of each key stays for good."""

    name: str
    partitions: int
    retention_ms: int | None

    def config(self) -> dict[str, str]:
        """The broker's settings for it.

        LogAppendTime: retention and timestamps follow the broker's clock, never a record's own.
        """
        settings = {
            "message.timestamp.type": "LogAppendTime",
            # Articles carry bodies up to 900 KB, base64 of zstd; the broker's default limit is 1 MB.
            "max.message.bytes": str(2 * 1024 * 1024),
            # An index is pre-allocated at its full size; 10 MB each would be 4 GB for these topics.
            "segment.index.bytes": str(1024 * 1024),
        }
        if self.retention_ms is None:
            settings["cleanup.policy"] = "compact"
        else:
            settings["cleanup.policy"] = "delete"
            settings["retention.ms"] = str(self.retention_ms)
        return settings


SOURCES = Topic("sources", 8, None)
PUBLISHERS = Topic("publishers", 4, None)
POLL_SIGNALS = Topic("poll.signals", 8, DAY_MS)
# Both request topics have the same count: with the range assignor one fetcher owns a host in both.
FETCH_REQUESTS = Topic("fetch.requests", 32, DAY_MS)
FETCH_REQUESTS_PRIORITY = Topic("fetch.requests.priority", 32, DAY_MS)
FEEDS_FETCHED = Topic("feeds.fetched", 16, DAY_MS)
ITEMS_RAW = Topic("items.raw", 32, 7 * DAY_MS)
ARTICLES = Topic("articles.normalised", 16, 9 * DAY_MS)
STORY_CHANGES = Topic("story.changes", 16, 9 * DAY_MS)
STORY_LINKS = Topic("story.links", 8, 7 * DAY_MS)
STORY_BREAKING = Topic("story.breaking", 4, 7 * DAY_MS)
WEBSUB_SUBSCRIPTIONS = Topic("websub.subscriptions", 8, None)
READER_EVENTS = Topic("reader.events", 16, DAY_MS)
QUARANTINE = Topic("quarantine", 4, 30 * DAY_MS)

ALL: tuple[Topic, ...] = (
    SOURCES,
    PUBLISHERS,
    POLL_SIGNALS,
    FETCH_REQUESTS,
    FETCH_REQUESTS_PRIORITY,
    FEEDS_FETCHED,
    ITEMS_RAW,
    ARTICLES,
    STORY_CHANGES,
    STORY_LINKS,
    STORY_BREAKING,
    WEBSUB_SUBSCRIPTIONS,
    READER_EVENTS,
    QUARANTINE,
)
