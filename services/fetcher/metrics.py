"""What the fetcher counts."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Metrics:
    """One process's counters; a registry of their own, so that two can live in one test."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "broadsheet_fetcher_requests", "Requests read, by topic", ["topic"], registry=self.registry
        )
        self.answers = Counter(
            "broadsheet_fetcher_answers",
            "Requests whose answer the broker has, by kind, outcome and reason",
            ["kind", "outcome", "reason"],
            registry=self.registry,
        )
        self.set_aside = Counter(
            "broadsheet_fetcher_set_aside", "Records sent to quarantine", ["reason"], registry=self.registry
        )
        self.body_bytes = Counter(
            "broadsheet_fetcher_body_bytes", "Bytes of bodies, unpacked", ["kind"], registry=self.registry
        )
        self.seconds = Histogram(
            "broadsheet_fetcher_request_seconds",
            "From reading a request to the broker's acknowledgement of its answer",
            ["kind"],
            buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120),
            registry=self.registry,
        )
        self.commits_failed = Counter(
            "broadsheet_fetcher_commits_failed", "Commits of offsets to be tried again", registry=self.registry
        )

    def gauge(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """A value that is read when it is asked for."""
        Gauge(f"broadsheet_fetcher_{name}", help_text, registry=self.registry).set_function(read)
