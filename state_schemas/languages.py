"""The languages in the order of their news volume: the one append-only table that ids and Flink keys come from.

The number of a language stands inside story ids; a new language is added at the end, never in between.
Languages that are not here share the key and number of `und`.
"""

from __future__ import annotations

UNKNOWN = "und"

# Append only. Index + 1 = language number in story ids (0 is `und`).
LANGUAGES: tuple[str, ...] = (
    "en", "es", "de", "fr", "pt", "ru", "ja", "ar", "zh", "it", "hi", "tr", "id", "ko", "pl", "nl",
    "vi", "fa", "uk", "th", "bn", "el", "sv", "ro", "cs", "hu", "he", "da", "fi", "no", "ta", "te",
    "ml", "mr", "ur", "bg", "sr", "hr", "sk", "sl", "lt", "lv", "et", "ms", "ca", "sw", "tl", "gu",
    "kn", "pa", "si", "my", "km", "ne", "ka", "hy", "az", "kk", "uz", "sq", "mk", "bs", "is", "af",
)  # fmt: skip

_NUMBERS: dict[str, int] = {UNKNOWN: 0} | {code: index + 1 for index, code in enumerate(LANGUAGES)}


def known_language(code: str) -> str:
    """The base language of a BCP 47 tag ("pt-BR" -> "pt", "nb" -> "no"), or `und`."""
    base = code.replace("_", "-").split("-", 1)[0].strip().lower()
    base = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "fil": "tl", "sh": "sr", "cmn": "zh"}.get(base, base)
    return base if base in _NUMBERS else UNKNOWN


def language_number(code: str) -> int:
    """The number of a language in story ids, 0 for `und` and everything unknown."""
    return _NUMBERS.get(code, 0)
