"""Which changes are tombstones, and that every edition hears of them."""

from __future__ import annotations

import pytest

from state_schemas.pages import EditionPages
from tests.unit.ranking_samples import NOW, change
from udfs.editions import load_reference
from udfs.ranking.tombstones import tombstone_of, with_tombstones


@pytest.mark.parametrize(
    ("kind", "article", "cause", "retracted"),
    [
        ("retracted", "a", "gone", True),
        ("retracted", "a", "language_changed", None),
        ("started", "a", "reinstated", False),
        ("variant", "a", "reinstated", False),
        ("started", "a", "", None),
        ("updated", "a", "", None),
        ("expired", "", "empty", None),
    ],
)
def test_what_a_change_says(kind: str, article: str, cause: str, retracted: bool | None) -> None:
    found = tombstone_of(change(1, kind, "s1", article, cause=cause))
    assert (found.retracted if found is not None else None) == retracted


def test_editions_without_pages_hear_of_it_too() -> None:
    editions = [edition for edition in load_reference().editions if edition.language == "en"]
    stone = tombstone_of(change(1, "retracted", "s1", "a", cause="gone"))
    assert stone is not None
    ranked = [EditionPages(edition=editions[0].id, cycle=NOW, pages=())]
    found = with_tombstones(ranked, editions, NOW, (stone,))
    assert [pages.edition for pages in found] == [edition.id for edition in editions]
    assert all(pages.tombstones == (stone,) for pages in found)
    assert with_tombstones(ranked, editions, NOW, ()) is ranked
