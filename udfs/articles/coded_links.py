"""Wrappers that put the address into their path or into a code of their own: how each is read. No network, no state.

Every reader takes (host, path, query) as the URL has them and returns the address as found, unchecked, or None where
this one shows none. Which host has which reader stands in `wrappers.py`.
Sources: the operators' documentation where there is any (AMP caches, translate.goog, Proofpoint's decoder), else links
as they are met in the open.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from urllib.parse import unquote

_WEB = re.compile(r"https?:[/\\]{0,3}|https?%3a", re.IGNORECASE)
_AMP_PATH = re.compile(r"/(?:c|v|wp|amp)/(?:(s)/)?(.+)")
_CACHE_TOKEN = re.compile(r"/cache:(?:[\w-]{6,16}:)?(.+)")
_ARCHIVED = re.compile(r"/(?:web/)?(?:\d{4,14}[a-z_]{0,4}|newest|oldest|save|o/\w+|\*)/(.+)", re.IGNORECASE)
_PROOFPOINT_3 = re.compile(r"/v3/__(.+?)__;([^!]*)")
_PROOFPOINT_TOKEN = re.compile(r"\*(?:\*([A-Za-z0-9_-]))?")
_RUN_LENGTHS = {
    char: number + 2 for number, char in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
}
_CHECKPOINT = re.compile(r"/v2/(?:[a-z]\d\d/)?___(.+?)(?:___|$)")
_YAHOO = re.compile(r"/RU=([^/]+)/")
_FEEDSPORTAL = re.compile(r"/l/0([LM][0-9A-Za-z]+)/")
# What feedsportal.com writes for what a file name may not hold, after a 0.
_FEEDSPORTAL_CODES = {
    "A": "0", "B": ".", "C": "/", "D": "?", "E": "-", "F": "=", "G": "&", "H": ",", "I": "_", "J": "%", "K": "+",
    "L": "http://", "M": "https://", "N": ".com", "O": ".co.uk", "P": ";", "Q": "|", "R": ":", "S": "www.", "T": "#",
    "U": "$", "V": "~", "W": "!", "X": "(", "Y": ")",
}  # fmt: skip
_DISQUS_SIGNATURE = re.compile(r"(?::|%3a)[\w-]{20,32}$", re.IGNORECASE)


def value_of(query: str, names: tuple[str, ...]) -> str | None:
    """The first value of the named parameters that is not empty, decoded once; names are compared in lower case."""
    found: dict[str, str] = {}
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if value and name.lower() in names:
            found.setdefault(name.lower(), value)
    value = next((found[name] for name in names if name in found), "")
    # A + is a space in a form's encoding, and itself in an address that was put in as it stands.
    return unquote(value if "://" in value else value.replace("+", " ")) if value else None


def base64_bytes(text: str) -> bytes:
    """Base64 in either alphabet, padded or not; empty where it is none."""
    code = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(code + "=" * (-len(code) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def amp_cache(host: str, path: str, query: str) -> str | None:
    """x.cdn.ampproject.org/c/s/n.example/a: the address without its scheme; s is https."""
    match = _AMP_PATH.match(path)
    if match is None:
        return None
    return f"{'https' if match[1] else 'http'}://{match[2]}{'?' + query if query else ''}"


def amp_viewer(host: str, path: str, query: str) -> str | None:
    """google.com/amp/...: as the cache, where the first name is a host."""
    match = _AMP_PATH.match(path)
    if match is None or not path.startswith("/amp/") or "." not in match[2].partition("/")[0]:
        return None
    return amp_cache(host, path, query)


def translated_host(host: str, path: str, query: str) -> str | None:
    """n-example.translate.goog/a: dots as hyphens, hyphens doubled; Google's own rules for long and for IDN names."""
    name = host.removesuffix(".translate.goog")
    if "." in name or name == host:
        return None
    codings = (value_of(query, ("_x_tr_enc",)) or "").split(",")
    name = (value_of(query, ("_x_tr_hp",)) or "") + name
    if "1" in codings:
        name = name.removeprefix("1-")
    idn = "0" in codings and name.startswith("0-")
    if idn:
        name = name[2:]
    name = ("xn--" if idn else "") + re.sub(r"\b-\b", ".", name).replace("--", "-")
    scheme = "http" if value_of(query, ("_x_tr_sch",)) == "http" else "https"
    own = "&".join(pair for pair in query.split("&") if not pair.startswith("_x_tr_"))
    return f"{scheme}://{name}{path}{'?' + own if own else ''}"


def google_news(host: str, path: str, query: str) -> str | None:
    """news.google.com/articles/CBMi...: a protobuf message, the address as field 4. Later links hold a key: None."""
    parts = path.split("/")
    code = next((parts[at + 1] for at in range(len(parts) - 1) if parts[at] in ("articles", "read")), "")
    message = base64_bytes(code)
    # Field 1, a small number; field 4, a text: its length as a varint of one or two octets.
    if len(message) < 6 or message[0] != 0x08 or message[2] != 0x22:
        return None
    size, start = message[3], 4
    if size & 0x80:
        size, start = (size & 0x7F) | message[4] << 7, 5
    address = message[start : start + size]
    return address.decode("utf-8", "replace") if address.startswith(b"http") else None


def bing_click(host: str, path: str, query: str) -> str | None:
    """bing.com/ck/a?...&u=a1aHR0c...: base64 after two characters."""
    code = value_of(query, ("u",)) or ""
    return base64_bytes(code[2:]).decode("utf-8", "replace") if code.startswith("a1") else None


def proofpoint(host: str, path: str, query: str) -> str | None:
    """urldefense.com, .proofpoint.com: versions 1 (plain), 2 (- for %, _ for /), 3 (* for what was replaced)."""
    if path.startswith("/v1/"):
        return value_of(query, ("u",))
    if path.startswith("/v2/"):
        coded = value_of(query, ("u",))
        return unquote(coded.replace("-", "%").replace("_", "/")) if coded else None
    match = _PROOFPOINT_3.match(path + ("?" + query if query else ""))
    if match is None:
        return None
    replaced = base64_bytes(match[2]).decode("utf-8", "replace")
    at = 0

    def restored(token: re.Match[str]) -> str:
        nonlocal at
        count = _RUN_LENGTHS[token[1]] if token[1] else 1
        at += count
        return replaced[at - count : at]

    address = _PROOFPOINT_TOKEN.sub(restored, match[1])
    return address if at == len(replaced) else None


def check_point(host: str, path: str, query: str) -> str | None:
    """protect.checkpoint.com/v2/r02/___https://n.example/a___.token"""
    match = _CHECKPOINT.match(path + ("?" + query if query else ""))
    return match[1] if match else None


def sophos(host: str, path: str, query: str) -> str | None:
    """eu-west-1.protection.sophos.com/?d=n.example&u=base64: d is the host alone, to show."""
    return base64_bytes((value_of(query, ("u",)) or "").replace(" ", "+")).decode("utf-8", "replace") or None


def last_segment(host: str, path: str, query: str) -> str | None:
    """secure-web.cisco.com/token/https%3A%2F%2Fn.example: the address, encoded, as the last part of the path."""
    return unquote(path.rpartition("/")[2])


def yahoo(host: str, path: str, query: str) -> str | None:
    """r.search.yahoo.com/.../RU=https%3a%2f%2fn.example/RK=...; rd.yahoo.com/.../*http://n.example"""
    match = _YAHOO.search(path)
    if match:
        return unquote(match[1])
    return after_star(host, path, query)


def after_star(host: str, path: str, query: str) -> str | None:
    """rd.yahoo.com/x/*http://n.example/a: what follows the first star."""
    _, star, rest = path.partition("*")
    return _with_query(unquote(rest.lstrip("*")), query) if star else None


def feedsportal(host: str, path: str, query: str) -> str | None:
    """x.feedsportal.com/c/1/f/2/s/3/l/0L0Sn0Bexample0Ca/story01.htm: a 0 and a letter for each special character."""
    match = _FEEDSPORTAL.search(path)
    if match is None:
        return None
    pieces = match[1].split("0")
    return "".join(_FEEDSPORTAL_CODES.get(piece[:1], piece[:1]) + piece[1:] for piece in pieces)


def archived(host: str, path: str, query: str) -> str | None:
    """web.archive.org/web/20261130000000/https://n.example/a, archive.today/newest/..., archive.today/2026/..."""
    match = _ARCHIVED.match(path)
    return _with_query(match[1], query) if match else None


def whole_path(host: str, path: str, query: str) -> str | None:
    """12ft.io/https://n.example/a: the path is the address."""
    rest = path.lstrip("/")
    return _with_query(rest, query) if _WEB.match(rest) else value_of(query, ("url", "q"))


def whole_query(host: str, path: str, query: str) -> str | None:
    """href.li/?https://n.example/a?b=1: all after the question mark is the address."""
    return unquote(query) if query[:20].lower().startswith(("http%3a", "https%3a")) else query


def cached(host: str, path: str, query: str) -> str | None:
    """webcache.googleusercontent.com/search?q=cache:key:https://n.example/a"""
    if path.startswith("/translate"):
        return value_of(query, ("u",))
    match = _CACHE_TOKEN.match("/" + (value_of(query, ("q",)) or ""))
    return match[1].split(" ")[0] if match else None


def turbo(host: str, path: str, query: str) -> str | None:
    """n-example.turbopages.org/turbo/n.example/s/a; older: /turbo/s/n.example/a; also /proxy_u/x/https/n.example/a"""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["proxy_u"] and len(parts) > 3:
        return _with_query(f"{parts[2]}://{'/'.join(parts[3:])}", query)
    if parts[:1] == ["turbo"]:
        parts = parts[1:]
    if len(parts) > 1 and parts[0] in ("s", "h"):
        parts[0], parts[1] = parts[1], parts[0]
    if len(parts) > 1 and "." in parts[0] and parts[1] in ("s", "h"):
        return f"{'https' if parts[1] == 's' else 'http'}://{parts[0]}/{'/'.join(parts[2:])}"
    return value_of(query, ("text",))


def disqus(host: str, path: str, query: str) -> str | None:
    """disq.us/url?url=https%3A%2F%2Fn.example%2Fa%3Asignature"""
    address = value_of(query, ("url",))
    return _DISQUS_SIGNATURE.sub("", address) if address else None


def substack(host: str, path: str, query: str) -> str | None:
    """substack.com/redirect/2/base64.signature: JSON, the address as e."""
    if not path.startswith("/redirect/2/"):
        return None
    try:
        message = json.loads(base64_bytes(path.split("/")[3].partition(".")[0]))
    except (ValueError, RecursionError):
        return None
    address = message.get("e") if isinstance(message, dict) else None
    return address if isinstance(address, str) else None


def android_app(path: str, query: str) -> str | None:
    """android-app://com.example.news/https/n.example/a: the path that follows the application's name."""
    scheme, _, rest = path.lstrip("/").partition("/")
    return _with_query(f"{scheme}://{rest}", query) if scheme in ("http", "https") else None


def _with_query(address: str, query: str) -> str:
    return f"{address}?{query}" if query else address
