"""Which of a page's statements about its address is believed: one test a rule of docs/canonical-urls.md."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.articles import json_ld
from udfs.articles.canonical import clean, identity_form, load_tracking_parameters
from udfs.articles.claims import canonical_url, linked_canonical, stated_address
from udfs.articles.page import decoded, read_page

CHECKOUT = Path(__file__).parents[2]
PAGES = Path(os.environ.get("BROADSHEET_SHARED", CHECKOUT.parent / "shared")) / "data" / "pages"
TRACKING = load_tracking_parameters(CHECKOUT / "reference_data" / "tracking_parameters.txt")

STORM = "https://n.example/world/storm-hits-lima-coast"
MAYOR = "https://n.example/world/mayor-resigns-over-budget"


def found(fetched: str, **stated: Any) -> tuple[str, str, str]:
    """url, source and refusal."""
    result = canonical_url(fetched, TRACKING, **stated)
    assert result is not None
    return result.url, result.source, result.refused


def test_an_address_that_is_none_has_no_canonical() -> None:
    assert canonical_url("ftp://n.example/a", TRACKING, canonical="https://n.example/a") is None


# ---------------------------------------------------------------- the order: rel=canonical, og:url, the fetched address


def test_the_canonical_goes_before_og_url_and_the_fetched_address() -> None:
    assert found(f"{STORM}?x=1", canonical=STORM, og=f"{STORM}?y=2") == (STORM, "canonical", "")
    assert found("https://n.example/?p=7", og="https://n.example/storm") == ("https://n.example/storm", "og", "")
    assert found(f"{STORM}?utm_source=x#part") == (STORM, "fetched", "")


def test_a_relative_canonical_is_resolved_against_the_base_of_the_document() -> None:
    page = "https://n.example/a/b?utm_source=x"
    expected = ("https://n.example/a/b", "canonical", "")
    assert found(page, canonical="a/b", base="https://n.example/") == expected
    assert found(page, canonical="//n.example/a/b") == expected
    assert found("https://n.example/a/b", canonical="c", base="http://[bad")[0] == "https://n.example/a/c"


def test_a_canonical_without_a_scheme_is_no_path() -> None:
    for claim in ("n.example/world/storm", "www.n.example/world/storm"):
        assert found("https://www.n.example/?p=7", canonical=claim)[0] == f"https://{claim}"


def test_a_canonical_is_cleaned_as_every_address() -> None:
    assert found("https://n.example/?p=7", canonical=f"{STORM}/?utm_source=x#top")[0] == f"{STORM}/"
    wrapped = "https://www.google.com/amp/s/n.example/storm-hits-lima-coast"
    assert found(STORM, canonical=wrapped)[0] == "https://n.example/storm-hits-lima-coast"


# ---------------------------------------------------------------- what is not believed


@pytest.mark.parametrize(
    "claim",
    [
        "htp:/broken",
        "http://[broken",
        "javascript:void(0)",
        "mailto:a@n.example",
        "https://n.example/undefined",
        "https://n.example/null",
        "https://n.example/{{ url }}",
        "https://n.example/[object Object]",
    ],
)
def test_a_malformed_claim_is_ignored(claim: str) -> None:
    assert found(STORM, canonical=claim) == (STORM, "fetched", "malformed")
    assert found(f"{STORM}?x=1", canonical=claim, og=STORM) == (STORM, "og", "malformed")


def test_a_canonical_into_another_house_is_only_a_hint() -> None:
    result = canonical_url("https://copycat.example/x", TRACKING, canonical="https://daily.example/scoop")
    assert result is not None
    assert (result.url, result.source, result.refused) == ("https://copycat.example/x", "fetched", "elsewhere")
    assert result.elsewhere == "https://daily.example/scoop"
    assert found("http://one.localhost:18090/x", canonical="http://two.localhost:18090/y")[0].startswith("http://one.")


def test_a_canonical_within_the_house_may_cross_its_hosts() -> None:
    assert found("https://m.n.co.uk/a?id=1", canonical="https://www.n.co.uk/a/1")[0] == "https://www.n.co.uk/a/1"


def test_another_house_is_believed_where_it_was_asked_and_sent_the_reader_on() -> None:
    asked = {"canonical": STORM, "asked": f"{STORM}?utm_source=rss"}
    assert found("https://reader.cdn.example/x/1", **asked) == (STORM, "canonical", "")
    assert found("https://reader.cdn.example/x/1", canonical=MAYOR, asked=STORM)[2] == "elsewhere"


def test_an_address_inside_a_counters_was_not_asked() -> None:
    asked = f"https://www.google.com/url?q={STORM}"
    assert found("https://b.example/x/1", canonical=STORM, asked=asked) == (
        "https://b.example/x/1",
        "fetched",
        "elsewhere",
    )
    assert found(STORM, canonical=STORM, asked=asked) == (STORM, "canonical", "")


def test_a_claim_to_the_home_page_is_no_article() -> None:
    assert found(STORM, canonical="https://n.example/") == (STORM, "fetched", "home")
    assert found(STORM, canonical="/", og="https://n.example/storm-hits-lima") == (
        "https://n.example/storm-hits-lima",
        "og",
        "home",
    )
    assert found("https://n.example/?utm_source=x", canonical="https://n.example/")[1] == "canonical"


@pytest.mark.parametrize(
    ("fetched", "front"),
    [
        (STORM, "https://n.example/world"),
        (STORM, "https://n.example/world/"),
        ("https://n.example/2026/11/30/storm-hits-lima-coast", "https://n.example/2026/11/30/"),
        ("https://n.example/sport/football/66612345", "https://n.example/sport/football"),
        ("https://n.example/news/75881234/", "https://n.example/news/"),
        (STORM, "https://n.example/latest"),
    ],
)
def test_a_claim_to_a_section_front_is_no_article(fetched: str, front: str) -> None:
    assert found(fetched, canonical=front)[1:] == ("fetched", "front")


@pytest.mark.parametrize(
    ("fetched", "canonical"),
    [
        pytest.param("https://n.example/story/123/storm-hits-lima", "https://n.example/story/123", id="number alone"),
        pytest.param(f"{STORM}/2", STORM, id="first page of several, by path"),
        pytest.param(f"{STORM}?page=2", STORM, id="first page of several, by parameter"),
        pytest.param("https://n.example/storm/2", "https://n.example/storm", id="first page, a short slug"),
        pytest.param("https://n.example/?p=75881", STORM, id="short link to slug"),
        pytest.param("https://n.example/europe/storm-hits-lima-coast", STORM, id="another section"),
        pytest.param("https://n.example/a-75881234/old-title-of-it", "https://n.example/a-75881234/new", id="new slug"),
        pytest.param("https://n.example/show?id=1&x=2", "https://n.example/show?id=1", id="what names it stays"),
        pytest.param(f"{STORM}?wtrid=123", STORM, id="a parameter that we do not know"),
    ],
)
def test_what_looks_alike_and_is_right_is_believed(fetched: str, canonical: str) -> None:
    assert found(fetched, canonical=canonical) == (canonical, "canonical", "")
    # Even where a stale og:url still names what was fetched.
    assert found(fetched, canonical=canonical, og=fetched)[0] == canonical or "?p=" in fetched


@pytest.mark.parametrize("script", ["show", "articleView.html", "index2.php", "news/view.aspx", "read.do"])
def test_the_query_may_be_the_article(script: str) -> None:
    page = f"https://n.example/{script}?id=75881"
    assert found(page, canonical=f"https://n.example/{script}") == (page, "fetched", "query_lost")


def test_one_canonical_on_every_page_is_found_out_by_what_else_the_page_says() -> None:
    assert found(STORM, canonical=MAYOR, og=STORM) == (STORM, "og", "stranger")
    assert found(STORM, canonical=MAYOR, main=STORM) == (STORM, "fetched", "stranger")
    assert found(STORM, canonical=MAYOR, og=MAYOR, title="Storm hits Lima's coast | Daily") == (
        STORM,
        "fetched",
        "stranger",
    )


def test_a_stranger_that_nothing_speaks_against_is_believed() -> None:
    # From one page alone it cannot be told from a new slug without a number.
    assert found(STORM, canonical=MAYOR) == (MAYOR, "canonical", "")
    assert found(STORM, canonical=MAYOR, og=MAYOR, title="Mayor resigns") == (MAYOR, "canonical", "")


def test_of_several_canonicals_that_differ_the_one_that_is_seconded_counts() -> None:
    assert found(STORM, canonical=[STORM, f"{STORM}/"])[1:] == ("canonical", "")
    assert found(f"{STORM}?x=1", canonical=[MAYOR, STORM], og=STORM) == (STORM, "canonical", "")
    assert found(f"{STORM}?x=1", canonical=[MAYOR, STORM]) == (f"{STORM}?x=1", "fetched", "several")


# ---------------------------------------------------------------- what readers get


def test_a_page_read_over_https_keeps_it() -> None:
    assert found(STORM, canonical=STORM.replace("https", "http"))[0] == STORM
    assert found(STORM.replace("https", "http"), canonical=STORM)[0] == STORM
    assert found(STORM, canonical="http://old.n.example/storm-hits-lima-coast")[0].startswith("http://old.")


def test_a_form_that_is_the_publishers_only_address_is_kept() -> None:
    mobile = STORM.replace("n.example", "m.n.example")
    assert found(mobile, canonical=mobile)[0] == mobile
    assert found(mobile)[0] == mobile
    assert identity_form(mobile) == identity_form(STORM)
    assert found(STORM, canonical=mobile)[0] == STORM
    assert found(f"{STORM}/amp", canonical=STORM)[0] == STORM


# ---------------------------------------------------------------- where the statements stand


@pytest.mark.parametrize(
    ("node", "address"),
    [
        ({"mainEntityOfPage": STORM}, STORM),
        ({"mainEntityOfPage": {"@type": "WebPage", "@id": STORM}}, STORM),
        ({"mainEntityOfPage": [{"url": STORM}]}, STORM),
        ({"mainEntityOfPage": True, "url": STORM}, STORM),
        ({"mainEntityOfPage": {"@type": "WebPage"}, "url": [STORM]}, STORM),
        ({"url": 7}, ""),
        ({}, ""),
    ],
)
def test_the_address_in_json_ld(node: dict[str, Any], address: str) -> None:
    assert stated_address(node) == address


@pytest.mark.parametrize(
    ("header", "address"),
    [
        (f'<{STORM}>; rel="canonical"', STORM),
        (f"<https://n.example/?p=7>; rel=shortlink, <{STORM}>; rel=canonical", STORM),
        (f'<{STORM}>; title="x"; rel="alternate canonical"', STORM),
        (f'<{STORM}>; rel="canonically"', ""),
        ("<" * 5000, ""),
        ("", ""),
    ],
)
def test_the_canonical_in_a_link_header(header: str, address: str) -> None:
    assert linked_canonical(header) == address


@given(st.text(max_size=60), st.sampled_from([STORM, "https://n.example/", "http://n.example/show?id=1"]))
def test_no_text_breaks_it(text: str, page: str) -> None:
    for stated in (text, f"https://n.example/{text}", f"//{text}"):
        result = canonical_url(page, TRACKING, canonical=[stated, page], og=stated, base=text, main=stated, title=text)
        assert result is not None
        assert clean(result.url, TRACKING, forms=False) == result.url
    linked_canonical(text)


@pytest.mark.skipif(not PAGES.exists(), reason=f"no captured pages in {PAGES}")
def test_captured_pages_keep_the_address_at_which_they_were_captured() -> None:
    apart = []
    for line in (PAGES / "truth.jsonl").read_text("utf-8").splitlines():
        truth = json.loads(line)
        page = read_page(decoded(gzip.decompress((PAGES / truth["file"]).read_bytes())))
        assert page is not None
        node = json_ld.article_node(json_ld.nodes(page.json_ld)) or {}
        result = canonical_url(
            truth["url"],
            TRACKING,
            canonical=page.canonicals,
            og=page.first("og:url"),
            base=page.base,
            main=stated_address(node),
            title=page.title,
        )
        plain = clean(truth["url"], TRACKING)
        assert result is not None
        assert plain is not None
        if identity_form(result.url) != identity_form(plain):
            apart.append(truth["file"])
    assert apart == []
