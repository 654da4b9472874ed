"""Who may speak: signatures of deliveries (WebSub, 7.1) and of pings. Pure; every comparison takes constant time.

A delivery is signed by its hub with the secret of one subscription; a ping by its publisher with the SHA-256 of a key
that only the publisher has. The clear key never travels and is stored nowhere.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

# The methods that the recommendation names, and the bytes of each one's digest.
METHODS = {"sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}
# Keys of one publisher that are tried; a rotation needs two.
KEYS = 4
# Stands in for keys that are not there: an unknown publisher costs as much time as a known one.
_NOBODY = bytes(32)


def delivery_mac(header: str, secret: str, body: bytes) -> bytes | None:
    """The MAC of a delivery whose X-Hub-Signature is right; None for a wrong, malformed or missing one.

    header: `method=hex`. body: as it came, before any decoding. No secret signs nothing.
    """
    method, _, sent = header.strip().partition("=")
    size = METHODS.get(method.lower())
    given = _unhex(sent, size) if size and secret else None
    if given is None:
        return None
    mac = hmac.digest(secret.encode("utf-8", "surrogatepass"), body, method.lower())
    return mac if hmac.compare_digest(mac, given) else None


def key_hash(key: str) -> bytes:
    """What is stored of a publisher's key, and what signs its pings: 32 bytes."""
    return sha256(key.encode()).digest()


def ping_message(timestamp: str, nonce: str, path: str) -> bytes:
    """What a ping's signature is over. path: as it stands in the request line, percent-encoded, from /ping/ on."""
    return f"{timestamp}.{nonce}.{path}".encode("utf-8", "surrogatepass")


def sign_ping(key: str, timestamp: str, nonce: str, path: str) -> str:
    """The signature header of a ping, 64 hex digits."""
    return hmac.digest(key_hash(key), ping_message(timestamp, nonce, path), "sha256").hex()


def is_ping_signed(hashes: tuple[bytes, ...], sent: str, message: bytes) -> bool:
    """Whether one of a publisher's keys signed it; in the same time for no keys, few keys and a malformed header."""
    given = _unhex(sent, 32)
    against = given or _NOBODY
    found = False
    for place in range(KEYS):
        known = place < len(hashes)
        mac = hmac.digest(hashes[place] if known else _NOBODY, message, "sha256")
        found |= hmac.compare_digest(mac, against) and known
    return found and given is not None


def _unhex(text: str, size: int) -> bytes | None:
    """`size` bytes from twice as many hex digits, else None."""
    # bytes.fromhex passes over spaces: the length tells.
    if len(text) != 2 * size:
        return None
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return None
    return found if len(found) == size else None
