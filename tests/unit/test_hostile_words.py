"""Hostile titles, names, addresses and images: on a reader's page, in the origin's JSON, in a terminal, as they enter."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from lxml import html
from rich.console import Console

from cli.pages import print_page
from cli.terminal import plain
from services.origin.html import Renderer
from state_schemas.codec import decode_record, encode_record
from state_schemas.fetching import Entry, RawItem
from state_schemas.pages import Link, Page, PageStory
from state_schemas.sources import Origin
from udfs.articles.canonical import load_tracking_parameters
from udfs.articles.extract import Extraction, extract_entry, extract_page
from udfs.editions import load_reference
from udfs.publish.decide import PublishPolicy, refusal

REFERENCE_DATA = Path(__file__).parents[2] / "reference_data"
REFERENCE = load_reference(REFERENCE_DATA)
TRACKING = load_tracking_parameters(REFERENCE_DATA / "tracking_parameters.txt")
EDITION = REFERENCE.editions[0]
WORDS = (
    '"><script>alert(1)</script>',
    "'><img src=x onerror=alert(1)>",
    "</title></article><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% include '/etc/passwd' %}",
    "<!--",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "javascript:alert(1)",
    "[bold red]loud[/] \\[red]x[/nothing]",
    "\x1b[2J\x1b]0;owned\x07 title",
    "\u202egnol\u202c \u2066x\u2069",
)
ADDRESSES = (
    "javascript:alert(1)",
    " JavaScript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "//",
    "http://[broken",
)


def page(word: str, url: str = "https://n.example/a", image: str = "") -> Page:
    link = Link(article_id="a", url=url, title=word, publisher=word, publisher_name=word)
    story = PageStory(
        story_id=word, representative=link, score=1.0, originals=1, copies=1, publishers=1, first_ms=1, latest_ms=1,
        lede=word, image=image, top_sources=(word,), places=(word,), topics=(word,),
    )  # fmt: skip
    return Page(edition=EDITION.id, section="top", version=1, cycle=1, ranker_version="1", stories=(story,))


@pytest.mark.parametrize("word", WORDS)
def test_on_a_page_every_word_is_text(word: str) -> None:
    quoted = f'https://n.example/?q="><script>{word}'
    rendered = Renderer(REFERENCE).page(page(word, quoted, quoted), 1, 0).decode()
    honest = Renderer(REFERENCE).page(page("Dam holds", "https://n.example/", "https://n.example/i"), 1, 0).decode()
    tree, like = (
        html.document_fromstring(rendered.replace("\x1b", "").replace("\x07", "")),
        html.document_fromstring(honest),
    )
    assert [element.tag for element in tree.iter()] == [element.tag for element in like.iter()]
    names = {name for element in tree.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on")]
    assert tree.find(".//main//a").get("href").startswith("https://n.example/")


@pytest.mark.parametrize("word", WORDS)
def test_in_json_every_word_comes_back_as_it_was(word: str) -> None:
    data = encode_record(page(word))
    assert decode_record(Page, data) == page(word)
    assert json.loads(data)["stories"][0]["lede"] == word
    assert b"\x1b" not in data


@pytest.mark.parametrize("address", [address for address in ADDRESSES if not address.startswith("http:")])
def test_a_page_with_another_address_than_a_web_one_never_goes_live(address: str) -> None:
    assert refusal(page("Dam holds", address), 0, 0, PublishPolicy()) == "link_unusable"
    assert refusal(page("Dam holds", image=address), 0, 0, PublishPolicy()) == "image_unusable"


@pytest.mark.parametrize("word", WORDS)
def test_in_a_terminal_nothing_is_obeyed(word: str) -> None:
    out = io.StringIO()
    print_page(Console(file=out, force_terminal=False, width=200), page(word), 5)
    shown = out.getvalue()
    assert not {"\x1b", "\x07", "\u202e", "\u2066"} & set(shown)
    assert "alert" in shown or "alert" not in word


def test_markup_is_shown_as_it_stands() -> None:
    out = io.StringIO()
    Console(file=out, width=200).print(plain("[bold]loud[/] \\[red]x[/nothing]"), end="")
    assert out.getvalue() == "[bold]loud[/] \\[red]x[/nothing]"


@pytest.mark.parametrize("address", ADDRESSES)
def test_wherever_an_address_enters_it_is_a_web_one(address: str) -> None:
    origin = Origin(publisher="n.example")
    node = {"@type": "NewsArticle", "headline": "Dam holds", "datePublished": "2026-11-30", "description": "It holds.",
            "image": [address, {"url": address}], "url": address, "isBasedOn": address}  # fmt: skip
    quoted = address.replace('"', "&quot;").replace("<", "&lt;")
    script = json.dumps(node).replace("</", "<\\/")
    source = (
        f'<head><link rel="canonical" href="{quoted}"><meta property="og:url" content="{quoted}"><meta property="og:image"'
        f' content="{quoted}"><meta name="twitter:image" content="{quoted}"><base href="{quoted}"></head>'
        f'<article><h1>Dam holds</h1><p>As <a href="{quoted}">others have said</a> before, the dam holds.</p></article>'
        f'<script type="application/ld+json">{script}</script>'
    )
    entry = Entry(identity="0" * 16, title="Dam holds", link=address, image=address, source_url=address)
    raw = RawItem(kind="page", url="https://n.example/a", origin=origin, found_ms=1, fetched_ms=2, entry=entry)
    for found in (extract_page(raw, source.encode(), TRACKING), extract_entry(raw, TRACKING)):
        assert isinstance(found, Extraction), found
        assert found.canonical_url == "https://n.example/a"
        # What is no address of its own may be read as one relative to the page.
        assert found.image == "" or found.image.startswith("https://n.example/")
        assert found.links == ()
