"""Characters of publishers' texts: what is taken out, what scripts and emoji need, and the laws of cleaning."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.articles.characters import FORBIDDEN, clean_line, clean_text
from udfs.articles.text import text_of_html

FORBIDDEN_CATEGORIES = ("Cc", "Co", "Cs")
# Letters, marks, joiners and invisible characters that act upon each other, more often than chance has them together.
ODD = st.sampled_from(
    list("a e<&;ि्क가\u0301\u0327\u0323\u200c\u200d\u180e\u1820\u0627\ufe0f\U0001f469\U0001f3fd\u200b\u202e\u2066")
    + list("\n\r\t\x85\u2028\u2029\x0b\x1c\x00\xad\u1100\u1161\u11a8\u094d\u09cd\u0d4d\ue000\ud800\ufdd0\U000e0041")
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(ODD, max_size=30).map("".join))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Dam\x1b[31m holds\x07", "Dam[31m holds", id="terminal escapes"),
        pytest.param("pay \u202egpj.exe\u202c \u2067now\u2069", "pay gpj.exe now", id="bidi overrides and isolates"),
        pytest.param("a\u200bb\ufeffc\u2060d\u034fe\u2064f", "abcdef", id="zero-width"),
        pytest.param("\u3164\uffa0x\u115f", "x", id="fillers that look like nothing"),
        pytest.param("x\U000e0041\U000e0042y", "xy", id="tag characters"),
        pytest.param("logo \ue000 \U000f1234", "logo", id="private use"),
        pytest.param("a\ufdd0b\uffffc\U0001fffed", "abcd", id="noncharacters"),
        pytest.param("a\ud83db", "ab", id="a lone surrogate"),
        pytest.param("one\u2028two\u2029three\x0bfour\x0cfive\x1csix", "one two three four five six", id="separators"),
        pytest.param("e\u200b\u0301tat", "état", id="composed after what stood between is gone"),
        pytest.param("Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319a", "Z\u0334\u0319\u0351a", id="a tower of marks"),
        pytest.param("می\u200cخواهم", "می\u200cخواهم", id="Persian keeps its non-joiner"),
        pytest.param("PDF\u200cها", "PDF\u200cها", id="a Persian plural of a foreign word"),
        pytest.param("ക\u0d28\u0d4d\u200d", "ക\u0d28\u0d4d\u200d", id="a Malayalam final half letter"),
        pytest.param("क\u094d\u200dष", "क\u094d\u200dष", id="Hindi half letter"),
        pytest.param("\u182e\u1823\u1829\u180e\u1820", "\u182e\u1823\u1829\u180e\u1820", id="Mongolian vowel separator"),
        pytest.param("Auf\u200clage fi\u200dsh", "Auflage fish", id="Latin needs no joiner"),
        pytest.param("👩\u200d👩\u200d👧 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥", "👩\u200d👩\u200d👧 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥", id="emoji sequences"),
        pytest.param("می\u200c\u200c\u200dخ", "می\u200cخ", id="one joiner is enough"),
        pytest.param("\u200c edge \u200d", "edge", id="joiners that join nothing"),
    ],
)  # fmt: skip
def test_what_is_kept_of_a_line(text: str, expected: str) -> None:
    assert clean_line(text) == expected


def test_a_text_keeps_its_lines_whatever_ends_them() -> None:
    assert clean_text("a\rb\r\nc\u2028d\u2029e\x85f\x0cg\n\n \n h ") == "a\nb\nc\nd\ne\nf\ng\nh"
    assert clean_line("a\rb\r\nc\u2028d\u2029e\x85f\x0cg\n\n \n h ") == "a b c d e f g h"


def test_long_texts_are_cut_and_stay_clean() -> None:
    assert len(clean_line("x" * 9_000)) == 500
    assert clean_line("می\u200cخواهم", 3) == "می"
    assert clean_text("a b", 2) == "a"


@given(TEXTS, st.sampled_from([clean_line, clean_text]), st.integers(1, 80))
def test_cleaning_is_idempotent_and_lets_nothing_forbidden_through(
    text: str, clean: Callable[[str, int], str], limit: int
) -> None:
    found = clean(text, limit)
    assert clean(found, limit) == found
    assert len(found) <= limit
    assert unicodedata.is_normalized("NFC", found)
    assert not re.search(f"[{FORBIDDEN}]", found)
    assert not [char for char in found if char != "\n" and unicodedata.category(char) in FORBIDDEN_CATEGORIES]
    assert clean is clean_text or "\n" not in found
    assert found == found.strip()
    found.encode()


@given(TEXTS, TEXTS)
def test_the_text_of_html_is_clean_too(one: str, other: str) -> None:
    for fragment in (one, f"<p>{one}</p>{other}", f"{one}&#x202e;&#8203;{other}&amp;"):
        found = text_of_html(fragment)
        assert clean_text(found) == found


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("AT&amp;T", "AT&T"),
        ("AT&amp;amp;T", "AT&amp;T"),
        ("&lt;script&gt;x()&lt;/script&gt;", "<script>x()</script>"),
        ("&amp;lt;script&amp;gt;", "&lt;script&gt;"),
        ("&#x202e;evil&#x202c; &#x1b;[2J", "evil [2J"),
        ("a&nbsp;b&ensp;c", "a b c"),
        ("5 &lt; 6", "5 < 6"),
    ],
)
def test_entities_are_decoded_exactly_once(fragment: str, expected: str) -> None:
    assert text_of_html(fragment) == expected


def test_a_megabyte_of_brackets_is_read_in_one_pass() -> None:
    assert text_of_html("<a" * 500_000) != ""
