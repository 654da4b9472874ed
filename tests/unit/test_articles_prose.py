"""Which lines of a page are its running text: furniture by name, by link, by place; standfirsts; scripts without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.articles.blocks import read_blocks
from udfs.articles.body import body_text
from udfs.articles.page import read_page
from udfs.articles.prose import Prose, prose_of

PARAGRAPHS = [
    f"Paragraph {number} of the report says at some length what the harbour board decided about the eastern lock."
    for number in range(6)
]
ARTICLE = "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
LONG = "A text of another article that is long enough to be taken for running text wherever it may stand on a page. "


def prose(body: str, title: str = "Lock closed", description: str = "") -> Prose:
    page = read_page(f"<html><head></head><body>{body}</body></html>")
    assert page is not None
    return prose_of(page.tree.find("body"), title, description)


def lines(body: str, title: str = "Lock closed", description: str = "") -> list[str]:
    return prose(body, title, description).text.split("\n")


@pytest.mark.parametrize(
    "furniture",
    [
        pytest.param(f"<div class='related-articles'><p>{LONG}</p></div>", id="by name"),
        pytest.param(f"<div class='mediaInfo newsletterBox'><p>{LONG}</p></div>", id="by a word of a name"),
        pytest.param(f"<aside><p>{LONG}</p></aside>", id="by tag"),
        pytest.param(f"<form><p>{LONG}</p></form>", id="form"),
        pytest.param(
            "<p><a href='/x'>Read this other article of ours, which is about ferries instead</a></p>", id="link"
        ),
        pytest.param("<p>Read also: <a href='/x'>another article</a></p>", id="label before a link"),
        pytest.param(
            "<h2>More on this</h2><ul><li><a href='/x'>Another article of ours</a></li></ul>", id="heading alone"
        ),
        pytest.param("<table><tr><td>2024</td><td>17</td></tr></table>", id="cells"),
        pytest.param("<div>Advertisement</div>", id="label"),
        pytest.param(f"<script>var text = '{LONG}'</script><style>{LONG}</style>", id="script"),
        pytest.param(f"<div><p>{LONG}</p></div>" * 3, id="a template's line"),
    ],
)
def test_furniture_is_left_out(furniture: str) -> None:
    first, rest = ARTICLE[: ARTICLE.index("<p>", 3)], ARTICLE[ARTICLE.index("<p>", 3) :]
    assert lines(f"<article><h1>Lock closed</h1>{first}{furniture}{rest}</article>") == PARAGRAPHS


@pytest.mark.parametrize("tag", ["form", "aside"])
def test_furniture_that_holds_the_article_is_none(tag: str) -> None:
    assert lines(f"<{tag} class='sidebar video'>{ARTICLE}</{tag}><footer><p>{LONG}</p></footer>") == PARAGRAPHS


def test_what_holds_the_articles_heading_is_no_furniture() -> None:
    body = f"<div class='sidebar'><h1>Lock closed</h1>{ARTICLE}</div><div>" + f"<p>{LONG}1</p><p>{LONG}2</p></div>" * 2
    assert lines(body)[: len(PARAGRAPHS)] == PARAGRAPHS


def test_classes_for_screens_say_nothing() -> None:
    assert lines(f"<article><div class='print:hidden md:[share]'>{ARTICLE}</div></article>") == PARAGRAPHS


def test_teasers_under_linked_headlines_are_other_articles() -> None:
    teasers = "".join(
        f"<div class='item'><h3><a href='/{n}'>The headline of article {n}</a></h3><p class='excerpt'>{LONG}{n}</p></div>"
        for n in range(12)
    )
    assert lines(f"<main><article>{ARTICLE}</article><section>{teasers}</section></main>") == PARAGRAPHS


def test_of_two_articles_the_one_under_the_pages_title() -> None:
    other = "".join(f"<p>{LONG}{number}</p>" for number in range(6))
    body = f"<main><div><h1>Other</h1>{other}</div><div><h1>Lock closed</h1>{ARTICLE}</div></main>"
    assert lines(body) == PARAGRAPHS


@pytest.mark.parametrize(
    "standfirst",
    [
        "<p class='article-lead'>The board closed the lock after a crack was found</p>",
        "<h2>The board closed the eastern lock on Monday after a crack had been found in its lower gate.</h2>",
    ],
)
def test_the_standfirst_above_comes_first(standfirst: str) -> None:
    found = lines(f"<header><h1>Lock closed</h1>{standfirst}<p>By Ann Lee</p></header><div>{ARTICLE}</div>")
    assert found[0].startswith("The board closed")
    assert found[1:] == PARAGRAPHS


def test_headings_and_lists_within_the_text_stay() -> None:
    body = f"<article>{ARTICLE}<h2>What next</h2><ul><li>Nine days of work</li></ul><p>{LONG}</p></article>"
    assert lines(body) == [*PARAGRAPHS, "What next", "Nine days of work", LONG.strip()]


def test_signs_around_a_text_are_no_part_of_it() -> None:
    found = prose(f"<article><p>Ann Lee</p>{ARTICLE}<p>Wire/xy</p></article>")
    assert found.text.split("\n") == PARAGRAPHS
    assert found.signs == ("Ann Lee", "Wire/xy")


def test_paragraphs_by_line_breaks() -> None:
    assert lines("<div>" + "<br><br>".join(PARAGRAPHS) + "</div>") == PARAGRAPHS
    one = lines(f"<div><p>{PARAGRAPHS[0]}<br>{PARAGRAPHS[1]}</p></div>")
    assert one == [f"{PARAGRAPHS[0]} {PARAGRAPHS[1]}"]


def test_scripts_without_spaces_need_fewer_characters() -> None:
    text = "市は十三日、東側の水門に亀裂が見つかったとして閉鎖した。修理には九日かかる見通し。"
    assert lines(f"<div><p>{text}</p><p>{text}続報。</p></div><p>会員登録</p>") == [text, f"{text}続報。"]


def test_a_page_without_running_text() -> None:
    assert prose("<ul><li><a href='/'>Home</a></li></ul>") == Prose("")


@given(st.recursive(st.text("ab <", max_size=30), lambda inner: st.lists(inner, max_size=4), max_leaves=25))
def test_lines_lie_in_their_blocks_and_lose_no_word(tree: object) -> None:
    def markup(node: object) -> str:
        if isinstance(node, list):
            return "<div>" + "".join(map(markup, node)) + "</div>"
        return f"<p>{str(node).replace('<', '&lt;')}</p>"

    page = read_page(f"<html><body>{markup(tree)}</body></html>")
    assert page is not None
    root = page.tree.find("body")
    blocks, found = read_blocks(root)
    assert "".join(line.text for line in found).split() == "".join(
        " ".join(str(text).split()) for text in root.itertext()
    ).split() or "".join(line.text for line in found).replace(" ", "") == "".join(root.itertext()).replace(" ", "")
    for number, line in enumerate(found):
        assert blocks[line.block].first <= number < blocks[line.block].end
        assert 0 <= line.linked <= len(line.text)
    for block in blocks[1:]:
        assert blocks[block.parent].first <= block.first <= block.end <= blocks[block.parent].end


def test_a_flood_of_elements_is_not_given_to_a_second_extractor(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object, **__: object) -> None:
        raise AssertionError("a second extractor was asked")

    monkeypatch.setattr("udfs.articles.body.bare_extraction", asked)
    page = read_page("<html><body><p>Short.</p>" + "<br>" * 31_000 + "</body></html>")
    assert page is not None
    assert body_text(page, "Title", "").text == ""
