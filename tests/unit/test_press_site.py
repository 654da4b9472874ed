"""What a host of the press serves at an instant, before HTTP has looked at it."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from typing import Any

import feedparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from services.press import content, pages
from services.press.content import Article, Correction, Feed, Publisher
from services.press.site import SOURCE_COLUMNS, Answer, Clock, PressSite


def parsed_page(text: bytes | str) -> Any:
    return html.fromstring(text)


def parsed_feed(body: bytes) -> Any:
    return feedparser.parse(body)  # type: ignore[attr-defined,no-untyped-call]


START = 1_796_000_000_000
SPEED = 10.0

DAILY = Publisher(
    id="daily",
    name="Daily & Co",
    host="daily.localhost",
    country="GB",
    languages=("en", "de"),
    authority=0.5,
    owner="Own",
    tagline="All <of> it",
    json_ld="graph",
    feeds=(
        Feed("/feed.xml", "rss", "en"),
        Feed("/atom.xml", "atom", "en", full_text=True),
        Feed("/de/feed.xml", "rss", "de"),
        Feed("/sport/feed.xml", "rss", "en", section="sport", category="sports"),
    ),
    feed_query="utm_source=feed",
)


def article(name: str, at_s: float, **changes: object) -> Article:
    made = Article(
        id=name,
        event="e",
        publisher="daily",
        language="en",
        path=f"/{name}",
        title=f"Title {name} & <more>",
        lede=f"Lede of {name}.",
        paragraphs=("One “quoted”.", "Two."),
        author="Ann O’Hara",
        section="world",
        published_s=at_s,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


ARTICLES = (
    article("first", 100),
    article("corrected", 200, correction=Correction(300, "Better title"), image="hill"),
    article("withdrawn", 300, retract_after_s=300),
    article("deutsch", 400, language="de"),
    article("match", 500, section="sport"),
    article("match-amp", 510, section="sport", kind="variant", repeats="match", form="amp", path="/amp/match"),
    article("match-print", 520, section="sport", kind="variant", repeats="match", form="print", path="/print/match"),
    article("view", 600, label="opinion"),
)
SITE = PressSite(content.build([DAILY], ARTICLES, {"e": "An event"}), Clock(START, SPEED), ":18090")


def get(path: str, press_s: float, site: PressSite = SITE) -> Answer:
    answer = site.answer("http", "daily.localhost", path, "", site.clock.wall_ms(press_s))
    assert answer is not None
    return answer


def titles(path: str, press_s: float) -> list[str]:
    parsed = parsed_feed(get(path, press_s).body)
    assert not parsed.bozo, parsed.bozo_exception
    return [entry.title for entry in parsed.entries]


def test_a_host_that_is_not_here() -> None:
    assert SITE.answer("http", "elsewhere.localhost", "/", "", START) is None


@pytest.mark.parametrize("path", ["/feed.xml", "/atom.xml"])
def test_a_feed_grows_with_time_newest_first(path: str) -> None:
    assert titles(path, 0) == []
    assert titles(path, 99.9) == []
    assert titles(path, 100) == ["Title first & <more>"]
    assert titles(path, 250) == ["Title corrected & <more>", "Title first & <more>"]


@pytest.mark.parametrize(
    ("path", "press_s", "status"),
    [
        pytest.param("/first", 99, 404, id="not yet published"),
        pytest.param("/first", 100, 200, id="published"),
        pytest.param("/withdrawn", 599, 200, id="not yet withdrawn"),
        pytest.param("/withdrawn", 600, 410, id="withdrawn"),
        pytest.param("/nothing", 600, 404, id="never there"),
        pytest.param("/amp/match", 510, 200, id="AMP"),
        pytest.param("/images/hill.png", 0, 200, id="picture"),
    ],
)
def test_status_of_a_page(path: str, press_s: float, status: int) -> None:
    assert get(path, press_s).status == status


def test_dates_are_the_wall_time_of_appearance() -> None:
    entry = parsed_feed(get("/atom.xml", 100).body).entries[0]
    assert entry.published == "2026-11-30T00:53:30.000Z"  # START + 100 s at speed 10
    page = parsed_page(get("/first", 100).body)
    assert page.xpath("//meta[@property='article:published_time']/@content") == ["2026-11-30T00:53:30.000Z"]


def test_a_withdrawal_leaves_the_feed_and_counts_as_a_change() -> None:
    assert "Title withdrawn & <more>" in titles("/feed.xml", 599)
    assert "Title withdrawn & <more>" not in titles("/feed.xml", 600)
    before, after = get("/sport/feed.xml", 599).modified_ms, get("/feed.xml", 601).modified_ms
    assert before is not None
    assert after == SITE.clock.wall_ms(600)


def test_a_correction_keeps_address_guid_and_date() -> None:
    before = parsed_feed(get("/feed.xml", 499).body).entries[-2]
    after = parsed_feed(get("/feed.xml", 500).body).entries[-2]
    assert (before.title, after.title) == ("Title corrected & <more>", "Better title")
    assert (before.link, before.id, before.published) == (after.link, after.id, after.published)
    page = get("/corrected", 500)
    assert page.modified_ms == SITE.clock.wall_ms(500)
    assert b"article:modified_time" in page.body
    assert b"article:modified_time" not in get("/corrected", 499).body


def test_language_and_section_feeds() -> None:
    assert titles("/de/feed.xml", 700) == ["Title deutsch & <more>"]
    assert len(titles("/sport/feed.xml", 700)) == 3
    assert len(titles("/feed.xml", 500)) == 4


def test_links_are_absolute_and_tracked_only_in_feeds() -> None:
    entry = parsed_feed(get("/feed.xml", 100).body).entries[0]
    assert entry.link == "http://daily.localhost:18090/first?utm_source=feed"
    page = parsed_page(get("/first", 100).body)
    assert page.xpath("//head/link[@rel='canonical']/@href") == ["http://daily.localhost:18090/first"]


def test_an_amp_page_names_its_main_version_and_a_print_page_does_not() -> None:
    main = parsed_page(get("/match", 700).body)
    amp = parsed_page(get("/amp/match", 700).body)
    assert main.xpath("//link[@rel='amphtml']/@href") == ["http://daily.localhost:18090/amp/match"]
    assert amp.xpath("//link[@rel='canonical']/@href") == ["http://daily.localhost:18090/match"]
    assert amp.xpath("//html/@amp") == [""]
    assert b"canonical" not in get("/print/match", 700).body


@pytest.mark.parametrize("shape", content.JSON_LD_SHAPES)
def test_json_ld_in_every_shape(shape: str) -> None:
    site = PressSite(content.build([replace(DAILY, json_ld=shape)], ARTICLES, {}), SITE.clock, "")
    blocks = parsed_page(get("/view", 600, site).body).xpath("//script[@type='application/ld+json']/text()")
    if shape == "none":
        assert blocks == []
        return
    data = json.loads(re.sub(r"^//<!\[CDATA\[|//\]\]>$", "", blocks[0]))
    found = {"object": data, "wrapped": data}.get(shape) or (data["@graph"] if shape == "graph" else data)[1]
    assert found["headline"] == "Title view & <more>"
    assert found["@type"] == "OpinionNewsArticle"
    assert found["datePublished"] == found["dateModified"] == "2026-11-30T00:54:20.000Z"
    assert "O’Hara" in json.dumps(found["author"], ensure_ascii=False)


def test_a_page_does_not_change_while_the_press_goes_on() -> None:
    assert get("/match", 500) == get("/match", 5000)


def test_news_sitemap() -> None:
    root = etree.fromstring(get("/news-sitemap.xml", 600).body)
    assert len(root.findall("{*}url/{*}news")) == 7
    assert root.findtext("{*}url/{*}news/{*}publication/{*}name") == "Daily & Co"


def test_robots_and_home() -> None:
    robots = get("/robots.txt", 0).body.decode()
    assert "Disallow: /internal/" in robots
    home = "http://daily.localhost:18090"
    assert f"Sitemap: {home}/news-sitemap.xml\nSitemap: {home}/sitemap-index.xml.gz\n" in robots
    page = get("/", 700).body
    assert page.count(b"<h2>") == 7
    tree = parsed_page(page.decode())
    assert tree.xpath("//meta[@property='og:site_name']/@content") == ["Daily & Co"]
    assert tree.xpath("//meta[@property='og:locale']/@content") == ["en_GB"]
    assert tree.xpath("//link[@rel='alternate']/@href") == [f"{home}{feed.path}" for feed in DAILY.feeds]
    assert tree.xpath("//nav//a/@href") == [f"{home}/sections/sport", f"{home}/sections/world"]


def test_section_pages_hold_their_own_articles_and_declare_no_feed() -> None:
    sport = get("/sections/sport", 700)
    assert sport.status == 200
    assert (sport.body.count(b"<h2>"), sport.body.count(b'rel="alternate"')) == (3, 0)
    assert get("/sections/nothing", 700).status == get("/sections/", 700).status == 404
    japanese = article("umi", 100, section="国際")
    site = PressSite(content.build([DAILY], [japanese], {}), SITE.clock, "")
    (front,) = parsed_page(get("/", 700, site).body.decode()).xpath("//nav//a/@href")
    assert front == "http://daily.localhost/sections/%E5%9B%BD%E9%9A%9B"
    assert get("/sections/%E5%9B%BD%E9%9A%9B", 700, site).status == 200


def test_the_sitemap_index_is_a_gzip_file_of_the_news_and_the_other_sitemap() -> None:
    answer = get("/sitemap-index.xml.gz", 600)
    assert (answer.status, answer.content_type) == (200, "application/gzip")
    root = etree.fromstring(gzip.decompress(answer.body))
    home = "http://daily.localhost:18090"
    assert root.xpath("//*[local-name()='loc']/text()") == [f"{home}/news-sitemap.xml", f"{home}/page-sitemap.xml"]
    assert answer == get("/sitemap-index.xml.gz", 600)
    pages_listed = etree.fromstring(get("/page-sitemap.xml", 600).body)
    assert len(pages_listed.findall("{*}url")) == 3
    assert pages_listed.findall("{*}url/{*}news") == []


@pytest.mark.parametrize("path", ["/feed.xml", "/atom.xml"])
def test_the_hub_of_a_publisher_that_has_one_is_named_in_its_feeds(path: str) -> None:
    with_hub = PressSite(content.build([replace(DAILY, hub="hub.localhost")], ARTICLES, {}), SITE.clock, ":18090")
    links = {link.rel: link.href for link in parsed_feed(get(path, 100, with_hub).body).feed.links}
    assert links["hub"] == "http://hub.localhost:18090/"
    assert links["self"] == f"http://daily.localhost:18090{path}"
    assert b"hub" not in get(path, 100).body


def test_status_is_the_truth() -> None:
    status = SITE.status(SITE.clock.wall_ms(600))
    assert (status["published"], status["total"], status["speed"]) == (8, 8, 10.0)
    by_id = {entry["id"]: entry for entry in status["articles"]}
    assert by_id["match-amp"] == {
        "id": "match-amp",
        "url": "http://daily.localhost:18090/amp/match",
        "event": "e",
        "language": "en",
        "kind": "variant",
        "publisher": "daily",
        "published_ms": SITE.clock.wall_ms(510),
        "repeats": "match",
    }
    assert by_id["withdrawn"]["retracted"]
    assert by_id["view"]["label"] == "opinion"
    assert SITE.status(START)["articles"] == []


def test_sources_for_the_importer() -> None:
    rows = [dict(zip(SOURCE_COLUMNS, row, strict=True)) for row in SITE.sources(":1")]
    assert len(rows) == 4
    assert rows[3] == {
        "feed_url": "http://daily.localhost:1/sport/feed.xml",
        "publisher_id": "daily",
        "publisher_name": "Daily & Co",
        "country": "GB",
        "language": "en",
        "category": "sports",
        "authority": "0.5",
        "owner": "Own",
    }


@given(st.floats(0, 10_000), st.floats(0.01, 10_000))
def test_clock_round_trip(press_s: float, speed: float) -> None:
    clock = Clock(START, speed)
    assert abs(clock.press_s(clock.wall_ms(press_s)) - press_s) <= speed / 1000


@given(st.floats(0, 1000), st.floats(0, 1000))
def test_what_is_out_never_goes_back_in(early: float, late: float) -> None:
    early, late = min(early, late), max(early, late)
    then = {entry["id"] for entry in SITE.status(SITE.clock.wall_ms(early))["articles"]}
    now = {entry["id"] for entry in SITE.status(SITE.clock.wall_ms(late))["articles"]}
    assert then <= now


def test_picture_is_a_png_of_its_name() -> None:
    one = pages.picture("hill", 48, 27)
    assert one.startswith(b"\x89PNG\r\n\x1a\n")
    assert one == pages.picture("hill", 48, 27) != pages.picture("lake", 48, 27)


def test_every_feed_and_page_of_the_sample_press_is_sound() -> None:
    site = PressSite(content.load(), Clock(START, 20.0), ":18090")
    end = site.clock.wall_ms(site.press.length_s)
    for publisher in site.press.publishers.values():
        for feed in publisher.feeds:
            answer = site.answer("http", publisher.host, feed.path, "", end)
            assert answer is not None
            assert not parsed_feed(answer.body).bozo
    for one in site.press.articles:
        host = site.press.publishers[one.publisher].host
        answer = site.answer("http", host, one.path, "", site.clock.wall_ms(one.published_s))
        assert answer is not None
        assert answer.status == 200
        page = parsed_page(answer.body.decode())
        assert one.title in page.xpath("string(//h1)")
        assert one.paragraphs[-1] in page.xpath("string(//article)")
