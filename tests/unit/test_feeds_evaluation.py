"""`broadsheet eval feeds`: which readings differ, by whose fault, and what the command prints."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cli import feed_evaluation
from cli.eval import evaluate
from cli.feed_comparison import Captured
from cli.feed_evaluation import Evaluation, captured, evaluate_feeds
from udfs.feeds.document import ReaderPolicy

KEYS = {"feeds", "entries", "differing_fields", "crashes", "seconds", "feedparser_seconds"}
ITEM = (
    "<item><title>Caf&amp;eacute; opens</title><link>https://news.example/1</link><guid>https://news.example/1</guid>"
    "<pubDate>Mon, 30 Nov 2026 12:00:00 +0100</pubDate><dc:creator>Ann Lee</dc:creator><category>Food</category>"
    "<description>&lt;p&gt;Two  words&lt;/p&gt;</description></item>"
)


def rss(items: str) -> str:
    return (
        '<rss xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/">'
        f"<channel><title>Harbour</title><language>en</language>{items}</channel></rss>"
    )


def evaluated(text: str | bytes, name: str = "a.xml") -> Evaluation:
    body = text.encode() if isinstance(text, str) else text
    return evaluate_feeds([Captured(name, body, "https://news.example/f/feed.xml", "")], ReaderPolicy())


def differing(text: str) -> list[tuple[str, str]]:
    return [(one.field, one.rule.partition(":")[0]) for one in evaluated(text).differences]


def test_a_plain_feed_reads_the_same() -> None:
    found = evaluated(rss(ITEM))
    assert (found.feeds, found.entries, found.differences, found.crashes) == (1, 1, [], [])
    assert found.seconds > 0
    assert found.feedparser_seconds > 0


@pytest.mark.parametrize(
    "item",
    [
        pytest.param("<item><guid isPermaLink='false'>1</guid><title>  a \n b </title><description> x\n\n y</description></item>", id="space"),
        pytest.param("<item><guid>http://n.example/1</guid><dc:date>2026-11-30T12:00:00+01:00</dc:date></item>", id="its only date"),
        pytest.param("<item><guid>http://n.example/1</guid><content:encoded>&lt;p&gt;x&lt;/p&gt;</content:encoded></item>", id="content without summary"),
        pytest.param(ITEM + ITEM, id="a repetition"),
        pytest.param("<item><guid isPermaLink='false'>b</guid><title>B</title></item><item><guid isPermaLink='false'>a</guid><title>A</title></item>", id="order"),
    ],
)  # fmt: skip
def test_no_difference(item: str) -> None:
    assert differing(rss(item)) == []


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param(
            "<item><guid isPermaLink='false'>1</guid><media:content url='/a.jpg' medium='image'><media:description>A ferry"
            "</media:description></media:content><description>The strike ends</description></item>",
            {("content", "ours"), ("summary", "ours"), ("image", "")},
            id="a picture's words",
        ),
        pytest.param(
            "<item><guid isPermaLink='false'>1</guid><media:keywords>sea, ship</media:keywords><category>World</category></item>",
            {("categories", "ours")},
            id="a picture's keywords",
        ),
        pytest.param("<item><guid>17-c</guid><title>A</title></item>", {("guid", "ours"), ("link", "ours")}, id="an id"),
    ],
)  # fmt: skip
def test_differences_carry_the_rule_that_decides_them(item: str, expected: set[tuple[str, str]]) -> None:
    found = set(differing(rss(item)))
    assert found
    assert found <= expected


def test_an_item_that_one_reader_misses_differs_in_its_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    real = feed_evaluation.parse_feed

    def half(*args: object, **keywords: object) -> object:
        parsed = real(*args, **keywords)  # type: ignore[arg-type]
        return type(parsed)(format=parsed.format, entries=parsed.entries[:1], title="Harbour", language="en")

    monkeypatch.setattr(feed_evaluation, "parse_feed", half)
    other = ITEM.replace("example/1", "example/2")
    assert {name for name, _ in differing(rss(ITEM + other))} >= {"title", "link", "published", "authors"}


def test_a_reader_that_raises_or_finds_nothing_has_crashed(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = '<!DOCTYPE rss [<!ENTITY a "b">]>' + rss(ITEM)
    assert [reason for _, reason in evaluated(bomb).crashes] == ["xml_entities"]

    def broken(*_: object, **__: object) -> object:
        raise KeyError("x")

    monkeypatch.setattr(feed_evaluation, "parse_feed", broken)
    assert [reason for _, reason in evaluated(rss("")).crashes] == ["raised KeyError: 'x'"]


def test_what_neither_reads_is_no_crash() -> None:
    found = evaluated("just words")
    assert (found.crashes, found.refused) == ([], [("a.xml", "not_a_feed")])


def test_files_with_and_without_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "b.xml").write_text(rss(ITEM))
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(rss(ITEM).encode()))
    (tmp_path / "c.json").write_text('{"version": "https://jsonfeed.org/version/1", "items": [{"id": "1"}]}')
    (tmp_path / "notes.txt").write_text("no feed")
    (tmp_path / "d.xml").mkdir()
    assert [(one.name, one.url) for one in captured(tmp_path)] == [
        (name, f"https://feeds.invalid/{name}") for name in ("a.xml.gz", "b.xml", "c.json")
    ]
    (tmp_path / "MANIFEST.tsv").write_text(
        "file\thost\turl\tcontent_type\nb.xml\tnews.example\t\ttext/xml; charset=utf-8\nc.json\t\thttps://j.example/feed\n"
    )
    assert [(one.url, one.content_type) for one in captured(tmp_path)] == [
        ("https://feeds.invalid/a.xml.gz", ""),
        ("https://news.example/b.xml", "text/xml; charset=utf-8"),
        ("https://j.example/feed", ""),
    ]


def test_the_command_prints_a_table_or_one_object(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(rss("<item><guid>17-c</guid><title>A</title></item>"))
    (tmp_path / "b.rss").write_text("just words")
    (tmp_path / "c.xml.gz").write_bytes(gzip.compress(rss(ITEM).encode()))
    printed = CliRunner().invoke(evaluate, ["feeds", str(tmp_path), "--json"])
    assert printed.exit_code == 0
    figures = json.loads(printed.stdout)
    assert figures.keys() >= KEYS
    assert all(isinstance(value, int | float) for value in figures.values())
    assert (figures["feeds"], figures["entries"], figures["crashes"], figures["refused"]) == (3, 2, 0, 1)
    table = CliRunner().invoke(evaluate, ["feeds", str(tmp_path)]).stdout
    assert "feedparser: https://feeds.invalid/17-c" in table
    assert "b.rss: not_a_feed" in table


@pytest.mark.parametrize("prepare", ["none", "empty", "manifest"])
def test_a_folder_that_cannot_be_used_is_one_line(tmp_path: Path, prepare: str) -> None:
    folder = tmp_path / prepare
    if prepare != "none":
        folder.mkdir()
    if prepare == "manifest":
        (folder / "MANIFEST.tsv").write_bytes(b"\xff\xfe\x00")
    result = CliRunner().invoke(evaluate, ["feeds", str(folder)], standalone_mode=False)
    assert isinstance(result.exception, click.ClickException)  # an absent folder is refused by its option already
    assert "\n" not in str(result.exception.message)
