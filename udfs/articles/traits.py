"""What a page's tree shows beside its text: links in sentences, lists of headlines, forms, frames, parts not to be
quoted, correction notices. Read in one pass before the body is looked for, which uses the tree up. Decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from lxml import etree, html

from udfs.articles.characters import clean_line, clean_text, without_forbidden
from udfs.articles.text import text_of_element

# What the common frameworks call the element that they render a page into, and what it may hold before: "Loading".
_ROOTS = frozenset(
    {
        "root",
        "app",
        "__next",
        "__nuxt",
        "___gatsby",
        "app-root",
        "svelte",
        "q-app",
        "react-root",
        "main-app",
        "ember-app",
    }
)
_SHELL_CHARS = 60
# A page with more links, frames or marked parts than these is not read to its end.
_MAX_ANCHORS = 3_000
_MAX_SOURCES = 200
_MAX_PARTS = 50
_MAX_PART_CHARS = 20_000
_MAX_FRAGMENT_CHARS = 2_000_000
# From here on a link's text is a headline and no menu entry, characters; scripts without spaces need half as many.
HEADLINE_CHARS = 25
# So much of the sentence before and after a link says whether the sentence stands in the body, characters.
_AROUND_CHARS = 30
_INLINE_TAGS = "a abbr b cite em font i mark q s small span strong sub sup u"
_INLINE = frozenset(_INLINE_TAGS.split())
_SILENT = frozenset({"script", "style", "noscript", "template", "svg"})
# What class, id or itemprop of a correction notice contains, whatever its case: content systems name them in few words.
_CORRECTION_NAMES = ("orrection", "erichtigung", "ectificati", "rratum")
_IN_A_NAME = re.compile(r"(?:class|id|itemprop)\s*=\s*[\"']?[^\"'<>]*$")
_NAME_CHARS = 120
_MAX_HITS = 20


@dataclass(frozen=True, slots=True)
class SentenceLink:
    """A link with text around it. around: the sentence's part, without any space. rel: lower case."""

    href: str
    around: str
    rel: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """An element that names itself a correction. text: clean. time: a machine-readable instant in it, or ""."""

    text: str
    time: str = ""


@dataclass(frozen=True, slots=True)
class Traits:
    """headlines: the texts of links long enough to be one, without spaces, each once. linked: addresses they lead to.

    sources: addresses and types of frames, embedded objects and scripts. shell: an element that scripts render the page
    into is empty. parts: texts marked data-nosnippet.
    """

    sentence_links: tuple[SentenceLink, ...] = ()
    headlines: frozenset[str] = frozenset()
    linked: int = 0
    anchors: int = 0
    passwords: int = 0
    sources: tuple[str, ...] = ()
    shell: bool = False
    noscript: str = ""
    parts: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()


def read_traits(tree: html.HtmlElement, source: str) -> Traits:
    """The traits of a page. tree: as parsed, not altered here. source: its text, to skip what it cannot contain."""
    sentence_links: list[SentenceLink] = []
    headlines: dict[str, str] = {}
    anchors = 0
    for anchor in islice(tree.iter("a"), _MAX_ANCHORS):
        anchors += 1
        href = (anchor.get("href") or "").strip()
        if not href or href[0] == "#":
            continue
        text = anchor.text or "" if len(anchor) == 0 else "".join(_texts(anchor))
        dense = "".join(text.split())
        if len(dense) >= HEADLINE_CHARS or (not dense.isascii() and len(dense) >= HEADLINE_CHARS // 2):
            headlines.setdefault(dense[:500], href)
        if dense and (around := _around(anchor, text)):
            sentence_links.append(SentenceLink(href, around, (anchor.get("rel") or "").lower()))
    return Traits(
        sentence_links=tuple(sentence_links),
        headlines=frozenset(headlines),
        linked=len(set(headlines.values())),
        anchors=anchors,
        passwords=_passwords(tree) if "password" in source else 0,
        sources=tuple(_sources(tree)),
        shell=_is_shell(tree),
        noscript=" ".join("".join(map(str, part.itertext())) for part in islice(tree.iter("noscript"), 5))[:2_000],
        parts=tuple(_withheld(tree)) if "data-nosnippet" in source else (),
        notices=tuple(_notices(tree)) if _names_corrections(source) else (),
    )


def squeezed(text: str) -> str:
    """Clean text without any space: two ways to break the same text into lines are then equal."""
    return "".join(clean_text(text).split())


def _texts(element: html.HtmlElement) -> Iterator[str]:
    """The texts below an element, up to where no headline goes on; nothing of scripts and pictures."""
    length = 0
    for part in element.iter():
        if isinstance(part.tag, str) and part.tag not in _SILENT and part.text:
            length += len(part.text)
            yield part.text
        if part is not element and part.tail:
            length += len(part.tail)
            yield part.tail
        if length > 2_000:
            return


def _around(anchor: html.HtmlElement, text: str) -> str:
    """What stands before and after a link within its own sentence, with it; empty for a link that stands alone."""
    element = anchor
    for _ in range(4):
        parent = element.getparent()
        if parent is None:
            return ""
        previous = element.getprevious()
        before = (parent.text if previous is None else previous.tail) or ""
        after = element.tail or ""
        if len(before.strip()) + len(after.strip()) >= 3:
            dense = squeezed(
                f"{before[-_AROUND_CHARS:]}{text[:200]}{after[:_AROUND_CHARS] if len(text) <= 200 else ''}"
            )
            return dense[:300]
        if parent.tag not in _INLINE:
            return ""
        element = parent
    return ""


def _sources(tree: html.HtmlElement) -> Iterator[str]:
    for element in islice(tree.iter("iframe", "embed", "object", "script"), _MAX_SOURCES):
        address = element.get("src") or element.get("data-src") or element.get("data") or ""
        kind = element.get("type") or ""
        if address or (kind and element.tag != "script"):
            yield f"{address[:500]} {kind[:100]}".strip()


def _is_shell(tree: html.HtmlElement) -> bool:
    body = tree.find("body")
    for element in islice(body, 50) if body is not None else ():
        name = element.get("id") or element.tag
        if name in _ROOTS and len("".join("".join(_texts(element)).split())) < _SHELL_CHARS:
            return True
    return False


def _passwords(tree: html.HtmlElement) -> int:
    return sum(1 for field in islice(tree.iter("input"), 500) if (field.get("type") or "").lower() == "password")


def _withheld(tree: html.HtmlElement) -> Iterator[str]:
    """Texts of the outermost parts that are not to be quoted. Source: Google Search Central, data-nosnippet, which
    counts on span, div and section; here it counts on any element."""
    for part in islice(tree.iterfind(".//*[@data-nosnippet]"), _MAX_PARTS):
        if text := clean_text(text_of_element(part), _MAX_PART_CHARS):
            yield text


def _names_corrections(source: str) -> bool:
    """Whether an element is named after corrections: most pages that hold the word do so in a script or a sentence."""
    for name in _CORRECTION_NAMES:
        at = source.find(name)
        for _ in range(_MAX_HITS):
            if at < 0:
                break
            if _IN_A_NAME.search(source, max(0, at - _NAME_CHARS), at):
                return True
            at = source.find(name, at + 1)
    return False


def _notices(tree: html.HtmlElement) -> Iterator[Notice]:
    for element in tree.iter("p", "div", "section", "aside", "span", "em", "blockquote", "article", "details"):
        names = f"{element.get('class') or ''} {element.get('id') or ''} {element.get('itemprop') or ''}"
        if len(names) < 3 or not any(name in names for name in _CORRECTION_NAMES):
            continue
        if next(element.iter("h1", "form", "input", "nav"), None) is not None:
            continue
        text = clean_line(text_of_element(element), 2_000)
        if text:
            times = (time.get("datetime") for time in element.iter("time"))
            yield Notice(text, next((time for time in times if time), "") or "")


def fragment_traits(fragment: str) -> Traits:
    """The traits of a feed's HTML fragment; none where it has no links."""
    fragment = fragment[:_MAX_FRAGMENT_CHARS]
    if "<a" not in fragment and "<A" not in fragment:
        return Traits()
    try:
        return read_traits(html.fragment_fromstring(without_forbidden(fragment), create_parent="div"), fragment)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return Traits()
