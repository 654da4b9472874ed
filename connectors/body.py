"""Response bodies unpacked within a limit: gzip, deflate, br, zstd. Pure.

The output is bounded while it grows, so a bomb costs the limit and no more. Raises BodyError, whose `reason` says what
is wrong with the body.
"""

from __future__ import annotations

import zlib

import brotli
import zstandard

ACCEPT_ENCODING = "gzip, deflate, br, zstd"

# A legitimate feed or page shrinks by 5 to 30; deflate's own limit is 1,032.
BOMB_RATIO = 200
# Servers stack at most two (a cache in front of a compressing origin); each layer multiplies what a bomb can do.
MAX_LAYERS = 2
_STEP = 256 * 1024
# 4 bytes of zstd can be a block of 128 KB: at most 16 MB come out of one step.
_ZSTD_STEP = 512
_ZSTD_WINDOW = 8 * 1024 * 1024  # RFC 9659: HTTP's zstd needs no larger window


class BodyError(Exception):
    """The body cannot be had: `reason` is a code, `detail` a line for people."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def too_large(raw: int, limit: int, coding: str = "") -> BodyError:
    """The error of a body over `limit` bytes, unpacked from `raw` bytes."""
    if coding and raw * BOMB_RATIO < limit:
        return BodyError("decompression_bomb", f"{raw} bytes of {coding} unpack to more than {limit}")
    return BodyError("body_too_large", f"more than {limit} bytes")


def decoded(raw: bytes, content_encoding: str, limit: int) -> bytes:
    """The body as it was before each coding of the Content-Encoding header, at most `limit` bytes.

    Raises BodyError: body_too_large, decompression_bomb, body_truncated, body_undecodable, encoding_unknown.
    """
    codings = [name.strip().lower() for name in content_encoding.split(",")]
    codings = [name for name in codings if name and name != "identity"]
    if len(codings) > MAX_LAYERS:
        raise BodyError("encoding_unknown", f"{len(codings)} layers of content coding")
    body = raw
    for coding in reversed(codings):
        body = _unpacked(body, coding, limit, len(raw))
    if len(body) > limit:
        raise too_large(len(raw), limit)
    return body


def _unpacked(body: bytes, coding: str, limit: int, wire: int) -> bytes:
    if not body:
        return b""
    try:
        if coding in ("gzip", "x-gzip"):
            # Some servers name a coding and send plain text; the magic bytes decide.
            return _inflated(body, 31, limit, wire, coding) if body[:2] == b"\x1f\x8b" else body
        if coding == "deflate":
            # The header means zlib's format (RFC 9110, 8.4.1.2); some servers send it bare.
            zlib_format = body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
            return _inflated(body, 15 if zlib_format else -15, limit, wire, coding)
        if coding == "br":
            return _brotli(body, limit, wire)
        if coding == "zstd":
            return _zstd(body, limit, wire)
    except (zlib.error, brotli.error, zstandard.ZstdError) as error:
        raise BodyError("body_undecodable", f"{coding}: {error}") from None
    raise BodyError("encoding_unknown", coding[:60])


def _inflated(body: bytes, window: int, limit: int, wire: int, coding: str) -> bytes:
    output = bytearray()
    rest = body
    while rest:
        # Members may follow one another (RFC 1952, 2.2).
        stream = zlib.decompressobj(window)
        while rest and not stream.eof:
            output += stream.decompress(rest, _STEP)
            rest = stream.unconsumed_tail
            if len(output) > limit:
                raise too_large(len(body) - len(rest), limit, coding)
        output += stream.flush() if not stream.eof else b""
        if not stream.eof:
            raise BodyError("body_truncated", f"{coding} ends early after {len(output)} bytes")
        rest = stream.unused_data
        if window == 31 and rest[:2] != b"\x1f\x8b":
            break  # padding after the last member
    if len(output) > limit:
        raise too_large(wire, limit, coding)
    return bytes(output)


def _brotli(body: bytes, limit: int, wire: int) -> bytes:
    stream = brotli.Decompressor()
    output = bytearray(stream.process(body, output_buffer_limit=_STEP))
    while not stream.is_finished():
        if len(output) > limit:
            raise too_large(wire, limit, "br")
        step = stream.process(b"", output_buffer_limit=_STEP)
        if not step and not stream.is_finished():
            raise BodyError("body_truncated", f"br ends early after {len(output)} bytes")
        output += step
    if len(output) > limit:
        raise too_large(wire, limit, "br")
    return bytes(output)


def _zstd(body: bytes, limit: int, wire: int) -> bytes:
    output = bytearray()
    rest = memoryview(body)
    stream = None
    while rest:
        if stream is None:
            stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        piece, rest = rest[:_ZSTD_STEP], rest[_ZSTD_STEP:]
        output += stream.decompress(piece)
        if len(output) > limit:
            raise too_large(len(body) - len(rest), limit, "zstd")
        if stream.eof:
            # Frames may follow one another (RFC 8878, 3.1).
            rest = memoryview(stream.unused_data + bytes(rest))
            stream = None
    if stream is not None:
        raise BodyError("body_truncated", f"zstd ends early after {len(output)} bytes")
    return bytes(output)
