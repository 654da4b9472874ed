"""Processor time of each step of parse by plain calls, and the loop that a user would write instead.

The way is production's (`parse_raw`, `decide`, the signatures, the encoder, the extraction child); clocks stand around
what the reader and the extractor are asked. No Flink and no Kafka: what a job takes beyond this is theirs.
"""

from __future__ import annotations

import gc
import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from state_schemas.articles import Article
from state_schemas.codec import (
    decode_record,
    dump_state,
    encode_record,
    load_state,
    pack_text,
    pack_vector,
    unpack_bytes,
)
from state_schemas.fetching import RawItem
from state_schemas.rows import ArticleRow
from udfs.articles.child import ExtractionChild
from udfs.articles.encoder import Encoder, encoder_input
from udfs.articles.events import Reading, id_of, pack_event, unpack_event
from udfs.articles.extract import Extraction, Rejection
from udfs.articles.identity import decide
from udfs.articles.parse import Parsed, Reader, parse_raw
from udfs.articles.policy import ArticlesPolicy
from udfs.articles.signatures import SignaturePolicy, signature

# In the order in which an article meets them.
STEPS = (
    "decode", "extract_in_child", "extract_handing_over", "language", "places_entities", "topics_labels", "identity",
    "signatures", "encoder", "encode_record",
)  # fmt: skip
_WARM = 20
_ENTITIES = ("places", "entities", "names")


class Clocks:
    """Processor seconds of this process by step."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)

    def timed(self, step: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """`call`, its time added to the step's."""

        def around(*given: Any, **named: Any) -> Any:
            began = time.process_time()
            try:
                return call(*given, **named)
            finally:
                self.spent[step] += time.process_time() - began

        return around


class _Timed:
    """Whatever is asked of `part`, on the clock of one step."""

    def __init__(self, part: Any, step: str, clocks: Clocks) -> None:
        self._part, self._step, self._clocks = part, step, clocks

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        return self._clocks.timed(self._step, found) if callable(found) else found


class _TimedChild:
    """The extraction child; its own processor time apart from what handing over costs."""

    def __init__(self, child: ExtractionChild, clocks: Clocks) -> None:
        self._child, self._clocks = child, clocks
        self._page = clocks.timed("extract_handing_over", child.page)
        self._entry = clocks.timed("extract_handing_over", child.entry)

    def page(self, raw: RawItem, body: bytes) -> Extraction | Rejection:
        """As the child's."""
        return self._in_child(self._page, raw, body)

    def entry(self, raw: RawItem, rejected: str = "") -> Extraction | Rejection:
        """As the child's."""
        return self._in_child(self._entry, raw, rejected)

    def _in_child(self, call: Callable[..., Any], *given: Any) -> Extraction | Rejection:
        before = self._child.cpu_s()
        found: Extraction | Rejection = call(*given)
        self._clocks.spent["extract_in_child"] += self._child.cpu_s() - before
        return found


def by_step(items: Sequence[RawItem], reference_data: Path, encoder: Encoder) -> dict[str, float]:
    """Processor milliseconds an article of each of STEPS, over `items`; the first ones warm up and are not counted."""
    policy = ArticlesPolicy()
    reader = Reader(reference_data, policy)
    gc.collect()
    gc.freeze()  # as the operator does
    child = ExtractionChild(policy, reference_data)
    values = [encode_record(item) for item in items]
    try:
        _run(values[:_WARM], reader, child, encoder, Clocks())
        clocks = Clocks()
        read = _run(values[_WARM:], reader, child, encoder, clocks)
    finally:
        child.close()
        gc.unfreeze()
    return {step: 1000 * clocks.spent[step] / max(1, read) for step in STEPS}


def _run(values: Sequence[bytes], reader: Reader, child: ExtractionChild, encoder: Encoder, clocks: Clocks) -> int:
    """How many became articles."""
    watched: Any = _watched(reader, clocks)
    extractor = _TimedChild(child, clocks)
    signatures = SignaturePolicy(min_shingles=reader.policy.min_shingles)
    encode = msgspec.msgpack.Encoder().encode
    rows: dict[str, bytes] = {}
    read = 0
    for value in values:
        raw = clocks.timed("decode", decode_record)(RawItem, value)
        unpacking = _unpacking_s(raw)
        before = sum(clocks.spent[step] for step in ("extract_handing_over", "language", "places_entities"))
        began = time.process_time()
        outcome = parse_raw(raw, watched, extractor, lambda _: None)
        inside = sum(clocks.spent[step] for step in ("extract_handing_over", "language", "places_entities")) - before
        clocks.spent["decode"] += unpacking
        # All that is neither asked of the child nor of a reader's part.
        clocks.spent["topics_labels"] += time.process_time() - began - inside - unpacking
        if not isinstance(outcome, Parsed) or not isinstance(outcome.event, Reading):
            continue
        read += 1
        began = time.process_time()
        for packed in [pack_event(event) for event in (outcome.event, *outcome.aliases)]:
            event = unpack_event(packed)
            decision = decide(load_state(ArticleRow, rows.get(id_of(event))), event, 1)
            if decision.row is not None:
                rows[id_of(event)] = dump_state(decision.row)
            for record in decision.send:
                encode(record)
        clocks.spent["identity"] += time.process_time() - began
        article, body = outcome.event.article, outcome.event.body
        found = clocks.timed("signatures", signature)(body, signatures)
        vector = clocks.timed("encoder", _encoded)(encoder, article, body or article.lede)
        began = time.process_time()
        encode_record(
            msgspec.structs.replace(
                article,
                body=pack_text(body),
                content_hash=found.content_hash,
                minhash=found.minhash,
                embedding=vector,
            )
        )
        clocks.spent["encode_record"] += time.process_time() - began
    return read


def _watched(reader: Reader, clocks: Clocks) -> Any:
    """The reader, with clocks around the parts that read a text."""
    other = object.__new__(type(reader))
    other.__dict__.update(reader.__dict__)
    other.__dict__["languages"] = _Timed(reader.languages, "language", clocks)
    for name in _ENTITIES:
        if name in other.__dict__:
            other.__dict__[name] = _Timed(reader.__dict__[name], "places_entities", clocks)
    return other


def _unpacking_s(raw: RawItem) -> float:
    began = time.process_time()
    if raw.body and raw.body.zstd:
        unpack_bytes(raw.body.zstd)
    return time.process_time() - began


def _encoded(encoder: Encoder, article: Article, text: str) -> bytes:
    return pack_vector(encoder.encode([encoder_input(article.title, text, article.language)])[0])


def plain_loop_ms(pages: Sequence[bytes], encoder: Encoder) -> float:
    """Processor milliseconds an article of trafilatura with metadata, the same encoder and datasketch in one loop."""
    from datasketch import MinHash
    from trafilatura import bare_extraction
    from trafilatura.settings import Document

    def read(page: bytes) -> None:
        document = bare_extraction(page, with_metadata=True)
        text = (document.text or "") if isinstance(document, Document) else ""
        title = (document.title or "") if isinstance(document, Document) else ""
        encoder.encode([f"{title}. {text[:2000]}"])
        words = re.findall(r"\w+", text.lower())
        sketch = MinHash(num_perm=100)
        sketch.update_batch([" ".join(words[at : at + 5]).encode() for at in range(max(0, len(words) - 4))])

    for page in pages[:_WARM]:
        read(page)
    began = time.process_time()
    for page in pages:
        read(page)
    return 1000 * (time.process_time() - began) / max(1, len(pages))
