"""Host names of URLs: their one ASCII form, their registrable domain, the names above them. No network, no state."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote

import idna
from tld import get_fld

# RFC 1035 2.3.4: octets of a name, and of a label.
_MAX_HOST_CHARS = 253
_MAX_LABEL_CHARS = 63
_HOST = re.compile(r"[a-z0-9_.-]+")


def ascii_host(host: str) -> str | None:
    """The name as DNS has it: lower case, IDN as punycode (UTS 46), IPv6 in brackets, no dot at the end.

    None for what is no name on the public net: no dot in it (but `localhost`), empty labels, labels too long.
    """
    if ":" in host:  # an IPv6 address, its brackets taken off
        try:
            return f"[{ipaddress.IPv6Address(host).compressed}]"
        except ValueError:
            return None
    if "%" in host:  # browsers decode it
        host = unquote(host)
    host = host.lower().rstrip(".")
    if len(host) > _MAX_HOST_CHARS:
        return None
    if not host.isascii():
        host = _punycode(host)
    if not _HOST.fullmatch(host) or (host != "localhost" and "." not in host):
        return None
    return host if all(0 < len(label) <= _MAX_LABEL_CHARS for label in host.split(".")) else None


def _punycode(host: str) -> str:
    try:
        return idna.encode(host, uts46=True, transitional=False).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        pass
    try:  # symbols that IDNA 2008 has no room for (emoji), which registries sold and browsers open
        mapped = idna.uts46_remap(host, std3_rules=False, transitional=False)
        labels = [
            label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
            for label in mapped.split(".")
        ]
    except (idna.IDNAError, UnicodeError):
        return ""
    return ".".join(labels).rstrip(".")


def is_address(host: str) -> bool:
    """Whether a host is an IP address, with or without brackets."""
    if host[:1] != "[" and not host[-1:].isdigit():
        return False
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def names_above(host: str) -> Iterator[str]:
    """`a.b.c`, `b.c`, `c`: the host itself and each name it belongs to."""
    while host:
        yield host
        host = host.partition(".")[2]


@lru_cache(maxsize=8192)
def registrable_domain(host: str) -> str:
    """ "example.co.uk" of any host in it; an IP address as it is; two labels where no registry is known.

    Remembered, for the public suffix list takes 100 us a look-up and publishers' hosts come again and again.
    """
    if is_address(host):
        return host
    known = get_fld(f"http://{host}", fail_silently=True, search_private=True)
    return str(known) if known else ".".join(host.split(".")[-2:])
