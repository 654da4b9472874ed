"""Which addresses may be asked at all: verdicts on URLs and on IP addresses, before any socket and at connection time.

Pure: no DNS, no socket. A feed's URL, a redirect and a hub's URL come from strangers, and this is what keeps them from
reaching the machine's own network. A verdict is a reason code, or None where the address may be asked.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from yarl import URL

# Ranges that Python 3.11's `is_global` lets through, or that carry an IPv4 address inside an IPv6 one.
_REFUSED_V4 = tuple(map(ipaddress.IPv4Network, ("100.64.0.0/10", "192.88.99.0/24", "192.0.0.0/24", "240.0.0.0/4")))
# Public by its number alone: inside Azure's machines it is the host's own service, metadata and keys included.
_REFUSED_ONE = ipaddress.IPv4Address("168.63.129.16")
_UNICAST_V6 = ipaddress.IPv6Network("2000::/3")  # all that IANA has given out; NAT64's 64:ff9b::/96 is outside it
_REFUSED_V6 = tuple(map(ipaddress.IPv6Network, ("2002::/16", "2001::/23", "3fff::/20", "2001:db8::/32")))

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
# RFC 1034 labels, with the underscore that some publishers' hosts have.
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# The characters of RFC 3986.
_QUOTED = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
# Top-level domains that never lead to the internet (RFC 6761, RFC 6762, RFC 7686, ICANN's resolution 2024.07.29.06).
_INTERNAL = frozenset({"localhost", "local", "onion", "internal"})

DEFAULT_PORTS = {"http": 80, "https": 443}
# Longer URLs than this are refused by many servers, and none was seen in a feed.
MAX_URL_CHARS = 8192


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """What may be asked.

    gateway: every name leads to one address, so neither its port nor its domain says where a socket goes, and an
    address literal, which would go past the gateway, is never asked.
    """

    ports: frozenset[int] = frozenset({80, 443})
    gateway: bool = False


def address_refusal(address: str) -> str | None:
    """`private_address` unless the IP address is one of the public internet. A name is refused too."""
    try:
        ip = ipaddress.ip_address(address.split("%", 1)[0])
    except ValueError:
        return "private_address"
    if isinstance(ip, ipaddress.IPv4Address):
        public = ip.is_global and not ip.is_multicast and not any(ip in network for network in _REFUSED_V4)
        public = public and ip != _REFUSED_ONE
    else:
        public = ip in _UNICAST_V6 and not ip.is_private and not any(ip in network for network in _REFUSED_V6)
    return None if public else "private_address"


def ipv4_of(host: str) -> str | None:
    """The dotted form of a host that a resolver would read as an IPv4 address, in any notation; None for a name.

    As the WHATWG URL Standard's IPv4 parser (decimal, octal, hexadecimal, one to four parts), which inet_aton and
    so getaddrinfo follow. Raises ValueError where the last label is a number and the whole is no address.
    """
    parts = host.removesuffix(".").split(".")
    if not _NUMBER.fullmatch(parts[-1]):
        return None
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        raise ValueError(f"{host!r} ends in a number and is no address")
    numbers = [_number(part) for part in parts]
    room = 256 ** (5 - len(numbers))
    if any(number > 255 for number in numbers[:-1]) or numbers[-1] >= room:
        raise ValueError(f"{host!r} is no IPv4 address")
    value = numbers[-1]
    for place, number in enumerate(numbers[:-1]):
        value += number << 8 * (3 - place)
    return str(ipaddress.IPv4Address(value))


def _number(part: str) -> int:
    if part[:2].lower() == "0x":
        return int(part[2:] or "0", 16)
    if len(part) > 1 and part[0] == "0":
        return int(part, 8)
    return int(part)


def url_refusal(url: URL, policy: AddressPolicy) -> str | None:
    """Why this URL is never asked, or None. Names still need their addresses checked when they are resolved.

    scheme_refused, url_malformed, credentials_in_url, port_refused, private_address, address_literal.
    """
    if url.scheme not in DEFAULT_PORTS:
        return "scheme_refused"
    if url.user is not None or url.password is not None:
        return "credentials_in_url"
    host = url.raw_host
    if not host or len(str(url)) > MAX_URL_CHARS:
        return "url_malformed"
    refusal = _host_refusal(host.lower(), policy)
    if refusal:
        return refusal
    try:
        port = url.port
    except ValueError:
        return "url_malformed"
    if not policy.gateway and port not in policy.ports:
        return "port_refused"
    return None


def _host_refusal(host: str, policy: AddressPolicy) -> str | None:
    literal: str | None
    if ":" in host:
        literal = host
    else:
        try:
            literal = ipv4_of(host)
        except ValueError:
            return "url_malformed"
    if literal is not None:
        return address_refusal(literal) or ("address_literal" if policy.gateway else None)
    labels = host.removesuffix(".").split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return "url_malformed"
    # A name without a dot is one of the local network.
    if len(labels) == 1 or (not policy.gateway and labels[-1] in _INTERNAL):
        return "private_address"
    return None


def parse(url: str) -> URL | None:
    """The URL that is judged and then asked, one and the same object, so no second parser can read it otherwise."""
    url = url.strip()
    try:
        # A URL that needs no quoting is asked as it stands: yarl would write %2F in a query as /, and signed URLs end.
        parsed = URL(url, encoded=_QUOTED.fullmatch(url) is not None)
        _ = parsed.port
    except (ValueError, TypeError, UnicodeError):
        return None
    return parsed.with_fragment(None)
