"""Kafka's administration: is the broker there, and do the topics exist as the records' table says.

Never deletes a topic and never changes a partition count: with it, keys would move to other partitions.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from state_schemas.topics import ALL, Topic


class TopicMismatchError(ValueError):
    """A topic exists with another partition count: name a new topic, or start with an empty data folder."""


def _admin(bootstrap: str, timeout_s: float) -> KafkaAdminClient:
    return KafkaAdminClient(
        bootstrap_servers=bootstrap,
        client_id="broadsheet-admin",
        request_timeout_ms=int(timeout_s * 1000),
        bootstrap_timeout_ms=int(timeout_s * 1000),
    )


def reachable(bootstrap: str, timeout_s: float = 2.0) -> bool:
    """Whether the broker answers a request for its topics within about `timeout_s` seconds."""
    try:
        admin = _admin(bootstrap, timeout_s)
    except (KafkaError, OSError):
        return False
    try:
        admin.list_topics()
    except (KafkaError, OSError):
        return False
    else:
        return True
    finally:
        admin.close()


def wait_until_reachable(bootstrap: str, timeout_s: float) -> bool:
    """Ask again until the broker answers; False when it has not after `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while not reachable(bootstrap):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def partition_counts(bootstrap: str, timeout_s: float = 30.0) -> dict[str, int]:
    """Partitions of every topic there is, Kafka's own left out."""
    admin = _admin(bootstrap, timeout_s)
    try:
        names = [name for name in admin.list_topics() if not name.startswith("__")]
        found = admin.describe_topics(names) if names else []
        return {topic["name"]: len(topic["partitions"]) for topic in found}
    finally:
        admin.close()


def create_topics(
    bootstrap: str, topics: Iterable[Topic] = ALL, replication: int = 1, timeout_s: float = 30.0
) -> list[str]:
    """Create those that do not exist yet, with their settings. Returns the names created.

    Raises TopicMismatchError when one exists with another partition count (nothing is created then), KafkaError
    when the broker refuses or does not answer.
    """
    wanted = tuple(topics)
    existing = partition_counts(bootstrap, timeout_s)
    for topic in wanted:
        have = existing.get(topic.name, topic.partitions)
        if have != topic.partitions:
            raise TopicMismatchError(
                f"topic {topic.name} has {have} partitions, not {topic.partitions}: a partition count is final;"
                " start with another data folder"
            )
    missing = [topic for topic in wanted if topic.name not in existing]
    if missing:
        admin = _admin(bootstrap, timeout_s)
        try:
            admin.create_topics(
                {
                    topic.name: {
                        "num_partitions": topic.partitions,
                        "replication_factor": replication,
                        "configs": topic.config(),
                    }
                    for topic in missing
                },
                timeout_ms=int(timeout_s * 1000),
                wait_for_metadata=True,
            )
        finally:
            admin.close()
    return [topic.name for topic in missing]
