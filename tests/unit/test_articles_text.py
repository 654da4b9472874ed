"""Clean text, folded titles, and the dates of pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.articles.dates import instant_ms
from udfs.articles.text import clean_line, clean_text, folded, folded_title, text_of_html, without_publisher


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mayor\x08 resigns\x1e", "Mayor resigns"),
        ("Cafe\u0301", "Café"),
        ("a\u00a0b\u2003c \t d", "a b c d"),
        ("one\ntwo", "one two"),
        ("re\u00adopens", "reopens"),
        ("\u202eevil\u202c", "evil"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("\u200c edge \u200d", "edge"),
        ("\ud800lone", "lone"),
    ],
)
def test_lines_are_cleaned(text: str, expected: str) -> None:
    assert clean_line(text) == expected


def test_texts_keep_their_paragraphs() -> None:
    assert clean_text("a  b\r\n\r\n\r\n c\u2029d ") == "a b\nc\nd"
    assert len(clean_line("x" * 9_000)) == 500


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("<p>One.</p><p>Two<br>lines</p>", "One.\nTwo\nlines"),
        ("a &amp; b", "a & b"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("5 < 6 and 7 > 3", "5 < 6 and 7 > 3"),
        ("<script>x()</script><style>p{}</style>seen", "seen"),
        ("<p>Loose<div>block</div>tail</p>", "Loose\nblock\ntail"),
        ("<!-- hidden -->shown", "shown"),
        ("", ""),
    ],
)
def test_the_text_of_html(fragment: str, expected: str) -> None:
    assert text_of_html(fragment) == expected


def test_look_alike_titles_are_equal_when_folded() -> None:
    one = folded_title("Daily: Le café «\u00a0rouvre\u00a0»".replace("\u00a0", ""), "Daily")
    other = folded_title('Le cafe\u0301 "rouvre" | Daily', "Daily")
    assert one == other


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Dam holds | Daily Harbour", "Dam holds"),
        ("Dam holds - Daily Harbour", "Dam holds"),
        ("Daily Harbour: Dam holds", "Dam holds"),
        ("Dam holds - for now - Daily Harbour", "Dam holds - for now"),
        ("Daily Harbour", "Daily Harbour"),
        ("Dam-holds", "Dam-holds"),
    ],
)
def test_the_publishers_name_is_no_part_of_a_title(title: str, expected: str) -> None:
    assert without_publisher(title, "Daily Harbour") == expected


@given(st.text(max_size=200))
def test_cleaning_is_idempotent(text: str) -> None:
    assert clean_line(clean_line(text)) == clean_line(text)
    assert clean_text(clean_text(text)) == clean_text(text)
    assert folded(folded(text)) == folded(text)
    text_of_html(text)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("2026-11-30T06:00:00Z", "", 1_796_018_400_000),
        ("2026-03-01T00:30:00+02:00", "", 1_772_317_800_000),
        ("2026-11-30", "", 1_795_996_800_000),
        ("1796018400", "", 1_796_018_400_000),
        ("1796018400123", "", 1_796_018_400_123),
        ("12.07.2026", "de", 1_783_814_400_000),
        ("13.07.2026", "de", 1_783_900_800_000),
        ("12/07/2026", "fr", 1_783_814_400_000),
        ("07/13/2026", "en", 1_783_900_800_000),
        ("03/04/2026", "en", None),
        ("2026/7/3 9:05:11", "", 1_783_069_511_000),
        ("31.02.2026", "de", None),
        ("yesterday", "en", None),
        ("2026", "en", None),
        ("0001-01-01T00:00:00Z", "", None),
        ("9999-01-01", "", None),
        ("", "", None),
    ],
)
def test_dates_are_read_whole_or_not_at_all(text: str, language: str, expected: int | None) -> None:
    assert instant_ms(text, language) == expected


@given(st.text(max_size=40), st.sampled_from(["", "en", "de"]))
def test_no_text_breaks_the_reader_of_dates(text: str, language: str) -> None:
    instant_ms(text, language)
