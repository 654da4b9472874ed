"""Microdata and RDFa: what a page's own markup says of the article, in the form of a JSON-LD node. Decides nothing.

Read is the first item of an article's type; a property inside a further item is that item's (a comment's author is no
author), except where that item is the value of the property itself (an author's name). A function of the tree alone.
"""

from __future__ import annotations

from typing import Any

from lxml import etree, html

from udfs.articles.json_ld import ARTICLE_TYPES, Node

_TYPES = frozenset(name.lower() for name in ARTICLE_TYPES)
_PROPERTY_NAMES = """
    headline alternativeheadline description author creator datepublished datemodified datecreated image thumbnailurl
    articlesection keywords isaccessibleforfree inlanguage name url contenturl
"""
_PROPERTIES = frozenset(_PROPERTY_NAMES.split())
# schema.org writes these in camel case, and so do the readers of nodes.
_SPELLED = {
    "datepublished": "datePublished",
    "datemodified": "dateModified",
    "datecreated": "dateCreated",
    "articlesection": "articleSection",
    "isaccessibleforfree": "isAccessibleForFree",
    "inlanguage": "inLanguage",
    "alternativeheadline": "alternativeHeadline",
    "thumbnailurl": "thumbnailUrl",
    "contenturl": "contentUrl",
}
_MAX_VALUES = 200
_MAX_SCOPES = 200
# Finds the items, the attribute with their type, that of a property's name, and what makes its value an item.
_SYNTAXES: tuple[tuple[Any, str, str, str], ...] = (
    (etree.XPath("//*[@itemtype]"), "itemtype", "itemprop", "itemscope"),
    (etree.XPath("//*[@typeof]"), "typeof", "property", "typeof"),
)
_NAMED: dict[str, Any] = {"itemprop": etree.XPath(".//*[@itemprop]"), "property": etree.XPath(".//*[@property]")}
_VALUE_ATTRIBUTES = ("content", "datetime", "src", "href", "data", "value")
_LINKS = frozenset(("a", "link", "img", "audio", "video", "source", "embed", "iframe"))


def may_have(source: str) -> bool:
    """Whether a page's text can have such markup at all: most have none, and searching a tree costs more."""
    return "itemtype=" in source or "typeof=" in source


def article_node(tree: html.HtmlElement) -> Node:
    """The page's article as a node ({"@type": ..., "headline": ...}), empty where the markup names none."""
    for scopes, typed, name, nested in _SYNTAXES:
        found = [(scope, kind) for scope in scopes(tree)[:_MAX_SCOPES] if (kind := _kind(scope.get(typed) or ""))]
        # Of several articles on a page, only one that has the page's heading in it can be the page's own.
        if len(found) > 1:
            found = [one for one in found if next(one[0].iter("h1"), None) is not None]
        if found:
            return _node(found[0][0], found[0][1], name, nested)
    return {}


def _kind(types: str) -> str:
    for name in types[:500].split():
        kind = name.rstrip("/").replace(":", "/").rsplit("/", 1)[-1]
        if kind.lower() in _TYPES:
            return kind
    return ""


def _node(scope: html.HtmlElement, kind: str, name: str, nested: str) -> Node:
    """The properties of one item. An item that is a property's value becomes a node of its own."""
    node: Node = {"@type": kind} if kind else {}
    for count, element in enumerate(_NAMED[name](scope)):
        if count >= _MAX_VALUES:
            break
        holder = element.getparent()
        while holder is not None and holder is not scope and holder.get(nested) is None:
            holder = holder.getparent()
        if holder is not scope:
            continue
        inner = element.get(nested) is not None
        value: object = _node(element, "", name, nested) if inner and scope.get(nested) is not None else _value(element)
        if not value and inner:
            value = _value(element)
        for term in (element.get(name) or "")[:500].split():
            plain = term.rsplit("/", 1)[-1].rsplit(":", 1)[-1].lower()
            if value and plain in _PROPERTIES:
                node.setdefault(_SPELLED.get(plain, plain), []).append(value)
    return node


def _value(element: html.HtmlElement) -> str:
    """A property's value: what its attribute says, a link's address, else its text."""
    for attribute in _VALUE_ATTRIBUTES:
        stated = element.get(attribute)
        if stated and (attribute in ("content", "datetime") or (element.tag in _LINKS and element.tag != "a")):
            return str(stated).strip()[:2_000]
    return " ".join(" ".join(map(str, element.itertext())).split())[:2_000]
