"""By what a feed's items are told apart: guid, else link, else title and date; and what is no identity at all.

A guid that is a relative reference counts only where there is no link.

Looks at one document; that guids once proved useless is remembered by the poll row and passed in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

import msgspec

from state_schemas.fetching import Entry
from state_schemas.ids import hash64_hex

# An address whose page is what stands behind its scheme.
_PLAIN = re.compile(r"https?://[a-z0-9.-]+/[A-Za-z0-9/_.~%=&+,:;@!$'()*-]*(?:\?[A-Za-z0-9/_.~%=&?+,:;@!$'()*-]+)?")


def page_address(link: str) -> str:
    """The link as identity of a page: without scheme and fragment, the host in lower case."""
    if _PLAIN.fullmatch(link):
        return link.partition("//")[2]
    try:
        parts = urlsplit(link)
    except ValueError:
        return link
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.netloc.lower()}{parts.path or '/'}{query}"


def is_relative(guid: str) -> bool:
    """Whether a guid is a relative reference, such as `/a/17`, `?p=3`, `../x` and `#1`: a place, and no identity.

    A bare word or number may be an opaque id, and is one.
    """
    return guid.startswith(("/", "?", "#", "./", "../"))


def guids_repeat(entries: Iterable[Entry]) -> bool:
    """Whether one guid stands for items of different links (or, without links, of different titles)."""
    stood_for: dict[str, str] = {}
    for entry in entries:
        if entry.guid:
            meant = page_address(entry.link) if entry.link else f"title:{entry.title}"
            if stood_for.setdefault(entry.guid, meant) != meant:
                return True
    return False


def identified(entries: Iterable[Entry], *, by_guid: bool) -> tuple[Entry, ...]:
    """The entries with their identity set, each identity once: the first in document order stays.

    A link that stands for several titles (a section's front page) identifies none of them.
    """
    entries = tuple(entries)
    titles: dict[str, set[str]] = {}
    for entry in entries:
        if entry.link:
            titles.setdefault(page_address(entry.link), set()).add(entry.title)
    found: dict[str, Entry] = {}
    for entry in entries:
        if by_guid and entry.guid and not (entry.link and is_relative(entry.guid)):
            identity = entry.guid
        elif entry.link and len(titles[page_address(entry.link)]) == 1:
            identity = page_address(entry.link)
        else:
            identity = f"{entry.title or entry.summary[:400]}\n{entry.published_ms}"
        key = hash64_hex(identity)
        if key not in found:
            found[key] = msgspec.structs.replace(entry, identity=key)
    return tuple(found.values())
