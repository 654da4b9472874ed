"""What the receiver counts."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Metrics:
    """One process's counters; a registry of their own, so that two can live in one test."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.answers = Counter(
            "broadsheet_push_answers",
            "Requests answered, by kind (verification, delivery, ping, none), outcome and HTTP status",
            ["kind", "outcome", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "broadsheet_push_seconds",
            "From a request's headers to its answer, Kafka's acknowledgement included",
            ["kind"],
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
            registry=self.registry,
        )
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}  # looking one up takes its time
        self.links = Counter("broadsheet_push_links", "Entry links of verified deliveries", registry=self.registry)
        self.set_aside = Counter(
            "broadsheet_push_undecodable",
            "Records of the topics that were none, by topic",
            ["topic"],
            registry=self.registry,
        )
        self.refused_connections = Counter(
            "broadsheet_push_connections_refused", "Connections over a limit", registry=self.registry
        )

    def answered(self, kind: str, outcome: str, status: int, seconds: float) -> None:
        """Count one request."""
        found = self._children.get((kind, outcome, status))
        if found is None:
            found = self.answers.labels(kind, outcome, str(status)), self.seconds.labels(kind)
            self._children[kind, outcome, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def gauge(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """A value that is read when it is asked for."""
        Gauge(f"broadsheet_push_{name}", help_text, registry=self.registry).set_function(read)
