"""Links of deliveries: the pages that entries are about, whatever the document is; never an error, never text."""

from __future__ import annotations

import gc
import json

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.push.links import entry_links, names_other_topic
from services.push.policy import PushPolicy

TOPIC = "https://news.example/feeds/all.xml"
POLICY = PushPolicy()
A, B = "https://news.example/a", "https://news.example/b"


def links(body: str | bytes) -> tuple[str, ...]:
    return entry_links(body.encode() if isinstance(body, str) else body, TOPIC, POLICY)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param(
            f'<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://news.example/"/><entry><link href="{A}"/></entry>'
            f'<entry><link rel="edit" href="https://x.example/1"/><link rel="alternate" href="{B}"/></entry></feed>',
            (A, B),
            id="Atom: alternate, of entries alone",
        ),
        pytest.param(
            f'<feed><entry><link type="application/json" href="{A}.json"/><link type="text/html" href="{A}"/></entry></feed>',
            (A,),
            id="Atom: the page rather than other forms of it",
        ),
        pytest.param(
            f'<feed><entry><source><link href="{B}"/></source><link href="{A}"/></entry></feed>',
            (A,),
            id="Atom: the link of an entry's source is another feed's",
        ),
        pytest.param(
            f'<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:link href="{A}"/></a:entry></a:feed>',
            (A,),
            id="Atom: with a prefix",
        ),
        pytest.param(
            f"<rss><channel><link>https://news.example/</link><item><link> {A}\n</link><guid>x</guid></item>"
            f'<item><guid isPermaLink="false">7</guid></item><item><guid>{B}</guid></item></channel></rss>',
            (A, B),
            id="RSS: link, else a guid that is one",
        ),
        pytest.param(
            f'<rss xmlns:atom="http://www.w3.org/2005/Atom"><item><atom:link href="{B}"/><link><![CDATA[{A}]]></link></item></rss>',
            (A,),
            id="RSS: an Atom link within it is none of the item's own, CDATA",
        ),
        pytest.param(
            f'<rdf:RDF xmlns:rdf="urn:r"><item rdf:about="{A}"><link>{A}</link></item></rdf:RDF>', (A,), id="RSS 1.0"
        ),
        pytest.param(json.dumps({"items": [{"url": A}, {"id": "2"}, {"url": 3}, {"url": B}]}), (A, B), id="JSON Feed"),
        pytest.param(f"\ufeff \n<feed><entry><link href='{A}'/></entry></feed>", (A,), id="blank and mark before it"),
        pytest.param(f"<feed><entry><link href='{A}?a=1&amp;b=2'/></entry></feed>", (f"{A}?a=1&b=2",), id="escapes"),
        pytest.param("<feed><entry><link href='../b'/></entry></feed>", (B,), id="relative to the feed"),
        pytest.param(
            "<feed xml:base='https://other.example/x/'><entry><link href='y'/></entry></feed>",
            ("https://other.example/x/y",),
            id="relative to xml:base",
        ),
        pytest.param(
            f"<feed><entry><link href='{A}'/></entry><entry><link href='{A}'/></entry></feed>", (A,), id="once"
        ),
        pytest.param(f"<feed><entry><link href='{A}'/></entry><entry><li", (A,), id="cut off: what came before"),
        pytest.param(f"<rss><item><link>{A}</link></item>&nbsp;</rss>", (A,), id="an entity that is none"),
        pytest.param("", (), id="thin"),
        pytest.param("fresh content!", (), id="no feed"),
        pytest.param('{"items": 3}', (), id="JSON, no feed"),
        pytest.param("[" * 100_000, (), id="JSON, deep"),
        pytest.param('{"items":' + "[" * 100_000, (), id="JSON Feed, deep"),
        pytest.param("<a>" * 50_000, (), id="XML, deep"),
        pytest.param('<?xml version="1.0" encoding="x-none"?><feed/>', (), id="unknown encoding"),
        pytest.param(
            f"<feed><entry><link href='{A}'/></entry></feed>".encode("utf-16"), (A,), id="UTF-16 with its mark"
        ),
    ],
)
def test_the_links_of_entries(body: str | bytes, found: tuple[str, ...]) -> None:
    assert links(body) == found


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://news.example/a",
        "https://",
        "https:///a",
        "https://user:secret@news.example/a",
        "https://news.example/a b",
        "https://news.example/a&#10;b",
        "https://news.example/" + "a" * POLICY.link_chars,
        "//",
        "http://[",
    ],
)
def test_what_is_no_page_of_the_web_is_left_out(link: str) -> None:
    assert links(f"<feed><entry><link href='{link}'/></entry></feed>") == ()


def test_text_is_never_taken() -> None:
    body = (
        f"<feed><entry><title>{A}</title><content>&lt;a href='{A}'&gt;</content><summary>{A}</summary></entry></feed>"
    )
    assert links(body) == ()


def test_twenty_are_enough() -> None:
    many = "".join(f"<entry><link href='https://news.example/{n}'/></entry>" for n in range(50))
    assert links(f"<feed>{many}</feed>") == tuple(f"https://news.example/{n}" for n in range(20))
    as_json = json.dumps({"items": [{"url": f"https://news.example/{n}"} for n in range(50)]})
    assert len(links(as_json)) == 20


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_ends_it_before_any_entity_is_read(encoding: str) -> None:
    bomb = (
        '<!DOCTYPE feed [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]>'
        f"<feed><entry><link href='{A}?&b;'/><title>&x;</title></entry></feed>"
    )
    assert links(bomb.encode(encoding)) == ()


def test_a_document_type_within_a_text_is_only_text() -> None:
    body = f"<feed><entry><content><![CDATA[<!DOCTYPE html><item><link>{B}</link>]]></content><link href='{A}'/></entry></feed>"
    assert links(body) == (A,)


def test_nothing_of_a_document_waits_for_the_collector() -> None:
    links("<feed/>")
    gc.collect()
    gc.disable()
    try:
        links(f"<feed><entry><link href='{A}'/></entry><entry><guid>{B}</guid></entry></feed>")
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_names_of_hostile_documents_are_not_kept() -> None:
    before = memory_mb()
    for number in range(30):
        links("<feed>" + "".join(f"<e{number}x{place}{'y' * 40}/>" for place in range(10_000)) + "</feed>")
    assert memory_mb() - before < 15


def memory_mb() -> float:
    return psutil.Process().memory_info().rss / 2**20  # type: ignore[no-untyped-call,no-any-return]


@given(
    st.one_of(st.binary(max_size=400), st.text(max_size=400).map(lambda text: text.encode("utf-8", "surrogatepass")))
)
def test_no_bytes_are_an_error(body: bytes) -> None:
    links(body)


@given(
    st.lists(
        st.sampled_from(
            "<feed> </feed> <entry> </entry> <link> </link> <link/> <source> </source> <guid> </guid> <item> </item> <!-- -->"
            " <![CDATA[ ]]> &amp; https://x.example/ <link_href='/a'/>".replace("_", "\t").split(" ")
        ),
        max_size=30,
    )
)
def test_no_mixture_of_tags_is_an_error_and_every_link_is_one(parts: list[str]) -> None:
    assert all(link.startswith(("http://", "https://")) for link in links("".join(parts)))


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_no_json_is_an_error(value: object) -> None:
    links(json.dumps(value))
    links(json.dumps({"items": value}))
    links(json.dumps({"items": [{"url": value}]}))


@pytest.mark.parametrize(
    ("header", "other"),
    [
        ("", False),
        (f'<https://hub.example/>; rel="hub", <{TOPIC}>; rel="self"', False),
        (f'<{TOPIC.replace("https", "http")}>; rel="self"', False),
        ('<https://hub.example/>; rel="hub"', False),
        ('<https://hub.example/>; rel="hub", <https://other.example/>; rel="self"', True),
        ("<https://other.example/>; rel=self", True),
        ("<<<>>;;; rel=", False),
    ],
)
def test_a_delivery_that_says_it_is_of_another_topic(header: str, other: bool) -> None:
    assert names_other_topic(header, TOPIC) is other


@given(st.text(max_size=300))
def test_no_link_header_is_an_error(text: str) -> None:
    names_other_topic(text, TOPIC)
