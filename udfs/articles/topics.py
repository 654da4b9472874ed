"""Which of the sections an article belongs to, by the publisher's own words: path, articleSection, keywords, category.

No text is read. A publisher's word counts by where it stands; the feed's category, given when it was registered, is
the answer where nothing else is known.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from urllib.parse import unquote, urlsplit

from udfs.sections import SECTION_IDS

# What a word says by where it stands. A section name is meant as one; keywords name whatever occurs in the text.
_WEIGHTS = {"section": 3.0, "path": 2.0, "keyword": 1.0, "category": 1.5}
# A second topic must have this share of the first's weight.
_SECOND = 0.5
_MOST = 2
_PATH_SEGMENTS = 3
_SEPARATORS = re.compile(r"\s*(?:[/|>»,;:·]|\s[-–]\s)\s*")

# Publisher's word and language -> section id, or None. `udfs.sections.SectionTerms.section_of`.
SectionOf = Callable[[str, str], str | None]


def topics(
    url: str, section: str, keywords: Iterable[str], category: str, language: str, section_of: SectionOf
) -> tuple[str, ...]:
    """The article's sections, likeliest first, at most two; empty where nothing is known.

    url: canonical; section: as the page states it; category: one of the sections, as the feed was registered, or empty.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for word in _words(section):
        _count(weights, section_of(word, language), _WEIGHTS["section"])
    for place, segment in enumerate(_segments(url)):
        # The first segment is the section, the ones after it are narrower or a headline.
        _count(weights, section_of(segment, language), _WEIGHTS["path"] / (place + 1))
    for keyword in list(keywords)[:8]:
        _count(weights, section_of(keyword, language), _WEIGHTS["keyword"])
    if category in SECTION_IDS[1:]:  # all but "top": a place on a front page is no topic
        weights[category] += _WEIGHTS["category"]
    if not weights:
        return ()
    ranked = sorted(weights, key=lambda name: (-weights[name], name))
    return tuple(name for name in ranked[:_MOST] if weights[name] >= _SECOND * weights[ranked[0]])


def _count(weights: defaultdict[str, float], section: str | None, weight: float) -> None:
    if section:
        weights[section] += weight


def _words(section: str) -> list[str]:
    """A section as stated, and its parts: "News / Sport" names two."""
    parts = [part for part in _SEPARATORS.split(section) if part]
    return [section, *parts] if len(parts) > 1 else parts


def _segments(url: str) -> list[str]:
    """The first path segments that may be sections: no dates, numbers or file names."""
    found = []
    for segment in urlsplit(url).path.split("/"):
        word = unquote(segment)
        if word and len(word) <= 40 and not any(char.isdigit() for char in word) and "." not in word:
            found.append(word)
    return found[:_PATH_SEGMENTS]
