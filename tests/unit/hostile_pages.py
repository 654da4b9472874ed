"""Pages that nobody should serve, from a seed: damage to a sound page, and pages built to exhaust a parser.

`hostile(seed)` is endless and gives the same pages for the same seed; `built()` are the ones with a purpose, one by one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

_TEXT = "The harbour board closed the eastern lock on Monday after a crack was found in its lower gate. "
_MEGA = 1_000_000


def sound(title: str = "Lock closed", head: str = "", body: str = "") -> str:
    """An article's page; head and body are put into it."""
    text = _TEXT * 6
    node = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": title,
        "datePublished": "2026-11-30T12:00:00Z",
    }
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta property="og:type" content="article"><script type="application/ld+json">{json.dumps(node)}</script>{head}'
        f"</head><body><article><h1>{title}</h1><p>{text}.</p><p>{text}!</p>{body}</article></body></html>"
    )


def built() -> Iterator[tuple[str, bytes]]:
    """(what it is, page), each larger or deeper than any honest one."""
    deep = 100_000
    for tag in ("div", "b", "table", "ul", "span", "a"):
        yield f"nested {tag}", sound(body=f"<{tag}>" * deep).encode()
    yield "nested and closed", sound(body="<div>" * deep + "x" + "</div>" * deep).encode()
    yield "nested mix", sound(body="<div><b><p><i>" * (deep // 4)).encode()
    yield "10 MB in one line", sound(body="word " * (2 * _MEGA - 1000)).encode()
    yield "10 MB without a space", sound(body="x" * (10 * _MEGA - 5_000)).encode()
    yield "over 10 MB", b"<html>" + b"x" * (11 * _MEGA)
    yield "NULs", sound().replace("lock", "lo\x00ck").encode()
    yield "NULs alone", b"\x00" * _MEGA
    yield "every byte", bytes(range(256)) * 4_000
    for declared, real in (
        ("utf-8", "utf-16"),
        ("utf-16", "utf-8"),
        ("utf-7", "utf-8"),
        ("shift_jis", "gb18030"),
        ("hex", "latin-1"),
        ("idna", "utf-8"),
    ):
        page = sound("Schleuse für Züge 東京 geschlossen").replace('charset="utf-8"', f'charset="{declared}"')
        yield f"{real} said to be {declared}", page.encode(real, "replace")
    yield (
        "mixed encodings",
        b"".join(
            sound("Zürich 東京").encode(name, "replace") for name in ("utf-8", "cp1252", "utf-16-le", "shift_jis")
        ),
    )
    yield "surrogates", sound().encode().replace(b"lock", b"\xed\xa0\x80\xed\xb0\x80")
    yield "entities", sound(body="&amp;" * _MEGA).encode()
    yield "unknown entities", sound(body="&aaaaaaaaaaaaaaaaaaaaaaaaaaaa" * 200_000).encode()
    yield "numeric entities", sound(body="&#99999999999;&#0;&#xd800;" * 100_000).encode()
    yield (
        "declared entities",
        (
            '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa">'
            + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(12))
            + "]>"
            + sound(body="&m;")
        ).encode(),
    )
    yield "attributes", sound(body="<p " + " ".join(f"a{number}=1" for number in range(200_000)) + ">x</p>").encode()
    yield "one attribute", sound(body=f'<p class="{"cmp-" * _MEGA}">x</p>').encode()
    yield "metas", sound(head='<meta name="author" content="A B">' * 150_000).encode()
    yield "canonicals", sound(body="<p>x</p>" + '<link rel="canonical" href="">' * 100_000).encode()
    yield "comments", sound(body="<!--" * 500_000).encode()
    yield "scripts", sound(body="<script>" * 500_000).encode()
    yield "unclosed tags", sound(body="<a" * _MEGA).encode()
    yield "combining marks", sound(body="<p>a" + "\u0301\u0323" * 100_000 + "</p>").encode()
    yield "joiners", sound(body="<p>a" + "\u200c" * 300_000 + "b</p>").encode()
    yield "a long title", sound("x | y - z: " * 50_000).encode()
    yield "many headings", sound(body="<h1>x</h1>" * 200_000).encode()
    yield "a word of stops", sound(body="<p>" + "." * 300_000 + "'" * 300_000 + "a</p>").encode()
    yield "pleas", sound(body="<p>" + "we and our 1,1 " * 50_000 + "</p>").encode()
    for name, block in _json_ld():
        yield (
            f"JSON-LD: {name}",
            sound(head=f'<script type="application/ld+json">{block}</script>').replace("NewsArticle", "Thing").encode(),
        )


def _json_ld() -> Iterator[tuple[str, str]]:
    article = '{"@type":"NewsArticle","headline":"Lock closed",'
    yield "deep arrays", "[" * 500_000
    yield "deep objects", '{"@graph":' * 100_000
    yield "deep and closed", article + '"author":' + "[" * 100_000 + "]" * 100_000 + "}"
    yield "a million elements", article + '"keywords":[' + ",".join(["1"] * _MEGA) + "]}"
    yield "many authors", article + '"author":[' + ",".join(['{"@id":"x"}'] * 100_000) + "]}"
    yield "many nodes", '{"@graph":[' + ",".join(['{"@type":"Thing"}'] * 80_000) + "]}"
    yield "a huge integer", article + f'"wordCount":{"9" * 500_000}}}'
    yield (
        "huge numbers",
        article + '"datePublished":1e999999,"dateModified":-1e999999,"isAccessibleForFree":99999999999999999999}',
    )
    yield "not a number", article + '"author":NaN,"image":Infinity}'
    yield "lone surrogates", article + '"author":"\\ud800","articleSection":"\\udfff","@id":"\\ud800"}'
    yield "CDATA", "[CDATA[" * 200_000
    yield "backslashes", article + '"author":"' + "\\" * _MEGA
    yield "commas", article + ", " * 500_000 + "}"
    yield "entities", article + '"author":"' + "&amp" * 400_000


def hostile(seed: int) -> Iterator[bytes]:
    """Damaged pages without end: flips, cuts, doubled and shuffled pieces, bytes of another encoding."""
    chance = random.Random(seed)
    base = sound(
        "Überraschung in Zürich: 東京 & Москва", body="<ul>" + "<li>one</li>" * 50 + "</ul><table><tr><td>1</table>"
    ).encode()
    ways: tuple[Callable[[random.Random, bytearray], bytes], ...] = (_flipped, _cut, _doubled, _shuffled, _foreign)
    while True:
        page = bytearray(base)
        for _ in range(chance.randint(1, 3)):
            page = bytearray(chance.choice(ways)(chance, page))
        yield bytes(page)


def _flipped(chance: random.Random, page: bytearray) -> bytes:
    for _ in range(chance.choice((1, 10, 200)) if page else 0):
        page[chance.randrange(len(page))] ^= 1 << chance.randrange(8)
    return bytes(page)


def _cut(chance: random.Random, page: bytearray) -> bytes:
    return bytes(page[: chance.randrange(len(page) + 1)])


def _doubled(chance: random.Random, page: bytearray) -> bytes:
    start, end = sorted(chance.randrange(len(page) + 1) for _ in range(2))
    return bytes(page[:end] + page[start:end] * chance.choice((1, 5, 40)) + page[end:])


def _shuffled(chance: random.Random, page: bytearray) -> bytes:
    pieces = bytes(page).split(b"<")
    chance.shuffle(pieces)
    return b"<".join(pieces)


def _foreign(chance: random.Random, page: bytearray) -> bytes:
    at = chance.randrange(len(page) + 1)
    noise = bytes(chance.randrange(256) for _ in range(chance.choice((1, 30, 2_000))))
    return bytes(page[:at] + noise + page[at:])
