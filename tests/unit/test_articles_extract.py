"""From page or entry to fields: sources of trust, damage that is forgiven, pages that are no article."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from state_schemas.fetching import Entry, RawItem
from state_schemas.sources import Origin
from udfs.articles.canonical import load_tracking_parameters
from udfs.articles.extract import Extraction, Rejection, extract_entry, extract_page
from udfs.articles.page import decoded

TRACKING = load_tracking_parameters(Path(__file__).parents[2] / "reference_data" / "tracking_parameters.txt")
PARAGRAPHS = [
    "The harbour board closed the eastern lock on Monday after a crack was found in its lower gate.",
    "Engineers expect the repair to take nine days, the board said in a statement, and barges will wait outside.",
    "Two ferries a day will use the old lock meanwhile, which was last opened for traffic eleven years ago.",
]


def raw(url: str = "https://n.example/a", entry: Entry | None = None, **fields: object) -> RawItem:
    origin = Origin(publisher="n.example", name="Daily Harbour", country="GB", language="en")
    return RawItem(kind="page", url=url, origin=origin, found_ms=1, fetched_ms=2, entry=entry, **fields)  # type: ignore[arg-type]


def page(head: str = "", body: str = "", lang: str = "en") -> str:
    text = body or "<article>" + "".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS) + "</article>"
    return f'<!DOCTYPE html><html lang="{lang}"><head>{head}</head><body>{text}</body></html>'


def ld(value: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


def extracted(html: str | bytes, item: RawItem | None = None) -> Extraction:
    found = extract_page(item or raw(), html.encode() if isinstance(html, str) else html, TRACKING)
    assert isinstance(found, Extraction), found
    return found


def rejected(html: str, item: RawItem | None = None) -> str:
    found = extract_page(item or raw(), html.encode(), TRACKING)
    assert isinstance(found, Rejection), found
    return found.reason


NEWS = {
    "@context": "https://schema.org",
    "@type": "NewsArticle",
    "headline": "Lock closed",
    "description": "A crack in a gate.",
    "datePublished": "2026-11-30T06:00:00Z",
    "dateModified": "2026-11-30T08:00:00+01:00",
    "author": [{"@type": "Person", "name": "Ann Lee"}],
    "image": {"@type": "ImageObject", "url": "/lock.jpg"},
    "articleSection": "Local",
    "keywords": ["locks", "harbour"],
    "isAccessibleForFree": False,
}


def test_json_ld_comes_first_and_every_field_says_where_it_came_from() -> None:
    found = extracted(page(ld(NEWS) + '<meta property="og:type" content="Other"><link rel="canonical" href="/lock">'))
    assert (found.title, found.lede, found.authors) == ("Lock closed", "A crack in a gate.", ("Ann Lee",))
    assert (found.published_ms, found.modified_ms) == (1_796_018_400_000, 1_796_022_000_000)
    assert (found.image, found.section, found.keywords) == ("https://n.example/lock.jpg", "Local", ("locks", "harbour"))
    assert found.body == "\n".join(PARAGRAPHS)
    assert found.paywalled
    assert found.canonical_url == "https://n.example/lock"
    assert found.sources | {"image": "json_ld"} == found.sources
    assert (found.sources["title"], found.sources["body"], found.sources["canonical_url"]) == (
        "json_ld",
        "page",
        "canonical",
    )


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param({"@graph": [{"@type": "WebSite", "name": "Daily"}, NEWS]}, id="graph"),
        pytest.param([{"@type": "BreadcrumbList"}, NEWS], id="array"),
        pytest.param(
            NEWS | {"@type": ["Thing", "http://schema.org/ReportageNewsArticle"]}, id="several types, namespace"
        ),
        pytest.param({"@type": "WebPage", "name": "Page", "mainEntity": NEWS}, id="main entity"),
        pytest.param(NEWS | {"headline": "Lock &amp;#8203;closed".replace("&amp;#8203;", "")}, id="entities"),
    ],
)
def test_shapes_of_json_ld(shape: object) -> None:
    found = extracted(page(ld(shape)))
    assert (found.title, found.authors) == ("Lock closed", ("Ann Lee",))


@pytest.mark.parametrize(
    "script",
    [
        '// <![CDATA[\n{"@type":"NewsArticle","headline":"Dam\nholds","datePublished":"2026-11-30T06:00:00Z"};\n// ]]>',
        '<!-- {"@type":"NewsArticle","headline":"Dam holds","datePublished":"2026-11-30T06:00:00Z"} -->',
        '{"@type":"NewsArticle","headline":"Dam holds","datePublished":"2026-11-30T06:00:00Z",}',
        '{"@type":"WebSite"}{"@type":"NewsArticle","headline":"Dam holds","datePublished":"2026-11-30T06:00:00Z"}',
        "{&quot;@type&quot;:&quot;NewsArticle&quot;,&quot;headline&quot;:&quot;Dam holds&quot;,"
        "&quot;datePublished&quot;:&quot;2026-11-30T06:00:00Z&quot;}",
        '{"@type":"NewsArticle","headline":"Dam holds","x":"a\\d","datePublished":"2026-11-30T06:00:00Z"}',
    ],
)
def test_damage_around_json_ld_is_forgiven(script: str) -> None:
    found = extracted(page(f'<script type="application/ld+json">{script}</script>'))
    assert (found.title, found.published_ms) == ("Dam holds", 1_796_018_400_000)


def test_a_block_beyond_repair_is_skipped_alone() -> None:
    broken = '<script type="application/ld+json">{"@type": "NewsArticle", "headline": </script>'
    deep = '<script type="application/ld+json">' + "[" * 50_000 + "</script>"
    assert extracted(page(broken + deep + ld(NEWS))).title == "Lock closed"


def test_meta_and_open_graph_where_there_is_no_json_ld() -> None:
    head = (
        '<title>Lock closed | Daily Harbour</title><meta property="og:type" content="article">'
        '<meta name="author" content="By Ann Lee and Bo Ek"><meta property="article:published_time" content="2026-11-30T06:00Z">'
        '<meta property="og:image" content="https://img.example/1.jpg"><meta name="description" content="A crack.">'
        '<meta property="article:section" content="Local">'
    )
    found = extracted(page(head))
    assert (found.title, found.lede, found.authors) == ("Lock closed", "A crack.", ("Ann Lee", "Bo Ek"))
    assert (found.published_ms, found.section, found.image) == (1_796_018_400_000, "Local", "https://img.example/1.jpg")


def test_the_feeds_entry_fills_what_the_page_lacks() -> None:
    entry = Entry(
        identity="0" * 16, title="Lock closed", summary="<p>A crack.</p>", published_ms=7, authors=("Ann Lee",)
    )
    found = extracted(page("<title>Lock closed</title>"), raw(entry=entry))
    assert (found.lede, found.published_ms, found.authors) == ("A crack.", 7, ("Ann Lee",))
    assert found.sources["published_ms"] == "entry"


def test_authors_are_named_once_and_commenters_never() -> None:
    head = '<meta name="author" content="Ann Lee">' + ld(NEWS | {"author": "Ann Lee, Bo Ek"})
    body = page("", "").split("<body>")[1] + '<div class="comments"><span itemprop="author">troll77</span></div>'
    assert extracted(page(head, body)).authors == ("Ann Lee", "Bo Ek")


@pytest.mark.parametrize(
    ("author", "expected"),
    [
        ("Lee, Ann", ("Lee, Ann",)),
        (["Ann Lee", {"name": "Bo Ek"}, {"name": "Ann Lee"}], ("Ann Lee", "Bo Ek")),
        ({"@type": "Organization", "name": "Wire"}, ("Wire",)),
        ([{"@type": "Organization", "name": "Wire"}, {"@type": "Person", "name": "Ann Lee"}], ("Ann Lee", "Wire")),
        ([{"@type": "Person", "givenName": "Ann", "familyName": "Lee"}], ("Ann Lee",)),
        ("https://social.example/ann", ()),
        ("admin", ()),
        ("Von Ann Lee und Bo Ek", ("Ann Lee", "Bo Ek")),
        ({"@id": "#ann"}, ("Ann Lee",)),
    ],
)
def test_bylines(author: object, expected: tuple[str, ...]) -> None:
    person = {"@type": "Person", "@id": "#ann", "name": "Ann Lee"}
    assert extracted(page(ld({"@graph": [NEWS | {"author": author}, person]}))).authors == expected


def test_a_modification_is_no_publication_and_none_before_it() -> None:
    old = extracted(page(ld(NEWS | {"datePublished": "2019-02-01", "dateModified": "2026-11-30"})))
    assert (old.published_ms, old.modified_ms) == (1_548_979_200_000, 1_795_996_800_000)
    odd = extracted(page(ld(NEWS | {"datePublished": "2026-11-30T09:00Z", "dateModified": "2026-11-30T08:40Z"})))
    assert (odd.published_ms, odd.modified_ms) == (1_796_029_200_000, None)


def test_only_a_canonical_in_the_head_counts() -> None:
    embed = '<div><link rel="canonical" href="https://n.example/video/1"></div>'
    body = page("", "").split("<body>")[1].replace("</article>", embed + "</article>")
    both = extracted(page('<link rel="canonical" href="https://n.example/report">' + ld(NEWS), body))
    assert both.canonical_url == "https://n.example/report"
    assert extracted(page(ld(NEWS), body)).canonical_url == "https://n.example/a"


def test_a_consent_notice_is_not_the_article() -> None:
    notice = "We and our 812 partners store and access information on your device. " + "We use it to measure. " * 300
    body = f'<h1>Bridge reopens</h1><p>Two lanes are open.</p><div class="cmp"><p>{notice}</p></div>'
    assert extracted(page("<title>Bridge reopens</title>", body)).body == "Two lanes are open."


def test_a_consent_wall_is_no_article() -> None:
    notice = "We and our 812 partners store and access information on your device. " * 30
    named = f'<div class="cmp"><p>{notice}</p></div>'
    plain = f"<h1>Before you continue</h1><div><p>{notice}</p></div>"
    for body in (named, plain):
        assert rejected(page("<title>Bridge reopens</title>", body)) == "consent_wall"


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("", "empty_page"),
        ("   \n ", "empty_page"),
        (
            page("<title>Just a moment...</title>", "<h1>Checking your browser before accessing n.example</h1>"),
            "bot_check",
        ),
        (page("<title>Page not found</title>", "<p>Sorry.</p>"), "soft_404"),
        (page("", "<div></div>"), "no_title"),
        (page("<title>App</title>", '<div id="root"></div><script>render()</script>'), "empty_shell"),
    ],
)
def test_pages_that_are_no_article(html: str, reason: str) -> None:
    assert rejected(html) == reason


def test_a_short_page_whose_heading_was_not_announced_is_no_article() -> None:
    entry = Entry(identity="0" * 16, title="Lock closed")
    body = "<h1>Oops</h1><p>We could not find what you were looking for.</p>"
    assert rejected(page("<title>Oops</title>", body), raw(entry=entry)) == "soft_404"


def test_a_file_that_is_no_page_and_a_redirect_to_the_front_page() -> None:
    assert rejected(page(), raw(headers={"content-type": "application/pdf"})) == "not_html"
    assert rejected(page("<title>Daily</title>"), raw(final_url="https://n.example/")) == "redirected_to_home"


def test_extraction_remembers_nothing() -> None:
    html = page(ld(NEWS), "")
    first = extracted(html)
    for number in range(30):
        extracted(page(ld(NEWS | {"headline": f"Other {number}"})))
    assert all(extracted(html) == first for _ in range(10))


def test_words_stay_apart_and_sentences_come_once() -> None:
    body = (
        "<main><section><p>First part.</p>Loose text<div><h4>Heading</h4>"
        "<p>Second part, long enough to keep.</p></div></section></main>"
    )
    text = extracted(page('<meta property="og:type" content="article"><title>T</title>', body)).body
    words = text.split()
    assert "text" in words
    assert "Heading" in words
    assert text.count("First part.") == text.count("Second part, long enough to keep.") == 1


def test_text_is_text() -> None:
    title = "Use &lt;script&gt; \u202eevil\u202c \u200bhere"
    found = extracted(page(f'<meta property="og:type" content="article"><meta property="og:title" content="{title}">'))
    assert found.title == "Use <script> evil here"


def test_images_are_web_addresses_only() -> None:
    for image in ("data:image/png;base64,AAAA", "javascript:alert(1)", "http://[broken"):
        assert extracted(page(ld(NEWS | {"image": image}))).image == ""


def test_rules_of_reuse_are_carried_the_strictest_wins() -> None:
    head = ld(NEWS) + '<meta name="robots" content="noindex, max-snippet:200, max-image-preview:large">'
    item = raw(headers={"x-robots-tag": "max-snippet:50, max-image-preview:standard"})
    found = extracted(page(head), item)
    assert (found.noindex, found.max_snippet, found.max_image_preview) == (True, 50, "standard")
    assert not extracted(page(ld(NEWS) + '<meta name="robots" content="max-image-preview:none">')).noindex


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        ("Zürich".encode(), "text/html; charset=utf-8", "Zürich"),
        ("Zürich".encode("latin-1"), "text/html; charset=iso-8859-1", "Zürich"),
        ('<meta charset="windows-1251">Киев'.encode("cp1251"), "text/html", '<meta charset="windows-1251">Киев'),
        ("Zürich".encode(), "text/html; charset=iso-8859-1", "Zürich"),
        ("\ufeffZürich".encode(), "", "Zürich"),
        ("港珠澳".encode("gb18030"), "text/html; charset=gb2312", "港珠澳"),
        ("Zürich: Börse ".encode() * 9 + b"\xff", "text/html; charset=utf-8", "Zürich: Börse " * 9 + "\ufffd"),
        (b"plain \xff", "text/html; charset=no-such", "plain ÿ"),
    ],
)
def test_the_pages_encoding(body: bytes, content_type: str, expected: str) -> None:
    assert decoded(body, content_type) == expected


def test_nothing_hostile_breaks_it() -> None:
    for html in (
        "<" * 10_000,
        "<div>" * 20_000,
        "\x00" * 100,
        "<html><head><base href='::'><title>x",
        "<p>" + "a" * 500_000,
    ):
        extract_page(raw(), html.encode(), TRACKING)


# ---------------------------------------------------------------- entries


def test_an_article_of_the_entry_alone() -> None:
    entry = Entry(
        identity="0" * 16,
        title="Daily Harbour: Caf&eacute; re&shy;opens",
        link="https://n.example/cafe?utm_source=rss",
        summary="<p>It was <b>closed</b>.</p>",
        authors=("Ann Lee",),
        published_ms=5,
        updated_ms=200_000,
        categories=("Food", "Local"),
        language="en-GB",
    )
    found = extract_entry(raw(entry=entry), TRACKING, "timed_out")
    assert isinstance(found, Extraction)
    assert (found.title, found.lede, found.body) == ("Café reopens", "It was closed.", "")
    assert (found.canonical_url, found.authors, found.keywords) == (
        "https://n.example/cafe",
        ("Ann Lee",),
        ("Food", "Local"),
    )
    assert (found.published_ms, found.modified_ms, found.language) == (5, 200_000, "en-GB")
    assert found.from_entry
    assert found.rejected == "timed_out"
    assert set(found.sources.values()) == {"entry"}


def test_a_feed_with_whole_articles_gives_a_body() -> None:
    content = "".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS * 2)
    entry = Entry(identity="0" * 16, title="Lock closed", content=content, summary="A crack.")
    found = extract_entry(raw(entry=entry), TRACKING)
    assert isinstance(found, Extraction)
    assert found.lede == "A crack."
    assert found.body.split("\n")[0] == PARAGRAPHS[0]


def test_markup_is_decoded_exactly_once() -> None:
    entry = Entry(identity="0" * 16, title="T", summary="<p>Use <code>&lt;script&gt;x()&lt;/script&gt;</code></p>")
    found = extract_entry(raw(entry=entry), TRACKING)
    assert isinstance(found, Extraction)
    assert found.lede == "Use <script>x()</script>"


@pytest.mark.parametrize("entry", [None, Entry(identity="0" * 16, link="https://n.example/a")])
def test_an_entry_without_a_title_is_no_article(entry: Entry | None) -> None:
    found = extract_entry(raw(entry=entry), TRACKING, "gone")
    assert found == Rejection(reason="no_article", detail="gone")
