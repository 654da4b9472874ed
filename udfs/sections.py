"""What the sections of an edition are called, and which section a publisher's own word for a topic means.

Reads reference_data/sections.toml, purely: text in, sections and faults out. Which section a story stands in is not
decided here. Read in this order: Section, SectionTerms, parse_sections.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from udfs.reference_faults import Fault, line_of, parse_toml

if TYPE_CHECKING:
    from udfs.editions import Edition

FILE = "sections.toml"
SECTION_IDS = (
    "top",
    "world",
    "nation",
    "local",
    "business",
    "technology",
    "entertainment",
    "sports",
    "science",
    "health",
    "politics",
    "climate",
)
# Letters that Unicode does not decompose but addresses write plainly, and signs that stand for a space there.
_PLAIN = str.maketrans("łøđı’-_+", "lodi'   ")


@dataclass(frozen=True, slots=True)
class Section:
    """A topic of an edition: its names by lower-case language tag, and publishers' words for it by language."""

    id: str
    names: Mapping[str, str]
    terms: Mapping[str, tuple[str, ...]]

    def name(self, edition: Edition) -> str:
        """The section's name in the words of this edition.

        Raises KeyError where it has none: a fault of the file, which parse_sections reports.
        """
        for tag in edition.name_tags():
            if tag in self.names:
                return self.names[tag]
        raise KeyError(f"{self.id} has no name for edition {edition.id}")


def fold_term(term: str) -> str:
    """A section word as it is compared: without case, accents, hyphens and underscores, words one space apart."""
    letters = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", term).casefold())
    # Only the combining marks of Latin, Greek and Cyrillic go: the vowel signs of Indic scripts are letters.
    text = unicodedata.normalize("NFC", "".join(c for c in letters if not "\u0300" <= c <= "\u036f"))
    return " ".join(text.replace("æ", "ae").replace("œ", "oe").translate(_PLAIN).split())


class SectionTerms:
    """sections.toml turned round: from a publisher's word to the section. Read-only after construction."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._by_language: dict[str, dict[str, str]] = {}
        meanings: dict[str, dict[str, str]] = {}
        for section in sections:
            for language, terms in section.terms.items():
                for term in map(fold_term, terms):
                    self._by_language.setdefault(language, {})[term] = section.id
                    meanings.setdefault(term, {})[language] = section.id
        # A word that means one thing everywhere helps with a publisher who files French articles under /sports/.
        # English, or two languages, must know it: "hot" is show business on Indonesian sites alone.
        self._anywhere = {
            term: next(iter(by_language.values()))
            for term, by_language in meanings.items()
            if len(set(by_language.values())) == 1 and (len(by_language) > 1 or "en" in by_language)
        }

    def section_of(self, term: str, language: str) -> str | None:
        """The section that a path segment, feed category or articleSection means in an article of `language`.

        None for a word nobody listed. Never "top": a place on a front page is no topic.
        """
        folded = fold_term(term)
        return self._by_language.get(language, {}).get(folded) or self._anywhere.get(folded)


def parse_sections(text: str, editions: Sequence[Edition], faults: list[Fault]) -> tuple[Section, ...]:
    """The sections in the page's order; what is wrong is appended to `faults`.

    Every section must have a name for each of `editions`, and every section but "top" terms in each of their languages.
    """
    document = parse_toml(FILE, text, faults)
    if document is None:
        return ()
    if tuple(document) != SECTION_IDS:
        faults.append(Fault(FILE, 0, "", f"must hold exactly, in this order: {', '.join(SECTION_IDS)}"))
    sections: list[Section] = []
    for identifier, table in document.items():
        section, reasons = _section(identifier, table)
        line = line_of(text, f"[{identifier}.names]")
        faults.extend(Fault(FILE, line, identifier, reason) for reason in reasons)
        if section is not None:
            sections.append(section)
            faults.extend(_gaps(text, section, editions))
    faults.extend(_claimed_twice(text, sections))
    return tuple(sections)


def _section(identifier: str, table: Any) -> tuple[Section | None, list[str]]:
    """A section, or None and the reasons why the table is none."""
    names = table.get("names") if isinstance(table, dict) else None
    terms = table.get("terms", {}) if isinstance(table, dict) else None
    if not isinstance(names, dict) or not isinstance(terms, dict):
        return None, ["must hold the tables names and terms"]
    reasons = [f"unknown key {key}" for key in table if key not in {"names", "terms"}]
    for tag, name in names.items():
        if not isinstance(name, str) or not name.strip():
            reasons.append(f"name in {tag} must be a non-empty string")
    for language, words in terms.items():
        if not isinstance(words, list) or not all(isinstance(word, str) and fold_term(word) for word in words):
            reasons.append(f"terms in {language} must be a list of words")
        elif capitals := [word for word in words if word != word.lower()]:
            reasons.append(f"terms in {language} must be lower case: {', '.join(capitals)}")
    if reasons:
        return None, reasons
    return Section(identifier, dict(names), {language: tuple(words) for language, words in terms.items()}), []


def _gaps(text: str, section: Section, editions: Sequence[Edition]) -> list[Fault]:
    """Editions that have no name for the section, languages that have no terms for it."""
    names_line = line_of(text, f"[{section.id}.names]")
    terms_line = line_of(text, f"[{section.id}.terms]")
    found = [
        Fault(FILE, names_line, section.id, f"no name for edition {edition.id}")
        for edition in editions
        if not any(tag in section.names for tag in edition.name_tags())
    ]
    if section.id != "top":
        found += [
            Fault(FILE, terms_line, section.id, f"no terms in {language}")
            for language in sorted({edition.language for edition in editions})
            if not section.terms.get(language)
        ]
    return found


def _claimed_twice(text: str, sections: Sequence[Section]) -> list[Fault]:
    """Words that two sections claim in one language: a lookup could give only one of them."""
    found: list[Fault] = []
    owners: dict[tuple[str, str], str] = {}
    for section in sections:
        for language, words in section.terms.items():
            for word in words:
                owner = owners.setdefault((language, fold_term(word)), section.id)
                if owner != section.id:
                    line = line_of(text, f"[{section.id}.terms]")
                    found.append(Fault(FILE, line, section.id, f"{word!r} in {language} is a term of {owner} too"))
    return found
