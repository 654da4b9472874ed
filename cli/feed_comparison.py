"""One feed as two readers gave it, field by field: what differs, and by which rule who is right. No file, no clock.

None is a difference that is only white space, how the same characters are written, an equal instant (also a single one
that feedparser calls updated and we published), or which of several contents comes first. Where a rule of a
specification says which reading is right, the difference carries that rule; the rest is for a person to judge.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from lxml import etree, html

from state_schemas.fetching import Entry
from udfs.feeds.decoding import decode
from udfs.feeds.document import FeedError, ParsedFeed, ReaderPolicy
from udfs.feeds.unpacking import unpacked

_MEDIA = re.compile(r"<media:(description|keywords|category)\b[^>]*>(.*?)</media:\1>", re.DOTALL)
Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Captured:
    """One document as it came. url: where from, invented where no manifest says."""

    name: str
    body: bytes
    url: str
    content_type: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of one entry (or of the feed itself) that reads differently. rule: why, and who is right by it."""

    feed: str
    field: str
    ours: str
    theirs: str
    rule: str


@dataclass(frozen=True, slots=True)
class Media:
    """What a document's Media RSS elements say of pictures and films, as plain text."""

    descriptions: frozenset[str]
    keywords: frozenset[str]


def differences(
    document: Captured, ours: ParsedFeed, theirs: Mapping[str, Any], items: list[Fields]
) -> Iterator[Difference]:
    about = theirs.get("feed") or {}
    pairs: list[tuple[Fields, Fields]] = [
        (
            {"feed title": ours.title, "feed language": ours.language},
            {"feed title": _get(about, "title"), "feed language": _get(about, "language")},
        )
    ]
    pairs += [(_our_fields(entry), _their_fields(item)) for entry, item in _matched(ours, items, document.url)]
    media: Media | None = None
    for one, other in pairs:
        for name, value in one.items():
            if not _same(name, one, other):
                if media is None:
                    media = _media(document)
                rule = _rule(name, one, other, media, document.url)
                yield Difference(document.name, name, _shown(value), _shown(other[name]), rule)


def _matched(ours: ParsedFeed, items: list[Fields], url: str) -> Iterator[tuple[Entry, Fields]]:
    """Each of our entries with feedparser's of the same guid and link, the same guid, the same link or the same place.

    What has no partner is paired with nothing, unless it was left out as a repetition or as one too many.
    """
    free = dict(enumerate(items))
    by: dict[tuple[str, str], list[int]] = {}
    for place, item in free.items():
        guid, link = _get(item, "id"), _link(item)
        for key in (("both", f"{guid}\n{link}"), ("guid", guid), ("link", link)):
            by.setdefault(key, []).append(place)
    same_length = len(items) == len(ours.entries)
    for place, entry in enumerate(ours.entries):
        guids = (entry.guid or entry.link, _joined(url, entry.guid))
        keys = [("both", f"{guids[0]}\n{entry.link}"), *(("guid", guid) for guid in guids), ("link", entry.link)]
        choices = [other for key in keys if key[1].strip() for other in by.get(key, ()) if other in free]
        chosen = choices[0] if choices else place if same_length and place in free else None
        yield entry, {} if chosen is None else free.pop(chosen)
    left_out = ours.repeated + ours.dropped
    for item in list(free.values())[left_out:]:
        yield Entry(identity=""), item


def _our_fields(entry: Entry) -> Fields:
    return {
        "title": entry.title,
        "link": entry.link,
        "guid": entry.guid,
        "published": entry.published_ms,
        "updated": entry.updated_ms,
        "summary": entry.summary,
        "content": entry.content,
        "authors": entry.authors,
        "categories": entry.categories,
        "language": entry.language,
        "image": entry.image,
        "source name": entry.source_name,
        "source link": entry.source_url,
    }


def _their_fields(item: Fields) -> Fields:
    source = dict.get(item, "source")
    source = source if isinstance(source, dict) else {}
    return {
        "title": _get(item, "title"),
        "link": _link(item),
        "guid": _get(item, "id"),
        "published": _instant(item, "published_parsed"),
        "updated": _instant(item, "updated_parsed"),
        "summary": _get(item, "summary"),
        "content": tuple(value for part in _list(item, "content") if (value := _get(part, "value")).strip()),
        "authors": tuple(
            name for one in _list(item, "authors") if (name := _text(_get(one, "name") or _get(one, "email")))
        ),
        "categories": tuple(
            dict.fromkeys(
                name for tag in _list(item, "tags") if (name := _text(_get(tag, "label") or _get(tag, "term")))
            )
        ),
        "language": _get(item, "language"),
        "image": tuple(_pictures(item)),
        "source name": _get(source, "title"),
        "source link": _get(source, "href") or _get(source, "link"),
    }


def _same(name: str, ours: Fields, theirs: Fields) -> bool:
    one, other = ours[name], theirs[name]
    match name:
        case "published" | "updated" if _only_instant(ours) is not None:
            return _only_instant(ours) == _only_instant(theirs)
        case "published" | "updated":
            return (one is None) == (other is None) and (one is None or one // 1000 == other // 1000)
        case "authors" | "categories":
            return set(map(_text, one)) == set(map(_text, other))
        case "image":
            return one in other if other else not one
        case "summary" if not one and other in theirs["content"]:
            return True  # it copies content into a summary that is not there
        case "content" if other:
            return any(_same_text(one, part) for part in other)
        case "content":
            return not one
        case "summary":
            return _same_text(one, other)
        case "title" | "feed title" | "source name":
            return " ".join(one.split()) in (" ".join(other.split()), _text(other))
        case _:
            return bool(str(one).strip() == str(other).strip())


def _same_text(one: str, other: str) -> bool:
    """Whether HTML reads the same; or plain text, as feedparser leaves it."""
    return _text(one) in (_text(other), " ".join(other.split()))


def _only_instant(fields: Fields) -> int | None:
    """The one instant of an entry that has just one, to the second."""
    instants = {at // 1000 for at in (fields["published"], fields["updated"]) if at is not None}
    return instants.pop() if len(instants) == 1 else None


def _rule(name: str, ours: Fields, theirs: Fields, media: Media, url: str) -> str:
    """Who is right and by what; empty where no rule tells."""
    one, other = ours[name], theirs[name]
    texts = other if name == "content" else (other,) if name == "summary" else ()
    if texts and all(_text(text) in {*media.descriptions, _text(ours["summary"])} for text in texts):
        return "ours: media:description is about the medium (Media RSS)"
    if name == "categories" and other and set(map(_text, other)) - set(map(_text, one)) <= media.keywords:
        return "ours: media:keywords and media:category are about the medium (Media RSS)"
    if name == "image" and one and not other:
        return "ours: an image element in the item, which feedparser does not read"
    if name == "guid" and one and _joined(url, one) == other:
        return "ours: an id is a string and is not resolved (RSS 2.0, RFC 4287 4.2.6)"
    if name == "link" and not one and other == theirs["guid"]:
        return "ours: an id is no link (RFC 4287 4.2.6), nor is a guid without a scheme"
    return ""


def _media(document: Captured) -> Media:
    try:
        text = decode(unpacked(document.body, ReaderPolicy().max_bytes)[0], document.content_type)
    except FeedError:
        text = ""
    found: dict[str, set[str]] = {"description": set(), "keywords": set(), "category": set()}
    for name, inside in _MEDIA.findall(text):
        found[name].add(_text(inside.replace("<![CDATA[", "").replace("]]>", "")))
    words = {word.strip() for name in ("keywords", "category") for line in found[name] for word in line.split(",")}
    return Media(frozenset(found["description"]), frozenset(words))


def _joined(url: str, guid: str) -> str:
    try:
        return urljoin(url, guid)
    except ValueError:
        return guid


# ---------------------------------------------------------------- feedparser's results


def _get(about: object, name: str) -> str:
    # dict's own get: feedparser's looks for other names of what is not there.
    found = dict.get(about, name) if isinstance(about, dict) else None
    return found if isinstance(found, str) else ""


def _list(about: object, name: str) -> list[Fields]:
    found = dict.get(about, name) if isinstance(about, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _link(item: Fields) -> str:
    return _get(item, "feedburner_origlink") or _get(item, "link")


def _instant(item: Fields, name: str) -> int | None:
    parsed = dict.get(item, name)
    return calendar.timegm(parsed) * 1000 if parsed else None


def _pictures(item: Fields) -> Iterator[str]:
    for media in [*_list(item, "media_content"), *_list(item, "media_thumbnail")]:
        yield _get(media, "url")
    for link in _list(item, "links"):
        if _get(link, "rel") == "enclosure" and not _get(link, "type").startswith(("audio/", "video/")):
            yield _get(link, "href")
    image = dict.get(item, "image")
    if image:
        yield _get(image, "href")


def _text(markup: str) -> str:
    """The plain text of HTML, white space apart."""
    if "<" in markup or "&" in markup:
        try:
            root = html.fragment_fromstring(markup, create_parent="div")
            markup = "".join(root.itertext())
        except (etree.ParserError, etree.XMLSyntaxError, ValueError):
            pass
    return " ".join(markup.split())


def _shown(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)
    return " ".join(text.split())
