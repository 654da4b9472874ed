"""Outbound links, credits and correction notices: what counts, in which languages, and how much at most."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from state_schemas.articles import Article, Correction, OutboundLink
from state_schemas.codec import decode_record, encode_record
from state_schemas.fetching import Entry, RawItem
from state_schemas.sources import Origin
from udfs.articles.canonical import load_tracking_parameters
from udfs.articles.citations import credits_of
from udfs.articles.corrections import corrections_of, date_in
from udfs.articles.extract import Extraction, extract_entry, extract_page
from udfs.articles.traits import Notice

TRACKING = load_tracking_parameters(Path(__file__).parents[2] / "reference_data" / "tracking_parameters.txt")
FILL = (
    "<p>The harbour board closed the eastern lock on Monday after a crack was found in its lower gate, it said.</p>" * 1
)
NODE = {
    "@type": "NewsArticle",
    "headline": "Lock closed",
    "datePublished": "2026-11-30T06:00:00Z",
    "description": "A crack.",
}


def extracted(body: str, node: dict[str, object] | None = None, lang: str = "en") -> Extraction:
    raw = RawItem(
        kind="page", url="https://n.example/a/lock-1234", origin=Origin(publisher="n.example", name="Daily Harbour"),
        found_ms=1, fetched_ms=2,
    )  # fmt: skip
    script = f'<script type="application/ld+json">{json.dumps(NODE | (node or {}))}</script>'
    html = f'<html lang="{lang}"><head>{script}</head><body><article><h1>Lock closed</h1>{FILL}{body}</article></body></html>'
    found = extract_page(raw, html.encode(), TRACKING)
    assert isinstance(found, Extraction), found
    return found


def linked(*hrefs: str, rel: str = "") -> tuple[str, ...]:
    rest = f' rel="{rel}"' if rel else ""
    sentences = "".join(
        f'<p>In sentence number {n} the board refers to <a href="{href}"{rest}>a report number {n}</a> of last year.</p>'
        for n, href in enumerate(hrefs)
    )
    return tuple(link.url for link in extracted(sentences).links)


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        pytest.param("https://wire.example/a/17", "https://wire.example/a/17", id="another site"),
        pytest.param("https://wire.example/a?utm_source=n&id=7#top", "https://wire.example/a?id=7", id="normalised"),
        pytest.param("https://wire.example/", "https://wire.example/", id="another site's home page"),
        pytest.param("//wire.example/a/17", "https://wire.example/a/17", id="without a scheme"),
        pytest.param("/a/storm-reaches-the-northern-coast", "https://n.example/a/storm-reaches-the-northern-coast", id="another article"),
        pytest.param("https://www.n.example/2026/11/29/storm", "https://www.n.example/2026/11/29/storm", id="of the same site"),
        pytest.param("https://HTTPS.example:443/A", "https://https.example/A", id="host and port"),
        pytest.param("/a/lock-1234#comments", None, id="the article itself"),
        pytest.param("/tag/harbour", None, id="a tag of its own site"),
        pytest.param("/", None, id="its own home page"),
        pytest.param("#note1", None, id="a place on the page"),
        pytest.param("javascript:alert(1)", None, id="javascript"),
        pytest.param("data:text/html,x", None, id="data"),
        pytest.param("mailto:a@wire.example", None, id="mail"),
        pytest.param("http://[broken", None, id="no address"),
        pytest.param("https://www.facebook.com/sharer/sharer.php?u=x", None, id="a button to share"),
        pytest.param("https://twitter.com/intent/tweet?url=x", None, id="another"),
        pytest.param("https://wire.example/" + "x" * 600, None, id="too long"),
    ],
)  # fmt: skip
def test_which_addresses_are_links_of_the_article(href: str, expected: str | None) -> None:
    assert linked(href) == ((expected,) if expected else ())


def test_links_say_which_site_they_lead_to() -> None:
    found = extracted(
        '<p>As the <a href="https://news.wire.co.uk/a/1">wire reported on Sunday</a>, the lock had cracked.</p>'
    )
    assert found.links == (OutboundLink(url="https://news.wire.co.uk/a/1", site="wire.co.uk"),)


def test_only_links_in_sentences_of_the_body_count() -> None:
    body = (
        '<nav><a href="https://shop.example/1">Shop</a></nav>'
        '<p>The board <em>said <a href="https://wire.example/1">on Sunday</a></em> that it knew of the crack.</p>'
        '<ul><li><a href="https://more.example/2">More of what others have written on the subject</a></li></ul>'
        '<footer>See also <a href="https://foot.example/3">our partners</a> and friends.</footer>'
    )
    assert [link.site for link in extracted(body).links] == ["wire.example"]


def test_paid_links_are_no_citations() -> None:
    assert linked("https://shop.example/1", rel="sponsored nofollow") == ()
    assert linked("https://shop.example/1", rel="ugc") == ()
    assert linked("https://wire.example/1", rel="nofollow noopener") == ("https://wire.example/1",)


def test_each_once_in_order_and_at_most_fifty() -> None:
    assert linked("https://b.example/", "https://a.example/1", "http://www.b.example", "https://a.example/1/") == (
        "https://b.example/", "https://a.example/1",
    )  # fmt: skip
    many = linked(*(f"https://s{n}.example/a" for n in range(200)))
    assert many == tuple(f"https://s{n}.example/a" for n in range(50))


def test_a_page_of_ten_thousand_links_stays_small() -> None:
    body = "".join(
        f'<p>One more is <a href="https://s{n}.example/{"y" * 400}">number {n}</a> of many.</p>' for n in range(10_000)
    )
    found = extracted(body)
    assert len(found.links) <= 50
    assert sum(len(link.url) + len(link.site) for link in found.links) < 30_000


def test_what_json_ld_cites_and_is_based_on() -> None:
    found = extracted("", {"isBasedOn": "https://wire.example/report", "citation": [
        {"@type": "CreativeWork", "name": "Gates of 1911", "url": "https://library.example/gates"}, "javascript:x", 7]})  # fmt: skip
    assert [link.url for link in found.links] == ["https://wire.example/report", "https://library.example/gates"]
    assert found.credits == ("Gates of 1911",)


def test_links_of_a_feeds_whole_article() -> None:
    text = "".join(f"<p>Sentence {n} of the report speaks of the eastern lock and of its gate.</p>" for n in range(9))
    content = f'{text}<p>It follows <a href="https://wire.example/1">what the wire wrote</a> on Sunday.</p>'
    entry = Entry(
        identity="0" * 16, title="Lock closed", link="https://n.example/a/1", content=content, summary="A crack."
    )
    raw = RawItem(
        kind="entry", url="https://n.example/a/1", origin=Origin(publisher="n"), found_ms=1, fetched_ms=2, entry=entry
    )
    found = extract_entry(raw, TRACKING)
    assert isinstance(found, Extraction)
    assert [link.url for link in found.links] == ["https://wire.example/1"]


# ---------------------------------------------------------------- credits

BODY = "The lock is closed.\n" * 12


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Additional reporting by Ann Lee and Bo Ek", ("Ann Lee and Bo Ek",)),
        ("Reporting by Ann Lee in Ghent; Editing by J. Smith.", ("Ann Lee in Ghent", "J. Smith")),
        ("(Reporting by Ann Lee; Writing by Bo Ek)", ("Ann Lee", "Bo Ek")),
        ("With files from The Harbour Press", ("The Harbour Press",)),
        ("Ann Lee contributed reporting from Ghent.", ("Ann Lee",)),
        ("This article was originally published by Open Harbour.", ("Open Harbour",)),
        ("Reuters", ("Reuters",)),
        ("(Reuters)", ("Reuters",)),
        ("The gate is to be replaced in spring. (dpa)", ("dpa",)),
        ("Mit Material von dpa und AFP", ("dpa und AFP",)),
        ("Quelle: Hafenamt", ("Hafenamt",)),
        ("Die Schleuse bleibt zu. (mit AFP)", ("AFP",)),
        ("Le port reste fermé. (avec AFP)", ("AFP",)),
        ("Con información de EFE", ("EFE",)),
        ("Com informações da Agência Lusa", ("Agência Lusa",)),
        ("Fonte: ANSA", ("ANSA",)),
        ("Bron: ANP", ("ANP",)),
        ("Źródło: PAP", ("PAP",)),
        ("Källa: TT", ("TT",)),
        ("Kilde: Ritzau", ("Ritzau",)),
        ("Lähde: STT", ("STT",)),
        ("Kaynak: AA", ("AA",)),
        ("Источник: ТАСС", ("ТАСС",)),
        ("来源：新华社", ("新华社",)),
        ("出典：港湾局", ("港湾局",)),
        ("출처: 연합뉴스", ("연합뉴스",)),
        ("المصدر: وكالة الميناء", ("وكالة الميناء",)),
        ("Photo: Ann Lee / Reuters", ()),
        ("Foto: dpa", ()),
        ("写真：共同", ()),
        ("The source: a leak in the gate, as the engineers had feared for years and as the board had denied in every one of its"
         " meetings since the summer of the year before last.", ()),
        ("Source: Daily Harbour", ()),
        ("The board relied on reporting by its own engineers, said the minister in a long answer to the committee on Monday"
         " afternoon, and it had no reason to doubt them at any time, " + "as he put it again and again, " * 12, ()),
    ],
)  # fmt: skip
def test_credits_in_the_text(line: str, expected: tuple[str, ...]) -> None:
    assert credits_of({}, BODY + line, ("Daily Harbour",)) == expected


def test_credits_in_json_ld_and_their_bounds() -> None:
    node = {
        "creditText": "Harbour &amp; Sea Press",
        "sourceOrganization": {"name": "Reuters"},
        "contributor": [{"name": "Bo Ek"}],
    }
    assert credits_of(node, "", ()) == ("Harbour & Sea Press", "Reuters", "Bo Ek")
    assert credits_of({"sourceOrganization": {"name": "Daily Harbour"}}, "", ("daily harbour",)) == ()
    many = credits_of({"contributor": [f"Person {n}" for n in range(99)]}, "", ())
    assert len(many) == 10
    assert credits_of({"creditText": "x" * 500}, "", ()) == ()


# ---------------------------------------------------------------- corrections


@pytest.mark.parametrize(
    ("line", "lang", "day"),
    [
        ("Correction: The lock has two gates, not three.", "en", None),
        ("Correction (May 3, 2024): The lock has two gates.", "en", "2024-05-03"),
        ("• This article was amended on 3 May 2024 to name the engineer.", "en", "2024-05-03"),
        ("An earlier version of this article misstated the lock's age.", "en", None),
        ("Editor's note: A previous version of this report named the wrong gate.", "en", None),
        ("Clarification: The board was asked on Sunday.", "en", None),
        ("Korrektur: Die Schleuse hat zwei Tore.", "de", None),
        ("Korrekturhinweis vom 3.5.2024: Die Schleuse hat zwei Tore.", "de", "2024-05-03"),
        ("In einer früheren Version dieses Textes stand, die Schleuse habe drei Tore.", "de", None),
        ("Anmerkung der Redaktion: In einer früheren Fassung war das Alter falsch.", "de", None),
        ("Rectificatif : l'écluse a deux portes.", "fr", None),
        ("Une première version de cet article, publiée le 3 mai 2024, se trompait.", "fr", "2024-05-03"),
        ("Fe de errores: la esclusa tiene dos puertas.", "es", None),
        ("Una versión anterior de este artículo, del 3 de mayo de 2024, decía tres.", "es", "2024-05-03"),
        ("Errata corrige: la chiusa ha due porte.", "it", None),
        ("Correção: a eclusa tem duas portas.", "pt", None),
        ("Uma versão anterior deste texto dizia três portas.", "pt", None),
        ("Rectificatie: de sluis heeft twee deuren.", "nl", None),
        ("In een eerdere versie van dit artikel stond drie deuren.", "nl", None),
        ("Sprostowanie: śluza ma dwie bramy.", "pl", None),
        ("Rättelse: Slussen har två portar.", "sv", None),
        ("I en tidligere versjon av saken sto det tre porter.", "no", None),
        ("Rettelse: Slusen har to porte, ikke tre.", "da", None),
        ("Oikaisu: Sulussa on kaksi porttia.", "fi", None),
        ("Oprava: Komora má dvoje vrata.", "cs", None),
        ("Düzeltme: Kapının iki kanadı vardır.", "tr", None),
        ("Исправление: у шлюза двое ворот, уточнено 3 мая 2024.", "ru", "2024-05-03"),
        ("В предыдущей версии материала говорилось о трёх воротах.", "ru", None),
        ("Виправлення: шлюз має двоє воріт.", "uk", None),
        ("Διόρθωση: Η δεξαμενή έχει δύο πύλες.", "el", None),
        ("تصحيح: للهويس بوابتان لا ثلاث بوابات.", "ar", None),
        ("【訂正】閘門は二つでした。", "ja", None),
        ("訂正：2024年5月3日の記事で閘門の数を誤りました。", "ja", "2024-05-03"),
        ("更正：船闸有两个闸门，而不是三个。", "zh", None),
        ("바로잡습니다: 갑문은 두 개입니다.", "ko", None),
    ],
)
def test_corrections_in_the_text(line: str, lang: str, day: str | None) -> None:
    found = corrections_of({}, (), (), f"The lock is closed.\n{line}\nThe end of it.", lang)
    assert [correction.text for correction in found] == [line]
    at_ms = found[0].at_ms
    assert at_ms == (date_in(day, lang) if day else None)
    assert at_ms is None or at_ms == 1_714_694_400_000


@pytest.mark.parametrize(
    "line",
    [
        "The Metropolitan Correctional Centre was shut down in 2021.",
        "Correction of the course took the crew nine days.",
        "A market correction was expected by most analysts.",
        "Did you spot an error? Report a correction to our desk.",
        "Correction: see our corrections policy.",
        "Korrekturen an der Schleuse dauern neun Tage.",
        "Corrections officers went on strike on Monday.",
    ],
)
def test_what_only_looks_like_a_correction(line: str) -> None:
    assert corrections_of({}, (), (), f"The lock is closed.\n{line}\nThe end.", "en") == ()


def test_corrections_in_json_ld_and_in_named_elements() -> None:
    comment = {
        "@type": "CorrectionComment",
        "text": "The lock has <b>two</b> gates.",
        "datePublished": "2026-11-30T08:00:00Z",
    }
    found = extracted("", {"correction": comment})
    assert found.corrections == (Correction(text="The lock has two gates.", at_ms=1_796_025_600_000),)
    assert extracted("", {"correction": "https://n.example/corrections"}).corrections == ()
    named = extracted(
        '<div class="article__correction">The lock is from 1911. <time datetime="2026-11-30">today</time></div>'
    )
    assert [(c.text, c.at_ms) for c in named.corrections] == [("The lock is from 1911. today", 1_795_996_800_000)]
    offer = extracted('<div class="correction-form-link">Report a correction or typo to our desk</div>')
    assert offer.corrections == ()


def test_a_heading_and_the_notice_below_it() -> None:
    found = corrections_of({}, (), (), "The lock is closed.\nCorrections\nThe lock has two gates, not three.", "en")
    assert [correction.text for correction in found] == ["Corrections: The lock has two gates, not three."]


def test_the_same_notice_counts_once_and_all_are_bounded() -> None:
    notice = Notice("Correction: The lock has two gates.")
    found = corrections_of({}, (), (notice, notice), "Correction: The lock has two gates.", "en")
    assert len(found) == 1
    many = tuple(Notice(f"Correction number {n}: {'x' * 900} is wrong in line {n}.") for n in range(40))
    bounded = corrections_of({}, (), many, "", "en")
    assert len(bounded) <= 5
    assert all(len(correction.text) <= 500 for correction in bounded)


def test_the_record_carries_them_and_an_old_one_has_none() -> None:
    old = b'{"kind":"article","article_id":"a","language":"en","version":1,"event":"new","canonical_url":"https://n.example/a",' \
          b'"publisher":"n","title":"T","first_seen_ms":1,"decided_ms":2,"parser_version":"1"}'  # fmt: skip
    article = decode_record(Article, old)
    assert (article.links, article.credits, article.corrections) == ((), (), ())
    assert encode_record(article) == old
