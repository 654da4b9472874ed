"""How near an extracted article comes to the truth: scores in [0, 1], the same for every extractor. No I/O, no clock.

Words are runs of letters, marks and digits, case folded; a letter of a script that is written without spaces (Han,
kana, Thai, Lao, Khmer, Burmese) is a word of its own. Token F1 compares bags of words, shingle F1 sets of five words in
a row: the first says how much text was found, the second also whether it is in order and in one piece.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from urllib.parse import unquote, urlsplit

from udfs.articles.text import clean_line, folded

SHINGLE_WORDS = 5
MINUTE_MS = 60_000
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    return _WORD.findall(text.casefold())


def token_f1(found: str, true: str) -> float:
    """F1 of the two bags of words; 1 where both are empty."""
    return _f1(Counter(words(found)), Counter(words(true)))


def shingle_f1(found: str, true: str) -> float:
    """F1 of the two sets of word 5-grams; a shorter text is one shingle."""
    return _f1(Counter(_shingles(found)), Counter(_shingles(true)))


def name_f1(found: Iterable[str], true: Iterable[str]) -> float:
    """F1 of two sets of names, folded; 1 where both are empty."""
    return _f1(Counter({folded(name) for name in found}), Counter({folded(name) for name in true}))


def same_line(found: str, true: str) -> bool:
    """Equal, but for Unicode's composed forms, kinds of space and invisible characters."""
    return clean_line(found) == clean_line(true)


def same_folded(found: str, true: str) -> bool:
    """Equal as `same_line`, and for kinds of quotation mark, dash and case."""
    return folded(clean_line(found)) == folded(clean_line(true))


def same_image(found: str, true: str) -> bool:
    """The same picture: equal but for scheme, host alias and what follows "?" (publishers' sizes and crops)."""
    return bool(found) and _image_key(found) == _image_key(true)


def within_minute(found_ms: int | None, true_ms: int) -> bool:
    return found_ms is not None and abs(found_ms - true_ms) <= MINUTE_MS


def true_ms(text: str) -> int | None:
    """ms UTC of a date of the truth file: ISO 8601, without an offset UTC; None where there is none."""
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def mean(values: Iterable[float]) -> float:
    """The mean, 0 of none."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def worst(
    rows: Iterable[tuple[str, float]], count: int, key: Callable[[str], str] = str
) -> list[tuple[str, float, int]]:
    """(group, mean, size) of the groups with the lowest means; `key` names a row's group."""
    groups: dict[str, list[float]] = {}
    for name, value in rows:
        groups.setdefault(key(name), []).append(value)
    found = [(name, mean(values), len(values)) for name, values in groups.items()]
    return sorted(found, key=lambda one: (one[1], one[0]))[:count]


def _shingles(text: str) -> set[str]:
    found = words(text)
    if len(found) <= SHINGLE_WORDS:
        return {" ".join(found)} if found else set()
    return {" ".join(found[at : at + SHINGLE_WORDS]) for at in range(len(found) - SHINGLE_WORDS + 1)}


def _f1(found: Counter[str], true: Counter[str]) -> float:
    if not found and not true:
        return 1.0
    shared = (found & true).total()
    return 2 * shared / (found.total() + true.total())


def _image_key(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return url
    return f"{(parts.hostname or '').removeprefix('www.')}{unquote(parts.path)}"
