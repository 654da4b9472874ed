"""A malformed document read by feedparser, whose loose parser finds items where no XML parser finds a tree.

Slower by far, so it gets only what our own reader could not read whole, only below a size, and only documents whose
mark-up cannot make it slow (worth_reading). It gets bytes, so it opens neither files nor addresses, and no document
type. The fields' rules are ours: bounds, absolute links, dates that are whole or absent.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from typing import Any

from feedparser.api import parse

from state_schemas.fetching import Entry
from udfs.feeds.dates import parse_instant
from udfs.feeds.document import Format, ParsedFeed, ReaderPolicy
from udfs.feeds.pictures import width_of
from udfs.feeds.texts import absolute, as_html, clip, collapse, plain

Found = Mapping[str, Any]

_parse: Callable[..., Any] = parse  # it has no types

# Its parsers take quadratic time for tags without an end, for elements inside elements and for bases on bases, and up
# to 0.2 ms for each tag. A feed of 100 items has some 2,500 tags, of depth 6.
_TAGS = 8_000
_OPEN_TAGS = 500
_DEPTH = 60
_BASES = 50
_TAG = re.compile(r"<(/?)[A-Za-z_][^<>]*?(/?)>")
_SECTION = re.compile(r"<!\[CDATA\[|<!--")


def worth_reading(text: str, policy: ReaderPolicy) -> bool:
    """Whether feedparser can be given a document (without document type) and is done within about a second."""
    if len(text) > policy.second_reader_chars:
        return False
    text = _without_sections(text)
    tags = text.count("<")
    if tags > _TAGS or abs(tags - text.count(">")) > _OPEN_TAGS or text.count("xml:base") > _BASES:
        return False
    depth = 0
    for tag in _TAG.finditer(text):
        if tag.group(1):
            depth = max(0, depth - 1)
        elif not tag.group(2):
            depth += 1
            if depth > _DEPTH:
                return False
    return True


def _without_sections(text: str) -> str:
    """Mark-up alone: CDATA sections and comments cost little. One without an end is left."""
    parts: list[str] = []
    place = 0
    while section := _SECTION.search(text, place):
        end = text.find("-->" if section.group() == "<!--" else "]]>", section.end())
        if end < 0:
            break
        parts.append(text[place : section.start()])
        place = end + 3
    return "".join([*parts, text[place:]])


def read(text: str, url: str, policy: ReaderPolicy) -> ParsedFeed | None:
    """What feedparser finds in a document; None where that is no entry. Never raises.

    All of a ParsedFeed but what it does not tell: ttl_ms, deleted, whole.
    """
    # No base: it would make addresses of guids, and we make them of links ourselves.
    headers = {"content-type": "application/xml; charset=utf-8"}
    try:
        parsed = _parse(
            io.BytesIO(text.encode("utf-8", "replace")),
            response_headers=headers,
            resolve_relative_uris=False,
            sanitize_html=False,
        )
        return _feed(parsed, url, policy)
    except Exception:  # its own faults are many and of every type; whoever asks has an error or a reading already
        return None


def _feed(parsed: Found, url: str, policy: ReaderPolicy) -> ParsedFeed | None:
    items, about = _dicts(parsed, "entries"), parsed.get("feed")
    if not items:
        return None
    about = about if isinstance(about, Mapping) else {}
    version = _text(parsed, "version")
    links = [(_text(link, "rel"), absolute(_text(link, "href"), url)) for link in _dicts(about, "links")]
    return ParsedFeed(
        format=_format(version),
        entries=tuple(
            _entry(item, url, policy, atom=version.startswith("atom")) for item in items[: policy.max_entries]
        ),
        title=clip(plain(_text(about, "title")), policy.max_title),
        language=clip(collapse(_text(about, "language")), 40),
        malformed=True,
        dropped=max(0, len(items) - policy.max_entries),
        hub=next((href for rel, href in links if rel == "hub"), ""),
        topic=next((href for rel, href in links if rel == "self"), ""),
    )


def _format(version: str) -> Format:
    if version.startswith("atom"):
        return "atom"
    return "rdf" if version in ("rss10", "rss090") else "rss"


def _entry(item: Found, url: str, policy: ReaderPolicy, *, atom: bool) -> Entry:
    guid, link = collapse(_text(item, "id")), _text(item, "link")
    if item.get("guidislink") and link == guid and not guid.lower().startswith(("http://", "https://")):
        link = ""  # it takes any guid for a link; one without a scheme is an identity at best
    authors = dict.fromkeys(
        clip(plain(_text(author, "name") or _text(author, "email")), 200) for author in _dicts(item, "authors")
    ) or dict.fromkeys([clip(plain(_text(item, "author")), 200)])
    authors.pop("", None)
    categories = dict.fromkeys(
        clip(plain(_text(tag, "label") or _text(tag, "term")), 200) for tag in _dicts(item, "tags")
    )
    categories.pop("", None)
    title = _text(item, "title")
    # A text construct of Atom is decoded by then; RSS says nothing of the kind, and most titles are HTML.
    text_only = atom and _text(item.get("title_detail"), "type") == "text/plain"
    source = item.get("source")
    source = source if isinstance(source, Mapping) else {}
    # In RSS it takes the text beside a picture (media:description) for content too.
    content = next((part for part in _dicts(item, "content") if atom or "html" in _text(part, "type")), {})
    published, updated = _text(item, "published") or _text(item, "created"), _text(item, "updated")
    if not atom and not published:
        published, updated = updated, ""  # dc:date
    return Entry(
        identity="",
        guid=clip(guid, policy.max_guid),
        link=absolute(_text(item, "feedburner_origlink") or link, url),
        title=clip(collapse(title) if text_only else plain(title), policy.max_title),
        summary=clip(_html(_text(item, "summary"), item.get("summary_detail")), policy.max_summary),
        content=clip(_html(_text(content, "value"), content), policy.max_content),
        authors=tuple(authors)[: policy.max_names],
        published_ms=parse_instant(published),
        updated_ms=parse_instant(updated),
        categories=tuple(categories)[: policy.max_names],
        image=_picture(item, url),
        source_url=absolute(_text(source, "href") or _text(source, "link"), url),
        source_name=clip(plain(_text(source, "title")), 200),
    )


def _html(text: str, detail: object) -> str:
    return (as_html(text) if _text(detail, "type") == "text/plain" else text).strip()


def _picture(item: Found, url: str) -> str:
    """The widest that is offered, else the first."""
    offered = [
        (_text(media, "width"), _text(media, "url"))
        for media in _dicts(item, "media_content")
        if _text(media, "type").startswith("image/") or _text(media, "medium") == "image"
    ]
    offered += [(_text(media, "width"), _text(media, "url")) for media in _dicts(item, "media_thumbnail")]
    offered += [
        ("", _text(link, "href"))
        for link in _dicts(item, "links")
        if _text(link, "rel") == "enclosure" and _text(link, "type").startswith("image/")
    ]
    pictures = [(width, found) for width, address in offered if (found := absolute(address, url))]
    return max(pictures, key=lambda picture: width_of(picture[0]), default=("", ""))[1]


def _text(about: object, name: str) -> str:
    # dict's own get: feedparser's looks for other names of what is not there, and warns.
    found = dict.get(about, name) if isinstance(about, dict) else None
    return found if isinstance(found, str) else ""


def _dicts(about: object, name: str) -> list[Found]:
    found = dict.get(about, name) if isinstance(about, dict) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
