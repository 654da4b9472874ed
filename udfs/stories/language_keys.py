"""Which Flink key a language's writer, aggregates and pages hang on: a table, appended to and never changed.

Flink sends a key to key group murmur(hash(key)) mod max parallelism, and key groups to subtasks in equal runs. With the
language codes themselves as keys, English and Spanish may well share a subtask. So the i-th largest language gets a
number that falls in key group bitreverse(i) of 128: at any parallelism that is a power of two, the largest languages
stand on different subtasks. A changed number would lose that language's state. Nothing here touches Flink;
tests/unit/test_stories_language_keys.py holds the table against the JVM's own assignment of the key PyFlink makes.
"""

from __future__ import annotations

from state_schemas.languages import LANGUAGES, UNKNOWN, known_language

MAX_PARALLELISM = 128

# Place i: the smallest number >= 0 whose key group is bitreverse(i), in the order of state_schemas.languages.
# Append only.
_KEYS: tuple[int, ...] = (
    250, 22, 13, 113, 299, 8, 238, 101, 295, 239, 55, 3, 95, 44, 16, 29, 39, 47, 157, 119, 230, 21, 348, 24, 23, 280,
    1, 79, 40, 84, 116, 25, 89, 53, 87, 306, 195, 176, 362, 307, 136, 141, 12, 59, 42, 143, 137, 114, 220, 212, 332, 62,
    36, 923, 194, 52, 73, 107, 138, 273, 49, 132, 37, 67,
)  # fmt: skip
_UNKNOWN_KEY = 85  # key group 127: the last one that bitreverse reaches

_BY_LANGUAGE: dict[str, int] = dict(zip(LANGUAGES, _KEYS, strict=True)) | {UNKNOWN: _UNKNOWN_KEY}
_BY_KEY: dict[int, str] = {key: language for language, key in _BY_LANGUAGE.items()}


def language_key(language: str) -> int:
    """The Flink key (type INT) of a BCP 47 tag; languages outside the table share that of `und`."""
    return _BY_LANGUAGE[known_language(language)]


def language_of_key(key: int) -> str:
    """The language whose writer lives at `key`. Raises KeyError on a number that is no language's key."""
    return _BY_KEY[key]


def wanted_key_group(place: int) -> int:
    """bitreverse over 7 bits of a language's place in the table: 0, 64, 32, 96, 16, ..."""
    return int(f"{place:07b}"[::-1], 2)


def key_group(key: int) -> int:
    """Flink's key group of `key`, as PyFlink keys by it (a Row of one INT), at MAX_PARALLELISM.

    Source: Row.hashCode (62 + the number, for one INT field of kind INSERT), MathUtils.murmurHash and
    KeyGroupRangeAssignment.assignToKeyGroup of Flink 2.3.0.
    """
    mask = 0xFFFF_FFFF
    code = (62 + key) & mask
    code = code * 0xCC9E_2D51 & mask
    code = (code << 15 | code >> 17) & mask
    code = code * 0x1B87_3593 & mask
    code = (code << 13 | code >> 19) & mask
    code = (code * 5 + 0xE654_6B64) & mask
    code ^= 4
    code ^= code >> 16
    code = code * 0x85EB_CA6B & mask
    code ^= code >> 13
    code = code * 0xC2B2_AE35 & mask
    code ^= code >> 16
    signed = code - (1 << 32) if code >> 31 else code
    return (0 if signed == -(1 << 31) else abs(signed)) % MAX_PARALLELISM
