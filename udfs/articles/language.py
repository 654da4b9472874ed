"""Which language an article is written in: by its text, and by what was declared where the text cannot tell.

A script that one language has to itself settles it. Han text is told apart by kana and by signs that only one of the
two countries writes; everything else by py3langid (naive Bayes over byte n-grams), and near neighbours by the words
that only one of them uses (near_languages.py). A declaration counts as evidence: page, then feed entry, then
publisher. It is often a template's default, so plain text outweighs it, except between languages so close that a few
sentences cannot tell them apart. The rules in words, and the measured choice of the library: docs/languages.md.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from state_schemas.languages import LANGUAGES, UNKNOWN, known_language
from udfs.articles.near_languages import marks, near


@dataclass(frozen=True, slots=True)
class LanguagePolicy:
    """Weights are logits, added to py3langid's scores over the root of the text's bytes (its own calibration).

    Source: set on the captured pages and feeds and on sentences of our own (docs/languages.md).
    """

    text_chars: int = 1_500  # of title and body read; a first screen is enough
    page: float = 2.0  # html lang
    entry: float = 1.5  # xml:lang or language of the feed
    origin: float = 2.0  # as registered by a person, so seldom a template's default
    close: float = 4.0  # added to the first declaration that is a near neighbour of the text's best
    mark: float = 1.0  # a word or letter that tells a language from its near neighbours
    marks: int = 6  # as many count; where one neighbour has more, the others' count in proportion
    volume: float = 0.2  # times the logarithm of a language's place in news volume, taken from it: the only prior
    stranger: float = 2.0  # taken from languages that are not in our table
    no_words: float = 6.0  # added to the first declaration where a text has none of the common words of any language
    own_script: float = (
        0.3  # of the letters outside Latin script make it the text's script: brands are Latin everywhere
    )


# Scripts (first word of the character's Unicode name) that one language of our table has to itself.
_SCRIPTS: dict[str, str] = {
    "HANGUL": "ko", "THAI": "th", "GREEK": "el", "HEBREW": "he", "TAMIL": "ta", "TELUGU": "te", "MALAYALAM": "ml",
    "KANNADA": "kn", "GUJARATI": "gu", "GURMUKHI": "pa", "SINHALA": "si", "MYANMAR": "my", "KHMER": "km",
    "GEORGIAN": "ka", "ARMENIAN": "hy",
}  # fmt: skip
# Scripts of several languages: which of them are ours or may be met.
_FAMILIES: dict[str, frozenset[str]] = {
    "CYRILLIC": frozenset(["ru", "uk", "bg", "sr", "mk", "kk", "be", "ky", "mn", "tg", "tt", "ba"]),
    "ARABIC": frozenset(["ar", "fa", "ur", "ps", "ug", "ku", "sdh", "arz", "ary"]),
    "DEVANAGARI": frozenset(["hi", "mr", "ne", "sa"]),
    "BENGALI": frozenset(["bn", "as"]),
}
# What can be written in Latin script too; the others that have a script of their own are no candidates for Latin text.
_ALSO_LATIN = frozenset(["sr", "kk", "ku", "tt"])
_NEVER_LATIN = frozenset(["zh", "ja", "yue", "wuu"]).union(_SCRIPTS.values(), *_FAMILIES.values()) - _ALSO_LATIN
# Words so common that any sentence has one. Only for texts in Latin and Cyrillic script.
_COMMON_WORDS = """
    the of and to in is are was for on with that it by at from as his her an be has have not will after over says
    der die das und ist mit den von zu auf für nicht ein eine im dem des sich auch nach bei wie
    het een van voor op te zijn niet met aan naar bij om ook wordt nie vir
    el la los las de del y en que por con para una su se al es lo como más
    o os da do em um uma não com dos das ao no na i per amb els les il di che è della un nel con le gli non sono
    des et du est pour dans qui sur au aux pas à și în nu cu pe care din la
    w z na do się nie jest to że o ve je se že za si s sa pri u i od da bi ki so pa
    az és egy nem hogy ir un ar no kas ja ei on et oli ka että hän kun myös sekä yra iš su kad bet apie
    og er til på at af som det en ikke med för att är och den av inte ett við að á sem
    ve bir bu için ile da de olarak daha və üçün yang dan di dari untuk pada ini dengan akan dalam
    và của là có được cho không trong các ang ng sa mga na at ay kwa ya ni wa katika që të në dhe për me va bilan uchun
    и в на не что с по за из от как для это і у що та від до з про се са да е че ще ќе од во је және бір бұл үшін мен
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+")
_RANKS = {code: place for place, code in enumerate(LANGUAGES)}
_LATIN_LETTERS = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_QUOTED = re.compile(r"[「『《〈“\"][^」』》〉”\"]{1,60}[」』》〉”\"]")


class LanguageReader:
    """Holds the model (about 10 MB, read in 0.8 s): make one an operator, in open()."""

    def __init__(self, policy: LanguagePolicy | None = None) -> None:
        self._policy = policy or LanguagePolicy()
        self._model = LanguageIdentifier.from_model_file(MODEL_FILE)  # type: ignore[no-untyped-call]

    def language(self, title: str, text: str, *, page: str = "", entry: str = "", origin: str = "") -> str:
        """The language's code in our table, or `und`. page, entry, origin: BCP 47 tags as declared, or empty."""
        sample = f"{title}\n{text[: self._policy.text_chars]}"
        declared = tuple(
            (base, weight)
            for tag, weight in ((page, self._policy.page), (entry, self._policy.entry), (origin, self._policy.origin))
            if (base := _base(tag))
        )
        script = _script(sample, self._policy.own_script)
        if not script:
            return known_language(declared[0][0]) if declared else UNKNOWN
        if script in ("HAN", "KANA"):
            return _han(sample, declared)
        if script in _SCRIPTS:
            return _SCRIPTS[script]
        if script != "LATIN" and script not in _FAMILIES:
            return UNKNOWN
        return known_language(self._ranked(sample, script, declared))

    def _ranked(self, sample: str, script: str, declared: tuple[tuple[str, float], ...]) -> str:
        policy = self._policy
        if script != "LATIN":
            sample = _LATIN_LETTERS.sub("", sample)
        size = math.sqrt(len(sample.encode("utf-8", "replace")) or 1)
        scores: dict[str, float] = {}
        for code, score in self._model.rank(sample):
            if _fits(code, script):
                base = "no" if code == "nn" else code
                rank = _RANKS.get(base)
                rarity = policy.stranger if rank is None else policy.volume * math.log1p(rank)
                scores.setdefault(base, score / size - rarity)
        best = max(scores, key=scores.__getitem__)
        neighbours = near(best)
        found = marks(sample) if neighbours else Counter[str]()
        most = max((found[code] for code in neighbours), default=0)
        for code in neighbours & scores.keys():
            scores[code] += policy.mark * found[code] * min(1.0, policy.marks / max(most, 1))
        best = max(scores, key=scores.__getitem__)
        usable = [(code, weight) for code, weight in declared if _fits(code, script)]
        close = next((code for code, _ in usable if code in near(best)), "")
        wordless = script in ("LATIN", "CYRILLIC") and not _has_common_word(sample)
        for number, (code, weight) in enumerate(usable):
            bonus = weight
            if code == close:
                bonus += policy.close
                close = ""
            if number == 0 and wordless:
                bonus += policy.no_words
            # A declared language that the model does not know starts where its best does.
            scores[code] = scores.get(code, scores[best] - policy.close) + bonus
        return max(scores, key=scores.__getitem__)


def _fits(code: str, script: str) -> bool:
    return code not in _NEVER_LATIN if script == "LATIN" else code in _FAMILIES[script]


def _base(tag: str) -> str:
    base = re.split(r"[-_]", tag.strip().lower(), maxsplit=1)[0]
    known = known_language(base)
    return known if known != UNKNOWN else base if 2 <= len(base) <= 3 and base not in ("und", "mul", "zxx") else ""


def _script(sample: str, own: float) -> str:
    """The script that carries the text; a Han, kana or Hangul sign counts as the three letters it stands for.

    Latin words stand in texts of every script, and hardly the other way round: another script that has the share `own`
    of the letters carries the text.
    """
    counts: Counter[str] = Counter()
    for char, count in Counter(sample).items():
        if char.isalpha():
            counts[_script_of(char)] += count
    kana = counts.pop("HIRAGANA", 0) + counts.pop("KATAKANA", 0)
    east = 3 * (kana + counts.pop("CJK", 0))
    if east:
        counts["KANA" if kana else "HAN"] = east
    if "HANGUL" in counts:
        counts["HANGUL"] *= 3
    if not counts:
        return ""
    others = [(count, name) for name, count in counts.items() if name != "LATIN"]
    count, name = max(others, default=(0, "LATIN"))
    return name if count >= own * counts.total() else "LATIN"


@lru_cache(maxsize=8_192)
def _script_of(char: str) -> str:
    if char < "\u0250":
        return "LATIN"
    name = unicodedata.name(char, "")
    first = name.split(" ", 1)[0].split("-", 1)[0]
    return {"HALFWIDTH": "KATAKANA", "FULLWIDTH": "LATIN", "MODIFIER": "LATIN"}.get(first, first)


def _han(sample: str, declared: tuple[tuple[str, float], ...]) -> str:
    """Chinese or Japanese: kana inside quotation marks are names, and a few outside may be one; more are grammar."""
    plain = _QUOTED.sub("", sample)
    hiragana = sum("\u3041" <= char <= "\u309f" for char in plain)
    katakana = sum("\u30a1" <= char <= "\u30fa" for char in plain)
    han = sum("\u4e00" <= char <= "\u9fff" for char in plain)
    # A single "no" stands in Chinese brand names; any other particle is Japanese grammar.
    if hiragana > plain.count("の") and hiragana * 15 >= han:
        return "ja"
    if katakana and katakana * 5 >= han:  # headlines without a verb
        return "ja"
    if (hiragana or katakana) and declared and declared[0][0] == "ja":
        return "ja"
    if not han:
        return "ja"
    # A headline may be all Han in Japanese too. Then its signs decide, and where both countries write all of them,
    # the declaration.
    written = Counter(_writers(char) for char in plain if "\u4e00" <= char <= "\u9fff")
    if written["zh"] or written["ja"]:
        return "ja" if written["ja"] > written["zh"] else "zh"
    if written["hans"] and written["hant"]:
        return "ja"  # simplified as on the mainland and full as in Taiwan side by side: only Japan does both
    return "ja" if declared and declared[0][0] == "ja" and len(plain) < 40 else "zh"


@lru_cache(maxsize=8_192)
def _writers(char: str) -> str:
    """Who writes a Han sign: ja, zh, hans (and Japan), hant (and Japan), or "" (everybody), by the national charsets.

    Sources: JIS X 0208 (ja), GB 2312 (simplified), Big5 (full), as Python's codecs have them.
    """
    japan, mainland, taiwan = (_encodes(char, charset) for charset in ("shift_jis", "gb2312", "big5"))
    if not japan:
        return "zh"
    if mainland == taiwan:
        return "" if mainland else "ja"
    return "hans" if mainland else "hant"


def _encodes(char: str, charset: str) -> bool:
    try:
        char.encode(charset)
    except UnicodeEncodeError:
        return False
    return True


def _has_common_word(sample: str) -> bool:
    return any(word in _COMMON for word in _WORD.findall(sample.lower()))


def languages_of_table() -> tuple[str, ...]:
    """The codes that `LanguageReader.language` can return beside `und`."""
    return LANGUAGES
