"""One URL for all the ways that lead to a page: its normal form, and what of it is identity. No network, no state.

Reading order: `clean` (wrappers off, RFC 3986 6.2, tracking off), `identity_form` (forms off: the article id is its
hash). Which of a page's own statements about its address is believed stands in `claims.py`; all rules, with their
reasons, in docs/canonical-urls.md.
A wrong "same" merges two articles and cannot be undone; a wrong "different" is a duplicate that clustering finds again.
So doubt keeps two URLs apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from udfs.articles.address_forms import is_form_parameter, without_host_form, without_path_form
from udfs.articles.coded_links import android_app
from udfs.articles.hosts import ascii_host, registrable_domain
from udfs.articles.tracking import TrackingParameters, dropped, load_tracking_parameters, tracking_parameters
from udfs.articles.wrappers import unwrapped, wraps

__all__ = [
    "MAX_URL_CHARS",
    "TrackingParameters",
    "answering_site",
    "clean",
    "identity_form",
    "is_home_page",
    "load_tracking_parameters",
    "site",
    "tracking_parameters",
]

# Longer addresses are machines talking to machines; browsers and caches give up at about this size.
MAX_URL_CHARS = 2048
# What may come in: wrappers encode the address again, each up to three characters for one.
_MAX_RAW_CHARS = 4 * MAX_URL_CHARS
# A wrapper in a wrapper happens (a mail scanner around a newsletter around an AMP cache); more is a loop or an attack.
_MAX_WRAPPERS = 5

_DEFAULT_PORTS = {"http": 80, "https": 443}
_INDEX_FILES = frozenset(
    f"{name}.{end}"
    for name in ("index", "default")
    for end in ("html", "htm", "shtml", "xhtml", "php", "php3", "asp", "aspx", "jsp", "cfm")
)
# Never part of an address: controls, zero-width space, bidi marks, word joiner, byte order mark. The joiners U+200C and
# U+200D stay: Persian and Indic slugs are spelled with them.
_JUNK = dict.fromkeys(
    [*range(0x20), *range(0x7F, 0xA0), 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x206A), 0xFEFF]
)
# The same, and spaces, as copying and templates leave them at the end of a path.
_BLANKS = ("%20", "%09", "%0A", "%0D", "%C2%A0", "%E2%80%8B", "%E2%80%8C", "%E2%80%8E", "%E2%80%8F", "%EF%BB%BF")
_LINE_BREAKS = re.compile(r"[\t\n\r\f\v]")
_WEB = re.compile(r"(https?):[/\\]*", re.IGNORECASE)
_AMPERSANDS = re.compile(r"&(?:amp;|#0{0,3}38;|#x0{0,3}26;)+", re.IGNORECASE)
# RFC 3986 2.3: unreserved characters are the same written out or percent-encoded; everything else is not.
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ENCODE_IN_PATH = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/]")
_ENCODE_IN_QUERY = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$'()*+,;:@/?\[\]|=]")
_SESSION_IN_PATH = re.compile(r"(?:;|%3B)(?:jsessionid|phpsessid|sessionid|sid)(?:=|%3D)[^/;]*", re.IGNORECASE)
_SESSION_SEGMENT = re.compile(r"\((?:[A-Za-z]\([A-Za-z0-9]+\))+\)")  # ASP.NET: /(S(lit3py55t21z5v55vlm25s55))/
_WWW = re.compile(r"(?:www\d{1,2}|ww\d)\.(?=[^.]+\.)")


@dataclass(frozen=True, slots=True)
class _Parts:
    scheme: str
    host: str
    port: int | None
    path: str
    query: str
    fragment: str


def clean(url: str, tracking: TrackingParameters, *, forms: bool = True) -> str | None:
    """`url` in its normal form, without what names no other page; None if it is no http(s) address.

    Idempotent, and blind to the order of parameters. Left out: wrappers of aggregators and link scanners, user
    information, default ports, fragments (but routes: `#!`), tracking and session parameters, index files; and, with
    `forms`, what asks for AMP, print or mobile. Without it the address is one that answered, whatever its form.
    """
    for _ in range(_MAX_WRAPPERS + 1):
        parts = _split(url)
        if parts is None:
            return None
        inner = unwrapped(parts.host, parts.path, parts.query)
        if inner is None:
            plain = without_host_form(parts.host)
            path = _clean_path(parts.path, forms)
            query = _clean_query(parts.query, tracking, plain, forms)
            if wraps(plain):  # once more on the results, so that cleaning them again finds nothing new
                other = _clean_path(parts.path, not forms)
                inner = unwrapped(plain, path, query) or unwrapped(plain, other, query)
        if inner is None:
            port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
            route = _route(parts, path, query, tracking)
            host = plain if forms else parts.host
            cleaned = f"{parts.scheme}://{host}{port}{path}{'?' + query if query else ''}{route}"
            return cleaned if len(cleaned) <= MAX_URL_CHARS else None
        url = inner
    return None


def identity_form(canonical: str) -> str:
    """What of a cleaned URL tells articles apart: scheme, `www.`, a slash at the end, AMP, print and mobile do not.

    The article id is the hash of this, so that a site which moves to https, or changes its slashes, keeps its articles.
    Equal for `clean(url)` with and without forms; applied again it changes nothing.
    """
    address, hash_mark, fragment = canonical.removeprefix("https://").removeprefix("http://").partition("#")
    address, _, query = address.partition("?")
    name, _, path = address.partition("/")
    host, colon, port = name.partition(":") if not name.startswith("[") else (name, "", "")
    before = ""
    while host != before:
        before = host
        host = without_host_form(host).removeprefix("www.")
        host = _WWW.sub("", host, count=1) if host.startswith("ww") else host
    segments = path.split("/") if path else []
    while segments and not segments[-1]:
        segments.pop()
    while segments and (_without_tail(segments) or without_path_form(segments)):
        pass
    pairs = [pair for pair in query.split("&") if pair and not _is_form(pair)]
    address = "/".join([f"{host}{colon}{port}", *segments])
    return f"{address}{'?' + '&'.join(pairs) if pairs else ''}{hash_mark}{fragment}"


def site(url: str) -> str:
    """The registrable domain of a URL ("example.co.uk"); an address as it is; two labels where no registry is known."""
    return registrable_domain(urlsplit(url).hostname or "")


def answering_site(url: str) -> str:
    """The registrable domain that answers where `url` is asked: of a wrapper its own; empty for no http(s) address."""
    parts = _split(url)
    return "" if parts is None else registrable_domain(parts.host.strip("[]"))


def is_home_page(url: str) -> bool:
    """Whether a cleaned URL is the front page of its host."""
    parts = urlsplit(url)
    return parts.path in ("", "/") and not parts.query and not parts.fragment


def _split(url: str) -> _Parts | None:
    if len(url) > _MAX_RAW_CHARS:
        return None
    url = _mended(url)
    try:
        parts = urlsplit(url)
        port = parts.port
        host = ascii_host(parts.hostname or "")
    except ValueError:
        return None
    if host is None or parts.scheme not in _DEFAULT_PORTS:
        return None
    return _Parts(parts.scheme, host, port, parts.path, parts.query, parts.fragment)


def _mended(url: str) -> str:
    """`url` without what copying, templates and feed readers did to it, as browsers mend it; empty if no http."""
    url = "".join(line.strip() for line in _LINE_BREAKS.split(url)).translate(_JUNK).strip()
    low = url[:16].lower()
    if low.startswith("android-app:"):
        url = android_app(url[12:].lstrip("/").partition("/")[2], "") or ""
    elif low.startswith("view-source:"):
        url = url[12:]
    elif low.startswith("feed:"):
        url = url[5:] if _WEB.match(url, 5) else "http://" + url[5:].lstrip("/\\")
    scheme, at = "", 0
    while match := _WEB.match(url, at):  # http://https://n.example/a: the inner one counts
        scheme, at = match[1].lower(), match.end()
    if not scheme:
        return ""
    rest = _AMPERSANDS.sub("&", url[at:])
    end = min((found for mark in "?#" if (found := rest.find(mark)) >= 0), default=len(rest))
    return f"{scheme}://{rest[:end].replace(chr(92), '/')}{rest[end:]}"


def _clean_path(path: str, forms: bool) -> str:
    path = _SESSION_IN_PATH.sub("", _percent(path, _ENCODE_IN_PATH))
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            if segments:
                segments.pop()
        elif segment not in ("", ".") and not (segment[0] == "(" and _SESSION_SEGMENT.fullmatch(segment)):
            segments.append(segment)
    slash = path.endswith(("/", "/.", "/.."))
    while segments:
        count, last = len(segments), segments[-1]
        if _without_tail(segments):
            slash = slash or len(segments) < count  # an index file leaves its folder
        elif forms and without_path_form(segments):
            slash = slash and (len(segments) == count or segments[-1] is last)
        else:
            break
    return "/" + "/".join(segments) + ("/" if slash and segments else "")


def _without_tail(segments: list[str]) -> bool:
    """Take an index file, or blanks at the end, off a path's segments; whether there was one."""
    last = segments[-1]
    if last.lower() in _INDEX_FILES:
        segments.pop()
        return True
    if not last.endswith(_BLANKS):
        return False
    while last.endswith(_BLANKS):
        last = next(last.removesuffix(blank) for blank in _BLANKS if last.endswith(blank))
    if last.strip(".") and not _SESSION_SEGMENT.fullmatch(last):
        segments[-1] = last
    else:
        segments.pop()
    return True


def _clean_query(query: str, tracking: TrackingParameters, host: str, forms: bool) -> str:
    if not query:
        return ""
    kept = set()
    scopes = tracking.scopes(host)
    for pair in query.split("&"):
        pair = pair.strip()
        while pair[:4].lower() == "amp;":  # what is left of &amp; where it stood first
            pair = pair[4:]
        name, value = _decoded(pair)
        if name and not dropped(name, value, scopes) and not (forms and is_form_parameter(name, value)):
            kept.add(_encoded_pair(pair))
    return "&".join(sorted(kept))


def _encoded_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    return _percent(name, _ENCODE_IN_QUERY) + equals + _percent(value, _ENCODE_IN_QUERY)


def _is_form(pair: str) -> bool:
    return is_form_parameter(*_decoded(pair))


def _decoded(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=")
    return unquote(name).strip().lower(), unquote(value).strip().lower()


def _route(parts: _Parts, path: str, query: str, tracking: TrackingParameters) -> str:
    """The fragment where it names the page: `#!...`, and `#/...` on a page that is nothing without it."""
    fragment = parts.fragment
    bare = path == "/" and all(_is_form(pair) for pair in query.split("&") if pair)
    if not fragment.startswith("!") and not (fragment.startswith("/") and bare):
        return ""
    route, _, own = fragment.partition("?")
    own = _clean_query(own, tracking, parts.host, forms=False)
    named = f"{_percent(route, _ENCODE_IN_PATH)}{'?' + own if own else ''}"
    return f"#{named}" if any(char.isalnum() for char in named) else ""


def _percent(text: str, pattern: re.Pattern[str]) -> str:
    """Percent-encoding in its one normal form: unreserved decoded, hex upper case, everything unsafe encoded once."""
    return pattern.sub(_encoded, text)


def _encoded(match: re.Match[str]) -> str:
    token = match[0]
    if len(token) == 3:
        char = chr(int(token[1:], 16))
        return char if char in _UNRESERVED else token.upper()
    return "".join(f"%{byte:02X}" for byte in token.encode("utf-8", "replace"))
