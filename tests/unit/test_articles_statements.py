"""Each field by its order of trust: titles made over for machines, microdata, bylines, exact dates, paywalls."""

from __future__ import annotations

import json

import pytest

from state_schemas.fetching import RawItem
from state_schemas.sources import Origin
from udfs.articles.canonical import TrackingParameters, load_tracking_parameters
from udfs.articles.dates import instant_ms, most_exact
from udfs.articles.extract import Extraction, extract_page
from udfs.reference_faults import default_folder

TRACKING: TrackingParameters = load_tracking_parameters(default_folder() / "tracking_parameters.txt")
TEXT = "".join(
    f"<p>Paragraph {number}: the harbour board closed the eastern lock on Monday after a crack was found.</p>"
    for number in range(4)
)
SIX = 1_796_018_400_000  # 2026-11-30 06:00 UTC


def extracted(head: str = "", body: str = "", node: dict[str, object] | None = None, name: str = "") -> Extraction:
    stated = f"<script type='application/ld+json'>{json.dumps(node)}</script>" if node else ""
    page = f"<html lang='en'><head>{stated}{head}</head><body>{body or f'<article>{TEXT}</article>'}</body></html>"
    raw = RawItem(
        kind="page",
        url="https://www.daily.example/lock",
        origin=Origin(publisher="d", name=name),
        found_ms=1,
        fetched_ms=2,
    )
    found = extract_page(raw, page.encode(), TRACKING)
    assert isinstance(found, Extraction), found
    return found


def og(title: str) -> str:
    return f'<meta property="og:title" content="{title}"><meta property="og:site_name" content="Daily">'


@pytest.mark.parametrize(
    ("shared", "stated", "heading", "expected", "source"),
    [
        pytest.param("Lock shut after crack", "Lock closed", "Lock closed", "Lock shut after crack", "og", id="og"),
        pytest.param("Lock shut | Daily", "Lock closed", "Closed", "Lock closed", "json_ld", id="with the site's name"),
        pytest.param(
            "Lock closed on Monday | Daily News", "Lock closed today", "", "Lock closed today", "json_ld", id="in a longer one"
        ),
        pytest.param("Lock closed on Monday | Local", "Lock closed on Monday", "", "Lock closed on Monday", "json_ld", id="added"),
        pytest.param("Lock shut | Daily", "", "Lock closed", "Lock closed", "page", id="the page's heading"),
        pytest.param("Lock shut | Daily", "", "", "Lock shut", "og", id="nothing else"),
        pytest.param(
            "Harbour board says lock is", "", "Harbour board says lock is &quot;safe&quot;",
            'Harbour board says lock is "safe"', "page", id="cut at a quotation mark",
        ),
        pytest.param("", "", "<span>Harbour</span> : Lock closed", "Harbour: Lock closed", "page", id="two elements"),
    ],
)  # fmt: skip
def test_titles(shared: str, stated: str, heading: str, expected: str, source: str) -> None:
    node: dict[str, object] | None = {"@type": "NewsArticle", "headline": stated} if stated else None
    found = extracted(og(shared), f"<article><h1>{heading}</h1>{TEXT}</article>", node)
    assert (found.title, found.sources["title"]) == (expected, source)


MICRODATA = (
    "<article itemscope itemtype='https://schema.org/NewsArticle'><h1 itemprop='headline'>Lock closed</h1>"
    "<span itemprop='author' itemscope itemtype='https://schema.org/Person'><b itemprop='name'>Ann Lee</b></span>"
    "<time itemprop='datePublished' datetime='2026-11-30T06:00:00Z'>today</time>"
    "<meta itemprop='articleSection' content='Local'><img itemprop='image' src='/lock.jpg'>"
    "<meta itemprop='isAccessibleForFree' content='False'>"
    "<div itemprop='comment' itemscope itemtype='https://schema.org/Comment'><i itemprop='author'>troll77</i></div>"
    f"{TEXT}</article>"
)


def test_microdata_is_read_where_nothing_better_is_stated() -> None:
    found = extracted("<title>Lock closed</title>", MICRODATA)
    assert (found.title, found.authors, found.published_ms) == ("Lock closed", ("Ann Lee",), SIX)
    assert (found.section, found.image) == ("Local", "https://www.daily.example/lock.jpg")
    assert found.paywalled
    assert found.types == ("NewsArticle",)
    assert {found.sources[name] for name in ("authors", "published_ms", "section", "image")} == {"microdata"}


def test_json_ld_comes_before_microdata() -> None:
    found = extracted("", MICRODATA, {"@type": "NewsArticle", "headline": "Lock closed", "author": "Bo Ek"})
    assert (found.authors, found.sources["authors"]) == (("Bo Ek",), "json_ld")


def test_rdfa_is_read_as_microdata_is() -> None:
    body = (
        "<article vocab='http://schema.org/' typeof='schema:NewsArticle'><h1 property='schema:headline'>Lock closed</h1>"
        f"<span property='schema:datePublished' content='2026-11-30T06:00:00Z'>today</span>{TEXT}</article>"
    )
    found = extracted("<title>Lock closed</title>", body)
    assert (found.title, found.published_ms) == ("Lock closed", SIX)


def test_of_several_items_only_the_one_with_the_heading_is_the_pages() -> None:
    teaser = (
        "<div itemscope itemtype='https://schema.org/NewsArticle'><h3 itemprop='headline'>Other</h3>"
        "<time itemprop='datePublished' datetime='2020-01-01T00:00:00Z'></time></div>"
    )
    found = extracted("<title>Lock closed</title>", teaser + MICRODATA)
    assert (found.title, found.published_ms) == ("Lock closed", SIX)
    assert (
        extracted("<title>Lock closed</title>", f"<article>{TEXT}</article><aside>{teaser * 2}</aside>").published_ms
        is None
    )


@pytest.mark.parametrize(
    "byline",
    [
        "<p class='article-byline'>By <a href='/ann'>Ann Lee</a> and <a href='/bo'>Bo Ek</a></p>",
        "<span class='authorName'>Ann Lee</span><span class='authorName'>Bo Ek</span>",
        "<div class='meta'><span class='byline'>Ann Lee and Bo Ek</span></div>",
    ],
)
def test_printed_bylines(byline: str) -> None:
    commenter = "<div class='comments'><span class='author'>Troll Troll</span></div>"
    found = extracted("<title>Lock closed</title>", f"<article>{byline}{TEXT}</article>{commenter}")
    assert (found.authors, found.sources["authors"]) == (("Ann Lee", "Bo Ek"), "page")


def test_a_signature_under_the_text() -> None:
    assert extracted("<title>Lock closed</title>", f"<article>{TEXT}<p>Lê Phương</p></article>").authors == (
        "Lê Phương",
    )


def test_the_house_is_author_only_where_nobody_else_is() -> None:
    node: dict[str, object] = {
        "@type": "NewsArticle",
        "headline": "Lock closed",
        "author": {"@type": "Person", "name": "Daily"},
    }
    assert extracted("", "", node, "Daily").authors == ("Daily",)
    assert extracted("<meta name='author' content='Ann Lee'>", "", node, "Daily").authors == ("Ann Lee",)


def test_a_plug_ins_written_by() -> None:
    labels = "".join(
        f"<meta name='twitter:{name}' content='{text}'>"
        for name, text in (
            ("label1", "Verfasst von"),
            ("data1", "Ann Lee"),
            ("label2", "Lesezeit"),
            ("data2", "3 Minuten"),
        )
    )
    assert extracted("<title>Lock closed</title>" + labels).authors == ("Ann Lee",)
    timed = labels.replace("Ann Lee", "3 Minuten")
    assert extracted("<title>Lock closed</title>" + timed).authors == ()


@pytest.mark.parametrize(
    ("node", "head", "expected"),
    [
        ({"isAccessibleForFree": False}, "", True),
        ({"isAccessibleForFree": "http://schema.org/False"}, "", True),
        ({"isAccessibleForFree": True}, "", False),
        ({"hasPart": {"@type": "WebPageElement", "isAccessibleForFree": "False"}}, "", True),
        ({"hasPart": [{"@type": "WebPageElement", "isAccessibleForFree": True}]}, "", False),
        ({}, '<meta property="article:content_tier" content="locked">', True),
        ({}, '<meta property="article:content_tier" content="free">', False),
    ],
)
def test_paywalls(node: dict[str, object], head: str, expected: bool) -> None:
    assert extracted(head, "", {"@type": "NewsArticle", "headline": "Lock closed"} | node).paywalled is expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Mon, 06 Jul 2026 15:04:05 EDT", "en", "2026-07-06T19:04:05Z"),
        ("Thu, 30 Apr 2026 08:57:00 MEST", "de", "2026-04-30T06:57:00Z"),
        ("Tue, 07 Jul 2026 10:00:00 XYZ", "en", "2026-07-07T10:00:00Z"),
        ("2026-03-01T00:30:00+02:00", "", "2026-02-28T22:30:00Z"),
        ("2026/7/3 9:05:11", "", "2026-07-03T09:05:11Z"),
        ("12.07.2026", "de", "2026-07-12T00:00:00Z"),
        ("13/07/2026", "en", "2026-07-13T00:00:00Z"),
        ("03/04/2026", "en", None),
        ("03/04/2026", "fr", "2026-04-03T00:00:00Z"),
        ("July 2026", "en", None),
        ("2 hours ago", "en", None),
        ("gestern, 14:05", "de", None),
        ("2026", "en", None),
    ],
)
def test_dates_as_they_are_typed(text: str, language: str, expected: str | None) -> None:
    assert instant_ms(text, language) == (instant_ms(expected) if expected else None)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        pytest.param([("2026-11-30", "a"), ("2026-11-30T06:00:00Z", "b")], (SIX, "b"), id="a day, then a clock"),
        pytest.param([("2026-11-30", "a"), ("2026-12-04T06:00:00Z", "b")], (1_795_996_800_000, "a"), id="another day"),
        pytest.param([("2026-11-30T07:00:00", "a"), ("2026-11-30T07:00+01:00", "b")], (SIX, "b"), id="a zone"),
        pytest.param([("2026-11-30T06:00:00", "a"), ("2026-11-30T07:00+01:00", "b")], (SIX, "a"), id="another clock"),
        pytest.param([("2026-11-30T06:00Z", "a"), ("2020-01-01T00:00Z", "b")], (SIX, "a"), id="the first is exact"),
        pytest.param([("2026-11-30", "a"), ("2026-11-30T06:00Z", "page")], (1_795_996_800_000, "a"), id="printed"),
        pytest.param([("soon", "a"), ("2026-11-30T06:00Z", "page")], (SIX, "page"), id="printed alone"),
        pytest.param([("soon", "a")], (None, ""), id="none"),
    ],
)
def test_of_several_statements_the_more_exact(stated: list[tuple[str, str]], expected: tuple[int | None, str]) -> None:
    assert most_exact(stated, "en") == expected
