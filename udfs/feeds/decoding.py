"""From a feed's bytes to text that an XML parser may see: encoding, document type, characters that XML forbids.

Decides which encoding counts and what is refused before parsing. Never touches elements: that is markup.py. Each
character is decoded once here; the entities of XML are left to the parser, but for those that no XML declares.
Reading order: decode, strip_doctype, mend.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from html.entities import html5

from udfs.feeds.document import FeedError

# Looked at for declarations: a prolog longer than this is no feed's.
PROLOG_CHARS = 64 * 1024
# One is allowed; a template and a plug-in may each write theirs. What is left of more is no XML.
_DOCTYPES = 8

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# `<?` or `<` and a letter without a mark (XML 1.0, appendix F).
_UNMARKED = (
    (b"<\x00\x00\x00", "utf-32-le"),
    (b"\x00\x00\x00<", "utf-32-be"),
    (b"<\x00?\x00", "utf-16-le"),
    (b"\x00<\x00?", "utf-16-be"),
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
)
# What publishers call by these names is in fact the superset (WHATWG Encoding, names and labels).
_SUPERSETS = {
    "iso8859-1": "cp1252",
    "latin-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-8": "cp1255",
    "tis-620": "cp874",
    "iso8859-11": "cp874",
}
# Text in these is almost never valid UTF-8 by chance; servers declare them by default for what is UTF-8.
_SINGLE_BYTE = frozenset({"cp1252", "cp1254", "iso8859-2", "iso8859-15", "cp1251", "cp1250"})
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:\-]{1,40})["']""")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:\-]{1,40})""", re.IGNORECASE)
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
# XML 1.0, 2.2: everything but Char. Lone surrogates cannot come out of decode().
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f\ufffd]")
_FORBIDDEN_REFERENCE = re.compile(r"&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01])|x0*(?:[0-8bBcCeEfF]|1[0-9a-fA-F]));")
# An ampersand that begins no reference of XML, with the name of HTML's that it may begin.
_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)([A-Za-z][A-Za-z0-9]{1,31};)?")
# Bare ampersands and HTML entities that are mended in one document; the most in a captured feed are some dozens.
_MENDED = 200_000
_NUMBERS = (("&amp;", "&#38;"), ("&lt;", "&#60;"), ("&gt;", "&#62;"), ("&quot;", "&#34;"), ("&apos;", "&#39;"))
_SECTION = re.compile(r"<!\[CDATA\[|<!--")


def decode(data: bytes, content_type: str = "") -> str:
    """The document as text, without its byte order mark. Never fails: bytes that are no character become U+FFFD.

    A mark counts first, then UTF-8 that the bytes bear out, then the header, then the XML declaration (RFC 7303, 3).
    A declared UTF-8 holds in spite of bad bytes (WHATWG Encoding, replacement); only where not one character beyond
    ASCII is valid UTF-8 was the declaration wrong, and Windows-1252 is meant.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    for start, name in _UNMARKED:
        if data.startswith(start):
            return data.decode(name, "replace")
    in_header, in_document = _CHARSET.search(content_type), _DECLARED.match(data[:1024])
    declared = [
        codec
        for label in (
            in_header.group(1) if in_header else "",
            in_document.group(1).decode("ascii") if in_document else "",
        )
        if (codec := _codec(label))
    ]
    others = [name for name in declared if name != "utf-8"]
    if len(others) < len(declared) or not declared or others[0] in _SINGLE_BYTE:
        text = data.decode("utf-8", "replace")
        bad = text.count("\ufffd")
        if not bad or (_BEYOND_ASCII.search(text) and not (others and others[0] == declared[0])):
            return text
        if bad == 1 and declared and not others:
            return text
    return data.decode(others[0] if others else "cp1252", "replace")


def _codec(label: str) -> str:
    """Python's codec for a declared label, empty where it has none that makes text of bytes."""
    try:
        found = codecs.lookup(label)
    except (LookupError, ValueError):
        return ""
    # Not base64, rot13 and the like; and a UTF-16 declared in ASCII bytes contradicts itself.
    if not found._is_text_encoding or found.name.startswith(("utf-16", "utf-32", "utf-7", "idna", "punycode")):
        return ""
    if found.name in ("unicode_escape", "raw_unicode_escape", "undefined", "utf-8-sig"):
        return "utf-8" if found.name == "utf-8-sig" else ""
    return _SUPERSETS.get(found.name, found.name)


def strip_doctype(text: str) -> str:
    """The document without XML declaration and document type, ready to be encoded as UTF-8 for a parser.

    Raises FeedError: `xml_entities` where the document type declares entities (no feed needs its own, and nested
    ones grow a kilobyte into gigabytes), `html_not_feed` for an HTML page.
    """
    text = _DECLARATION.sub("", text, count=1)
    place = prolog_end(text)
    for _ in range(_DOCTYPES):
        if text[place : place + 9].upper() != "<!DOCTYPE":
            break
        if re.match(r"<!DOCTYPE\s+html\b", text[place : place + 40], re.IGNORECASE):
            raise FeedError("html_not_feed", "the document type is HTML")
        place = prolog_end(text, _doctype_end(text, place))
    return text[place:]


def _doctype_end(text: str, place: int) -> int:
    """Behind the document type that begins at `place`."""
    quote, subset = "", False
    end = place + 9
    last = min(len(text), place + PROLOG_CHARS)
    while end < last:
        character = text[end]
        if quote:
            quote = "" if character == quote else quote
        elif text.startswith("<!--", end):
            closed = text.find("-->", end, last)
            end = last if closed < 0 else closed + 2
        elif text.startswith("<!ENTITY", end):
            raise FeedError("xml_entities", "the document type declares entities")
        elif character in "\"'":
            quote = character
        elif character in "[]":
            subset = character == "["
        elif character == ">" and not subset:
            return end + 1
        end += 1
    raise FeedError("xml_entities", "the document type has no end")


def prolog_end(text: str, place: int = 0) -> int:
    """Where the document type or the root element begins: after white space, comments and instructions."""
    while True:
        while place < len(text) and text[place].isspace():
            place += 1
        for start, stop in (("<!--", "-->"), ("<?", "?>")):
            if text.startswith(start, place):
                end = text.find(stop, place + len(start))
                if end < 0:
                    return place
                place = end + len(stop)
                break
        else:
            return place


def mend(text: str) -> str:
    """A document that is no XML, nearer to it: control characters out, HTML's entities and bare ampersands made text.

    CDATA sections and comments keep their ampersands. Linear in the length of the text, whatever it holds; ampersands
    beyond _MENDED are left to the parser's recovery.
    """
    room = _MENDED

    def mended(part: str) -> str:
        nonlocal room
        if room > 0:
            part, count = _AMPERSAND.subn(_mend_ampersand, part, room)
            room -= count
        return part

    return _outside_sections(mended, _FORBIDDEN_REFERENCE.sub("", _FORBIDDEN.sub("", text).replace("&#X", "&#x")))


def spelled_out(text: str) -> str:
    """XML's own entities as numbers: once libxml2 has met an error it leaves the names out, and the numbers not."""

    def numbered(part: str) -> str:
        for name, number in _NUMBERS:
            part = part.replace(name, number)
        return part

    return _outside_sections(numbered, text)


def _outside_sections(change: Callable[[str], str], text: str) -> str:
    """The text, changed outside CDATA sections and comments. One without an end is none."""
    parts: list[str] = []
    place = 0
    while section := _SECTION.search(text, place):
        end = text.find("-->" if section.group() == "<!--" else "]]>", section.end())
        if end < 0:
            break
        parts += [change(text[place : section.start()]), text[section.start() : end + 3]]
        place = end + 3
    parts.append(change(text[place:]))
    return "".join(parts)


def _mend_ampersand(match: re.Match[str]) -> str:
    entity = match.group(1)
    meant = html5.get(entity) if entity else None
    if meant is None:
        return f"&amp;{entity or ''}"
    return "".join(f"&#{ord(character)};" for character in meant)
