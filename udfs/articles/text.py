"""Publishers' HTML fragments as plain text, and titles for comparison. Folding is for comparison alone, never shown.

Which characters are kept stands in `characters.py`. Entities and markup are decoded once, by the parser that read
them: text that still looks like markup or like an entity is text ("AT&amp;amp;T" in a page's source is "AT&amp;T").
"""

from __future__ import annotations

import re
import unicodedata

from lxml import etree, html

from udfs.articles.characters import MAX_LINE_CHARS, MAX_TEXT_CHARS, clean_line, clean_text, without_forbidden

__all__ = [
    "MAX_BODY_CHARS", "MAX_LEDE_CHARS", "MAX_TITLE_CHARS", "alternatives", "clean_line", "clean_text", "folded",
    "folded_title", "text_of_element", "text_of_html", "without_publisher",
]  # fmt: skip

MAX_TITLE_CHARS = MAX_LINE_CHARS
MAX_LEDE_CHARS = 2_000
MAX_BODY_CHARS = MAX_TEXT_CHARS
# A feed's HTML fragment longer than this is cut before it is parsed.
_MAX_FRAGMENT_CHARS = 2_000_000

# Up to the next "<": a megabyte of opening brackets must not be searched from each of them to its end.
_MARKUP = re.compile(r"<[a-zA-Z/!][^<>]*>|&(?:[a-zA-Z][a-zA-Z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
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


def alternatives(phrases: str) -> str:
    """A pattern for any of the phrases, which semicolons and line breaks separate."""
    # Longer ones first: "sources" before "source".
    found = sorted({phrase.strip() for phrase in re.split(r"[;\n]", phrases) if phrase.strip()}, key=len, reverse=True)
    return "|".join(re.escape(phrase) for phrase in found)


def text_of_html(fragment: str, limit: int = MAX_BODY_CHARS) -> str:
    """The text of a feed's HTML fragment, decoded once; a fragment without markup or entities is text already."""
    fragment = fragment[:_MAX_FRAGMENT_CHARS]
    if not _MARKUP.search(fragment):
        return clean_text(fragment, limit)
    try:
        root = html.fragment_fromstring(without_forbidden(fragment), create_parent="div")
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
