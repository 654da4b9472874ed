"""Writes reference_data/territory_names.tsv and common_place_words.tsv from Babel's CLDR data and wordfreq's lists.

Run by hand when either library moves on: `python -m udfs.articles.gazetteer_tables reference_data`. The job reads the
two files, for the libraries take 15 s and 300 MB to say the same.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import babel
import babel.languages
import wordfreq

from state_schemas.languages import LANGUAGES
from udfs.articles.gazetteer import City, Gazetteer, cities, fold_tokens, rows

# A word of this Zipf frequency (log10 of uses in 10^9 words) is a common word. Source: tried on the names of the
# 300 best-known cities; Oxford (4.6 in English) is above it and so needs its country or a preposition beside it.
COMMON_ZIPF = 4.4
# German writes every noun with a capital, so a rarer word is mistaken for a name as easily.
COMMON_ZIPF_GERMAN = 3.3
# Unless it is a name of a city of this many people; then only Latin words as common as "para" or "dabei".
FAMOUS = 600_000
COMMON_ZIPF_FAMOUS = 5.7
# A name that is not the city's main one is a word more often: Deli, Kanton.
COMMON_ZIPF_ALTERNATE = 3.5
# A word used so much less than its city has people (decades) is used for the city: Liverpool, not Reading. In a
# language of the city's own country its name is met more often; where there are no capitals, more often it is a word.
# Source: tried on the lists' 3,000 words.
_KNOWN_FOR = 0.9
_KNOWN_AT_HOME = 0.4
_KNOWN_AT_HOME_CASELESS = 0.6
# Shorter words are words first (letters). Cities of these languages' countries are named for words and persons.
_KNOWN_LETTERS = 7
_KNOWN_LETTERS_AT_HOME = 5
_NAMED_FOR_WORDS = frozenset({"en", "es", "pt", "tl", "id", "ms"})
# Countries whose second name CLDR gives in parentheses.
_RENAMED = frozenset({"MM", "SZ", "MK", "TL", "CI", "CV", "CZ"})
# A form of declension may be used ten times as much as the name itself, not more; rarer and longer words
# harm nothing.
_FORM = 10
_RARE = 10**-5.8
_FORM_LETTERS = 6

_PARENTHESES = re.compile(r"\s*[(（]([^)）]*)[)）]\s*")
# CLDR territories that are parts or leftovers, not countries that news is about.
_LEFT_OUT = "AC BV CP CQ DG EA EU EZ HM IC QO TA UM UN XA XB ZZ"
_NOT_COUNTRIES = frozenset(_LEFT_OUT.split())
_LOCALES = {"zh": ("zh_Hans", "zh_Hant"), "no": ("nb",), "sr": ("sr_Cyrl", "sr_Latn"), "tl": ("fil",)}
# Time zones named for a city in an older spelling or a shorter form than GeoNames'.
_ZONE_CITIES = {"America/New_York": "New York City", "Europe/Kiev": "Kyiv", "Asia/Calcutta": "Kolkata"}


def main(argv: list[str]) -> int:
    """Write both tables into the folder named."""
    if len(argv) != 1 or not Path(argv[0]).is_dir():
        print("usage: python -m udfs.articles.gazetteer_tables FOLDER", file=sys.stderr)  # noqa: T201
        return 2
    folder = Path(argv[0])
    known = tuple(cities())
    named = sorted(set(_territories()) | set(_zones(known)))
    _write(
        folder / "territory_names.tsv",
        "# Countries (ISO 3166 alpha-2) and cities that time zones are named for (GeoNames id), in our languages.\n"
        f"# Source: Unicode CLDR through Babel {babel.__version__} (Unicode License v3); GeoNames (CC BY 4.0).\n",
        named,
    )
    heading = (
        "# Names of cities that are common words of a language too: language, word, case-folded. Alone they are no\n"
        f"# places. Zipf frequency at least {COMMON_ZIPF}, and none of {FAMOUS:,} people, or well known for its size.\n"
        "# Source: wordfreq's lists (Apache-2.0, data CC BY-SA 4.0), names from GeoNames (CC BY 4.0).\n"
    )
    _write(
        folder / "common_place_words.tsv",
        heading,
        words := sorted(_common_words(known, {fold_tokens(row[1]) for row in rows(folder / "place_aliases.tsv")})),
    )
    # What looks like a form of a name is judged by the finished tables.
    _write(folder / "common_place_words.tsv", heading, sorted({*words, *_words_like_forms(Gazetteer(folder))}))
    return 0


def _write(path: Path, heading: str, rows: Iterable[tuple[str, str]]) -> None:
    path.write_text(heading + "".join(f"{first}\t{second}\n" for first, second in rows), "utf-8")


def _locales(languages: Iterable[str] = LANGUAGES) -> Iterator[babel.Locale]:
    for code in languages:
        for tag in _LOCALES.get(code, (code,)):
            try:
                yield babel.Locale.parse(tag)
            except babel.UnknownLocaleError:
                continue


def _territories(language: str = "") -> Iterator[tuple[str, str]]:
    for locale in _locales((language,) if language else LANGUAGES):
        for code, name in locale.territories.items():
            if len(code) == 2 and code.isalpha() and code not in _NOT_COUNTRIES:
                yield code, _PARENTHESES.sub(" ", name).strip()
                yield from (
                    (code, inner.strip()) for inner in _PARENTHESES.findall(name) if code in _RENAMED and len(inner) > 4
                )


def _zones(known: Iterable[City]) -> Iterator[tuple[str, str]]:
    zones: dict[str, City] = {}
    for city in known:
        wanted = _ZONE_CITIES.get(city.zone, city.zone.rsplit("/", 1)[-1].replace("_", " "))
        if city.name == wanted and (city.zone not in zones or zones[city.zone].population < city.population):
            zones[city.zone] = city
    for locale in _locales():
        for zone, names in locale.time_zones.items():
            if zone in zones and names.get("city"):
                yield zones[zone].id, names["city"]


def _common_words(known: tuple[City, ...], aliases: set[str]) -> Iterator[tuple[str, str]]:
    largest: dict[str, City] = {}
    famous = aliases | {fold_tokens(name) for _, name in _zones(known)}
    called: set[str] = set()
    for city in known:
        keys = {key for name in city.names() if " " not in (key := fold_tokens(name))}
        for key in keys:
            if key not in largest or largest[key].weight < city.weight:
                largest[key] = city
        if city.population >= FAMOUS:
            famous.update(key for key in keys if key >= "\u0250")
            famous.add(fold_tokens(city.name))
            called.add(fold_tokens(city.name))
    words = largest.keys() - called
    main = {fold_tokens(city.name) for city in known} | famous
    countries = {fold_tokens(name) for _, name in _territories()} - aliases
    for language in LANGUAGES:
        code = "nb" if language == "no" else "fil" if language == "tl" else language
        if code not in wordfreq.available_languages():
            continue
        # "Island" is a country in German and a common word in English.
        own = {fold_tokens(name) for _, name in _territories(language)}
        least = COMMON_ZIPF_GERMAN if language == "de" else COMMON_ZIPF
        for word, frequency in wordfreq.get_frequency_dict(code).items():
            zipf = math.log10(frequency) + 9
            sure = word in main or word in countries or word >= "\u0250"
            enough = least if sure else min(least, COMMON_ZIPF_ALTERNATE)
            if zipf < enough or word in own or not (word in words or word in countries):
                continue
            if word in aliases or (
                language != "de" and word in words and _is_known_for(word, largest[word], zipf, language)
            ):
                continue
            if word not in famous or (zipf >= COMMON_ZIPF_FAMOUS and word < "\u0250"):
                yield language, word


def _words_like_forms(names: Gazetteer) -> Iterator[tuple[str, str]]:
    """Words that an ending leads back to a place and that are used far more than it: Hamas is no genitive of Hama."""
    for language in LANGUAGES:
        code = "nb" if language == "no" else "fil" if language == "tl" else language
        if code not in wordfreq.available_languages():
            continue
        frequencies = wordfreq.get_frequency_dict(code)
        for word, frequency in frequencies.items():
            if frequency < _RARE or len(word) > _FORM_LETTERS or word in names.spaced:
                continue
            if any(place.type != "country" or word[-1] == "s" for place in names.inflected([word], language)):
                bases = [base for base in names.bases(word, language) if base in names.spaced]
                if frequency > _FORM * max((frequencies.get(base, 0.0) for base in bases), default=frequency):
                    yield language, word


def _is_known_for(word: str, city: City, zipf: float, language: str) -> bool:
    """Whether a word is frequent because the city is."""
    known = math.log10(max(city.population, 1)) - zipf
    home = language in babel.languages.get_official_languages(city.country, regional=True)
    least = _KNOWN_AT_HOME if word < "\u0590" else _KNOWN_AT_HOME_CASELESS
    if home and len(word) >= _KNOWN_LETTERS_AT_HOME and known >= least:
        return language not in _NAMED_FOR_WORDS
    return len(word) >= _KNOWN_LETTERS and known >= _KNOWN_FOR and language not in _NAMED_FOR_WORDS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
