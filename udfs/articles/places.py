"""Which countries and cities an article names, as linked entities: Tokyo, Tokio and 東京 are one id.

Precision first: a word that is also a common word ("Reading", "Nice", "Of") or stands inside a longer name ("Paris
Hilton") needs more than its spelling to be a place. Words are matched whole in scripts with spaces, longest first, and
case counts where there is case; scripts without spaces are matched by longest run of characters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from state_schemas.articles import Entity
from udfs.articles.gazetteer import ABBREVIATED, ABBREVIATIONS, SMALL_CITY, TOKEN, Gazetteer, Place
from udfs.articles.signatures import UNSPACED


@dataclass(frozen=True, slots=True)
class PlacePolicy:
    """Source of the values: tried on the captured pages and on the names in the tests."""

    body_chars: int = 4_000  # of the body that are read: where something happened stands early
    kept: int = 12  # entities an article
    sizeable: int = 250_000  # people; smaller cities count near home, near a country named, or after "in"
    home: float = 1.0  # decades of population that the publisher's country is worth
    mentioned: float = 1.5  # the same for a country that the text names
    alternate: float = 0.5  # what a name is worth less when it is not the city's main one
    title_case: float = 0.9  # share of longer words with a capital above which capitals say nothing


# Countries whose names are also first names, states, seas or words.
_AMBIGUOUS_COUNTRIES = "TD JO GE JE GN NE DM TG ML BJ"
_GUARDED = frozenset(f"country:{code}" for code in _AMBIGUOUS_COUNTRIES.split())
# Only those that go with places far more than with people: "lost to Murray" is no place.
_OF_PLACE = """
    in near outside around aus nach à en em na nel te uit i på w we v ve u în din
"""
_PREPOSITIONS = frozenset(_OF_PLACE.split())
_OPENS = re.compile(r"(?:^|[.!?…:;\n\"“”„«»(\[—–|•])['’\"”»]*\s*$")
_UNSPACED_TEXT = re.compile(rf"[{UNSPACED}]")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]")
_HANGUL = re.compile("[\uac00-\ud7a3]{2,}")
# Letters that Arabic and Hebrew write together with the next word: and, in, to, so; from, the.
_PROCLITICS = re.compile(r"^[وبلفכבלמהו](?=.{3})")


@dataclass(slots=True)
class _Mention:
    """One place in a text where a name stands. strong: its neighbours do not make it part of a longer name."""

    places: tuple[Place, ...]
    name: str
    in_title: bool = False
    strong: bool = True
    personal: bool = False  # a capitalised word stands before it, as a first name would
    located: bool = False  # after a preposition of place
    guarded: bool = False  # the name has another meaning
    cased: bool = False  # of a script with capitals


@dataclass(slots=True)
class _Found:
    place: Place
    name: str
    mentions: int = 0
    in_title: bool = False


class PlaceFinder:
    """Holds the gazetteer: make one an operator, in open()."""

    def __init__(self, gazetteer: Gazetteer, policy: PlacePolicy | None = None) -> None:
        self._names = gazetteer
        self._policy = policy or PlacePolicy()

    def places(self, title: str, lede: str, body: str, language: str, country: str) -> tuple[Entity, ...]:
        """The places an article names, those of title and lede first, then by mentions.

        language: of the text, for its common words; country: the publisher's, ISO 3166 alpha-2 or empty.
        """
        body = body[: self._policy.body_chars]
        if lede and body.startswith(lede[:80]):  # the lede is the body's beginning: read it once
            body = body[len(lede) :]
        mentions: list[_Mention] = []
        for text, in_title in ((title, True), (lede, True), (body, False)):
            for mention in self._mentions(text, language):
                mention.in_title = in_title
                mentions.append(mention)
        named = {
            mention.places[0].country
            for mention in mentions
            if mention.places[0].id.startswith("country:") and (mention.strong or not mention.guarded)
        }
        strong = {mention.name.casefold() for mention in mentions if mention.strong}
        located = {mention.name.casefold() for mention in mentions if mention.located}
        # "Andy Murray" once, then "Murray": a person, unless something happens in Murray too.
        strong -= {mention.name.casefold() for mention in mentions if mention.personal} - located
        found: dict[str, _Found] = {}
        for mention in mentions:
            name = mention.name.casefold()
            place = self._meant(mention, name in located, named, country) if name in strong else None
            if place is not None:
                entry = found.setdefault(place.id, _Found(place, mention.name))
                entry.mentions += 1
                entry.in_title = entry.in_title or mention.in_title
        ordered = sorted(found.values(), key=lambda entry: (not entry.in_title, -entry.mentions))
        return tuple(
            Entity(
                id=entry.place.id,
                name=entry.name,
                mentions=entry.mentions,
                in_title=entry.in_title,
                country=entry.place.country,
            )
            for entry in ordered[: self._policy.kept]
        )

    def _meant(self, mention: _Mention, located: bool, named: set[str], home: str) -> Place | None:
        """The place a mention means, or None where it cannot be told. located: some mention follows a preposition."""
        policy = self._policy
        best: tuple[float, Place] | None = None
        for place in mention.places:
            if place.id.startswith("country:"):
                return place
            near = place.country == home or place.country in named
            if place.population < SMALL_CITY and not (near and (located or not mention.cased)):
                continue
            if place.population < policy.sizeable and not (near or located):
                continue
            if mention.guarded and not (located or place.country in named):
                continue
            score = math.log10(max(place.population, 1)) - (0 if place.main else policy.alternate)
            score += policy.home * (place.country == home) + policy.mentioned * (place.country in named)
            if best is None or score > best[0]:
                best = (score, place)
        return best[1] if best else None

    def _mentions(self, text: str, language: str) -> Iterator[_Mention]:
        yield from self._spaced(text, language)
        if _UNSPACED_TEXT.search(text):
            yield from self._unspaced(text)
        if language == "en" and not text.isupper():
            for match in ABBREVIATIONS.finditer(text):
                code = ABBREVIATED[(match.lastindex or 1) - 1]
                yield _Mention((Place(f"country:{code}", code, 0),), match[0])

    def _spaced(self, text: str, language: str) -> Iterator[_Mention]:
        tokens = list(TOKEN.finditer(text))
        words = [token[0].casefold() for token in tokens]
        longer = [token[0][0].isupper() for token in tokens if len(token[0]) > 3]
        # In a headline in title case every name touches a capital, so its names need a second mention in the text.
        shouting = language != "de" and len(longer) > 2 and sum(longer) >= self._policy.title_case * len(longer)
        at = 0
        while at < len(tokens):
            match = self._longest_name(text, tokens, words, at)
            if match is None:
                at += 1
                continue
            size, places = match
            if places:
                mention = self._in_context(text, tokens, at, size, places, language, shouting)
                if mention is not None:
                    yield mention
            at += size

    def _longest_name(
        self, text: str, tokens: list[re.Match[str]], words: list[str], at: int
    ) -> tuple[int, tuple[Place, ...]] | None:
        names = self._names
        for size in range(min(names.longest.get(words[at], 0), len(tokens) - at), 0, -1):
            places = names.spaced.get(" ".join(words[at : at + size]))
            if places is not None and _together(text, tokens, at, size):
                return size, places
        if _HANGUL.match(words[at]):  # particles are written together with the noun
            for length in range(len(words[at]) - 1, 1, -1):
                places = names.spaced.get(words[at][:length])
                if places and len(words[at]) - length <= 3:
                    return 1, places
        elif bare := _PROCLITICS.sub("", words[at], count=1):
            places = names.spaced.get(bare) if bare != words[at] else None
            if places:
                return 1, places
        return None

    def _in_context(
        self,
        text: str,
        tokens: list[re.Match[str]],
        at: int,
        size: int,
        places: tuple[Place, ...],
        language: str,
        shouting: bool,
    ) -> _Mention | None:
        start, end = tokens[at].start(), tokens[at + size - 1].end()
        name = " ".join(text[start:end].split())
        cased = name[0].lower() != name[0].upper()
        if cased and not name[0].isupper():
            return None
        country = places[0].id.startswith("country:")
        largest = max(place.population for place in places)
        if not cased and not country and len(name) < 5 and largest < 1_000_000 and not _HANGUL.match(name):
            return None
        guarded = size == 1 and self._names.is_common_word(name, language)
        if country:
            if guarded:  # "Island" in English; a country's name in the text's own language is no common word
                return None
            guarded = places[0].id in _GUARDED
        mention = _Mention(places, name, guarded=guarded, cased=cased)
        mention.located = at > 0 and tokens[at - 1][0].casefold() in _PREPOSITIONS
        if cased and size == 1 and (guarded or not country):
            opening = guarded and bool(_OPENS.search(text[max(0, start - 4) : start]))
            mention.personal = not shouting and _after_a_name(text, tokens, at, language)
            longer = _after_a_name(text, tokens, at, language) or _before_a_name(text, tokens, at, language)
            mention.strong = not (opening or longer or (guarded and shouting))
        return mention

    def _unspaced(self, text: str) -> Iterator[_Mention]:
        names = self._names.unspaced
        at = 0
        while at < len(text):
            for size in range(min(self._names.longest_unspaced, len(text) - at), 1, -1):
                places = names.get(text[at : at + size])
                if places and not _cuts_katakana(text, at, at + size):
                    yield _Mention(places, text[at : at + size])
                    at += size - 1
                    break
            at += 1


def _cuts_katakana(text: str, start: int, end: int) -> bool:
    """Whether a run of katakana goes on at either side: Dubai is no part of the word for advice."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return bool(
        (_KATAKANA.match(text[start]) and _KATAKANA.match(before or " "))
        or (_KATAKANA.match(text[end - 1]) and _KATAKANA.match(after or " "))
    )


def _together(text: str, tokens: list[re.Match[str]], at: int, size: int) -> bool:
    """Whether the words of a name stand side by side: a space, point, hyphen or apostrophe may part them."""
    gaps = (text[tokens[index].end() : tokens[index + 1].start()] for index in range(at, at + size - 1))
    return all(gap.strip() in ("", ".", "'", "’", "-", "‐") and "\n" not in gap for gap in gaps)


def _after_a_name(text: str, tokens: list[re.Match[str]], at: int, language: str) -> bool:
    """Whether a capitalised word stands right before the one at `at`: "Andy Murray", "South Orange"."""
    if not at:
        return False
    before = tokens[at - 1]
    gap = text[before.end() : tokens[at].start()]
    if not before[0][0].isupper() or gap.strip() or "\n" in gap:
        return False
    # "Near Paris" opens a sentence; in German any word may, and so may a noun.
    opening = bool(_OPENS.search(text[max(0, before.start() - 4) : before.start()]))
    return not (opening and (before[0].casefold() in _PREPOSITIONS or language == "de"))


def _before_a_name(text: str, tokens: list[re.Match[str]], at: int, language: str) -> bool:
    """Whether a capitalised word follows: "Paris Hilton". German nouns do that all the time."""
    if at + 1 >= len(tokens) or language == "de":
        return False
    after = tokens[at + 1]
    gap = text[tokens[at].end() : after.start()]
    return after[0][0].isupper() and not gap.strip() and "\n" not in gap
