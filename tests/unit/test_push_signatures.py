"""Who may speak: every method of the recommendation, and nobody without the secret."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.push.signatures import (
    KEYS,
    METHODS,
    delivery_mac,
    is_ping_signed,
    key_hash,
    ping_message,
    sign_ping,
)

BODY = b"<feed/>"
secrets = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)


def header(method: str, secret: str, body: bytes) -> str:
    return f"{method}={hmac.new(secret.encode(), body, getattr(hashlib, method)).hexdigest()}"


@given(st.sampled_from(sorted(METHODS)), secrets, st.binary(max_size=3000))
def test_what_the_holder_of_the_secret_signs_is_right(method: str, secret: str, body: bytes) -> None:
    assert delivery_mac(header(method, secret, body), secret, body) is not None


@given(st.sampled_from(sorted(METHODS)), secrets, secrets, st.binary(max_size=300))
def test_any_other_secret_is_refused(method: str, secret: str, other: str, body: bytes) -> None:
    # HMAC fills a short key with zeros, so a key and the same with a zero behind it are one.
    if secret.encode().rstrip(b"\0") != other.encode().rstrip(b"\0"):
        assert delivery_mac(header(method, other, body), secret, body) is None


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_changed_body_is_refused(body: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(body) - 1))
    changed = body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]
    assert delivery_mac(header("sha256", "s", body), "s", changed) is None


@given(st.text(max_size=200))
def test_any_header_is_refused_and_none_is_an_error(text: str) -> None:
    assert delivery_mac(text, "secret", BODY) is None
    assert not is_ping_signed((key_hash("key"),), text, b"message")


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param("", id="none"),
        pytest.param("sha256=00ff", id="short"),
        pytest.param(header("sha256", "s", BODY)[:-2] + " a", id="a space where a digit belongs"),
        pytest.param("md5=" + hashlib.md5(BODY).hexdigest(), id="unknown method"),
        pytest.param(header("sha256", "s", BODY).replace("sha256", "sha1"), id="method and length differ"),
        pytest.param(header("sha256", "s", BODY).partition("=")[2], id="no method"),
    ],
)
def test_malformed(sent: str) -> None:
    assert delivery_mac(sent, "s", BODY) is None


def test_hex_and_method_in_capitals_are_the_same() -> None:
    assert delivery_mac(header("sha1", "s", BODY).upper(), "s", BODY) is not None


def test_without_a_secret_nothing_is_signed() -> None:
    assert delivery_mac(header("sha256", "", BODY), "", BODY) is None


# ------------------------------------------------------------ pings


MESSAGE = ("1796000000", "nonce-of-16-chars", "/ping/harbour.example")


@given(secrets, st.integers(0, KEYS - 1))
def test_each_of_a_publishers_keys_signs(key: str, place: int) -> None:
    hashes = [key_hash(f"other {number}") for number in range(KEYS)]
    hashes[place] = key_hash(key)
    assert is_ping_signed(tuple(hashes), sign_ping(key, *MESSAGE), ping_message(*MESSAGE))
    del hashes[place]
    assert not is_ping_signed(tuple(hashes), sign_ping(key, *MESSAGE), ping_message(*MESSAGE))


def test_nobody_signs_for_a_publisher_without_keys() -> None:
    # What fills the missing keys' places is known to all.
    forged = hmac.new(bytes(32), ping_message(*MESSAGE), hashlib.sha256).hexdigest()
    assert not is_ping_signed((), forged, ping_message(*MESSAGE))
    assert not is_ping_signed((key_hash("k"),), forged, ping_message(*MESSAGE))
    assert not is_ping_signed((), "00" * 32, ping_message(*MESSAGE))


@pytest.mark.parametrize("place", range(3))
def test_timestamp_nonce_and_path_are_signed(place: int) -> None:
    other = list(MESSAGE)
    other[place] += "1"
    assert not is_ping_signed((key_hash("k"),), sign_ping("k", *MESSAGE), ping_message(*other))
