"""Which address an article is known by: one URL for all the ways that lead to it. No network, no page text, no state.

Three questions, in this order: what does the page say (rel=canonical, then og:url), may it be believed, and what is
left of a URL once everything is gone that says only how a reader came there. A wrong "same" merges two articles and
cannot be undone; a wrong "different" is a duplicate that clustering finds again. So doubt keeps two URLs apart.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

import idna
from tld import get_fld

from udfs.articles.wrappers import unwrapped

# Longer addresses are machines talking to machines; browsers and caches give up at about this size.
MAX_URL_CHARS = 2048
# A wrapper in a wrapper in a wrapper is a loop or an attack.
_MAX_WRAPPERS = 3

_DEFAULT_PORTS = {"http": 80, "https": 443}
_YES = frozenset({"", "1", "true", "yes", "y", "on"})
# Parameter -> values with which it asks for another form of the same article.
_FORM_PARAMETERS: dict[str, frozenset[str]] = {
    "amp": _YES | {"amp"},
    "outputtype": frozenset({"amp", "print"}),
    "output": frozenset({"amp", "print", "amphtml"}),
    "print": _YES | {"print"},
    "printable": _YES,
    "printpage": _YES,
    "printmode": _YES,
    "isprint": _YES,
    "view": frozenset({"print", "mobile", "amp"}),
    "mode": frozenset({"print", "amp"}),
    "format": frozenset({"amp", "print", "mobile"}),
    "mobile": _YES,
    "m": frozenset({"1"}),
    "_amp": _YES,
}
_FORM_SEGMENTS = frozenset({"amp", "print", "amphtml", "printable"})
_FORM_HOSTS = ("amp.", "m.", "mobile.", "print.")
_INDEX_FILES = frozenset({"index.html", "index.htm", "index.php", "index.asp", "index.aspx", "index.jsp"})
# Second-level registries: what stays after "m." is taken off such a name would be no site.
_REGISTRIES = frozenset({"co", "com", "org", "net", "gov", "ac", "edu", "gob", "go", "or", "ne"})

# RFC 3986 2.3: these are the same written out or percent-encoded; everything else is not.
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_SAFE = _UNRESERVED | frozenset("!$&'()*+,;=:@/")
_QUERY_SAFE = _UNRESERVED | frozenset("!$'()*+,;:@/?[]|")
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})")
_JUNK = re.compile(r"[\x00-\x20\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
_SESSION_IN_PATH = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE)
_AMP_SUFFIX = re.compile(r"(?<=[^/])(?:\.amp(?:\.html?)?|[.,-]amp\.html?)$", re.IGNORECASE)

UrlSource = Literal["canonical", "og", "fetched"]


@dataclass(frozen=True, slots=True)
class TrackingParameters:
    """Names of parameters to leave out, lower case: exact ones, and beginnings (a `*` at the end in the file)."""

    exact: frozenset[str]
    beginnings: tuple[str, ...]

    def __contains__(self, name: object) -> bool:
        low = str(name).lower()
        return low in self.exact or low.startswith(self.beginnings)


def load_tracking_parameters(path: Path) -> TrackingParameters:
    """The list in `reference_data/tracking_parameters.txt`: a name a line, # comments."""
    return tracking_parameters(path.read_text("utf-8").splitlines())


def tracking_parameters(lines: Iterable[str]) -> TrackingParameters:
    """Names, one a line; blank lines and those that start with # are skipped."""
    names = [line.strip().lower() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return TrackingParameters(
        exact=frozenset(name for name in names if not name.endswith("*")),
        beginnings=tuple(sorted(name[:-1] for name in names if name.endswith("*"))),
    )


@dataclass(frozen=True, slots=True)
class Canonical:
    """The canonical URL, and what it was taken from.

    elsewhere: a canonical of another site that the page claimed and that was not believed: at most a hint that this
    is a copy.
    """

    url: str
    source: UrlSource
    elsewhere: str = ""


def canonical_url(
    fetched: str, tracking: TrackingParameters, *, canonical: str = "", og: str = "", base: str = ""
) -> Canonical | None:
    """The address of the article on the page that was read at `fetched`.

    canonical: href of the rel=canonical link in the head; og: content of og:url; base: href of the base element.
    Either is believed when it is an http(s) address of the same site and not the site's home page (unless the page is
    the home page). None where not even `fetched` is an http(s) address.
    """
    own = clean(fetched, tracking)
    if own is None:
        return None
    base_url = (_joined(fetched, base) if base else "") or fetched
    elsewhere = ""
    claims: tuple[tuple[str, UrlSource], ...] = ((canonical, "canonical"), (og, "og"))
    for claim, source in claims:
        target = clean(_joined(base_url, claim), tracking) if claim.strip() else None
        if target is None:
            continue
        if site(target) != site(own):
            elsewhere = elsewhere or target
        elif not _is_home(target) or _is_home(own):
            return Canonical(target, source, elsewhere)
    return Canonical(own, "fetched", elsewhere)


def clean(url: str, tracking: TrackingParameters) -> str | None:
    """`url` in its normal form (RFC 3986 6.2), without what names no other article; None if it is no http(s) address.

    Idempotent, and blind to the order of parameters. Left out: wrappers of aggregators and link scanners, user
    information, default ports, fragments, tracking and session parameters, index files, AMP, print and mobile forms.
    """
    parts = None
    for _ in range(_MAX_WRAPPERS + 1):
        parts = _split(_JUNK.sub("", url) if len(url) <= 4 * MAX_URL_CHARS else "")
        if parts is None:
            return None
        inner = unwrapped(parts.host, parts.path, parts.query)
        if inner is None:
            break
        url = inner
    if parts is None:
        return None
    host = _without_form(parts.host)
    path = _clean_path(parts.path)
    query = _clean_query(parts.query, tracking)
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    cleaned = f"{parts.scheme}://{host}{port}{path}{'?' + query if query else ''}"
    return cleaned if len(cleaned) <= MAX_URL_CHARS else None


def identity_form(canonical: str) -> str:
    """What of a canonical URL tells articles apart: scheme, `www.` and a slash at the end do not.

    The article id is the hash of this, so that a site which moves to https, or changes its slashes, keeps its articles.
    """
    rest = canonical.split("://", 1)[-1].removeprefix("www.")
    address, mark, query = rest.partition("?")
    return f"{address.rstrip('/')}{mark}{query}"


def site(url: str) -> str:
    """The registrable domain of a URL ("example.co.uk"); an address as it is; two labels where no registry is known."""
    host = urlsplit(url).hostname or ""
    if _is_address(host):
        return host
    known = get_fld(f"http://{host}", fail_silently=True, search_private=True)
    return str(known) if known else ".".join(host.split(".")[-2:])


def is_home_page(url: str) -> bool:
    """Whether a cleaned URL is the front page of its host."""
    return _is_home(url)


@dataclass(frozen=True, slots=True)
class _Parts:
    scheme: str
    host: str
    port: int | None
    path: str
    query: str


def _joined(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference.strip())
    except ValueError:  # brackets that are no IPv6 address
        return ""


def _split(url: str) -> _Parts | None:
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        return None
    ascii_host = _ascii_host(host)
    if ascii_host is None or ("." not in ascii_host and ascii_host != "localhost" and ":" not in ascii_host):
        return None
    return _Parts(parts.scheme, ascii_host, port, parts.path, parts.query)


def _ascii_host(host: str) -> str | None:
    if len(host) > 253:  # RFC 1035
        return None
    if ":" in host:  # an IPv6 address, its brackets taken off
        return f"[{host}]" if _is_address(host) else None
    if host.isascii():
        return host if re.fullmatch(r"[a-z0-9_.-]+", host) and ".." not in host else None
    try:
        return idna.encode(host, uts46=True, transitional=False).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        return None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _without_form(host: str) -> str:
    if host.endswith(".cdn.ampproject.org") or _is_address(host):
        return host
    for prefix in _FORM_HOSTS:
        rest = host.removeprefix(prefix)
        labels = rest.split(".")
        if rest != host and len(labels) >= 2 and not (len(labels) == 2 and labels[0] in _REGISTRIES):
            return _without_form(rest)
    # www.m.example.com, example of the older mobile sites
    if host.startswith(("www.m.", "www.amp.")) and host.count(".") >= 3:
        return "www." + host.split(".", 2)[2]
    return host


def _clean_path(path: str) -> str:
    path = _SESSION_IN_PATH.sub("", path)
    segments: list[str] = []
    for segment in _percent(path, _PATH_SAFE).split("/"):
        if segment == "..":
            if segments:
                segments.pop()
        elif segment not in ("", "."):
            segments.append(segment)
    slash = path.endswith(("/", "/.", "/..")) and bool(segments)
    while True:
        if segments and segments[-1].lower() in _INDEX_FILES:
            segments.pop()
            slash = bool(segments)
        elif len(segments) > 1 and segments[-1].lower() in _FORM_SEGMENTS:
            segments.pop()
            slash = False
        elif len(segments) > 2 and segments[0].lower() == "amp":
            segments.pop(0)
        elif segments and (shorter := _AMP_SUFFIX.sub("", segments[-1])) != segments[-1]:
            segments[-1] = shorter + (".html" if segments[-1].lower().endswith((".html", ".htm")) else "")
        else:
            break
    return "/" + "/".join(segments) + ("/" if slash else "")


def _clean_query(query: str, tracking: TrackingParameters) -> str:
    kept = []
    for pair in query.replace("&amp;", "&").split("&"):
        name, equals, value = pair.partition("=")
        plain = unquote(name).strip().lower()
        if not plain or plain in tracking:
            continue
        forms = _FORM_PARAMETERS.get(plain)
        if forms is not None and unquote(value).lower() in forms:
            continue
        kept.append(_percent(name, _QUERY_SAFE) + equals + _percent(value, _QUERY_SAFE | {"="}))
    return "&".join(sorted(set(kept)))


def _percent(text: str, safe: frozenset[str]) -> str:
    """Percent-encoding in its one normal form: unreserved decoded, hex upper case, everything unsafe encoded once."""
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        match = _PERCENT.match(text, at) if char == "%" else None
        if match:
            decoded = chr(int(match[1], 16))
            out.append(decoded if decoded in _UNRESERVED else f"%{match[1].upper()}")
            at += 3
            continue
        out.append(char if char in safe else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace")))
        at += 1
    return "".join(out)


def _is_home(url: str) -> bool:
    parts = urlsplit(url)
    return parts.path in ("", "/") and not parse_qsl(parts.query)
