"""Documents that are gzip files themselves: whole, cut short, damaged, hostile."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.feeds.document import FeedError, ReaderPolicy
from udfs.feeds.reader import parse_feed
from udfs.feeds.unpacking import unpacked

URL = "https://news.example/sitemap-news.xml.gz"
FEED = b"<rss><channel>%s</channel></rss>" % b"".join(
    b"<item><guid>%d</guid><title>Bridge number %d</title></item>" % (n, n * n) for n in range(200)
)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=2_000), min_size=1, max_size=4))
def test_members_follow_each_other(parts: list[bytes]) -> None:
    packed = b"".join(gzip.compress(part) for part in parts)
    assert unpacked(packed, 10_000) == (b"".join(parts), True)


@settings(deadline=None)
@given(st.binary(max_size=500))
def test_what_is_no_gzip_stays(body: bytes) -> None:
    if not body.startswith(b"\x1f\x8b\x08"):
        assert unpacked(body, 1) == (body, True)


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=3_000), st.integers(min_value=3))
def test_cut_anywhere_gives_a_beginning(content: bytes, cut: int) -> None:
    packed = gzip.compress(content)
    begun, whole = unpacked(packed[: 3 + cut % (len(packed) - 3)], 5_000)
    assert content.startswith(begun)
    assert not whole


@pytest.mark.parametrize("content_type", ["", "application/xml", "application/gzip", "text/xml; charset=utf-8"])
def test_a_packed_feed_reads_as_the_feed(content_type: str) -> None:
    assert parse_feed(gzip.compress(FEED), URL, content_type) == parse_feed(FEED, URL, content_type)


def test_a_packed_json_feed() -> None:
    document = b'{"version":"https://jsonfeed.org/version/1","items":[{"id":"1"}]}'
    assert parse_feed(gzip.compress(document), URL).format == "json"


def test_a_file_cut_short_gives_what_was_had() -> None:
    packed = gzip.compress(FEED)
    feed = parse_feed(packed[: len(packed) // 2], URL)
    assert 0 < len(feed.entries) < 200
    assert not feed.whole
    assert not parse_feed(packed[:-4], URL).whole  # only its check sum is missing


def test_padding_behind_the_file_is_none_of_it() -> None:
    assert parse_feed(gzip.compress(FEED) + b"\0" * 512, URL) == parse_feed(FEED, URL)


@pytest.mark.parametrize("place", [3, 40, -3])
def test_damage_is_no_feed(place: int) -> None:
    packed = bytearray(gzip.compress(FEED))
    packed[place] ^= 0xFF
    with pytest.raises(FeedError) as refused:
        parse_feed(bytes(packed), URL)
    assert refused.value.reason == "feed_unparsable"


def test_a_bomb_ends_at_the_limit() -> None:
    policy = ReaderPolicy(max_bytes=100_000)
    assert parse_feed(gzip.compress(FEED.ljust(100_000)), URL, policy=policy).whole
    for bomb in (
        gzip.compress(FEED.ljust(100_001)),
        gzip.compress(b" " * 30_000_000),
        gzip.compress(b" " * 50_001) * 2,
    ):
        with pytest.raises(FeedError) as refused:
            parse_feed(bomb, URL, policy=policy)
        assert refused.value.reason == "feed_too_large"


def test_a_million_empty_members_take_no_more_than_their_length() -> None:
    """A reader that copies the rest at each member takes minutes: the run's own time limit is the judge."""
    assert unpacked(gzip.compress(b"") * 250_000, 100) == (b"", True)


def test_a_gzip_file_of_a_gzip_file_is_no_feed() -> None:
    with pytest.raises(FeedError) as refused:
        parse_feed(gzip.compress(gzip.compress(FEED)), URL)
    assert refused.value.reason == "not_a_feed"
