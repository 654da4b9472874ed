"""A gzip file taken out of its wrapping: sitemaps are published as `.xml.gz`, under whatever content type.

Decides by the bytes alone, never by a name or a header. What the transport compressed is undone before.
"""

from __future__ import annotations

import zlib

from udfs.feeds.document import FeedError

MAGIC = b"\x1f\x8b\x08"  # RFC 1952: the two identifying bytes, and deflate, the only method there is
_GZIP = 16 + zlib.MAX_WBITS
# Given to zlib at once, bytes: each member hands back what it left, so that a million empty ones stay linear.
_PIECE = 8 * 1024


def unpacked(body: bytes, max_bytes: int) -> tuple[bytes, bool]:
    """(bytes, whole): the content of a gzip file of one or several members; anything else as it is.

    whole: False where the file ends before its content does; what was there is given. Raises FeedError:
    `feed_too_large` as soon as the content passes `max_bytes`, `feed_unparsable` for damage. Bytes behind the last
    member are padding.
    """
    if not body.startswith(MAGIC):
        return body, True
    parts: list[bytes] = []
    room = max_bytes
    place = 0
    while body.startswith(MAGIC, place):
        member = zlib.decompressobj(_GZIP)
        while not member.eof:
            piece = body[place : place + _PIECE]
            if not piece:
                return b"".join(parts), False
            try:
                # One byte more than allowed tells a document of just that size from a longer one.
                part = member.decompress(piece, room + 1)
            except zlib.error as error:
                raise FeedError("feed_unparsable", f"damaged gzip: {error}") from None
            room -= len(part)
            if room < 0:
                raise FeedError("feed_too_large", f"unpacks to more than {max_bytes} bytes")
            parts.append(part)
            place += len(piece) - len(member.unused_data)
    return b"".join(parts), True
