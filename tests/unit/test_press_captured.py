"""Captured feeds and pages served again: by exact address, under their own hosts, byte for byte."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import feedparser
import pytest

from services.press.captured import CapturedSite, charset
from services.press.content import ContentError


def parsed_feed(body: bytes) -> Any:
    return feedparser.parse(body)  # type: ignore[attr-defined,no-untyped-call]


FEED = (
    b'<?xml version="1.0" encoding="ISO-8859-1"?>\n<rss version="2.0"><channel><title>Caf\xe9</title></channel></rss>'
)
PAGES = [
    ("x/one.html.gz", "https://www.one.example/story/1?ref=rss", "Eins & zwei", "de"),
    ("x/two.html.gz", "https://www.one.example/show?id=2", "Zwei", "de"),
    ("x/three.html", "https://www.one.example/show?id=3", "Drei", "de"),
    ("x/four.html", "https://four.example/%C3%A4rger,1#top", "", "uk"),
    ("x/five.html", "https://four.example/%C3%A4rger,1", "A later capture", "uk"),
]


@pytest.fixture
def site(tmp_path: Path) -> CapturedSite:
    (tmp_path / "feeds").mkdir()
    (tmp_path / "pages" / "x").mkdir(parents=True)
    (tmp_path / "feeds" / "a.xml").write_bytes(FEED)
    (tmp_path / "feeds" / "MANIFEST.tsv").write_text(
        "file\thost\tentries\ttitle\tlanguage\na.xml\twww.one.example\t7\tOne\ten-us\n"
    )
    lines = []
    for file, url, title, country in PAGES:
        body = f'<html lang="de-AT"><title>{file}</title>'.encode()
        (tmp_path / "pages" / file).write_bytes(gzip.compress(body) if file.endswith(".gz") else body)
        lines.append(
            {
                "file": file,
                "url": url,
                "title": title,
                "country": country,
                "publisher": "P",
                "published_at": "2026-01-02T03:04:05+00:00",
            }
        )
    (tmp_path / "pages" / "truth.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    return CapturedSite(tmp_path)


@pytest.mark.parametrize(
    ("host", "path", "query", "file"),
    [
        pytest.param("www.one.example", "/story/1", "ref=rss", "one", id="exact"),
        pytest.param("www.one.example", "/story/1", "", "one", id="only page of its path: the query may differ"),
        pytest.param("www.one.example", "/show", "id=3", "three", id="the query is the article"),
        pytest.param("www.one.example", "/show", "id=4", None, id="an unknown article of that path"),
        pytest.param("www.one.example", "/other", "", None, id="an unknown path"),
        pytest.param("four.example", "/%c3%a4rger%2C1", "", "four", id="written otherwise; the first capture counts"),
        pytest.param("www.one.example", "/robots.txt", "", None, id="no robots.txt"),
    ],
)
def test_pages(site: CapturedSite, host: str, path: str, query: str, file: str | None) -> None:
    answer = site.answer("https", host, path, query, 0)
    assert answer is not None
    if file is None:
        assert answer.status == 404
    else:
        assert f"<title>x/{file}.html".encode() in answer.body
        assert answer.content_type == "text/html; charset=utf-8"


def test_feeds(site: CapturedSite) -> None:
    feed = site.answer("https", "www.one.example", "/_captured/a.xml", "", 0)
    assert feed is not None
    assert (feed.body, feed.content_type) == (FEED, "application/rss+xml")
    missing = site.answer("https", "www.one.example", "/_captured/../MANIFEST.tsv", "", 0)
    assert missing is not None
    assert missing.status == 404
    assert site.answer("https", "elsewhere.example", "/", "", 0) is None


def test_a_feed_lists_the_pages_of_a_host(site: CapturedSite) -> None:
    answer = site.answer("https", "www.one.example", "/_captured/pages.xml", "", 0)
    assert answer is not None
    parsed = parsed_feed(answer.body)
    assert not parsed.bozo
    assert [entry.link for entry in parsed.entries] == [url for _, url, _, _ in PAGES[:3]]
    assert parsed.entries[0].title == "Eins & zwei"
    assert parsed.entries[0].published == "Fri, 02 Jan 2026 03:04:05 GMT"
    other = site.answer("https", "four.example", "/_captured/pages.xml", "", 0)
    assert other is not None
    assert len(parsed_feed(other.body).entries) == 1


def test_sources_and_counts(site: CapturedSite) -> None:
    assert list(site.sources(":1")) == [
        ("https://www.one.example/_captured/a.xml", "one.example", "One", "US", "en", "general", "0.5", ""),
        ("https://www.one.example/_captured/pages.xml", "one.example", "P", "DE", "de", "general", "0.5", ""),
        ("https://four.example/_captured/pages.xml", "four.example", "P", "GB", "de", "general", "0.5", ""),
    ]
    assert site.status(0) == {"feeds": 1, "feed_entries": 7, "pages": 5, "page_addresses": 4, "hosts": 2}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("Käse".encode(), "utf-8", id="valid UTF-8, whatever it says"),
        pytest.param(b'<meta charset="Shift_JIS">\x83\x65', "shift_jis", id="not UTF-8: its own word"),
        pytest.param(b"K\xe4se", "windows-1252", id="nothing said"),
    ],
)
def test_charset(body: bytes, expected: str) -> None:
    assert charset(body) == expected


@pytest.mark.parametrize("missing", ["feeds/MANIFEST.tsv", "pages/truth.jsonl"])
def test_a_folder_of_another_form(site: CapturedSite, missing: str) -> None:
    (site.directory / missing).unlink()
    with pytest.raises(ContentError, match=missing):
        site.status(0)
    (site.directory / missing).write_text("file\nx\n")
    with pytest.raises(ContentError, match=missing):
        CapturedSite(site.directory).status(0)


def test_the_real_captures_are_all_reachable() -> None:
    directory = Path(os.environ.get("BROADSHEET_SHARED", Path(__file__).parents[3] / "shared")) / "data"
    if not (directory / "pages" / "truth.jsonl").exists():
        pytest.skip(f"no captured feeds and pages at {directory}")
    site = CapturedSite(directory)
    listed = 0
    for row in site.sources(""):
        host, _, path = row[0].removeprefix("https://").partition("/")
        answer = site.answer("https", host, f"/{path}", "", 0)
        assert answer is not None
        assert answer.status == 200
        if path.endswith("pages.xml"):
            listed += len(parsed_feed(answer.body).entries)
    assert listed == site.status(0)["page_addresses"]
    for page in site.pages:
        assert site.find(*page.address) is not None
