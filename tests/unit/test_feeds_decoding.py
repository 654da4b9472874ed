"""Encodings, document types, mending: what an XML parser gets to see."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.feeds.decoding import decode, mend, spelled_out, strip_doctype
from udfs.feeds.document import FeedError

UTF8 = '<?xml version="1.0" encoding="UTF-8"?>'
TITLES = "Zürich: Börse schließt früher"


@pytest.mark.parametrize(
    ("data", "content_type", "text"),
    [
        pytest.param("<a>é</a>".encode(), "", "<a>é</a>", id="nothing declared: UTF-8"),
        pytest.param("<a>é</a>".encode("cp1252"), "", "<a>é</a>", id="nothing declared, no UTF-8: Windows-1252"),
        pytest.param("<a>é’</a>".encode("cp1252"), "text/xml; charset=ISO-8859-1", "<a>é’</a>", id="Latin-1 is 1252"),
        pytest.param("<a>é</a>".encode(), "text/xml; charset=ISO-8859-1", "<a>é</a>", id="a default over UTF-8"),
        pytest.param("<a>ж</a>".encode("koi8-r"), 'text/xml; charset="koi8-r"', "<a>ж</a>", id="the header"),
        pytest.param("<a>漢</a>".encode("gb18030"), "text/xml; charset=gb2312", "<a>漢</a>", id="GB 2312 is GB 18030"),
        pytest.param(codecs.BOM_UTF8 + "<a>é</a>".encode(), "text/xml; charset=koi8-r", "<a>é</a>", id="a mark first"),
        pytest.param(codecs.BOM_UTF16_LE + "<a>é</a>".encode("utf-16-le"), "", "<a>é</a>", id="UTF-16 with a mark"),
        pytest.param("<a>é</a>".encode("utf-16-be"), "", "<a>é</a>", id="UTF-16 without"),
        pytest.param("<a>é</a>".encode(), "text/xml; charset=base64", "<a>é</a>", id="no character set at all"),
        pytest.param("<a>é</a>".encode(), "text/xml; charset=utf-16", "<a>é</a>", id="a declaration that contradicts"),
        pytest.param("<a>é</a>".encode(), "text/xml; charset=unheard-of", "<a>é</a>", id="an unknown name"),
    ],
)
def test_decodes(data: bytes, content_type: str, text: str) -> None:
    assert decode(data, content_type) == text


def test_the_xml_declaration_counts_where_the_header_is_silent() -> None:
    declared = '<?xml version="1.0" encoding="windows-1251"?><a>Правда</a>'
    assert decode(declared.encode("cp1251"), "text/xml") == declared


def test_one_bad_byte_does_not_outvote_two_declarations() -> None:
    items = "".join(f"<item><title>{TITLES} {n}</title></item>" for n in range(9))
    data = f"{UTF8}<rss>{items}".encode() + b"<item><description>a\xffb</description></item></rss>"
    text = decode(data, "application/rss+xml; charset=utf-8")
    assert text.count(TITLES) == 9
    assert "a\ufffdb" in text


def test_a_wrong_declaration_of_utf8_is_noticed() -> None:
    data = f"{UTF8}<a>{TITLES}</a>".encode("cp1252")
    assert TITLES in decode(data, "")


@settings(deadline=None)
@given(st.binary(max_size=200), st.text(max_size=60))
def test_never_fails(data: bytes, content_type: str) -> None:
    decode(data, content_type).encode("utf-8")


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd">',
        "<!DOCTYPE rss [ <!ELEMENT rss (channel)> <!-- don't --> ]>",
        "<!-- hello --> <!doctype rss>",
        "<!DOCTYPE a><!DOCTYPE b>",
    ],
)
def test_a_document_type_without_entities_is_dropped(doctype: str) -> None:
    assert strip_doctype(f"{UTF8}\n{doctype}\n<rss/>") == "<rss/>"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param('<!DOCTYPE r [<!ENTITY a "b">]><r>&a;</r>', "xml_entities", id="an entity"),
        pytest.param('<!DOCTYPE a><!DOCTYPE r [<!ENTITY a "b">]><r/>', "xml_entities", id="behind another"),
        pytest.param('<!DOCTYPE r [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><r/>', "xml_entities", id="external"),
        pytest.param("<!DOCTYPE r [ no end", "xml_entities", id="no end"),
        pytest.param("<!DOCTYPE html><html/>", "html_not_feed", id="HTML"),
    ],
)
def test_refuses(text: str, reason: str) -> None:
    with pytest.raises(FeedError) as refused:
        strip_doctype(text)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        pytest.param("Caf&eacute;", "Caf&#233;", id="HTML's entities"),
        pytest.param("a &amp; b &lt; &#233;", "a &amp; b &lt; &#233;", id="XML's own stay"),
        pytest.param("?a=1&b=2&copy=3", "?a=1&amp;b=2&amp;copy=3", id="bare ampersands"),
        pytest.param("&nosuchthing;", "&amp;nosuchthing;", id="an unknown entity"),
        pytest.param("<![CDATA[a & b &eacute;]]> &", "<![CDATA[a & b &eacute;]]> &amp;", id="CDATA is text already"),
        pytest.param("Mayor\x08 resigns\x1e&#x1f;&#8;", "Mayor resigns", id="control characters"),
        pytest.param("&#x10FFFF;&#9;", "&#x10FFFF;&#9;", id="references that are allowed"),
    ],
)
def test_mends(text: str, mended: str) -> None:
    assert mend(text) == mended


def test_names_of_characters_become_numbers_outside_sections() -> None:
    text = "a &amp; b &lt;&gt;&quot;&apos; &#233; &x;<![CDATA[&amp;]]><!-- &lt; -->&amp;<![CDATA[&amp;"
    assert spelled_out(text) == (
        "a &#38; b &#60;&#62;&#34;&#39; &#233; &x;<![CDATA[&amp;]]><!-- &lt; -->&#38;<![CDATA[&#38;"
    )
