"""The poll stage on Flink: state, timers and topics around schedule.py; decides nothing.

Three topics come in by one stream: `Route` gives each record its shard as key and its kind as first byte, without
parsing more than the feed id. `Poll` holds, for each of 256 shards, the feeds' rows in MapState and mirrored in
memory (shard.py), rebuilt at the first element or timer after open(). One timer a shard, every tick, releases what is
due. A release re-arms its feed, so a request lost anywhere is only late.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace
from pyflink.common import Types
from pyflink.datastream import OutputTag
from pyflink.datastream.functions import KeyedProcessFunction, ProcessFunction, RuntimeContext
from pyflink.datastream.state import MapStateDescriptor

from connectors.flink_timers import set_tick
from connectors.kafka_flink import ROW, quarantine_tag, to_row
from connectors.objects import ObjectStoreError, S3Objects
from connectors.settings import Endpoints
from state_schemas.codec import DecodeError, decode_record, encode_record, unpack_bytes
from state_schemas.fetching import Body, FetchRequest, FetchResult
from state_schemas.ids import hash64_hex
from state_schemas.polling import FeedState
from state_schemas.quarantine import quarantined
from state_schemas.sources import PollSignal, Source
from state_schemas.topics import FEEDS_FETCHED, POLL_SIGNALS, SOURCES, Topic
from udfs.feeds.document import FeedError, ParsedFeed, ReaderPolicy
from udfs.feeds.reader import parse_feed
from udfs.poll import schedule
from udfs.poll.actions import Action, Ask, Found, Hold, Serve, SetAside, Subscribe
from udfs.poll.items import as_before
from udfs.poll.metrics import PollMetrics
from udfs.poll.pages import release_page
from udfs.poll.policy import PollPolicy
from udfs.poll.shard import Shard, held_feed, held_key
from udfs.poll.websub import CHANCE_BYTES, Callbacks, leave

STAGE = "poll"
_TOPICS: dict[bytes, Topic] = {b"s": SOURCES, b"p": POLL_SIGNALS, b"f": FEEDS_FETCHED}
_TAGS = {topic.name: tag for tag, topic in _TOPICS.items()}


def priority_tag() -> OutputTag:
    """The side output of requests that go before all others."""
    return OutputTag("priority", ROW)


def subscriptions_tag() -> OutputTag:
    """The side output of subscriptions at hubs."""
    return OutputTag("subscriptions", ROW)


def items_tag() -> OutputTag:
    """The side output of items whose page is no longer asked for."""
    return OutputTag("items", ROW)


class _Keyed(msgspec.Struct):
    """All that routing reads of a record."""

    feed_id: str


class Route(ProcessFunction):
    """Bytes of one topic to (shard, kind byte + bytes), or quarantine."""

    def __init__(self, topic: Topic, shards: int) -> None:
        self._topic, self._shards = topic.name, shards
        self._tag = _TAGS[topic.name]

    def open(self, runtime_context: RuntimeContext) -> None:
        self._quarantine = quarantine_tag()

    def process_element(self, value: bytes, ctx: ProcessFunction.Context) -> Iterator[Any]:
        try:
            feed_id = decode_record(_Keyed, value).feed_id
            shard = shard_of(feed_id, self._shards)
        except DecodeError as error:
            now_ms = ctx.timer_service().current_processing_time()
            yield self._quarantine, _aside(self._topic, error.reason, now_ms, value, detail=error.detail)
            return
        yield shard, self._tag + value


def shard_of(feed_id: str, shards: int) -> str:
    """The key under which a feed's shard is found. Raises DecodeError on what is no feed id."""
    if len(feed_id) != 16:
        raise DecodeError("feed_id_invalid", feed_id[:100])
    try:
        return str(int(feed_id, 16) % shards)
    except ValueError:
        raise DecodeError("feed_id_invalid", feed_id) from None


def _aside(topic: str, reason: str, now_ms: int, record: bytes, **more: str) -> Any:
    return to_row(topic, quarantined(topic, STAGE, reason, now_ms, record=record, **more))


class Poll(KeyedProcessFunction):
    """(shard, kind byte + record) to fetch requests; priority requests, items and quarantine by side outputs."""

    def __init__(self, policy: PollPolicy, reader: ReaderPolicy, endpoints: Endpoints) -> None:
        self._policy, self._reader, self._endpoints = policy, reader, endpoints

    def open(self, runtime_context: RuntimeContext) -> None:
        packed = Types.PRIMITIVE_ARRAY(Types.BYTE())
        self._rows = runtime_context.get_map_state(MapStateDescriptor("feeds", Types.STRING(), packed))
        self._held = runtime_context.get_map_state(MapStateDescriptor("held_pages", Types.STRING(), packed))
        self._shards: dict[str, Shard] = {}
        self._objects: S3Objects | None = None
        self._priority, self._items, self._quarantine = priority_tag(), items_tag(), quarantine_tag()
        self._subscriptions = subscriptions_tag()
        self._callbacks = Callbacks(self._endpoints.push_public)
        gauges: dict[str, Callable[[], int]] = {
            "feeds": lambda: sum(map(len, self._shards.values())),
            "waiting_for_budget": lambda: sum(shard.waiting for shard in self._shards.values()),
        }
        self._metrics = PollMetrics(runtime_context.get_metrics_group(), gauges)

    def process_element(self, value: tuple[str, bytes], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        shard = self._shard(value[0], ctx)
        tag, record = value[1][:1], value[1][1:]
        now_ms = ctx.timer_service().current_processing_time()
        try:
            if tag == b"s":
                yield from self._on_source(shard, decode_record(Source, record), now_ms)
            elif tag == b"p":
                yield from self._on_signal(shard, decode_record(PollSignal, record), now_ms)
            else:
                yield from self._on_result(shard, decode_record(FetchResult, record), now_ms)
        except DecodeError as error:
            self._metrics.plain("quarantined")
            topic = _TOPICS[tag].name
            yield self._quarantine, _aside(topic, error.reason, now_ms, record, detail=error.detail)
        except OverflowError as error:
            # JSON's integers have no end, those of keyed state have 64 bits; a row is packed before it is kept.
            self._metrics.plain("quarantined")
            yield self._quarantine, _aside(_TOPICS[tag].name, "number_out_of_range", now_ms, record, detail=str(error))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        shard = self._shard(ctx.get_current_key(), ctx)
        now_ms = ctx.timer_service().current_processing_time()
        for state in shard.after_clock_jump(now_ms):
            self._put(shard, state)
        for state in shard.take_due(now_ms):
            if not state.answered:
                self._metrics.count("lost", state)
            released, ask = schedule.release(state, now_ms, self._policy)
            self._put(shard, released)
            self._metrics.count("polls", state)
            yield self._emit(ask, state, now_ms)
        for key in shard.take_held(now_ms):
            state_or_none = shard.get(held_feed(key))
            packed = self._held.get(key)
            self._held.remove(key)
            if state_or_none is None or packed is None:
                continue  # the feed was removed meanwhile
            after, ask = release_page(state_or_none, decode_record(FetchRequest, packed), now_ms)
            self._put(shard, after)
            yield self._emit(ask, after, now_ms)
        self._arm(ctx)

    def _shard(self, key: str, ctx: Any) -> Shard:
        """The shard in memory; after open() rebuilt from state, and its timer set."""
        shard = self._shards.get(key)
        if shard is None:
            now_ms = ctx.timer_service().current_processing_time()
            shard = Shard(self._rows.items(), self._held.keys(), now_ms, self._policy)
            self._shards[key] = shard
            self._arm(ctx)
        return shard

    def _arm(self, ctx: Any) -> None:
        """Set the shard's next tick. Ticks lie on a grid, each shard's at its own place in it: a timer set twice is
        one, and the shards do not fire together."""
        tick = self._policy.tick_ms
        place = int(ctx.get_current_key()) * tick // self._policy.shards
        now_ms = ctx.timer_service().current_processing_time()
        set_tick(ctx.timer_service(), (now_ms - place) // tick * tick + place + tick, tick)

    def _on_source(self, shard: Shard, source: Source, now_ms: int) -> Iterator[Any]:
        before = shard.get(source.feed_id)
        state = schedule.after_source(before, source, now_ms)
        if state is not None:
            self._put(shard, state)
        elif before is not None:
            shard.remove(source.feed_id)
            self._rows.remove(source.feed_id)
            for action in leave(before, now_ms, self._policy, self._callbacks):
                yield self._emit(action, before, now_ms)

    def _on_signal(self, shard: Shard, signal: PollSignal, now_ms: int) -> Iterator[Any]:
        state = shard.get(signal.feed_id)
        if state is None:
            self._metrics.plain("unknown_feed")
            return
        after, actions = schedule.after_signal(state, signal, now_ms, self._policy)
        if after is not state:
            self._put(shard, after)
        yield from self._act(shard, after, actions, now_ms)

    def _on_result(self, shard: Shard, result: FetchResult, now_ms: int) -> Iterator[Any]:
        state = shard.get(result.feed_id)
        if state is None:
            self._metrics.plain("unknown_feed")
            return
        document: ParsedFeed | FeedError | None = None
        body = b""
        digest = 0
        if result.outcome == "fetched" and result.kind == "feed":
            try:
                body = self._body(result.body)
                digest = schedule.body_hash(body)
                if digest != state.body_hash:
                    document = read_document(body, result, state, self._reader)
            except FeedError as error:
                document = error
        after, actions = schedule.after_result(
            state,
            result,
            document,
            now_ms,
            self._policy,
            body=digest,
            callbacks=self._callbacks,
            chance=secrets.token_bytes(CHANCE_BYTES),
        )
        if after is not state:
            self._put(shard, after)
        if result.kind == "feed":
            found = next((action for action in actions if isinstance(action, Found)), None)
            self._metrics.answered(result, after, found)
        yield from self._act(shard, after, actions, now_ms, body)

    def _act(
        self, shard: Shard, state: FeedState, actions: tuple[Action, ...], now_ms: int, body: bytes = b""
    ) -> Iterator[Any]:
        for action in actions:
            if isinstance(action, Found):
                continue
            if isinstance(action, Hold):
                key = held_key(action.due_ms, state.source.feed_id, action.request.request_id)
                if self._held.contains(key):  # the same answer, met again
                    state = replace(state, pending=max(0, state.pending - 1))
                    self._put(shard, state)
                    continue
                self._held.put(key, encode_record(action.request))
                shard.hold(key)
            else:
                yield self._emit(action, state, now_ms, body)

    def _body(self, body: Body | None) -> bytes:
        """The uncompressed bytes. Raises FeedError; nothing above the reader's limit is unpacked or read."""
        if body is None:
            raise FeedError("feed_empty", "an answer without a body")
        if body.size > self._reader.max_bytes:
            raise FeedError("feed_too_large", f"{body.size} bytes, at most {self._reader.max_bytes}")
        packed = body.zstd or self._evidence(body.evidence)
        try:
            return unpack_bytes(packed)
        except DecodeError as error:
            raise FeedError(error.reason, error.detail) from None

    def _evidence(self, digest: str) -> bytes:
        """A large body from the object store. Rare: only bodies above 900 KB compressed travel there."""
        if not digest:
            raise FeedError("feed_empty", "a body of no bytes")
        if self._objects is None:
            self._objects = S3Objects(self._endpoints)
        try:
            stored = asyncio.run(self._objects.get(f"evidence/{digest}"))
        except ObjectStoreError as error:
            raise FeedError("evidence_unavailable", str(error)) from None
        if stored is None:
            raise FeedError("evidence_missing", digest)
        return stored.data

    def _put(self, shard: Shard, state: FeedState) -> None:
        self._rows.put(state.source.feed_id, shard.put(state))

    def _emit(self, action: Action, state: FeedState, now_ms: int, body: bytes = b"") -> Any:
        """What an action becomes on its way out."""
        if isinstance(action, Ask):
            if action.request.kind == "page":
                self._metrics.count("pages", state)
            row = to_row(action.request.host, encode_record(action.request))
            return (self._priority, row) if action.priority else row
        if isinstance(action, Serve):
            return self._items, to_row(hash64_hex(action.item.url), encode_record(action.item))
        if isinstance(action, Subscribe):
            return self._subscriptions, to_row(action.subscription.feed_id, encode_record(action.subscription))
        assert isinstance(action, SetAside)
        self._metrics.plain("quarantined")
        record = body if action.entry is None else encode_record(action.entry)
        return self._quarantine, _aside(
            FEEDS_FETCHED.name,
            action.reason,
            now_ms,
            record,
            subject=action.subject,
            detail=action.detail,
            publisher=state.source.origin.publisher,
        )


def read_document(body: bytes, result: FetchResult, state: FeedState, policy: ReaderPolicy) -> ParsedFeed:
    """The document of an answer. Raises FeedError, for a fault of our own reader too: one feed's document must not
    stop the others, and a record that fails a task is replayed for ever."""
    content_type = result.body.content_type if result.body else ""
    try:
        return parse_feed(
            body,
            result.final_url or result.url,
            content_type,
            kind="front" if state.source.kind == "front" else "feed",
            by_guid=not state.guids_useless,
            known=as_before(state.seen) if state.seen else None,
            policy=policy,
        )
    except FeedError:
        raise
    except Exception as error:
        raise FeedError("feed_reader_failed", f"{type(error).__name__}: {error}") from error
