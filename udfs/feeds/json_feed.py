"""JSON Feed 1.0 and 1.1 (jsonfeed.org). What is not of the type the format asks for is left out, never an error."""

from __future__ import annotations

import json
from typing import Any

from state_schemas.fetching import Entry
from udfs.feeds.dates import parse_instant
from udfs.feeds.document import FeedError, ParsedFeed, ReaderPolicy
from udfs.feeds.texts import absolute, as_html, clip, collapse


def read(text: str, url: str, policy: ReaderPolicy) -> ParsedFeed:
    """The items of a JSON Feed. Raises FeedError `json_invalid` or `not_a_feed`."""
    try:
        # Not strict: raw line ends inside strings are common and harmless.
        document = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        raise FeedError("json_invalid", str(error)) from None
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        raise FeedError("not_a_feed", "JSON without a list of items")
    if "jsonfeed.org" not in _text(document, "version"):
        raise FeedError("not_a_feed", f"JSON of version {_text(document, 'version')[:60]!r}")
    items = [item for item in document["items"] if isinstance(item, dict)]
    language = clip(_text(document, "language"), 40)
    return ParsedFeed(
        format="json",
        entries=tuple(_entry(item, url, policy) for item in items[: policy.max_entries]),
        title=clip(collapse(_text(document, "title")), policy.max_title),
        language=language,
        dropped=max(0, len(items) - policy.max_entries),
        hub=next((absolute(_text(hub, "url"), url) for hub in _dicts(document, "hubs")), ""),
        topic=absolute(_text(document, "feed_url"), url),
    )


def _entry(item: dict[str, Any], url: str, policy: ReaderPolicy) -> Entry:
    # 1.1 has `authors`, 1.0 one `author`.
    authors = _dicts(item, "authors") or ([item["author"]] if isinstance(item.get("author"), dict) else [])
    names = dict.fromkeys(clip(collapse(_text(author, "name")), 200) for author in authors)
    names.pop("", None)
    tags = item.get("tags")
    given = item.get("id")
    return Entry(
        identity="",
        guid=clip(str(given).strip() if isinstance(given, str | int | float) else "", policy.max_guid),
        link=absolute(_text(item, "url") or _text(item, "external_url"), url),
        title=clip(collapse(_text(item, "title")), policy.max_title),
        summary=clip(as_html(_text(item, "summary")), policy.max_summary),
        content=clip(_text(item, "content_html") or as_html(_text(item, "content_text")), policy.max_content),
        authors=tuple(names)[: policy.max_names],
        published_ms=parse_instant(_text(item, "date_published")),
        updated_ms=parse_instant(_text(item, "date_modified")),
        categories=tuple(
            dict.fromkeys(clip(collapse(tag), 200) for tag in tags if isinstance(tag, str) and tag.strip())
        )[: policy.max_names]
        if isinstance(tags, list)
        else (),
        image=absolute(_text(item, "image") or _text(item, "banner_image"), url),
        language=clip(_text(item, "language"), 40),
    )


def _text(about: dict[str, Any], name: str) -> str:
    found = about.get(name)
    return found if isinstance(found, str) else ""


def _dicts(about: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = about.get(name)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
