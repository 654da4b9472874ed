from __future__ import annotations

import contextlib
import importlib
import pkgutil
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import state_schemas
from state_schemas import codec
from state_schemas.articles import Article, Normalised, Removed, Tick, decode_normalised
from state_schemas.codec import DecodeError, Record, State, decode_record, dump_state, encode_record, load_state
from state_schemas.fetching import FetchResult
from tests.unit.any_struct import any_struct


def _all(base: type) -> list[type]:
    for module in pkgutil.iter_modules(state_schemas.__path__):
        importlib.import_module(f"state_schemas.{module.name}")
    found, queue = [], [base]
    while queue:
        for kind in queue.pop().__subclasses__():
            if kind.__module__.startswith("state_schemas."):
                found.append(kind)
            queue.append(kind)
    return sorted(found, key=lambda kind: (kind.__module__, kind.__name__))


@pytest.mark.parametrize("kind", _all(Record), ids=lambda kind: kind.__name__)
@settings(max_examples=20)
@given(data=st.data())
def test_a_record_comes_back_from_its_bytes(kind: type[Record], data: st.DataObject) -> None:
    record = data.draw(any_struct(kind))
    once = encode_record(record)
    again = decode_record(kind, once)
    assert again == record
    assert encode_record(again) == once


@pytest.mark.parametrize("kind", _all(State), ids=lambda kind: kind.__name__)
@settings(max_examples=20)
@given(data=st.data())
def test_state_comes_back_from_its_bytes(kind: type[State], data: st.DataObject) -> None:
    state = data.draw(any_struct(kind))
    stored = dump_state(state)
    assert stored[0] == kind.VERSION
    assert load_state(kind, stored) == state


@pytest.mark.parametrize("kind", _all(Record), ids=lambda kind: kind.__name__)
@settings(max_examples=20)
@given(data=st.data(), noise=st.binary(max_size=60))
def test_bytes_that_are_no_record_raise_decode_error_alone(
    kind: type[Record], data: st.DataObject, noise: bytes
) -> None:
    valid = encode_record(data.draw(any_struct(kind)))
    for broken in (noise, valid[: len(valid) // 2], valid + b"}", b"[" * 5000, b'"' + noise):
        with contextlib.suppress(DecodeError):
            decode_record(kind, broken)


def test_a_field_of_a_later_release_is_ignored() -> None:
    tick = Tick(language="en", decided_ms=5)
    later = encode_record(tick)[:-1] + b',"added_in_a_later_release":[1,2]}'
    assert decode_normalised(later) == tick


@pytest.mark.parametrize(
    "record",
    [
        Tick(language="ja", decided_ms=1),
        Removed(article_id="a", language="ja", version=2, decided_ms=1, reason="retracted"),
        Article(
            article_id="a",
            language="ja",
            version=1,
            event="new",
            canonical_url="https://n.example/a",
            publisher="n.example",
            title="橋が再開",
            first_seen_ms=1,
            decided_ms=2,
            parser_version="1",
        ),
    ],
    ids=lambda record: type(record).__name__,
)
def test_the_log_says_what_each_record_is(record: Normalised) -> None:
    assert decode_normalised(encode_record(record)) == record


def test_an_unknown_kind_of_the_log_is_refused_with_a_reason() -> None:
    with pytest.raises(DecodeError, match="record_invalid"):
        decode_normalised(b'{"kind":"rumour","language":"en"}')


class _Grown(State, frozen=True, array_like=True):
    VERSION: ClassVar[int] = 3
    name: str
    seen: tuple[int, ...]
    health: str


@codec.upgrades(_Grown, 1)
def _seen_was_one_number(fields: list[Any]) -> list[Any]:
    return [fields[0], [fields[1]]]


@codec.upgrades(_Grown, 2)
def _health_was_missing(fields: list[Any]) -> list[Any]:
    return [*fields, "ok"]


def test_old_state_is_upgraded_one_version_at_a_time() -> None:
    first = bytes((1,)) + msgspec.msgpack.encode(["feed", 7])
    second = bytes((2,)) + msgspec.msgpack.encode(["feed", [7, 8]])
    assert load_state(_Grown, first) == _Grown("feed", (7,), "ok")
    assert load_state(_Grown, second) == _Grown("feed", (7, 8), "ok")


def test_state_of_a_later_release_fails_the_job() -> None:
    with pytest.raises(ValueError, match="version 4, this release reads 3"):
        load_state(_Grown, bytes((4,)) + msgspec.msgpack.encode(["feed", [7], "ok", 1]))


def test_state_never_written_is_none() -> None:
    assert load_state(_Grown, None) is None
    assert load_state(_Grown, b"") is None


@given(st.lists(st.floats(-1, 1, width=16), max_size=400))
def test_a_vector_of_half_floats_comes_back_exactly(values: list[float]) -> None:
    vector = np.array(values, np.float32)
    assert np.array_equal(codec.unpack_vector(codec.pack_vector(vector)), vector)


def test_an_odd_number_of_bytes_is_no_vector() -> None:
    with pytest.raises(DecodeError, match="vector_invalid"):
        codec.unpack_vector(b"abc")


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_a_text_comes_back_from_zstd(text: str) -> None:
    assert codec.unpack_text(codec.pack_text(text)) == text


def test_a_body_that_unzips_to_gigabytes_is_refused_before_unpacking() -> None:
    bomb = codec.pack_text(bytes(codec.MAX_TEXT_BYTES + 1))
    assert len(bomb) < 10_000
    with pytest.raises(DecodeError, match="body_too_large"):
        codec.unpack_bytes(bomb)


@pytest.mark.parametrize("damaged", [b"abc", codec.pack_text("hello")[:-2], codec.pack_text("hello" * 99)[:20]])
def test_a_damaged_body_is_refused(damaged: bytes) -> None:
    with pytest.raises(DecodeError, match="body_"):
        codec.unpack_bytes(damaged)


def test_defaults_take_no_room_in_a_topic() -> None:
    result = FetchResult(request_id="r", feed_id="f", kind="feed", url="u", outcome="not_modified", fetched_ms=1)
    assert b"retry_after" not in encode_record(result)
