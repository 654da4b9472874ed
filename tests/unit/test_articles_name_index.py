"""The mapped gazetteer of names, and what it is built from."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cli.errors import UserError
from cli.gazetteer import gazetteer
from udfs.articles.name_index import NameBuilder, NameIndex, NamesError, key_of
from udfs.articles.name_sources import Reading, table_names, wikidata_names

NAMES = st.text(st.characters(categories=("Lu", "Ll", "Lo"), include_characters=" "), min_size=1, max_size=12)


def item(identity: str, kind: str, names: dict[str, str], articles: int, aliases: tuple[str, ...] = ()) -> str:
    return json.dumps(
        {
            "type": "item",
            "id": identity,
            "labels": {language: {"language": language, "value": name} for language, name in names.items()},
            "aliases": {"en": [{"language": "en", "value": alias} for alias in aliases]},
            "claims": {
                "P31": [
                    {"rank": "normal", "mainsnak": {"snaktype": "value", "datavalue": {"value": {"id": kind}}}},
                    {"rank": "normal", "mainsnak": {"snaktype": "novalue"}},
                ]
            },
            "sitelinks": {f"{number}wiki": {} for number in range(articles)} | {"commonswiki": {}},
        }
    )


DUMP = "[\n" + ",\n".join(
    [
        item("Q900001", "Q5", {"en": "Iris Vandermolen", "ru": "Ирис Вандермолен", "xx": "Nobody"}, 20, ("Iris V. D.", "IV")),
        item("Q900002", "Q7278", {"en": "Harbour Party", "ja": "港の党"}, 8),
        item("Q900003", "Q5", {"en": "Little Known"}, 2),
        item("Q900004", "Q11173", {"en": "Some Molecule"}, 90),
        '{"type": "item", "id": "Q1", "claims": {"P31": 7}}',
        '{"broken',
    ]
) + "\n]\n"  # fmt: skip


@given(st.dictionaries(NAMES, st.sampled_from(["a", "b", "c"]), max_size=20))
def test_every_name_that_has_a_key_leads_to_its_entity(names: dict[str, str]) -> None:
    index = NameIndex.of((owner, "person", name, 1.0) for name, owner in names.items())
    keys = {name: key_of(name)[0] for name in names}
    for name, owner in names.items():
        if keys[name]:
            assert owner in [one.id for one in index.look_up([keys[name]])[0]]
    assert index.look_up(["never given as a name"]) == [()]


def test_namesakes_come_by_weight_and_a_file_says_the_same_as_memory(tmp_path: Path) -> None:
    rows = [
        ("x:1", "person", "Ada Byron", 1.0),
        ("x:2", "organisation", "Ada Byron", 2.0),
        ("x:2", "other", "東京電力", 2.0),
    ]
    builder = NameBuilder()
    for identity, kind, name, weight in rows:
        assert builder.add(identity, kind, name, weight)
    builder.write(tmp_path / "names")
    for index in (NameIndex.of(rows), NameIndex.open(tmp_path / "names")):
        assert [(one.id, one.type) for one in index.look_up(["ada byron"])[0]] == [
            ("x:2", "organisation"),
            ("x:1", "person"),
        ]
        assert index.longest(["ada", "byron"]) == [2, 0]
        assert index.starting(["東京", "東京電", "京電"]) == [True, True, False]
        assert (index.names, index.entities) == (3, 2)


@pytest.mark.parametrize("name", ["", " ", "A", "12", "!!", "one two three four five six seven"])
def test_what_can_match_nothing_is_refused(name: str) -> None:
    assert NameBuilder().add("x:1", "person", name) is False


def test_an_empty_index_answers() -> None:
    index = NameIndex.of([])
    assert index.look_up(["ada"]) == [()]
    assert index.longest(["ada"]) == [0]


@pytest.mark.parametrize(
    "content", [b"", b"something else", b"broadsheet names 1\n{}\n", b"broadsheet names 1\nnot json\n"]
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "names").write_bytes(content)
    with pytest.raises(NamesError, match="names"):
        NameIndex.open(tmp_path / "names")


def test_a_dump_gives_known_people_and_organisations_and_counts_the_rest() -> None:
    reading = Reading()
    rows = list(wikidata_names(DUMP.splitlines(), 5, reading))
    assert {(row.id, row.type, row.name) for row in rows} == {
        ("wd:Q900001", "person", "Iris Vandermolen"),
        ("wd:Q900001", "person", "Ирис Вандермолен"),
        ("wd:Q900001", "person", "Iris V. D."),
        ("wd:Q900002", "organisation", "Harbour Party"),
        ("wd:Q900002", "organisation", "港の党"),
    }
    assert reading.kept == 2
    assert reading.left_out == {"little_known": 1, "other_class": 1, "damaged": 2}


def test_a_table_as_jrc_names_has_it() -> None:
    reading = Reading()
    lines = [
        "# comment",
        "7\tP\tu\tIris+Vandermolen",
        "Q5\tO\ten\tHarbour Party\t1.5",
        "8\tZ\tu\tx",
        "9\tP",
        "\tP\tu\ty",
    ]
    rows = list(table_names(lines, reading))
    assert [(row.id, row.type, row.name, row.weight) for row in rows] == [
        ("jrc:7", "person", "Iris Vandermolen", 0.0),
        ("wd:Q5", "organisation", "Harbour Party", 1.5),
    ]
    assert reading.left_out == {"damaged": 3}


def test_build_and_check(tmp_path: Path) -> None:
    source, target = tmp_path / "dump.json.bz2", tmp_path / "names"
    source.write_bytes(bz2.compress(DUMP.encode()))
    built = CliRunner().invoke(gazetteer, ["build", str(source), "--output", str(target), "--json"])
    assert built.exit_code == 0, built.output
    assert json.loads(built.stdout)["left_out"]["little_known"] == 1
    shown = CliRunner().invoke(
        gazetteer, ["check", str(target), "--name", "Ирис Вандермолен", "--name", "国連", "--json"]
    )
    assert json.loads(shown.stdout)["names"] == json.loads(built.stdout)["names"]
    called = json.loads(shown.stdout)["called"]
    assert [one["id"] for one in called["Ирис Вандермолен"]] == ["wd:Q900001"]
    assert [one["id"] for one in called["国連"]] == ["wd:Q1065"]  # the seed is always in


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\n", b"BZh9 broken"])
def test_a_source_without_names_is_the_users_error(tmp_path: Path, content: bytes) -> None:
    for name in ("names.tsv", "dump.json", "dump.json.bz2"):
        (tmp_path / name).write_bytes(content)
        result = CliRunner().invoke(gazetteer, ["build", str(tmp_path / name), "--output", str(tmp_path / "out")])
        assert isinstance(result.exception, SystemExit | UserError), (name, result.exception)
        assert result.exit_code != 0
