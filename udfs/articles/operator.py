"""Flink around the parse stage: Extract, Decide, Sign, Clock. State, timers, processes and counters; decides nothing.

    items.raw -> Extract -> key_by(shard of the article id) -> Decide -> Sign -> articles.normalised
        ^                                                        |        \\-> key_by(language) -> Clock -> the same
        \\---- retractions for another address of the article --/

Decide is the only keyed stage an article passes. 4,096 shards, not one key an article: many keys are dear (585 us for
a get and put over 1,000 keys, docs/articles.md), and expiry then takes one timer a shard and day. Sign is chained to
Decide, one to one, so the versions of an article reach its language's partition in their order.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction, OutputTag, ProcessFunction, RuntimeContext
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

from connectors.evidence import evidence_of
from connectors.flink_timers import set_tick
from connectors.kafka_flink import ROW, quarantine_tag, to_row
from connectors.settings import Endpoints
from state_schemas.articles import Article, Removed, Tick
from state_schemas.codec import (
    DecodeError,
    decode_record,
    dump_state,
    encode_record,
    load_state,
    pack_text,
)
from state_schemas.fetching import RawItem
from state_schemas.ids import hash64_hex
from state_schemas.quarantine import quarantined
from state_schemas.rows import ArticleRow
from state_schemas.sources import Origin
from state_schemas.topics import ITEMS_RAW
from udfs.articles.child import ExtractionChild
from udfs.articles.encoder import Encoder, load_encoder
from udfs.articles.events import Event, Retraction, id_of, pack_event, unpack_event
from udfs.articles.identity import DAY_MS, IdentityPolicy, decide, is_waiting, is_withheld, without_waiting
from udfs.articles.parse import EvidenceOf, Extractor, Reader, Rejected, parse_raw
from udfs.articles.policy import ArticlesPolicy
from udfs.articles.section_model import load_section_model
from udfs.articles.signing import Signer

STAGE = "parse"
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
# Hex digits of the article id that name its shard: 16^3 = 4,096.
SHARD_DIGITS = 3
_DAY_SPREAD_MS = DAY_MS // 16**SHARD_DIGITS
_ID_BYTES = 16


class Outgoing(msgspec.Struct, frozen=True, array_like=True):
    """One decided record on its way to Sign. body: the plain text, which the record itself carries packed."""

    record: Article | Removed
    body: str = ""


_encode = msgspec.msgpack.Encoder().encode
_decode_outgoing = msgspec.msgpack.Decoder(Outgoing).decode


def clock_tag() -> OutputTag:
    """The side output of Sign: each language whose log it writes to, for the Clock."""
    return OutputTag("clock", Types.STRING())


def forwarded_tag() -> OutputTag:
    """The side output of Decide: retractions for items.raw, for articles that were met under another address."""
    return OutputTag("forwarded", ROW)


def itself(language: str) -> str:
    """The key of a language's clock."""
    return language


def shard_of(article: str) -> str:
    """The key that an article's events are decided under."""
    return article[:SHARD_DIGITS]


class _Counters:
    """Counters by name: each record ends in exactly one of a stage's."""

    def __init__(self, context: RuntimeContext) -> None:
        self._group = context.get_metrics_group().add_group("broadsheet").add_group(STAGE)
        self._counters: dict[str, Any] = {}

    def count(self, name: str) -> None:
        if name not in self._counters:
            self._counters[name] = self._group.counter(name)
        self._counters[name].inc()


class Extract(ProcessFunction):
    """bytes of a RawItem -> (shard, bytes of an Event); what cannot be used to the quarantine. Stateless."""

    def __init__(self, policy: ArticlesPolicy, endpoints: Endpoints, evidence: EvidenceOf | None = None) -> None:
        self._policy = policy
        self._endpoints = endpoints
        self._evidence = evidence

    def open(self, runtime_context: RuntimeContext) -> None:
        folder = self._endpoints.reference_data_folder()
        self._reader = Reader(folder, self._policy)
        # 100,000 names that live as long as the worker: without this every full collection walks them all.
        gc.collect()
        gc.freeze()
        self._child = ExtractionChild(self._policy, folder)
        self._counters = _Counters(runtime_context)
        self._quarantine = quarantine_tag()
        self._stored = self._evidence or evidence_of(self._endpoints)

    def close(self) -> None:
        self._child.close()

    def process_element(self, value: bytes, ctx: ProcessFunction.Context) -> Iterator[Any]:
        now_ms = ctx.timer_service().current_processing_time()
        try:
            raw = decode_record(RawItem, value)
        except DecodeError as error:
            self._counters.count("undecodable")
            yield self._aside(error.reason, error.detail, now_ms, value)
            return
        child: Extractor = self._child
        outcome = parse_raw(raw, self._reader, child, self._stored)
        if isinstance(outcome, Rejected) and outcome.left_alone:
            self._counters.count(f"left_alone_{outcome.reason}")
            return
        if isinstance(outcome, Rejected):
            self._counters.count(f"rejected_{outcome.reason}")
            yield self._aside(outcome.reason, outcome.detail, now_ms, value, raw)
            return
        if outcome.aside is not None:
            self._counters.count(f"aside_{outcome.aside.reason}")
            yield self._aside(outcome.aside.reason, outcome.aside.detail, now_ms, value, raw)
        try:
            keyed = [_keyed(event) for event in (outcome.event, *outcome.aliases)]
        except OverflowError as error:
            # JSON's integers have no end, those of msgpack have 64 bits.
            self._counters.count("rejected_number_out_of_range")
            yield self._aside("number_out_of_range", str(error), now_ms, value, raw)
            return
        yield from keyed

    def _aside(self, reason: str, detail: str, now_ms: int, value: bytes, raw: RawItem | None = None) -> Any:
        record = quarantined(
            ITEMS_RAW.name,
            STAGE,
            reason,
            now_ms,
            record=value,
            subject=raw.url if raw else "",
            detail=detail,
            publisher=raw.origin.publisher if raw else "",
        )
        return self._quarantine, to_row(ITEMS_RAW.name, record)


def _keyed(event: Event) -> tuple[str, bytes]:
    return shard_of(id_of(event)), pack_event(event)


class Decide(KeyedProcessFunction):
    """(shard, bytes of an Event) -> bytes of Outgoing, in order. State: article id -> ArticleRow, by shard.

    Side output: forwarded. What waits for articles never met is bounded: the newest `waiting_rows` a shard, two days.
    """

    def __init__(self, policy: ArticlesPolicy) -> None:
        self._policy = policy
        self._bounds = IdentityPolicy()

    def open(self, runtime_context: RuntimeContext) -> None:
        self._rows = runtime_context.get_map_state(MapStateDescriptor("rows", Types.STRING(), BYTES))
        # Whether the shard's daily timer is set; a restored shard has both.
        self._armed = runtime_context.get_state(ValueStateDescriptor("armed", Types.BOOLEAN()))
        # Ids of articles that events wait for, in the order in which the first of each came, 16 bytes each.
        self._waiting = runtime_context.get_state(ValueStateDescriptor("waiting", BYTES))
        self._armed_here: set[str] = set()
        self._counters = _Counters(runtime_context)
        self._forwarded = forwarded_tag()

    def process_element(self, value: tuple[str, bytes], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        shard, data = value
        event = unpack_event(data)
        now_ms = ctx.timer_service().current_processing_time()
        article = id_of(event)
        before = load_state(ArticleRow, self._rows.get(article))
        decision = decide(before, event, now_ms, self._bounds)
        if decision.row is not None:
            self._rows.put(article, dump_state(decision.row))
        self._counters.count(decision.status)
        if decision.status == "waiting" and (before is None or before.rare is None or not before.rare.waiting):
            self._wait(article)
        for record, body in zip(decision.send, decision.bodies, strict=True):
            if isinstance(record, Article):
                for fault in record.date_faults:
                    self._counters.count(f"date_{fault}")
            yield _encode(Outgoing(record, body))
        if decision.forward is not None:
            self._counters.count("forwarded")
            yield self._forwarded, _forwarded_row(decision.forward)
        if shard not in self._armed_here:
            self._armed_here.add(shard)
            if not self._armed.value():
                self._armed.update(True)
                set_tick(ctx.timer_service(), _next_sweep(shard, now_ms), DAY_MS)

    def _wait(self, article: str) -> None:
        """Remember that events wait for an article; those that wait longest give way to a flood."""
        ids = bytes(self._waiting.value() or b"") + bytes.fromhex(article)
        most = self._policy.waiting_rows * _ID_BYTES
        for at in range(0, max(0, len(ids) - most), _ID_BYTES):
            oldest = ids[at : at + _ID_BYTES].hex()
            row = load_state(ArticleRow, self._rows.get(oldest))
            if row is None or row.version or row.rare is None or not row.rare.waiting:
                continue  # it was met, or forgotten
            if is_withheld(row):
                continue  # few, and ours
            self._counters.count("waited_in_vain")
            left = without_waiting(row)
            if left is None:
                self._rows.remove(oldest)
            else:
                self._rows.put(oldest, dump_state(left))
        self._waiting.update(ids[-most:])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[bytes]:
        """Once a day and shard: forget the rows that were last met more than `row_days` ago and are not withheld."""
        now_ms = ctx.timer_service().current_processing_time()
        today = now_ms // DAY_MS
        expired = []
        for article, data in self._rows.items():
            row = load_state(ArticleRow, data)
            days = self._policy.row_days if row is None or not is_waiting(row) else self._policy.waiting_days
            if row is None or (row.met_day < today - days and not is_withheld(row)):
                expired.append(article)
        for article in expired:
            self._rows.remove(article)
            self._counters.count("expired")
        set_tick(ctx.timer_service(), _next_sweep(ctx.get_current_key(), now_ms), DAY_MS)
        yield from ()


def _forwarded_row(event: Retraction) -> Row:
    """The retraction as raw evidence: read again, it is decided where its article's row is."""
    item = RawItem(
        kind="retraction",
        url=event.url,
        origin=Origin(publisher=event.publisher),
        found_ms=event.found_ms,
        fetched_ms=event.read_ms,
        reason=event.reason,
        by_operator=event.by_operator,
        article_id=event.article_id,
    )
    return to_row(hash64_hex(item.url), encode_record(item))


def _next_sweep(shard: str, now_ms: int) -> int:
    """The shard's own minute of the next day: 4,096 sweeps are spread over 24 h."""
    return (now_ms // DAY_MS + 1) * DAY_MS + int(shard, 16) * _DAY_SPREAD_MS


class Sign(ProcessFunction):
    """bytes of Outgoing -> a row of articles.normalised, signatures filled in. Side outputs: clock, quarantine."""

    def __init__(
        self, policy: ArticlesPolicy, endpoints: Endpoints, make_encoder: Callable[[], Encoder] | None = None
    ) -> None:
        self._policy = policy
        self._endpoints = endpoints
        self._make_encoder = make_encoder

    def open(self, runtime_context: RuntimeContext) -> None:
        encoder = self._make_encoder() if self._make_encoder else _encoder_of(self._endpoints)
        sections = load_section_model(self._endpoints.reference_data_folder())
        self._told: set[str] = set()
        self._counters = _Counters(runtime_context)
        self._signer = Signer(encoder, self._policy, lambda: self._counters.count("encoded"), sections)
        self._clock = clock_tag()
        self._quarantine = quarantine_tag()

    def process_element(self, value: bytes, ctx: ProcessFunction.Context) -> Iterator[Any]:
        outgoing = _decode_outgoing(value)
        record = outgoing.record
        if isinstance(record, Article):
            try:
                record = self._signer.signed(record, outgoing.body)
            except Exception as error:
                # Without a vector the article still stands in its log; failing here would replay it for ever.
                self._counters.count("unsigned")
                now_ms = ctx.timer_service().current_processing_time()
                aside = quarantined(
                    ITEMS_RAW.name,
                    STAGE,
                    "sign_failed",
                    now_ms,
                    record=encode_record(record),
                    subject=record.canonical_url,
                    detail=f"{type(error).__name__}: {error}",
                    publisher=record.publisher,
                )
                yield self._quarantine, to_row(ITEMS_RAW.name, aside)
                record = msgspec.structs.replace(record, body=pack_text(outgoing.body) if outgoing.body else b"")
        if record.language not in self._told:
            self._told.add(record.language)
            yield self._clock, record.language
        yield to_row(record.language, encode_record(record))


def _encoder_of(endpoints: Endpoints) -> Encoder:
    """The configured encoder; a relative folder is the installation's, not the worker's current one."""
    return load_encoder(endpoints.encoder, Path(__file__).resolve().parents[2] / endpoints.encoder_folder)


class Clock(KeyedProcessFunction):
    """A language, whenever it is met -> one Tick a minute for its log, for ever: time goes on without news."""

    def __init__(self, policy: ArticlesPolicy) -> None:
        self._every_ms = policy.clock_ms

    def open(self, runtime_context: RuntimeContext) -> None:
        self._armed = runtime_context.get_state(ValueStateDescriptor("armed", Types.BOOLEAN()))
        self._ticked: dict[str, int] = {}  # language -> its last tick's minute

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        if not self._armed.value():
            self._armed.update(True)
            self._arm(ctx)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        language = ctx.get_current_key()
        now_ms = ctx.timer_service().current_processing_time()
        self._arm(ctx)
        if self._ticked.get(language) != now_ms // self._every_ms:
            self._ticked[language] = now_ms // self._every_ms
            yield to_row(language, encode_record(Tick(language=language, decided_ms=now_ms)))

    def _arm(self, ctx: KeyedProcessFunction.Context) -> None:
        """The next whole minute from now: after an outage there is one tick, not one for each minute missed."""
        now_ms = ctx.timer_service().current_processing_time()
        set_tick(ctx.timer_service(), (now_ms // self._every_ms + 1) * self._every_ms, self._every_ms)
