"""What a site says of its feeds, what an address says, and what a document is worth: no network, no clock."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from udfs.articles.canonical import tracking_parameters
from udfs.feeds.candidates import (
    FEED_PLACES,
    FOLDER_PLACES,
    Candidate,
    DiscoveryPolicy,
    LeftOut,
    address_key,
    feed_places,
    is_section,
    looks_like_feed,
    news_children,
    robots_sitemaps,
    sitemap_places,
)
from udfs.feeds.discovery import SiteFacts, header_links, read_site, websub_links
from udfs.feeds.document import Child
from udfs.feeds.offers import Answer, Offer, covering, has_feed, judge, without_duplicates

HOME = "https://www.harbour.example/"
TRACKING = tracking_parameters(["utm_*"])
GIVEN = Candidate("https://harbour.example/feed.xml", "link", title="Harbour")


def page(head: str = "", body: str = "", attributes: str = "") -> bytes:
    return f"<!DOCTYPE html><html {attributes}><head>{head}</head><body>{body}</body></html>".encode()


def alternate(href: str, media_type: str = "application/rss+xml", rest: str = "") -> str:
    return f'<link rel="alternate" type="{media_type}" href="{href}" {rest}>'


def site(head: str = "", body: str = "", attributes: str = "", url: str = HOME, **headers: str) -> SiteFacts:
    return read_site(page(head, body, attributes), url, headers)


def urls(candidates: Any) -> list[str]:
    return [one.url for one in candidates]


# ---------------------------------------------------------------- what the page declares


@pytest.mark.parametrize(
    "link",
    [
        pytest.param(alternate("/feed.xml"), id="RSS"),
        pytest.param(alternate("/feed.xml", "application/atom+xml"), id="Atom"),
        pytest.param(alternate("/feed.xml", "application/feed+json"), id="JSON Feed"),
        pytest.param(alternate("/feed.xml", "application/rdf+xml"), id="RDF"),
        pytest.param(alternate("/feed.xml", "Application/RSS+XML; charset=UTF-8"), id="capitals and a parameter"),
        pytest.param(alternate("/feed.xml", "application/rss"), id="a type that is almost right"),
        pytest.param(alternate("/feed.xml", "text/xml"), id="plain XML"),
        pytest.param(alternate("/feed.xml", "application/json"), id="JSON at an address of a feed"),
        pytest.param('<link rel="alternate" href="/feed.xml">', id="no type, at an address of a feed"),
        pytest.param('<link rel="ALTERNATE home" type="application/rss+xml" href=/feed.xml>', id="several relations"),
        pytest.param('<link rel="feed" href="/feed.xml">', id="rel=feed"),
        pytest.param(alternate("//www.harbour.example/feed.xml"), id="without scheme"),
        pytest.param(alternate("feed://www.harbour.example/feed.xml"), id="the feed scheme"),
        pytest.param(alternate("feed:https://www.harbour.example/feed.xml#top"), id="feed: around an address"),
        pytest.param(f'<base href="{HOME}a/b/">{alternate("../../feed.xml")}', id="a base"),
    ],
)
def test_a_declared_feed(link: str) -> None:
    (found,) = site(link).feeds
    assert address_key(found.url) == "harbour.example/feed.xml"
    assert found.via == "link"


@pytest.mark.parametrize(
    "link",
    [
        pytest.param(alternate("/wp-json/wp/v2/pages/2", "application/json"), id="WordPress's interface"),
        pytest.param(alternate("/wp-json/oembed/1.0/embed?format=xml", "text/xml"), id="embedding as XML"),
        pytest.param(alternate("/oembed?url=x", "application/json+oembed"), id="embedding"),
        pytest.param(alternate("/style.css", "text/css"), id="a style sheet"),
        pytest.param('<link rel="alternate stylesheet" href="/feed.xml">', id="an alternate style sheet"),
        pytest.param('<link rel="alternate" hreflang="de" href="/de/">', id="another language"),
        pytest.param('<link rel="alternate" hreflang="de" href="/rss/de/">', id="another language of a page on RSS"),
        pytest.param('<link rel="alternate" media="handheld" href="/mobile/">', id="another device"),
        pytest.param('<link rel="stylesheet" type="text/xml" href="/feed.xml">', id="no alternate"),
        pytest.param(alternate(""), id="no address"),
        pytest.param(alternate("javascript:feed()"), id="a script"),
        pytest.param(alternate("http://[half/feed.xml"), id="no address at all"),
    ],
)
def test_what_is_declared_and_no_feed(link: str) -> None:
    assert site(link).feeds == ()


def test_a_feed_in_the_link_header_and_its_hub() -> None:
    facts = site(
        link='<https://hub.example/>; rel="hub", </>; rel=self, '
        '</a,b.xml>; title="Sea, land"; rel="alternate"; type="application/atom+xml"'
    )
    assert facts.feeds == (Candidate("https://www.harbour.example/a,b.xml", "header", title="Sea, land"),)
    assert (facts.hub, facts.topic) == ("https://hub.example/", HOME)


def test_hub_and_self_of_the_page_itself() -> None:
    facts = site(
        '<link rel=hub href="https://hub.example/"><link rel=hub href="https://second.example/"><link rel=self href="/">'
    )
    assert (facts.hub, facts.topic) == ("https://hub.example/", HOME)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("", []),
        ("<https://a.example/>; rel=hub; rel=self", [("https://a.example/", {"rel": "hub"})]),
        ("<https://a.example/>;REL='hub'", [("https://a.example/", {"rel": "'hub'"})]),
        ("<mailto:a@b.example>; rel=hub", []),
        ("<https://a.example/", []),
        ('<a>; x="1, <b>; rel=hub", <c>', [(HOME + "a", {"x": "1, <b>; rel=hub"}), (HOME + "c", {})]),
    ],
)
def test_links_of_a_header(value: str, found: list[tuple[str, dict[str, str]]]) -> None:
    assert header_links(value, HOME) == found


@pytest.mark.parametrize(
    "href",
    [
        pytest.param("/comments/feed/", id="WordPress"),
        pytest.param("/2026/11/ferry/comments/feed", id="WordPress, of an article"),
        pytest.param("/?feed=comments-rss2", id="WordPress without rewriting"),
        pytest.param("/feeds/comments/default", id="Blogger"),
        pytest.param("/feeds/4711/comments/default?alt=rss", id="Blogger, of an article"),
        pytest.param("/crss/node/12", id="Drupal"),
    ],
)
def test_feeds_of_comments_are_not_even_asked_for(href: str) -> None:
    facts = site(alternate(href) + alternate("/comment-and-opinion/feed"))
    assert urls(facts.feeds) == [HOME + "comment-and-opinion/feed"]
    assert [one.reason for one in facts.left_out] == ["comment_feed"]


def test_one_address_in_two_spellings_is_asked_for_once_over_tls() -> None:
    facts = site(alternate("http://harbour.example/feed/") + alternate("https://harbour.example/feed"))
    assert urls(facts.feeds) == ["https://harbour.example/feed"]
    (left,) = facts.left_out
    assert (left.url, left.reason) == ("http://harbour.example/feed/", "duplicate")
    assert left.detail == "the same address as https://harbour.example/feed"


def test_feeds_on_other_hosts_and_feeds_in_all_are_bounded() -> None:
    policy = DiscoveryPolicy(links=3, other_hosts=1)
    links = [f"https://feeds{n}.example/rss" for n in range(2)] + [f"/{n}.rss" for n in range(4)]
    facts = read_site(page("".join(map(alternate, links))), HOME, {}, policy)
    assert urls(facts.feeds) == ["https://feeds0.example/rss", HOME + "0.rss", HOME + "1.rss"]
    assert [one.reason for one in facts.left_out] == ["too_many_hosts", "too_many_links", "too_many_links"]


# ---------------------------------------------------------------- links, navigation, facts


def test_links_that_look_like_feeds_or_lists_of_feeds() -> None:
    body = (
        '<a href="/world/rss.xml">World</a><a href="/help/42"> Our RSS </a><a href="/ferry">Ferry adrift</a>'
        '<a href="https://reader.example/subscribe?feed=rss">Follow us</a><a href="/feed.xml" rel=nofollow>Feed</a>'
        '<a href="/wp-json/feed">x</a><a href="https://rss.harbour.example/all">All</a><a href="#rss">RSS</a>'
    )
    facts = site(alternate("/feed.xml"), body)
    assert [(one.url, one.title) for one in facts.anchors] == [
        (HOME + "world/rss.xml", "World"),
        (HOME + "help/42", "Our RSS"),
        ("https://rss.harbour.example/all", "All"),
    ]
    assert {one.via for one in facts.anchors} == {"anchor"}


@pytest.mark.parametrize(
    ("url", "feed"),
    [
        ("https://a.example/feed/", True),
        ("https://a.example/sport/rss", True),
        ("https://a.example/sport.rss", True),
        ("https://a.example/rss_top.php", True),
        ("https://a.example/?feed=rss2", True),
        ("https://a.example/arc/outboundfeeds/rss/?outputType=xml", True),
        ("https://feeds.a.example/top", True),
        ("https://a.example/index.xml", True),
        ("https://a.example/feeding-the-world", False),
        ("https://a.example/news/feedback.html", False),
        ("https://a.example/sitemap.xml", False),
        ("https://a.example/crossword.html", False),
        ("https://a.example/", False),
    ],
)
def test_what_an_address_says(url: str, feed: bool) -> None:
    assert looks_like_feed(url) is feed


def test_sections_of_the_navigation() -> None:
    body = """
      <header><a href="/">Home</a><a href="/login">Sign in</a></header>
      <nav><ul><li><a href="/world">World</a><li><a href="/uk/wales/">Wales</a><li><a href="/rss">RSS</a>
        <li><a href="/2026/11/30/ferry-adrift">Ferry</a><li><a href="/newsletters">Letters</a>
        <li><a href="https://elsewhere.example/sport">Sport</a><li><a href="/world/">World again</a></ul></nav>
      <div class="site-menu main-nav"><a href="/culture"><b>Cul</b>ture</a></div>
      <main><a href="/opinion">Opinion</a></main>"""
    assert [(one.url, one.title, one.kind) for one in site(body=body).sections] == [
        (HOME + "world", "World", "front"),
        (HOME + "uk/wales/", "Wales", "front"),
        (HOME + "culture", "Culture", "front"),
    ]


@pytest.mark.parametrize("path", ["", "a/b/c", "about-us?x=1", "story-4711", "a" * 31, "videos/", "sign-in", "feeds/a"])
def test_links_that_are_no_sections(path: str) -> None:
    assert not is_section(HOME + path, HOME)


@pytest.mark.parametrize(
    ("url", "head", "attributes", "facts"),
    [
        pytest.param(HOME, "", "", ("", "", ""), id="nothing said"),
        pytest.param(
            HOME, '<meta property="og:site_name" content=" Harbour  Post ">', "", ("Harbour Post", "", ""), id="name"
        ),
        pytest.param(
            HOME, '<meta name="application-name" content="HP">', "", ("HP", "", ""), id="name of the application"
        ),
        pytest.param(HOME, "", 'lang="de-CH"', ("", "de", "CH"), id="language and region"),
        pytest.param(HOME, "", 'lang="zh-Hant-TW"', ("", "zh", "TW"), id="with a script"),
        pytest.param(HOME, '<meta property="og:locale" content="pt_BR">', "", ("", "pt", "BR"), id="locale"),
        pytest.param(HOME, "", 'lang="en-US"', ("", "en", ""), id="a template's language"),
        pytest.param(HOME, '<meta property="og:locale" content="en_GB">', 'lang="en-US"', ("", "en", "GB"), id="both"),
        pytest.param("https://a.co.uk/", "", 'lang="en-US"', ("", "en", "GB"), id="the domain counts first"),
        pytest.param("https://a.jp/", "", "", ("", "", "JP"), id="a country's domain"),
        pytest.param("https://a.io/", "", 'lang="xx-yy-zz"', ("", "xx", "YY"), id="a domain that is a word"),
        pytest.param(HOME, "", 'lang="und"', ("", "", ""), id="not determined"),
        pytest.param(HOME, "", 'lang="English please"', ("", "", ""), id="no code"),
    ],
)
def test_what_a_page_says_of_its_publisher(url: str, head: str, attributes: str, facts: tuple[str, str, str]) -> None:
    found = site(head, "", attributes, url)
    assert (found.name, found.language, found.country) == facts


def test_a_name_in_an_encoding_of_its_own() -> None:
    body = page('<meta charset="shift_jis"><meta property="og:site_name" content="みなと新報">').decode()
    assert read_site(body.encode("shift_jis"), HOME).name == "みなと新報"


# ---------------------------------------------------------------- robots.txt, indexes, common places


def test_sitemaps_of_robots_txt_likely_news_first() -> None:
    robots = (
        b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /x\r\nSitemap: https://harbour.example/video-sitemap.xml\r\n"
        b"SITEMAP:/all.xml # relative\r\nsitemap: https://cdn.example/sitemap-index.xml\r\n"
        b"Sitemap : https://harbour.example/google-news.xml.gz\r\nSitemap: ftp://a.example/s.xml\r\nSitemap:\r\n"
        b"Sitemap: https://harbour.example/google-news.xml.gz\r\nSitemap \xff\r\n"
    )
    found = robots_sitemaps(robots, "https://harbour.example/robots.txt")
    assert urls(found) == [
        "https://harbour.example/google-news.xml.gz",
        "https://cdn.example/sitemap-index.xml",
        "https://harbour.example/all.xml",
        "https://harbour.example/video-sitemap.xml",
    ]
    assert {(one.via, one.kind) for one in found} == {("robots", "sitemap")}


def test_children_of_an_index_by_name_then_by_their_last_change() -> None:
    listed = [("post-1", 5), ("author-sitemap", 9), ("post-2", 7), ("post-3", None), ("news", 1)]
    children = [Child(f"https://a.example/{name}.xml", at) for name, at in listed]
    order = [one.url.rpartition("/")[2].removesuffix(".xml") for one in news_children(children)]
    assert order == ["news", "post-2", "post-1", "post-3", "author-sitemap"]


def test_common_places_of_a_host_and_of_a_folder() -> None:
    assert urls(feed_places("https://a.example/index.html?x=1"))[0] == "https://a.example/feed"
    assert len(feed_places("https://a.example/")) == len(FEED_PLACES)
    own = feed_places("https://a.example/blog/")
    assert urls(own)[:2] == ["https://a.example/blog/feed", "https://a.example/blog/rss.xml"]
    assert len(own) == len(FEED_PLACES) + len(FOLDER_PLACES)
    assert {one.kind for one in sitemap_places("https://a.example/blog/")} == {"sitemap"}


# ---------------------------------------------------------------- what a document is


def rss(*links: str, title: str = "Harbour", extra: str = "") -> bytes:
    items = "".join(f"<item><title>T {n}</title><link>{link}</link></item>" for n, link in enumerate(links))
    return f'<rss version="2.0"><channel><title>{title}</title>{extra}{items}</channel></rss>'.encode()


def atom(*links: str, title: str = "Harbour", extra: str = "") -> bytes:
    entries = "".join(
        f'<entry><id>{link}</id><title>T {n}</title><link href="{link}"/><updated>2026-11-30T0{n % 10}:00:00Z</updated></entry>'
        for n, link in enumerate(links)
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en-GB"><title>{title}</title>{extra}{entries}</feed>'.encode()


def news(*links: str) -> bytes:
    entries = "".join(
        f"<url><loc>{link}</loc><news:news><news:publication><news:name>N</news:name><news:language>de</news:language>"
        "</news:publication><news:publication_date>2026-11-30T09:00:00Z</news:publication_date><news:title>T</news:title>"
        "</news:news></url>"
        for link in links
    )
    return (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        f' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">{entries}</urlset>'
    ).encode()


def index(*links: str) -> bytes:
    listed = "".join(f"<sitemap><loc>{link}</loc></sitemap>" for link in links)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</sitemapindex>'.encode()


def stories(count: int, first: int = 0, query: str = "") -> list[str]:
    return [f"https://harbour.example/{n}{query}" for n in range(first, first + count)]


def offer(body: bytes, url: str = "https://harbour.example/feed.xml", kind: str = "feed", **answer: Any) -> Offer:
    at = answer.pop("at", url)
    found = judge(Candidate(url, "link", kind), Answer(at, body, **answer), TRACKING)  # type: ignore[arg-type]
    assert isinstance(found, Offer), found
    return found


def refused(body: bytes, kind: str = "feed", content_type: str = "") -> LeftOut:
    found = judge(Candidate(GIVEN.url, "link", kind), Answer(GIVEN.url, body, content_type), TRACKING)  # type: ignore[arg-type]
    assert isinstance(found, LeftOut), found
    return found


def test_a_feed_with_its_hub() -> None:
    links = '<link rel="hub" href="https://hub.example/"/><link rel="self" href="https://harbour.example/atom"/>'
    found = offer(atom(*stories(2), extra=links))
    assert (found.kind, found.format, found.title, found.language, found.entries) == (
        "feed",
        "atom",
        "Harbour",
        "en-GB",
        2,
    )
    assert (found.hub, found.topic) == ("https://hub.example/", "https://harbour.example/atom")
    assert found.newest_ms == 1_796_000_400_000 == 1_795_996_800_000 + 3_600_000


def test_a_hub_in_the_header_alone() -> None:
    found = offer(rss(*stories(1)), link_header='<https://hub.example/>; rel=hub, </feed.xml>; rel="self"')
    assert (found.hub, found.topic) == ("https://hub.example/", "https://harbour.example/feed.xml")
    assert websub_links('</x>; rel="next"', HOME) == ("", "")


def test_an_empty_feed_is_one() -> None:
    found = offer(rss())
    assert (found.entries, found.newest_ms) == (0, None)


def test_a_news_sitemap_and_an_index() -> None:
    found = offer(news(*stories(2)))
    assert (found.kind, found.format, found.entries, found.language) == ("sitemap", "news_sitemap", 2, "de")
    found = offer(index("/a.xml", "/b.xml"))
    assert (found.kind, found.format) == ("sitemap", "sitemap_index")
    assert [child.url for child in found.children] == ["https://harbour.example/a.xml", "https://harbour.example/b.xml"]


def test_a_front() -> None:
    body = page(
        body="<main>"
        + "".join(
            f'<h2><a href="/2026/11/story-number-{n}-of-the-day">Story number {n} of this day</a></h2>'
            for n in range(8)
        )
        + "</main>"
    )
    found = offer(body, "https://harbour.example/world", "front")
    assert (found.kind, found.format, found.entries) == ("front", "front", 8)
    assert refused(page(body="<p>Cookies?</p>"), "front").reason == "front_without_articles"
    few = body.replace(b"<h2>", b"<!--", 5).replace(b"</h2>", b"-->", 5)
    assert refused(few, "front").reason == "front_without_articles"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(page(body="Not found"), "html_not_feed", id="a page"),
        pytest.param(b"", "feed_empty", id="nothing"),
        pytest.param(b"%PDF-1.4", "not_a_feed", id="another kind of file"),
        pytest.param(b'{"ok": true}', "not_a_feed", id="an interface"),
        pytest.param(b"<opml><body/></opml>", "not_a_feed", id="a list of subscriptions"),
        pytest.param(
            news().replace(b"</urlset>", b"<url><loc>https://a.example/</loc></url></urlset>"),
            "sitemap_without_news",
            id="a namespace makes no news",
        ),
        pytest.param(index(), "sitemap_without_news", id="an index of nothing"),
        pytest.param(rss(*stories(3, query="#comment-7")), "comment_feed", id="every entry below an article"),
        pytest.param(atom("https://a.example/a?showComment=1#c1"), "comment_feed", id="Blogger's comments"),
        pytest.param(rss(title="Comments on: Ferry adrift"), "comment_feed", id="no comments yet"),
    ],
)
def test_what_is_nothing_to_register(body: bytes, reason: str) -> None:
    found = refused(body)
    assert found.reason == reason
    assert (found.url, found.via) == (GIVEN.url, "link")


@pytest.mark.parametrize(
    ("page_url", "body", "offered"),
    [
        ("https://harbour.example/ferry/", rss(title="Harbour » Fähre"), False),
        ("https://harbour.example/ferry", rss("https://harbour.example/a"), True),
        ("https://harbour.example/", rss(), True),
        ("https://harbour.example/fer", rss(), True),
        ("", rss(), True),
    ],
)
def test_an_empty_feed_below_the_page_waits_for_comments(page_url: str, body: bytes, offered: bool) -> None:
    url = "https://harbour.example/ferry/feed/"
    assert isinstance(judge(Candidate(url, "link"), Answer(url, body), TRACKING, page_url), Offer) is offered


def test_one_comment_among_articles_makes_no_comment_feed() -> None:
    assert offer(rss(*stories(2), "https://a.example/a#comment-7")).entries == 3


@pytest.mark.parametrize(
    ("asked", "answered", "moved", "registered"),
    [
        ("http://a.example/rss", "https://b.example/feed", True, "https://b.example/feed"),
        ("http://a.example/rss", "https://b.example/feed?token=1", False, "http://a.example/rss"),
        ("http://a.example/rss", "https://www.a.example/rss/", False, "https://www.a.example/rss/"),
        ("https://a.example/rss", "http://a.example/rss", False, "https://a.example/rss"),
    ],
)
def test_the_address_that_is_registered(asked: str, answered: str, moved: bool, registered: str) -> None:
    assert offer(rss(), asked, at=answered, moved=moved).url == registered


# ---------------------------------------------------------------- which of two


def variant(url: str, body: bytes, **answer: Any) -> Offer:
    return offer(body, f"https://harbour.example/{url}", **answer)


def names(offers: list[Offer]) -> list[str]:
    return [each.url.removeprefix("https://harbour.example/") for each in offers]


HUB = '<link rel="hub" href="https://hub.example/"/>'
TWELVE = stories(12)


@pytest.mark.parametrize(
    ("first", "second", "kept", "why"),
    [
        pytest.param(rss(*TWELVE), atom(*TWELVE), "second", "which is Atom", id="Atom before RSS"),
        pytest.param(atom(*TWELVE), rss(*TWELVE), "first", "which is Atom", id="in either order"),
        pytest.param(rss(*TWELVE, extra='<link xmlns="http://www.w3.org/2005/Atom" rel="hub" href="https://hub.example/"/>'), atom(*TWELVE), "first", "which has a hub", id="a hub before Atom"),
        pytest.param(rss(*stories(12, query="?utm_source=rss")), rss(*TWELVE), "first", "which was found first", id="tracked links"),
        pytest.param(rss(*TWELVE), rss(*stories(20)), "second", "which has 20 entries, not 12", id="a longer list of the same"),
        pytest.param(rss(*TWELVE), rss(*stories(12, 2)), "first", "which was found first", id="news came in between"),
        pytest.param(rss(*stories(2)), atom(*stories(2)).replace(b' xml:lang="en-GB"', b""), "second", "which is Atom", id="short, of one title"),
        pytest.param(news(*TWELVE), news(*TWELVE), "first", "which was found first", id="news sitemaps"),
    ],
)  # fmt: skip
def test_variants_keep_one(first: bytes, second: bytes, kept: str, why: str) -> None:
    offers, left = without_duplicates([variant("first", first), variant("second", second)])
    assert names(offers) == [kept]
    (out,) = left
    assert out.reason == "duplicate"
    assert out.detail == f"as https://harbour.example/{kept}, {why}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(rss(*TWELVE), rss(*stories(6, 5)), id="a section's feed within the whole"),
        pytest.param(
            rss(*stories(2), title="Harbour"), rss(*stories(2), title="Harbour - World"), id="short, of two titles"
        ),
        pytest.param(rss(title="Harbour"), rss(title="Harbour - World"), id="empty, of two titles"),
        pytest.param(rss(title=""), rss(title=""), id="empty, without a title"),
        pytest.param(rss(*TWELVE), news(*TWELVE), id="a feed and a news sitemap"),
        pytest.param(rss(*TWELVE), rss(*stories(12, 40)), id="nothing in common"),
    ],
)
def test_documents_that_are_two(first: bytes, second: bytes) -> None:
    offers, left = without_duplicates([variant("first", first), variant("second", second)])
    assert (names(offers), left) == (["first", "second"], [])


def test_one_document_under_several_addresses() -> None:
    body = rss(*stories(1))
    offers, left = without_duplicates(
        [
            variant("rss", body, at="https://harbour.example/feed", moved=True),
            offer(body, "http://harbour.example/feed/"),
            variant("old.xml", body, at="https://harbour.example/feed"),
        ]
    )
    assert names(offers) == ["feed"]
    assert [one.url for one in left] == ["http://harbour.example/feed/", "https://harbour.example/old.xml"]


def test_one_that_is_like_two_leaves_one() -> None:
    plain, other = rss(*stories(6), *stories(6, 50)), rss(*stories(5), *stories(7, 60))
    first, second = variant("a", plain), variant("b", other, at="https://harbour.example/z")
    joining = variant("c", atom(*stories(6), *stories(6, 50)), at="https://harbour.example/z")
    offers, left = without_duplicates([first, second, joining])
    assert names(offers) == ["c"]
    assert {one.url[-1] for one in left} == {"a", "b"}


def test_an_index_is_registered_where_its_children_roll_on() -> None:
    whole = offer(index("/news-2026-11-30.xml", "/news-2026-11-29.xml"), "https://harbour.example/index.xml")
    days = [offer(news(*stories(2, n)), f"https://harbour.example/news-2026-11-{n}.xml") for n in (30, 29)]
    (found,) = covering(whole, days)
    assert (found.url, found.entries, found.language) == (whole.url, 4, "de")
    fixed = [offer(news(*stories(2)), "https://harbour.example/news-sitemap.xml")]
    assert covering(whole, fixed) == fixed
    assert covering(whole, []) == []


@pytest.mark.parametrize(
    ("section", "words", "covered"),
    [
        ("/technology", "Technology", True),
        ("/tech", "Tech", False),
        ("/wirtschaft/", "Wirtschaft", True),
        ("/ausland", "Aus aller Welt", True),
        ("/sport.html", "Sport", False),
    ],
)
def test_a_section_with_a_feed_of_its_own(section: str, words: str, covered: bool) -> None:
    offers = [
        variant("technology/feed.xml", rss()),
        variant("b.xml", rss(title="Harbour: Wirtschaft")),
        variant("c.xml", rss(title="Harbour – Aus aller Welt")),
        variant("sport.xml", news(*stories(1))),
    ]
    assert has_feed(Candidate(HOME + section[1:], "navigation", "front", words), offers) is covered


# ---------------------------------------------------------------- whatever the bytes


_FRAGMENTS = st.sampled_from(
    [
        b"<html>", b"<head>", b"<base href='", b"<link rel=alternate type=application/rss+xml href='", b"'>", b"<a href='",
        b"http://[", b"feed:", b"//", b"?", b"#", b"%", b"\x00", b"\xff\xfe", b"<nav>", b"</nav>", b"<meta charset=utf-16>",
        b"<meta property=og:locale content='", b"\xed\xa0\x80", b"rel='hub self'", b"Sitemap:", b"\n", b"<urlset", b"<rss>",
        b"http://a.example:99999/feed", b"http://\xe2\x84\xa1.example/rss", b"lang='", b"\x1f\x8b\x08",
    ]
)  # fmt: skip
_BYTES = st.lists(st.one_of(_FRAGMENTS, st.binary(max_size=12)), max_size=24).map(b"".join)


@given(_BYTES, st.text(max_size=60))
@example(b"<link rel=feed href='http://xn--/rss'><a href=//rss.%00/>", "<//[>; rel=feed")
def test_nothing_raises_whatever_the_bytes(body: bytes, header: str) -> None:
    facts = read_site(body, HOME, {"link": header, "content-type": header})
    robots_sitemaps(body, HOME + "robots.txt")
    for one in (*facts.feeds, *facts.anchors, *facts.sections):
        assert one.url.startswith(("http://", "https://"))
        feed_places(one.url)
        has_feed(one, [])
    for kind in ("feed", "front"):
        judge(Candidate(GIVEN.url, "link", kind), Answer(GIVEN.url, body, header, header), TRACKING)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.integers(0, 9), st.integers(0, 6)), max_size=8))
def test_no_two_of_those_kept_are_one_and_nothing_is_lost(drawn: list[tuple[str, bool, int, int]]) -> None:
    offers = [
        variant(name, (atom if is_atom else rss)(*stories(count, first))) for name, is_atom, first, count in drawn
    ]
    kept, left = without_duplicates(offers)
    assert without_duplicates(kept) == (kept, [])
    assert {each.url for each in offers} == {each.url for each in kept} | {one.url for one in left}
