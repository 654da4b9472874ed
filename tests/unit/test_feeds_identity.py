"""Guids that are no identity, and what tells items apart instead."""

from __future__ import annotations

import pytest

from state_schemas.fetching import Entry
from state_schemas.ids import hash64_hex
from udfs.feeds.identity import identified, is_relative

LINK = "https://news.example/a"


@pytest.mark.parametrize("guid", ["/a/17", "?p=3", "../x", "./x", "#1", "//news.example/a"])
def test_a_relative_reference_gives_way_to_the_link(guid: str) -> None:
    (entry,) = identified([Entry(identity="", guid=guid, link=LINK)], by_guid=True)
    assert entry.identity == hash64_hex("news.example/a")
    assert entry.guid == guid


@pytest.mark.parametrize("guid", ["17", "a/17", "tag:news.example,2026:17", "https://news.example/?p=3", "..."])
def test_what_may_be_an_opaque_id_is_one(guid: str) -> None:
    assert not is_relative(guid)
    (entry,) = identified([Entry(identity="", guid=guid, link=LINK)], by_guid=True)
    assert entry.identity == hash64_hex(guid)


def test_without_a_link_even_a_relative_guid_identifies() -> None:
    (entry,) = identified([Entry(identity="", guid="#1", title="A")], by_guid=True)
    assert entry.identity == hash64_hex("#1")


def test_positions_in_a_list_do_not_hide_what_follows_them() -> None:
    def document(first: int) -> list[Entry]:
        return [Entry(identity="", guid=f"#{n}", link=f"{LINK}{first + n}") for n in range(3)]

    before = {entry.identity for entry in identified(document(0), by_guid=True)}
    after = {entry.identity for entry in identified(document(1), by_guid=True)}
    assert len(after - before) == 1


def test_relative_guids_on_one_page_are_told_apart_by_title() -> None:
    entries = [Entry(identity="", guid=f"#{n}", link=LINK, title=f"Minute {n}") for n in range(3)]
    assert len(identified(entries, by_guid=True)) == 3
