"""What was set aside, where it came from and why. Topic: quarantine."""

from __future__ import annotations

from state_schemas.codec import Record, encode_record

# Enough to see what is wrong; the whole record stays in its own topic for as long as that is kept.
KEPT_BYTES = 64 * 1024


class Quarantined(Record, frozen=True):
    """One record, page or entry that could not be used. Key: the topic it came from.

    reason: a code (snake_case) that metrics count by. subject: the feed id, URL or article id concerned.
    """

    topic: str
    stage: str
    reason: str
    at_ms: int
    subject: str = ""
    detail: str = ""
    publisher: str = ""
    record: bytes = b""
    truncated: bool = False


def quarantined(
    topic: str,
    stage: str,
    reason: str,
    at_ms: int,
    *,
    record: bytes = b"",
    subject: str = "",
    detail: str = "",
    publisher: str = "",
) -> bytes:
    """The encoded quarantine record of something that came from `topic`; its bytes cut at KEPT_BYTES."""
    return encode_record(
        Quarantined(
            topic=topic,
            stage=stage,
            reason=reason,
            at_ms=at_ms,
            subject=subject[:2048],
            detail=detail[:2048],
            publisher=publisher,
            record=record[:KEPT_BYTES],
            truncated=len(record) > KEPT_BYTES,
        )
    )
