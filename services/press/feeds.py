"""How articles look as RSS 2.0, Atom 1.0, a news sitemap and the sitemaps beside it. Text in, bytes out: no clock, no
choice of articles."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from xml.sax.saxutils import escape, quoteattr

from services.press.content import Article, Feed, Publisher

RSS = "application/rss+xml; charset=utf-8"
ATOM = "application/atom+xml; charset=utf-8"
XML = "application/xml; charset=utf-8"
GZIP = "application/gzip"


@dataclass(frozen=True, slots=True)
class Item:
    """An article as it stands now. url: absolute, without tracking. published_ms, modified_ms: ms UTC."""

    article: Article
    title: str
    url: str
    published_ms: int
    modified_ms: int
    image_url: str = ""


def moment(ms: int) -> datetime:
    """Aware UTC time of ms since the epoch."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def rfc3339(ms: int) -> str:
    """2026-11-30T09:00:00.000Z"""
    return moment(ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def rfc822(ms: int) -> str:
    """Mon, 30 Nov 2026 09:00:00 GMT"""
    return format_datetime(moment(ms), usegmt=True)


def rss(publisher: Publisher, feed: Feed, home: str, items: Sequence[Item], built_ms: int, hub: str = "") -> bytes:
    """An RSS 2.0 document, newest first. home: the publisher's address without a final slash; hub: WebSub's, if any."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:content="http://purl.org/rss/1.0/modules/content/"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/">',
        "<channel>",
        f"<title>{escape(_feed_title(publisher, feed))}</title>",
        f"<link>{escape(home)}/</link>",
        f"<description>{escape(publisher.tagline)}</description>",
        f"<language>{feed.language}</language>",
        f'<atom:link href={quoteattr(home + feed.path)} rel="self" type="application/rss+xml"/>',
        *([f'<atom:link href={quoteattr(hub)} rel="hub"/>'] if hub else []),
        f"<lastBuildDate>{rfc822(built_ms)}</lastBuildDate>",
    ]
    for item in items:
        article = item.article
        lines += [
            "<item>",
            f"<title>{escape(item.title)}</title>",
            f"<link>{escape(_tracked(item.url, publisher.feed_query))}</link>",
            f'<guid isPermaLink="false">{publisher.id}-{_number(article.id)}</guid>',
            f"<pubDate>{rfc822(item.published_ms)}</pubDate>",
            f"<dc:creator>{escape(article.author)}</dc:creator>",
            f"<category>{escape(article.section)}</category>",
            f"<description><![CDATA[{article.lede}]]></description>",
        ]
        if feed.full_text:
            lines.append(f"<content:encoded><![CDATA[{_html(article)}]]></content:encoded>")
        if item.image_url:
            lines.append(f'<media:content url={quoteattr(item.image_url)} medium="image" type="image/png"/>')
        lines.append("</item>")
    lines += ["</channel>", "</rss>", ""]
    return "\n".join(lines).encode()


def atom(publisher: Publisher, feed: Feed, home: str, items: Sequence[Item], built_ms: int, hub: str = "") -> bytes:
    """An Atom 1.0 document (RFC 4287), newest first. home, hub: as in `rss`."""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{feed.language}">',
        f"<id>tag:{publisher.host},2026:{feed.path}</id>",
        f"<title>{escape(_feed_title(publisher, feed))}</title>",
        f"<subtitle>{escape(publisher.tagline)}</subtitle>",
        f'<link rel="self" href={quoteattr(home + feed.path)}/>',
        *([f'<link rel="hub" href={quoteattr(hub)}/>'] if hub else []),
        f'<link rel="alternate" type="text/html" href={quoteattr(home + "/")}/>',
        f"<updated>{rfc3339(built_ms)}</updated>",
    ]
    for item in items:
        article = item.article
        lines += [
            "<entry>",
            f"<id>tag:{publisher.host},2026:{_number(article.id)}</id>",
            f'<title type="text">{escape(item.title)}</title>',
            f'<link rel="alternate" type="text/html" href={quoteattr(_tracked(item.url, publisher.feed_query))}/>',
            f"<published>{rfc3339(item.published_ms)}</published>",
            f"<updated>{rfc3339(item.modified_ms)}</updated>",
            f"<author><name>{escape(article.author)}</name></author>",
            f"<category term={quoteattr(article.section)}/>",
            f'<summary type="text">{escape(article.lede)}</summary>',
        ]
        if feed.full_text:
            lines.append(f'<content type="html">{escape(_html(article))}</content>')
        lines.append("</entry>")
    lines += ["</feed>", ""]
    return "\n".join(lines).encode()


def news_sitemap(publisher: Publisher, items: Sequence[Item]) -> bytes:
    """A news sitemap: every live article of the publisher, newest first."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">',
    ]
    for item in items:
        lines += [
            f"<url><loc>{escape(item.url)}</loc><lastmod>{rfc3339(item.modified_ms)}</lastmod>",
            f"<news:news><news:publication><news:name>{escape(publisher.name)}</news:name>"
            f"<news:language>{item.article.language}</news:language></news:publication>",
            f"<news:publication_date>{rfc3339(item.published_ms)}</news:publication_date>"
            f"<news:title>{escape(item.title)}</news:title></news:news></url>",
        ]
    lines += ["</urlset>", ""]
    return "\n".join(lines).encode()


def sitemap_index(sitemaps: Sequence[tuple[str, int]]) -> bytes:
    """A gzip file of a sitemap index. sitemaps: (address, last change in ms UTC)."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
        *(f"<sitemap><loc>{escape(url)}</loc><lastmod>{rfc3339(ms)}</lastmod></sitemap>" for url, ms in sitemaps),
        "</sitemapindex>",
        "",
    ]
    return gzip.compress("\n".join(lines).encode(), mtime=0)


def page_sitemap(urls: Sequence[str]) -> bytes:
    """A sitemap of pages that are no articles."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
        *(f"<url><loc>{escape(url)}</loc></url>" for url in urls),
        "</urlset>",
        "",
    ]
    return "\n".join(lines).encode()


def _feed_title(publisher: Publisher, feed: Feed) -> str:
    return f"{publisher.name} – {feed.section.title()}" if feed.section else publisher.name


def _tracked(url: str, query: str) -> str:
    return f"{url}?{query}" if query else url


def _number(article_id: str) -> str:
    """A content system's number for an article: stable, and saying nothing about its address."""
    return str(int.from_bytes(hashlib.blake2b(article_id.encode(), digest_size=5).digest(), "big"))


def _html(article: Article) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in (article.lede, *article.paragraphs))
