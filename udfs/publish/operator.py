"""Publish: an edition's cycles into the object store; state and event loop around publisher.py; decides nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor

from connectors.kafka_flink import to_row
from connectors.objects import S3Objects
from connectors.settings import Endpoints
from state_schemas.codec import DecodeError, decode_record, dump_state, load_state
from state_schemas.pages import EditionPages
from state_schemas.quarantine import quarantined
from state_schemas.ranking import PublishedEdition
from udfs.publish.decide import PublishPolicy
from udfs.publish.publisher import publish

# Where a refused page came from: no topic, but the stage's own cycle.
PAGES = "pages"

# Into the TaskManager's log. Nothing may print() in a Flink worker: PyFlink's stand-in for it knows no `flush`, and a
# logger that prints with it (structlog's) fails the task.
_log = logging.getLogger(__name__)


class Publish(KeyedProcessFunction):
    """Takes (edition, EditionPages); yields a quarantine row for each page that must not go live."""

    def __init__(self, policy: PublishPolicy, endpoints: Endpoints) -> None:
        self._policy = policy
        self._endpoints = endpoints

    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("published", Types.PRIMITIVE_ARRAY(Types.BYTE())))
        metrics = runtime_context.get_metrics_group()
        self._written = metrics.counter("pages_written")
        self._unchanged = metrics.counter("pages_unchanged")
        self._refused = metrics.counter("pages_refused")
        self._purged = metrics.counter("pages_purged")
        self._objects = S3Objects(self._endpoints)
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        self._loop.close()

    def process_element(self, value: tuple[str, bytes], ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        edition, data = value
        now_ms = ctx.timer_service().current_processing_time()
        try:
            cycle = decode_record(EditionPages, data)
        except DecodeError as error:
            # A number that JSON cannot hold was written as null: this cycle is lost, the next one comes.
            yield to_row(
                PAGES,
                quarantined(PAGES, "publish", error.reason, now_ms, record=data, subject=edition, detail=error.detail),
            )
            return
        known = load_state(PublishedEdition, self._state.value())
        done = self._loop.run_until_complete(publish(self._objects, cycle, known, now_ms, self._policy))
        self._state.update(dump_state(done.edition))
        self._written.inc(done.written)
        self._unchanged.inc(done.unchanged)
        self._refused.inc(len(done.refused) + len(done.invalid))
        self._purged.inc(done.purged)
        for section, reason in done.refused.items():
            _log.warning("page not published: %s/%s, cycle %d: %s", edition, section, cycle.cycle, reason)
        for section, reason in done.invalid.items():
            yield to_row(
                PAGES,
                quarantined(
                    PAGES, "publish", reason, now_ms, subject=f"{edition}/{section}", detail=f"cycle {cycle.cycle}"
                ),
            )
