"""Write a character map in the form that SentencePiece and `tokenizers` read ("precompiled charsmap").

Decides only the bytes. The form: u32 size of the trie in bytes, the trie, then the replacements in UTF-8, each ended by
a zero byte. The trie is a double array over UTF-8 bytes, as darts-clone defines it: an element is a u32 with the byte
that leads to it in bits 0-7, "has a value" in bit 8, and the distance to its children (position XOR base) from bit 10.
The child for byte c of a node with base b stands at b XOR c; the node's own value stands at b, marked with bit 31, and
is the replacement's place in the text that follows.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

HAS_VALUE = 1 << 8
OFFSET_SHIFT = 10
OFFSET_LIMIT = 1 << 21  # larger distances need darts-clone's long form; a map of single characters never does
VALUE = 1 << 31


@dataclass(slots=True)
class _Node:
    children: dict[int, _Node] = field(default_factory=dict)
    value: int | None = None


def precompiled_charsmap(mapping: Mapping[str, str]) -> bytes:
    """The map from strings (without zero bytes, not empty) to replacements (perhaps empty), ready for `Precompiled`.

    Raises ValueError when a key is empty or holds a zero character, or when the map is too large for the short form.
    """
    root = _Node()
    text = bytearray()
    places: dict[str, int] = {}
    for key, replacement in sorted(mapping.items()):
        if not key or "\0" in key or "\0" in replacement:
            raise ValueError("a key or replacement of a character map cannot be empty or hold a zero character")
        if replacement not in places:
            places[replacement] = len(text)
            text += replacement.encode("utf-8") + b"\0"
        node = root
        for byte in key.encode("utf-8"):
            node = node.children.setdefault(byte, _Node())
        node.value = places[replacement]
    trie = _double_array(root)
    return struct.pack("<I", 4 * len(trie)) + struct.pack(f"<{len(trie)}I", *trie) + bytes(text)


def _double_array(root: _Node) -> list[int]:
    """Place every node; bases are given out in growing order and never twice, so that two nodes share no position."""
    units = [0]
    used = {0}
    bases: set[int] = set()
    next_base = 1
    pending = [(root, 0)]
    while pending:
        node, position = pending.pop()
        labels = [*([0] if node.value is not None else []), *node.children]
        base = next_base
        while base in bases or any(base ^ label in used for label in labels):
            base += 1
        while next_base in used or next_base in bases:
            next_base += 1
        if position ^ base >= OFFSET_LIMIT:
            raise ValueError("the character map is too large")
        bases.add(base)
        top = max(base ^ label for label in labels)
        units.extend([0] * (top + 1 - len(units)))
        units[position] |= (position ^ base) << OFFSET_SHIFT
        if node.value is not None:
            units[position] |= HAS_VALUE
            units[base] = node.value | VALUE
            used.add(base)
        for label, child in node.children.items():
            units[base ^ label] = label
            used.add(base ^ label)
            pending.append((child, base ^ label))
    units.extend([0] * (-len(units) % 256))  # a byte never leads past the end
    return units
