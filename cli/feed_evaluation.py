"""Captured feeds read twice, by our reader and by feedparser, and compared field by field.

What counts as a difference says feed_comparison.py.
"""

from __future__ import annotations

import csv
import io
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feedparser.api import parse

from cli.feed_comparison import Captured, Difference, differences
from udfs.feeds.document import FeedError, ParsedFeed, ReaderPolicy
from udfs.feeds.reader import parse_feed
from udfs.feeds.unpacking import unpacked

MANIFEST = "MANIFEST.tsv"
ENDINGS = (".xml", ".rss", ".atom", ".rdf", ".json", ".gz")
# Each document is read so many times by both; the quickest counts. CPU seconds: a machine at work changes nothing.
REPEATS = 3

_parse: Callable[..., Any] = parse  # feedparser has no types


@dataclass(slots=True)
class Evaluation:
    """All documents. crashes: our reader failed, or read nothing where feedparser reads entries."""

    feeds: int = 0
    entries: int = 0
    seconds: float = 0.0
    feedparser_seconds: float = 0.0
    feedparser_entries: int = 0
    crashes: list[tuple[str, str]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Numbers alone. A differing field is one field of one entry."""
        explained = sum(1 for difference in self.differences if difference.rule)
        return {
            "feeds": self.feeds,
            "entries": self.entries,
            "differing_fields": len(self.differences),
            "crashes": len(self.crashes),
            "seconds": round(self.seconds, 3),
            "feedparser_seconds": round(self.feedparser_seconds, 3),
            "feedparser_entries": self.feedparser_entries,
            "explained_by_a_rule": explained,
            "refused": len(self.refused),
        }


def captured(folder: Path) -> list[Captured]:
    """Every feed document directly inside a folder, by name. Raises OSError, and ValueError for a bad manifest."""
    known: dict[str, Mapping[str, str]] = {}
    if (folder / MANIFEST).is_file():
        with (folder / MANIFEST).open(encoding="utf-8", newline="") as file:
            known = {row.get("file") or "": row for row in csv.DictReader(file, delimiter="\t", restval="")}
    found = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix.lower() in ENDINGS:
            row = known.get(path.name, {})
            host = row.get("host") or "feeds.invalid"
            url = row.get("url") or f"https://{host}/{path.name}"
            found.append(Captured(path.name, path.read_bytes(), url, row.get("content_type") or ""))
    return found


def readable(folder: Path) -> Iterator[tuple[Captured, ParsedFeed]]:
    """Each feed document of a folder that can be read, with what production reads of it. Raises as `captured`."""
    for document in captured(folder):
        try:
            parsed = parse_feed(document.body, document.url, document.content_type, policy=ReaderPolicy())
        except FeedError:
            continue
        yield document, parsed


def evaluate_feeds(documents: list[Captured], policy: ReaderPolicy) -> Evaluation:
    """Read every document twice and compare. Never raises for a document."""
    found = Evaluation()
    for document in documents:
        found.feeds += 1
        ours = _ours(document, policy, found)
        theirs = _theirs(document, policy, found)
        items = [item for item in theirs.get("entries") or () if isinstance(item, dict)]
        found.feedparser_entries += len(items)
        if isinstance(ours, str) or (items and not ours.entries):
            if items or (isinstance(ours, str) and ours.startswith("raised")):
                found.crashes.append((document.name, ours if isinstance(ours, str) else "no entries"))
            else:
                found.refused.append((document.name, str(ours)))
            continue
        found.entries += len(ours.entries)
        if items:
            found.differences += differences(document, ours, theirs, items)
    return found


def _ours(document: Captured, policy: ReaderPolicy, found: Evaluation) -> ParsedFeed | str:
    """Our reading, or why there is none."""
    times = []
    try:
        for _ in range(REPEATS):
            began = time.process_time()
            parsed = parse_feed(document.body, document.url, document.content_type, policy=policy)
            times.append(time.process_time() - began)
    except FeedError as error:
        return error.reason
    except Exception as error:
        return f"raised {type(error).__name__}: {error}"
    found.seconds += min(times)
    return parsed


def _theirs(document: Captured, policy: ReaderPolicy, found: Evaluation) -> Mapping[str, Any]:
    """feedparser's reading, HTML left as it is, which is quicker and what we do; nothing where it fails."""
    headers = {"content-location": document.url}
    if document.content_type:
        headers["content-type"] = document.content_type
    times = []
    try:
        body, _ = unpacked(document.body, policy.max_bytes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(REPEATS):
                began = time.process_time()
                parsed = _parse(
                    io.BytesIO(body), response_headers=headers, resolve_relative_uris=False, sanitize_html=False
                )
                times.append(time.process_time() - began)
    except Exception:
        return {}
    found.feedparser_seconds += min(times)
    return parsed if isinstance(parsed, dict) else {}


def table(found: Evaluation) -> Iterator[str]:
    """The differences a line each, kind by kind with an example of both; then what was not read, and the figures."""
    counts = Counter((one.field, one.rule) for one in found.differences)
    examples = {(one.field, one.rule): one for one in reversed(found.differences)}
    for (name, rule), count in counts.most_common():
        example = examples[name, rule]
        yield f"{count:>6}  {name:<14} {rule or 'no rule'}"
        yield f"        {example.feed}"
        yield f"        ours:       {_short(example.ours)}"
        yield f"        feedparser: {_short(example.theirs)}"
    for name, reason in found.crashes:
        yield f" crash  {name}: {reason}"
    for name, reason in found.refused:
        yield f"  none  {name}: {reason}, and feedparser finds no entry either"
    for name, value in found.figures().items():
        yield f"{name:<20}  {value:g}"


def _short(text: str) -> str:
    return text if len(text) <= 96 else f"{text[:95]}…"
