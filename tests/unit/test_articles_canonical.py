"""Canonical URLs: the table of forms, what a page may claim, and the laws."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_schemas.ids import article_id
from udfs.articles.canonical import (
    clean,
    identity_form,
    load_tracking_parameters,
    site,
    tracking_parameters,
)

TRACKING = load_tracking_parameters(Path(__file__).parents[2] / "reference_data" / "tracking_parameters.txt")


FORMS = Path(__file__).with_name("canonical_forms.tsv")


def forms() -> list[object]:
    rows = [line.split("\t") for line in FORMS.read_text("utf-8").split("\n") if line and not line.startswith("#")]
    return [
        pytest.param(re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), url), wanted, id=f"{kind}: {note}")
        for kind, note, url, wanted in rows
    ]


@pytest.mark.parametrize(("url", "wanted"), forms())
def test_one_form_for_all_the_ways_that_lead_to_a_page(url: str, wanted: str) -> None:
    found = clean(url, TRACKING)
    assert (found or "-") == wanted
    if found is not None:
        assert clean(found, TRACKING) == found
        as_stated = clean(url, TRACKING, forms=False)
        assert as_stated is not None
        assert identity_form(as_stated) == identity_form(found)


def test_the_table_is_large_and_names_each_address_once() -> None:
    addresses = [parameters.values[0] for parameters in forms()]  # type: ignore[attr-defined]
    assert len(addresses) == len(set(addresses)) > 150


def test_without_forms_the_address_is_the_one_that_answered() -> None:
    for url in ("https://m.n.example/a", "https://n.example/a/amp", "https://n.example/a?print=1"):
        assert clean(f"{url}#part", TRACKING, forms=False) == url
        assert identity_form(url) == "n.example/a"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://n.example/a", "https://n.example/a"),
        ("https://www.n.example/a", "https://n.example/a"),
        ("https://n.example/a/", "https://n.example/a"),
        ("https://www.n.example/?p=1", "http://n.example?p=1"),
    ],
)
def test_scheme_www_and_a_last_slash_tell_no_articles_apart(one: str, other: str) -> None:
    first, second = clean(one, TRACKING), clean(other, TRACKING)
    assert first is not None
    assert second is not None
    assert article_id(identity_form(first)) == article_id(identity_form(second))


def test_a_site_that_moves_to_https_keeps_its_articles() -> None:
    before = {identity_form(clean(f"http://n.example/?p={n}", TRACKING) or "") for n in range(30)}
    after = {identity_form(clean(f"https://n.example/?p={n}", TRACKING) or "") for n in range(30)}
    assert before == after
    assert len(before) == 30


def test_sites_are_registrable_domains() -> None:
    assert site("https://www.news.co.uk/a") == "news.co.uk"
    assert site("https://one.blogspot.com/") != site("https://two.blogspot.com/")
    assert site("http://a.press.localhost:1/") == "press.localhost"
    assert site("http://127.0.0.1:1/") == "127.0.0.1"


def test_a_rule_holds_for_names_beginnings_values_and_hosts() -> None:
    rules = tracking_parameters(
        [
            "# why",
            "",
            "utm_*",
            "Ref=<word>",
            "from=rss*",
            "sid=<hex>",
            "source@n.example",
            "tag=x@n.example",
            "!ref@git.example",
        ]
    )

    def left(host: str, pair: str) -> bool:
        return clean(f"https://{host}/a?{pair}", rules) == f"https://{host}/a?{pair}"

    assert not left("n.example", "UTM_Content=x")
    assert left("n.example", "utc_offset=3")
    assert not left("n.example", "ref=home")
    assert not left("n.example", "ref=")
    assert left("n.example", "ref=20261130")
    assert left("n.example", "reference=home")
    assert not left("n.example", "from=RSS_main")
    assert left("n.example", "from=2026")
    assert not left("n.example", "sid=0123456789abcdef")
    assert left("n.example", "sid=0123456789012345")
    assert left("n.example", "sid=abc123")
    assert not left("www.n.example", "source=x")
    assert left("on.example", "source=x")
    assert not left("n.example", "tag=x")
    assert left("n.example", "tag=y")
    assert left("git.example", "ref=main")
    assert not left("git.example", "utm_source=x")


@pytest.mark.parametrize("line", ["*", "=x", "!ref", "two words", "@n.example", "*_id"])
def test_a_line_that_is_no_rule_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="no rule"):
        tracking_parameters([line])


def test_the_list_itself_takes_no_parameter_that_names_articles() -> None:
    names = ("id", "p", "page", "q", "s", "story", "article", "itemid", "linkid", "idxno", "no", "nid", "sid", "ref")
    for name in names:
        url = f"https://n.example/show?{name}=75881"
        assert clean(url, TRACKING) == url


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://www2.n.example/a", "https://www.n.example/a"),
        ("https://ww2.n.example/a", "https://n.example/a"),
        ("https://www.n.example/a/amp/", "https://n.example/a"),
        ("https://m.www.n.example/a?id=1&print=1", "https://n.example/a?id=1"),
    ],
)
def test_machines_of_one_site_and_forms_tell_no_articles_apart(one: str, other: str) -> None:
    assert identity_form(one) == identity_form(other)


def test_names_that_only_begin_like_www_are_sites() -> None:
    assert identity_form("https://www2.example/a") != identity_form("https://www.example/a")
    assert identity_form("https://wwf.n.example/a") != identity_form("https://n.example/a")


# ---------------------------------------------------------------- laws


def one_of(words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words.split())


_WORDS = st.text(st.sampled_from("abcxyz019-_.~%éß漢 +;,:@!$'()*\u200b\u200c"), max_size=8)
_HOSTS = one_of(
    """n.example www.n.example m.n.example www2.amp.n.example name.localhost:18090 n.co.uk:443 zürich.example
    www.google.com n-example.cdn.ampproject.org web.archive.org href.li l.facebook.com n.feedsportal.com urldefense.com
    n-example.translate.goog yandex.ru archive.ph disq.us"""
)
_SEGMENTS = one_of(
    """amp print index.html .. . %20 a%20 ..%20 url s c web 2026 x.amp.html storm-hits-lima https: n.example
    a;jsessionid=1 .;sid=1 (S(abc)) a!amp newest turbo 1"""
)
_NAMES = one_of("utm_source id amp print fbclid view url u q amp;id &amp;x page sid text")
_VALUES = one_of("1 all https%3A%2F%2Fn.example%2Fa https://m.n.example/amp/a?x=1 n.example/b print //n.example/%2e")
_PAIRS = st.lists(st.tuples(st.one_of(_WORDS, _NAMES), st.one_of(_WORDS, _VALUES)), max_size=5)
_PATHS = st.lists(st.one_of(_WORDS, _SEGMENTS), max_size=6)
_FRAGMENTS = st.one_of(_WORDS, one_of("!/a/5 /a/5 !a?utm_source=x&b=1 ! / !%20"))


@st.composite
def urls(draw: st.DrawFn) -> str:
    query = "&".join(f"{name}={value}" for name, value in draw(_PAIRS))
    scheme = draw(st.sampled_from(["http://", "https://", "HTTPS:/", "feed:https://", "http://https://", "https:\\\\"]))
    return f"{scheme}{draw(_HOSTS)}/{'/'.join(draw(_PATHS))}?{query}#{draw(_FRAGMENTS)}"


# Text made of what the rules look for, in any order: nothing a person would write.
_HOSTILE = st.lists(
    st.one_of(
        st.sampled_from([" ", "\u200b", "\ud800"]),
        one_of(r"""http: https:// / // \ ? # #! & &amp; = % %2 %2e %25 ; : @ .. . amp .amp /amp/s/ ~amp print index.php www. m.
        google.com /url?q= href.li n.example cdn.ampproject.org /c/s/ http%3A%2F%2F jsessionid= (S(a)) 0L0S __ * é %20
        [ ] ::1 xn-- 。 1 news-of-the-day feed: /RU= urldefense.com/v3/"""),
    ),
    max_size=24,
).map("".join)


@given(
    st.one_of(urls(), _HOSTILE, _HOSTILE.map("https://n.example/".__add__), _HOSTILE.map("https://google.com/".__add__))
)
@settings(max_examples=400)
def test_cleaning_is_idempotent_and_identity_is_stable(url: str) -> None:
    for forms in (True, False):
        once = clean(url, TRACKING, forms=forms)
        if once is not None:
            assert clean(once, TRACKING, forms=forms) == once
            identity = identity_form(once)
            assert identity_form(identity) == identity
            assert identity_form("https://www." + identity) == identity or identity.startswith(("[", "www"))


@given(urls())
@settings(max_examples=300)
def test_the_form_of_a_page_is_no_part_of_its_identity(url: str) -> None:
    plain, stated = clean(url, TRACKING), clean(url, TRACKING, forms=False)
    if plain is not None and stated is not None:
        assert identity_form(plain) == identity_form(stated)


@given(_HOSTS, st.lists(st.tuples(st.one_of(_WORDS, _NAMES), _WORDS), min_size=1, max_size=6), st.randoms())
def test_the_order_of_parameters_makes_no_difference(host: str, pairs: list[tuple[str, str]], random: Random) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    one, other = (f"https://{host}/a?" + "&".join(map("=".join, order)) for order in (pairs, shuffled))
    assert clean(one, TRACKING) == clean(other, TRACKING)


@given(st.text(max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    for url in (text, f"https://n.example/{text}", f"https://{text}/a", f"https://www.google.com/url?q={text}"):
        clean(url, TRACKING)


# Each of these made, or could make, one of the rules look at the same text again and again.
_REPEATED = [
    "/",
    "%",
    "%20",
    "&amp;",
    ";sid=",
    "../",
    "/RU=",
    "0L",
    "*",
    "(S(a))/",
    ".amp",
    "/amp",
    "print/",
    "http:",
    " \t",
    "é",
]
_REPEATED += ["index.html/", "%20/", "m.", "/web/2026/", "a=1&", "<", "_"]
_STARTS = ["", "https://n.example/", "https://n.example/a?", "https://", "https://r.search.yahoo.com/"]
_STARTS += [
    "https://urldefense.com/v3/__",
    "https://n.feedsportal.com/l/0L",
    "https://disq.us/url?url=https://n.example/",
]


def steps(url: str) -> int:
    """Function calls, built-in ones included, that cleaning a URL takes."""
    count = 0

    def counted(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        cleaned = clean(url, TRACKING)
        identity_form(cleaned or "")
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("part", _REPEATED)
def test_hostile_addresses_take_steps_in_proportion_to_their_length(part: str) -> None:
    for start in _STARTS:
        for end in ("", "/storm-hits-lima-coast"):
            short, long = (steps(start + part * (size // len(part)) + end) for size in (500, 8_000))
            assert long <= 16 * short + 500
            assert clean(start + part * (10_000 // len(part)) + end, TRACKING) is None
