"""Captured pages through production's extraction, plain trafilatura and newspaper4k, each against the same truth.

Every extractor gets the same text of the page, is timed alone in processor time, and sees nothing but the page and its
address: no feed entry, no record of the publisher. What counts as right says extract_scores.py.
"""

from __future__ import annotations

import gzip
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from cli import extract_scores as scores
from state_schemas.fetching import RawItem
from state_schemas.sources import Origin
from udfs.articles.canonical import TrackingParameters
from udfs.articles.extract import Rejection, extract_page
from udfs.articles.overrides import Overrides
from udfs.articles.page import decoded

OURS, TRAFILATURA, NEWSPAPER = "broadsheet", "trafilatura", "newspaper4k"
WORST = 8


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the truth file. file: below DIR, plain or gzipped. An empty field is not judged, but for authors."""

    file: str
    url: str = ""
    publisher: str = ""
    country: str = ""
    title: str = ""
    text: str = ""
    published_at: str | None = ""
    authors: tuple[str, ...] | None = None
    image: str | None = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What one extractor says of one page. rejected: why it says the page is no article."""

    title: str = ""
    body: str = ""
    authors: tuple[str, ...] = ()
    published_ms: int | None = None
    image: str = ""
    rejected: str = ""
    sources: dict[str, str] = field(default_factory=dict)


Extractor = Callable[[bytes, Truth], Found]


@dataclass(slots=True)
class Run:
    """One extractor over all pages: a result a page, in order; processor seconds of all, reading of files left out."""

    name: str
    found: list[Found] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Truth and runs, a row a page; `missing`: extractors that are not installed."""

    truth: list[Truth]
    runs: list[Run]
    missing: tuple[str, ...] = ()


class TruthError(Exception):
    """The truth file cannot be used: the message names the line, or the page that is not there."""


def read_truth(path: Path) -> list[Truth]:
    """The lines of a truth file. Raises TruthError, OSError."""
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=Truth)
            scores.true_ms(row.published_at or "")
        except (msgspec.MsgspecError, ValueError) as error:
            raise TruthError(f"{path}: line {number}: {error}") from None
        found.append(row)
    if not found:
        raise TruthError(f"{path}: no line in it")
    return found


def page_bytes(folder: Path, name: str) -> bytes:
    """A page's bytes, unpacked. Raises TruthError where it is not below the folder or cannot be read."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise TruthError(f"{name}: not below {folder}")
    try:
        body = path.read_bytes()
        return gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    except (OSError, EOFError) as error:
        raise TruthError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def evaluate(
    folder: Path, truth: list[Truth], our_own: Extractor, others: bool, show: Callable[[int], None]
) -> Evaluation:
    """Run every extractor over every page. others: also trafilatura and, where installed, newspaper4k."""
    extractors: dict[str, Extractor] = {OURS: our_own}
    missing = []
    if others:
        extractors[TRAFILATURA] = plain_trafilatura
        if find_spec("newspaper"):
            extractors[NEWSPAPER] = newspaper4k
        else:
            missing.append(NEWSPAPER)
    runs = [Run(name) for name in extractors]
    warm = page_bytes(folder, truth[0].file)
    for extractor in extractors.values():
        extractor(warm, truth[0])  # tables are loaded and expressions compiled once a process, not once a page
    for number, row in enumerate(truth, start=1):
        body = page_bytes(folder, row.file)
        for run, extractor in zip(runs, extractors.values(), strict=True):
            began = time.process_time()
            result = extractor(body, row)
            run.seconds += time.process_time() - began
            run.found.append(result)
        show(number)
    return Evaluation(truth, runs, tuple(missing))


def ours(tracking: TrackingParameters, overrides: Overrides) -> Extractor:
    """Production's own extraction, by a plain call."""

    def extract(body: bytes, row: Truth) -> Found:
        url = row.url or "https://page.invalid/article"
        raw = RawItem(
            kind="page", url=url, origin=Origin(publisher=urlsplit(url).hostname or ""), found_ms=0, fetched_ms=0
        )
        article = extract_page(raw, body, tracking, overrides)
        if isinstance(article, Rejection):
            return Found(rejected=article.reason)
        return Found(
            article.title, article.body, article.authors, article.published_ms, article.image, "", article.sources
        )

    return extract


def plain_trafilatura(body: bytes, row: Truth) -> Found:
    """trafilatura as it comes, with metadata; comments left out, which are no part of an article's text."""
    from trafilatura import bare_extraction

    document = bare_extraction(decoded(body), url=row.url or None, with_metadata=True, include_comments=False)
    if document is None:
        return Found(rejected="nothing found")
    stated = document if isinstance(document, dict) else document.as_dict()
    names = tuple(name.strip() for name in (stated.get("author") or "").split(";") if name.strip())
    date = stated.get("date") or ""
    return Found(stated.get("title") or "", stated.get("text") or "", names, _moment(date), stated.get("image") or "")


def newspaper4k(body: bytes, row: Truth) -> Found:
    """newspaper4k as it comes, without fetching anything."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from newspaper import Article, Config

        make: Any = Config
        settings = make()
        settings.fetch_images = False
        try:
            article: Any = Article(row.url or "https://page.invalid/article", config=settings)
            article.download(input_html=decoded(body))
            article.parse()
        except Exception as error:  # its own and its parsers': a page it cannot read is a page not read
            return Found(rejected=f"{type(error).__name__}: {error}")
    date = article.publish_date
    return Found(
        article.title or "",
        article.text or "",
        tuple(article.authors or ()),
        _moment(date.isoformat() if hasattr(date, "isoformat") else str(date or "")),
        article.top_image or "",
    )


def _moment(text: str) -> int | None:
    try:
        return scores.true_ms(text)
    except ValueError:
        return None


def figures(found: Evaluation) -> dict[str, Any]:
    """The figures by the fixed names, ours without a prefix, the others' after their names."""
    result: dict[str, Any] = {"pages": len(found.truth)}
    for run in found.runs:
        prefix = "" if run.name == OURS else f"{run.name}_"
        result |= {prefix + name: value for name, value in _of_run(found.truth, run).items()}
    body = [
        (row, scores.token_f1(one.body, row.text)) for row, one in zip(found.truth, found.runs[0].found, strict=True)
    ]
    result["worst_countries"] = _groups((row.country, value) for row, value in body)
    result["worst_publishers"] = _groups((row.publisher, value) for row, value in body)
    pairs = zip(found.truth, found.runs[0].found, strict=True)
    result["rejected"] = {row.file: one.rejected for row, one in pairs if one.rejected}
    result["not_installed"] = list(found.missing)
    return result


def _of_run(truth: list[Truth], run: Run) -> dict[str, float]:
    pairs = list(zip(truth, run.found, strict=True))
    dated = [(row, one, moment) for row, one in pairs if (moment := scores.true_ms(row.published_at or "")) is not None]
    values = {
        "body_f1": scores.mean(scores.token_f1(one.body, row.text) for row, one in pairs),
        "shingle_f1": scores.mean(scores.shingle_f1(one.body, row.text) for row, one in pairs),
        "title_exact": scores.mean(scores.same_line(one.title, row.title) for row, one in pairs if row.title),
        "title_folded": scores.mean(scores.same_folded(one.title, row.title) for row, one in pairs if row.title),
        "date_within_minute": scores.mean(scores.within_minute(one.published_ms, moment) for _, one, moment in dated),
        "author_f1": scores.mean(
            scores.name_f1(one.authors, row.authors) for row, one in pairs if row.authors is not None
        ),
        "pages_per_second": len(pairs) / run.seconds if run.seconds else 0.0,
    }
    pictured = [(row, one) for row, one in pairs if row.image]
    if pictured:
        values["image_accuracy"] = scores.mean(scores.same_image(one.image, row.image or "") for row, one in pictured)
    return {name: round(value, 4 if value <= 1 else 1) for name, value in values.items()}


def _groups(rows: Iterator[tuple[str, float]]) -> list[dict[str, Any]]:
    return [
        {"name": name, "body_f1": round(value, 4), "pages": size} for name, value, size in scores.worst(rows, WORST)
    ]


def table(found: Evaluation) -> Iterator[str]:
    """Figures side by side, then the weakest countries and publishers, then each page that is not right."""
    columns = [_of_run(found.truth, run) for run in found.runs]
    yield f"{'pages ' + str(len(found.truth)):<20}" + "".join(f"{run.name:>14}" for run in found.runs)
    for name in columns[0]:
        yield f"{name:<20}" + "".join(f"{column.get(name, 0):>14g}" for column in columns)
    for name in found.missing:
        yield f"{name} is not installed (it comes with the dev extra): left out"
    all_figures = figures(found)
    for title in ("worst_countries", "worst_publishers"):
        listed = ", ".join(f"{one['name']} {one['body_f1']:.3f} ({one['pages']})" for one in all_figures[title])
        yield f"{title.replace('_', ' ')} by body F1: {listed}"
    for row, one in zip(found.truth, found.runs[0].found, strict=True):
        yield from _faults(row, one)


def _faults(row: Truth, one: Found) -> Iterator[str]:
    if one.rejected:
        yield f"{row.file}: rejected: {one.rejected}"
        return
    if row.title and not scores.same_line(one.title, row.title):
        yield f"{row.file}: title ({one.sources.get('title', '')})"
        yield f"    found {one.title}"
        yield f"    true  {row.title}"
    moment = scores.true_ms(row.published_at or "")
    if moment is not None and not scores.within_minute(one.published_ms, moment):
        off = "none found" if one.published_ms is None else f"{(one.published_ms - moment) / 60_000:+.0f} minutes"
        yield f"{row.file}: published ({one.sources.get('published_ms', '')}): {off}"
    if row.authors is not None and scores.name_f1(one.authors, row.authors) < 1:
        yield f"{row.file}: authors ({one.sources.get('authors', '')})"
        yield f"    found {'; '.join(one.authors)}"
        yield f"    true  {'; '.join(row.authors)}"
    if (value := scores.token_f1(one.body, row.text)) < 0.95:
        yield f"{row.file}: body ({one.sources.get('body', '')}): F1 {value:.3f}"
