"""Hostile evidence through the Extract operator: each piece to the quarantine with its reason, and the next page is read."""

from __future__ import annotations

from pathlib import Path

from connectors.settings import Endpoints
from state_schemas.codec import decode_record, encode_record, pack_text
from state_schemas.fetching import Body, RawItem
from state_schemas.quarantine import KEPT_BYTES, Quarantined
from state_schemas.sources import Origin
from tests.operators.fake_flink import Harness
from tests.unit.hostile_pages import sound
from udfs.articles.child import ExtractionChild
from udfs.articles.operator import Extract
from udfs.articles.policy import ArticlesPolicy

REFERENCE = Path(__file__).parents[2] / "reference_data"
POLICY = ArticlesPolicy(page_limit_ms=500, page_wall_ms=2_000)


def raw(name: str, page: str, **fields: object) -> bytes:
    known: dict[str, object] = {
        "kind": "page", "url": f"https://n.example/{name}", "origin": Origin(publisher="n.example"), "found_ms": 1,
        "fetched_ms": 2, "body": Body(size=len(page), zstd=pack_text(page)),
    }  # fmt: skip
    return encode_record(RawItem(**(known | fields)))  # type: ignore[arg-type]


def test_hostile_pages_are_set_aside_and_the_job_goes_on() -> None:
    harness = Harness(lambda: Extract(POLICY, Endpoints(reference_data=str(REFERENCE)), {}.get))
    harness.function._child = ExtractionChild(POLICY, REFERENCE, "tests.unit.hostile_child")
    values = [
        raw("regex", sound("HOSTILE regex")),
        raw("segfault", sound("HOSTILE segfault")),
        raw("rubbish", sound("HOSTILE rubbish")),
        raw("hangs", sound("HOSTILE hangs")),
        raw("zstd", "", body=Body(size=9, zstd=b"\x28\xb5\x2f\xfd no frame")),
        raw("evidence", "", body=Body(size=9, evidence="0" * 64)),
        raw("m." * 2_000, "", url="http://" + "m." * 2_000 + "example/", kind="retraction", body=None),
        b"\x00" * 100_000,
    ]
    try:
        assert [event for value in values for event in harness.send("", value)] == []
        aside = [decode_record(Quarantined, row[1]) for row in harness.side["quarantine"]]
        assert [record.reason for record in aside] == [
            "extract_timed_out", "extract_crashed", "extract_crashed", "extract_timed_out", "body_undecodable",
            "evidence_missing", "url_invalid", "record_undecodable",
        ]  # fmt: skip
        assert all(len(record.record) <= KEPT_BYTES for record in aside)
        harness.function._child._policy = ArticlesPolicy()
        ((shard, data),) = harness.send("", raw("good", sound("A sound page")))
        assert (len(shard), b"A sound page" in data) == (3, True)
    finally:
        harness.function.close()
