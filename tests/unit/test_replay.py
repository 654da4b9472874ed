"""What a replay tells, what it refuses, and its parse by plain calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import cli.main
from cli import replay
from cli.errors import UserError
from cli.replay_comparison import Snapshot, compared
from cli.replay_parse import ParseReplay
from connectors.kafka import BrokerUnreachableError
from state_schemas.articles import Article, Entity, Removed
from state_schemas.codec import encode_record, pack_text, unpack_text
from state_schemas.fetching import Body, Entry, RawItem
from state_schemas.sources import Origin
from state_schemas.topics import ARTICLES
from udfs.articles.parse import InProcess, Reader
from udfs.articles.policy import ArticlesPolicy

READER = Reader(Path(__file__).parents[2] / "reference_data", ArticlesPolicy())
PLAIN = InProcess(READER.tracking)
NOW = 1_796_000_000_000


def article(name: str, version: int = 1, **fields: object) -> Article:
    known: dict[str, object] = {
        "article_id": name * 32, "language": "en", "version": version, "event": "new", "publisher": "n.example",
        "canonical_url": f"https://n.example/{name}", "title": "Lock closed", "first_seen_ms": 1, "decided_ms": 2,
        "parser_version": "1", "asked_url": f"https://n.example/{name}?asked", "body": pack_text("One text."),
    }  # fmt: skip
    return Article(**(known | fields))  # type: ignore[arg-type]


def removed(name: str, version: int, reason: str = "gone") -> Removed:
    return Removed(article_id=name * 32, language="en", version=version, decided_ms=3, reason=reason)


def log(*records: Article | Removed) -> Snapshot:
    found = Snapshot()
    for record in records:
        found.add(record)
    return found


def test_equal_logs_have_no_differences() -> None:
    found = compared(log(article("a"), article("b")), log(article("b"), article("a")), 3)
    assert (found.articles_same, found.articles_changed, found.articles_new, found.articles_gone) == (2, 0, 0, 0)
    assert found.examples == []


def test_changes_are_counted_by_field_and_some_are_shown() -> None:
    before = log(*(article(name, entities=(Entity(id="country:DE", name="Germany"),)) for name in "abc"))
    after = log(*(article(name, title=f"Lock {name}", body=pack_text("Another.")) for name in "abc"))
    found = compared(before, after, 2)
    assert dict(found.fields) == {"title": 3, "body": 3, "entities": 3}
    assert (found.articles_changed, found.articles_same) == (3, 0)
    titles = [example for example in found.examples if example.field == "title"]
    assert [(one.url, one.before, one.after) for one in titles] == [
        ("https://n.example/a", "Lock closed", "Lock a"),
        ("https://n.example/b", "Lock closed", "Lock b"),
    ]


def test_another_canonical_url_is_a_changed_field() -> None:
    moved = article("b", asked_url="https://n.example/a?asked")
    found = compared(log(article("a")), log(moved), 1)
    assert dict(found.fields) == {"canonical": 1}
    assert (found.articles_new, found.articles_gone) == (0, 0)


def test_articles_of_one_side_alone_are_new_or_gone() -> None:
    found = compared(log(article("a"), article("b")), log(article("b"), article("c")), 1)
    assert (found.articles_new, found.articles_gone, found.articles_same) == (1, 1, 1)


def test_the_last_version_counts_in_whatever_order() -> None:
    newest = article("a", 3, title="Third")
    assert compared(log(newest, article("a", 2)), log(article("a", 1), newest), 1).articles_same == 1


def test_a_tombstone_is_the_last_word() -> None:
    both = compared(log(article("a"), removed("a", 2)), log(removed("a", 1)), 1)
    assert (both.articles_same, dict(both.fields)) == (1, {})
    one = compared(log(article("a"), removed("a", 2)), log(article("a")), 1)
    assert dict(one.fields) == {"removed": 1}
    moved = log(article("a"), removed("a", 2, "language_changed"), article("a", 2, language="de"))
    assert dict(compared(log(article("a")), moved, 1).fields) == {"language": 1}


def raw(name: str, title: str, fetched_ms: int, **fields: object) -> bytes:
    html = (
        f'<html lang="en"><head><meta property="og:type" content="article"><title>{title}</title></head><body><article>'
        f"<p>{title}: the harbour board closed the eastern lock on Monday after a crack was found.</p></article></body></html>"
    )
    known: dict[str, object] = {
        "kind": "page", "url": f"https://n.example/{name}", "origin": Origin(publisher="n.example"), "found_ms": NOW,
        "fetched_ms": fetched_ms, "body": Body(size=len(html), zstd=pack_text(html)),
    }  # fmt: skip
    return encode_record(RawItem(**(known | fields)))  # type: ignore[arg-type]


def test_evidence_is_decided_as_the_job_decides_it() -> None:
    stage = ParseReplay(READER, PLAIN, lambda _: None, None)
    values = [
        raw("one", "Lock closed", 10),
        raw("one", "Lock closed", 11),
        raw("one", "Lock open", 12),
        raw("two", "", 13, body=Body(size=9, evidence="ff" * 32)),
        raw("one", "", 14, kind="retraction", body=None, reason="gone"),
        b"no record",
        raw("three", "", 15, kind="entry", body=None, entry=Entry(identity="0" * 16, title="Told", link="https://n.example/3")),
    ]  # fmt: skip
    records = [record for value in values for record in stage.decided(value, NOW)]
    assert [(type(record).__name__, record.version) for record in records] == [
        ("Article", 1), ("Article", 2), ("Removed", 3), ("Article", 1),
    ]  # fmt: skip
    assert all(record.decided_ms == NOW for record in records)
    assert dict(stage.rejected) == {"evidence_missing": 1, "record_undecodable": 1}
    assert (stage.counts["records"], stage.counts["duplicate"]) == (7, 1)
    again = ParseReplay(READER, PLAIN, lambda _: None, None)
    assert [record for value in values for record in again.decided(value, NOW)] == records


def test_large_bodies_come_from_the_object_store() -> None:
    html = "<html><head><meta property='og:type' content='article'><title>Big</title></head><body><p>Words of it.</p></body></html>"
    stored = {"ff" * 32: pack_text(html)}
    stage = ParseReplay(READER, PLAIN, stored.get, None)
    (record,) = stage.decided(raw("big", "", 1, body=Body(size=9, evidence="ff" * 32)), NOW)
    assert isinstance(record, Article)
    assert (record.title, unpack_text(record.body)) == ("Big", "Words of it.")


@pytest.mark.parametrize(
    ("text", "ms"),
    [("2026-11-30T12:00Z", 1_796_040_000_000), ("2026-11-30 12:00", 1_796_040_000_000), ("2h", NOW - 7_200_000)],
)
def test_times(text: str, ms: int) -> None:
    assert replay.instant(text, NOW) == ms


@pytest.mark.parametrize("text", ["yesterday", "", "2w", "9999-99-99"])
def test_no_times(text: str) -> None:
    with pytest.raises(UserError, match="is no time"):
        replay.instant(text, NOW)


def test_the_new_log_is_made_like_the_old_one() -> None:
    assert replay.target("articles.try-1").config() == ARTICLES.config()
    assert replay.target("articles.try-1").partitions == ARTICLES.partitions


@pytest.mark.parametrize("name", ["articles.normalised", "items.raw", "a b", "..", "__consumer_offsets", ""])
def test_topics_that_are_refused(name: str) -> None:
    with pytest.raises(UserError):
        replay.target(name)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [(KeyboardInterrupt(), 130, "interrupted; 0 records"), (BrokerUnreachableError("no Kafka answers"), 2, "no Kafka")],
)
def test_it_ends_in_one_line(monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, said: str) -> None:
    def fails(*_: object) -> Snapshot:
        raise error

    monkeypatch.setattr(replay, "_snapshot", fails)
    answer = CliRunner().invoke(cli.main.broadsheet, ["replay", "parse", "--from", "2h", "--into", "again"])
    assert answer.exit_code == status
    assert said in answer.output
    assert len(answer.output.strip().splitlines()) == 1
