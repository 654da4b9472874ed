"""How an article looks as a web page, an AMP page and a print page, and a publisher's home page. Text in, bytes out.

The pages carry what real ones do around the text: navigation, a cookie notice, related links, a footer, OpenGraph and
JSON-LD.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from collections.abc import Sequence
from html import escape
from typing import Any

from services.press.content import Publisher
from services.press.feeds import Item, moment, rfc3339

_WORDS = {
    "en": (
        "Home",
        "Related",
        "Corrected",
        "We use cookies to remember your choices. Accept or refuse them below.",
        "Accept",
        "By",
    ),
    "de": (
        "Startseite",
        "Mehr zum Thema",
        "Korrigiert",
        "Wir verwenden Cookies, um Ihre Auswahl zu speichern.",
        "Zustimmen",
        "Von",
    ),
    "es": (
        "Portada",
        "Más sobre el tema",
        "Corregido",
        "Usamos cookies para recordar sus preferencias.",
        "Aceptar",
        "Por",
    ),
    "fr": (
        "Accueil",
        "Sur le même sujet",
        "Corrigé",
        "Nous utilisons des cookies pour retenir vos choix.",
        "Accepter",
        "Par",
    ),
    "ja": ("トップ", "関連記事", "訂正", "このサイトはクッキーを使用しています。", "同意する", "文・"),
}
NOTICE = "Sample press: every event, person and company in this publication is invented."


def article_page(
    publisher: Publisher, item: Item, home: str, canonical: str, amp_url: str, related: Sequence[tuple[str, str]]
) -> bytes:
    """The whole page. canonical: of the main version; amp_url: of the AMP version, if any; related: (url, title)."""
    article = item.article
    if article.form == "print":
        return _print_page(publisher, item)
    front, more, corrected, cookies, accept, by = _WORDS.get(article.language, _WORDS["en"])
    amp = article.form == "amp"
    modified = item.modified_ms > item.published_ms
    when = moment(item.published_ms)
    head = [
        "<!DOCTYPE html>",
        f'<html{" amp" if amp else ""} lang="{article.language}">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(item.title)} | {escape(publisher.name)}</title>",
        f'<link rel="canonical" href="{escape(canonical)}">',
        f'<link rel="amphtml" href="{escape(amp_url)}">' if amp_url and not amp else "",
        f'<meta name="description" content="{escape(article.lede)}">',
        f'<meta name="author" content="{escape(article.author)}">',
        '<meta property="og:type" content="article">',
        f'<meta property="og:site_name" content="{escape(publisher.name)}">',
        f'<meta property="og:title" content="{escape(item.title)}">',
        f'<meta property="og:description" content="{escape(article.lede)}">',
        f'<meta property="og:url" content="{escape(canonical)}">',
        f'<meta property="og:image" content="{escape(item.image_url)}">' if item.image_url else "",
        f'<meta property="article:published_time" content="{rfc3339(item.published_ms)}">',
        f'<meta property="article:modified_time" content="{rfc3339(item.modified_ms)}">' if modified else "",
        f'<meta property="article:section" content="{escape(article.section)}">',
        _json_ld(publisher, item, home, canonical),
        f"<style>{_STYLE}</style></head>",
    ]
    body = [
        f'<body><header class="masthead"><a class="brand" href="{home}/">{escape(publisher.name)}</a>'
        f"<p>{escape(publisher.tagline)}</p></header>",
        f'<nav aria-label="main"><ul><li><a href="{home}/">{front}</a></li>'
        f"<li>{escape(article.section)}</li></ul></nav>",
        f'<div class="cookie-banner" id="cookie-consent" role="dialog"><p>{cookies}</p><button>{accept}</button></div>',
        "<main><article>",
        f'<p class="label">{escape(article.label)}</p>' if article.label else "",
        f"<h1>{escape(item.title)}</h1>",
        f'<p class="byline">{by} <span rel="author">{escape(article.author)}</span> · '
        f'<time datetime="{rfc3339(item.published_ms)}">{when:%Y-%m-%d %H:%M} UTC</time></p>',
        f'<figure><img src="{escape(item.image_url)}" alt="" width="480" height="270"></figure>'
        if item.image_url
        else "",
        '<div class="article-body">',
        *(f"<p>{escape(text)}</p>" for text in (article.lede, *article.paragraphs)),
        "</div>",
        f'<footer class="correction"><small>{corrected}: {rfc3339(item.modified_ms)}</small></footer>'
        if modified
        else "",
        "</article>",
        _related(more, related),
        "</main>",
        _site_footer(publisher),
    ]
    return "\n".join(line for line in head + body if line).encode()


def _print_page(publisher: Publisher, item: Item) -> bytes:
    """As many print pages are: bare, not indexed, and without a canonical link."""
    article = item.article
    lines = [
        f'<!DOCTYPE html><html lang="{article.language}"><head><meta charset="utf-8">',
        '<meta name="robots" content="noindex">',
        f"<title>{escape(item.title)} - {escape(publisher.name)}</title></head><body>",
        f"<h1>{escape(item.title)}</h1><p>{escape(article.author)}, {moment(item.published_ms):%Y-%m-%d}</p><article>",
        *(f"<p>{escape(text)}</p>" for text in (article.lede, *article.paragraphs)),
        "</article></body></html>\n",
    ]
    return "\n".join(lines).encode()


def home_page(
    publisher: Publisher, home: str, items: Sequence[Item], sections: Sequence[tuple[str, str]] = (), section: str = ""
) -> bytes:
    """The newest articles, with links by which a reader finds the feeds, or one section of them, without such links.

    sections: (address, name) of the navigation; section: the name of the page's own.
    """
    title = f"{publisher.name} – {section}" if section else publisher.name
    entries = "".join(f'<li><a href="{escape(url)}">{escape(name.title())}</a></li>' for url, name in sections)
    lines = [
        f'<!DOCTYPE html><html lang="{publisher.languages[0]}"><head><meta charset="utf-8">'
        f'<title>{escape(title)}</title><meta property="og:site_name" content="{escape(publisher.name)}">'
        f'<meta property="og:locale" content="{publisher.languages[0]}_{publisher.country}"><style>{_STYLE}</style>',
        *(
            f'<link rel="alternate" type="application/{feed.format}+xml" href="{home}{feed.path}">'
            for feed in publisher.feeds
            if not section
        ),
        f'</head><body><header class="masthead"><span class="brand">{escape(publisher.name)}</span>'
        f"<p>{escape(publisher.tagline)}</p></header>",
        f'<nav aria-label="main"><ul>{entries}</ul></nav>' if entries else "",
        "<main>",
        *(
            f'<section lang="{item.article.language}"><h2><a href="{escape(item.url)}">{escape(item.title)}</a></h2>'
            f"<p>{escape(item.article.lede)}</p></section>"
            for item in items
        ),
        "</main>",
        _site_footer(publisher),
    ]
    return "\n".join(line for line in lines if line).encode()


def _site_footer(publisher: Publisher) -> str:
    owner = escape(publisher.owner)
    return f'<footer class="site-footer"><p>© {owner}</p><p>{NOTICE}</p></footer></body></html>\n'


def _related(heading: str, related: Sequence[tuple[str, str]]) -> str:
    if not related:
        return ""
    links = "".join(f'<li><a href="{escape(url)}">{escape(title)}</a></li>' for url, title in related)
    return f'<aside class="related"><h2>{heading}</h2><ul>{links}</ul></aside>'


def _json_ld(publisher: Publisher, item: Item, home: str, canonical: str) -> str:
    article = item.article
    organization = {"@type": "NewsMediaOrganization", "name": publisher.name, "url": f"{home}/"}
    # Publishers differ in how they state an author: a node, a list of nodes, or a bare name.
    person: Any = {"@type": "Person", "name": article.author}
    author = {"graph": person, "array": [person], "object": article.author}.get(publisher.json_ld, person)
    news: dict[str, Any] = {
        "@type": "OpinionNewsArticle" if article.label == "opinion" else "NewsArticle",
        "headline": item.title,
        "description": article.lede,
        "datePublished": rfc3339(item.published_ms),
        "dateModified": rfc3339(item.modified_ms),
        "author": author,
        "publisher": organization,
        "articleSection": article.section,
        "inLanguage": article.language,
        "mainEntityOfPage": canonical,
        "url": canonical,
    }
    if item.image_url:
        news["image"] = [item.image_url]
    shapes: dict[str, Any] = {
        "object": {"@context": "https://schema.org", **news},
        "wrapped": {"@context": "https://schema.org", **news},
        "graph": {
            "@context": "https://schema.org",
            "@graph": [{"@type": "WebSite", "name": publisher.name, "url": f"{home}/"}, news],
        },
        "array": [
            {"@context": "https://schema.org", "@type": "BreadcrumbList", "itemListElement": []},
            {"@context": "https://schema.org", **news},
        ],
    }
    if publisher.json_ld not in shapes:
        return ""
    data = json.dumps(shapes[publisher.json_ld], ensure_ascii=False).replace("</", "<\\/")
    if publisher.json_ld == "wrapped":
        data = f"//<![CDATA[\n{data}\n//]]>"
    return f'<script type="application/ld+json">{data}</script>'


def picture(name: str, width: int = 480, height: int = 270) -> bytes:
    """A PNG of hills under a sky, colours and shapes from a hash of the name: the press has no photographers."""
    seed = hashlib.blake2b(name.encode(), digest_size=16).digest()
    hue = seed[0]
    palette = b"".join(_colour(hue + 16 * layer, 0.86 - 0.16 * layer) for layer in range(5))
    edges = []
    for layer in range(1, 5):
        phase, waves = seed[layer] / 20, 1 + seed[layer + 4] / 64
        base, swing = height * (0.2 + 0.18 * layer), height * 0.09
        edges.append([base + swing * math.sin(phase + waves * x / width * 6.3) for x in range(width)])
    rows = b"".join(b"\0" + bytes(sum(y >= edge[x] for edge in edges) for x in range(width)) for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"PLTE", palette)
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )


def _colour(hue: int, light: float) -> bytes:
    """Three bytes of a muted colour. hue: 0 to 255 around the circle; light: 0 to 1."""
    angle = (hue % 256) / 256 * 2 * math.pi
    return bytes(int(255 * light * (0.78 + 0.22 * math.cos(angle - shift))) for shift in (0.0, 2.09, 4.19))


_STYLE = (
    "body{font:1.05rem/1.6 Georgia,serif;max-width:44rem;margin:0 auto;padding:0 1rem;color:#222}"
    ".brand{font-size:2rem;font-weight:700;text-decoration:none;color:inherit}"
    "nav ul{list-style:none;display:flex;gap:1rem;padding:0}"
    "h1{line-height:1.2}.byline,.site-footer,.masthead p{color:#555;font-size:.9rem}img{max-width:100%;height:auto}"
    ".cookie-banner{background:#eee;padding:.5rem 1rem;font-size:.85rem}"
    ".label{text-transform:uppercase;letter-spacing:.1em}"
)
