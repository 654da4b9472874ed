"""Publishers' text as plain, safe, comparable text. What is shown is only cleaned; folding is for comparison alone.

Cleaned: Unicode NFC, one kind of space, no control, bidi or zero-width characters. Entities and markup are decoded
once, by the parser that read them: text that still looks like markup is text.
"""

from __future__ import annotations

import re
import unicodedata

from lxml import etree, html

# Longest title, lede and body kept, characters: ten times what the longest honest ones have.
MAX_TITLE_CHARS = 500
MAX_LEDE_CHARS = 2_000
MAX_BODY_CHARS = 400_000
# A feed's HTML fragment longer than this is cut before it is parsed.
_MAX_FRAGMENT_CHARS = 2_000_000

# C0 and C1 controls, bidi controls, zero-width spaces, soft hyphen, BOM, interlinear and tag characters.
# U+200C and U+200D stay: Persian and the Indic scripts are misspelt without them.
_JUNK = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f\ud800-\udfff]"
)
_LOOSE_JOINER = re.compile(r"(?<![^\s])[\u200c\u200d]+|[\u200c\u200d]+(?![^\s])")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"[^\S\n]*\n\s*")
_MARKUP = re.compile(r"<[a-zA-Z/!][^>]*>|&(?:[a-zA-Z][a-zA-Z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
_BLOCK_TAGS = """
    address article aside blockquote br dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main
    nav ol p pre section table td th tr ul
"""
_SILENT_TAGS = "script style noscript template iframe object svg math head title"
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_SILENT = frozenset(_SILENT_TAGS.split())

_QUOTES = dict.fromkeys(map(ord, "«»“”„‟‹›″〝〞「」『』＂"), '"') | dict.fromkeys(map(ord, "‘’‚‛′`´＇"), "'")
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹘－"), "-")
_FOLDED = _QUOTES | _DASHES | {ord("…"): "..."}


def clean_line(text: str, limit: int = MAX_TITLE_CHARS) -> str:
    """One line of clean text, at most `limit` characters."""
    return _SPACES.sub(" ", _cleaned(text[: 4 * limit]).replace("\n", " ")).strip()[:limit].rstrip()


def clean_text(text: str, limit: int = MAX_BODY_CHARS) -> str:
    """Clean text with one line a paragraph and no empty lines, at most `limit` characters."""
    text = _cleaned(text[: 2 * limit].replace("\r\n", "\n").replace("\r", "\n").replace("\u2029", "\n"))
    return _LINES.sub("\n", _SPACES.sub(" ", text)).strip()[:limit].rstrip()


def text_of_html(fragment: str, limit: int = MAX_BODY_CHARS) -> str:
    """The text of a feed's HTML fragment, decoded once; a fragment without markup or entities is text already."""
    fragment = fragment[:_MAX_FRAGMENT_CHARS]
    if not _MARKUP.search(fragment):
        return clean_text(fragment, limit)
    try:
        root = html.fragment_fromstring(_JUNK.sub("", fragment), create_parent="div")
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return clean_text(_MARKUP.sub(" ", fragment), limit)
    return clean_text(text_of_element(root), limit)


def text_of_element(root: html.HtmlElement) -> str:
    """The text under an element: a line break around each block, none inside a line, nothing of scripts."""
    pieces: list[str] = []
    silent = 0
    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        tag = element.tag if isinstance(element.tag, str) else ""
        if event == "start":
            silent += tag in _SILENT
            if tag in _BLOCKS:
                pieces.append("\n")
            if not silent and element.text:
                pieces.append(element.text.replace("\n", " ") if tag != "pre" else element.text)
            continue
        if event == "end":
            silent -= tag in _SILENT
            if tag in _BLOCKS:
                pieces.append("\n")
        if not silent and element.tail and element is not root:
            pieces.append(element.tail.replace("\n", " "))
    return "".join(pieces)


def folded(text: str) -> str:
    """`text` for comparison: compatibility forms, quotes, dashes, spaces and case made equal. Never shown.

    Source: UAX 15 (NFKC), then full case folding.
    """
    text = unicodedata.normalize("NFKC", text).translate(_FOLDED)
    return " ".join(unicodedata.normalize("NFKC", text.casefold()).split())


def folded_title(title: str, publisher_name: str = "") -> str:
    """A title for comparison: `folded`, without the publisher's own name at either end."""
    return folded(without_publisher(title, publisher_name))


# What stands between a title and the site's name. A hyphen, dash or colon counts only with spaces around it.
_SEPARATED = re.compile(r"\s*[|¦｜»«•·]\s*|\s+[-–—:~]+\s+|:\s+")


def without_publisher(title: str, *names: str) -> str:
    """`title` without a publisher's name set before or after it ("Dam holds | Daily", "Daily: Dam holds")."""
    wanted = {folded(name) for name in names if name.strip()}
    if not wanted:
        return title
    while True:
        marks = list(_SEPARATED.finditer(title))
        for mark, rest, name in [
            *((mark, title[: mark.start()], title[mark.end() :]) for mark in reversed(marks)),
            *((mark, title[mark.end() :], title[: mark.start()]) for mark in marks),
        ]:
            if folded(name) in wanted and rest.strip() and mark:
                title = rest.strip()
                break
        else:
            return title


def _cleaned(text: str) -> str:
    return _LOOSE_JOINER.sub("", _JUNK.sub("", unicodedata.normalize("NFC", text.replace("\x85", "\n"))))
