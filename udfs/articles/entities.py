"""The entities an article keeps: places, people and organisations, named in its text or stated by its publisher.

Joins `places.py`, `names.py` and `stated_entities.py`: a word that is part of a person's or an organisation's name
is no place; what the publisher states is believed where the text names it, or where it gives a Wikidata item.
At most 40.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from state_schemas.articles import Entity
from udfs.articles.gazetteer import Gazetteer, fold_tokens, rows
from udfs.articles.name_index import NameIndex
from udfs.articles.names import FoundName, NameFinder, unlinked_id
from udfs.articles.places import PlaceFinder, PlacePolicy, texts_of
from udfs.articles.stated_entities import Mention

# The file of names that `broadsheet gazetteer build` writes; the seed stands in where it is absent.
NAMES_FILE = "names.gazetteer"
SEED_FILE = "names.tsv"
_PLACE_TYPES = ("place", "country", "region")


@dataclass(frozen=True, slots=True)
class EntityPolicy:
    """How many entities an article keeps."""

    kept: int = 40  # what the cluster stage reads (udfs/stories/terms.py)


class EntityFinder:
    """Holds both gazetteers: make one an operator, in open()."""

    def __init__(self, places: Gazetteer, names: NameIndex, policy: EntityPolicy | None = None) -> None:
        self.gazetteer = places
        self._policy = policy or EntityPolicy()
        self._place_policy = PlacePolicy()
        self._places = PlaceFinder(places, self._place_policy)
        self._names = NameFinder(names, places)

    def entities(
        self, title: str, lede: str, body: str, language: str, country: str, stated: tuple[Mention, ...] = ()
    ) -> tuple[Entity, ...]:
        """The entities of an article: those of title and lede first, then by mentions.

        language: of the text; country: the publisher's, ISO 3166 alpha-2 or empty; stated: by the page's JSON-LD.
        """
        texts = texts_of(title, lede, body, self._place_policy.body_chars)
        ids = frozenset(mention.id for mention in stated if mention.id)
        names = self._names.names(texts, language, ids)
        spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for name in names:
            for number, start, end in name.spans:
                spans[number].append((start, end))

        def taken(number: int, start: int, end: int) -> bool:
            return any(first < end and start < last for first, last in spans[number])

        places = self._places.places(title, lede, body, language, country, taken if names else None)
        found = [*places, *_stated(stated, names, places, texts)]
        found.sort(key=lambda entity: (not entity.in_title, -entity.mentions))
        return tuple(found[: self._policy.kept])


def load_entity_finder(reference_data: Path) -> EntityFinder:
    """The finder of a folder of reference data. Raises OSError, NamesError where a file is missing or damaged."""
    return EntityFinder(Gazetteer(reference_data), load_names(reference_data))


def load_names(reference_data: Path) -> NameIndex:
    """The built gazetteer of names where there is one, else the seed."""
    built = reference_data / NAMES_FILE
    if built.is_file():
        return NameIndex.open(built)
    return NameIndex.of((row[0], row[1], row[3], float(row[4])) for row in rows(reference_data / SEED_FILE))


def _stated(
    stated: tuple[Mention, ...], names: list[FoundName], places: tuple[Entity, ...], texts: tuple[str, str, str]
) -> list[Entity]:
    """The names found, and what is stated beside them; a stated Wikidata item replaces an id of ours."""
    by_name = {fold_tokens(name.name): name for name in names}
    placed = {fold_tokens(place.name) for place in places}
    folded = [f" {fold_tokens(text)} " for text in texts] if stated else []
    entities: list[Entity] = []
    for mention in stated:
        key = fold_tokens(mention.name) or mention.name
        name = by_name.get(key)
        if name is not None:
            name.id = mention.id or name.id
            name.type = mention.type if mention.type != "other" else name.type
            continue
        if key in placed or (mention.type in _PLACE_TYPES and not mention.id):
            continue
        counts = [text.count(f" {key} ") for text in folded]
        if mention.id or sum(counts):
            entities.append(
                Entity(
                    id=mention.id or unlinked_id(key),
                    name=mention.name,
                    mentions=max(sum(counts), 1),
                    in_title=bool(counts[0] or counts[1]),
                    type=mention.type,
                )
            )
    known = {entity.id for entity in entities}
    for name in names:
        if name.id not in known:
            entities.append(
                Entity(
                    id=name.id,
                    name=name.name,
                    mentions=len(set(name.spans)),
                    in_title=any(number < 2 for number, _, _ in name.spans),
                    type=name.type,
                )
            )
            known.add(name.id)
    return entities
