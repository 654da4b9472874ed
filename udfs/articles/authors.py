"""Who wrote it: people's names from bylines as they are typed, each once. No list of known people is consulted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lxml import etree, html

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
    """Names of the `author` of a JSON-LD node: strings, nodes, lists of either. People before organisations.

    publisher: the house's own names, which are nobody's byline.
    """
    values = value if isinstance(value, list) else [value]
    people: list[str] = []
    others: list[str] = []
    for entry in values:
        (others if _is_organisation(entry) else people).extend(_stated_names(entry))
    return names([*people, *others], publisher)


def house_as_author(value: Any, publisher: Iterable[str]) -> tuple[str, ...]:
    """The house itself, where the page says that it wrote: the last word where no other byline is found."""
    house = {folded(name) for name in publisher if name}
    values = value if isinstance(value, list) else [value]
    stated = names(name for entry in values for name in _stated_names(entry))
    return tuple(name for name in stated if folded(name) in house)


def _is_organisation(entry: Any) -> bool:
    return isinstance(entry, dict) and any("organi" in kind.lower() for kind in json_ld.types(entry))


def _stated_names(entry: Any) -> list[str]:
    if not isinstance(entry, dict):
        return json_ld.strings(entry)
    if entry.get("name"):
        return json_ld.strings(entry["name"])
    parts = (json_ld.string(entry.get(part)) for part in ("givenName", "familyName"))
    return [whole] if (whole := " ".join(part for part in parts if part)) else []


# What themes call the element that holds an author's name and little else.
_BYLINE_NAMES = re.compile(
    r"(?:^|[\s_-])(?:author-?_*(?:names?|links?|title)|byline-?_*(?:names?|authors?|links?)?|by-?author|vcard"
    r"|article-?_*authors?|post-?_*authors?|entry-?_*author|story-?_*authors?|person-?link|authors?|autor(?:en)?"
    r"|signature|reporter(?:-?name)?)(?=$|[\s_-])",
    re.IGNORECASE,
)
_BYLINES: Any = etree.XPath(
    "//*[@class and (contains(@class, 'uthor') or contains(@class, 'yline') or contains(@class, 'vcard')"
    " or contains(@class, 'person') or contains(@class, 'utor') or contains(@class, 'ignature')"
    " or contains(@class, 'eporter'))]"
)
_LINKED: Any = etree.XPath("//a[@rel='author']")
_COMMENTS = re.compile("comment|disqus|kommentar|related|recommend|teaser|card|popular|footer|sidebar", re.IGNORECASE)
_MAX_BYLINE_CHARS = 100
_MAX_CANDIDATES = 200
_MAX_WORDS = 4


def printed(tree: html.HtmlElement, publisher: Iterable[str] = ()) -> tuple[str, ...]:
    """Names in the page's own bylines, by the elements' names and rel=author; comments and cards are passed over.

    Of several bylines those of the first one's kind count: an article's authors stand in elements of one kind.
    """
    found: list[str] = []
    kind = ""
    for element in _BYLINES(tree)[:_MAX_CANDIDATES]:
        classes = element.get("class") or ""
        if len(classes) > 300 or (kind and classes != kind) or not (kind or _BYLINE_NAMES.search(classes)):
            continue
        more = _names_in(element)
        found += more
        kind = kind or (classes if more else "")
    for element in [] if found else _LINKED(tree)[:1]:
        found += _names_in(element)
    return names(found, publisher)


def _is_person(name: str) -> bool:
    """A person's name as printed: two to four words, each beginning with a capital, and no digit."""
    words = name.replace("'", " ").split()
    return 1 < len(words) <= _MAX_WORDS and all(word[0].isupper() for word in words) and not any(map(str.isdigit, name))


def _names_in(element: html.HtmlElement) -> list[str]:
    """The names an element prints: those of its links where it has any, else its text if that is a byline."""
    around = " ".join(f"{one.get('class') or ''} {one.get('id') or ''}" for one in element.iterancestors())
    if _COMMENTS.search(around[:5_000]):
        return []
    links = [" ".join(" ".join(map(str, link.itertext())).split()) for link in element.iter("a")]
    people = [text for text in links if _is_person(text)]
    if people:
        return people
    text = " ".join(" ".join(map(str, element.itertext())).split())
    return [text] if text and len(text) <= _MAX_BYLINE_CHARS and all(map(_is_person, names([text]))) else []


def signed(signs: Iterable[str], publisher: Iterable[str] = ()) -> tuple[str, ...]:
    """Names among the short lines around a text ("Ann Lee", "Ann Lee/Bo Ek"), where one is nothing but names."""
    for sign in signs:
        found = names(sign.split("/") if "/" in sign else [sign], publisher)
        if found and all(map(_is_person, found)):
            return found
    return ()


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
