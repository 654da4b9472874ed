"""What an article says of its own mistakes: correction notices, with their dates where they are stated.

From JSON-LD (`correction`, CorrectionComment), from elements that name themselves a correction, from paragraphs that
begin as corrections begin in some twenty languages. A function of its input alone; at most 5 notices of 500 characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from babel.core import Locale, UnknownLocaleError
from babel.dates import get_month_names

from state_schemas.articles import Correction
from udfs.articles import json_ld
from udfs.articles.characters import clean_line
from udfs.articles.dates import instant_ms
from udfs.articles.text import alternatives, folded, text_of_html
from udfs.articles.traits import Notice

MAX_CORRECTIONS = 5
MAX_CORRECTION_CHARS = 500
# A longer paragraph or element is the article about a mistake, or a wrapper around the article.
_LONGEST_NOTICE = 1_500
_SHORTEST_NOTICE = 25

# Words that a notice begins with, before a colon, a bracket or a date, or alone on a line of its own.
_LABELS = """
    correction; corrections; clarification; corrections and clarifications; correction appended; editor's correction
    korrektur; korrekturhinweis; berichtigung; richtigstellung; rectificatif; rectification; erratum; précision
    corrección; fe de errores; fe de erratas; rectificación; correzione; rettifica; errata corrige; errata
    correção; retificação; erramos; correctie; rectificatie; sprostowanie; korekta; rättelse; rettelse; retting
    korjaus; oikaisu; oprava; helyesbítés; helyreigazítás; erată; rectificare; corecție; düzeltme; tekzip
    исправление; поправка; опровержение; виправлення; спростування; διόρθωση; تصحيح; تصويب; תיקון; תיקון טעות; اصلاحیه
    सुधार; भूल सुधार; 更正; 更正说明; 更正啟事; 勘误; 訂正; お詫びと訂正; 訂正とお詫び; 정정; 정정보도; 바로잡습니다
    đính chính; ralat; koreksi
"""
# Beginnings of sentences that are notices by themselves.
_BEGINNINGS = """
    an earlier version of; a previous version of; earlier versions of; in an earlier version of; the original version of
    an earlier headline; a previous headline; this article was amended; this article has been amended
    this article was corrected; this article has been corrected; this story was corrected; this story has been corrected
    this post has been corrected; this report has been corrected; this article was updated to correct
    this article has been updated to correct; this story has been updated to correct; this piece was amended
    this headline was amended; the headline of this article was; this story originally; we have corrected
    in einer früheren version; in einer früheren fassung; in einer ersten version; in einer vorherigen version
    dieser artikel wurde korrigiert; dieser text wurde korrigiert; wir haben den fehler korrigiert
    wir haben das korrigiert; une version précédente de; une première version de; une version antérieure de
    cet article a été corrigé; cet article a été modifié pour; dans une version précédente
    una versión anterior de; una versión previa de; en una versión anterior; este artículo ha sido corregido
    este artículo fue corregido; una versione precedente di; in una versione precedente; in una prima versione
    questo articolo è stato corretto; uma versão anterior d; em uma versão anterior; numa versão anterior
    este artigo foi corrigido; este texto foi corrigido; in een eerdere versie; een eerdere versie van
    dit artikel is gecorrigeerd; dit artikel is aangepast; we wcześniejszej wersji; w poprzedniej wersji
    poprzednia wersja; i en tidigare version; en tidigare version av; artikeln har rättats; i en tidligere versjon
    en tidligere versjon av; i en tidligere version; en tidligere version af; artikkelin aiemmassa; jutun aiemmassa
    v předchozí verzi; v původní verzi; cikkünk korábbi; a cikk korábbi; o versiune anterioară
    într-o versiune anterioară
    haberin önceki; bu haberin önceki
    в предыдущей версии; в первоначальной версии; в ранней версии; у попередній версії
    σε προηγούμενη έκδοση; في نسخة سابقة; נוסח קודם של; בגרסה קודמת; 本文早前版本; 本文先前版本; 此前版本
    この記事の以前; 記事の初出時; 当初の記事; 이 기사의 이전; một phiên bản trước
"""
# "Editor's note: an earlier version ..."
_NOTE = (
    r"(?:editor[’']?s? note|author[’']?s? note|note|anmerkung(?: der redaktion)?|anm\. d\. red\.|nota del editor"
    r"|nota de (?:la )?redacci[oó]n|n\.? ?d\.? ?l\.? ?r\.?|nota d[ao] redação|noot van de redactie|od redakcji"
    r"|note de la rédaction|nota della redazione|от редакции|update|aktualisierung|hinweis|編集部注)"
)
# What offers to take reports of mistakes, or leads to the page about them, is no notice.
_OFFER = re.compile(
    r"(?:report|submit|suggest|request|send|spot(?:ted)?|found|see|noticed)\s+(?:us\s+)?(?:an?\s+|any\s+)?(?:correction"
    r"|error|typo|mistake|inaccuracy)|corrections?\s+(?:policy|page)|fehler (?:gefunden|melden)|une erreur \?"
    r"|signaler une|reportar un|segnala un|fout gezien|zgłoś błąd|rapportera fel",
    re.IGNORECASE,
)


# Between label and colon a date may stand: "Correction, May 3, 2024:".
_AFTER_LABEL = r"(?:\s*[:：\]】)—–-]|[\s,(]+(?=[^:：]{0,40}\d)[^:：]{1,40}[:：]|\s*$)"
_BEGINS = re.compile(
    rf"^[\W_]{{0,6}}(?:{_NOTE}\s*[:：.]\s*)?(?:(?:{alternatives(_LABELS)}){_AFTER_LABEL}|(?:{alternatives(_BEGINNINGS)}))",
    re.IGNORECASE,
)
_LABEL_ALONE = re.compile(rf"^[\W_]{{0,6}}(?:{alternatives(_LABELS)})[\W_]*$", re.IGNORECASE)


def corrections_of(
    node: json_ld.Node, nodes: Sequence[json_ld.Node], notices: Sequence[Notice], body: str, language: str
) -> tuple[Correction, ...]:
    """The article's correction notices, each once; at_ms: ms UTC, the start of the day where only a day is stated.

    language: of the page, for the names of months and the order of numbers in a date.
    """
    found: list[tuple[str, Correction]] = []
    for text, stated in (*_in_json_ld(node, nodes), *_in_elements(notices), *_in_paragraphs(body)):
        text = clean_line(text, MAX_CORRECTION_CHARS)
        same = "".join(folded(text).split())
        if len(text) < 2 or any(same in known or known in same for known, _ in found):
            continue
        at_ms = instant_ms(stated, language) if stated else date_in(text, language)
        found.append((same, Correction(text=text, at_ms=at_ms)))
        if len(found) == MAX_CORRECTIONS:
            break
    return tuple(correction for _, correction in found)


def _in_json_ld(node: json_ld.Node, nodes: Sequence[json_ld.Node]) -> Iterator[tuple[str, str]]:
    stated = node.get("correction")
    comments = [other for other in nodes if "CorrectionComment" in json_ld.types(other)]
    for value in (*(stated if isinstance(stated, list) else [stated]), *comments)[: 4 * MAX_CORRECTIONS]:
        if isinstance(value, dict):
            text = json_ld.string(value.get("text")) or json_ld.string(value.get("description") or value.get("name"))
            at = json_ld.string(value.get("datePublished") or value.get("dateCreated"))
        else:
            text, at = json_ld.string(value), ""
        if text and "://" not in text.split(" ", 1)[0]:  # the address of a page about corrections
            yield text_of_html(text), at


def _in_elements(notices: Sequence[Notice]) -> Iterator[tuple[str, str]]:
    for notice in notices:
        if _SHORTEST_NOTICE <= len(notice.text) <= _LONGEST_NOTICE and not _OFFER.search(notice.text):
            yield notice.text, notice.time


def _in_paragraphs(body: str) -> Iterator[tuple[str, str]]:
    lines = body.split("\n")
    for number, line in enumerate(lines):
        if len(line) > _LONGEST_NOTICE or not _BEGINS.match(line[:120]) or _OFFER.search(line):
            continue
        if _LABEL_ALONE.match(line):  # a heading, and the notice below it
            below = lines[number + 1] if number + 1 < len(lines) else ""
            if _SHORTEST_NOTICE <= len(below) <= _LONGEST_NOTICE and number + 4 >= len(lines):
                yield f"{line.rstrip(' :')}: {below}", ""
        elif len(line) >= _SHORTEST_NOTICE or not line.isascii():
            yield line, ""


_NUMERIC = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\s?\d{1,2}[./]\s?\d{4}")
_EAST = re.compile(r"(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]")
_WORDS = re.compile(
    r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|º|\.)?\s+(?:de\s+|of\s+)?([^\W\d_]{3,12})\.?,?\s+(?:de\s+|del\s+)?(\d{4})"
)
_WORDS_FIRST = re.compile(r"([^\W\d_]{3,12})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})")


def date_in(text: str, language: str) -> int | None:
    """The first whole date in a text, ms UTC; None where there is none. Months by name, in `language` and English."""
    if numeric := _NUMERIC.search(text):
        return instant_ms(numeric[0].replace(" ", ""), language)
    if east := _EAST.search(text):
        return _of_day(int(east[1]), int(east[2]), int(east[3]))
    for match in _WORDS.finditer(text):
        if month := _month(match[2], language):
            return _of_day(int(match[3]), month, int(match[1]))
    for match in _WORDS_FIRST.finditer(text):
        if month := _month(match[1], language):
            return _of_day(int(match[3]), month, int(match[2]))
    return None


def _of_day(year: int, month: int, day: int) -> int | None:
    return instant_ms(f"{year:04}-{month:02}-{day:02}")


def _month(word: str, language: str) -> int:
    return _months(language.replace("_", "-").split("-")[0].lower()).get(word.lower()) or _months("en").get(
        word.lower(), 0
    )


@lru_cache(maxsize=64)
def _months(language: str) -> dict[str, int]:
    try:
        locale = Locale.parse(language)
    except (UnknownLocaleError, ValueError, TypeError):
        return {}
    return {
        name.strip(".").lower(): number
        for width in ("wide", "abbreviated")
        for context in ("format", "stand-alone")
        for number, name in get_month_names(width, context, locale).items()
    }
