"""How records and keyed state become bytes, and what happens to bytes that are no record.

Records (Kafka, objects) are JSON, so that an analyst reads a topic with any tool. Keyed state is one version byte
and msgpack, upgraded one version at a time when it is read. Vectors are little-endian float16, bytes are base64
in JSON, long texts travel as zstd. Reading order: records, state, vectors, texts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, TypeVar

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

# The largest text that unzips from a record. A body of 900 KB zstd may hold more; a hostile one may hold gigabytes.
MAX_TEXT_BYTES = 32 * 1024 * 1024


class DecodeError(ValueError):
    """Bytes that are no such record: the sender's fault. `reason` is a code for the quarantine topic.

    Set the bytes aside in `quarantine` and go on with the next record.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all Kafka records and objects. Fields are only ever added, with defaults."""


class State(msgspec.Struct, frozen=True, array_like=True):
    """Base of all keyed state: stored by position. A change of fields raises VERSION and adds an upgrade."""

    VERSION: ClassVar[int] = 1


R = TypeVar("R")
S = TypeVar("S", bound=State)
Upgrade = Callable[[list[Any]], list[Any]]

_UPGRADES: dict[tuple[type[State], int], Upgrade] = {}


@cache
def _record_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@cache
def _state_decoder(kind: type[State]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind)


_record_encoder = msgspec.json.Encoder(order="deterministic")
_state_encoder = msgspec.msgpack.Encoder()


def encode_record(record: msgspec.Struct) -> bytes:
    """One record as JSON, fields in their order of declaration: equal records give equal bytes."""
    return _record_encoder.encode(record)


def decode_record(kind: type[R], data: bytes) -> R:
    """`data` as a record of `kind` (a class). Raises DecodeError, never another error."""
    try:
        decoded: R = _record_decoder(kind).decode(data)  # type: ignore[arg-type]
    except msgspec.ValidationError as error:
        raise DecodeError("record_invalid", str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError("record_undecodable", str(error)) from None
    return decoded


def upgrades(kind: type[State], from_version: int) -> Callable[[Upgrade], Upgrade]:
    """Register how the fields of `kind`, as stored at `from_version`, become those of the next version."""

    def register(upgrade: Upgrade) -> Upgrade:
        _UPGRADES[kind, from_version] = upgrade
        return upgrade

    return register


def dump_state(state: State) -> bytes:
    """Version byte and msgpack."""
    return bytes((state.VERSION,)) + _state_encoder.encode(state)


def load_state(kind: type[S], data: bytes | None) -> S | None:
    """The state, upgraded to today's version; None for state that was never written.

    Raises ValueError on bytes of a newer or unknown version: the savepoint belongs to another release, so the job
    must fail rather than go on with half its memory (see CHANGELOG for the way through).
    """
    if not data:
        return None
    version = data[0]
    if version == kind.VERSION:
        return _state_decoder(kind).decode(data[1:])  # type: ignore[no-any-return]
    fields = msgspec.msgpack.decode(data[1:])
    while version < kind.VERSION:
        upgrade = _UPGRADES.get((kind, version))
        if upgrade is None:
            break
        fields = upgrade(fields)
        version += 1
    if version != kind.VERSION:
        raise ValueError(f"{kind.__name__}: state of version {data[0]}, this release reads {kind.VERSION}")
    return msgspec.convert(fields, kind)


def pack_vector(vector: NDArray[np.floating[Any]]) -> bytes:
    """A vector of any float type as little-endian float16 bytes (2 bytes a dimension)."""
    return np.ascontiguousarray(vector, dtype="<f2").tobytes()


def unpack_vector(data: bytes) -> NDArray[np.float32]:
    """The float32 vector of `pack_vector`'s bytes. Raises DecodeError on an odd length."""
    if len(data) % 2:
        raise DecodeError("vector_invalid", f"{len(data)} bytes are no float16 vector")
    return np.frombuffer(data, dtype="<f2").astype(np.float32)


def pack_text(text: str | bytes) -> bytes:
    """Text (as UTF-8) or raw bytes as a zstd frame that carries its size."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    # A compressor is not safe to share between threads, and Flink runs elements on changing ones.
    return zstandard.ZstdCompressor(level=3).compress(raw)


def unpack_bytes(data: bytes) -> bytes:
    """The bytes of a zstd frame. Raises DecodeError on damage, and above MAX_TEXT_BYTES before unpacking."""
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= MAX_TEXT_BYTES:
            raise DecodeError("body_too_large", f"zstd frame of {size} bytes")
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=MAX_TEXT_BYTES)
    except zstandard.ZstdError as error:
        raise DecodeError("body_undecodable", str(error)) from None


def unpack_text(data: bytes) -> str:
    """The text of `pack_text`'s bytes; empty for none. Raises DecodeError on damage."""
    return unpack_bytes(data).decode("utf-8", "replace") if data else ""
