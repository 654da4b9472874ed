"""Documents that no XML parser reads whole: what feedparser adds, and what it is never given."""

from __future__ import annotations

import builtins
import socket
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_schemas.codec import encode_record
from udfs.feeds import second_reader
from udfs.feeds.document import FeedError, ParsedFeed, ReaderPolicy
from udfs.feeds.reader import parse_feed

URL = "https://news.example/f/feed.xml"
POLICY = ReaderPolicy()


def item(number: int) -> str:
    return (
        f"<item><title>Story {number} &amp; more</title><link>/a/{number}</link>"
        f'<guid isPermaLink="false">g{number}</guid><description><![CDATA[<p>Text {number}</p>]]></description>'
        f"<pubDate>Mon, 30 Nov 2026 10:{number:02}:00 GMT</pubDate></item>\n"
    )


def rss(items: str) -> str:
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour</title>{items}</channel></rss>'


def read(text: str) -> ParsedFeed:
    return parse_feed(text.encode(), URL)


WHOLE = read(rss("".join(map(item, range(6)))))


@pytest.mark.parametrize(
    "between",
    [
        "</channel></rss>",
        "</rss>\n<?xml version='1.0'?><rss><channel>",
        "<? x",
        '<b x="',
        "</item></channel></rss><rss>",
    ],
)
def test_items_behind_the_damage_are_found_as_if_there_were_none(between: str) -> None:
    feed = read(rss(item(0) + item(1) + item(2) + between + item(3) + item(4) + item(5)))
    assert [entry for entry in feed.entries if entry.guid > "g3"] == list(WHOLE.entries[4:])
    assert feed.malformed
    assert feed.title == "Harbour"


def test_our_own_reading_stays_where_both_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = rss("<item><guid>1</guid><title>One</title><description><p>open</description></item>")
    with_both = read(text)
    monkeypatch.setattr(second_reader, "worth_reading", lambda *_: False)
    assert read(text) == with_both


def test_what_is_well_formed_or_mended_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_reader, "read", lambda *_: pytest.fail("read again"))
    assert read(rss(item(1))).entries
    assert read(rss(item(1).replace("&amp;", "&nbsp;&"))).entries


def test_an_unknown_root_with_items_is_a_feed() -> None:
    feed = read(f"<?xml version='1.0'?><news>{item(1)}{item(2)}</news>")
    assert (feed.format, [entry.link for entry in feed.entries]) == (
        "rss",
        ["https://news.example/a/1", "https://news.example/a/2"],
    )


def test_a_document_cut_short_does_not_give_its_last_item() -> None:
    text = rss("".join(map(item, range(6))))
    feed = read(text[: text.index("Text 5")])
    assert [entry.guid for entry in feed.entries] == ["g0", "g1", "g2", "g3", "g4"]
    assert not feed.whole


def test_atom_of_every_field() -> None:
    parsed = second_reader.read(
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>Nord</title><link rel="hub" href="https://hub.example/"/>'
        '<link rel="self" href="/atom.xml"/><entry><id>tag:nord,1</id><title type="text">A &amp;amp; B</title>'
        '<link href="/sturm"/><link rel="enclosure" type="image/png" href="/s.png"/><author><name>Ada</name></author>'
        "<published>2026-11-30T10:00:00Z</published><updated>2026-11-30T11:00:00Z</updated>"
        '<category term="w" label="Wetter"/><summary>a &lt; b</summary><content type="html">&lt;p&gt;x&lt;/p&gt;</content>'
        '<source><title>Wire</title><link href="https://wire.example/"/></source></entry><entry><open></feed>',
        URL,
        POLICY,
    )
    assert parsed is not None
    assert (parsed.format, parsed.title, parsed.language, parsed.hub, parsed.topic) == (
        "atom",
        "Nord",
        "de",
        "https://hub.example/",
        "https://news.example/atom.xml",
    )
    entry = parsed.entries[0]
    assert (entry.guid, entry.link, entry.title) == ("tag:nord,1", "https://news.example/sturm", "A &amp; B")
    assert (entry.published_ms, entry.updated_ms) == (1_796_032_800_000, 1_796_036_400_000)
    assert (entry.summary, entry.content) == ("a &lt; b", "<p>x</p>")
    assert (entry.authors, entry.categories, entry.image) == (("Ada",), ("Wetter",), "https://news.example/s.png")
    assert (entry.source_name, entry.source_url) == ("Wire", "https://wire.example/")


def test_the_rules_of_fields_are_ours() -> None:
    parsed = second_reader.read(
        "<rss><channel><item><title>AT&amp;amp;T</title><guid>17-c</guid><pubDate>12.07.2026</pubDate>"
        '<media:content url="/1.jpg" medium="image" width="10"/><media:content url="/2.jpg" medium="image" width="20"/>'
        "</item><item><title>" + "a" * 5_000 + "</title><link>ftp://x.example/</link></item></channel>",
        URL,
        POLICY,
    )
    assert parsed is not None
    first, second = parsed.entries
    assert (first.title, first.guid, first.link, first.published_ms) == ("AT&T", "17-c", "", None)
    assert first.image == "https://news.example/2.jpg"
    assert (len(second.title), second.link) == (POLICY.max_title, "")


def test_it_opens_no_file_and_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        pytest.fail("opened something")

    second_reader.read(rss(item(1)) + "<", URL, POLICY)  # what it loads at its first call
    monkeypatch.setattr(builtins, "open", refused)
    monkeypatch.setattr(socket, "socket", refused)
    for text in (
        "https://news.example/other.xml",
        "/etc/passwd",
        rss('<xi:include href="file:///etc/passwd"/>' + item(1)) + "<",
    ):
        second_reader.read(text, "file:///etc/passwd", POLICY)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(rss("x" * 600_000), id="a long document"),
        pytest.param(rss("<item/>" * 9_000), id="many tags"),
        pytest.param(rss("<b>" * 70), id="elements in elements"),
        pytest.param(rss("<b " * 1_000), id="tags without end"),
        pytest.param("<feed>" + "<entry xml:base='b/'></entry>" * 60, id="many bases"),
        pytest.param(rss("<![CDATA[<" * 9_000), id="sections without end"),
    ],
)
def test_what_would_take_long_is_never_given(text: str) -> None:
    assert not second_reader.worth_reading(text, POLICY)


def test_a_large_feed_full_of_markup_in_sections_is_given() -> None:
    inside = f"<description><![CDATA[{'<p>x</p>' * 400}]]></description>"
    assert second_reader.worth_reading(rss(item(1).replace("</item>", inside + "</item>") * 100), POLICY)


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_entries_or_none(text: str) -> None:
    for document in (text, f"<rss><channel><item>{text}", rss(item(1) + text)):
        parsed = second_reader.read(document, URL, POLICY)
        for entry in parsed.entries if parsed else ():
            encode_record(entry)


@settings(deadline=None)
@given(st.integers(0, 1_200), st.sampled_from(["</rss>", "<", '"', "<![CDATA[", "<!--", "<?", "</item>", "&", "\0"]))
def test_damage_anywhere_never_raises_and_loses_no_more_than_it_touches(place: int, damage: str) -> None:
    text = rss("".join(map(item, range(6))))
    with suppress(FeedError):
        feed = read(text[:place] + damage + text[place:])
        assert feed == read(text[:place] + damage + text[place:])
