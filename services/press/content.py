"""What the press consists of: publishers, their feeds and articles, read from TOML and checked. No clock, no HTTP.

Copies and variants are derived here from the article they repeat, so the two texts cannot drift apart: a copy names
`copy_of` and may add a dateline or cut paragraphs; a variant names `variant_of` and the form, AMP or print.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

SAMPLE_DIR = Path(__file__).resolve().parents[2] / "examples" / "press"

JSON_LD_SHAPES = ("object", "graph", "array", "wrapped", "none")
FORMS = ("page", "amp", "print")


class ContentError(ValueError):
    """A publisher or article file is wrong: names the file, the entry and what to correct."""


@dataclass(frozen=True, slots=True)
class Feed:
    """One feed of a publisher: the articles of its language, and of its section where one is named."""

    path: str
    format: str
    language: str
    section: str = ""
    full_text: bool = False
    category: str = "general"


@dataclass(frozen=True, slots=True)
class Publisher:
    """A newsroom. authority: 0 to 1. feed_query: tracking parameters on the feed's links. hub: WebSub's, a host."""

    id: str
    name: str
    host: str
    country: str
    languages: tuple[str, ...]
    authority: float
    owner: str
    tagline: str
    json_ld: str
    feeds: tuple[Feed, ...]
    feed_query: str = ""
    hub: str = ""


@dataclass(frozen=True, slots=True)
class Correction:
    """A new headline under the same address, `after_s` seconds of press time after publication."""

    after_s: float
    title: str


@dataclass(frozen=True, slots=True)
class Article:
    """One page of one publisher. published_s, after_s, retract_after_s: seconds of press time at speed 1.

    kind: original, copy (another publisher's text) or variant (the same publisher's text under another address).
    repeats: the article a copy or variant repeats. form: page, amp or print. label: opinion, analysis, or nothing.
    """

    id: str
    event: str
    publisher: str
    language: str
    path: str
    title: str
    lede: str
    paragraphs: tuple[str, ...]
    author: str
    section: str
    published_s: float
    image: str = ""
    kind: str = "original"
    repeats: str = ""
    form: str = "page"
    label: str = ""
    correction: Correction | None = None
    retract_after_s: float | None = None

    @property
    def text(self) -> str:
        """Lede and body, a line a paragraph."""
        return "\n".join((self.lede, *self.paragraphs))


@dataclass(frozen=True)
class Press:
    """Publishers and articles. articles: in order of publication, then id."""

    publishers: Mapping[str, Publisher]
    articles: tuple[Article, ...]
    events: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def by_id(self) -> dict[str, Article]:
        return {article.id: article for article in self.articles}

    @cached_property
    def by_host(self) -> dict[str, Publisher]:
        return {publisher.host: publisher for publisher in self.publishers.values()}

    @cached_property
    def by_address(self) -> dict[tuple[str, str], Article]:
        """(publisher id, path) -> article."""
        return {(article.publisher, article.path): article for article in self.articles}

    @cached_property
    def by_publisher(self) -> dict[str, tuple[Article, ...]]:
        """Publisher id -> its articles in order of publication."""
        found: dict[str, list[Article]] = {publisher: [] for publisher in self.publishers}
        for article in self.articles:
            found[article.publisher].append(article)
        return {publisher: tuple(articles) for publisher, articles in found.items()}

    @cached_property
    def amp_of(self) -> dict[str, Article]:
        """Id of a main article -> its AMP version."""
        return {article.repeats: article for article in self.articles if article.form == "amp"}

    @property
    def length_s(self) -> float:
        """Seconds of press time until the last article is out, 0 for an empty press."""
        return self.articles[-1].published_s if self.articles else 0.0


def build(publishers: Iterable[Publisher], articles: Iterable[Article], events: Mapping[str, str]) -> Press:
    """Order, check and join. Raises ContentError on a doubled id or address, or a name that leads nowhere."""
    known = {publisher.id: publisher for publisher in publishers}
    ordered = tuple(sorted(articles, key=lambda a: (a.published_s, a.id)))
    ids: set[str] = set()
    addresses: set[tuple[str, str]] = set()
    for article in ordered:
        if article.id in ids:
            raise ContentError(f"article {article.id}: the id is used twice")
        publisher = known.get(article.publisher)
        if publisher is None:
            raise ContentError(f"article {article.id}: no publisher {article.publisher!r}")
        if article.language not in publisher.languages:
            raise ContentError(f"article {article.id}: {publisher.id} does not publish in {article.language!r}")
        if (article.publisher, article.path) in addresses:
            raise ContentError(f"article {article.id}: {publisher.host} already uses {article.path}")
        ids.add(article.id)
        addresses.add((article.publisher, article.path))
    return Press(known, ordered, dict(events))


def load(directory: Path = SAMPLE_DIR) -> Press:
    """Read publishers.toml and events/*.toml. Raises ContentError naming the file and entry at fault."""
    publishers = [_publisher(table) for table in _toml(directory / "publishers.toml").get("publisher", [])]
    raw: dict[str, tuple[dict[str, Any], str]] = {}
    events: dict[str, str] = {}
    for file in sorted((directory / "events").glob("*.toml")):
        tables = _toml(file)
        event = str(tables.get("id", file.stem))
        events[event] = str(tables.get("summary", ""))
        for table in tables.get("article", []):
            if "id" not in table:
                raise ContentError(f"{file.name}: an article has no id")
            if table["id"] in raw:
                raise ContentError(f"{file.name}: article {table['id']} is given twice")
            raw[table["id"]] = (table, event)
    if not publishers or not raw:
        raise ContentError(f"{directory}: no publishers.toml or no events/*.toml with articles")
    done: dict[str, Article] = {}
    for name in raw:
        _resolve(name, raw, done, ())
    return build(publishers, done.values(), events)


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ContentError(f"{file}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"{file.name}: {error}") from error


def _publisher(table: dict[str, Any]) -> Publisher:
    try:
        feeds = tuple(Feed(**feed) for feed in table["feeds"])
        publisher = Publisher(**{**table, "languages": tuple(table["languages"]), "feeds": feeds})
    except (KeyError, TypeError) as error:
        raise ContentError(f"publishers.toml: {table.get('id', 'a publisher without id')}: {error}") from error
    if publisher.json_ld not in JSON_LD_SHAPES or not 0 <= publisher.authority <= 1:
        raise ContentError(
            f"publishers.toml: {publisher.id}: json_ld is one of {', '.join(JSON_LD_SHAPES)}, authority 0 to 1"
        )
    return publisher


def _resolve(
    name: str, raw: Mapping[str, tuple[dict[str, Any], str]], done: dict[str, Article], above: tuple[str, ...]
) -> Article:
    """The article of that id, its source resolved first; `above` are the ids that wait for it."""
    if name in done:
        return done[name]
    if name not in raw:
        raise ContentError(f"article {above[-1]}: repeats {name!r}, which does not exist")
    if name in above:
        raise ContentError(f"article {name}: repeats itself by way of {above[-1]}")
    table, event = raw[name]
    table = dict(table)
    copy_of, variant_of = table.pop("copy_of", ""), table.pop("variant_of", "")
    try:
        if copy_of or variant_of:
            source = _resolve(copy_of or variant_of, raw, done, (*above, name))
            article = _copy(source, table) if copy_of else _variant(source, table)
        else:
            article = _original(table, event)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, ContentError):
            raise
        raise ContentError(f"article {name}: {error}") from error
    done[name] = article
    return article


def _original(table: dict[str, Any], event: str) -> Article:
    correction = table.pop("correction", None)
    body = table.pop("body")
    return Article(
        event=event,
        paragraphs=_paragraphs(body),
        lede=" ".join(table.pop("lede").split()),
        correction=Correction(**correction) if correction else None,
        **table,
    )


def _copy(source: Article, table: dict[str, Any]) -> Article:
    """Another publisher's print of `source`. dateline: words before the lede; cut: body paragraphs, from 1."""
    dateline = table.pop("dateline", "")
    cut = {int(number) for number in table.pop("cut", [])}
    if not cut <= set(range(1, len(source.paragraphs) + 1)):
        raise ContentError(f"article {table['id']}: cut {sorted(cut)} of {len(source.paragraphs)} paragraphs")
    return replace(
        source,
        kind="copy",
        repeats=source.id,
        lede=f"{dateline} {source.lede}".strip(),
        paragraphs=tuple(text for number, text in enumerate(source.paragraphs, 1) if number not in cut),
        correction=None,
        retract_after_s=None,
        **table,
    )


def _variant(source: Article, table: dict[str, Any]) -> Article:
    """The same text at another address of the same publisher."""
    if table.get("form") not in FORMS[1:]:
        raise ContentError(f"article {table['id']}: a variant's form is amp or print")
    return replace(source, kind="variant", repeats=source.id, correction=None, retract_after_s=None, **table)


def _paragraphs(body: str) -> tuple[str, ...]:
    blocks = re.split(r"\n\s*\n", body.strip())
    return tuple(_joined(block) for block in blocks if block.strip())


def _joined(block: str) -> str:
    """One line: a line end is a space, but not between two characters of a script that writes no spaces."""
    line = " ".join(block.split())
    return re.sub(r"(?<=[\u3000-\u9fff\uff00-\uffef]) (?=[\u3000-\u9fff\uff00-\uffef])", "", line)


def words(text: str) -> list[str]:
    """Lower-cased words; a script without spaces gives its characters. For shingles in tests and truth."""
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+", text.lower())


def jaccard(left: str, right: str, size: int = 5) -> float:
    """Share of common shingles of `size` words, 0 to 1; 0 where either text is shorter than one shingle."""

    def shingles(text: str) -> set[tuple[str, ...]]:
        tokens = words(text)
        return {tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1)}

    a, b = shingles(left), shingles(right)
    return len(a & b) / len(a | b) if a and b else 0.0
