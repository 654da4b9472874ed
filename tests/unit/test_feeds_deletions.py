"""What a publisher withdraws, and what withdraws nothing."""

from __future__ import annotations

import pytest

from udfs.feeds.document import Deletion, ParsedFeed, ReaderPolicy
from udfs.feeds.reader import parse_feed

URL = "https://news.example/f/atom.xml"
NOON = 1_796_040_000_000  # 2026-11-30T12:00:00Z


def atom(inside: str, policy: ReaderPolicy | None = None) -> ParsedFeed:
    document = (
        '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0">'
        f"<title>Nord</title>{inside}</feed>"
    )
    return parse_feed(document.encode(), URL, policy=policy)


def entry(ref: str, updated: str) -> str:
    return f"<entry><id>{ref}</id><title>{ref}</title><updated>{updated}</updated></entry>"


def test_a_deleted_entry_of_atom() -> None:
    feed = atom(
        '<at:deleted-entry ref=" tag:nord,7 " when="2026-11-30T12:00:00Z"><at:comment>Withdrawn</at:comment>'
        '<link rel="self" href="/f/7.xml"/><link href="../sturm"/></at:deleted-entry>' + entry("tag:nord,8", "")
    )
    assert feed.deleted == (Deletion("tag:nord,7", "https://news.example/sturm", NOON),)
    assert [one.guid for one in feed.entries] == ["tag:nord,8"]


def test_in_rss_its_link_is_atoms() -> None:
    document = (
        '<rss xmlns:t="http://purl.org/atompub/tombstones/1.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>'
        '<t:deleted-entry ref="a1" when="2026-11-30T13:00:00+01:00"><atom:link href="https://news.example/1"/>'
        "</t:deleted-entry><item><guid>a2</guid></item></channel></rss>"
    )
    feed = parse_feed(document.encode(), URL)
    assert feed.deleted == (Deletion("a1", "https://news.example/1", NOON),)
    assert [one.guid for one in feed.entries] == ["a2"]


@pytest.mark.parametrize(
    ("element", "deleted"),
    [
        pytest.param('<at:deleted-entry ref="x"/>', (Deletion("x", "", None),), id="no time"),
        pytest.param('<at:deleted-entry ref="x" when="soon"/>', (Deletion("x", "", None),), id="no time that reads"),
        pytest.param('<at:deleted-entry when="2026-11-30T12:00:00Z"/>', (), id="of nothing"),
        pytest.param('<at:deleted-entry ref=" "/>', (), id="of white space"),
        pytest.param('<deleted-entry ref="x"/>', (), id="in Atom's own namespace"),
        pytest.param('<entry><id>1</id><at:deleted-entry ref="x"/></entry>', (), id="inside an entry"),
    ],
)
def test_what_an_element_withdraws(element: str, deleted: tuple[Deletion, ...]) -> None:
    assert atom(element).deleted == deleted


def test_each_id_once_and_a_bounded_number() -> None:
    many = "".join(f'<at:deleted-entry ref="{n // 2}"/>' for n in range(1_000))
    assert [one.ref for one in atom(many, ReaderPolicy(max_deletions=6)).deleted] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("updated", "entries", "deletions"),
    [
        pytest.param("2026-11-30T11:00:00Z", 0, 1, id="changed before: withdrawn"),
        pytest.param("2026-11-30T12:00:00Z", 0, 1, id="at the same time: withdrawn"),
        pytest.param("", 0, 1, id="without a time: withdrawn"),
        pytest.param("2026-11-30T13:00:00Z", 1, 0, id="changed since: published again"),
    ],
)
def test_an_entry_beside_its_own_deletion(updated: str, entries: int, deletions: int) -> None:
    feed = atom('<at:deleted-entry ref="x" when="2026-11-30T12:00:00Z"/>' + entry("x", updated))
    assert (len(feed.entries), len(feed.deleted)) == (entries, deletions)
