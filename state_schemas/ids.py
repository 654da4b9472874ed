"""Identities: equal input gives equal ids, everywhere and for good.

Hashes are BLAKE2b, keyed by nothing: a fast, collision-resistant function, since publishers choose the input and
could otherwise forge another's id. In records every id is a string: 64 bits do not fit JavaScript's numbers.
"""

from __future__ import annotations

from hashlib import blake2b

from state_schemas.languages import language_number

STORY_MS_BITS, STORY_LANGUAGE_BITS, STORY_COUNTER_BITS = 42, 9, 13
_COUNTERS = 1 << STORY_COUNTER_BITS


def hash64(text: str) -> int:
    """64-bit hash of a text, unsigned."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def hash64_hex(text: str) -> str:
    """`hash64` as 16 hex digits."""
    return f"{hash64(text):016x}"


def article_id(canonical_url: str) -> str:
    """128-bit hash of the canonical URL, 32 hex digits."""
    return blake2b(canonical_url.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def feed_id(url: str) -> str:
    """64-bit hash of the address a feed was registered under, 16 hex digits; it stays when the feed moves."""
    return hash64_hex(url)


def story_id(minted_ms: int, language: str, counter: int) -> str:
    """A time-ordered story id: 42 bits ms UTC, 9 language, 13 counter; 16 hex digits, sorted by time.

    Raises ValueError outside these ranges: 8,192 stories a millisecond and language are our bug.
    """
    number = language_number(language)
    if not 0 <= minted_ms < 1 << STORY_MS_BITS:
        raise ValueError(f"story id: {minted_ms} ms does not fit {STORY_MS_BITS} bits")
    if not 0 <= counter < _COUNTERS:
        raise ValueError(f"story id: counter {counter} does not fit {STORY_COUNTER_BITS} bits")
    value = minted_ms << (STORY_LANGUAGE_BITS + STORY_COUNTER_BITS) | number << STORY_COUNTER_BITS | counter
    return f"{value:016x}"


def story_id_parts(story: str) -> tuple[int, int, int]:
    """(minted ms, language number, counter) of a story id. Raises ValueError on anything else."""
    if len(story) != 16:
        raise ValueError(f"{story!r} is no story id: 16 hex digits")
    value = int(story, 16)
    return (
        value >> (STORY_LANGUAGE_BITS + STORY_COUNTER_BITS),
        value >> STORY_COUNTER_BITS & ((1 << STORY_LANGUAGE_BITS) - 1),
        value & (_COUNTERS - 1),
    )


def change_id(language: str, epoch: int, sequence: int) -> str:
    """The name of one change: gapless within a language's epoch."""
    return f"{language}-{epoch}-{sequence}"
