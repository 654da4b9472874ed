"""RSS 0.9 to 2.0 and RDF (RSS 1.0), with the modules that news feeds use. Only element names; no policy but limits."""

from __future__ import annotations

import re
from itertools import islice

import msgspec

from state_schemas.fetching import Entry
from udfs.feeds.dates import parse_instant
from udfs.feeds.deletions import deletions
from udfs.feeds.document import Known, ParsedFeed, ReaderPolicy, is_known
from udfs.feeds.markup import Element, base_of, children, count, elements, language_of, markup_of, name_of, text_of
from udfs.feeds.pictures import picture
from udfs.feeds.texts import absolute, clip, collapse, plain

Children = dict[str, list[Element]]

_HOUR_MS = 3_600_000
_ADDRESS = r"[^\s@()<>]{1,100}@[^\s@()<>]{1,100}"
_PERSON = re.compile(rf"{_ADDRESS}\s*\((\S[^()]{{0,200}})\)|(\S[^()<>]{{0,200}}?)\s*(?:\({_ADDRESS}\)|<{_ADDRESS}>)")
_PERIODS = {"hourly": 1, "daily": 24, "weekly": 168, "monthly": 720, "yearly": 8760}  # hours; module syndication
# A feed's own word on how long it stays the same is a hint; above this it is a mistake in its unit.
_TTL_CEILING_MS = 7 * 24 * _HOUR_MS


def read(root: Element, url: str, policy: ReaderPolicy, whole: bool, known: Known | None) -> ParsedFeed:
    """The entries of an RSS document; without its last, where the document was cut short."""
    channel = next(elements(root, "channel"), root)
    about = children(channel)
    items = list(islice(elements(root, "item"), policy.max_entries + 1 + (not whole)))
    total = len(items) if len(items) <= policy.max_entries else count(root, "item")
    if not whole:
        items = items[:-1]
    links = [(link.get("rel", ""), link.get("href", "")) for link in about.get("atom:link", ())]
    return ParsedFeed(
        format="rdf" if name_of(root).startswith("rdf") else "rss",
        entries=tuple(_entry(item, url, policy, known) for item in items[: policy.max_entries]),
        title=clip(plain(_first(about, "title")), policy.max_title),
        language=clip(
            collapse(_first(about, "language", "dc:language")) or language_of(channel) or language_of(root), 40
        ),
        dropped=max(0, total - policy.max_entries),
        deleted=deletions(channel, url, policy),
        ttl_ms=_ttl_ms(about),
        hub=next((absolute(href, url) for rel, href in links if rel == "hub"), ""),
        topic=next((absolute(href, url) for rel, href in links if rel == "self"), ""),
    )


def _entry(item: Element, url: str, policy: ReaderPolicy, known: Known | None) -> Entry:
    about = children(item)
    base = base_of(item, url)
    guid = collapse(_first(about, "guid", "atom:id", "id", "dc:identifier")) or _rdf_about(item)
    published = _first(about, "pubdate", "dc:date", "dcterms:issued", "dcterms:created", "atom:published", "date")
    updated = _first(about, "atom:updated", "updated", "dcterms:modified", "lastbuilddate", "modified")
    brief = Entry(
        identity="",
        guid=clip(guid, policy.max_guid),
        link=_link(item, about, base, guid),
        title=clip(plain(_first(about, "title", "media:title", "dc:title")), policy.max_title),
        published_ms=parse_instant(published),
        updated_ms=parse_instant(updated),
    )
    if is_known(brief, known):
        return brief
    source = about.get("source", [None])[0]
    description, content = (
        _markup(about, "description", "itunes:summary", "summary", "dc:description"),
        _markup(about, "content:encoded", "fullitem", "xhtml:body", "body"),
    )
    return msgspec.structs.replace(
        brief,
        summary=clip(description, policy.max_summary),
        content=clip(content, policy.max_content),
        authors=_names(about, "dc:creator", "author", "dc:author", "itunes:author", limit=policy.max_names),
        categories=_names(about, "category", "dc:subject", limit=policy.max_names),
        image=picture(item, about, base),
        language=clip(collapse(_first(about, "dc:language")) or language_of(item), 40),
        source_url="" if source is None else absolute(source.get("url", ""), base),
        source_name="" if source is None else clip(plain(text_of(source)), 200),
    )


def _link(item: Element, about: Children, base: str, guid: str) -> str:
    """The page of an item: the publisher's own address before a counter's, a guid that is one before none."""
    written = [text_of(link) or link.get("href", "") for link in about.get("link", ())]
    written += [
        link.get("href", "") for link in about.get("atom:link", ()) if link.get("rel", "alternate") == "alternate"
    ]
    for candidate in [_first(about, "feedburner:origlink"), *written, _rdf_about(item)]:
        if found := absolute(candidate, base):
            return found
    # A guid is a permalink unless it says that it is none (RSS 2.0). One without a scheme is an identity at best.
    guids = about.get("guid", ())
    if guids and guids[0].get("isPermaLink", guids[0].get("ispermalink", "true")).strip().lower() != "false":
        return absolute(guid, "") if guid.lower().startswith(("http://", "https://")) else ""
    return ""


def _rdf_about(item: Element) -> str:
    return str(item.get("{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about", "")).strip()


def _first(about: Children, *names: str) -> str:
    """The text of the first of these elements that has any."""
    for name in names:
        for element in about.get(name, ()):
            if found := text_of(element).strip():
                return found
    return ""


def _markup(about: Children, *names: str) -> str:
    for name in names:
        for element in about.get(name, ()):
            if found := markup_of(element).strip():
                return found
    return ""


def _names(about: Children, *names: str, limit: int) -> tuple[str, ...]:
    """The texts of all elements of the first name that has any, each once."""
    for name in names:
        found = dict.fromkeys(clip(_name(plain(text_of(element))), 200) for element in about.get(name, ()))
        found.pop("", None)
        if found:
            return tuple(found)[:limit]
    return ()


def _name(text: str) -> str:
    """`desk@news.example (Ann Lee)`, as RSS 2.0 wants an author, and `Ann Lee (desk@news.example)` are Ann Lee."""
    person = _PERSON.fullmatch(text)
    return person.group(1) or person.group(2) if person else text


def _ttl_ms(about: Children) -> int | None:
    """`ttl` (minutes), else the syndication module's period over its frequency."""
    minutes = _first(about, "ttl")
    if minutes.isascii() and minutes.isdigit():
        return min(int(minutes[:9]) * 60_000, _TTL_CEILING_MS) or None
    hours = _PERIODS.get(_first(about, "sy:updateperiod").lower())
    if hours is None:
        return None
    frequency = _first(about, "sy:updatefrequency")
    times = int(frequency[:6]) if frequency.isascii() and frequency.isdigit() else 1
    return min(hours * _HOUR_MS // max(times, 1), _TTL_CEILING_MS) or None
