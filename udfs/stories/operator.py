"""Cluster: keyed state, timers and topics around the language writers; decides nothing.

Route finds the language of each record (its key selector never parses). Cluster keeps one writer a language in memory,
rebuilt from keyed state at the first element or timer after `open()`, and stores what each decision says. A timer a key
stands a little ahead at all times: after a restore it fires at once, so that a rebuild does not wait for input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, OutputTag, ProcessFunction, RuntimeContext
from pyflink.datastream.state import MapStateDescriptor

from connectors.flink_timers import set_tick
from connectors.kafka_flink import quarantine_tag, to_row
from state_schemas.articles import decode_normalised
from state_schemas.clusters import MAPS
from state_schemas.codec import DecodeError, encode_record
from state_schemas.quarantine import quarantined
from state_schemas.topics import ARTICLES
from udfs.stories.language_keys import language_key, language_of_key
from udfs.stories.policy import ClusterModel, ClusterPolicy
from udfs.stories.writer import LanguageWriter

# (language key, record) between Route and Cluster.
ROUTED = Types.TUPLE([Types.INT(), Types.PRIMITIVE_ARRAY(Types.BYTE())])
KINDS = frozenset(("article", "removed", "tick", "command"))
# How far ahead each key's timer stands; only its being there after a restore matters.
_TIMER_MS = 60_000
_STAGE = "cluster"


class _Head(msgspec.Struct):
    """The two fields a record is routed by."""

    kind: str
    language: str


class Route(ProcessFunction):
    """Bytes of articles.normalised to (language key, bytes); what is no record of the log goes to quarantine."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._quarantine: OutputTag = quarantine_tag()
        self._decoder = msgspec.json.Decoder(_Head)

    def process_element(self, value: bytes, ctx: Any) -> Iterable[Any]:
        try:
            head = self._decoder.decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            invalid = isinstance(error, msgspec.ValidationError)
            yield self._quarantine, _refused(value, "record_invalid" if invalid else "record_undecodable", error, ctx)
            return
        if head.kind not in KINDS:
            yield self._quarantine, _refused(value, "record_kind_unknown", head.kind, ctx)
            return
        yield language_key(head.language), bytes(value)


class Cluster(KeyedProcessFunction):
    """(language key, bytes) to rows of story.changes, by the writer of that language."""

    def __init__(self, model: ClusterModel, policy: ClusterPolicy) -> None:
        self._model = model
        self._policy = policy

    def open(self, runtime_context: RuntimeContext) -> None:
        self._quarantine: OutputTag = quarantine_tag()
        self._maps = {
            name: runtime_context.get_map_state(
                MapStateDescriptor(name, Types.STRING(), Types.PRIMITIVE_ARRAY(Types.BYTE()))
            )
            for name in MAPS
        }
        self._writers: dict[int, LanguageWriter] = {}

    def process_element(self, value: tuple[int, bytes], ctx: Any) -> Iterable[Any]:
        writer = self._writer(ctx)
        data = bytes(value[1])
        try:
            decision = writer.decide(decode_normalised(data))
        except DecodeError as error:  # the sender's fault, found before anything changed: the log goes on
            yield self._quarantine, _refused(data, error.reason, error.detail, ctx)
            return
        for name, key, stored in decision.puts:
            if stored is None:
                self._maps[name].remove(key)
            else:
                self._maps[name].put(key, stored)
        for change in decision.changes:
            yield to_row(change.language, encode_record(change))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        self._writer(ctx)
        self._arm(ctx)
        return ()

    def _writer(self, ctx: Any) -> LanguageWriter:
        key = ctx.get_current_key()
        writer = self._writers.get(key)
        if writer is None:
            writer = LanguageWriter(language_of_key(key), self._model, self._policy, self._stored)
            writer.restore(self._rows)
            self._writers[key] = writer
            self._arm(ctx)
        return writer

    @staticmethod
    def _arm(ctx: Any) -> None:
        """On a fixed grid, so that a restart adds no second chain of timers to the restored one."""
        now_ms = ctx.timer_service().current_processing_time()
        set_tick(ctx.timer_service(), (now_ms // _TIMER_MS + 1) * _TIMER_MS, _TIMER_MS)

    def _stored(self, name: str, key: str) -> bytes | None:
        found = self._maps[name].get(key)
        return None if found is None else bytes(found)

    def _rows(self, name: str) -> Iterator[tuple[str, bytes]]:
        return ((key, bytes(value)) for key, value in self._maps[name].items())


def _refused(record: bytes, reason: str, detail: object, ctx: Any) -> Any:
    at_ms = ctx.timer_service().current_processing_time()
    return to_row(
        ARTICLES.name, quarantined(ARTICLES.name, _STAGE, reason, at_ms, record=bytes(record), detail=str(detail))
    )
