"""Which characters of a publisher's text are kept. Decides on characters alone: no markup, no entities, no language.

Taken out: controls, bidi overrides, embeddings and isolates, zero-width and other invisible characters, tag and
interlinear characters, private use, noncharacters, lone surrogates. Joiners stay only where a script or an emoji needs
them. What is left is Unicode NFC. `clean_line` and `clean_text` are idempotent, and nothing forbidden outlives them.
"""

from __future__ import annotations

import re
import unicodedata

# Longest title and body kept, characters: ten times what the longest honest ones have.
MAX_LINE_CHARS = 500
MAX_TEXT_CHARS = 400_000

# C0 and C1 (tab and line ends are spaces, below), soft hyphen, grapheme joiner, Arabic letter mark, Hangul fillers,
# Khmer inherent vowels, zero-width space, bidi controls, invisible operators, byte order mark, interlinear and
# reserved default-ignorables, private use, noncharacters, surrogates, shorthand and musical format controls, tags.
# Source: Unicode 15, Default_Ignorable_Code_Point and general categories Cc, Cf, Co, Cs. Not among them: U+200C,
# U+200D and U+180E (joiners), variation selectors, and the Arabic signs of category Cf, which are seen.
FORBIDDEN = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff\U000f0000-\U0010ffff"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(1, 15))
)
_FORBIDDEN = re.compile(f"[{FORBIDDEN}]+")
_SPACES = re.compile(r"[^\S\n]+")
# What any system ends a line with, and the separators of Unicode.
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_LINES = re.compile(r"[^\S\n]*\n\s*")

# Honest text needs two rounds; what needs more loses its joiners.
_ROUNDS = 6
_JOINERS = re.compile("[\u200c\u200d\u180e]+")
# Scripts that are misspelt without joiners: Arabic, Syriac, N'Ko, Mandaic; the Brahmic ones; Mongolian.
_CURSIVE = "\u0600-\u077f\u07c0-\u07ff\u0840-\u085f\u08a0-\u08ff\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc"
_BRAHMIC = "\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff\u1b00-\u1b7f\ua980-\ua9df\U00011000-\U000116ff"
_MONGOLIAN = "\u1800-\u180d\u180f-\u18af"
_JOINED = re.compile(f"[{_CURSIVE}{_BRAHMIC}{_MONGOLIAN}]")
# What an emoji sequence may hold before and after its joiner: pictographs, skin tones, hair, the emoji selector.
_PICTOGRAPH = re.compile("[\xa9\xae\u203c-\u3299\ufe0f\u20e3\U0001f000-\U0001faff]")
# Marks set upon one letter: more than three in a row are no spelling but paint over the lines around.
_MARKS = re.compile("([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{3})"
                    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")  # fmt: skip


def clean_line(text: str, limit: int = MAX_LINE_CHARS) -> str:
    """One line of clean text, at most `limit` characters."""
    return _cut(_SPACES.sub(" ", _kept(text[: 4 * limit]).replace("\n", " ")), limit)


def clean_text(text: str, limit: int = MAX_TEXT_CHARS) -> str:
    """Clean text with one line a paragraph and no empty lines, at most `limit` characters."""
    return _cut(_LINES.sub("\n", _SPACES.sub(" ", _kept(text[: 2 * limit]))), limit)


def without_forbidden(text: str) -> str:
    """`text` without the characters that are never kept, each line ended alike; its markup as it is."""
    return _LINE_ENDS.sub("\n", _FORBIDDEN.sub("", text))


def _kept(text: str) -> str:
    """Clean characters, with "\\n" as the only end of a line."""
    text = without_forbidden(text)
    if text.isascii():
        return text
    # Composed after the rest is gone: what stood between a letter and its mark stands there no longer. A joiner taken
    # out lets marks change places, so that another one may now stand beside what does not need it.
    for _ in range(_ROUNDS):
        text = _MARKS.sub(r"\1", unicodedata.normalize("NFC", text))
        kept = _JOINERS.sub(_joiner, text)
        if kept == text:
            return text
        text = kept
    return _MARKS.sub(r"\1", unicodedata.normalize("NFC", _JOINERS.sub("", text)))


def _joiner(match: re.Match[str]) -> str:
    """The first joiner of a run where it is needed, else nothing."""
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    joiner = match[0][0]
    if joiner == "\u180e":  # parts a Mongolian stem from its last vowel
        return joiner if re.match(f"[{_MONGOLIAN}]", before) and re.match(f"[{_MONGOLIAN}]", after) else ""
    if joiner == "\u200d" and _PICTOGRAPH.match(before) and _PICTOGRAPH.match(after):
        return joiner
    # A final half letter ends in one (Malayalam, Bengali, the Persian abbreviation of a year): nothing need follow.
    if joiner == "\u200d" and _JOINED.match(before):
        return joiner
    # Persian sets one between a foreign word and its plural as well.
    between = bool(before.strip() and after.strip())
    return joiner if between and (_JOINED.match(before) or _JOINED.match(after)) else ""


def _cut(text: str, limit: int) -> str:
    """At most `limit` characters, no space and no joiner left over at either end."""
    text = text.strip()
    if len(text) <= limit:
        return text
    # A joiner that has lost what follows it, or a letter that it needed, goes too.
    while (kept := _kept(text[:limit]).rstrip()) != text:
        text = kept
    return text
