"""Articles a second through one language's writer, on one core, at several sizes of its live set.

    OPENBLAS_NUM_THREADS=1 .venv/bin/python benchmarks/cluster.py [--stories 1000,10000] [--json]

Invented articles: bodies of 300 words drawn by Zipf's law with names of their event among them, vectors of an event
around one of 200 subjects (so that they are as crowded as real ones). Arrival: 40 % copies, 35 % joins, 25 % new
stories. Measured is `decide` alone, with the state it hands over: articles a second of CPU time (one core), p50 and
p99 of wall time. Decoding records and Flink's own cost are not in it.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import click
import numpy as np

from connectors.settings import Endpoints
from state_schemas.articles import Article
from state_schemas.codec import pack_text, pack_vector
from state_schemas.ids import article_id
from udfs.articles.signatures import SignaturePolicy, signature
from udfs.stories.policy import ClusterPolicy, load_model
from udfs.stories.writer import LanguageWriter

START_MS = 1_800_000_000_000
SUBJECTS, WORDS, BODY_WORDS = 200, 30_000, 300


@dataclass
class Press:
    """Invented articles, the same for the same seed."""

    seed: int = 1
    made: int = 0
    events: int = 0
    bodies: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        self._subjects = self._random.normal(size=(SUBJECTS, 384)) / np.sqrt(384)
        self._model = load_model(Endpoints().reference_data_folder() / "clustering.toml")

    def _vector(self, event: int) -> bytes:
        of_event = np.random.default_rng(event).normal(size=384) / np.sqrt(384)
        own = self._random.normal(size=384) / np.sqrt(384)
        spread = self._subjects[event % SUBJECTS] + of_event + 0.6 * own
        return pack_vector(self._model.mean("en") + 0.35 * spread / np.linalg.norm(spread))

    def _body(self, event: int) -> str:
        names = [f"Name{event * 7 + place}x" for place in range(5)]
        words = [f"w{number}" for number in np.minimum(self._random.zipf(1.3, BODY_WORDS), WORDS)]
        for place in range(0, BODY_WORDS, 12):
            words[place] = names[place // 12 % 5]
            words[place + 11] += "."
        return "We say " + " ".join(words)

    def article(self, event: int, *, copy: bool = False) -> Article:
        """An article about an event; a copy has the text of the event's first."""
        self.made += 1
        body = self.bodies[event] if copy else self._body(event)
        self.bodies.setdefault(event, body)
        signed = signature(body, SignaturePolicy())
        name = f"https://press.example/{self.made}"
        return Article(
            article_id=article_id(name),
            language="en",
            version=1,
            event="new",
            canonical_url=name,
            publisher=f"p{self.made % 400}.example",
            title=f"Story of Name{event * 7}x and Name{event * 7 + 1}x, told again",
            first_seen_ms=START_MS + self.made,
            decided_ms=START_MS + self.made,
            parser_version="bench",
            body=pack_text(body),
            words=BODY_WORDS,
            content_hash=signed.content_hash,
            minhash=signed.minhash,
            embedding=self._vector(event),
        )

    def first(self) -> Article:
        """The first article of a new event."""
        self.events += 1
        return self.article(self.events)

    def arrivals(self, count: int) -> list[Article]:
        """40 % copies, 35 % joins, 25 % new."""
        found = []
        for chance in self._random.random(count):
            event = int(self._random.integers(1, self.events + 1))
            if chance < 0.4:
                found.append(self.article(event, copy=True))
            elif chance < 0.75:
                found.append(self.article(event))
            else:
                found.append(self.first())
        return found


def measure(sizes: list[int], count: int) -> Iterator[dict[str, float | str]]:
    """One row of figures a size."""
    press = Press()
    model = load_model(Endpoints().reference_data_folder() / "clustering.toml")
    stored: dict[str, dict[str, bytes]] = {}

    def read(name: str, key: str) -> bytes | None:
        return stored.get(name, {}).get(key)

    writer = LanguageWriter("en", model, ClusterPolicy(), read)

    def decide(article: Article) -> tuple[float, str]:
        began = time.perf_counter()
        decision = writer.decide(article)
        took = time.perf_counter() - began
        for name, key, value in decision.puts:
            rows = stored.setdefault(name, {})
            if value is None:
                rows.pop(key, None)
            else:
                rows[key] = value
        return took, next(change.change for change in decision.changes if change.article is not None)

    for size in sizes:
        while len(writer.live.stories) < size:
            decide(press.first())
        arrivals = press.arrivals(count)
        used = time.process_time()
        took, what = zip(*(decide(article) for article in arrivals), strict=True)
        used = time.process_time() - used
        ordered = sorted(took)
        again = LanguageWriter("en", model, ClusterPolicy(), read)
        began = time.perf_counter()
        again.restore(lambda name: list(stored.get(name, {}).items()))
        yield {
            "live_stories": size,
            "articles_per_second": round(count / used, 1),
            "p50_ms": round(1_000 * ordered[count // 2], 2),
            "p99_ms": round(1_000 * ordered[count * 99 // 100], 2),
            "restore_seconds": round(time.perf_counter() - began, 2),
            "memory_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
            "copied_share": round(what.count("copied") / count, 2),
            "assigned_share": round(what.count("assigned") / count, 2),
        }
        del again


def main(argv: list[str]) -> None:
    """Print a line a size; with --json one object."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--stories", default="1000,10000,30000", help="sizes of the live set, ascending")
    options.add_argument("--articles", type=int, default=1_000, help="measured at each size")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args(argv)
    rows = []
    for row in measure([int(size) for size in chosen.stories.split(",")], chosen.articles):
        rows.append(row)
        line = "  ".join(f"{name} {value}" for name, value in row.items())
        click.echo(line, err=chosen.json)
    if chosen.json:
        figures = [
            {"name": f"{name}_{row['live_stories']}", "value": value, "unit": name.rsplit("_", 1)[-1]}
            for row in rows
            for name, value in row.items()
            if name != "live_stories"
        ]
        click.echo(json.dumps({"figures": figures}))


if __name__ == "__main__":
    main(sys.argv[1:])
