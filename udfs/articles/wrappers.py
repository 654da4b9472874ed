"""Links that lead through somebody else's counter: which address is inside. No network: an opaque link stays as it is.

Aggregators, social networks, mail scanners and AMP caches put the true address into their own, as a parameter or as
a path. Each rule was written from the address format that its operator documents or that its links show.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote

# Host (and its subdomains) -> (path begins with, parameters that may hold the address, in order of trust).
_BY_PARAMETER: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "google.com": (("/url", ("url", "q")), ("/imgres", ("imgrefurl",))),
    "news.google.com": (("/news/url", ("url",)),),
    "bing.com": (("/news/apiclick.aspx", ("url",)),),
    "facebook.com": (("/l.php", ("u",)), ("/flx/warn", ("u",))),
    "instagram.com": (("/", ("u",)),),
    "youtube.com": (("/redirect", ("q",)),),
    "t.umblr.com": (("/redirect", ("z",)),),
    "out.reddit.com": (("/", ("url",)),),
    "vk.com": (("/away.php", ("to",)),),
    "slack-redir.net": (("/link", ("url",)),),
    "getpocket.com": (("/redirect", ("url",)),),
    "linkedin.com": (("/redir/redirect", ("url",)), ("/safety/go", ("url",))),
    "steamcommunity.com": (("/linkfilter", ("u", "url")),),
    "duckduckgo.com": (("/l/", ("uddg",)),),
    "safelinks.protection.outlook.com": (("/", ("url",)),),
    "exit.sc": (("/", ("url",)),),
    "flipboard.com": (("/redirect", ("url",)),),
    "disq.us": (("/url", ("url",)),),
    "awin1.com": (("/cread.php", ("ued", "p")),),
    "viglink.com": (("/", ("u",)),),
    "skimresources.com": (("/", ("url",)),),
    "yandex.ru": (("/turbo", ("text",)),),
    "translate.google.com": (("/", ("u",)),),
}
_URLDEFENSE_2 = re.compile(r"^/v2/url$")
_URLDEFENSE_3 = re.compile(r"^/v3/__(.+?)__(?:;|/|$)")
_YAHOO = re.compile(r"/RU=([^/]+)/")
_AMP_CACHE = re.compile(r"^/(?:c|i|v|a|wp)/(?:(s)/)?(.+)$")
_GOOGLE_AMP = re.compile(r"^/amp/(?:(s)/)?([^/]+\..+)$")


def unwrapped(host: str, path: str, query: str) -> str | None:
    """The address inside a wrapper's, or None where `host` wraps nothing or does not show what."""
    return _checked(_inside(host, path, query))


def _inside(host: str, path: str, query: str) -> str | None:
    if host.endswith(".cdn.ampproject.org") or host == "cdn.ampproject.org":
        match = _AMP_CACHE.match(path)
        return _from_path(match, query)
    if host in ("www.google.com", "google.com") and (match := _GOOGLE_AMP.match(path)):
        return _from_path(match, query)
    if host.endswith("urldefense.proofpoint.com") and _URLDEFENSE_2.match(path):
        coded = _parameter(query, ("u",))
        return unquote(coded.replace("-", "%").replace("_", "/")) if coded else None
    if host == "urldefense.com" and (match := _URLDEFENSE_3.match(path)):
        # Version 3 replaces characters by * and lists them after the address: without a * nothing was replaced.
        address = re.sub(r"^(https?):/(?=[^/])", r"\1://", match[1])
        return None if "*" in address else address
    if host == "r.search.yahoo.com" and (match := _YAHOO.search(path)):
        return unquote(match[1])
    for wrapper, rules in _BY_PARAMETER.items():
        if host != wrapper and not host.endswith("." + wrapper):
            continue
        if wrapper == "instagram.com" and not host.startswith("l."):
            continue
        for beginning, names in rules:
            if path.startswith(beginning):
                found = _parameter(query, names)
                if found:
                    return found
    return None


def _parameter(query: str, names: tuple[str, ...]) -> str | None:
    values = parse_qs(query)
    for name in names:
        for value in values.get(name, ()):
            if value.startswith(("http://", "https://")):
                return value
    coded = values.get("u")
    return coded[0] if coded and "u" in names and coded[0].startswith(("https-3A", "http-3A")) else None


def _from_path(match: re.Match[str] | None, query: str) -> str | None:
    if not match:
        return None
    return f"{'https' if match[1] else 'http'}://{match[2]}{'?' + query if query else ''}"


def _checked(url: str | None) -> str | None:
    return url if url and url.startswith(("http://", "https://")) and "." in url else None
