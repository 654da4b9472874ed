"""Canonical URLs: the table of forms, what a page may claim, and the laws."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_schemas.ids import article_id
from udfs.articles.canonical import (
    canonical_url,
    clean,
    identity_form,
    load_tracking_parameters,
    site,
    tracking_parameters,
)

TRACKING = load_tracking_parameters(Path(__file__).parents[2] / "reference_data" / "tracking_parameters.txt")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        # kept as they are
        ("https://n.example/a/b", "https://n.example/a/b"),
        ("https://n.example/a/b/", "https://n.example/a/b/"),
        ("http://name.localhost:18090/world/quake", "http://name.localhost:18090/world/quake"),
        ("https://n.example/tag/c%23/100%25-sure%2Fno?x=a%26b", "https://n.example/tag/c%23/100%25-sure%2Fno?x=a%26b"),
        ("https://n.example/a;b,c!d", "https://n.example/a;b,c!d"),
        ("https://n.example/?p=18", "https://n.example/?p=18"),
        # RFC 3986 normal form
        ("HTTPS://N.Example/Path", "https://n.example/Path"),
        ("https://n.example", "https://n.example/"),
        ("https://n.example:443/a", "https://n.example/a"),
        ("http://n.example:80/a", "http://n.example/a"),
        ("https://n.example:8443/a", "https://n.example:8443/a"),
        ("https://n.example./a", "https://n.example/a"),
        ("https://user:secret@n.example/a", "https://n.example/a"),
        ("https://n.example/a#part", "https://n.example/a"),
        ("https://n.example/a/../b/./c", "https://n.example/b/c"),
        ("https://n.example//a///b", "https://n.example/a/b"),
        ("https://n.example/%7euser/%c3%a9t%c3%a9", "https://n.example/~user/%C3%A9t%C3%A9"),
        ("https://n.example/été?q=ä", "https://n.example/%C3%A9t%C3%A9?q=%C3%A4"),
        ("https://zürich.example/a", "https://xn--zrich-kva.example/a"),
        ("https://n.example/a b", "https://n.example/ab"),
        ("  https://n.example/a\n", "https://n.example/a"),
        ("https://n.example/a\u200b", "https://n.example/a"),
        # parameters
        ("https://n.example/show?id=75881&utm_medium=rss", "https://n.example/show?id=75881"),
        ("https://n.example/show?id=75880&fbclid=q", "https://n.example/show?id=75880"),
        ("https://n.example/show?utc_offset=3&id=75881", "https://n.example/show?id=75881&utc_offset=3"),
        ("https://n.example/a?UTM_Source=x&Fbclid=y", "https://n.example/a"),
        ("https://n.example/a?b=2&a=1&amp;c=3", "https://n.example/a?a=1&b=2&c=3"),
        ("https://n.example/a?", "https://n.example/a"),
        ("https://n.example/a?flag", "https://n.example/a?flag"),
        ("https://n.example/a?at_medium=RSS&at_campaign=KARANGA", "https://n.example/a"),
        ("https://n.example/a?ref=rss", "https://n.example/a"),
        ("https://n.example/a?PHPSESSID=00ff", "https://n.example/a"),
        ("https://n.example/a;jsessionid=00ff?x=1", "https://n.example/a?x=1"),
        # AMP, print, mobile, index files
        ("https://n.example/a/amp", "https://n.example/a"),
        ("https://n.example/a/amp/", "https://n.example/a"),
        ("https://n.example/amp/news/a", "https://n.example/news/a"),
        ("https://n.example/a?amp", "https://n.example/a"),
        ("https://n.example/a?amp=1&id=3", "https://n.example/a?id=3"),
        ("https://n.example/a?amp=volts", "https://n.example/a?amp=volts"),
        ("https://n.example/a?outputType=amp", "https://n.example/a"),
        ("https://amp.n.example/a", "https://n.example/a"),
        ("https://n.example/a.amp.html", "https://n.example/a.html"),
        ("https://n.example/a.amp", "https://n.example/a"),
        ("https://n.example/amp", "https://n.example/amp"),
        ("https://n.example/example/lamp", "https://n.example/example/lamp"),
        ("https://n.example/a/print", "https://n.example/a"),
        ("https://n.example/a?print=1", "https://n.example/a"),
        ("https://n.example/a?view=print", "https://n.example/a"),
        ("https://n.example/a?view=gallery", "https://n.example/a?view=gallery"),
        ("https://m.n.example/a", "https://n.example/a"),
        ("https://mobile.n.example/a", "https://n.example/a"),
        ("https://www.m.n.example/a", "https://www.n.example/a"),
        ("https://m.co.uk/a", "https://m.co.uk/a"),
        ("https://mobile.example/a", "https://mobile.example/a"),
        ("https://n.example/news/index.html", "https://n.example/news/"),
        # wrappers
        ("https://www.google.com/url?rct=j&sa=t&url=https://n.example/a%3Fid%3D1&ct=ga", "https://n.example/a?id=1"),
        ("https://www.google.com/amp/s/n.example/a/amp", "https://n.example/a"),
        ("https://n-example.cdn.ampproject.org/c/s/n.example/a?amp=1", "https://n.example/a"),
        ("https://l.facebook.com/l.php?u=https%3A%2F%2Fn.example%2Fa%3Ffbclid%3Dz&h=AT", "https://n.example/a"),
        ("https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fn.example%2Fa&data=05", "https://n.example/a"),
        ("https://urldefense.proofpoint.com/v2/url?u=https-3A__n.example_a&d=Dw", "https://n.example/a"),
        ("https://urldefense.com/v3/__https://n.example/a__;!!abc!x$", "https://n.example/a"),
        ("https://www.bing.com/news/apiclick.aspx?ref=x&url=https%3a%2f%2fn.example%2fa", "https://n.example/a"),
        ("https://out.reddit.com/t3?url=https%3A%2F%2Fn.example%2Fa&token=x", "https://n.example/a"),
        ("https://vk.com/away.php?to=https%3A%2F%2Fn.example%2Fa", "https://n.example/a"),
        ("https://www.google.com/url?q=https%3A%2F%2Fl.facebook.com%2Fl.php%3Fu%3Dhttps%253A%252F%252Fn.example%252Fa", "https://n.example/a"),
        ("https://www.google.com/search?q=https://n.example/a", "https://www.google.com/search?q=https://n.example/a"),
    ],
)  # fmt: skip
def test_one_form_for_all_the_ways_that_lead_to_a_page(url: str, expected: str) -> None:
    assert clean(url, TRACKING) == expected


@pytest.mark.parametrize(
    "url",
    [
        "", "a/b", "//n.example/a", "htp:/broken", "ftp://n.example/a", "javascript:alert(1)", "http://", "http:///a",
        "http://[::1/a", "http://n.example:99999/a", "http://intranet/a", "http://n..example/a", "data:text/html,x",
        "mailto:a@n.example", "https://n.example/" + "a" * 3000,
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_page(url: str) -> None:
    assert clean(url, TRACKING) is None


def found(fetched: str, canonical: str = "", og: str = "", base: str = "") -> tuple[str, str, str]:
    result = canonical_url(fetched, TRACKING, canonical=canonical, og=og, base=base)
    assert result is not None
    return result.url, result.source, result.elsewhere


def test_a_relative_canonical_is_resolved_against_the_base_of_the_document() -> None:
    page = "https://n.example/a/b?utm_source=x"
    expected = ("https://n.example/a/b", "canonical", "")
    assert found(page, canonical="a/b", base="https://n.example/") == expected
    assert found(page, canonical="//n.example/a/b") == expected


def test_a_broken_canonical_is_ignored() -> None:
    assert found("https://n.example/a/b?utm_source=x", canonical="htp:/broken") == (
        "https://n.example/a/b",
        "fetched",
        "",
    )
    assert found("https://n.example/a", canonical="http://[broken") == ("https://n.example/a", "fetched", "")


def test_og_url_stands_in_for_a_missing_canonical() -> None:
    assert found("https://n.example/?p=7", og="https://n.example/storm") == ("https://n.example/storm", "og", "")


def test_a_canonical_into_another_house_is_only_a_hint() -> None:
    url, source, elsewhere = found("https://copycat.example/x", canonical="https://daily.example/scoop")
    assert (url, source) == ("https://copycat.example/x", "fetched")
    assert elsewhere == "https://daily.example/scoop"
    assert found("http://one.localhost:18090/x", canonical="http://two.localhost:18090/y")[0].startswith("http://one.")


def test_a_canonical_within_the_house_may_cross_its_hosts() -> None:
    assert found("https://m.n.co.uk/a?id=1", canonical="https://www.n.co.uk/a/1")[0] == "https://www.n.co.uk/a/1"


def test_a_canonical_to_the_home_page_is_no_article() -> None:
    assert found("https://n.example/a", canonical="https://n.example/") == ("https://n.example/a", "fetched", "")
    assert found("https://n.example/a", canonical="/", og="https://n.example/b")[0] == "https://n.example/b"


def test_an_address_that_is_none_has_no_canonical() -> None:
    assert canonical_url("ftp://n.example/a", TRACKING, canonical="https://n.example/a") is None


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


def test_the_list_knows_exact_names_and_beginnings() -> None:
    names = tracking_parameters(["# why", "", "utm_*", "Ref"])
    assert "UTM_Content" in names
    assert "ref" in names
    assert "reference" not in names
    assert "utc_offset" not in names


# ---------------------------------------------------------------- laws

_WORDS = st.text(st.sampled_from("abcxyz019-_.~%éß漢 +;,:@!$'()*"), max_size=8)
_HOSTS = st.sampled_from(
    [
        "n.example",
        "www.n.example",
        "m.n.example",
        "amp.n.example",
        "name.localhost:18090",
        "n.co.uk:443",
        "zürich.example",
    ]
)
_PATHS = st.lists(st.one_of(_WORDS, st.sampled_from(["amp", "print", "index.html", "..", ".", ""])), max_size=5)
_PAIRS = st.lists(
    st.tuples(st.one_of(_WORDS, st.sampled_from(["utm_source", "id", "amp", "print", "fbclid", "view"])), _WORDS),
    max_size=5,
)


@st.composite
def urls(draw: st.DrawFn) -> str:
    query = "&".join(f"{name}={value}" for name, value in draw(_PAIRS))
    return f"{draw(st.sampled_from(['http', 'https', 'HTTPS']))}://{draw(_HOSTS)}/{'/'.join(draw(_PATHS))}?{query}#{draw(_WORDS)}"


@given(urls())
def test_cleaning_is_idempotent(url: str) -> None:
    once = clean(url, TRACKING)
    if once is not None:
        assert clean(once, TRACKING) == once


@given(_HOSTS, st.lists(st.tuples(_WORDS, _WORDS), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_parameters_makes_no_difference(host: str, pairs: list[tuple[str, str]], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = ("https://" + host + "/a?" + "&".join(map("=".join, order)) for order in (pairs, shuffled))
    assert clean(one, TRACKING) == clean(other, TRACKING)


@given(st.text(max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    clean(text, TRACKING)
    clean(f"https://n.example/{text}", TRACKING)
    canonical_url("https://n.example/a", TRACKING, canonical=text, og=text, base=text)


def test_a_base_that_is_no_address_is_left_aside() -> None:
    found = canonical_url("https://n.example/a/b", TRACKING, canonical="c", base="http://[bad")
    assert found is not None
    assert found.url == "https://n.example/a/c"
