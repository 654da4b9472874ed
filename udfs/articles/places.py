"""Which countries, regions and cities an article names, as linked entities: Tokyo, Tokio and 東京 are one id.

Precision first: a word that is also a common word ("Reading", "Nice", "Of") or stands inside a longer name ("Paris
Hilton") needs more than its spelling to be a place. Where names stand is read in `place_mentions.py`; here is decided
which of them count, and which place each means: by weight, by the countries the text names, by the publisher's country.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from state_schemas.articles import Entity
from udfs.articles.gazetteer import HANGUL, Gazetteer, Place, fold
from udfs.articles.place_mentions import PlaceMention, mentions_of


@dataclass(frozen=True, slots=True)
class PlacePolicy:
    """Source of the values: tried on captured pages and on the first half of the labelled mentions (docs/entities.md).

    Weights are decades of people, as in `gazetteer.City`.
    """

    body_chars: int = 4_000  # of the body that are read: where something happened stands early
    kept: int = 12  # places an article
    small: float = 5.2  # a smaller city counts near home or a country named, and after a preposition
    sizeable: float = 5.65  # a smaller city counts near home, near a country named, or after a preposition
    known: float = 6.0  # a city from here on says which country a text is about
    certain: float = 7.0  # a city from here on is meant by its name whatever follows it once
    short: float = 6.3  # a name below five letters without capitals is of a place of this weight, or near
    home: float = 1.0  # what the publisher's country is worth
    home_region: float = 2.0  # the same for a region: Georgia, to a publisher in the United States
    mentioned: float = 1.5  # what a country that the text names is worth
    alternate: float = 0.5  # what a name is worth less when it is not the city's main one


@dataclass(slots=True)
class _Found:
    place: Place
    name: str
    mentions: int = 0
    in_title: bool = False


# Whether the characters start to end of a text are part of a longer name: (which text, start, end).
Taken = Callable[[int, int, int], bool]


class PlaceFinder:
    """Holds the gazetteer: make one an operator, in open()."""

    def __init__(self, gazetteer: Gazetteer, policy: PlacePolicy | None = None) -> None:
        self._names = gazetteer
        self._policy = policy or PlacePolicy()

    def places(
        self, title: str, lede: str, body: str, language: str, country: str, taken: Taken | None = None
    ) -> tuple[Entity, ...]:
        """The places an article names, those of title and lede first, then by mentions.

        language: of the text, for its common words and endings; country: the publisher's, ISO 3166 alpha-2 or empty.
        taken: what is part of a name already, by text (0 title, 1 lede, 2 body as given by `texts_of`).
        """
        mentions: list[PlaceMention] = []
        for number, text in enumerate(texts_of(title, lede, body, self._policy.body_chars)):
            for mention in mentions_of(text, language, self._names):
                if taken is None or not taken(number, mention.start, mention.end):
                    mention.in_title = number < 2
                    mentions.append(mention)
        named = self._countries_named(mentions)
        strong = {fold(mention.name) for mention in mentions if mention.strong}
        located = {fold(mention.name) for mention in mentions if mention.located and mention.strong}
        # "Andy Murray" once, then "Murray": a person, unless something happens in Murray too.
        strong -= {fold(mention.name) for mention in mentions if mention.personal} - located
        # "Victoria Dorval" once, then "Victoria"; "Detroit Lions", then "Detroit": the same, but for large cities.
        strong -= {fold(one.name) for one in mentions if one.leading and self._mistakable(one.places)} - located
        # "Palm Beach in Florida" once: the same everywhere in the text.
        qualified = {fold(one.name): one for one in mentions if one.within}
        found: dict[str, _Found] = {}
        for mention in mentions:
            told = qualified.get(fold(mention.name))
            if told is not None and not mention.within:
                mention.within, mention.inside = told.within, told.inside
            name = fold(mention.name)
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
                type=entry.place.type,
            )
            for entry in ordered[: self._policy.kept]
        )

    def _mistakable(self, places: tuple[Place, ...]) -> bool:
        """Whether a name followed by another is more likely of a person or a team."""
        first = places[0]
        return first.type == "place" and not (first.main and first.weight >= self._policy.certain)

    def _countries_named(self, mentions: list[PlaceMention]) -> set[str]:
        """The countries that a text names by themselves, or by a city that can be no other."""
        named: set[str] = set()
        for mention in mentions:
            first = mention.places[0]
            if first.type == "country" and len(mention.places) == 1:
                sure = mention.strong or not mention.guarded
            else:
                alone = len({place.country for place in mention.places}) == 1
                sure = alone and mention.strong and not mention.guarded and first.weight >= self._policy.known
            if sure and not (mention.guarded and first.type == "country" and not mention.located):
                named.add(first.country)
        return named

    def _meant(self, mention: PlaceMention, located: bool, named: set[str], home: str) -> Place | None:
        """The place a mention means, or None where it cannot be told. located: some mention follows a preposition."""
        policy = self._policy
        best: tuple[float, Place] | None = None
        within = [place for place in mention.places if place.country == mention.within and place.type == "place"]
        if within:
            return max(within, key=lambda place: place.weight)
        if mention.inside:
            return None
        for place in mention.places:
            if not self._counts(place, mention, located, named, home):
                continue
            score = place.weight - (0 if place.main else policy.alternate)
            at_home = policy.home_region if place.type == "region" else policy.home
            score += at_home * (place.country == home) + policy.mentioned * (place.country in named)
            if best is None or score > best[0]:
                best = (score, place)
        return best[1] if best else None

    def _counts(self, place: Place, mention: PlaceMention, located: bool, named: set[str], home: str) -> bool:
        """Whether a place is large or near enough to be meant, and the name more than a word."""
        policy = self._policy
        near = place.country == home or place.country in named
        if place.type != "place":
            return not mention.guarded or located or mention.inner or near
        if not mention.cased and len(mention.name) < 5 and not HANGUL.match(mention.name) and " " not in mention.name:
            unspaced = mention.name in self._names.unspaced
            if not unspaced and place.weight < policy.short and not (near and place.weight >= policy.small):
                return False
        if place.weight < policy.small and not (located or not mention.cased):
            return False
        if place.weight < policy.small and place.country != home and (home or named != {place.country}):
            return False
        if place.weight < policy.sizeable and not (near or located):
            return False
        if mention.guarded:
            if located:
                return near or place.weight >= policy.sizeable
            at_home = place.country == home and place.weight >= policy.small
            if not mention.cased:
                return place.country in named
            return mention.inner and (place.country in named or at_home)
        return True


def texts_of(title: str, lede: str, body: str, body_chars: int) -> tuple[str, str, str]:
    """Title, lede and the beginning of the body, without the lede where the body begins with it: read once."""
    body = body[:body_chars]
    if lede and body.startswith(lede[:80]):
        body = body[len(lede) :]
    return title, lede, body
