"""The captured feeds of real publishers: as many entries as feedparser finds, with the same titles and links."""

from __future__ import annotations

import calendar
import csv
import os
import warnings
from pathlib import Path

import pytest

from udfs.feeds.reader import parse_feed

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("BROADSHEET_SHARED", CHECKOUT.parent / "shared")) / "data" / "feeds"
MANIFEST = FOLDER / "MANIFEST.tsv"

pytestmark = pytest.mark.skipif(not MANIFEST.exists(), reason=f"no captured feeds in {FOLDER}")


def listed() -> list[tuple[str, int]]:
    if not MANIFEST.exists():
        return [("", 0)]
    with MANIFEST.open(encoding="utf-8", newline="") as file:
        return [(row["file"], int(row["entries"])) for row in csv.DictReader(file, delimiter="\t")]


@pytest.mark.parametrize(("name", "entries"), listed())
def test_as_many_entries_as_feedparser_finds(name: str, entries: int) -> None:
    import feedparser

    body = (FOLDER / name).read_bytes()
    feed = parse_feed(body, f"https://{name.rsplit('-', 1)[0]}/feed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = feedparser.parse(body, sanitize_html=False)
    assert len(feed.entries) + feed.repeated + feed.dropped == len(other.entries) == entries
    assert not feed.malformed
    assert all(entry.link and entry.title and entry.published_ms for entry in feed.entries)
    links = [entry.get("feedburner_origlink") or entry.get("link") for entry in other.entries]
    if not feed.repeated:
        assert [entry.link for entry in feed.entries] == links
    # Dates that both read, read alike.
    dates = {entry.link: entry.published_ms for entry in feed.entries}
    for entry, link in zip(other.entries, links, strict=True):
        if parsed := entry.get("published_parsed"):
            assert dates[link] == calendar.timegm(parsed) * 1000
