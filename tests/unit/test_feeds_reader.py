"""Feed documents of every format and fault, each beside what must come of it."""

from __future__ import annotations

import html
import json
import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_schemas.codec import encode_record
from state_schemas.fetching import Entry
from udfs.feeds.document import Child, FeedError, ParsedFeed, ReaderPolicy
from udfs.feeds.reader import parse_feed

URL = "https://news.example/f/feed.xml"


def rss(items: str, channel: str = "", attributes: str = "") -> bytes:
    return f'<rss version="2.0" {attributes}><channel>{channel}{items}</channel></rss>'.encode()


def read(body: bytes | str, content_type: str = "", url: str = URL) -> ParsedFeed:
    return parse_feed(body.encode() if isinstance(body, str) else body, url, content_type)


def one(body: bytes | str, content_type: str = "", url: str = URL) -> Entry:
    (entry,) = read(body, content_type, url).entries
    return entry


# ---------------------------------------------------------------- malformed documents


def test_an_undeclared_entity_costs_nothing() -> None:
    feed = read(
        '<rss version="2.0"><channel><title>Harbour</title><item><guid>a1</guid>'
        "<title>Caf&eacute; re&shy;opens&nbsp;today</title></item><item><guid>a2</guid><title>Ferry late</title></item>"
        "</channel></rss>"
    )
    assert [entry.title for entry in feed.entries] == ["Café re\u00adopens\u00a0today", "Ferry late"]
    assert feed.malformed
    assert feed.whole


def test_control_characters_are_taken_out() -> None:
    feed = read(rss("<item><guid>c1</guid><title>Mayor\x08 resigns\x1e</title></item>"))
    assert [entry.title for entry in feed.entries] == ["Mayor resigns"]
    assert feed.malformed


def test_bare_ampersands_in_links_stay_whole() -> None:
    entry = one(rss("<item><title>A</title><link>https://news.example/show?id=7&section=b&copy=1</link></item>"))
    assert entry.link == "https://news.example/show?id=7&section=b&copy=1"


def test_broken_nesting_keeps_the_other_items() -> None:
    feed = read(
        rss(
            "<item><guid>1</guid><title>One</title><description><p>open</description></item>"
            "<item><guid>2</guid><title>Two</title></item>"
        )
    )
    assert [entry.guid for entry in feed.entries] == ["1", "2"]


def test_damage_costs_no_ampersand_behind_it() -> None:
    feed = read(
        rss(
            "<item><title>One</title><b></item><item><title>Two &amp; three &lt;4&gt;</title>"
            "<link>https://news.example/?a=1&amp;b=2</link><description>&lt;p&gt;x&lt;/p&gt;</description></item>"
        )
    )
    entry = feed.entries[-1]
    assert (entry.title, entry.link, entry.summary) == (
        "Two & three <4>",
        "https://news.example/?a=1&b=2",
        "<p>x</p>",
    )


def test_an_undeclared_prefix_has_its_usual_meaning() -> None:
    entry = one(rss('<item><title>A</title><media:content url="https://i.example/a.jpg" medium="image"/></item>'))
    assert entry.image == "https://i.example/a.jpg"


def test_a_document_cut_short_gives_its_whole_items_only() -> None:
    body = rss("".join(f"<item><guid>{n}</guid><link>https://news.example/{n}00</link></item>" for n in range(4)))
    feed = read(body[: body.index(b"https://news.example/300") + 22])
    assert [entry.link[-3:] for entry in feed.entries] == ["000", "100", "200"]
    assert not feed.whole
    assert read(body).whole


def test_what_a_server_prints_before_the_document_is_skipped() -> None:
    feed = read(b"Warning: mysql_connect() in line 3\n" + rss("<item><guid>1</guid></item>"))
    assert len(feed.entries) == 1
    assert feed.malformed


def test_a_root_in_a_strange_namespace_is_read_all_the_same() -> None:
    assert one(rss("<item><title>A</title></item>", attributes='xmlns="http://strange.example/ns"')).title == "A"


@pytest.mark.parametrize(
    "namespace",
    ["http://purl.org/dc/elements/1.1/", "https://purl.org/DC/elements/1.1", "http://purl.org/dc/elements/1.1/ ", "dc"],
)
def test_a_namespace_that_is_almost_the_right_one(namespace: str) -> None:
    document = rss("<item><guid>1</guid><dc:creator>Ann Lee</dc:creator></item>", attributes=f'xmlns:dc="{namespace}"')
    assert one(document).authors == ("Ann Lee",)


def test_a_known_namespace_counts_before_its_prefix() -> None:
    document = rss(
        "<item><guid>1</guid><dc:title>Not mine</dc:title><title>Mine</title></item>",
        attributes='xmlns:dc="http://search.yahoo.com/mrss/"',
    )
    assert one(document).title == "Mine"


# ---------------------------------------------------------------- what is no feed


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b"", "feed_empty", id="nothing"),
        pytest.param(b"\xef\xbb\xbf \r\n", "feed_empty", id="a mark and white space"),
        pytest.param(b"<!DOCTYPE html><title>Sign in</title>", "html_not_feed", id="a portal"),
        pytest.param(b"<!-- x --><html><body/></html>", "html_not_feed", id="HTML without type"),
        pytest.param(b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>', "html_not_feed", id="XHTML"),
        pytest.param(b'<?xml version="1.0"?><opml version="2.0"/>', "not_a_feed", id="OPML"),
        pytest.param(b"just words", "not_a_feed", id="words"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00", "not_a_feed", id="a picture"),
        pytest.param(b'<?xml version="1.0"?>', "feed_unparsable", id="a declaration alone"),
        pytest.param(b"{", "json_invalid", id="half an object"),
        pytest.param(b"[" * 100_000, "json_invalid", id="nested without end"),
        pytest.param(b'{"items": []}', "not_a_feed", id="JSON of another kind"),
        pytest.param(b"[1, 2]", "not_a_feed", id="a JSON list"),
        pytest.param(
            b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><rss><channel><title>&b;</title></channel></rss>',
            "xml_entities",
            id="a bomb",
        ),
        pytest.param(
            b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><title>&x;</title></channel></rss>',
            "xml_entities",
            id="a file",
        ),
    ],
)
def test_is_no_feed(body: bytes, reason: str) -> None:
    with pytest.raises(FeedError) as refused:
        read(body)
    assert refused.value.reason == reason


def test_a_document_above_the_limit_is_refused_unread() -> None:
    with pytest.raises(FeedError) as refused:
        parse_feed(b" " * 101, URL, policy=ReaderPolicy(max_bytes=100))
    assert refused.value.reason == "feed_too_large"


def test_entries_beyond_the_limit_are_counted() -> None:
    items = "".join(f"<item><guid>{n}</guid></item>" for n in range(7))
    feed = parse_feed(rss(items), URL, policy=ReaderPolicy(max_entries=5))
    assert ([entry.guid for entry in feed.entries], feed.dropped) == (["0", "1", "2", "3", "4"], 2)


def test_deep_nesting_is_cut_off() -> None:
    body = b"<rss><channel>" + b"<a>" * 50_000 + b"</a>" * 50_000 + b"</channel></rss>"
    assert read(body).entries == ()


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_give_a_feed_or_a_reason(body: bytes) -> None:
    for document in (body, b"<rss><channel><item>" + body, b'{"version":"https://jsonfeed.org/version/1"' + body):
        with suppress(FeedError):
            for entry in parse_feed(document, URL).entries:
                encode_record(entry)


@pytest.mark.parametrize(
    ("start", "again", "end"),
    [
        pytest.param(b"<rss><channel>", b"<![CDATA[", b"", id="sections without end"),
        pytest.param(b"<rss><channel>", b"<!--", b"", id="comments without end"),
        pytest.param(b"<rss><channel>", b"&x;", b"</channel></rss>", id="unknown entities"),
        pytest.param(b"<rss><channel><item><title>", b"&lt;a ", b"</title></item></channel></rss>", id="half a tag"),
        pytest.param(b"<rss><channel><item><title>", b"<b ", b"", id="half tags"),
        pytest.param(b"", b"<!DOCTYPE a>", b"<rss/>", id="document types"),
        pytest.param(b"<!DOCTYPE ", b"<!-- ", b"<rss/>", id="comments in a document type"),
        pytest.param(b"", b"<!-- --> ", b"<rss/>", id="comments"),
        pytest.param(b"<rss><channel><item><pubDate>", b"Mon, ", b"</pubDate></item></channel></rss>", id="weekdays"),
        pytest.param(b"<rss><channel>", b"<item/>", b"</channel></rss>", id="empty items"),
        pytest.param(
            b"<rss><channel><item><description>", b"<b>x</b>", b"</description></item></channel></rss>", id="dress"
        ),
        pytest.param(b"<rss xmlns='urn:strange'><channel>", b"<item/>", b"</channel></rss>", id="a strange namespace"),
        pytest.param(b"<rss><channel><title>", b"&lt;", b"</title><x></channel></rss>", id="entities before an error"),
        pytest.param(
            b"<rss><channel><item>", b"<media:content url='x.jpg'/>", b"</item></channel></rss>", id="pictures"
        ),
        pytest.param(b"<rss><channel>", b"<at:deleted-entry ref='1'/>", b"</channel></rss>", id="deletions"),
        pytest.param(b"<urlset>", b"<url/>", b"</urlset>", id="empty addresses"),
        pytest.param(b"<sitemapindex>", b"<sitemap><loc>/1</loc></sitemap>", b"</sitemapindex>", id="an endless index"),
        pytest.param(b"<feed xml:base='http://a.example/'>", b"<entry xml:base='b/'>", b"", id="bases"),
    ],
)
def test_hostile_documents_take_no_more_than_their_length(start: bytes, again: bytes, end: bytes) -> None:
    """A reader that looks back again and again takes hours for some of these: the run's own time limit is the judge."""
    with suppress(FeedError):
        read(start + again * (1_000_000 // len(again)) + end)


def test_a_text_of_endless_markup_keeps_its_words() -> None:
    inside = "<b>a &amp; b</b> " * 30_000
    assert one(rss(f"<item><guid>1</guid><description>{inside}</description></item>")).summary[:10] == "a &amp; b "


def test_a_document_at_the_limit_is_read_and_one_byte_more_is_not() -> None:
    limit = ReaderPolicy().max_bytes
    assert read(rss("<item><guid>1</guid></item>").ljust(limit)).entries
    with pytest.raises(FeedError, match="feed_too_large"):
        read(rss("").ljust(limit + 1))


# ---------------------------------------------------------------- texts, once decoded


def test_content_is_decoded_exactly_once() -> None:
    entry = one(
        rss(
            "<item><guid>1</guid><content:encoded>"
            "<![CDATA[<p>Use <code>&lt;script&gt;x()&lt;/script&gt;</code></p>]]></content:encoded></item>",
            attributes='xmlns:content="http://purl.org/rss/1.0/modules/content/"',
        )
    )
    assert entry.content == "<p>Use <code>&lt;script&gt;x()&lt;/script&gt;</code></p>"


@pytest.mark.parametrize(
    ("written", "title"),
    [
        pytest.param("AT&amp;T", "AT&T", id="XML alone"),
        pytest.param("AT&amp;amp;T", "AT&T", id="HTML inside XML"),
        pytest.param("&amp;amp;lt;b&amp;amp;gt;", "&lt;b&gt;", id="no third time"),
        pytest.param("<![CDATA[How <i>The Pitt</i>&#8217;s AI]]>", "How The Pitt’s AI", id="dress"),
        pytest.param("Use &lt;script&gt; with care", "Use <script> with care", id="what it is about"),
        pytest.param("One<![CDATA[<br/>]]>two", "One two", id="a break"),
        pytest.param("  a\n\t b  ", "a b", id="white space"),
        pytest.param("x &lt; y and y &gt; z", "x < y and y > z", id="signs"),
    ],
)
def test_a_title_is_plain_text(written: str, title: str) -> None:
    assert one(rss(f"<item><guid>1</guid><title>{written}</title></item>")).title == title


def test_an_atom_title_of_type_text_is_not_html() -> None:
    entry = one(
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id>'
        '<title type="text">AT&amp;amp;T &lt;b&gt;</title><summary>a &lt; b</summary></entry></feed>'
    )
    assert (entry.title, entry.summary) == ("AT&amp;T <b>", "a &lt; b")


def test_xhtml_content_reads_as_html() -> None:
    entry = one(
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><title type="html">A &amp;lt; B</title>'
        '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Ayes &amp; noes<br/></p></div></content>'
        "</entry></feed>"
    )
    assert entry.title == "A < B"
    assert entry.content == "<div><p>Ayes &amp; noes<br></p></div>"


def test_what_no_record_can_hold_is_left_out() -> None:
    document = (
        '{"version":"https://jsonfeed.org/version/1","feed_url":"https://a.example/\\ud800","title":"\\ud800",'
        '"items":[{"id":"\\udc00","title":"a\\u0001b\\ud800","url":"/x\\ud800","tags":["\\ud800"],'
        '"content_text":"\\u0007\\udfff"}]}'
    )
    feed = read(document)
    assert encode_record(feed.entries[0])
    assert (feed.topic, feed.entries[0].link, feed.entries[0].title) == ("", "", "ab?")


def test_a_link_that_no_server_would_take_is_none() -> None:
    entry = one(rss(f"<item><guid>1</guid><link>https://news.example/{'a' * 3000}</link></item>"))
    assert entry.link == ""


def test_long_texts_are_cut() -> None:
    entry = one(
        rss(f"<item><guid>1</guid><title>{'a' * 5000}</title><description>{'b' * 100_000}</description></item>")
    )
    assert (len(entry.title), len(entry.summary)) == (ReaderPolicy().max_title, ReaderPolicy().max_summary)


# ---------------------------------------------------------------- links and identity


def test_bases_nest() -> None:
    entry = one(
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://news.example/">'
        '<entry xml:base="2026/11/30/"><id>t:1</id><link href="storm"/></entry></feed>',
        url="https://news.example/f/atom.xml",
    )
    assert entry.link == "https://news.example/2026/11/30/storm"


def test_a_guid_is_a_link_unless_it_says_otherwise() -> None:
    feed = read(
        rss(
            "<item><title>A</title><guid>https://news.example/a/17</guid></item>"
            '<item><title>B</title><guid isPermaLink="false">https://news.example/?p=18</guid></item>'
            "<item><title>C</title><guid>17-c</guid></item>"
        )
    )
    assert [entry.link for entry in feed.entries] == ["https://news.example/a/17", "", ""]
    assert len({entry.identity for entry in feed.entries}) == 3


@pytest.mark.parametrize(
    ("item", "link"),
    [
        pytest.param("<link>/a/1</link>", "https://news.example/a/1", id="relative to the feed"),
        pytest.param("<link>\n https://news.example/a \n</link>", "https://news.example/a", id="white space"),
        pytest.param("<link>ftp://news.example/a</link>", "", id="another scheme"),
        pytest.param("<link>http://[broken/</link>", "", id="no address"),
        pytest.param("<link>http://a.example:0/</link>", "", id="no port"),
        pytest.param("<link/><atom:link href='https://news.example/b'/>", "https://news.example/b", id="Atom's"),
        pytest.param("<atom:link rel='self' href='https://news.example/b'/>", "", id="Atom's self is none"),
        pytest.param(
            "<link>http://count.example/1</link><feedburner:origLink>https://news.example/o</feedburner:origLink>",
            "https://news.example/o",
            id="before a counter's",
        ),
        pytest.param("<link>https://news.example/a b</link>", "https://news.example/a%20b", id="a space inside"),
    ],
)
def test_links(item: str, link: str) -> None:
    attributes = (
        'xmlns:atom="http://www.w3.org/2005/Atom" xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0"'
    )
    assert one(rss(f"<item><title>A</title>{item}</item>", attributes=attributes)).link == link


def test_an_atom_entry_prefers_its_html_page() -> None:
    entry = one(
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id>'
        '<link rel="enclosure" type="audio/mpeg" href="/a.mp3"/><link rel="alternate" type="application/json" href="/j"/>'
        '<link rel="alternate" type="text/html" href="/page"/></entry></feed>'
    )
    assert entry.link == "https://news.example/page"


def test_one_guid_for_all_falls_back_to_the_link() -> None:
    items = "".join(
        f'<item><guid isPermaLink="false">N/A</guid><title>T{n}</title><link>https://news.example/n/{n}</link></item>'
        for n in (1, 2, 3)
    )
    feed = read(rss(items))
    assert feed.guids_repeat
    assert len(feed.entries) == 3
    again = parse_feed(rss(items[: items.index("</item>") + 7]), URL, by_guid=False)
    assert again.entries[0].identity == feed.entries[0].identity


def test_without_guid_and_link_title_and_date_identify() -> None:
    item = "<item><title>{}</title><pubDate>Mon, 30 Nov 2026 0{}:00:00 GMT</pubDate></item>"
    feed = read(rss(item.format("A", 1) + item.format("A", 2) + item.format("B", 1) + item.format("A", 1)))
    assert (len(feed.entries), feed.repeated) == (3, 1)


def test_a_link_that_all_items_share_identifies_none() -> None:
    feed = read(rss("".join(f"<item><title>T{n}</title><link>https://news.example/</link></item>" for n in range(3))))
    assert len(feed.entries) == 3


def test_the_same_item_twice_is_one() -> None:
    item = "<item><guid>1</guid><title>A</title><link>https://news.example/1</link></item>"
    feed = read(rss(item + item))
    assert (len(feed.entries), feed.repeated, feed.guids_repeat) == (1, 1, False)


# ---------------------------------------------------------------- formats


def test_rss_with_modules() -> None:
    feed = read(
        rss(
            "<item><title>Refinery fire</title><link>https://agg.example/r/1</link><guid>r1</guid>"
            '<source url="https://wire.example">Wire Service</source><dc:creator>Ann Lee</dc:creator>'
            "<dc:creator>Bo Ek</dc:creator><category>Energy</category><category>Energy</category>"
            "<category>World</category><pubDate>Mon, 30 Nov 2026 10:00:00 +0100</pubDate>"
            "<dcterms:modified>2026-11-30T10:30:00Z</dcterms:modified>"
            '<media:group><media:content url="https://i.example/s.jpg" medium="image" width="200"/>'
            '<media:content url="https://i.example/l.jpg" medium="image" width="1200"/></media:group>'
            '<enclosure url="https://i.example/a.mp3" type="audio/mpeg"/>'
            "<description>&lt;p&gt;Smoke&lt;/p&gt;</description></item>",
            channel="<title>Energy watch</title><language>en-GB</language><ttl>15</ttl>"
            '<atom:link rel="hub" href="https://hub.example/"/><atom:link rel="self" href="https://agg.example/feed"/>',
            attributes='xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
            'xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom"',
        )
    )
    assert (feed.format, feed.title, feed.language, feed.ttl_ms) == ("rss", "Energy watch", "en-GB", 900_000)
    assert (feed.hub, feed.topic) == ("https://hub.example/", "https://agg.example/feed")
    (entry,) = feed.entries
    assert (entry.source_url, entry.source_name) == ("https://wire.example", "Wire Service")
    assert entry.authors == ("Ann Lee", "Bo Ek")
    assert entry.categories == ("Energy", "World")
    assert entry.published_ms == 1_796_029_200_000
    assert entry.updated_ms == 1_796_034_600_000
    assert entry.image == "https://i.example/l.jpg"
    assert entry.summary == "<p>Smoke</p>"


def test_atom() -> None:
    feed = read(
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>Nordblatt</title>'
        '<link rel="self" href="/atom.xml"/><link rel="hub" href="https://hub.example/"/>'
        "<entry><id>tag:nord,1</id><title>Sturm</title><link href='/sturm'/><published>2026-11-30T10:00:00Z</published>"
        "<updated>2026-11-30T11:00:00Z</updated><author><name>Ada</name></author><category term='wetter'/>"
        "<source><id>tag:wire</id><title>Wire</title><link href='https://wire.example/'/></source></entry></feed>"
    )
    assert (feed.format, feed.language, feed.topic) == ("atom", "de", "https://news.example/atom.xml")
    (entry,) = feed.entries
    assert (entry.link, entry.guid) == ("https://news.example/sturm", "tag:nord,1")
    assert (entry.source_name, entry.source_url) == ("Wire", "https://wire.example/")
    assert (entry.authors, entry.categories) == (("Ada",), ("wetter",))
    assert entry.updated_ms is not None
    assert entry.published_ms is not None
    assert entry.updated_ms - entry.published_ms == 3_600_000


def test_atom_without_its_namespace() -> None:
    assert (
        one("<feed><entry><id>1</id><title>A</title><link href='/a'/></entry></feed>").link == "https://news.example/a"
    )


def test_rdf() -> None:
    feed = read(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">'
        '<channel rdf:about="https://news.example/"><title>World</title><dc:language>en</dc:language>'
        "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency></channel>"
        '<item rdf:about="https://news.example/1"><title>A</title><link>https://news.example/1?rss</link>'
        "<dc:date>2026-11-30T10:00:00Z</dc:date></item></rdf:RDF>"
    )
    assert (feed.format, feed.title, feed.language, feed.ttl_ms) == ("rdf", "World", "en", 900_000)
    assert (feed.entries[0].link, feed.entries[0].guid) == ("https://news.example/1?rss", "https://news.example/1")


def test_json_feed() -> None:
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Notes",
        "language": "en",
        "hubs": [{"type": "WebSub", "url": "https://hub.example/"}],
        "items": [
            {
                "id": 7,
                "url": "/notes/7",
                "title": "Seven & eight",
                "content_text": "a < b",
                "date_published": "2026-11-30T10:00:00+01:00",
                "authors": [{"name": "Ann"}],
                "tags": ["x", 3],
                "image": "/7.png",
            },
            "no item",
        ],
    }
    feed = read(json.dumps(document), "application/feed+json")
    (entry,) = feed.entries
    assert (feed.format, feed.hub, entry.guid, entry.link) == (
        "json",
        "https://hub.example/",
        "7",
        "https://news.example/notes/7",
    )
    assert (entry.title, entry.content, entry.authors, entry.categories) == (
        "Seven & eight",
        "a &lt; b",
        ("Ann",),
        ("x",),
    )


SITEMAP = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">{}</urlset>'
)


def test_a_news_sitemap_gives_what_has_news_tags() -> None:
    feed = read(
        SITEMAP.format(
            "<url><loc>https://news.example/new</loc><news:news><news:publication><news:name>N</news:name>"
            "<news:language>pt</news:language></news:publication><news:publication_date>2026-11-30T09:00:00Z"
            "</news:publication_date><news:title>Ponte reabre</news:title></news:news>"
            "<image:image><image:loc>https://img.example/1.jpg</image:loc></image:image></url>"
            "<url><loc>https://news.example/old</loc><lastmod>2026-11-30</lastmod></url>"
        )
    )
    (entry,) = feed.entries
    assert feed.format == "news_sitemap"
    assert (entry.link, entry.title, entry.language) == ("https://news.example/new", "Ponte reabre", "pt")
    assert (entry.image, entry.published_ms) == ("https://img.example/1.jpg", 1_796_029_200_000)


@pytest.mark.parametrize(
    "urls",
    [
        pytest.param("", id="empty over a weekend"),
        pytest.param(
            "<url><loc>https://news.example/gallery/2</loc><image:image><image:loc>https://img.example/2.jpg"
            "</image:loc></image:image></url>",
            id="pictures in news clothes",
        ),
    ],
)
def test_a_sitemap_without_news_is_healthy(urls: str) -> None:
    feed = read(SITEMAP.format(urls))
    assert (feed.format, feed.entries, feed.malformed) == ("sitemap", (), False)


def test_a_sitemap_index_names_its_children() -> None:
    feed = read(
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap>'
        "<loc>https://news.example/sm/wire.xml</loc><lastmod>2026-11-30T03:15:03Z</lastmod></sitemap></sitemapindex>"
    )
    assert feed.format == "sitemap_index"
    assert feed.children == (Child("https://news.example/sm/wire.xml", 1_796_008_503_000),)


def test_the_last_changed_children_of_a_long_index_come_first() -> None:
    def child(name: str, changed: str) -> str:
        return f"<sitemap><loc>/sm/{name}.xml</loc>{changed}</sitemap>"

    archive = "".join(child(f"a{n}", f"<lastmod>2012-{1 + n % 12:02}-01</lastmod>") for n in range(120))
    feed = read(
        "<sitemapindex>"
        + archive
        + child("undated", "")
        + child("today", "<lastmod>2026-11-30</lastmod>")
        + child("today", "<lastmod>2026-11-30</lastmod>")
        + "</sitemapindex>"
    )
    assert feed.children[0] == Child("https://news.example/sm/today.xml", 1_795_996_800_000)
    assert (len(feed.children), feed.dropped) == (100, 22)


def test_a_news_title_is_decoded_like_any_other() -> None:
    entry = one(
        SITEMAP.format(
            "<url><loc>https://news.example/1</loc><lastmod>2026-11-30T10:00:00Z</lastmod><news:news>"
            "<news:publication><news:name>N</news:name><news:language> pt-br </news:language></news:publication>"
            "<news:title><![CDATA[Rain &amp; wind: it&#8217;s here]]></news:title>"
            "<news:keywords>storm, rain &amp; wind, storm,</news:keywords></news:news></url>"
        )
    )
    assert (entry.title, entry.categories, entry.language) == (
        "Rain & wind: it’s here",
        ("storm", "rain & wind"),
        "pt-br",
    )
    assert (entry.published_ms, entry.updated_ms) == (None, 1_796_032_800_000)


@pytest.mark.parametrize(
    ("author", "name"),
    [
        ("desk@news.example (Ann Lee)", "Ann Lee"),
        ("Ann Lee", "Ann Lee"),
        ("desk@news.example", "desk@news.example"),
        ("Ann Lee (Reuters)", "Ann Lee (Reuters)"),
        ("none@none.example (Ann Lee, (AP))", "none@none.example (Ann Lee, (AP))"),
    ],
)
def test_an_author_is_called_by_the_name(author: str, name: str) -> None:
    assert one(rss(f"<item><guid>1</guid><author>{author}</author></item>")).authors == (name,)


def test_a_plain_updated_is_the_time_of_the_last_change() -> None:
    entry = one(rss("<item><guid>1</guid><updated>Mon, 30 Nov 2026 12:00:00 GMT</updated></item>"))
    assert (entry.published_ms, entry.updated_ms) == (None, 1_796_040_000_000)


# ---------------------------------------------------------------- laws


def test_a_document_reads_the_same_every_time() -> None:
    first = rss("<item><guid>1</guid><title>A</title></item>")
    other = rss("<item><guid>1</guid><title>B</title></item>")
    before = read(first)
    for _ in range(3):
        read(other)
    assert read(first) == before


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="<\ufffe\uffff"), max_size=80))
def test_a_title_escaped_for_html_and_xml_comes_back(text: str) -> None:
    escaped = html.escape(html.escape(text))
    title = one(rss(f"<item><guid>1</guid><title>{escaped}</title></item>")).title
    assert title == re.sub(" +", " ", text).strip()


@pytest.mark.parametrize(
    "item",
    [
        pytest.param("<n{0}>x</n{0}>", id="elements"),
        pytest.param("<title a{0}='x'>t</title>", id="attributes"),
        pytest.param("<n{0} b{0}='<", id="and broken"),
    ],
)
def test_a_document_of_names_without_end_is_refused_before_a_parser_keeps_them(item: str) -> None:
    names = "".join(item.format(number) for number in range(3_000))
    document = f"<rss><channel><item><title>t</title>{names}</item></channel></rss>".encode()
    with pytest.raises(FeedError) as refused:
        parse_feed(document, "https://n.example/feed")
    assert refused.value.reason == "xml_names"


def test_a_long_document_has_few_names() -> None:
    item = (
        "<item><guid>g{0}</guid><title x='{0}'>t &lt;b{0}&gt; a{0}=1</title><link>https://n.example/{0}</link></item>"
    )
    document = f"<rss><channel>{''.join(item.format(number) for number in range(900))}</channel></rss>".encode()
    assert len(parse_feed(document, "https://n.example/feed").entries) == 900


@pytest.mark.parametrize(
    "body",
    [
        b"<urlset\x00http://[",
        b"<rss\x00a:b:c <item>",
        b"<x:rss xmlns:x='http://u.example/'><x:channel><x:a:b><x:item/></x:a:b>",
        b"<rss xmlns:x='u'><channel><item><description><x:p:q>t</x:p:q><b>x</b></description><title>t</title></item>",
    ],
)
def test_names_that_are_none_are_no_fault_of_ours(body: bytes) -> None:
    with suppress(FeedError):
        parse_feed(body, "https://n.example/feed")
