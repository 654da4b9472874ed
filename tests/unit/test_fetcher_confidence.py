"""What of a hub's form may be kept where operators look."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from connectors.http import HttpRefusedError
from services.fetcher.confidence import fault, hush, without_secrets
from state_schemas.codec import decode_record, encode_record
from state_schemas.fetching import FetchRequest
from state_schemas.sources import Origin

SECRET = "5f1e3d7c9b2a4860d1f2"
TOKEN = "c0ffee00c0ffee00c0ffee00c0ffee00"
HUB = FetchRequest(
    request_id="r1",
    kind="hub",
    url="https://hub.example/",
    host="hub.example",
    feed_id="f1",
    origin=Origin(publisher="p1"),
    requested_ms=1,
    form={"hub.mode": "subscribe", "hub.secret": SECRET, "hub.callback": f"https://reader.example/websub/{TOKEN}"},
)


def test_a_form_is_not_kept_and_all_else_is() -> None:
    kept = without_secrets(encode_record(HUB), HUB)
    assert SECRET.encode() not in kept
    assert TOKEN.encode() not in kept
    request = decode_record(FetchRequest, kept)
    assert (request.form, request.url, request.feed_id) == ({}, HUB.url, "f1")


@pytest.mark.parametrize("cut", [None, -2])
def test_a_record_that_cannot_be_read_and_may_hold_a_form_is_not_kept(cut: int | None) -> None:
    assert without_secrets(encode_record(HUB)[:cut], None) == b""


def test_any_other_record_is_kept_as_it_is() -> None:
    assert without_secrets(b"\x00junk", None) == b"\x00junk"
    assert without_secrets(b'{"kind": "feed"}', replace(HUB, form={})) == b'{"kind": "feed"}'


@pytest.mark.parametrize(
    ("detail", "kept"),
    [
        (f"Bad status line HTTP/9.9 {SECRET}", False),
        (f"https://hub.example/x?callback=/websub/{TOKEN[:20]}", False),
        ("https://hub.example/subscribe", True),
        ("https://reader.example/ has the address 10.0.0.8", True),
        ("", True),
    ],
)
def test_what_an_answer_quotes_of_the_form_is_taken_out(detail: str, kept: bool) -> None:
    error = HttpRefusedError("private_address", detail)
    hush(error, HUB)
    assert (error.detail == detail) is kept
    assert error.reason == "private_address"
    assert SECRET not in str(error)


def test_our_own_bug_quotes_no_form() -> None:
    assert fault(HUB, KeyError(SECRET)) == "KeyError"
    page = replace(HUB, kind="page", form={})
    assert fault(page, KeyError("oops")) == "KeyError: 'oops'"
