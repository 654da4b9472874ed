"""Entries that their publisher withdrew: `at:deleted-entry` (RFC 6721), in Atom and, as some publish it, in RSS."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from state_schemas.fetching import Entry
from udfs.feeds.dates import parse_instant
from udfs.feeds.document import Deletion, ParsedFeed, ReaderPolicy
from udfs.feeds.markup import Element, base_of, children, name_of, text_of
from udfs.feeds.texts import absolute, clip, collapse

NAME = "at:deleted-entry"


def deletions(channel: Element, url: str, policy: ReaderPolicy) -> tuple[Deletion, ...]:
    """The first of each `ref`, in document order, policy.max_deletions at most. One without `ref` says nothing."""
    found: dict[str, Deletion] = {}
    for element in islice((child for child in channel if name_of(child) == NAME), policy.max_deletions):
        ref = clip(collapse(element.get("ref", "")), policy.max_guid)
        if ref:
            found.setdefault(ref, Deletion(ref, _link(element, url), parse_instant(element.get("when", ""))))
    return tuple(found.values())


def reconciled(parsed: ParsedFeed) -> ParsedFeed:
    """Without entries that the same document withdraws. One changed after its deletion is published again: it stays,
    and the deletion goes."""
    when = {deletion.ref: deletion.deleted_ms for deletion in parsed.deleted}
    if not when:
        return parsed
    entries = tuple(entry for entry in parsed.entries if entry.guid not in when or _later(entry, when[entry.guid]))
    present = {entry.guid for entry in entries}
    deleted = tuple(deletion for deletion in parsed.deleted if deletion.ref not in present)
    return replace(parsed, entries=entries, deleted=deleted)


def _later(entry: Entry, deleted_ms: int | None) -> bool:
    changed = max((at for at in (entry.updated_ms, entry.published_ms) if at is not None), default=None)
    return changed is not None and deleted_ms is not None and changed > deleted_ms


def _link(element: Element, url: str) -> str:
    about = children(element)
    for link in [*about.get("atom:link", ()), *about.get("link", ())]:
        if link.get("rel", "alternate").strip().lower() in ("alternate", ""):
            address = absolute(link.get("href") or text_of(link), base_of(link, url))
            if address:
                return address
    return ""
