"""Whether an address looks like an article's: by the shape of its path alone, in any language. No page, no network.

Publishers name articles by a slug of several words, by a number or by a date; sections, tags, authors, accounts and
legal notices by a word or two. Both are habits, not rules, so that a verdict has degrees and the link's text decides
between them.
"""

from __future__ import annotations

import re
from enum import IntEnum
from urllib.parse import parse_qsl, unquote, urlsplit


class Likeness(IntEnum):
    """How much an address looks like an article's."""

    NONE = 0
    LIKELY = 1  # an article if its link reads like a headline
    CLEAR = 2  # an article wherever its link stands


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


# Behind these comes what a site sorts by, not what it reports.
_SORTED_BY = _names(
    "tag tags topic topics thema themen theme themes tema temas sujet sujets dossier dossiers label labels etiqueta "
    "etiquetas hashtag hashtags category categories categoria categorias categorie kategorie kategorien kategoria "
    "section sections sekce sekcja rubrik rubriken rubrique rubriques seccion author authors autor autoren autores "
    "auteur auteurs autori by people person profile profiles profil team staff contributor contributors columnist "
    "columnists journalist user users member members account search suche recherche buscar busqueda cerca page pages "
    "seite pagina paged archive archives archiv archivo feed feeds rss wp-content wp-admin wp-login cdn-cgi etiket "
    "yazar kategori penulis topik метка теги автор авторы рубрика وسم كاتب تصنيف"
)
# A last segment of one of these is a page about the site or the reader.
_ABOUT = _names(
    "login log-in signin sign-in signup sign-up register registration anmelden anmeldung registrieren logout account "
    "subscribe subscription subscriptions abo abonnement abonnieren suscribete suscripcion newsletter newsletters "
    "impressum imprint datenschutz privacy terms tos agb cookies legal contact kontakt contacto contacts about uber- "
    "uns ueber-uns faq help hilfe ayuda aide sitemap jobs careers karriere advertise mediadaten werbung accessibility "
    "barrierefreiheit epaper e-paper shop store apps mobile rss feed feeds weather wetter live home"
)
_ABOUT_PHRASE = re.compile(
    r"(?:privacy|cookies?|datenschutz|cookie)[-_](?:and[-_]\w+[-_])?(?:policy|notice|statement|settings|preferences"
    r"|richtlinien?|hinweise?|erklaerung|bestimmungen)|your[-_]privacy|do[-_]not[-_]sell|terms[-_](?:of|and)[-_]"
    r"|conditions[-_](?:of|generales)|user[-_]agreement|(?:about|contact|join)[-_]us\b|aviso[-_]legal|mentions[-_]legales"
    r"|politi(?:ca|que)[-_]de[-_](?:privacidad|cookies|confidentialite|privacidade)|nutzungsbedingungen"
    r"|advertis(?:e|ing)[-_]|code[-_]of[-_](?:conduct|ethics)|editorial[-_](?:policy|policies|guidelines|standards|code)"
    r"|(?:corrections|ethics|comments?)[-_]policy|sign[-_]up[-_]for|newsletters?[-_](?:sign|anmeldung|abo)"
    r"|accessibility[-_]statement|^(?:impressum|imprint|datenschutz)\b",
    re.IGNORECASE,
)
_NO_PAGE = _names(
    "jpg jpeg png gif webp avif svg ico bmp tif tiff pdf doc docx xls xlsx ppt pptx odt epub mp3 m4a ogg wav aac mp4 "
    "m4v mov avi webm m3u8 zip gz rar 7z exe apk dmg xml rss atom json js css txt csv ics woff woff2 ttf"
)
_PAGE_ENDING = re.compile(r"\.(?:x?html?|s?html|php\d?|aspx?|jsp|cms|ece|stm|do|action|amp|cfm)$", re.IGNORECASE)
_ENDING = re.compile(r"\.([A-Za-z0-9]{2,5})$")
# What may follow the segment that names the article.
_TRAILERS = _names("amp artikel article story index view")
_LANGUAGE = re.compile(r"[a-z]{2}")

_MONTH = r"(?:0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_DATE = re.compile(
    rf"/(?:\w{{1,12}}[-_])?(?:19|20)\d\d[/_-]{_MONTH}(?:[/_-](?:[0-2]?[1-9]|[1-3]0|3[01]))?[/_-](?P<rest>.*)"
)
_COMPACT_DATE = re.compile(r"/20[0-3]\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])/(?P<rest>.+)")
# Of a slug, what is no word.
_NUMBERED = re.compile(r"[A-Za-z]*\d[A-Za-z\d]*")
_NUMBER = re.compile(r"\d{5,}")
_SHORT_NUMBER = re.compile(r"(?:^|[a-z!_,.-])\d{3,4}$", re.IGNORECASE)
# A key of a content system: capitals, digits and letters mixed, without vowels enough to be words.
_KEY = re.compile(r"(?=(?:[A-Za-z]*\d){2})(?=\d*[A-Za-z])[A-Za-z0-9]{10,40}")
# Words of a slug that only a headline has.
_SENTENCE = 5
_WORDS = re.compile(r"[^\W\d_]+")
# Scripts that write without spaces: Chinese, kana, Thai, Lao, Burmese, Khmer. Two characters count as a word.
_UNSPACED = re.compile("[\u3400-\u9fff\u3040-\u30ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
# Names of parameters that carry an article's number where all articles share one path.
_ID_PARAMETERS = _names(
    "p id aid nid sid artid articleid article article_id newsid news_id news idxno storyid story_id no code contentid "
    "did doc docid oid num seq"
)


def likeness(url: str) -> Likeness:
    """How much the address of a page looks like an article's. An address that cannot be taken apart: not at all."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return Likeness.NONE
    segments = [segment for segment in unquote(parts.path).split("/") if segment.strip()]
    if segments:
        ending = _ENDING.search(segments[-1])
        if ending and ending.group(1).lower() in _NO_PAGE:
            return Likeness.NONE
        segments[-1] = _PAGE_ENDING.sub("", segments[-1])
    numbered = _numbered(parts.query)
    while len(segments) > 1 and (segments[-1].lower() in _TRAILERS or _LANGUAGE.fullmatch(segments[-1].lower())):
        segments.pop()
    if not segments:
        return numbered
    found = max(_of_path(segments), numbered)
    words = _slug_words(segments[-1])
    low = [segment.lower() for segment in segments]
    if low[-1] in _ABOUT or low[-1] in _SORTED_BY or _ABOUT_PHRASE.search(low[-1]):
        return Likeness.NONE
    for place, segment in enumerate(low[:-1]):
        # /tag/ferry-strike is a list; /authors/ann-lee/the-day-the-ferry-stopped is not.
        if segment in _SORTED_BY and not _dated(segments) and (len(low) - place == 2 or words < _SENTENCE):
            return Likeness.NONE
    return found


def _of_path(segments: list[str]) -> Likeness:
    last, before = segments[-1], segments[-2] if len(segments) > 1 else ""
    words = _slug_words(last)
    if words <= 1 and any(character.isdigit() for character in last):
        words = max(words, _slug_words(before))
    if _dated(segments):
        return Likeness.CLEAR
    numbered = bool(_NUMBER.search(last) or _KEY.search(last))
    if ((numbered or _NUMBER.search(before)) and words >= 2) or words >= _SENTENCE:
        return Likeness.CLEAR
    if numbered or words >= 3 or (words >= 2 and _SHORT_NUMBER.search(last)):
        return Likeness.LIKELY
    return Likeness.NONE


def _dated(segments: list[str]) -> bool:
    """Whether a date stands before the article's name. Nothing behind it is a list of that day or month."""
    path = "/" + "/".join(segments)
    dated = _DATE.search(path.lower()) or _COMPACT_DATE.search(path)
    if not dated:
        return False
    rest = dated.group("rest").rpartition("/")[2]
    return (_slug_words(rest) >= 1 and len(rest) >= 4) or bool(_NUMBER.search(rest))


def _slug_words(segment: str) -> int:
    """Words of a slug: what has a digit in it is a number or a key."""
    return word_count(_NUMBERED.sub(" ", segment))


def _numbered(query: str) -> Likeness:
    for name, value in parse_qsl(query, max_num_fields=50) if query.count("&") < 50 else ():
        if name.lower() in _ID_PARAMETERS and any(character.isdigit() for character in value) and len(value) <= 40:
            return Likeness.LIKELY
    return Likeness.NONE


def word_count(text: str) -> int:
    """Words, of letters alone; in scripts that write without spaces, half the characters."""
    spaced, unspaced = _UNSPACED.subn(" ", text)
    return len(_WORDS.findall(spaced)) + unspaced // 2
