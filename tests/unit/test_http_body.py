"""Bodies unpacked within a limit: every coding, bombs, torn and lying ones."""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from connectors.body import BodyError, decoded

PACK = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
TEXT = b"The ferry runs again after the storm. " * 400


def bare_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def sizeless_zstd(data: bytes) -> bytes:
    stream = zstandard.ZstdCompressor().compressobj()
    return stream.compress(data) + stream.flush()


@given(st.binary(max_size=4096), st.sampled_from(sorted(PACK)))
def test_what_was_packed_comes_back(data: bytes, coding: str) -> None:
    assert decoded(PACK[coding](data), coding, 4096) == data


@pytest.mark.parametrize("coding", ["", "identity", " Identity , identity"])
def test_no_coding_is_the_body_itself(coding: str) -> None:
    assert decoded(TEXT, coding, 10**6) == TEXT


def test_layers_are_taken_off_in_reverse() -> None:
    assert decoded(brotli.compress(gzip.compress(TEXT)), "gzip, br", 10**6) == TEXT


@pytest.mark.parametrize(
    ("raw", "coding"),
    [
        (bare_deflate(TEXT), "deflate"),
        (gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]), "gzip"),
        (gzip.compress(TEXT) + b"\0\0\0", "gzip"),
        (sizeless_zstd(TEXT), "zstd"),
        (zstandard.compress(TEXT[:100]) + sizeless_zstd(TEXT[100:]), "zstd"),
        (TEXT, "gzip"),
    ],
    ids=["bare deflate", "gzip members", "padded gzip", "zstd without size", "zstd frames", "plain text called gzip"],
)
def test_forms_that_servers_send(raw: bytes, coding: str) -> None:
    assert decoded(raw, coding, 10**6) == TEXT


@pytest.mark.parametrize("coding", sorted(PACK))
def test_the_limit_is_exact(coding: str) -> None:
    data = bytes(range(256)) * 40
    assert decoded(PACK[coding](data), coding, len(data)) == data
    with pytest.raises(BodyError) as raised:
        decoded(PACK[coding](data), coding, len(data) - 1)
    assert raised.value.reason == "body_too_large"


@pytest.mark.parametrize("coding", sorted(PACK))
def test_a_bomb_ends_at_the_limit(coding: str) -> None:
    bomb = PACK[coding](bytes(8 * 1024 * 1024))
    with pytest.raises(BodyError) as raised:
        decoded(bomb, coding, 128 * 1024)
    assert raised.value.reason == "decompression_bomb"


def test_a_bomb_in_a_bomb_ends_at_the_limit() -> None:
    with pytest.raises(BodyError) as raised:
        decoded(gzip.compress(gzip.compress(bytes(8 * 1024 * 1024))), "gzip, gzip", 128 * 1024)
    assert raised.value.reason == "decompression_bomb"


@pytest.mark.parametrize("packed", [gzip.compress, zlib.compress, brotli.compress, zstandard.compress, sizeless_zstd])
@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_torn_body_is_no_body(packed: object, kept: float) -> None:
    coding = {gzip.compress: "gzip", zlib.compress: "deflate", brotli.compress: "br"}.get(packed, "zstd")  # type: ignore[call-overload]
    raw = packed(TEXT + bytes(range(256)) * 20)  # type: ignore[operator]
    with pytest.raises(BodyError) as raised:
        decoded(raw[: int(len(raw) * kept)], coding, 10**6)
    assert raised.value.reason == "body_truncated"


@pytest.mark.parametrize("coding", ["br", "zstd", "deflate"])
def test_garbage_is_undecodable(coding: str) -> None:
    with pytest.raises(BodyError) as raised:
        decoded(b"<html>not packed at all</html>" * 10, coding, 10**6)
    assert raised.value.reason in ("body_undecodable", "body_truncated")


@pytest.mark.parametrize("coding", ["compress", "gzip, gzip, gzip", "aes128gcm"])
def test_a_coding_nobody_asked_for(coding: str) -> None:
    with pytest.raises(BodyError) as raised:
        decoded(gzip.compress(TEXT), coding, 10**6)
    assert raised.value.reason == "encoding_unknown"


@given(st.binary(max_size=600), st.sampled_from([*sorted(PACK), "gzip, br", "identity"]))
def test_any_bytes_end_as_a_body_or_a_reason(raw: bytes, coding: str) -> None:
    with suppress(BodyError):
        assert len(decoded(raw, coding, 100_000)) <= 100_000
