"""JSON-LD as publishers write it: every object that can be saved from a page's blocks, and the article among them.

A block beyond repair is skipped alone. Damage that is forgiven: comment and CDATA wrappers, control characters in
strings, trailing commas and semicolons, several objects after one another, HTML entities, lone backslashes.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

# Above these a block is no description of one article.
MAX_BLOCK_CHARS = 2_000_000
_MAX_NODES = 2_000
_MAX_DEPTH = 6

# schema.org types that are one article, best first: a page may hold several nodes about itself.
ARTICLE_TYPES: tuple[str, ...] = (
    "ReportageNewsArticle", "AnalysisNewsArticle", "OpinionNewsArticle", "BackgroundNewsArticle", "ReviewNewsArticle",
    "AskPublicNewsArticle", "AdvertiserContentArticle", "LiveBlogPosting", "NewsArticle", "SatiricalArticle", "Report",
    "Article", "BlogPosting", "TechArticle", "ScholarlyArticle", "MedicalScholarlyArticle", "PodcastEpisode",
    "SocialMediaPosting",
)  # fmt: skip
_RANK = {name.lower(): number for number, name in enumerate(ARTICLE_TYPES)}
_NESTED = ("@graph", "mainEntity", "mainEntityOfPage", "subjectOf", "hasPart", "about")
_OPENING = re.compile(r"[{\[]")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_LONE_BACKSLASH = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_decoder = json.JSONDecoder(strict=False)

Node = dict[str, Any]


def nodes(blocks: Iterable[str]) -> list[Node]:
    """All typed objects of the blocks, outer before inner, in the page's order; list parts of pages are not entered."""
    found: list[Node] = []
    for block in blocks:
        for value in _values(block[:MAX_BLOCK_CHARS]):
            for node in _walk(value, 0):
                if len(found) >= _MAX_NODES:
                    return found
                found.append(node)
    return found


def article_node(found: Iterable[Node]) -> Node | None:
    """The node of the page's article: a news type before a general one, a headline and a date before none."""
    best: tuple[tuple[bool, bool, int, int], Node] | None = None
    for number, node in enumerate(found):
        ranks = [_RANK[kind.lower()] for kind in types(node) if kind.lower() in _RANK]
        if not ranks:
            continue
        titled = bool(string(node.get("headline")) or string(node.get("name")))
        dated = bool(string(node.get("datePublished")))
        key = (not titled, not dated, min(ranks), number)
        if best is None or key < best[0]:
            best = (key, node)
    return best[1] if best else None


def resolved(value: Any, found: Iterable[Node]) -> Any:
    """`value` with each bare reference (`{"@id": ...}`) replaced by the node it names, where the page has it."""
    if isinstance(value, list):
        found = list(found)
        return [resolved(entry, found) for entry in value]
    if isinstance(value, dict) and "name" not in value and isinstance(value.get("@id"), str):
        return next((node for node in found if node.get("@id") == value["@id"] and "name" in node), value)
    return value


def types(node: Node) -> tuple[str, ...]:
    """The node's types without namespace: "http://schema.org/NewsArticle" is NewsArticle."""
    value = node.get("@type", node.get("type"))
    values = value if isinstance(value, list) else [value]
    return tuple(re.split(r"[/#:]", kind)[-1] for kind in values if isinstance(kind, str))


def string(value: Any) -> str:
    """A text where one is meant: a string, the first of a list, the value of a language or text node; else empty."""
    for _ in range(_MAX_DEPTH):
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, dict):
            value = value.get("@value", value.get("name", value.get("@id", "")))
        else:
            break
    return value.strip() if isinstance(value, str) else ""


def strings(value: Any) -> list[str]:
    """All texts of a list, or of one string; nodes give their names."""
    values = value if isinstance(value, list) else [value]
    return [text for entry in values if (text := string(entry))]


def _walk(value: Any, depth: int) -> Iterator[Node]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for entry in value:
            yield from _walk(entry, depth + 1)
    elif isinstance(value, dict):
        if types(value):
            yield value
        for name in _NESTED:
            if isinstance(value.get(name), dict | list):
                yield from _walk(value[name], depth + 1)


def _values(block: str) -> Iterator[Any]:
    if not _OPENING.search(block):
        return
    for repaired in _repairs(block):
        values, whole = _decoded(repaired)
        if whole and values:
            yield from values
            return


def _repairs(block: str) -> Iterator[str]:
    """The block, then with one more kind of damage mended at a time: a sound block is never touched."""
    yield block
    block = _TRAILING_COMMA.sub(r"\1", _LONE_BACKSLASH.sub(r"\\\\", block))
    yield block
    yield _TRAILING_COMMA.sub(r"\1", html.unescape(block))


def _decoded(block: str) -> tuple[list[Any], bool]:
    """The objects that follow one another in a block; False where one of them is damaged."""
    values: list[Any] = []
    at = 0
    while match := _OPENING.search(block, at):
        if values and block[at : match.start()].strip(" \t\r\n,;"):
            break  # a closing comment, or rubbish: what stands before it counts
        try:
            value, at = _decoder.raw_decode(block, match.start())
        except (ValueError, RecursionError):
            # "[CDATA[" opens with a bracket that opens nothing. Once: a decoder's error counts the lines before it.
            if not at and block.startswith("[CDATA[", match.start()):
                at = match.start() + len("[CDATA[")
                continue
            return values, False
        values.append(value)
    return values, True
