"""How well labels, wire credits and sections are told: precision and recall against what was read by hand.

Labels are rules: judged on captured pages (label_truth.tsv names them) with all their markup, and on invented articles
(label_samples.tsv). Sections: see section_report.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from cli.extract_evaluation import page_bytes, read_truth
from cli.precision_recall import Count, shown
from state_schemas.articles import Label
from state_schemas.fetching import RawItem
from state_schemas.sources import Origin
from udfs.articles.extract import Rejection, extract_page
from udfs.articles.labels import labels, wire_credit
from udfs.articles.parse import Reader

WIRE = "wire"
NAMES = (*(label for label in get_args(Label) if label != WIRE), WIRE)


@dataclass(slots=True)
class LabelFigures:
    """Counts by label over a number of articles. faults: one line each."""

    articles: int = 0
    counts: dict[str, Count] = field(default_factory=lambda: {name: Count() for name in NAMES})
    faults: list[str] = field(default_factory=list)

    def add(self, name: str, found: Iterable[str], true: Iterable[str]) -> None:
        """Count one article. A wire credit is "wire:AGENCY": another agency than the true one is wrong and missed."""
        self.articles += 1
        one, other = set(found), set(true)
        for label in sorted(one | other):
            self.counts[label.partition(":")[0]].add(found=label in one, true=label in other)
        if one != other:
            self.faults.append(f"{name}: {_told(one)}, not {_told(other)}")

    def as_dict(self) -> dict[str, Any]:
        """articles, and the figures of each label."""
        return {"articles": self.articles} | {
            name: {"articles": count.true, "precision": count.precision, "recall": count.recall}
            for name, count in self.counts.items()
        }


def _told(found: set[str]) -> str:
    return " ".join(sorted(found)) or "none"


def judge_pages(folder: Path, truth: dict[str, tuple[str, ...]], reader: Reader) -> LabelFigures:
    """The captured pages of a folder that the truth names. Raises OSError, TruthError."""
    found = LabelFigures()
    for row in read_truth(folder / "truth.jsonl"):
        if row.file not in truth:
            continue
        origin = Origin(publisher=row.publisher)
        raw = RawItem(kind="page", url=row.url, final_url=row.url, origin=origin, found_ms=1, fetched_ms=1)
        page = extract_page(raw, page_bytes(folder, row.file), reader.tracking)
        if isinstance(page, Rejection):
            continue
        told: list[str] = list(
            labels(
                page.canonical_url,
                page.section,
                page.types,
                page.paywalled,
                reader.label_words,
                title=page.title,
                kinds=page.kinds,
            )
        )
        agency = wire_credit(page.authors, page.body or page.lede, reader.label_words, page.canonical_url)
        found.add(row.file, [*told, *([f"{WIRE}:{agency}"] if agency else [])], truth[row.file])
    return found


def judge_samples(path: Path, reader: Reader) -> LabelFigures:
    """The invented articles of a file. Raises OSError, ValueError."""
    found = LabelFigures()
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 7:
            raise ValueError(f"{path}, line {number}: {len(fields)} fields, not 7")
        true, url, section, types, title, author, text = fields
        told = list(labels(url, section, tuple(types.split()), False, reader.label_words, title=title))
        agency = wire_credit((author,) if author else (), text, reader.label_words, url)
        said = [*map(str, told), *([f"{WIRE}:{agency}"] if agency else [])]
        found.add(f"{path.name}:{number}", said, tuple(filter(None, true.split(","))))
    return found


def rows(found: LabelFigures) -> Iterator[str]:
    """A set's figures for people: sizes are articles that truly have the label."""
    for name, count in found.counts.items():
        few = "   under 20 articles" if count.true < 20 else ""
        yield f"  {name:<14}{count.true:>6}{shown(count.precision):>8}{shown(count.recall):>8}{few}"
    yield from (f"  {fault}" for fault in found.faults)
