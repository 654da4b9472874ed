"""A process that sends numbered records at a steady pace until its standard input closes, then prints how many.

A process of its own, because the Kafka library leaves sockets unclosed while a broker is away: warnings, and so
errors, in a test's process.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from connectors.kafka import Producer
from connectors.settings import Endpoints
from state_schemas.topics import DAY_MS, Topic

KEYS = 20


def main(topic: str, per_second: float) -> None:
    """Send "k{n mod KEYS} {n}" keyed by its first word."""
    target = Topic(topic, 4, DAY_MS)
    ending = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ending.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    sent = 0
    began = time.monotonic()
    with Producer(Endpoints.from_mapping(os.environ), "test-source") as producer:
        while not ending.wait(max(0.0, began + sent / per_second - time.monotonic())):
            key = f"k{sent % KEYS}"
            producer.send(target, key, f"{key} {sent}".encode())
            sent += 1
        producer.flush(60)
    print(sent)  # noqa: T201  # the answer to the test


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
