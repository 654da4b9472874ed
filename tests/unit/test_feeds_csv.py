"""The list of feeds is broad and right, and each thing that can be wrong with such a list is told with its line."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.editions import load_reference
from udfs.feed_list import HEADER, ListedFeed, parse_feeds
from udfs.reference_faults import Fault, default_folder
from udfs.sections import SECTION_IDS

TEXT = (default_folder() / "feeds.csv").read_text("utf-8")
# docs/reference-data.md: government, tail, regional, specialist, national, public broadcaster, news agency.
CLASSES = {0.35, 0.4, 0.5, 0.65, 0.8, 0.85, 0.9}
# Reading others' headlines through these would credit the wrong publisher.
AGGREGATORS = (
    "google.",
    "yahoo.",
    "bing.",
    "reddit.",
    "flipboard.",
    "smartnews.",
    "msn.",
    "twitter.",
    "facebook.",
    "t.me",
)


@pytest.fixture(scope="module")
def feeds() -> tuple[ListedFeed, ...]:
    faults: list[Fault] = []
    found = parse_feeds(TEXT, faults)
    assert not faults, "\n".join(map(str, faults))
    return found


def test_the_header_is_the_documented_one():
    documented = "feed_url,publisher_id,publisher_name,country,language,category,authority,owner"
    assert TEXT.splitlines()[0] == documented == ",".join(HEADER)


def test_about_three_hundred_feeds_of_thirty_countries_and_fifteen_languages(feeds):
    assert 290 <= len(feeds) <= 330
    assert len({feed.country for feed in feeds}) >= 30
    assert len({feed.language for feed in feeds}) >= 15


def test_no_language_and_no_country_outweighs_the_rest(feeds):
    languages = Counter(feed.language for feed in feeds)
    countries = Counter(feed.country for feed in feeds)
    assert languages.most_common(1)[0][1] < len(feeds) / 3
    assert countries.most_common(1)[0][1] < len(feeds) / 10


def test_every_edition_has_feeds_in_its_language_and_from_its_regions(feeds):
    for edition in load_reference().editions:
        own = [feed for feed in feeds if feed.language == edition.language]
        assert len(own) >= 2, edition.id
        assert any(feed.country in edition.regions for feed in own), edition.id


def test_every_section_but_the_front_page_has_a_feed_of_its_own(feeds):
    assert {feed.category for feed in feeds} == set(SECTION_IDS)


def test_nothing_stands_twice_and_rows_are_in_order(feeds):
    assert len({feed.feed_url for feed in feeds}) == len(feeds)
    assert [(feed.country, feed.publisher_id, feed.feed_url) for feed in feeds] == sorted(
        (feed.country, feed.publisher_id, feed.feed_url) for feed in feeds
    )


def test_authority_follows_the_written_rule(feeds):
    assert {feed.authority for feed in feeds} == CLASSES


def test_addresses_are_encrypted_and_no_aggregators(feeds):
    for feed in feeds:
        parts = urlsplit(feed.feed_url)
        assert parts.scheme == "https", feed.feed_url
        assert not any(f".{parts.hostname}".find(f".{name}") >= 0 for name in AGGREGATORS), feed.feed_url


GOOD = "https://news.example/feed,news.example,The News,DE,de,top,0.50,some-owner"


def told(*rows: str) -> list[Fault]:
    faults: list[Fault] = []
    parse_feeds("\n".join((",".join(HEADER), *rows)) + "\n", faults, "mine.csv")
    return faults


def test_a_good_row_is_read_whole():
    faults: list[Fault] = []
    assert parse_feeds(f"{','.join(HEADER)}\r\n{GOOD}\r\n", faults) == (
        ListedFeed("https://news.example/feed", "news.example", "The News", "DE", "de", "top", 0.5, "some-owner"),
    )
    assert not faults


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        pytest.param("https://news.example/feed", "ftp://news.example/feed", "http or https", id="scheme"),
        pytest.param("https://news.example/feed", "news.example/feed", "http or https", id="no scheme"),
        pytest.param("https://news.example/feed", "https://news example/feed", "ASCII", id="a space"),
        pytest.param("https://news.example/feed", "https://a:b@news.example/feed", "credentials", id="credentials"),
        pytest.param("https://news.example/feed", "https://news.example/feed#top", "fragment", id="a fragment"),
        pytest.param("https://news.example/feed", "https://127.0.0.1/feed", "not an IP address", id="an IP address"),
        pytest.param("https://news.example/feed", "https://[::1]/feed", "not an IP address", id="an IPv6 address"),
        pytest.param("https://news.example/feed", "https://localhost/feed", "no public host", id="this machine"),
        pytest.param("https://news.example/feed", "https://news.example:9092/feed", "port 9092", id="a port"),
        pytest.param("https://news.example/feed", "https://news.example:x/feed", "not an address", id="no port"),
        pytest.param("https://news.example/feed", "https://[news/feed", "not an address", id="brackets"),
        pytest.param(",news.example,", ",News Example,", "publisher_id", id="publisher id"),
        pytest.param("The News", " ", "publisher_name", id="no name"),
        pytest.param(",DE,", ",UK,", "country 'UK'", id="country"),
        pytest.param(",de,", ",german,", "language 'german'", id="language"),
        pytest.param(",top,", ",opinion,", "category 'opinion'", id="category"),
        pytest.param("0.50", "1.01", "authority", id="authority above 1"),
        pytest.param("0.50", "-0.5", "authority", id="authority below 0"),
        pytest.param("0.50", "nan", "authority", id="authority no number"),
        pytest.param("some-owner", "Some Owner", "owner", id="owner"),
        pytest.param(",some-owner", "", "7 fields", id="a field too few"),
    ],
)
def test_a_wrong_row_is_told_by_line_and_reason_and_the_next_is_read(old, new, reason):
    row = GOOD.replace(old, new, 1)
    assert row != GOOD
    faults = told(row, GOOD.replace("/feed", "/other"))
    assert len(faults) == 1, [str(fault) for fault in faults]
    assert (faults[0].file, faults[0].line) == ("mine.csv", 2)
    assert reason in faults[0].reason


@pytest.mark.parametrize("second", [GOOD, GOOD.replace("https", "http"), GOOD.replace("/feed", "/feed/")])
def test_one_address_may_stand_only_once(second):
    (fault,) = told(GOOD, second)
    assert (fault.line, fault.reason) == (3, "stands in line 2 already")


def test_a_publisher_may_have_several_names_but_one_country_authority_and_owner():
    other = GOOD.replace("/feed", "/other")
    assert told(GOOD, other.replace("The News", "Die Nachrichten")) == []
    (fault,) = told(GOOD, other.replace("0.50", "0.80"))
    assert fault.reason == "authority of news.example was 0.5 before"


def test_another_header_is_one_fault_whatever_follows():
    faults: list[Fault] = []
    assert parse_feeds("url,name\nhttps://news.example/feed,News\n", faults) == ()
    assert [(fault.line, fault.reason[:10]) for fault in faults] == [(1, "the header")]


def test_lines_are_those_of_the_file_where_a_field_holds_a_line_break():
    (fault,) = told(GOOD.replace("The News", '"The\nNews"'), GOOD.replace("/feed", "/other").replace(",DE,", ",XX,"))
    assert fault.line == 4


def test_an_open_quote_is_told_and_does_no_harm():
    (fault,) = told(GOOD, 'https://news.example/other,"news.example')
    assert fault.reason.startswith("is not CSV")


def test_a_byte_order_mark_does_not_matter():
    faults: list[Fault] = []
    assert len(parse_feeds(f"\ufeff{','.join(HEADER)}\n{GOOD}\n", faults)) == 1
    assert not faults


@given(st.text(max_size=200))
def test_whatever_a_file_holds_it_is_read_or_told(text):
    faults: list[Fault] = []
    parse_feeds(f"{','.join(HEADER)}\n{text}", faults)
    parse_feeds(text, faults)
