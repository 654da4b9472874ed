"""What a page's JSON-LD states that its article is about: names with a type, and the Wikidata item where it says so.

Reads `about` and `mentions` of the article's node. A statement of publishers is a hint: whether the text names it
too is asked in `entities.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

MAX_MENTIONS = 20
_MAX_NAME_CHARS = 80
_WIKIDATA = re.compile(r"^https?://(?:www\.|m\.)?wikidata\.org/(?:wiki|entity)/(Q[1-9]\d{0,10})/?(?:[#?].*)?$")
_TYPES = {
    "person": "person", "organization": "organisation", "corporation": "organisation", "newsmediaorganization":
    "organisation", "sportsteam": "organisation", "sportsorganization": "organisation", "governmentorganization":
    "organisation", "politicalparty": "organisation", "ngo": "organisation", "collegeoruniversity": "organisation",
    "educationalorganization": "organisation", "musicgroup": "organisation", "place": "place", "city": "place",
    "country": "country", "state": "region", "administrativearea": "region",
}  # fmt: skip


class Mention(msgspec.Struct, frozen=True, omit_defaults=True):
    """A thing that a page states its article is about. type: as in `Entity`; id: "wd:Q42", or empty."""

    name: str
    type: str = "other"
    id: str = ""


def stated_mentions(node: dict[str, Any]) -> tuple[Mention, ...]:
    """The mentions of an article's JSON-LD node, each name once, at most 20; never raises."""
    found: dict[str, Mention] = {}
    for key in ("about", "mentions"):
        for value in _flat(node.get(key)):
            mention = _mention(value)
            if mention is not None and (mention.id or mention.name not in found):
                found.setdefault(mention.id or mention.name, mention)
            if len(found) >= MAX_MENTIONS:
                return tuple(found.values())
    return tuple(found.values())


def _flat(value: Any) -> Iterator[dict[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return (entry for entry in values[:200] if isinstance(entry, dict))


def _mention(value: dict[str, Any]) -> Mention | None:
    name = value.get("name")
    if isinstance(name, list):
        name = name[0] if name else ""
    if isinstance(name, dict):
        name = name.get("@value")
    if not isinstance(name, str):
        return None
    name = " ".join(name.split())
    if not 2 <= len(name) <= _MAX_NAME_CHARS:
        return None
    kinds = value.get("@type", "")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    kind = next((_TYPES[short] for one in kinds if isinstance(one, str) and (short := _short(one)) in _TYPES), "other")
    identity = ""
    same = value.get("sameAs")
    for address in [*(same if isinstance(same, list) else [same]), value.get("@id")]:
        match = _WIKIDATA.match(address) if isinstance(address, str) else None
        if match:
            identity = f"wd:{match[1]}"
            break
    if kind == "other" and not identity:
        return None  # keywords as things: they are read as keywords
    return Mention(name, kind, identity)


def _short(kind: str) -> str:
    return re.split(r"[/#:]", kind)[-1].lower()
