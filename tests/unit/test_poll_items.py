"""What a document brings, whether its known entries were read whole or in brief."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.feeds.document import ParsedFeed
from udfs.feeds.reader import parse_feed
from udfs.poll.items import as_before, difference
from udfs.poll.policy import PollPolicy

POLICY = PollPolicy()
# (number, title, minute of its date or none, has a guid)
ITEM = st.tuples(
    st.integers(0, 12), st.sampled_from(["A", "B", ""]), st.one_of(st.none(), st.integers(0, 3)), st.booleans()
)
DOCUMENTS = st.lists(st.lists(ITEM, max_size=14), min_size=1, max_size=4)


def rss(items: list[tuple[int, str, int | None, bool]]) -> bytes:
    written = "".join(
        "<item>"
        + (f"<guid isPermaLink='false'>g{number}</guid>" if guid else "")
        + f"<title>{title}</title><link>https://n.example/{number}</link>"
        + (f"<pubDate>Mon, 30 Nov 2026 10:0{minute}:00 GMT</pubDate>" if minute is not None else "")
        + f"<description>About {number}</description><category>c</category></item>"
        for number, title, minute, guid in items
    )
    return f"<rss><channel>{written}</channel></rss>".encode()


def atom(items: list[tuple[int, str, int | None, bool]]) -> bytes:
    written = "".join(
        "<entry>"
        + (f"<id>g{number}</id>" if guid else "")
        + f"<title>{title}</title><link href='https://n.example/{number}'/>"
        + (f"<updated>2026-11-30T10:0{minute}:00Z</updated>" if minute is not None else "")
        + f"<summary>About {number}</summary></entry>"
        for number, title, minute, guid in items
    )
    return f"<feed xmlns='http://www.w3.org/2005/Atom'>{written}</feed>".encode()


@pytest.mark.parametrize("write", [rss, atom])
@given(documents=DOCUMENTS, trust=st.booleans())
def test_reading_known_entries_in_brief_changes_nothing(write, documents, trust) -> None:  # type: ignore[no-untyped-def]
    seen = b""
    for items in documents:
        body = write(items)
        whole, brief = (
            parse_feed(body, "https://n.example/feed", known=known)
            for known in (None, as_before(seen) if seen else None)
        )
        found = difference(seen, whole.entries, POLICY, trust_stamps=trust)
        assert difference(seen, brief.entries, POLICY, trust_stamps=trust) == found
        seen = found.seen


def test_an_entry_as_it_was_is_read_in_brief_and_a_changed_one_whole() -> None:
    first = rss([(1, "A", 0, True), (2, "B", 1, True)])
    seen = difference(b"", parse_feed(first, "u").entries, POLICY, trust_stamps=True).seen
    again: ParsedFeed = parse_feed(
        rss([(1, "A", 0, True), (2, "Corrected", 1, True), (3, "C", 2, True)]), "u", known=as_before(seen)
    )
    assert [entry.summary for entry in again.entries] == ["", "About 2", "About 3"]
    assert again.entries[0].link == "https://n.example/1"
