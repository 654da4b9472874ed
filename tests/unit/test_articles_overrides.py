"""What is known of single publishers: read from the reference data, each fault told, the nearest domain's counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from state_schemas.fetching import RawItem
from state_schemas.sources import Origin
from udfs.articles.canonical import load_tracking_parameters
from udfs.articles.extract import Extraction, extract_page
from udfs.articles.overrides import NONE, ORDER, Override, Overrides, load_overrides, parse_overrides
from udfs.reference_faults import Fault, ReferenceDataError

REFERENCE = Path(__file__).parents[2] / "reference_data"
TRACKING = load_tracking_parameters(REFERENCE / "tracking_parameters.txt")
TEXT = "The harbour board closed the eastern lock on Monday after a crack was found in its lower gate, it said. "
PAGE = (
    "<html lang='en'><head><title>Lock closed</title><meta property='og:title' content='Shared headline'>"
    "<meta property='article:published_time' content='03/04/2026'>"
    "<script type='application/ld+json'>"
    '{"@type":"NewsArticle","headline":"Own headline","author":"Ann Lee"}'
    f"</script></head><body><article><p>{TEXT}</p><p class='promo-x'>{TEXT}Buy.</p><p>{TEXT}Ferries wait.</p></article>"
    f"<div id='story'>{TEXT}Elsewhere.</div></body></html>"
)


def read(text: str) -> Overrides:
    faults: list[Fault] = []
    found = parse_overrides(text, faults)
    assert faults == []
    return found


def extracted(text: str) -> Extraction:
    raw = RawItem(
        kind="page", url="https://www.daily.example/lock", origin=Origin(publisher="d"), found_ms=1, fetched_ms=2
    )
    found = extract_page(raw, PAGE.encode(), TRACKING, read(text))
    assert isinstance(found, Extraction)
    return found


def test_the_projects_own_file_is_sound() -> None:
    assert load_overrides(REFERENCE).by_host


def test_no_file_is_no_override(tmp_path: Path) -> None:
    assert load_overrides(tmp_path) == Overrides()


def test_the_nearest_domain_counts() -> None:
    found = Overrides({"daily.example": Override(date_order="day_first"), "m.daily.example": Override()})
    assert found.of("www.DAILY.example").date_order == "day_first"
    assert found.of("m.daily.example").date_order == ""
    assert found.of("otherdaily.example") is NONE
    assert found.of("") is NONE


def test_fields_follow_a_publishers_order() -> None:
    plain = extracted("")
    assert (plain.title, plain.authors, plain.published_ms) == ("Shared headline", ("Ann Lee",), None)
    told = extracted('["daily.example"]\ntitle = ["json_ld", "og"]\nauthors = "none"\ndate_order = "day_first"')
    assert (told.title, told.authors, told.sources["title"]) == ("Own headline", (), "json_ld")
    assert told.published_ms == 1_775_174_400_000  # 3 April 2026
    assert extracted('["daily.example"]\ndate_order = "month_first"').published_ms == 1_772_582_400_000  # 4 March


def test_the_body_is_where_a_publisher_is_known_to_have_it() -> None:
    assert "Buy." in extracted("").body
    assert "Buy." not in extracted('["daily.example"]\nstrip = ["//p[@class=\'promo-x\']"]').body
    assert extracted('["daily.example"]\nbody = ["//div[@id=\'story\']"]').body == f"{TEXT}Elsewhere."
    # A path that finds nothing any more leaves the page to the general rules.
    assert extracted('["daily.example"]\nbody = ["//div[@id=\'gone\']"]').body == extracted("").body


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "is not TOML"),
        ("daily = 1", "is no table"),
        ('["Daily.example"]\ntitle = ["og"]', "is no host name"),
        ('["https://daily.example"]\ntitle = ["og"]', "is no host name"),
        ('["daily.example"]\nheadline = ["og"]', "headline is no key"),
        ('["daily.example"]\ntitle = ["rss"]', "rss is no source"),
        ('["daily.example"]\ntitle = "none"', "title"),
        ('["daily.example"]\ntitle = []', "title"),
        ('["daily.example"]\nbody = ["//div["]', "is no XPath"),
        ('["daily.example"]\nstrip = ["count(//div)"]', "selects no elements"),
        ('["daily.example"]\nbody = "//div"', "is no list"),
        ('["daily.example"]\ndate_order = "us"', "date_order"),
    ],
)
def test_each_fault_is_told(text: str, said: str, tmp_path: Path) -> None:
    faults: list[Fault] = []
    parse_overrides(text, faults)
    assert any(said in str(fault) for fault in faults)
    (tmp_path / "publishers.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ReferenceDataError):
        load_overrides(tmp_path)


@pytest.mark.parametrize("head", ['["daily.example"]', "['daily.example']", '[ "daily.example" ]'])
def test_a_fault_names_the_line_of_its_table_not_of_a_comment(head: str) -> None:
    faults: list[Fault] = []
    parse_overrides(f'# A table a site: ["daily.example"] is one.\n\n{head}\nheadline = ["og"]\n', faults)
    assert [fault.line for fault in faults] == [3]


def test_every_field_has_an_order_without_doubles() -> None:
    for sources in ORDER.values():
        assert len(set(sources)) == len(sources) > 1
