"""`broadsheet eval clusters` and what it reads: labelled files, good and bad; real vectors where the encoder is built."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.errors import UserError
from cli.eval import evaluate
from cli.labelled_events import as_articles, assign, read_labelled
from connectors.settings import Endpoints
from udfs.stories.policy import ClusterPolicy, load_model

KEYS = {
    "articles",
    "events",
    "stories",
    "pair_precision",
    "pair_recall",
    "pair_f1",
    "b3_precision",
    "b3_recall",
    "b3_f1",
    "id_stability",
}

# Of our own: one earthquake in other words, as in field case clustering/same-event-other-words, and a match.
ROWS = [
    {
        "title": "Quake rattles Lima suburbs, 6.1 recorded",
        "text": "A magnitude 6.1 earthquake shook the eastern suburbs of Lima on Tuesday night. In San Juan de "
        "Lurigancho people ran into the streets as walls cracked. The Geophysical Institute of Peru put the centre 40 "
        "kilometres below the district.",
        "cluster": "quake",
    },
    {
        "title": "Eleven hurt as buildings shake in Peruvian capital",
        "text": "At least eleven people were treated in hospitals of Lima after a strong tremor of magnitude 6.1, fire "
        "fighters said. Most were struck by falling bricks in San Juan, where an old market lost its roof. Peru's "
        "institute of geophysics counted three aftershocks.",
        "cluster": "quake",
    },
    {
        "title": "Rovers reach cup final after late goal",
        "text": "Harbour Rovers will play for the cup after Ines Calder scored in the last minute against Millbrook "
        "United. Rovers had lost their last two semi-finals.",
        "cluster": "cup",
    },
]


def built() -> Endpoints:
    endpoints = Endpoints.from_mapping(os.environ)
    if not (Path(endpoints.encoder_folder) / "manifest.json").is_file():
        pytest.skip("the encoder is not built: make setup")
    return endpoints


def labelled_file(folder: Path, *, dates: bool = True) -> Path:
    path = folder / "events.jsonl"
    lines = []
    for number, row in enumerate(ROWS):
        stamp = f"2026-11-30T10:{10 * number:02d}:00" if dates else None
        lines.append(json.dumps({"id": f"r{number}", "lang": "en", "published_at": stamp} | row))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_one_event_in_other_words_is_one_story(tmp_path):
    endpoints = built()
    rows = read_labelled(labelled_file(tmp_path), use_times=True)
    labelled = list(as_articles(rows, endpoints))
    model = load_model(endpoints.reference_data_folder() / "clustering.toml")
    first, second, third = assign(labelled, model, ClusterPolicy())
    assert first.story == second.story != third.story
    assert first.stable


@pytest.mark.parametrize("options", [[], ["--no-time"]])
def test_json_is_one_object_with_the_agreed_keys(tmp_path, options):
    built()
    done = CliRunner().invoke(evaluate, ["clusters", str(labelled_file(tmp_path)), "--json", *options])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found.keys() >= KEYS
    assert all(isinstance(value, int | float) for value in found.values())
    assert (found["articles"], found["events"]) == (3, 2)


def test_rows_without_a_date_keep_their_place(tmp_path):
    path = tmp_path / "some.jsonl"
    stamps = ["2026-01-02T00:00:00", None, "2026-01-01T00:00:00+00:00", "2026-01-01T02:00:00+02:00"]
    lines = [
        json.dumps({"id": str(number), "title": "t", "text": "x", "cluster": "c", "published_at": stamp})
        for number, stamp in enumerate(stamps)
    ]
    path.write_text("\n\n".join(lines), "utf-8")
    assert [row["id"] for row, _ in read_labelled(path, use_times=True)] == ["2", "3", "0", "1"]
    assert [row["id"] for row, _ in read_labelled(path, use_times=False)] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no article"),
        (b"{", "line 1"),
        (b'{"id": 1, "title": "t"}', "no text and no cluster"),
        (b"[1]", "no id"),
        (b'{"id": 1, "title": "t", "text": "x", "cluster": "c", "published_at": "soon"}', "line 1"),
        (b"\xff\xfe", "utf-8"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, content, says):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_labelled(path, use_times=True)
    assert says in error.value.message
    assert "\n" not in error.value.message


def test_an_absent_file_is_exit_status_2(tmp_path):
    done = CliRunner().invoke(evaluate, ["clusters", str(tmp_path / "absent.jsonl")])
    assert done.exit_code == 2
    assert done.output.count("absent.jsonl") == 1
    assert done.output.endswith(": No such file or directory\n")
