"""Rank: keyed state, timers and topics around views, board and cycle; decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import FlatMapFunction, KeyedProcessFunction, OutputTag, RuntimeContext
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

from connectors.flink_timers import set_tick
from connectors.kafka_flink import ROW, quarantine_tag, to_row
from state_schemas.codec import DecodeError, decode_record, dump_state, encode_record, load_state
from state_schemas.pages import Tombstone
from state_schemas.quarantine import quarantined
from state_schemas.ranking import ChangeCursor, StoryView
from state_schemas.stories import StoryChange
from state_schemas.topics import STORY_CHANGES
from udfs.editions import ReferenceData
from udfs.ranking.board import Board
from udfs.ranking.cycle import cycle
from udfs.ranking.policy import RankingPolicy
from udfs.ranking.rechecks import rechecks
from udfs.ranking.tombstones import tombstone_of, with_tombstones
from udfs.ranking.views import fold, unusable

_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


def signals_tag() -> OutputTag:
    """The side output of wishes to have a page asked for again."""
    return OutputTag("signals", ROW)


class Route(FlatMapFunction):
    """Bytes of story.changes to (language, bytes). What cannot be decoded goes on under the empty key."""

    def flat_map(self, value: bytes) -> Iterator[tuple[str, bytes]]:
        try:
            yield decode_record(StoryChange, value).language, value
        except DecodeError:
            yield "", value


class Rank(KeyedProcessFunction):
    """One language's stories; every cycle the pages of its editions as (edition, EditionPages).

    Side outputs: signals, the re-checks of representatives' pages; quarantine.
    """

    def __init__(self, policy: RankingPolicy, reference: ReferenceData) -> None:
        self._policy = policy
        self._weights = reference.weights
        self._editions = reference.editions
        self._sections = tuple(section.id for section in reference.sections)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._quarantine, self._signals = quarantine_tag(), signals_tag()
        self._views_state = runtime_context.get_map_state(MapStateDescriptor("views", Types.STRING(), _BYTES))
        # Retractions and returns since the last cycle: article id -> Tombstone.
        self._tombstones_state = runtime_context.get_map_state(MapStateDescriptor("tombstones", Types.STRING(), _BYTES))
        self._cursor_state = runtime_context.get_state(ValueStateDescriptor("cursor", _BYTES))
        self._boards: dict[str, Board] = {}
        self._views: dict[str, dict[str, StoryView]] = {}
        self._tombstones: dict[str, dict[str, Tombstone]] = {}
        self._cursors: dict[str, ChangeCursor] = {}
        self._ranked_ms: dict[str, int] = {}  # language -> its last cycle

    def process_element(self, value: tuple[str, bytes], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        language, data = value
        now_ms = ctx.timer_service().current_processing_time()
        try:
            change = decode_record(StoryChange, data)
            if reason := unusable(change):
                raise DecodeError(reason, change.story.story_id[:100])
        except DecodeError as error:
            yield (
                self._quarantine,
                to_row(
                    STORY_CHANGES.name,
                    quarantined(STORY_CHANGES.name, "rank", error.reason, now_ms, record=data, detail=error.detail),
                ),
            )
            return
        if self._rebuild(language):
            set_tick(ctx.timer_service(), self._next_cycle(now_ms), self._policy.cycle_ms)
        cursor = self._cursors[language]
        if change.epoch > cursor.epoch:
            self._start_afresh(language)
        elif (change.epoch, change.sequence) <= (cursor.epoch, cursor.sequence):
            return
        views, board = self._views[language], self._boards[language]
        for story, view in fold(views, change, self._policy):
            if view is None:
                if views.pop(story, None) is not None:
                    self._views_state.remove(story)
                board.drop(story)
            else:
                views[story] = view
                board.put(view)
                self._views_state.put(story, dump_state(view))
        tombstone = tombstone_of(change)
        if tombstone is not None:
            self._tombstones[language][tombstone.article_id] = tombstone
            self._tombstones_state.put(tombstone.article_id, encode_record(tombstone))
        self._cursors[language] = ChangeCursor(change.epoch, change.sequence)
        self._cursor_state.update(dump_state(self._cursors[language]))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        language = ctx.get_current_key()
        self._rebuild(language)
        now_ms = ctx.timer_service().current_processing_time()
        # A cycle that overran is skipped, never queued: the next boundary is after now.
        set_tick(ctx.timer_service(), self._next_cycle(now_ms), self._policy.cycle_ms)
        boundary = now_ms - now_ms % self._policy.cycle_ms
        if self._ranked_ms.get(language) == boundary:
            return
        self._ranked_ms[language] = boundary
        editions = [edition for edition in self._editions if edition.language == language]
        views = self._views[language]
        ranked = cycle(self._boards[language], views, editions, self._sections, boundary, self._policy, self._weights)
        for pages in with_tombstones(ranked, editions, boundary, tuple(self._tombstones[language].values())):
            yield pages.edition, encode_record(pages)
        if self._tombstones[language]:
            self._tombstones[language] = {}
            self._tombstones_state.clear()
        for signal in rechecks(ranked, views, boundary, self._policy):
            yield self._signals, to_row(signal.feed_id, encode_record(signal))

    def _rebuild(self, language: str) -> bool:
        """Bring the key's memory up from its state, once after open(); True if this was the time."""
        if language in self._boards:
            return False
        board, views = Board(self._policy, self._weights), {}
        for story, data in self._views_state.items():
            view = load_state(StoryView, data)
            assert view is not None
            views[story] = view
            board.put(view)
        self._boards[language], self._views[language] = board, views
        stored = (decode_record(Tombstone, bytes(data)) for _, data in self._tombstones_state.items())
        self._tombstones[language] = {tombstone.article_id: tombstone for tombstone in stored}
        self._cursors[language] = load_state(ChangeCursor, self._cursor_state.value()) or ChangeCursor()
        return True

    def _start_afresh(self, language: str) -> None:
        self._views_state.clear()
        self._boards[language], self._views[language] = Board(self._policy, self._weights), {}

    def _next_cycle(self, now_ms: int) -> int:
        return now_ms - now_ms % self._policy.cycle_ms + self._policy.cycle_ms
