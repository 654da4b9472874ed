"""Section fronts of several shapes, languages and faults, each beside the entries that must come of it."""

from __future__ import annotations

import gzip
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_schemas.codec import encode_record
from udfs.feeds.document import FeedError, ParsedFeed, ReaderPolicy
from udfs.feeds.reader import parse_feed

URL = "https://www.harbour.example/world/"


def front(
    body: str | bytes, url: str = URL, content_type: str = "text/html", policy: ReaderPolicy | None = None
) -> ParsedFeed:
    data = body.encode() if isinstance(body, str) else body
    return parse_feed(data, url, content_type, kind="front", policy=policy)


def found(body: str | bytes, url: str = URL) -> list[tuple[str, str]]:
    return [(entry.link, entry.title) for entry in front(body, url).entries]


CARDS = """<!doctype html><html lang="en-GB"><head><title>World | Harbour Daily</title>
<link rel="hub" href="https://hub.example/"><link rel="self" href="https://www.harbour.example/world/">
<script>var a = "<a href='/2026/11/30/not-a-link-at-all'>No</a>";</script></head><body>
<header><a href="/">Harbour Daily</a><a href="/login">Sign in</a></header>
<nav><a href="/world">World</a><a href="/world/middle-east">Middle East</a><a href="/science-and-environment">Science &amp; Environment</a>
  <a href="/news/12345">Our twelve thousandth story of all</a></nav>
<main>
<article><a href="/2026/11/30/ferry-strike-ends?pos=1"><img src="f.jpg" alt="A ferry"></a>
  <h2><a href="/2026/11/30/ferry-strike-ends?pos=2">Ferry strike ends <em>after</em> nine days</a></h2>
  <a href="/2026/11/30/ferry-strike-ends#comments">23 comments on this long and winding story of a strike</a></article>
<a class="card" href="https://sport.harbour.example/football/cup-final-goes-to-penalties-again">
  <span>Sport</span><h3>Cup final goes to penalties again</h3><p>Nobody could believe it when the whistle blew.</p></a>
<article><a href="/budget-vote-delayed"><img alt="Budget vote"></a><a href="/budget-vote-delayed">Budget vote delayed until Monday</a></article>
<a href="/weather-and-tides">Weather and tides</a>
<a href="https://other.example/2026/11/30/story-elsewhere">A story elsewhere on the web</a>
<a rel="sponsored" href="/2026/11/30/buy-this-boat-now">Buy this boat now</a>
<a href="/2026/11/30/tide-tables.pdf">Tide tables for the whole of December</a>
<a href="mailto:desk@harbour.example">Write to the news desk today</a><a href="javascript:void(0)">More</a><a>No address</a>
</main>
<aside><a href="/2026/11/29/most-read-story-of-the-week">Most read story of the week</a></aside>
<footer><a href="/privacy-policy">Privacy policy of the Harbour Daily</a><a href="/about-us">About us</a>
  <a href="/our-reader-panel">Join our panel of readers</a></footer></body></html>"""


def test_cards() -> None:
    feed = front(CARDS)
    assert [(entry.link, entry.title) for entry in feed.entries] == [
        ("https://www.harbour.example/2026/11/30/ferry-strike-ends", "Ferry strike ends after nine days"),
        (
            "https://sport.harbour.example/football/cup-final-goes-to-penalties-again",
            "Cup final goes to penalties again",
        ),
        ("https://www.harbour.example/budget-vote-delayed", "Budget vote delayed until Monday"),
        ("https://www.harbour.example/2026/11/29/most-read-story-of-the-week", "Most read story of the week"),
    ]
    assert (feed.format, feed.language, feed.title) == ("front", "en-GB", "World | Harbour Daily")
    assert (feed.hub, feed.topic) == ("https://hub.example/", URL)
    assert (feed.whole, feed.malformed) == (True, False)


def test_a_german_list_with_kickers_and_a_base() -> None:
    page = """<html><head><base href="https://www.hafen.example/nachrichten/"><meta property="og:locale" content="de_DE">
    </head><body><ul>
    <li><a href="politik/streik-an-der-kueste-beendet-190192411.html"><span class="kicker">Fähren</span><span class="teaser-title">Streik an der Küste beendet</span></a>
    <li><a href="../wirtschaft/article408587681/werften-stellen-ein.html?utm_source=front&id=7">Werften stellen wieder ein</a>
    <li><a href="/autor/anna-lie">Anna Lie</a><li><a href="/thema/streik-an-der-kueste-und-in-den-haefen">Alles zum Thema Streik an der Küste</a>
    </ul><a href="/datenschutz">Hinweise zum Datenschutz auf dieser Seite</a>"""
    feed = front(page, "https://hafen.example/")
    assert [(entry.link, entry.title) for entry in feed.entries] == [
        (
            "https://www.hafen.example/nachrichten/politik/streik-an-der-kueste-beendet-190192411.html",
            "Streik an der Küste beendet",
        ),
        (
            "https://www.hafen.example/wirtschaft/article408587681/werften-stellen-ein.html?id=7",
            "Werften stellen wieder ein",
        ),
    ]
    assert feed.language == "de-DE"


def test_a_japanese_front_in_its_own_encoding() -> None:
    page = """<html lang="ja"><head><meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><title>ニュース</title>
    <body><div><a href="/article/1011185">東京で大雪の恐れ、交通機関に影響も</a></div><div><a href="/article/list/">一覧</a></div>
    <div><a href="/article/20261130-QBJP5I25BBIG5IZ76XZNDHDB5Q/"><p>首相、来年度予算案の審議入りで会見</p></a></div>
    <a href="/feature/100200300">特集</a>"""
    assert found(page.encode("cp932"), "https://shimbun.example/") == [
        ("https://shimbun.example/article/1011185", "東京で大雪の恐れ、交通機関に影響も"),
        ("https://shimbun.example/article/20261130-QBJP5I25BBIG5IZ76XZNDHDB5Q/", "首相、来年度予算案の審議入りで会見"),
    ]


def test_an_arabic_front_with_written_out_and_encoded_paths() -> None:
    encoded = (
        "%D8%A5%D8%B6%D8%B1%D8%A7%D8%A8-%D8%A7%D9%84%D8%B9%D8%A8%D8%A7%D8%B1%D8%A7%D8%AA-%D9%8A%D9%86%D8%AA%D9%87%D9%8A"
    )
    page = f"""<html lang=ar dir=rtl><body><h1><a href="/news/{encoded}">إضراب العبارات ينتهي اليوم</a></h1>
    <a href="/news/898682/افتتاح-الجسر-الجديد">افتتاح الجسر الجديد</a> <a href="/كاتب/ليلى-حداد">ليلى حداد</a></body></html>"""
    assert found(page, "https://mina.example/") == [
        (f"https://mina.example/news/{encoded}", "إضراب العبارات ينتهي اليوم"),
        ("https://mina.example/news/898682/افتتاح-الجسر-الجديد", "افتتاح الجسر الجديد"),
    ]


@pytest.mark.parametrize("host", ["новости.рф", "www.xn--b1amnebsh.xn--p1ai", "спорт.новости.рф"])
def test_an_international_host_is_one_site_however_it_is_written(host: str) -> None:
    page = f'<a href="https://{host}/2026/11/30/zabastovka-paromov">Забастовка паромов закончилась</a>'
    assert [title for _, title in found(page, "https://новости.рф/")] == ["Забастовка паромов закончилась"]


def test_a_neighbour_under_the_same_registry_is_another_site() -> None:
    page = '<a href="https://b.co.uk/2026/11/30/not-ours">x</a><a href="https://news.a.co.uk/2026/11/30/is-ours">y</a>'
    assert found(page, "https://www.a.co.uk/") == [("https://news.a.co.uk/2026/11/30/is-ours", "y")]


def test_broken_markup_is_read_all_the_same() -> None:
    page = """<a href=/2026/11/30/one-story>One <li>story</a><p><div><h2><a href='/2026/11/30/two-stories'>Two & a half
    <b>stories</h2></a><table><a href=/2026/11/30/three-stories>Three <i>stories</a></i></body><a href="/2026/11/30/four-stories">Four"""
    titles = dict(found(page))
    assert len(titles) == 4
    assert titles["https://www.harbour.example/2026/11/30/two-stories"] == "Two & a half stories"
    assert titles["https://www.harbour.example/2026/11/30/four-stories"] == "Four"


@pytest.mark.parametrize(
    ("inside", "title"),
    [
        pytest.param("Ferry strike ends", "Ferry strike ends", id="bare"),
        pytest.param("<div>World</div><h3>Ferry strike ends</h3>", "Ferry strike ends", id="a heading inside"),
        pytest.param('World <span class="card__headline">Ferry strike ends</span>', "Ferry strike ends", id="named so"),
        pytest.param("<span>Premium</span>Ferry strike ends", "Premium Ferry strike ends", id="a badge"),
        pytest.param("Fer<b>r</b>y <i>strike</i> ends", "Ferry strike ends", id="dress"),
        pytest.param("Ferry strike<br>ends", "Ferry strike ends", id="a break"),
        pytest.param('<img alt="Ferry strike ends">', "Ferry strike ends", id="a picture's text"),
        pytest.param(
            "<svg><title>Icon</title></svg>Ferry strike ends<script>x</script>", "Ferry strike ends", id="icons"
        ),
        pytest.param("<img src='x.jpg'>", "", id="nothing"),
    ],
)
def test_titles(inside: str, title: str) -> None:
    assert found(f'<a href="/2026/11/30/ferry-strike-ends">{inside}</a>') == [
        ("https://www.harbour.example/2026/11/30/ferry-strike-ends", title)
    ]


def test_a_headline_counts_before_the_teaser_that_is_longer() -> None:
    link = '<a href="/2026/11/30/ferry-strike-ends">{}</a>'
    page = link.format("Ferry strike ends") + link.format("words " * 100) + link.format("Read more")
    assert found(page)[0][1] == "Ferry strike ends"


def test_one_page_under_many_parameters_is_one_entry_and_stays_it() -> None:
    link = '<a href="/2026/11/30/ferry-strike-ends?{}">Ferry strike ends</a>'
    first = front(link.format("slot=1") + link.format("slot=2"))
    later = front(link.format("slot=7"))
    assert [entry.identity for entry in first.entries] == [entry.identity for entry in later.entries]


def test_articles_told_apart_by_a_parameter_stay_apart() -> None:
    page = "".join(f'<a href="/view.php?id={n}&ref=top">Story of the day number {n}</a>' for n in (11, 12))
    assert [link for link, _ in found(page)] == [f"https://www.harbour.example/view.php?id={n}" for n in (11, 12)]


def test_articles_beyond_the_limit_are_counted() -> None:
    page = "".join(f'<a href="/2026/11/30/story-number-{n}00000">Story {n}</a>' for n in range(1, 8))
    feed = front(page, policy=ReaderPolicy(max_front_entries=5))
    assert (len(feed.entries), feed.dropped) == (5, 2)


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        pytest.param("", "feed_empty", id="nothing"),
        pytest.param("<!-- -->", "feed_unparsable", id="a comment"),
        pytest.param("<html><body><div id=root></div><script src=/app.js></script></body></html>", "front_without_articles", id="an empty shell"),
        pytest.param(
            '<html><title>Sign in</title><form action="/login"><input name=user></form><a href="/signup">Subscribe now to read all</a>'
            '<a href="/terms-of-service">Terms of our service for readers</a></html>',
            "front_without_articles",
            id="a login",
        ),
        pytest.param("just words", "front_without_articles", id="words"),
    ],
)  # fmt: skip
def test_a_page_without_articles_says_so(page: str, reason: str) -> None:
    with pytest.raises(FeedError) as refused:
        front(page)
    assert refused.value.reason == reason


def test_the_reason_names_what_the_page_calls_itself() -> None:
    with pytest.raises(FeedError) as refused:
        front('<title>Sign in</title><a href="/signup">Join</a>')
    assert refused.value.detail == "1 links, none to an article, on the page 'Sign in'"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<?xml version='1.0'?><rss><channel><item><guid>1</guid></item></channel></rss>", "rss"),
        (b'<feed xmlns="http://www.w3.org/2005/Atom"/>', "atom"),
        (b'{"version":"https://jsonfeed.org/version/1","items":[]}', "json"),
    ],
)
def test_a_feed_at_a_fronts_address_is_read_as_a_feed(body: bytes, expected: str) -> None:
    assert front(body).format == expected


def test_a_packed_front_reads_as_the_front() -> None:
    packed = gzip.compress(CARDS.encode())
    assert front(packed) == front(CARDS)
    assert not front(packed[:-9]).whole


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_give_entries_or_a_reason(body: bytes) -> None:
    for page in (
        body,
        b'<html><a href="/2026/11/30/story-one">' + body,
        b"<a href=/2026/11/30/" + body + b">Four words at least here",
    ):
        with suppress(FeedError):
            for entry in front(page).entries:
                encode_record(entry)


@pytest.mark.parametrize(
    "again",
    ["<a href=/2026/11/30/story-one>", "<div>", "<a href=/2026/11/30/x-y><div><b>", "<h1><a>", "<base href=/x>", "<p role=x ", "&lt;", "<!--"],
)  # fmt: skip
def test_hostile_pages_take_no_more_than_their_length(again: str) -> None:
    """A reader that looks back again and again takes hours for some of these: the run's own time limit is the judge."""
    with suppress(FeedError):
        front(again * (500_000 // len(again)))
