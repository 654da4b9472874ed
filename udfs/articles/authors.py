"""Who wrote it: people's names from bylines as they are typed, each once. No list of known people is consulted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from udfs.articles import json_ld
from udfs.articles.text import clean_line, folded, text_of_html

_MAX_AUTHORS = 12
_MAX_NAME_CHARS = 80
_BY = re.compile(
    r"^(?:by|von|par|por|de|di|da|door|av|af|od|autor(?:en|es|in)?|author|texte?|text|written by|reporting by|"
    r"από|автор|від|oleh|yazan|文|記者|著者)\s*[:：]?\s+",
    re.IGNORECASE,
)
_AND = re.compile(
    r"\s*(?:[;|/•·、]|\s(?:and|und|et|y|e|en|og|och|ja|a|i|и|та|ve|&|with|avec|mit)\s|,\s*(?:and|und|et|y)\s)\s*"
)
_URL = re.compile(r"https?://|www\.|@\w+\.\w", re.IGNORECASE)
_NO_NAMES = """
    admin administrator editor redaktion redactie redaction redazione redacción redação newsroom staff webmaster unknown
    anonymous author none null undefined
"""
_WORTHLESS = frozenset(_NO_NAMES.split())


def from_json_ld(value: Any, publisher: Iterable[str] = ()) -> tuple[str, ...]:
    """Names of the `author` of a JSON-LD node: strings, nodes, lists of either. People before organisations."""
    values = value if isinstance(value, list) else [value]
    people: list[str] = []
    others: list[str] = []
    for entry in values:
        name = entry.get("name") if isinstance(entry, dict) else entry
        organisation = isinstance(entry, dict) and any("organi" in kind.lower() for kind in json_ld.types(entry))
        (others if organisation else people).extend(json_ld.strings(name))
    return names(people, publisher) or names(others)


def names(texts: Iterable[str], publisher: Iterable[str] = ()) -> tuple[str, ...]:
    """The names in bylines, in order, each once; `publisher`: names that are the house's own, not a person's."""
    house = {folded(name) for name in publisher if name}
    found: dict[str, str] = {}
    for text in texts:
        for name in _split(clean_line(text_of_html(text))):
            key = folded(name)
            if name and key not in found and key not in house and key not in _WORTHLESS and not _URL.search(name):
                found[key] = name
    return tuple(found.values())[:_MAX_AUTHORS]


def _split(byline: str) -> Iterable[str]:
    if _URL.match(byline):
        return
    for part in _AND.split(_BY.sub("", byline)):
        pieces = [piece.strip(" ,.") for piece in part.split(",")]
        # "Ann Lee, Bo Ek" are two; "Lee, Ann" is one, and what follows "Ann Lee," alone is her post.
        if len(pieces) > 1 and not all(len(piece.split()) in (2, 3, 4) for piece in pieces):
            pieces = [part.strip(" ,")] if len(pieces[0].split()) < 2 else pieces[:1]
        for piece in pieces:
            if 1 < len(piece) <= _MAX_NAME_CHARS and any(char.isalpha() for char in piece):
                yield piece
