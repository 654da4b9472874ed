"""What kind of piece an article is, from markup and address alone: opinion, live blog, paywalled, wire copy.

Only what the publisher says; no guess from the text. So a label is seldom wrong and often missing.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from state_schemas.articles import Label

_TYPES: dict[str, Label] = {
    "opinionnewsarticle": "opinion",
    "claimreview": "fact_check",
    "liveblogposting": "live",
    "advertisercontentarticle": "sponsored",
    "imagegallery": "gallery",
}
# Words that are a section of opinion, fact checks, ... as a path segment or section name; compared case-folded.
_SECTION_WORDS: dict[Label, str] = {
    "opinion": """opinion opinions opinie opinión opiniones opinião opinione opinioni opinii opinia comment commentary
        commentisfree columns columnists columnist editorial editorials editoriales editoriais editoriali op-ed oped
        kommentar kommentare kommentarer meinung meinungen gastbeitrag debatte leitartikel tribune tribunes idees idées
        debats débats chroniques columna columnas columnistas tribuna artigos commenti debatt ledare ledarsidan mening
        meninger standpunkt debat mielipide pääkirjoitus публицистика мнения мнение колонки 社説 コラム 论坛 評論 评论
        社论 오피니언 사설 yazarlar köşe-yazıları رأي آراء مقالات opini kolom""",
    "fact_check": "fact-check factcheck fact-checks faktencheck verificacion verificación fakta faktisk fact-checking",
    "live": "live-blog liveblog liveticker live-updates en-direct",
    "press_release": "press-release press-releases pressrelease pressemitteilung presseportal communique",
    "sponsored": "sponsored partner-content paid-content brandvoice advertorial anzeige contenu-partenaire",
}
_BY_WORD: dict[str, Label] = {word: label for label, words in _SECTION_WORDS.items() for word in words.split()}

# Agencies as they sign: in bylines, and in datelines in front of the text.
_AGENCIES: tuple[tuple[str, str], ...] = (
    ("Reuters", r"reuters"),
    ("AP", r"ap|associated press"),
    ("AFP", r"afp|agence france[- ]presse"),
    ("dpa", r"dpa(?:-[a-z]+)?|deutsche presse-agentur"),
    ("Bloomberg", r"bloomberg(?: news)?"),
    ("Xinhua", r"xinhua|新华社|新華社"),
    ("ANSA", r"ansa"),
    ("EFE", r"efe|agencia efe"),
    ("TASS", r"tass|тасс"),
    ("APA", r"apa"),
    ("SDA", r"sda|keystone-sda"),
    ("Kyodo", r"kyodo(?: news)?|共同(?:通信)?"),
    ("Jiji", r"jiji(?: press)?|時事(?:通信)?"),
    ("Yonhap", r"yonhap|연합뉴스"),
    ("PTI", r"pti|press trust of india"),
    ("ANI", r"ani"),
    ("CNA", r"cna|中央社"),
    ("UPI", r"upi"),
    ("Anadolu", r"anadolu(?: ajansı| agency)?"),
    ("Lusa", r"lusa|agência lusa"),
    ("NTB", r"ntb"),
    ("TT", r"tt"),
    ("Ritzau", r"ritzau"),
    ("STT", r"stt"),
    ("Belga", r"belga"),
    ("PAP", r"pap"),
    ("ČTK", r"čtk"),
    ("MTI", r"mti"),
)
_BYLINE = re.compile("|".join(f"(?P<a{number}>^(?:{names})$)" for number, (_, names) in enumerate(_AGENCIES)), re.I)
_DATELINE = re.compile(
    "|".join(rf"(?P<a{number}>[(\[【/](?:{names})[)\]】/])" for number, (_, names) in enumerate(_AGENCIES)), re.I
)
_DATELINE_CHARS = 120


def labels(url: str, section: str, types: tuple[str, ...], paywalled: bool) -> tuple[Label, ...]:
    """The labels that schema.org types, section name and path of an article state, each once, in a fixed order."""
    found: set[Label] = {label for kind in types if (label := _TYPES.get(kind.lower()))}
    if types and all(kind.lower() in ("videoobject", "webpage") for kind in types) and "VideoObject" in types:
        found.add("video")
    segments = [unquote(part).casefold() for part in urlsplit(url).path.split("/")[1:-1]]
    for word in (*segments, *section.casefold().split("/"), "-".join(section.casefold().split())):
        if label := _BY_WORD.get(word.strip()):
            found.add(label)
    if paywalled:
        found.add("paywalled")
    return tuple(sorted(found))


def wire_credit(authors: tuple[str, ...], body: str) -> str:
    """The agency that a byline or a dateline names, or empty: the original of a copy."""
    for author in authors:
        for part in re.split(r"\s*[/,|&+]\s*|\s+-\s+", author):
            match = _BYLINE.match(part.strip())
            if match and match.lastgroup:
                return _AGENCIES[int(match.lastgroup[1:])][0]
    match = _DATELINE.search(body[:_DATELINE_CHARS])
    return _AGENCIES[int(match.lastgroup[1:])][0] if match and match.lastgroup else ""
