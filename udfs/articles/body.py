"""The running text of a page, and whether it is an article's. A function of the page alone: nothing is remembered.

`prose.py` finds the text among the page's lines. Where that is little, trafilatura, the plain paragraphs and the
`articleBody` of the page's JSON-LD are asked too. The text is then freed of echoes, consent notices and the title.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

from lxml import html
from trafilatura import bare_extraction
from trafilatura.settings import Document

from udfs.articles.blocks import read_blocks
from udfs.articles.no_article import asks_consent, mentions_consent
from udfs.articles.overrides import NONE, Override
from udfs.articles.page import Page
from udfs.articles.prose import prose_of
from udfs.articles.text import clean_text, folded, text_of_element, text_of_html

# Below this a text found by the extractor is weighed against the page's own paragraphs, characters.
_SHORT_CHARS = 250
# Elements of a page so small that the extractors' statistics say little.
_SMALL_ELEMENTS = 400
# So many elements and hardly any text: a flood, which takes the second extractor longer than a page may take. The
# largest captured page has 4,098.
_LARGE_ELEMENTS = 30_000
# A line this long that comes twice is an echo of the extractor or of the page; shorter ones may be a refrain.
_ECHO_CHARS = 40
# A longer paragraph that mentions cookies is about them.
_NOTICE_CHARS = 600


@dataclass(frozen=True, slots=True)
class Body:
    """A text, a line a paragraph. source: "page", "json_ld", or empty where there is none. signs: of `Prose`."""

    text: str = ""
    source: str = ""
    signs: tuple[str, ...] = ()


def body_text(page: Page, title: str, article_body: str, override: Override = NONE) -> Body:
    """The article's text.

    article_body: `articleBody` of the page's JSON-LD, used where the page itself shows much less. The tree of `page`
    is used up.
    """
    root = page.tree.find("body")
    if root is None:
        return Body()
    _strip(page.tree, override.strip)
    described = page.first("og:description", "description", "twitter:description")
    if chosen := _tidy(_chosen(page.tree, override.body), title):
        return Body(chosen, "page")
    prose = prose_of(root, title, described)
    text, signs = _tidy(prose.text, title), prose.signs
    stated = ""
    if len(article_body) > 2 * max(len(text), _SHORT_CHARS // 2):
        stated = _tidy(text_of_html(article_body), title)
    if len(stated) > 2 * len(text):
        return Body(stated, "json_ld", signs)
    if len(text) < _SHORT_CHARS:
        text = max(text, _second_opinion(page.tree, title), key=len)
    return Body(text, "page" if text else "", signs)


def _strip(tree: html.HtmlElement, paths: tuple[str, ...]) -> None:
    for path in paths:
        for element in tree.xpath(path):
            if isinstance(element, html.HtmlElement) and element.getparent() is not None:
                element.drop_tree()


def _chosen(tree: html.HtmlElement, paths: tuple[str, ...]) -> str:
    """The lines of the elements that a publisher's override names, from the first path that finds any text."""
    for path in paths:
        texts = [
            line.text
            for element in tree.xpath(path)
            if isinstance(element, html.HtmlElement)
            for line in read_blocks(element)[1]
            if line.linked < len(line.text)
        ]
        if texts:
            return "\n".join(texts)
    return ""


def _second_opinion(tree: html.HtmlElement, title: str) -> str:
    """What a page of little text yields by other ways: plain paragraphs of a small page, trafilatura on any."""
    count = tree.xpath("count(//*)")
    if count > _LARGE_ELEMENTS:
        return ""
    paragraphs = _tidy(_paragraphs(deepcopy(tree)), title) if count < _SMALL_ELEMENTS else ""
    document = bare_extraction(
        tree, with_metadata=False, deduplicate=False, include_comments=False, include_tables=False
    )
    found = _tidy(document.text or "" if isinstance(document, Document) else "", title)
    return max(found, paragraphs, key=len)


def _tidy(text: str, title: str) -> str:
    """Cleaned, without consent paragraphs, echoes and a first line that repeats the title."""
    kept: list[str] = []
    seen: set[str] = set()
    heading = folded(title)
    text = clean_text(text)
    suspect = mentions_consent(text)
    for number, line in enumerate(text.split("\n")):
        line = line.removeprefix("- ").strip()
        if not line or (suspect and len(line) < _NOTICE_CHARS and asks_consent(line)):
            continue
        same = folded(line)
        if (number < 3 and same == heading) or (kept and line == kept[-1]):
            continue
        if len(line) >= _ECHO_CHARS:
            if same in seen:
                continue
            seen.add(same)
        kept.append(line)
    return "\n".join(kept)


def _paragraphs(tree: html.HtmlElement) -> str:
    """The text of the page's main part without its furniture; for pages too short for the extractor's statistics."""
    for element in tree.xpath(
        "//nav|//header[not(ancestor::article)]|//footer|//aside|//form|//button|//figure|//dialog"
    ):
        if element.getparent() is not None:
            element.drop_tree()
    for name in ("article", "main"):
        part = tree.find(f".//{name}")
        if part is not None and len(text := text_of_element(part)) > 10:
            return text
    return "\n".join(text_of_element(p) for p in tree.iter("p"))
