"""Where the sentences of a text end, in any script: `sentences(text, language)`.

A line break ends a sentence, and so does a mark of the script, unless what stands around it says otherwise: the next
word is in lower case, the word before is an abbreviation, an initial or an ordinal ("3. Mai"), the mark stands inside
a word (3.5, example.org) or inside a quotation or bracket that is closed again soon. Thai and Lao mark no ends: they
are cut at spaces to lengths that a sentence has. Nothing is changed or left out: the sentences one after the other
are the text, but for white space between them.

One pass over the text and bounded looks around each mark, so time is linear in its length, whatever the text. A
function of its input alone. Measured against sentencex and pysbd: docs/languages.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

QUOTE_CHARS = 240  # a quotation or bracket up to this long is kept whole; a longer one has sentences of its own
UNMARKED_CHARS = 80  # Thai, Lao: at least so long, then up to the next space between two words
_LOOK_BACK = 24  # characters before a mark that are looked at: longer than any abbreviation

_LINE = re.compile(r"[^\n\r\v\f\x85\u2028\u2029]+")
_SPACED_MARKS = ".!?…⁇⁈⁉‼"
_FREE_MARKS = "。！？｡．۔؟؛।॥။។៕።፧։᠃᠉෴"  # need no space after them
_CLOSING = "\"'’”“»›«)]}」』】》〉）］｣"
# “ and « close in German and in Danish; before a word they open what comes next, and so does the straight sign.
_CLOSED = r"(?:[ \u00a0\u202f]?[»›](?!\w))?(?:['’”»›)\]}」』】》〉）］｣]|[\"“«](?!\w))*+"
_MARKS = re.compile(rf"[{re.escape(_SPACED_MARKS + _FREE_MARKS)}]++{_CLOSED}")
_GREEK_MARKS = re.compile(rf"[{re.escape(_SPACED_MARKS + _FREE_MARKS)};\u037e]++{_CLOSED}")
_UNMARKED = re.compile(r"[\u0e00-\u0eff]")
_KANA = re.compile(r"[\u3041-\u309f、，,]")
_WORD_CHAR = re.compile(r"\w")
_PAIRS = {
    "“": "”", "„": "“”", "«": "»", "»": "«", "‹": "›", "「": "」", "『": "』", "（": "）", "(": ")", "[": "]",
    "《": "》", "〈": "〉", "【": "】", "｢": "｣", '"': '"', "”": "”",
}  # fmt: skip
_PAIRED = re.compile("[" + re.escape("".join(_PAIRS) + "".join(_PAIRS.values())) + "]")
_OPEN_AT_MOST = 8

# After these a full stop ends no sentence, in any language: titles, and units of place and reference.
_COMMON = """
    Dr dr Drs Prof prof Mr Mrs Ms Mx St Sr Sra Jr Ing Mag Dipl Lic Gen Col Maj Lt Sgt Capt Cpt Rev Hon Adm Nr No Nos Vol
    Fig vs etc al
"""
_ABBREVIATIONS: dict[str, str] = {
    "en": """Messrs Sen Rep Gov Pres Supt Det Insp Cpl Pvt Pte Brig Cmdr Cdr Fr Ste Mt Ft Ave Blvd Rd Dept Univ
        Assn Bros Inc Ltd Co Corp Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
        Mon Tue Wed Thu Fri pp ed eds approx est Ala Ariz Ark Calif Colo Conn Fla Ga Kan Ky Md Mich Minn Mont Neb Nev
        Okla Pa Tenn Tex Va Vt Wis Wyo""",
    "de": """bzw ca evtl ggf inkl exkl vgl geb gest verh Str Abs Art Bd Hl Tel Mio Mrd Chr Min Std Jan Feb Aug Sept
        Okt Nov Dez bspw sog zzgl abzgl Frhr Hrsg Hptm Univ Bez Kap Ziff Nrn""",
    "fr": "M MM Mme Mmes Mlle Mgr Me av bd env art chap apr janv févr juil sept oct nov déc St Ste",
    "es": "Srs Sras Srta Dra D Dña Ud Uds Vd pág págs núm art EE av Avda gral Excmo Mons prov ej aprox tel",
    "pt": "Srs Sras Srta Dra Exmo Exma pág págs núm art av Eng Gal aprox tel",
    "it": "Sig sig Sigg dott Dott prof avv Avv on On sen Sen gen art pag pagg cap ca mons arch rag geom",
    "ca": "Sra Srs Dra pàg núm art av aprox",
    "nl": "dhr Dhr mw Mw mevr ir ds mgr jl bijv ca blz art resp incl excl max min tel jhr",
    "af": "mnr Mnr mev Mev mej prof dr bv ds adv",
    "sv": "bl ca kl nr st max min tel inkl",
    "da": "ca kl nr hr fr bl pct mio mia tlf inkl jf",
    "no": "ca kl nr bl mill mrd tlf inkl jf stk",
    "fi": "esim ns nk klo n s ks mm mrd milj toim puh",
    "et": "nt lk nr dr prof mln mlrd tel kl tn",
    "lv": "plkst piem nr prof dr milj mljrd tālr",
    "lt": "pvz proc prof dr mln mlrd tūkst val tel gyd",
    "pl": """prof dr inż mgr hab ul al pl św im gen płk kpt mjr ks por tys mln mld ok nr str
        np tzw tj godz tel woj red pt m""",
    "cs": "prof doc např tzv sv ul čl č str tis mil mld Ing Mgr MUDr JUDr PhDr RNDr tř nám gen kpt tel cca",
    "sk": "prof doc napr tzv sv ul čl č str tis mil mld Ing Mgr MUDr JUDr PhDr RNDr tr nám gen kpt tel cca",
    "hu": "dr prof ifj id kb pl ill sz gróf özv tel ún",
    "ro": "dl dna dr prof nr art str bd gen col ing lt pag tel jud",
    "sl": "npr oz tj dr prof mag ing ul št str gl",
    "hr": "npr tj tzv dr prof mr ul br str sv gđa g čl ing",
    "sq": "dr prof nr fq psh",
    "tr": "Doç Av Sn Yrd Op Cad Sok Mah Apt Alb Bşk vb bkz örn yy",
    "az": "prof dos akad küç",
    "el": "κ κκ Δρ δρ σελ αρ αριθ καθ Αγ π μ τηλ δισ εκατ",
    "ru": "ул им т тыс млн млрд стр см рис св акад проф др пр кв пл пер обл р н эл г гг им д корп тел ст",
    "uk": "вул ім т тис млн млрд стор див рис св акад проф др кв пл обл р м тел ст",
    "bg": "д-р ул бул проф доц инж акад св хил млн млрд стр вж гр тел кв",
    "sr": "npr tj tzv dr prof mr ul br str sv нпр тј тзв др проф мр ул бр стр св инж",
    "mk": "ул бр проф др инж св стр",
    "id": "Jl Jln Rp Ir Hj dkk tgl hlm Kel Kec",
    "vi": "TP ThS TS PGS GS Q P",
    "ta": "டாக்டர் திரு",
    "hi": "डॉ श्री प्रो",
    "mr": "डॉ प्रा श्री",
    "ne": "डा प्रा",
    "bn": "ড ডা মো",
}  # fmt: skip
_ABBREVIATIONS["bs"] = _ABBREVIATIONS["hr"]
_ABBREVIATIONS["ms"] = _ABBREVIATIONS["id"]
_SET: dict[str, frozenset[str]] = {
    code: frozenset(f"{_COMMON} {words}".split()) for code, words in _ABBREVIATIONS.items()
}
_BASE = frozenset(_COMMON.split())
# Languages that write ordinals with a full stop.
_ORDINALS = frozenset(
    [
        "de",
        "da",
        "no",
        "nb",
        "nn",
        "fi",
        "et",
        "lv",
        "cs",
        "sk",
        "sl",
        "hr",
        "bs",
        "sr",
        "hu",
        "is",
        "tr",
        "az",
        "pl",
        "lb",
    ]
)
# A word that starts many sentences, and hardly ever a name: after it even U.S., p.m. or an ordinal ended one.
_STARTERS: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": """The He She They It In On But And This That We You His Her Its Their There These After As If When""",
        "de": """Der Die Das Ein Eine Er Sie Es In Im Am Bei Nach Auch Doch Und Aber Zudem Dabei Damit Dann""",
    }.items()
}
# Abbreviations that end sentences too: before a starter they did.
_MAY_END = frozenset(["Inc", "Ltd", "Co", "Corp", "etc", "Jr", "Sr", "St", "al", "Mio", "Mrd", "Str"])
_DOTTED = re.compile(r"(?:^|[^\w.])(?:[^\W\d]{1,3}\.)+[^\W\d]{1,3}$")
_ROMAN_OR_NUMBER = re.compile(r"(?:\d{1,2}|[IVX]{2,5})$")
_LAST_WORD = re.compile(r"[\w\u0300-\u036f\u0900-\u0dff-]+$")


def sentences(text: str, language: str = "", limit: int | None = None) -> list[str]:
    """The first `limit` sentences (None: all), each without white space around it and never empty.

    language: a code of our table, or "": it chooses abbreviations, ordinals and the marks of one language alone.
    """
    if limit is not None and limit < 1:
        return []
    found: list[str] = []
    for line in _LINE.finditer(text):
        for piece in _of_line(line.group(), language):
            if piece := piece.strip():
                found.append(piece)
                if len(found) == limit:
                    return found
    return found


def whole_sentences(text: str, chars: int, language: str = "") -> str:
    """The beginning of a text up to the last sentence that ends within so many characters; "" where none does."""
    end = 0
    for sentence in sentences(text, language):
        at = text.index(sentence, end) + len(sentence)
        if at > chars:
            break
        end = at
    return text[:end].strip()


def _of_line(line: str, language: str) -> Iterator[str]:
    start = words_until = 0
    has_words = False
    enclosed = _enclosed(line)
    inner = next(enclosed, None)
    for match in (_GREEK_MARKS if language == "el" else _MARKS).finditer(line):
        end = match.end()
        while inner and inner[1] <= end:
            inner = next(enclosed, None)
        if inner and inner[0] < match.start():
            continue
        if not _ends(line, start, match, language):
            continue
        # Marks alone are no sentence: they stay with what follows. Each character is looked at once.
        has_words = has_words or bool(_WORD_CHAR.search(line, words_until, end))
        words_until = end
        if has_words:
            yield from _unmarked(line[start:end])
            start, has_words = end, False
    yield from _unmarked(line[start:])


def _enclosed(line: str) -> Iterator[tuple[int, int]]:
    """(opening position, position after the closing sign) of outermost short quotations and brackets, in order."""
    spans: list[tuple[int, int]] = []
    opened: list[tuple[str, int]] = []
    for match in _PAIRED.finditer(line):
        sign, at = match.group(), match.start()
        while opened and at - opened[0][1] > QUOTE_CHARS:
            del opened[0]
        may_open = sign in _PAIRS
        depth = next((place for place in reversed(range(len(opened))) if sign in opened[place][0]), None)
        if sign == '"':  # looks the same on both sides, and stands for inches and inside Hebrew words
            before, after = line[at - 1 : at] if at else "", line[at + 1 : at + 2]
            may_open = not before.isalnum()
            depth = None if before.isspace() or after.isalnum() else depth
        if depth is not None:
            begin = opened[depth][1]
            del opened[depth:]
            while spans and spans[-1][0] > begin:
                spans.pop()
            spans.append((begin, at + 1))
        elif may_open and len(opened) < _OPEN_AT_MOST:
            opened.append((_PAIRS[sign], at))
    return iter(spans)


def _ends(line: str, start: int, match: re.Match[str], language: str) -> bool:
    """Whether the mark ends a sentence that began at `start`."""
    begin, end = match.span()
    mark = match.group()
    after = _next(line, end)
    following = line[after] if after < len(line) else ""
    if not following:
        return True
    closed = mark[-1] in _CLOSING
    if mark[0] in _FREE_MARKS:
        if mark[0] in "．۔" and line[begin - 1 : begin].isdigit() and following.isdigit() and after == end:
            return False
        # A quotation that goes on as part of the sentence: 「行く。」と言った
        return not (closed and after == end and _KANA.match(following))
    if after == end and not (closed and _is_wide(following)) and not _is_wide(line[begin - 1 : begin]):
        return False  # inside a word: 3.5, example.org, Yahoo!s
    if following.islower() or following in ",;:)]،,":
        return False
    if closed and following in "–—-" and line[after + 1 : after + 2].isspace():
        return False  # «…», — said he
    if mark[0] != "." or mark[1:2] == ".":
        return True
    return _stop_ends(line, start, begin, after, language)


def _stop_ends(line: str, start: int, begin: int, after: int, language: str) -> bool:
    """Whether a single full stop at `begin` ends a sentence; the next word starts at `after`, not in lower case."""
    before = line[max(start, begin - _LOOK_BACK) : begin]
    last = _LAST_WORD.search(before)
    if not last or _UNMARKED.match(last.group()):
        return not last
    word, rest = last.group(), before[: last.start()]
    starts = _first_word(line, after) in _STARTERS.get(language, ())
    if word.isdigit() and begin - start < _LOOK_BACK and not rest.strip():
        return False  # a numbered list: "1. First"
    if language in _ORDINALS and _ROMAN_OR_NUMBER.match(word) and rest[-1:] not in (".", ","):
        return starts
    if _DOTTED.search(before):
        return starts
    if len(word) == 1 and word.isalpha() and word < "\u0900":
        if rest and not rest[-1].isspace() and rest[-1] not in ".-(“„«\"'’":
            return True  # the end of an address
        # An initial; but "2024 г.", "2024 r." are units after a number, whose stop is the sentence's own too.
        return word.islower() and rest.rstrip()[-1:].isdigit() and line[after + 1 : after + 2] != "."
    known = _SET.get(language, _BASE)
    if word in known or (word[0].isupper() and word.lower() in known):
        return starts and word in _MAY_END
    return True


def _next(line: str, at: int) -> int:
    while at < len(line) and line[at].isspace():
        at += 1
    return at


def _first_word(line: str, at: int) -> str:
    end = at
    while end < len(line) and end - at < _LOOK_BACK and line[end].isalpha():
        end += 1
    return line[at:end]


def _is_wide(char: str) -> bool:
    """Whether a character is of a script that puts no spaces between sentences."""
    return "\u2e80" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or "\uff00" <= char <= "\uff60"


def _unmarked(piece: str) -> Iterator[str]:
    """Thai and Lao are cut at a space between two of their own words, as soon as they are long enough."""
    if len(piece) <= UNMARKED_CHARS or not _UNMARKED.search(piece):
        yield piece
        return
    start = 0
    for match in re.finditer(r"\s+", piece):
        at, end = match.span()
        if at - start < UNMARKED_CHARS or end == len(piece):
            continue
        if _UNMARKED.match(piece[at - 1]) and _UNMARKED.match(piece[end]) and piece[end] != "ๆ":
            yield piece[start:at]
            start = end
    yield piece[start:]
