"""Where names of places stand in a text, and what their neighbours say of them. Decides no more than that.

Words are matched whole in scripts with spaces, longest first, and case counts where there is case; scripts without
spaces are matched by longest run of characters. Which place is meant, if any, is decided in `places.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from udfs.articles.gazetteer import (
    ABBREVIATED,
    ABBREVIATIONS,
    COUNTRY_WEIGHT,
    TOKEN,
    Gazetteer,
    Place,
    fold,
)
from udfs.articles.signatures import UNSPACED

# Share of longer words with a capital above which capitals say nothing. Source: tried on titles of captured pages.
_TITLE_CASE = 0.9

# Countries and regions whose names are also first names, surnames, states, seas or words.
_GUARDED_IDS = """
    country:TD country:JO country:GE country:JE country:GN country:NE country:DM country:TG country:ML country:BJ
    region:US-VA region:CA-AB region:IN-GA region:US-MT region:AR-B
"""
_GUARDED = frozenset(_GUARDED_IDS.split())
# Countries that are first names or surnames of well-known people: alone they count, beside a capitalised word not.
_NAMESAKES = frozenset(
    {"holland", "israel", "india", "cuba", "kenya", "ireland", "france", "salvador", "china", "malta"}
    | {"maurice", "austria", "america"}
)
# Before a place far more often than before a person: "lost to Murray" is no place. One letter's word is none of another
# language's: "di" is of a place in Indonesian and of a person in Italian.
_BEFORE_PLACES = {
    "en": "in near outside around across from", "de": "in aus nach bei", "fr": "à en", "es": "en desde",
    "pt": "em na no", "it": "a in", "nl": "in te uit vanuit naar", "sv": "i från vid",
    "da": "i fra ved", "no": "i fra ved",
    "pl": "w we z ze do pod na", "cs": "v ve z ze do u", "sk": "v vo z zo do", "sl": "v iz na", "hr": "u iz kod za",
    "bs": "u iz kod", "sr": "u iz kod у из код", "ru": "в во из под", "uk": "у в з із зі до під", "bg": "в във от край",
    "mk": "во од", "el": "στη στην στο στον από", "ro": "în din la", "id": "di ke dari", "ms": "di ke dari",
    "vi": "ở tại từ", "tl": "sa", "tr": "", "ca": "a", "sq": "në nga", "ar": "في من إلى قرب", "fa": "در از به",
    "ur": "", "az": "", "af": "in uit", "sw": "huko mjini", "lt": "į iš", "lv": "", "et": "", "is": "í á frá",
}  # fmt: skip
_PREPOSITIONS = {language: frozenset(words.split()) for language, words in _BEFORE_PLACES.items()}
# After a place in the languages of India.
_POSTPOSITIONS = """
    में से के की का তে থেকে এ येथे येथील मधील ਵਿੱਚ માં நகரில் నగరంలో میں سے کے
"""
_AFTER_PLACES = frozenset(_POSTPOSITIONS.split())
# What is named after the place in it is no place: a university, a club, a bank.
_INSTITUTIONS = re.compile(
    r"(?:universi\w+|bank|banco|banque|fc|ac|sc|cf|club|hotel|hôtel|bishop|archbishop|duke|duchess|prince|princess|earl"
    r"|université|universität|universidade|istituto|instituto|real|atlético|sporting|st|saint|san|santa|sankt|notre)"
    r"(?:\s+(?:of|de|di|da|do|del|von))?\s$",
    re.IGNORECASE,
)
_TITLE = re.compile(
    r"(?:^|\s)(?:Mr|Mrs|Ms|Dr|Sir|Lady|Lord|Herr|Herrn|Frau|Monsieur|Madame|Mme|Señor|Señora|Sr|Sra|Dom|Don|Doña|Signor"
    r"|Signora|Pan|Pani|Pán|Paní|Meneer|Mevrouw)\.?\s$"
)
_OPENING = """
    the a an le la les el los las il lo i gli o os as der die das den het de een en det az
    η ο το τα οι τη την τον του της των и та dans pour mit für but and
"""
ARTICLES = frozenset(_OPENING.split())
_WITHIN = re.compile(r"^(?:,\s?|\s\(|\s(in|en|em|au|i|w|v|в)\s)$")
_AND = re.compile(
    r"^\s*(?:,|,?\s*(?:and|und|et|y|e|i|a|og|och|ja|ve|en|și|és|и|та|й|и|και|y|dan|và|או|or|oder|ou|o))\s+$"
)
OPENS = re.compile(r"(?:^|[.!?…:;\n\"“”„«»(\[—–|•])['’\"”»]*\s*$")
_UNSPACED_TEXT = re.compile(rf"[{UNSPACED}]")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]")
_HAN = re.compile("[\u3400-\u9fff]")
_KANA = re.compile("[\u3041-\u30fc]")
# What follows a place's name in Japanese and Chinese where that goes on in Han characters: units, and what towns have.
_AFTER_HAN = frozenset("市省县縣州府都区區駅站港湾湾空机機大地中高警支内で上东西南北東近郊周当當和与與及至到开開举舉召")
# Japanese surnames and Chinese runs of characters that are names of towns as well: they need such a character.
_RUNS = """
    千葉 宮崎 福島 山口 石川 長野 秋田 香川 福井 宮城 松山 長崎 川崎 岡山 高松 徳島 福岡 大津 奈良 三重 豊田 柏 松本
    青森 清水 本庄 小山 上田 富山 前橋 金沢 大分 熊本 佐賀 水戸 日立 高山 三原 鈴鹿 小松 平塚 藤沢 大和 春日 長岡
    長春 长春 太原 大同 中山 平安 东方 東方 和平 开封 宝安 永安 长安 安康 保定 海口 通化 通州 朝阳 朝陽
    新乡 咸宁 安阳 吉林
"""
_SURNAMES = frozenset(_RUNS.split())


@dataclass(slots=True)
class PlaceMention:
    """One place in a text where a name stands, characters start to end."""

    places: tuple[Place, ...]
    name: str
    start: int
    end: int
    in_title: bool = False
    strong: bool = True  # its neighbours do not make it part of a longer name
    personal: bool = False  # a capitalised word stands before it, as a first name would
    leading: bool = False  # a capitalised word stands behind it, as a surname would
    located: bool = False  # after a preposition of place
    inner: bool = False  # a capital inside a sentence of a language that does not capitalise nouns
    guarded: bool = False  # the name has another meaning
    cased: bool = False  # of a script with capitals
    within: str = ""  # the country that stands right behind the name: "London, Ontario"
    inside: bool = False  # that country follows "in", so that no other can be meant


def mentions_of(text: str, language: str, names: Gazetteer) -> list[PlaceMention]:
    """The mentions of a text, in its order but for abbreviations."""
    found = list(_Spaced(text, language, names).mentions())
    for one, other in pairwise(found):
        # "Reading and Slough": what stands in a row of places is one.
        if one.guarded != other.guarded and _AND.match(text[one.end : other.start]):
            sure, doubtful = (other, one) if one.guarded else (one, other)
            if sure.strong and not doubtful.personal:
                doubtful.located = doubtful.strong = True
        if other.places[0].type != "place" and one.places[0].type == "place":
            link = _WITHIN.match(text[one.end : other.start])
            if link:
                # Of Georgia and Georgia, the one that has such a city.
                around = [place.country for place in other.places if place.type != "place"]
                here = {place.country for place in one.places}
                one.within = next((country for country in around if country in here), around[0])
                one.inside = bool(link[1])
    if _UNSPACED_TEXT.search(text):
        found.extend(_unspaced(text, names))
    if language == "en" and not text.isupper():
        for match in ABBREVIATIONS.finditer(text):
            code = ABBREVIATED[(match.lastindex or 1) - 1]
            place = Place(f"country:{code}", "country", code, COUNTRY_WEIGHT)
            found.append(PlaceMention((place,), match[0], match.start(), match.end()))
    return found


class _Spaced:
    """The words of one text, and the names among them."""

    def __init__(self, text: str, language: str, names: Gazetteer) -> None:
        self._text = text
        self._language = language
        self._names = names
        self._tokens = list(TOKEN.finditer(text))
        self._words = [fold(token[0]) for token in self._tokens]
        # In a headline in title case every name touches a capital, so its names need a second mention in the text.
        self._shouting = title_case(self._tokens, language)
        self._before = prepositions(language)

    def mentions(self) -> Iterator[PlaceMention]:
        at = 0
        while at < len(self._tokens):
            match = self._longest_name(at)
            if match is None:
                at += 1
                continue
            size, places = match
            mention = self._in_context(at, size, places)
            if mention is not None:
                yield mention
            at += size

    def _longest_name(self, at: int) -> tuple[int, tuple[Place, ...]] | None:
        names, words = self._names, self._words
        left = len(words) - at
        for size in range(min(names.longest.get(words[at], 0), left), 0, -1):
            places = names.spaced.get(" ".join(words[at : at + size]))
            if places is not None and self._together(at, size):
                if size == 1 and "\u0590" < words[at] < "\u0700":
                    # The same letters may be "and Jeddah" or Oujda: who is meant is decided later.
                    more = names.inflected(words[at : at + 1], self._language)
                    places = (*places, *(place for place in more if place not in places))
                return size, places
        first = self._tokens[at][0][0]
        small = first.islower() and not is_georgian(first)
        if small or not (names.has_forms(self._language, words[at]) or self._language in names.only):
            return None
        for size in range(min(3, left), 0, -1):
            if size == 1 or self._together(at, size):
                places = names.inflected(words[at : at + size], self._language)
                if places:
                    return size, places
        return None

    def _together(self, at: int, size: int) -> bool:
        """Whether words stand side by side: a space, point, hyphen or apostrophe may part them."""
        text, tokens = self._text, self._tokens
        gaps = (text[tokens[index].end() : tokens[index + 1].start()] for index in range(at, at + size - 1))
        return all(gap.strip() in ("", ".", "'", "’", "-", "‐", '"', "״") and "\n" not in gap for gap in gaps)

    def _in_context(self, at: int, size: int, places: tuple[Place, ...]) -> PlaceMention | None:
        text, tokens = self._text, self._tokens
        start, end = tokens[at].start(), tokens[at + size - 1].end()
        name = " ".join(text[start:end].split())
        cased = name[0].lower() != name[0].upper() and not is_georgian(name[0])
        if cased and not name[0].isupper():
            return None
        guarded = size == 1 and self._names.is_common_word(name, self._language)
        guarded |= cased and len(name) <= 3
        country = places[0].type == "country"
        if country:
            if (
                guarded and len(name) > 3
            ):  # "Island" in English; a country's name in the text's own language is no common word
                return None
            guarded = cased and places[0].id in _GUARDED
        elif places[0].type == "region":
            guarded = cased and places[0].id in _GUARDED
        mention = PlaceMention(places, name, start, end, guarded=guarded, cased=cased)
        mention.located = (at > 0 and self._words[at - 1] in self._before) or self._stands_located(at, size)
        if _INSTITUTIONS.search(text[max(0, start - 24) : start]) and cased:
            mention.strong = False
        named_like_people = not country or guarded or self._words[at] in _NAMESAKES
        if cased and size == 1 and named_like_people:
            opening = bool(OPENS.search(text[max(0, start - 4) : start]))
            declined = self._words[at] not in self._names.spaced
            after = self._after_a_name(at, declined)
            # In German a noun may follow, though hardly without a preposition before the place.
            before = self._before_a_name(at) and not (self._language == "de" and mention.located)
            after = after or bool(_TITLE.search(text[max(0, start - 10) : start]))
            mention.personal = not self._shouting and after
            mention.leading = not self._shouting and before
            mention.strong &= not ((guarded and opening and not mention.located) or after or before)
            mention.strong &= not (guarded and self._shouting)
            mention.inner = not opening and not self._shouting and self._language != "de"
        elif cased and size > 1:
            mention.inner = True
            # "New York Times", "Los Angeles Coliseum": no country's name goes on like that but in headlines.
            mention.strong &= country or self._language == "de" or not self._before_a_name(at + size - 1)
        return mention

    def _stands_located(self, at: int, size: int) -> bool:
        """What other scripts say after the name, or before it as a letter of the word."""
        word = self._words[at]
        if "\u0590" < word < "\u0700":
            return word[0] in "בלמב" and word not in self._names.spaced
        after = self._words[at + size] if at + size < len(self._words) else ""
        return after in _AFTER_PLACES

    def _after_a_name(self, at: int, declined: bool) -> bool:
        """Whether a capitalised word stands right before the one at `at`: "Andy Murray", "South Orange".

        The word that opens a sentence is a name only where the other agrees with it, that is in its basic form.
        """
        if not at:
            return False
        before = self._tokens[at - 1]
        gap = self._text[before.end() : self._tokens[at].start()]
        if not before[0][0].isupper() or gap.strip(" \u00a0.-") or "\n" in gap:
            return False
        if "." in gap and len(before[0]) > 2:  # an initial, "J. London", not the end of a sentence
            return False
        # "Near Paris" opens a sentence; in German any word may, and so may a noun.
        opening = bool(OPENS.search(self._text[max(0, before.start() - 4) : before.start()]))
        before_word = self._words[at - 1]
        plain = declined or self._language == "de" or before_word in self._before or before_word in ARTICLES
        return not (opening and plain)

    def _before_a_name(self, at: int) -> bool:
        """Whether a capitalised word follows: "Paris Hilton"."""
        if at + 1 >= len(self._tokens):
            return False
        after = self._tokens[at + 1]
        gap = self._text[self._tokens[at].end() : after.start()]
        return after[0][0].isupper() and gap in (" ", "-", "\u00a0")


def prepositions(language: str) -> frozenset[str]:
    """The words of a language that stand before places far more often than before people."""
    return _PREPOSITIONS.get(language, _PREPOSITIONS["en"])


def title_case(tokens: list[re.Match[str]], language: str) -> bool:
    """Whether a text's words have capitals as a matter of style, so that capitals say nothing."""
    longer = [token[0][0].isupper() for token in tokens if len(token[0]) > 3]
    return language != "de" and len(longer) > 2 and sum(longer) >= _TITLE_CASE * len(longer)


def is_georgian(char: str) -> bool:
    """Whether a letter is of the one script that has capitals and does not use them for names."""
    return "\u10d0" <= char <= "\u10ff"


def _unspaced(text: str, names: Gazetteer) -> Iterator[PlaceMention]:
    index = names.unspaced
    at = 0
    while at < len(text):
        for size in range(min(names.longest_unspaced, len(text) - at), 1, -1):
            places = index.get(text[at : at + size])
            if places and not _cuts_katakana(text, at, at + size):
                mention = PlaceMention(places, text[at : at + size], at, at + size)
                if mention.name in _SURNAMES:
                    after = text[at + size : at + size + 1]
                    # 千葉真一 is a person, 太原来 no town; 千葉市, 千葉県 and 千葉で are.
                    mention.strong = after in _AFTER_HAN or not _HAN.match(after or " ")
                yield mention
                at += size - 1
                break
        at += 1


def _cuts_katakana(text: str, start: int, end: int) -> bool:
    """Whether a run of katakana goes on at either side: Dubai is no part of the word for advice.

    A point between two runs joins a person's names: パリス・ヒルトン.
    """
    before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
    cuts = (_KATAKANA.match(text[start]) and _KATAKANA.match(before)) or (
        _KATAKANA.match(text[end - 1]) and _KATAKANA.match(after)
    )
    return bool(cuts) or before in "·・" or after in "·・"
