"""A gazetteer of people and organisations as one file that is mapped, not read: a million names, loaded in no time.

The file holds sorted 64-bit hashes of folded names (xxh3), each with the number of its entity; what is not in it is
refused by a look at the first word (or the first three characters, in scripts without spaces). Names themselves are not
kept: of a million names and 300 looked up in an article, a false match is met in one of 10**10 articles. Layout in
docs/entities.md. Reads and writes that file; decides nothing about texts.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from udfs.articles.gazetteer import MAX_TOKENS, UNSPACED_NAME, fold_tokens

MAGIC = b"broadsheet names 1\n"
TYPES = ("person", "organisation", "other")
# The header's room, bytes: it stands before the arrays and names them.
_HEADER = 4_096
_ALIGNED = 64
_LONGEST_UNSPACED = 12  # characters of a name in a script without spaces


class NamesError(ValueError):
    """The file is no gazetteer of names, or damaged."""


@dataclass(frozen=True, slots=True)
class Named:
    """An entity of the gazetteer. weight: how well known it is, decades; among namesakes the heaviest is meant."""

    id: str
    type: str
    weight: float


class NameBuilder:
    """Gathers names, about 200 bytes each in memory with their entities; then writes the file."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._weights: list[float] = []
        self._types: list[int] = []
        self._hashes: list[NDArray[np.uint64]] = []
        self._owners: list[NDArray[np.uint32]] = []
        self._pending: list[tuple[int, int]] = []
        self._firsts: dict[int, int] = {}
        self._starts: set[int] = set()

    def add(self, identity: str, kind: str, name: str, weight: float = 0.0) -> bool:
        """One name of an entity; False where nothing can be matched by it (one letter, a number, too long)."""
        key, unspaced = key_of(name)
        if not key:
            return False
        number = self._numbers.get(identity)
        if number is None:
            number = self._numbers[identity] = len(self._numbers)
            self._weights.append(weight)
            self._types.append(TYPES.index(kind) if kind in TYPES else TYPES.index("other"))
        self._weights[number] = max(self._weights[number], weight)
        self._pending.append((hash_of(key), number))
        if len(self._pending) >= 1 << 16:
            self._settle()
        if unspaced:
            self._starts.update(hash_of(key[:size]) for size in (2, 3) if len(key) >= size)
        else:
            first = hash_of(key.split(" ", 1)[0])
            self._firsts[first] = max(self._firsts.get(first, 0), key.count(" ") + 1)
        return True

    @property
    def entities(self) -> int:
        """How many entities there are so far."""
        return len(self._numbers)

    def _settle(self) -> None:
        if self._pending:
            self._hashes.append(np.array([pair[0] for pair in self._pending], np.uint64))
            self._owners.append(np.array([pair[1] for pair in self._pending], np.uint32))
            self._pending = []

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the file: equal names in order of weight, each entity once a name."""
        self._settle()
        hashes = np.concatenate(self._hashes) if self._hashes else np.zeros(0, np.uint64)
        owners = np.concatenate(self._owners) if self._owners else np.zeros(0, np.uint32)
        weights = np.array(self._weights, np.float32)
        order = np.lexsort((owners, -weights[owners], hashes))
        hashes, owners = hashes[order], owners[order]
        first = np.ones(len(hashes), np.bool_)
        first[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
        firsts = np.array(sorted(self._firsts.items()), np.uint64).reshape(-1, 2)
        blob = [identity.encode() for identity in self._numbers]
        return {
            "hashes": hashes[first],
            "owners": owners[first],
            "firsts": firsts[:, 0].copy(),
            "lengths": firsts[:, 1].astype(np.uint8),
            "starts": np.array(sorted(self._starts), np.uint64),
            "weights": weights,
            "types": np.array(self._types, np.uint8),
            "ends": np.cumsum([len(identity) for identity in blob], dtype=np.uint32),
            "ids": np.frombuffer(b"".join(blob), np.uint8),
        }

    def write(self, path: Path) -> None:
        """Write the file whole or not at all."""
        arrays = self.arrays()
        places: dict[str, tuple[str, int, int]] = {}
        at = _HEADER
        for name, array in arrays.items():
            places[name] = (array.dtype.str, at, len(array))
            at += -(-array.nbytes // _ALIGNED) * _ALIGNED
        header = MAGIC + json.dumps(places).encode() + b"\n"
        part = path.with_name(path.name + ".part")
        with part.open("wb") as file:
            file.write(header.ljust(_HEADER, b"\0"))
            for name, array in arrays.items():
                file.seek(places[name][1])
                file.write(array.tobytes())
            file.truncate(at)
        part.replace(path)


class NameIndex:
    """Names to entities, by whole keys. Many are asked at once: one search in sorted numbers answers all."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._hashes = arrays["hashes"]
        self._owners = arrays["owners"]
        self._firsts = arrays["firsts"]
        self._lengths = arrays["lengths"]
        self._starts = arrays["starts"]
        self._weights = arrays["weights"]
        self._types = arrays["types"]
        self._ends = arrays["ends"]
        self._ids = arrays["ids"]

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str, float]]) -> NameIndex:
        """An index in memory of (id, type, name, weight)."""
        builder = NameBuilder()
        for identity, kind, name, weight in rows:
            builder.add(identity, kind, name, weight)
        return cls(builder.arrays())

    @classmethod
    def open(cls, path: Path) -> NameIndex:
        """Map a file; its pages are shared by all processes that do. Raises NamesError, OSError."""
        with path.open("rb") as file:
            head = file.read(_HEADER)
            if not head.startswith(MAGIC):
                raise NamesError(f"{path}: no gazetteer of names (`broadsheet gazetteer build` writes one)")
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            places = json.loads(head[len(MAGIC) :].split(b"\n", 1)[0])
            arrays = {
                name: np.frombuffer(memory, dtype=kind, count=count, offset=at)
                for name, (kind, at, count) in places.items()
            }
            return cls(arrays)
        except (ValueError, KeyError, TypeError) as error:
            raise NamesError(f"{path}: damaged ({error})") from None

    @property
    def names(self) -> int:
        """How many names there are, namesakes counted apart."""
        return len(self._hashes)

    @property
    def entities(self) -> int:
        """How many entities there are."""
        return len(self._types)

    def longest(self, words: Sequence[str]) -> list[int]:
        """For each folded word the most words that a name beginning with it has, 0 where there is none."""
        return [int(self._lengths[at]) if at >= 0 else 0 for at in self._positions(self._firsts, words)]

    def starting(self, pieces: Sequence[str]) -> list[bool]:
        """For each two or three characters whether a name of a script without spaces begins so."""
        return [at >= 0 for at in self._positions(self._starts, pieces)]

    def look_up(self, keys: Sequence[str]) -> list[tuple[Named, ...]]:
        """For each folded key the entities called so, best known first."""
        found: list[tuple[Named, ...]] = []
        for key, at in zip(keys, self._positions(self._hashes, keys), strict=True):
            if at < 0:
                found.append(())
                continue
            wanted = hash_of(key)
            end = at
            while end < len(self._hashes) and int(self._hashes[end]) == wanted:
                end += 1
            found.append(tuple(self._named(int(owner)) for owner in self._owners[at:end]))
        return found

    def _named(self, owner: int) -> Named:
        start = int(self._ends[owner - 1]) if owner else 0
        identity = self._ids[start : int(self._ends[owner])].tobytes().decode()
        return Named(identity, TYPES[int(self._types[owner])], float(self._weights[owner]))

    @staticmethod
    def _positions(table: NDArray[Any], keys: Sequence[str]) -> list[int]:
        if not keys or not len(table):
            return [-1] * len(keys)
        numbers = dict.fromkeys(keys, 0)  # a text asks the same again and again
        wanted = np.array([hash_of(key) for key in numbers], np.uint64)
        at = np.searchsorted(table, wanted)
        there = table[np.minimum(at, len(table) - 1)] == wanted
        numbers = dict(zip(numbers, np.where(there, at, -1).tolist(), strict=True))
        return [numbers[key] for key in keys]


def key_of(name: str) -> tuple[str, bool]:
    """(what a name is found by, whether its script has no spaces); an empty key where it cannot be."""
    name = name.strip()
    if UNSPACED_NAME.match(name):
        return (name, True) if 2 <= len(name) <= _LONGEST_UNSPACED else ("", True)
    key = fold_tokens(name)
    letters = len(key.replace(" ", ""))
    return (key, False) if letters >= (2 if key >= "\u1100" else 3) and key.count(" ") < MAX_TOKENS else ("", False)


def hash_of(key: str) -> int:
    """The 64-bit number that stands for a key in the file."""
    return int(xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass")))
