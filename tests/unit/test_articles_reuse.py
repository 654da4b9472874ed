"""What publishers allow to be shown: who a rule is for, which is the strictest, and what must not be quoted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_schemas.articles import Article
from state_schemas.fetching import Entry, RawItem
from state_schemas.sources import Origin
from udfs.articles.canonical import load_tracking_parameters
from udfs.articles.events import Reading
from udfs.articles.extract import Extraction, extract_page
from udfs.articles.identity import decide
from udfs.articles.reuse import Reuse, may_quote, quotable, reuse_of

TRACKING = load_tracking_parameters(Path(__file__).parents[2] / "reference_data" / "tracking_parameters.txt")
READ_MS = 1_796_018_400_000  # 2026-11-30T06:00Z
NOTHING = Reuse()


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param("index, follow", NOTHING, id="nothing forbidden"),
        pytest.param("all", NOTHING, id="all"),
        pytest.param("noindex", Reuse(noindex=True), id="noindex"),
        pytest.param("NOINDEX,NOFOLLOW", Reuse(noindex=True), id="in capitals"),
        pytest.param("none", Reuse(noindex=True), id="none is noindex and nofollow"),
        pytest.param("noindex nofollow", Reuse(noindex=True), id="spaces for commas"),
        pytest.param("nofollow, noarchive, notranslate, nocache", NOTHING, id="rules about what we never do"),
        pytest.param("nosnippet", Reuse(max_snippet=0), id="nosnippet is a snippet of none"),
        pytest.param("max-snippet:80", Reuse(max_snippet=80), id="max-snippet"),
        pytest.param("max-snippet: 80 , max-snippet:50", Reuse(max_snippet=50), id="the smaller"),
        pytest.param("max-snippet:-1", NOTHING, id="no limit"),
        pytest.param("max-snippet:-1, max-snippet:20", Reuse(max_snippet=20), id="no limit beside a limit"),
        pytest.param("max-snippet:soon", NOTHING, id="no number"),
        pytest.param("max-snippet:0", Reuse(max_snippet=0), id="zero"),
        pytest.param("max-image-preview:none", Reuse(max_image_preview="none"), id="no image is not noindex"),
        pytest.param("max-image-preview:large, max-image-preview:standard", Reuse(max_image_preview="standard"), id="the smaller image"),
        pytest.param("max-image-preview:huge", NOTHING, id="an unknown size"),
        pytest.param("noimageindex", Reuse(max_image_preview="none"), id="noimageindex"),
        pytest.param("max-video-preview:0", NOTHING, id="videos are not shown"),
        pytest.param("noindex, indexifembedded", Reuse(noindex=True), id="we embed nothing"),
        pytest.param("unavailable_after: 2026-11-29", Reuse(noindex=True), id="a day that is over"),
        pytest.param("unavailable_after: 2027-01-01", NOTHING, id="a day to come"),
        pytest.param("unavailable_after: Monday, 30-Nov-26 05:59:00 UTC, max-snippet:5", Reuse(noindex=True, max_snippet=5), id="RFC 850"),
        pytest.param("unavailable_after: Mon, 30 Nov 2026 06:01:00 GMT", NOTHING, id="RFC 5322, in a minute"),
        pytest.param("unavailable_after: 29 Nov 2026 15:00:00 PST", Reuse(noindex=True), id="RFC 822"),
        pytest.param("unavailable_after: some day", NOTHING, id="no date"),
        pytest.param("", NOTHING, id="empty"),
        pytest.param(",,:,", NOTHING, id="rubbish"),
    ],
)  # fmt: skip
def test_a_rule_reads_the_same_in_a_meta_and_in_a_header(rules: str, expected: Reuse) -> None:
    assert reuse_of({"robots": [rules]}, "", READ_MS) == expected
    assert reuse_of({}, rules, READ_MS) == expected
    assert reuse_of({"robots": [rules]}, rules, READ_MS) == expected


@pytest.mark.parametrize(
    ("name", "obeyed"),
    [
        ("robots", True), ("googlebot", True), ("googlebot-news", True), ("broadsheet", True), ("broadsheetbot", True),
        ("otherbot", False), ("bingbot", False),
    ],
)  # fmt: skip
def test_rules_for_us_and_for_news_search_are_obeyed_those_for_others_are_not(name: str, obeyed: bool) -> None:
    assert reuse_of({name: ["noindex"]}, "", READ_MS).noindex is obeyed
    header = "noindex" if name == "robots" else f"{name}: noindex"
    assert reuse_of({}, header, READ_MS).noindex is obeyed


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("otherbot: noindex, nofollow", NOTHING),
        ("otherbot: noindex, broadsheetbot: max-snippet:9", Reuse(max_snippet=9)),
        ("BroadsheetBot: max-snippet:9, noindex", Reuse(noindex=True, max_snippet=9)),
        ("noindex, otherbot: nosnippet", Reuse(noindex=True)),
        ("otherbot: nosnippet\nnoindex", Reuse(noindex=True)),
        ("otherbot: max-snippet:3, noindex\nmax-image-preview:none", Reuse(max_image_preview="none")),
    ],
)
def test_a_header_may_name_whom_it_is_for_up_to_the_next_name(header: str, expected: Reuse) -> None:
    assert reuse_of({}, header, READ_MS) == expected


def test_the_strictest_of_page_header_and_record_wins() -> None:
    meta = {"robots": ["max-snippet:200, max-image-preview:large"], "googlebot-news": ["max-snippet:-1"]}
    header = "max-snippet:50, max-image-preview:standard"
    assert reuse_of(meta, header, READ_MS, max_snippet=90) == Reuse(False, 50, "standard")
    assert reuse_of(meta, header, READ_MS, max_snippet=10) == Reuse(False, 10, "standard")
    assert reuse_of(meta, "", READ_MS, max_snippet=-1, noindex=True) == Reuse(True, 200, "large")


RULE = st.sampled_from(
    ["noindex", "nosnippet", "max-snippet:10", "max-snippet:-1", "max-image-preview:none", "index", "otherbot: none"]
)


@given(st.lists(RULE, max_size=4), st.lists(RULE, max_size=4))
def test_a_further_rule_never_allows_more(some: list[str], more: list[str]) -> None:
    def strictness(found: Reuse) -> tuple[bool, int, int]:
        sizes = {"none": 0, "standard": 1, "large": 2, "": 3}
        return (
            found.noindex,
            -(10**9 if found.max_snippet is None else found.max_snippet),
            -sizes[found.max_image_preview],
        )

    fewer = strictness(reuse_of({"robots": some}, "", READ_MS))
    both = strictness(reuse_of({"robots": [*some, *more]}, "\n".join(more), READ_MS))
    assert all(after >= before for before, after in zip(fewer, both, strict=True))


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_text_breaks_the_reader(meta: str, header: str) -> None:
    reuse_of({"robots": [meta]}, header, READ_MS)


# ---------------------------------------------------------------- data-nosnippet

SECRET = "The password of the lock keeper is swordfish, the board admitted on Monday."
OPEN = "The harbour board closed the eastern lock on Monday after a crack was found in its lower gate."


def extracted(head: str, body: str, entry: Entry | None = None, header: str = "") -> Extraction:
    raw = RawItem(
        kind="page", url="https://n.example/a/lock-1234", origin=Origin(publisher="n.example", max_snippet=500),
        found_ms=1, fetched_ms=READ_MS, entry=entry, headers={"x-robots-tag": header} if header else {},
    )  # fmt: skip
    html = f"<html><head><title>Lock closed</title>{head}</head><body><article><h1>Lock closed</h1>{body}</article></body></html>"
    found = extract_page(raw, html.encode(), TRACKING)
    assert isinstance(found, Extraction), found
    return found


ARTICLE = '<meta property="og:type" content="article">'


@pytest.mark.parametrize("element", ["p", "div", "section", "span"])
def test_a_part_not_to_be_quoted_is_no_lede_and_stays_in_the_body(element: str) -> None:
    inner = f"<p>{SECRET}</p>" if element in ("div", "section") else SECRET
    hidden = f"<{element} data-nosnippet>{inner}</{element}>"
    found = extracted(ARTICLE, f"{hidden if element != 'span' else f'<p>{hidden}</p>'}<p>{OPEN}</p><p>{OPEN[::-1]}</p>")
    assert found.lede == OPEN
    assert SECRET in found.body


def test_a_line_that_holds_such_a_part_is_not_quoted_either() -> None:
    found = extracted(ARTICLE, f"<p>Yesterday: <span data-nosnippet>{SECRET}</span> So it was.</p><p>{OPEN}</p>")
    assert found.lede == OPEN


def test_nor_where_the_page_or_its_feed_says_it_again() -> None:
    hidden = f"<p data-nosnippet>{SECRET}</p><p>{OPEN}</p>"
    described = f'{ARTICLE}<meta name="description" content="{SECRET}">'
    assert extracted(described, hidden).lede == OPEN
    entry = Entry(identity="0" * 16, title="Lock closed", summary=SECRET)
    assert extracted(ARTICLE, hidden, entry).lede == OPEN
    shortened = SECRET[:40] + "…"
    assert extracted(f'{ARTICLE}<meta name="description" content="{shortened}">', hidden).lede == OPEN


def test_where_nothing_may_be_quoted_there_is_no_lede() -> None:
    found = extracted(ARTICLE, f"<div data-nosnippet><p>{SECRET}</p><p>{OPEN}</p></div>")
    assert found.lede == ""
    assert OPEN in found.body


def test_a_short_mark_hides_only_itself() -> None:
    assert quotable("Ad\nAdmiral on board", ("Ad",)) == "Ad\nAdmiral on board"
    assert may_quote("anything", ())
    assert quotable(f"{OPEN}\n{SECRET}", (SECRET,)) == OPEN


def test_page_header_and_record_meet_in_the_article() -> None:
    found = extracted(
        f'{ARTICLE}<meta name="Robots" content="max-snippet:100">', f"<p>{OPEN}</p>", header="noimageindex"
    )
    assert (found.noindex, found.max_snippet, found.max_image_preview) == (False, 100, "none")
    assert extracted(ARTICLE, f"<p>{OPEN}</p>").max_snippet == 500


# ---------------------------------------------------------------- a rule that comes later


@pytest.mark.parametrize(
    "rule", [{"noindex": True}, {"max_snippet": 0}, {"max_snippet": 80}, {"max_image_preview": "none"}]
)
def test_a_rule_that_comes_later_makes_a_new_version_and_its_end_another(rule: dict[str, object]) -> None:
    def reading(read_ms: int, **fields: object) -> Reading:
        article = Article(
            article_id="a", language="en", version=0, event="new", canonical_url="https://n.example/a", publisher="n",
            title="Lock closed", first_seen_ms=1, decided_ms=0, parser_version="1", found_ms=1, **fields,  # type: ignore[arg-type]
        )  # fmt: skip
        return Reading(article=article, body=OPEN, read_ms=read_ms, from_page=True)

    first = decide(None, reading(10), 100)
    forbidden = decide(first.row, reading(20, **rule), 200)
    assert (forbidden.status, len(forbidden.send)) == ("update", 1)
    sent = forbidden.send[0]
    assert isinstance(sent, Article)
    assert (sent.version, sent.changed) == (2, ("labels",))
    assert decide(forbidden.row, reading(30, **rule), 300).status == "duplicate"
    assert decide(forbidden.row, reading(30), 300).status == "update"
