"""An XML document as a tree, however broken, and how its elements are named and read.

Parsing never reaches the network, a file or an entity declaration. Names are short and lower-case, whatever prefix
the document chose: `title` (RSS of any version, or no namespace), `atom:link`, `dc:date`, `media:content`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urljoin

from lxml import etree

from udfs.feeds.decoding import mend, spelled_out
from udfs.feeds.document import FeedError

Element = Any  # lxml's _Element: its stubs do not know about comments left out

_PREFIXES = {
    "http://purl.org/rss/1.0": "",
    "http://purl.org/net/rss1.1#": "",
    "http://my.netscape.com/rdf/simple/0.9": "",
    "http://channel.netscape.com/rdf/simple/0.9": "",
    "http://backend.userland.com/rss": "",
    "http://backend.userland.com/rss2": "",
    "http://blogs.law.harvard.edu/tech/rss": "",
    "http://cyber.law.harvard.edu/rss/rss.html": "",
    "http://www.rssboard.org/rss-specification": "",
    "http://www.w3.org/2005/atom": "atom",
    "http://purl.org/atom/ns#": "atom",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://purl.org/atompub/tombstones/1.0": "at",
    "http://purl.org/dc/elements/1.1": "dc",
    "http://purl.org/dc/terms": "dcterms",
    "http://purl.org/rss/1.0/modules/content": "content",
    "http://purl.org/rss/1.0/modules/syndication": "sy",
    "http://search.yahoo.com/mrss": "media",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://www.sitemaps.org/schemas/sitemap/0.9": "",
    "http://www.google.com/schemas/sitemap/0.84": "",
    "http://www.google.com/schemas/sitemap-news/0.9": "news",
    "http://www.google.com/schemas/sitemap-image/1.1": "image",
    "http://www.w3.org/1999/xhtml": "xhtml",
    "http://www.w3.org/xml/1998/namespace": "xml",
}
_KNOWN = frozenset(_PREFIXES.values()) - {""}
# Bases inside one another that count, innermost first; more than two were never seen.
_BASES = 16
# An item has a few dozen children, a channel its items too.
_CHILDREN = 20_000
_COUNTED = 50_000
# Elements inside one text that are written out: an article has some hundred. Of more, the words are kept.
_WRITTEN_OUT = 20_000
# Looked through for elements that are not written as they should be.
_STRANGE_ELEMENTS = 100_000
XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


# libxml2 keeps every name it ever met for the life of the process, a few dozen bytes each. The captured feed with the
# most names 42 elements, those in its texts included.
_NAMES = 1_000
_ELEMENT_NAME = re.compile(r"<[^\s/>!?][^\s/>]*")
_ATTRIBUTE_NAME = re.compile(r"\s[^\s=\"'<>/]+=")


class Tree(NamedTuple):
    """A document's tree. malformed: it was mended; recovered: after that the parser still had to leave something out;
    whole: the root's end was there."""

    root: Element
    malformed: bool = False
    recovered: bool = False
    whole: bool = True


def parse_tree(text: str) -> Tree:
    """The tree of a document without document type. Raises FeedError `feed_unparsable`, `xml_names`.

    Three tries, each for what the one before refused: as it stands; mended; with the parser's own recovery.
    """
    _refuse_names(text)
    try:
        return Tree(_parse(text, recover=False))
    except etree.XMLSyntaxError:
        text = mend(text)
    try:
        return Tree(_parse(text, recover=False), malformed=True)
    except etree.XMLSyntaxError:
        pass
    try:
        root = _parse(spelled_out(text), recover=True)
    except etree.XMLSyntaxError as error:
        raise FeedError("feed_unparsable", str(error)) from None
    if root is None:
        raise FeedError("feed_unparsable", "no element")
    name = str(root.tag).rpartition("}")[2]
    qualified = f"{root.prefix}:{name}" if root.prefix else name
    return Tree(root, malformed=True, recovered=True, whole=f"</{qualified}" in text[-4096:])


def _refuse_names(text: str) -> None:
    """Raise FeedError `xml_names` for a document of more names than any format has, before a parser keeps them."""
    for names, possible in ((_ELEMENT_NAME, "<"), (_ATTRIBUTE_NAME, "=")):
        if text.count(possible) > _NAMES:
            found = len(set(names.findall(text)))
            if found > _NAMES:
                raise FeedError("xml_names", f"{found} names of elements or attributes")


def _parse(text: str, *, recover: bool) -> Element:
    parser = etree.XMLParser(
        encoding="utf-8",
        recover=recover,
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    return etree.fromstring(text.encode("utf-8", "replace"), parser)


def name_of(element: Element) -> str:
    """The short name of an element."""
    tag = element.tag
    if not isinstance(tag, str):  # an entity reference that was left in place
        return ""
    known = _known_name(tag)
    if known is not None:
        return known
    # A misspelt namespace; the prefix says what is meant.
    written = (element.prefix or "").lower()
    return f"{written if written in _KNOWN else 'other'}:{tag.rpartition('}')[2]}".lower()


@lru_cache(maxsize=4096)  # a function of the tag alone: nothing in it can be ahead of a restored state
def _known_name(tag: str) -> str | None:
    """The short name of a tag in a namespace that is known, or in none; else None."""
    if tag[0] == "{":
        uri, _, local = tag[1:].partition("}")
        spelt = uri.lower().rstrip("/")
        prefix = _PREFIXES.get(spelt)
        if prefix is None:
            prefix = _PREFIXES.get("http" + spelt.removeprefix("https"))
        if prefix is None:
            return None
    else:
        prefix, colon, local = tag.rpartition(":")
        # An undeclared prefix is taken at its usual meaning.
        if colon and prefix.lower() not in _KNOWN:
            prefix = "other"
        prefix = prefix.lower()
    return f"{prefix}:{local}".lower() if prefix else local.lower()


def children(element: Element) -> dict[str, list[Element]]:
    """The first children of an element by short name, in document order."""
    found: dict[str, list[Element]] = {}
    for child in islice(element, _CHILDREN):
        found.setdefault(name_of(child), []).append(child)
    return found


def elements(root: Element, name: str) -> Iterator[Element]:
    """Every element of that short name, at any depth, in document order."""
    local = name.rpartition(":")[2]
    found = False
    for element in root.iter("{*}" + local):  # lxml's own loop: a hostile document has millions of others
        if name_of(element) == name:
            found = True
            yield element
    if not found:  # other capitals, or a prefix that was never declared
        for element in islice(root.iter(etree.Element), _STRANGE_ELEMENTS):
            if name_of(element) == name:
                yield element


def count(root: Element, name: str) -> int:
    """How many elements of that short name there are; no more than _COUNTED are counted."""
    return sum(1 for _ in islice(elements(root, name), _COUNTED))


def text_of(element: Element) -> str:
    """All the text inside, without markup."""
    if len(element) == 0:
        return str(element.text or "")
    return str(etree.tostring(element, method="text", encoding="unicode", with_tail=False))


def markup_of(element: Element) -> str:
    """What is inside as markup: escaped or CDATA markup as it reads, elements written out."""
    if len(element) == 0:
        return str(element.text or "")
    if sum(1 for _ in islice(element.iter(), _WRITTEN_OUT + 1)) > _WRITTEN_OUT:
        return _escaped(text_of(element))
    # Moved into an element without namespaces, XHTML inside a feed reads as HTML.
    inner = etree.Element("inside")
    inner.text = element.text
    inner.extend(copy.deepcopy(child) for child in element)
    for node in inner.iter(etree.Element):
        if node.tag[0] == "{":
            with suppress(ValueError):  # what recovery left may be no name
                node.tag = node.tag.partition("}")[2]
    etree.cleanup_namespaces(inner)
    parts = [etree.tostring(child, encoding="unicode", method="html", with_tail=True) for child in inner]
    return "".join([_escaped(inner.text or ""), *parts])


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def base_of(element: Element, url: str) -> str:
    """The address that relative links of an element start from: each ancestor's xml:base, outermost first."""
    bases = [base for node in (element, *element.iterancestors()) if (base := node.get(XML_BASE))]
    for base in reversed(bases[:_BASES]):
        try:
            url = urljoin(url, base.strip())
        except ValueError:
            continue
    return url


def language_of(element: Element) -> str:
    """xml:lang (or RSS authors' plain `lang`) of the element itself."""
    return (element.get(XML_LANG) or element.get("lang") or "").strip()
