"""Which of the sections an article belongs to, and what within them, by the publisher's own words.

Words come from the address, articleSection, breadcrumbs, keywords and the feed's category; no text is read. A word
counts by where it stands. The feed's category, given when it was registered, is the answer where nothing else is
known; where that is missing too, `section_model.py` decides later, on the vector.

Read `TopicWords` (what a word means), then `topics` and `subtopics` (what the words of an article add up to).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from udfs.articles.gazetteer import Gazetteer, Place, fold_tokens
from udfs.reference_faults import Fault, load, parse_toml
from udfs.sections import SECTION_IDS, fold_term

FILE = "topics.toml"
# What a word says by where it stands. A section name is meant as one; keywords name whatever occurs in the text.
_WEIGHTS = {"section": 3.0, "path": 2.0, "host": 1.5, "category": 1.5, "keyword": 1.0}
# A second topic must have this share of the first's weight.
_SECOND = 0.5
_MOST = 2
_MOST_SUBTOPICS = 3
_PATH_SEGMENTS = 3
_KEYWORDS = 8
_SEPARATORS = re.compile(r"\s*(?:[/|>»,;:·、・，]|\s[-–—]\s)\s*")
_JOINED = re.compile(r"\s+(?:&|\+|and|und|y|e|et|en|och|og|i|и|та|ve|و)\s+|\s*[&＆]\s*", re.IGNORECASE)
# Words that say only that it is news: they stand beside the section's own, and take no place in a path.
_GENERIC_WORDS = """
    news nachrichten noticias actualites actualité actualités notizie nieuws nyheter nyheder uutiset novosti новости
    новини haber haberler haberleri berita أخبار اخبار 新闻 新聞 ニュース 뉴스 latest aktuell aktuelles article articles
    artikel articolo articulo articulos story stories post posts read content clanek index home category kategorie
    categoria section sections topic topics tag
"""
_GENERIC = frozenset(map(fold_term, _GENERIC_WORDS.split()))
_LANGUAGE_SEGMENT = re.compile(r"[a-z]{2}(?:[-_][a-z]{2,4})?", re.IGNORECASE)
_KEPT = frozenset(("us", "uk", "ai", "tv", "it"))
_HOSTS = frozenset(("www", "mobile", "amp", "beta", "ww1", "ww2", "www1", "www2", "web"))
_ABBREVIATED = {"us": "US", "usa": "US", "u.s.": "US", "uk": "GB", "uae": "AE"}
# A city in a section's name is the publisher's own from this weight on (see gazetteer.py): 180,000 people.
_CITY_WEIGHT = 5.25

# Publisher's word and language -> section id, or None. `udfs.sections.SectionTerms.section_of`.
SectionOf = Callable[[str, str], str | None]


@dataclass(frozen=True, slots=True)
class Subtopic:
    """A topic within a section. id: "sports/football". iptc: the IPTC Media Topic that fits, or empty.

    not_in: publisher's countries (ISO 3166 alpha-2) in which its terms mean something else.
    """

    id: str
    name: str
    terms: tuple[str, ...]
    iptc: str = ""
    not_in: tuple[str, ...] = ()

    @property
    def section(self) -> str:
        return self.id.split("/", 1)[0]


class TopicWords:
    """What publishers' words mean: sections, topics within them, places. Read-only after construction.

    gazetteer: where None, no word means a place.
    """

    def __init__(
        self, section_of: SectionOf, subtopics: Iterable[Subtopic] = (), gazetteer: Gazetteer | None = None
    ) -> None:
        self._section_of = section_of
        self._gazetteer = gazetteer
        self._subtopics = {fold_term(term): one for one in subtopics for term in one.terms}

    def subtopic(self, word: str, country: str = "") -> Subtopic | None:
        """The second-level topic that a word means at a publisher of `country`."""
        found = self._subtopics.get(fold_term(word))
        return None if found is None or country in found.not_in else found

    def section(self, word: str, language: str, country: str = "", *, places: bool = False) -> str | None:
        """The section that a word means. places: also by a place that it names, seen from the publisher's country."""
        for form in _forms(word):
            if found := self._section_of(form, language):
                return found
            if subtopic := self._subtopics.get(fold_term(form)):
                return subtopic.section
            if places and country and (found := self._by_place(form, language, country)):
                return found
        return None

    def _by_place(self, word: str, language: str, country: str) -> str | None:
        """Home country: nation; another country or its regions: world; a region or large city at home: local."""
        place = self._place(word, language)
        if place is None:
            return None
        if place.country != country:
            return "world" if place.type != "place" else None
        return "nation" if place.type == "country" else "local"

    def _place(self, word: str, language: str) -> Place | None:
        abbreviated = _ABBREVIATED.get(word.casefold())
        if abbreviated:
            return Place(f"country:{abbreviated}", "country", abbreviated, 0.0)
        if self._gazetteer is None:
            return None
        key = fold_tokens(word.replace("-", " ").replace("_", " "))
        found = self._gazetteer.spaced.get(key) or self._gazetteer.unspaced.get(word.strip())
        if not found or self._gazetteer.is_common_word(key, language):
            return None
        return found[0] if found[0].type != "place" or (found[0].main and found[0].weight >= _CITY_WEIGHT) else None


def topics(
    url: str,
    section: str,
    keywords: Iterable[str],
    category: str,
    language: str,
    words: TopicWords,
    country: str = "",
) -> tuple[str, ...]:
    """The article's sections, likeliest first, at most two; empty where nothing is known.

    url: canonical; section: as the page states it, several with a slash between; category: one of the sections, as the
    feed was registered, or empty; country: the publisher's, ISO 3166 alpha-2.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for place, word in _placed(url, section):
        for found in _sections(word, language, country, words, places=True):
            weights[found] += _WEIGHTS[place[0]] / place[1]
    for keyword in list(keywords)[:_KEYWORDS]:
        if found_here := words.section(keyword, language, country):
            weights[found_here] += _WEIGHTS["keyword"]
    if category in SECTION_IDS[1:]:  # all but "top": a place on a front page is no topic
        weights[category] += _WEIGHTS["category"]
    if not weights:
        return ()
    ranked = sorted(weights, key=lambda name: (-weights[name], name))
    return tuple(name for name in ranked[:_MOST] if weights[name] >= _SECOND * weights[ranked[0]])


def subtopics(
    url: str, section: str, keywords: Iterable[str], words: TopicWords, country: str = "", within: Iterable[str] = ()
) -> tuple[str, ...]:
    """Second-level topics that the publisher's words name, section and path before keywords, at most three.

    within: the article's sections; keywords count only for topics of these.
    """
    found: dict[str, None] = {}
    for _, word in _placed(url, section):
        for part in (word, *_parts(word)):
            if one := words.subtopic(part, country):
                found[one.id] = None
    sections = set(within)
    for keyword in list(keywords)[:_KEYWORDS]:
        if (one := words.subtopic(keyword, country)) and one.section in sections:
            found[one.id] = None
    return tuple(found)[:_MOST_SUBTOPICS]


def _placed(url: str, section: str) -> Iterator[tuple[tuple[str, int], str]]:
    """((where, how far from the front), word) of all that is a section name by its place."""
    # Several levels of one statement: the last says most, but each is meant.
    for word in filter(None, (part.strip() for part in section.split(" / "))):
        yield ("section", 1), word
    for place, segment in enumerate(_segments(url), 1):
        # The first segment is the section, the ones after it are narrower or a headline.
        yield ("path", place), segment
    for label in (urlsplit(url).hostname or "").split(".")[:-2]:
        if len(label) > 2 and label not in _HOSTS:
            yield ("host", 1), label


def _sections(word: str, language: str, country: str, words: TopicWords, *, places: bool) -> Iterator[str]:
    whole = words.section(word, language, country, places=places)
    if whole:
        yield whole
        return
    for part in _parts(word):
        if found := words.section(part, language, country, places=places):
            yield found


def _parts(word: str) -> list[str]:
    """What a name that joins several is made of: "Science & Technology", "News: Sport"."""
    parts = [part for piece in _SEPARATORS.split(word) for part in _JOINED.split(piece.replace("-", " ")) if part]
    return parts if len(parts) > 1 else []


def _forms(word: str) -> Iterator[str]:
    """The word, then without what only says that it is news: "US-News", "Sport news"."""
    yield word
    pieces = fold_term(word).split()
    kept = [piece for piece in pieces if piece not in _GENERIC]
    if kept and len(kept) < len(pieces):
        yield " ".join(kept)


def _segments(url: str) -> list[str]:
    """The first path segments that may be sections: no dates, numbers or file names, not the article's own."""
    found = []
    segments = [unquote(part) for part in urlsplit(url).path.split("/") if part]
    for word in segments[:-1]:
        if len(word) > 40 or any(char.isdigit() for char in word) or "." in word:
            continue
        if fold_term(word) not in _GENERIC and not (_LANGUAGE_SEGMENT.fullmatch(word) and word.lower() not in _KEPT):
            found.append(word)
    return found[:_PATH_SEGMENTS]


def parse_subtopics(text: str, faults: list[Fault]) -> tuple[Subtopic, ...]:
    """The topics of topics.toml; what is wrong is appended to `faults`."""
    document = parse_toml(FILE, text, faults) or {}
    found: list[Subtopic] = []
    owners: dict[str, str] = {}
    for section, table in document.items():
        if section not in SECTION_IDS[1:] or not isinstance(table, dict):
            faults.append(Fault(FILE, 0, section, "is no section"))
            continue
        for name, entry in table.items():
            one = _subtopic(f"{section}/{name}", entry)
            if one is None:
                reason = "needs name (text) and terms (list), may have iptc (text) and not_in (list), nothing else"
                faults.append(Fault(FILE, 0, f"{section}.{name}", reason))
                continue
            for term in map(fold_term, one.terms):
                owner = owners.setdefault(term, one.id)
                if owner != one.id:
                    faults.append(Fault(FILE, 0, one.id, f"{term!r} is a term of {owner} too"))
            found.append(one)
    return tuple(found)


def _subtopic(identifier: str, entry: Any) -> Subtopic | None:
    if not isinstance(entry, Mapping) or not {"name", "terms"} <= entry.keys() <= {"name", "terms", "iptc", "not_in"}:
        return None
    lists = (entry["terms"], entry.get("not_in", []))
    if not all(isinstance(one, list) and all(isinstance(word, str) and word for word in one) for one in lists):
        return None
    if not isinstance(entry["name"], str) or not isinstance(entry.get("iptc", ""), str):
        return None
    return Subtopic(identifier, entry["name"], tuple(lists[0]), entry.get("iptc", ""), tuple(lists[1]))


def load_subtopics(folder: Path) -> tuple[Subtopic, ...]:
    """The topics of a folder of reference data. Raises ReferenceDataError."""
    return load(folder / FILE, parse_subtopics)
