"""Atom 1.0 (RFC 4287) and 0.3. Only element names; no policy but limits."""

from __future__ import annotations

import base64
from itertools import islice

import msgspec

from state_schemas.fetching import Entry
from udfs.feeds.dates import parse_instant
from udfs.feeds.deletions import deletions
from udfs.feeds.document import Known, ParsedFeed, ReaderPolicy, is_known
from udfs.feeds.markup import Element, base_of, children, count, elements, language_of, markup_of, name_of, text_of
from udfs.feeds.pictures import picture
from udfs.feeds.texts import absolute, as_html, clip, collapse, plain

Children = dict[str, list[Element]]


def read(root: Element, url: str, policy: ReaderPolicy, whole: bool, known: Known | None) -> ParsedFeed:
    """The entries of an Atom document; without its last, where the document was cut short."""
    # The feed without a namespace is read as if it had its own.
    entry_name = "atom:entry" if name_of(root) == "atom:feed" else "entry"
    items = list(islice(elements(root, entry_name), policy.max_entries + 1 + (not whole)))
    total = len(items) if len(items) <= policy.max_entries else count(root, entry_name)
    if not whole:
        items = items[:-1]
    about = _children(root)
    links = [
        (link.get("rel", "alternate"), absolute(link.get("href", ""), base_of(link, url)))
        for link in about.get("link", ())
    ]
    return ParsedFeed(
        format="atom",
        entries=tuple(_entry(item, url, policy, known) for item in items[: policy.max_entries]),
        title=clip(_plain(about, "title"), policy.max_title),
        language=clip(language_of(root) or collapse(_text(about, "dc:language", "language")), 40),
        dropped=max(0, total - policy.max_entries),
        deleted=deletions(root, url, policy),
        hub=next((href for rel, href in links if rel == "hub"), ""),
        topic=next((href for rel, href in links if rel == "self"), ""),
    )


def _children(element: Element) -> Children:
    return {name.removeprefix("atom:"): found for name, found in children(element).items()}


def _entry(item: Element, url: str, policy: ReaderPolicy, known: Known | None) -> Entry:
    about = _children(item)
    brief = Entry(
        identity="",
        guid=clip(collapse(_text(about, "id")), policy.max_guid),
        link=_link(about, url),
        title=clip(_plain(about, "title"), policy.max_title),
        published_ms=parse_instant(_text(about, "published", "issued", "created", "dc:date", "dcterms:issued")),
        updated_ms=parse_instant(_text(about, "updated", "modified", "dcterms:modified")),
    )
    if is_known(brief, known):
        return brief
    source = about.get("source", [None])[0]
    origin = {} if source is None else _children(source)
    authors = dict.fromkeys(
        clip(collapse(_text(_children(author), "name", "email")), 200) for author in about.get("author", ())
    ) or dict.fromkeys(clip(collapse(text_of(name)), 200) for name in about.get("dc:creator", ()))
    authors.pop("", None)
    categories = dict.fromkeys(
        clip(plain(category.get("label") or category.get("term") or text_of(category)), 200)
        for category in [*about.get("category", ()), *about.get("dc:subject", ())]
    )
    categories.pop("", None)
    return msgspec.structs.replace(
        brief,
        summary=clip(_html(about, "summary"), policy.max_summary),
        content=clip(_html(about, "content"), policy.max_content),
        authors=tuple(authors)[: policy.max_names],
        categories=tuple(categories)[: policy.max_names],
        image=picture(item, children(item), base_of(item, url)),
        language=clip(language_of(item), 40),
        source_url="" if source is None else _link(origin, url) or absolute(_text(origin, "id"), ""),
        source_name="" if source is None else clip(_plain(origin, "title"), 200),
    )


def _link(about: Children, url: str) -> str:
    """The entry's page: an alternate link, HTML before other types; else what its content says it comes from."""
    found = []
    for link in about.get("link", ()):
        if link.get("rel", "alternate").strip().lower() in ("alternate", ""):
            kind = link.get("type", "text/html").lower()
            # Some write the address as text, as in RSS.
            address = absolute(link.get("href") or text_of(link), base_of(link, url))
            if address:
                found.append(("html" not in kind, address))
    if found:
        return min(found, key=lambda entry: entry[0])[1]
    for content in about.get("content", ()):
        if address := absolute(content.get("src", ""), base_of(content, url)):
            return address
    return ""


def _text(about: Children, *names: str) -> str:
    for name in names:
        for element in about.get(name, ()):
            if found := text_of(element).strip():
                return found
    return ""


def _plain(about: Children, name: str) -> str:
    """A text construct as plain text: of type text it is that already."""
    for element in about.get(name, ()):
        kind = element.get("type", "text").lower()
        text = _decoded(element) if element.get("mode") == "base64" else text_of(element)
        found = (
            plain(text)
            if kind in ("html", "text/html") or element.get("mode") in ("escaped", "base64")
            else collapse(text)
        )
        if found:
            return found
    return ""


def _html(about: Children, name: str) -> str:
    """A text construct or content as HTML; nothing for media types that hold no text."""
    for element in about.get(name, ()):
        kind = element.get("type", "text").lower()
        if element.get("src"):
            continue
        if element.get("mode") == "base64":
            found = _decoded(element)
        elif kind in ("text", "text/plain") and len(element) == 0 and element.get("mode") != "escaped":
            found = as_html(text_of(element))
        elif kind in ("text", "html", "xhtml", "text/plain", "text/html", "application/xhtml+xml"):
            found = markup_of(element)
        else:
            continue
        if found.strip():
            return found.strip()
    return ""


def _decoded(element: Element) -> str:
    """What a text construct of Atom 0.3 holds in base64; empty where it is none."""
    try:
        return base64.b64decode(text_of(element)).decode("utf-8", "replace")
    except ValueError:
        return ""
