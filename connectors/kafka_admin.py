"""Kafka's administration: is the broker there, and do the topics exist as the table of topics says.

Never deletes a topic and never changes a partition count: with it, keys would move to other partitions.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from connectors import kafka
from connectors.settings import Endpoints
from state_schemas.topics import ALL, Topic


class TopicMismatchError(ValueError):
    """A topic exists with another partition count: name a new topic, or start with an empty data folder."""


def _admin(endpoints: Endpoints, timeout_s: float) -> KafkaAdminClient:
    return KafkaAdminClient(
        bootstrap_servers=endpoints.kafka.split(","),
        client_id="broadsheet-admin",
        request_timeout_ms=int(timeout_s * 1000),
        bootstrap_timeout_ms=int(timeout_s * 1000),
    )


def reachable(endpoints: Endpoints, timeout_s: float = 2.0) -> bool:
    """Whether a broker answers a request for its topics within about `timeout_s` seconds."""
    host, _, port = endpoints.kafka.split(",")[0].rpartition(":")
    try:
        # The library takes its whole time-out where nothing listens: knock first.
        socket.create_connection((host, int(port)), timeout=timeout_s).close()
        admin = _admin(endpoints, timeout_s)
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


def wait_until_reachable(endpoints: Endpoints, timeout_s: float) -> bool:
    """Ask again until a broker answers; False when none has after `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while not reachable(endpoints):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def partition_counts(endpoints: Endpoints, timeout_s: float = 30.0) -> dict[str, int]:
    """Partitions of every topic there is, Kafka's own left out. Raises kafka.errors.KafkaError."""
    admin = _admin(endpoints, timeout_s)
    try:
        names = [name for name in admin.list_topics() if not name.startswith("__")]
        found = admin.describe_topics(names) if names else []
        return {topic["name"]: len(topic["partitions"]) for topic in found}
    finally:
        admin.close()


def ensure_topics(endpoints: Endpoints, topics: Iterable[Topic] = ALL) -> tuple[str, ...]:
    """Create those that do not exist yet, with their settings. Returns the names created.

    Raises TopicMismatchError when one exists with another partition count (nothing is created then),
    kafka.errors.KafkaError or connectors.kafka.KafkaClientError when the broker refuses or does not answer.
    """
    wanted = tuple(topics)
    existing = partition_counts(endpoints)
    for topic in wanted:
        have = existing.get(topic.name, topic.partitions)
        if have != topic.partitions:
            raise TopicMismatchError(
                f"topic {topic.name} has {have} partitions, not {topic.partitions}: a partition count is final;"
                " start with another data folder"
            )
    return kafka.create_topics(endpoints, [topic for topic in wanted if topic.name not in existing])
