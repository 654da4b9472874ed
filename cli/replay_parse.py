"""Raw evidence through today's parse by plain calls: one process and its extraction child, no Flink.

The deciders are the job's own (`parse_raw`, `decide`, the signer); keyed state is a dictionary. Flink would add exactly
once and parallelism, which a run that ends, starts from nothing and writes to a topic of its own does not need.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

import msgspec

from state_schemas.articles import Article, Removed
from state_schemas.codec import DecodeError, decode_record, dump_state, load_state, pack_text
from state_schemas.fetching import RawItem
from state_schemas.rows import ArticleRow
from udfs.articles.events import Event, id_of
from udfs.articles.identity import decide
from udfs.articles.parse import EvidenceOf, Extractor, Reader, Rejected, parse_raw
from udfs.articles.signing import Signer


class ParseReplay:
    """The parse stage from an empty state. Rows: some 300 bytes an article. counts: how each record ended."""

    def __init__(self, reader: Reader, extractor: Extractor, evidence: EvidenceOf, signer: Signer | None) -> None:
        """signer None: articles stay without signatures and vector, for a comparison alone."""
        self._reader = reader
        self._extractor = extractor
        self._evidence = evidence
        self._signer = signer
        self._rows: dict[str, bytes] = {}
        self.counts: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()

    def decided(self, value: bytes, at_ms: int) -> Iterator[Article | Removed]:
        """What one record of items.raw, written at at_ms (ms UTC), adds to the log of articles."""
        self.counts["records"] += 1
        try:
            raw = decode_record(RawItem, value)
        except DecodeError as error:
            self.rejected[error.reason] += 1
            return
        outcome = parse_raw(raw, self._reader, self._extractor, self._evidence)
        if isinstance(outcome, Rejected):
            if outcome.left_alone:
                self.counts["left_alone"] += 1
            else:
                self.rejected[outcome.reason] += 1
            return
        if outcome.aside is not None:
            self.counts[f"aside_{outcome.aside.reason}"] += 1
        waiting: deque[Event] = deque((outcome.event, *outcome.aliases))
        while waiting:
            event = waiting.popleft()
            name = id_of(event)
            decision = decide(load_state(ArticleRow, self._rows.get(name)), event, at_ms)
            if decision.row is not None:
                self._rows[name] = dump_state(decision.row)
            self.counts[decision.status] += 1
            for record, body in zip(decision.send, decision.bodies, strict=True):
                yield self._signed(record, body)
            if decision.forward is not None:  # the job sends it through items.raw, where it is met once more
                waiting.append(msgspec.structs.replace(decision.forward, forwarded=True))

    def _signed(self, record: Article | Removed, body: str) -> Article | Removed:
        if isinstance(record, Removed):
            return record
        if self._signer is None:
            return msgspec.structs.replace(record, body=pack_text(body) if body else b"")
        return self._signer.signed(record, body)
