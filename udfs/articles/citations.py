"""Whom an article cites: the addresses its sentences lead to, and the credits it gives.

For the authority batch: who is cited, and who only passes on. A function of its input alone; everything is bounded, for
it travels with the article. Correction notices: `corrections.py`. Reading order: links, credits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import urljoin, urlsplit

from state_schemas.articles import OutboundLink
from udfs.articles import json_ld
from udfs.articles.canonical import identity_form, is_home_page, site
from udfs.articles.characters import clean_line
from udfs.articles.labels import agency_named
from udfs.articles.listings import looks_like_article
from udfs.articles.text import alternatives, folded, text_of_html
from udfs.articles.traits import SentenceLink

MAX_LINKS = 50
MAX_LINK_CHARS = 500  # an address above this is left out: it is an article's only where it is somebody's tracker
MAX_CREDITS = 10
MAX_CREDIT_CHARS = 120
_MAX_LOOKED_AT = 500  # addresses cleaned, of a page that links a thousand times
_SEARCHED_CHARS = 100_000  # of the body

# Links that a reader is to pass on, not to follow.
_SHARING = re.compile(
    r"^https?://(?:[\w.-]+\.)?(?:facebook\.com/(?:sharer|share|dialog)|(?:twitter|x)\.com/(?:intent|share|home\?)"
    r"|linkedin\.com/(?:share|cws/share)|pinterest\.[a-z.]+/pin/create|reddit\.com/submit|t\.me/share|wa\.me/"
    r"|api\.whatsapp\.com|web\.whatsapp\.com|telegram\.me/share|line\.me/r/|social-plugins\.line\.me|vk\.com/share"
    r"|news\.google\.[a-z.]+/publications|flipboard\.com/bookmarklet|bsky\.app/intent|threads\.net/intent)",
    re.IGNORECASE,
)
# rel values of links that were paid for or written by readers: no citation of the article's.
_NO_CITATION = frozenset({"sponsored", "ugc"})


def links(
    found: Sequence[SentenceLink], body: str, base: str, url: str, cleaned: Callable[[str], str | None]
) -> tuple[OutboundLink, ...]:
    """At most 50 addresses that sentences of the body lead to, each once, in order; of other sites or other articles.

    body: clean text. base: what they are relative to. url: the article's own. cleaned: an address in its normal form,
    None for what is no http(s) address. A link with rel=nofollow counts: many sites set it on all; sponsored and ugc do
    not.
    """
    text = "".join(body[:_SEARCHED_CHARS].split())
    own, own_site = identity_form(url), site(url)
    chosen: dict[str, OutboundLink] = {}
    looked_at = 0
    for link in found:
        if link.around not in text or not _NO_CITATION.isdisjoint(link.rel.split()):
            continue
        looked_at += 1
        if looked_at > _MAX_LOOKED_AT or len(chosen) >= MAX_LINKS:
            break
        address = _address(link.href, base, cleaned)
        if not address or identity_form(address) in chosen or identity_form(address) == own:
            continue
        leads_to = site(address)
        if leads_to == own_site and (is_home_page(address) or not looks_like_article(address)):
            continue
        chosen[identity_form(address)] = OutboundLink(url=address, site=leads_to)
    return tuple(chosen.values())


def stated_links(node: json_ld.Node, url: str, cleaned: Callable[[str], str | None]) -> tuple[OutboundLink, ...]:
    """What the article's JSON-LD says it cites or is based on, where that is an http(s) address of another site."""
    found: dict[str, OutboundLink] = {}
    for name in ("isBasedOn", "isBasedOnUrl", "citation"):
        values = node.get(name)
        for value in (values if isinstance(values, list) else [values])[:MAX_LINKS]:
            href = value.get("url") or value.get("@id") if isinstance(value, dict) else value
            address = _address(href, url, cleaned) if isinstance(href, str) and "://" in href else ""
            if address and site(address) != site(url):
                found.setdefault(identity_form(address), OutboundLink(url=address, site=site(address)))
    return tuple(found.values())


def merged(*lists: Iterable[OutboundLink]) -> tuple[OutboundLink, ...]:
    """The links of several lists, each address once, at most 50."""
    found = {identity_form(link.url): link for links in reversed(lists) for link in links}
    ordered = dict.fromkeys(identity_form(link.url) for links in lists for link in links)
    return tuple(found[key] for key in ordered)[:MAX_LINKS]


def _address(href: str, base: str, cleaned: Callable[[str], str | None]) -> str:
    try:
        joined = urljoin(base, href)
        if urlsplit(joined).scheme not in ("http", "https") or _SHARING.match(joined):
            return ""
    except ValueError:
        return ""
    address = cleaned(joined)
    return address if address and len(address) <= MAX_LINK_CHARS else ""


# ---------------------------------------------------------------- credits

# Before the names of those who helped, or whose material it is.
_BEFORE_NAMES = """
    additional reporting by; reporting by; with reporting by; with reporting from; with additional reporting by
    editing by; writing by; with files from; with contributions from; with material from; with information from
    originally published by; originally published in; originally published on; first appeared in; first published by
    mit material von; mit informationen von; unter mitarbeit von; zuerst erschienen bei; avec la contribution de
    avec la collaboration de; con información de; con informacion de; con reportes de; con la colaboración de
    con informazioni di; com informações de; com informações da; com informações do; com colaboração de
    met medewerking van; met informatie van; we współpracy z; med material från; med materiale fra; med bidrag fra
    yhteistyössä; s přispěním; по материалам; при участии; за матеріалами; με πληροφορίες από; نقلا عن; متابعة من
"""
# A label before a colon, or in brackets; also a common word, so it needs one of these.
_LABELS = """
    source; sources; quelle; quellen; mitarbeit; fuente; fuentes; fonte; fonti; fontes; bron; bronnen; źródło; źródła
    współpraca; källa; källor; kilde; kilder; lähde; lähteet; zdroj; zdroje; forrás; sursa; surse; kaynak; kaynaklar
    источник; источники; джерело; джерела; πηγή; πηγές; المصدر; المصادر; מקור; منبع; स्रोत; 来源; 來源; 稿源; 出典; 출처
    nguồn; sumber
"""
_AFTER_NAMES = """
    contributed reporting; contributed to this report; contributed to this article; contributed to this story
    contributed additional reporting; ha collaborato; hanno collaborato; colaborou; colaboraram
    a collaboré à cet article; ont collaboré à cet article; hat mitgearbeitet; haben mitgearbeitet
    colaboró en este artículo; colaboraron en este artículo; heeft meegewerkt; bidrog till artikeln
"""
# "(avec AFP)", "(con EFE)", "(mit dpa)": an agency, beside the newsroom's own words.
_WITH = re.compile(
    r"[(\[](?:avec|with|con|com|mit|met|med|z|с|з|cu|ile)\s+([^()\[\]]{2,60})[)\]]\s*\.?$", re.IGNORECASE
)
# Credits stand at the edges of a text.
_FIRST_LINES, _LAST_LINES = 2, 8
_LONGEST_LINE, _LONGEST_LABELLED, _LONGEST_AGENCY = 400, 160, 40
_AGENCY_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]{2,40})[)\]]\s*\.?$")
# Of pictures, not of the text.
_PICTURE = re.compile(
    r"^\W*(?:photos?|photograph|fotos?|bild(?:er)?|images?|imagen|imagem|immagine|afbeelding|beeld|zdjęcie|zdjęcia|fot\b"
    r"|foto:|kuva|fénykép|görsel|фото|изображение|صورة|תמונה|図|写真|图片|圖片|사진|getty|video|crédit photo|credit)",
    re.IGNORECASE,
)


_NAMES = r"(?P<names>[^;()\[\]\n]{2,160})"
_OPENING = r"(?:this (?:article|story|report|piece) (?:was |has been )?)?"
_CREDITED = re.compile(
    rf"(?:^\W*{_OPENING}|[(\[;.]\s*)(?:{alternatives(_BEFORE_NAMES)})\s*:?\s+{_NAMES}", re.IGNORECASE
)
_LABELLED = re.compile(rf"(?:^\W*|[(\[]\s*)(?:{alternatives(_LABELS)})\s*[:：]\s*{_NAMES}", re.IGNORECASE)
_CONTRIBUTED = re.compile(rf"^\W*{_NAMES}\s+(?:{alternatives(_AFTER_NAMES)})\b", re.IGNORECASE)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:\S", re.IGNORECASE)
# The end of a name is a full stop that is no initial's.
_NAME_END = re.compile(r"(?<!\b[^\W\d_])\.(?:\s|$)|[。|]")


def credits_of(node: json_ld.Node, body: str, house: Sequence[str]) -> tuple[str, ...]:
    """At most 10 names of people and organisations that the article credits beside its authors, each once.

    From JSON-LD (creditText, sourceOrganization, contributor, names in isBasedOn and citation), then from the edges of
    the text. house: the publisher's own names, which are no credit. Photo credits are none.
    """
    own = {folded(name) for name in house}
    found: dict[str, str] = {}
    for text in (*_stated_credits(node), *_credits_in(body)):
        name = clean_line(_NAME_END.split(text, 1)[0], 4 * MAX_CREDIT_CHARS).strip(" ,:-–—*_")
        if 2 <= len(name) <= MAX_CREDIT_CHARS and folded(name) not in own and not _ADDRESS.match(name):
            found.setdefault(folded(name), name)
    return tuple(found.values())[:MAX_CREDITS]


def _stated_credits(node: json_ld.Node) -> Iterator[str]:
    for name in ("creditText", "sourceOrganization", "contributor", "isBasedOn", "citation"):
        for text in json_ld.strings(node.get(name))[:MAX_CREDITS]:
            yield text_of_html(text)


def _credits_in(body: str) -> Iterator[str]:
    lines = body.split("\n")
    edges = lines if len(lines) <= _FIRST_LINES + _LAST_LINES else (*lines[:_FIRST_LINES], *lines[-_LAST_LINES:])
    for line in edges:
        if len(line) > _LONGEST_LINE or _PICTURE.match(line):
            continue
        for match in _CREDITED.finditer(line):
            yield match["names"]
        if len(line) <= _LONGEST_LABELLED and (labelled := _LABELLED.search(line)):
            yield labelled["names"]
        if contributed := _CONTRIBUTED.match(line):
            yield contributed["names"]
    for line in lines[-2:]:
        if _PICTURE.match(line):
            continue
        tail = line[-_LONGEST_LINE:]
        if named := _WITH.search(tail):
            yield named[1]
        elif agency := _agency(line, tail):
            yield agency


def _agency(line: str, tail: str) -> str:
    """The agency that a last line names alone, or in brackets at its end."""
    alone = line.strip(" ()[]—–-©*.") if len(line) <= _LONGEST_AGENCY else ""
    bracket = _AGENCY_IN_BRACKETS.search(tail)
    return agency_named(alone) or agency_named(bracket[1].strip() if bracket else "")
