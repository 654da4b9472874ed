"""Hypothesis strategies for any record or state, from its own field types."""

from __future__ import annotations

import types
import typing
from typing import Any

import msgspec
from hypothesis import strategies as st

# Every character but lone surrogates: JSON text cannot carry them.
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**53), 2**53),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=40),
    type(None): st.none(),
}


def any_struct(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Instances of a Struct, each field drawn from its type; optional fields are sometimes left at their default."""
    hints = typing.get_type_hints(kind)
    required, optional = {}, {}
    for entry in msgspec.structs.fields(kind):
        strategy = _of(hints[entry.name])
        (required if entry.required else optional)[entry.name] = strategy
    return st.fixed_dictionaries(required, optional=optional).map(lambda values: kind(**values))


def _of(hint: Any) -> st.SearchStrategy[Any]:
    if hint in LEAVES:
        return LEAVES[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([_of(argument) for argument in arguments])
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(_of(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*[_of(argument) for argument in arguments])
    if origin is list:
        return st.lists(_of(arguments[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(_of(arguments[0]), _of(arguments[1]), max_size=3)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return any_struct(hint)
    raise TypeError(f"no strategy for {hint!r}")
