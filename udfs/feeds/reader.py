"""One feed document: bytes in, entries out, or a reason why it is none.

A function of its arguments alone: no network, no clock, no memory between documents. Reading order: parse_feed, then
the formats in rss.py, atom.py, json_feed.py, sitemap.py, front.py, and second_reader.py for what is broken; identity.py
says by what entries are told apart.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from lxml import etree

from udfs.feeds import atom, front, identity, json_feed, rss, second_reader, sitemap
from udfs.feeds.decoding import decode, prolog_end, strip_doctype
from udfs.feeds.deletions import reconciled
from udfs.feeds.document import FeedError, Kind, Known, ParsedFeed, ReaderPolicy
from udfs.feeds.markup import Element, Tree, name_of, parse_tree
from udfs.feeds.unpacking import unpacked

# A page that a server answers instead of a feed.
_HTML = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
# What shows at once that an address registered as a front gives a feed.
_FEED = re.compile(r"[{\[]|<(?:rss|feed|rdf:rdf|urlset|sitemapindex)\b", re.IGNORECASE)
_ROOT = re.compile(r"<(?:\?xml\b|!DOCTYPE\b|(?:[\w.-]{1,40}:)?(?:rss|feed|rdf|urlset|sitemapindex)\b)", re.IGNORECASE)
_FIRST = re.compile(r"<([A-Za-z_][\w:.-]{0,60})")
_READERS = {
    "rss": rss.read,
    "channel": rss.read,  # RSS 0.9x without its root, and what is left of a broken one
    "rdf:rdf": rss.read,
    "rdf": rss.read,
    "atom:feed": atom.read,
    "feed": atom.read,
    "urlset": sitemap.read,
    "sitemapindex": sitemap.read_index,
}


def parse_feed(
    body: bytes,
    url: str,
    content_type: str = "",
    *,
    kind: Kind = "feed",
    by_guid: bool = True,
    known: Known | None = None,
    policy: ReaderPolicy | None = None,
) -> ParsedFeed:
    """Read a feed of any format from its bytes as they came from `url`, without the transport's compression.

    kind: "front" for an HTML page whose links are the entries; a feed at such an address is read as a feed.
    by_guid: False for a feed whose guids are known to tell nothing; entries are then identified by link.
    known: of an entry for which it says yes only guid, link, title and times are read, where the format lets one.
    Raises FeedError with a reason code; nothing else, whatever the bytes.
    """
    policy = policy or ReaderPolicy()
    if len(body) > policy.max_bytes:
        raise FeedError("feed_too_large", f"{len(body)} bytes, at most {policy.max_bytes}")
    body, complete = unpacked(body, policy.max_bytes)
    text = decode(body, content_type).lstrip("\ufeff \t\r\n")
    if not text:
        raise FeedError("feed_empty", f"{len(body)} bytes without a character")
    if kind == "front" and not _FEED.match(text, prolog_end(text)):
        return replace(front.read(body, url, content_type, policy), whole=complete)
    if text[0] in "{[":
        parsed = json_feed.read(text, url, policy)
    elif _HTML.match(text, prolog_end(text)):
        raise FeedError("html_not_feed", "the root element is HTML's")
    else:
        parsed = _read_xml(text, url, policy, known)
    if not complete:
        parsed = replace(parsed, whole=False)
    parsed = reconciled(parsed)
    repeat = identity.guids_repeat(parsed.entries)
    entries = identity.identified(parsed.entries, by_guid=by_guid and not repeat)
    repeated = len(parsed.entries) - len(entries)
    return replace(parsed, entries=entries, repeated=repeated, guids_repeat=repeat)


def _read_xml(text: str, url: str, policy: ReaderPolicy, known: Known | None) -> ParsedFeed:
    """By the tree; where there is none, or only a recovered one, by feedparser too, and what found more counts."""
    start = _ROOT.search(text, 0, 8192)
    if start is None:
        raise FeedError("not_a_feed", f"begins with {text[:40]!r}")
    # A warning that the publisher's own server printed before the document.
    stray = text[: start.start()].strip()
    if stray and not stray.startswith("<"):
        text = text[start.start() :]
    text = strip_doctype(text)
    try:
        tree = parse_tree(text)
        ours = replace(_read_tree(tree, url, policy, known), malformed=tree.malformed or bool(stray), whole=tree.whole)
    except FeedError as error:
        if error.reason == "html_not_feed":
            raise
        other = _second_reading(text, url, policy, whole=_has_end(text))
        if other is None or not _complete(other):
            raise
        return other
    if tree.recovered:
        other = _second_reading(text, url, policy, whole=tree.whole)
        if other is not None and _complete(other) > _complete(ours):
            return replace(ours, entries=other.entries, dropped=other.dropped)
    return ours


def _second_reading(text: str, url: str, policy: ReaderPolicy, *, whole: bool) -> ParsedFeed | None:
    if not second_reader.worth_reading(text, policy):
        return None
    parsed = second_reader.read(text, url, policy)
    if parsed is None or whole:
        return parsed
    return replace(parsed, entries=parsed.entries[:-1], whole=False)


def _has_end(text: str) -> bool:
    """Whether a document that gave no tree ends as it begins."""
    root = _FIRST.match(text, prolog_end(text))
    return root is not None and f"</{root.group(1)}" in text[-4096:]


def _complete(parsed: ParsedFeed) -> int:
    """Entries that can become articles, and those beyond the limit."""
    return parsed.dropped + sum(1 for entry in parsed.entries if entry.title and (entry.link or entry.guid))


def _read_tree(tree: Tree, url: str, policy: ReaderPolicy, known: Known | None) -> ParsedFeed:
    root = tree.root
    name = name_of(root)
    if name.startswith("other:"):
        _forget_namespace(root)
        name = name_of(root)
    if name in ("html", "xhtml:html"):
        raise FeedError("html_not_feed", "the root element is HTML's")
    read = _READERS.get(name)
    if read is None:
        raise FeedError("not_a_feed", f"the root element is {name[:100]!r}")
    return read(root, url, policy, tree.whole, known)


# Elements of a feed in a strange namespace that are read.
_RENAMED = 100_000


def _forget_namespace(root: Element) -> None:
    """Take the names in the root's own unknown namespace as those of no namespace."""
    namespace = root.tag.partition("}")[0] + "}"
    for element in islice(root.iter(etree.Element), _RENAMED):
        if isinstance(element.tag, str) and element.tag.startswith(namespace):
            with suppress(ValueError):  # what recovery left may be no name
                element.tag = element.tag[len(namespace) :]
