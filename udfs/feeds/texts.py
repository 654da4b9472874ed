"""The texts and addresses of an entry: plain text out of a title, HTML out of plain text, links made absolute.

Markup is decoded once: XML's layer by the parser, HTML's here, and never again. Nothing is sanitised: whoever shows
a text escapes it.
"""

from __future__ import annotations

import html
import re
from urllib.parse import urljoin, urlsplit

# Longer ones are refused by many servers; the longest in 26 captured feeds has 203.
MAX_LINK_CHARS = 2_048

# An address that is what it means already: a plain host, no port, nothing to quote, no part that is empty.
_WRITTEN = r"[A-Za-z0-9/_.~%=&+,:@!$'()*-]"
_PLAIN_ADDRESS = re.compile(rf"https?://(?:[a-z0-9-]+\.)+[a-z0-9-]+/{_WRITTEN}*(?:\?{_WRITTEN}+)?(?:#{_WRITTEN}+)?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_C1 = re.compile("[\x80-\x9f]")
_WINDOWS = {code: bytes([code]).decode("cp1252", "ignore") or None for code in range(0x80, 0xA0)}
_SPACES = re.compile(r"[ \t\r\n\f\v]+")
# Longer than any title with its mark-up; every limit on a title is far below.
_PLAIN_CHARS = 64 * 1024
# What a headline may be dressed in. Anything else in angle brackets is what the headline is about.
_DRESS = re.compile(
    r"</?(?:a|abbr|acronym|b|big|bdi|bdo|br|cite|code|div|del|em|font|h[1-6]|hr|i|img|ins|kbd|mark|p|q|s|small|span"
    r"|strike|strong|sub|sup|tt|u|wbr)(?:\s[^<>]{0,2000})?/?>",
    re.IGNORECASE,
)
_BREAKS = re.compile(r"<(?:br|p|/p|div|/div|hr)(?:\s[^<>]{0,200})?/?>", re.IGNORECASE)


def collapse(text: str) -> str:
    """Runs of white space as one space; no-break spaces stay."""
    return _SPACES.sub(" ", text).strip()


def plain(markup: str) -> str:
    """The plain text of a short HTML text such as a title: its dress taken off, its entities decoded once."""
    markup = markup[:_PLAIN_CHARS]
    if "<" in markup:
        markup = _DRESS.sub("", _BREAKS.sub(" ", markup))
    if "&" in markup:
        markup = html.unescape(markup)
    return collapse(markup)


def as_html(text: str) -> str:
    """Plain text as HTML."""
    return html.escape(text, quote=False)


def absolute(link: str, base: str) -> str:
    """The http(s) address that `link` means at `base`; empty where it means none, or one that no server would take."""
    if _PLAIN_ADDRESS.fullmatch(link) and len(link) <= MAX_LINK_CHARS:
        return link  # as most are: nothing to resolve
    link = re.sub(r"[\t\r\n]", "", link).strip()
    if not link or len(link) > MAX_LINK_CHARS:
        return ""
    try:
        found = urljoin(base, link)
        parts = urlsplit(found)
        port = parts.port  # raises on what is no number
        found.encode()  # and this on lone surrogates
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or len(found) > MAX_LINK_CHARS:
        return ""
    return _CONTROLS.sub("", found).replace(" ", "%20")


def clip(text: str, limit: int) -> str:
    """At most `limit` bytes of UTF-8, without control characters and lone surrogates, which no record can hold.

    Control characters of C1 are those of Windows-1252 in the same places, as in HTML (13.2.5.80): `&#146;` is an
    apostrophe.
    """
    if text.isascii() and text.isprintable():
        return text[:limit]
    if _C1.search(text):
        text = text.translate(_WINDOWS)
    return _CONTROLS.sub("", text).encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
