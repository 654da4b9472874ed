"""People and organisations from other people's lists: a Wikidata JSON dump, or a table as JRC-Names has it.

Both are read line by line, in the memory of one line; a line that cannot be read is counted, not fatal. What is kept
of a dump: humans, and instances of the classes below, with as many articles in Wikipedias as asked for.
"""

from __future__ import annotations

import bz2
import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from state_schemas.languages import LANGUAGES
from udfs.articles.name_index import TYPES

HUMAN = "Q5"
# Wikidata's classes of organisations that news names, the most used first: business, enterprise, public company,
# organisation, political party, football club, university, government agency, international organisation, nonprofit,
# newspaper, bank, airline, news agency, NGO, sports club, ministry.
_CLASSES = """
    Q4830453 Q6881511 Q891723 Q43229 Q7278 Q476028 Q3918 Q327333 Q484652 Q163740 Q11032 Q22687 Q46970 Q192283 Q79913
    Q847017 Q192350
"""
ORGANISATIONS = frozenset(_CLASSES.split())
_ITEM = re.compile(r"^Q[1-9]\d{0,10}$")
_MAX_LINE = 10_000_000  # characters; the largest items of a dump have about 4 million
_JRC_TYPES = {"p": "person", "o": "organisation", "person": "person", "organisation": "organisation",
              "organization": "organisation", "other": "other", "u": "other"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NameRow:
    """One name of one entity. weight: how well known it is, decades."""

    id: str
    type: str
    language: str
    name: str
    weight: float


@dataclass(slots=True)
class Reading:
    """What was met: entities kept, and lines left out by reason."""

    kept: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file, plain, .gz or .bz2. Raises OSError, EOFError, UnicodeDecodeError."""
    opened: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    with cast(IO[str], opened.get(path.suffix, open)(path, "rt", encoding="utf-8")) as lines:
        yield from lines


def wikidata_names(
    lines: Iterable[str], least: int, reading: Reading, classes: frozenset[str] = ORGANISATIONS
) -> Iterator[NameRow]:
    """The names of a JSON dump (an array, one item a line). least: articles in Wikipedias that an item must have.

    Weight: log10 of those articles. Labels in our languages; aliases of several words, or of four letters and more.
    Source: https://www.wikidata.org/wiki/Wikidata:Database_download
    """
    for line in lines:
        line = line.strip().rstrip(",")
        if line in ("", "[", "]"):
            continue
        try:
            item: dict[str, Any] = json.loads(line) if len(line) <= _MAX_LINE else {}
            kind = _kind(item, classes) if item else "too_long"
            articles = _articles(item) if kind in TYPES else 0
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            kind, articles = "damaged", 0
        if kind not in TYPES:
            reading.left_out[kind] += 1
        elif articles < least:
            reading.left_out["little_known"] += 1
        else:
            reading.kept += 1
            weight = round(math.log10(articles + 1), 3)
            for language, name in _item_names(item):
                yield NameRow(f"wd:{item['id']}", kind, language, name, weight)


def table_names(lines: Iterable[str], reading: Reading) -> Iterator[NameRow]:
    """The names of a table: id, type (P, O, person, organisation), language, name, and weight where there is one.

    Fields are parted by tabs; "+" stands for a space, as in JRC-Names. An id without a prefix gets "jrc:" (Q1: "wd:").
    """
    seen: set[str] = set()
    for line in lines:
        fields = line.rstrip("\r\n").split("\t")
        if not line.strip() or line.startswith("#"):
            continue
        try:
            identity, kind, language, name, *weight = (part.strip() for part in fields)
            row = NameRow(_id(identity), _JRC_TYPES[kind.lower()], language, name.replace("+", " "), _weight(weight))
        except (ValueError, KeyError):
            reading.left_out["damaged"] += 1
            continue
        if row.id not in seen:
            seen.add(row.id)
            reading.kept += 1
        yield row


def _weight(fields: list[str]) -> float:
    weight = float(fields[0]) if fields and fields[0] else 0.0
    if not 0.0 <= weight <= 10.0:
        raise ValueError(weight)
    return weight


def _id(identity: str) -> str:
    if not identity or any(char.isspace() for char in identity):
        raise ValueError(identity)
    if ":" in identity:
        return identity
    return f"wd:{identity}" if _ITEM.match(identity) else f"jrc:{identity}"


def _kind(item: dict[str, Any], classes: frozenset[str]) -> str:
    if item.get("type") != "item" or not _ITEM.match(item["id"]):
        return "no_item"
    found = {
        statement["mainsnak"]["datavalue"]["value"]["id"]
        for statement in item.get("claims", {}).get("P31", ())
        if statement.get("rank") != "deprecated" and statement["mainsnak"].get("snaktype") == "value"
    }
    if HUMAN in found:
        return "person"
    return "organisation" if found & classes else "other_class"


def _articles(item: dict[str, Any]) -> int:
    links = item.get("sitelinks", {})
    # commonswiki and the like are no encyclopaedias; their names do not begin with a language.
    return sum(1 for name in links if name.endswith("wiki") and name not in ("commonswiki", "specieswiki", "metawiki"))


def _item_names(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    labels = item.get("labels") or {}
    aliases = item.get("aliases") or {}
    for language in (*LANGUAGES, "zh-hant", "zh-hans", "nb", "mul"):
        values = [labels[language]] if language in labels else []
        longer = [one for one in aliases.get(language, ()) if " " in one["value"] or len(one["value"]) >= 4]
        for value in (*values, *longer):
            name = value["value"]
            if name not in seen:
                seen.add(name)
                yield language, name
