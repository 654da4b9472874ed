"""Articles with the sections that their publishers gave them, for training and judging the section classifier.

From folders of captured pages (truth.jsonl), captured feeds, and labelled events with addresses. A section is what the
publisher states by path, articleSection, breadcrumbs, an entry's categories or the feed's own title; none of that is in
the text that the classifier sees: title and first sentences.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cli.extract_evaluation import page_bytes, read_truth
from cli.feed_evaluation import readable
from state_schemas.fetching import RawItem
from state_schemas.sources import Origin
from udfs.articles.encoder import encoder_input
from udfs.articles.extract import Rejection, extract_page
from udfs.articles.kinds import sections_of
from udfs.articles.parse import Reader
from udfs.articles.section_model import flags_of
from udfs.articles.text import clean_line, text_of_html
from udfs.articles.topics import topics

_FEED_TITLE = "|·-–—>:/"


@dataclass(frozen=True, slots=True)
class Sample:
    """One labelled article. text: what is encoded; sections: the publisher's, likeliest first; origin: kind of source.

    name: of the page's file, or the entry's identity: by which a truth file may name it. flags: section_model.flags_of.
    """

    name: str
    origin: str
    publisher: str
    language: str
    text: str
    sections: tuple[str, ...]
    flags: tuple[float, ...] = (0.0, 0.0, 0.0)


def read_samples(folders: Iterable[Path], reader: Reader, feeds_csv: Path) -> list[Sample]:
    """The articles of all folders, labelled or not, each text once. Raises OSError, ValueError, TruthError."""
    countries = _countries(feeds_csv)
    found: dict[str, Sample] = {}
    for folder in folders:
        if (folder / "truth.jsonl").is_file():
            samples = _pages(folder, reader)
        elif any(folder.glob("*.jsonl")):
            samples = _events(folder, reader, countries)
        else:
            samples = _entries(folder, reader, countries)
        for sample in samples:
            if sample.text:
                found.setdefault(sample.text, sample)
    return list(found.values())


def _pages(folder: Path, reader: Reader) -> Iterator[Sample]:
    for row in read_truth(folder / "truth.jsonl"):
        raw = RawItem(
            kind="page",
            url=row.url,
            final_url=row.url,
            origin=Origin(publisher=row.publisher),
            found_ms=1,
            fetched_ms=1,
        )
        page = extract_page(raw, page_bytes(folder, row.file), reader.tracking)
        if isinstance(page, Rejection):
            continue
        country = _ALPHA2.get(row.country, row.country.upper())
        text = page.body or page.lede
        language = reader.languages.language(page.title, text, page=page.language)
        stated = sections_of(page.section, page.kinds)
        yield Sample(
            name=row.file,
            origin="pages",
            publisher=_site(row.url),
            language=language,
            text=encoder_input(page.title, text, language),
            sections=topics(page.canonical_url, stated, (), "", language, reader.topic_words, country),
            flags=_flags(reader, page.title, page.lede, text, language, country),
        )


# Folders of captured pages are named by country, not always as ISO 3166 does.
_ALPHA2 = {"uk": "GB", "ind": "IN", "isl": "IS"}


def _entries(folder: Path, reader: Reader, country_of: Callable[[str], str]) -> Iterator[Sample]:
    for feed, parsed in readable(folder):
        for entry in parsed.entries:
            title = clean_line(text_of_html(entry.title))
            text = text_of_html(entry.summary)
            publisher = _site(entry.link or feed.url)
            country = country_of(publisher)
            language = reader.languages.language(title, text, entry=entry.language or parsed.language)
            stated = " / ".join(entry.categories[:8])
            sections = topics(entry.link, stated, (), _feed_section(parsed.title, reader), language,
                              reader.topic_words, country)  # fmt: skip
            yield Sample(
                name=entry.identity,
                origin="feeds",
                publisher=publisher,
                language=language,
                text=encoder_input(title, text, language),
                sections=sections,
                flags=_flags(reader, title, text, "", language, country),
            )


def _feed_section(title: str, reader: Reader) -> str:
    """The section that a feed's own title names: "World - CBSNews.com"; empty for several or none."""
    for sign in _FEED_TITLE:
        title = title.replace(sign, "|")
    parts = [part.strip() for part in title.split("|")]
    found = {section for part in parts if (section := reader.topic_words.section(part, "en"))}
    return found.pop() if len(found) == 1 else ""


def _events(folder: Path, reader: Reader, country_of: Callable[[str], str]) -> Iterator[Sample]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            url, language = str(row.get("url") or ""), str(row.get("lang") or "")
            if not url.startswith("http"):
                continue
            title, text = str(row.get("title") or ""), str(row.get("text") or "")
            publisher = _site(url)
            country = country_of(publisher)
            yield Sample(
                name=f"{path.stem}:{row.get('id')}",
                origin="events",
                publisher=publisher,
                language=language,
                text=encoder_input(title, text, language),
                sections=topics(url, "", (), "", language, reader.topic_words, country),
                flags=_flags(reader, title, "", text[:2000], language, country),
            )


def _flags(reader: Reader, title: str, lede: str, body: str, language: str, country: str) -> tuple[float, ...]:
    return flags_of(reader.entities.entities(title, lede, body, language, country), country)


def _countries(feeds_csv: Path) -> Callable[[str], str]:
    """The country of a publisher's site: as the feed list says, or by its domain's ending."""
    known: dict[str, str] = {}
    with feeds_csv.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            known[_site(row["feed_url"])] = row["country"]
            known[row["publisher_id"]] = row["country"]

    def country(site: str) -> str:
        ending = site.rsplit(".", 1)[-1]
        if site in known:
            return known[site]
        return {"uk": "GB"}.get(ending, ending.upper()) if len(ending) == 2 else ""

    return country


def _site(url: str) -> str:
    """The registrable domain, near enough to hold one publisher's articles together."""
    pieces = (urlsplit(url).hostname or "").split(".")
    short = len(pieces) > 2 and len(pieces[-2]) <= 3
    return ".".join(pieces[-3 if short else -2 :])
