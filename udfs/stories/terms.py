"""What an article says, as terms that can be compared: words, names, numbers, entities. No state beyond a cache.

Nothing here knows a language by name. Scripts written without spaces are cut into pairs of characters; words are
case-folded; a name is a run of capitalised words inside a sentence, where the script has capitals. Each term has an id
(32-bit hash), flags (where it stood and what it is) and a prior weight from general word frequencies.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import xxhash
from numpy.typing import NDArray

from state_schemas.articles import Entity
from state_schemas.languages import UNKNOWN

TITLE, LEDE, BODY, NAME, NUMBER, ENTITY, PLACE = 1, 2, 4, 8, 16, 32, 64

MAX_TERMS = 200  # an article; the title's come first, then the lede's
MAX_BODY_CHARS = 2_000  # of the body that are read: news says what happened at its top
MAX_ENTITIES = 40
TOP_CHARS = 600  # of the body that count as lede: many publishers' own lede is a teaser
# Weights are inverse document frequencies in decades, in steps of 1/40, so that a byte holds 0 to 6.
STEP = 40
MAX_IDF = 6.0
# Zipf value (log10 of the frequency in 10**9 words) to prior weight. Source: notes/clustering, 7.5 - zipf.
ZIPF_TOP = 7.5
# Without a word list for a language, length stands in for rarity: function words are short everywhere.
_NO_LIST = (1.0, 1.5, 2.5, 3.0, 3.5)

_RARE_NAME = round(3.5 * STEP)  # in scripts without capitals
TOWN_PRIOR = 3 * STEP + 1  # the prior of a linked place that is no country; also how it is told from one

_NUMBER = r"\d+(?:[.,]\d+)*"
# Scripts that put no spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"{_NUMBER}|[{_DENSE}]+|[^\W\d_{_DENSE}](?:['’\u200c\u200d-]?[\w])*")
_DENSE_RUN = re.compile(rf"[{_DENSE}]")
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_SENTENCE = re.compile(r"(?<=[.!?。！？।؟…])[\s\"”»』」]+|\n+|: ")


@dataclass(frozen=True, slots=True)
class Terms:
    """An article's terms in order of first mention, at most MAX_TERMS.

    ids: uint32[n]. flags: uint8[n], TITLE ... ENTITY. priors: uint8[n], prior weight x STEP.
    """

    ids: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    priors: NDArray[np.uint8]


def unpack(ids: bytes, flags: bytes, priors: bytes) -> Terms:
    """Terms from a member's stored bytes."""
    return Terms(np.frombuffer(ids, "<u4"), np.frombuffer(flags, np.uint8), np.frombuffer(priors, np.uint8))


@cache
def _word_list(language: str) -> Mapping[str, float]:
    """Word -> frequency, from wordfreq's list of the language; empty where it has none. Never tokenises."""
    import wordfreq

    try:
        return wordfreq.get_frequency_dict("nb" if language == "no" else language)
    except LookupError:
        return {}


class Vocabulary:
    """Turns texts into terms for one language; remembers words it met, which changes no result."""

    def __init__(self, language: str) -> None:
        self._list = _word_list(language) if language != UNKNOWN else {}
        self._met: dict[str, tuple[int, int]] = {}

    def terms(self, title: str, lede: str, body: str, entities: tuple[Entity, ...]) -> Terms:
        """All terms of an article. body: plain text; what repeats title or lede in it adds nothing."""
        found: dict[int, list[int]] = {}  # id -> [flags, prior]
        body = body[:MAX_BODY_CHARS]
        top = body[:TOP_CHARS].rpartition(" ")[0] or body[:TOP_CHARS]
        headline = _sentences(title)
        texts = [_sentences(lede), _sentences(top), _sentences(body[len(top) :])]
        names = _names(headline, texts)
        places = frozenset(
            token.casefold() for entity in entities if _is_place(entity) for token in _TOKEN.findall(entity.name)
        )
        for sentences, place in zip((headline, *texts), (TITLE | LEDE, LEDE, LEDE, BODY), strict=True):
            for tokens in sentences:
                if len(found) >= MAX_TERMS:
                    break
                self._read(tokens, place, names, places, found)
        chosen = list(found.items())[:MAX_TERMS]
        for entity in entities[:MAX_ENTITIES]:
            place = ENTITY | (TITLE | LEDE if entity.in_title else BODY)
            chosen.append((_hash(f"e {entity.id}"), [place, _entity_prior(entity)]))
        return Terms(
            np.array([term for term, _ in chosen], dtype=np.uint32),
            np.array([about[0] for _, about in chosen], dtype=np.uint8),
            np.array([about[1] for _, about in chosen], dtype=np.uint8),
        )

    def _read(
        self,
        tokens: list[str],
        place: int,
        names: frozenset[str],
        places: frozenset[str],
        found: dict[int, list[int]],
    ) -> None:
        previous = ""  # the name before, for names of two words
        for token in tokens:
            name = ""
            if token[0].isdigit():
                self._add(found, _number(token), place | NUMBER, _number_prior(token))
            elif not token.isascii() and _DENSE_RUN.match(token):
                for pair in (token,) if len(token) < 3 else map("".join, pairwise(token)):
                    self._word_into(found, pair, place)
            else:
                word = token.casefold()
                if word in names or (_caseless(token) and self._word(word)[1] >= _RARE_NAME):
                    name = word
                named = PLACE if word in places else 0
                self._word_into(found, word, place | named | (NAME if name else 0))
                if name and previous:
                    prior = max(self._word(previous)[1], self._word(word)[1])
                    self._add(found, _hash(f"{previous} {word}"), place | named | NAME, prior)
            previous = name

    def _word_into(self, found: dict[int, list[int]], word: str, place: int) -> None:
        term, prior = self._word(word)
        self._add(found, term, place, prior)

    @staticmethod
    def _add(found: dict[int, list[int]], term: int, place: int, prior: int) -> None:
        about = found.get(term)
        if about is None:
            found[term] = [place, prior]
        else:
            about[0] |= place

    def _word(self, word: str) -> tuple[int, int]:
        known = self._met.get(word)
        if known is None:
            if len(self._met) > 200_000:
                self._met.clear()
            known = self._met[word] = (_hash(_stem(word)), self._prior(word))
        return known

    def _prior(self, word: str) -> int:
        if not self._list:
            return int(_NO_LIST[min(len(word), len(_NO_LIST)) - 1] * STEP)
        frequency = self._list.get(word, 0.0) or self._list.get(word.split("'")[0].split("’")[0], 0.0)
        if _DENSE_RUN.match(word) and not frequency:
            return 3 * STEP  # a pair of characters across two words is no rare word
        zipf = float(np.log10(frequency)) + 9.0 if frequency else 0.0
        return round(min(max(ZIPF_TOP - zipf, 0.0), MAX_IDF) * STEP)


def _sentences(text: str) -> list[list[str]]:
    """The tokens of each sentence."""
    return [_TOKEN.findall(sentence) for sentence in _SENTENCE.split(text)] if text else []


def _names(headline: list[list[str]], texts: list[list[list[str]]]) -> frozenset[str]:
    """Words, case-folded, that are capitalised inside a sentence and nowhere written small.

    The first word of a sentence tells nothing, nor do the words of a headline that capitalises all of them.
    """
    small: set[str] = set()
    large: set[str] = set()
    sentences = [sentence for text in texts for sentence in text]
    if not _title_case([token for sentence in headline for token in sentence]):
        sentences += headline
    for sentence in sentences:
        for token in sentence[1:]:
            if token[0].isupper():
                large.add(token.casefold())
            elif token[0].islower():
                small.add(token)
    return frozenset(large - small)


def _title_case(tokens: list[str]) -> bool:
    """Whether a headline capitalises its words as a matter of style: three long ones in four, after the first."""
    long = [token for token in tokens[1:] if len(token) > 3 and token[0].isalpha()]
    return len(long) > 2 and 4 * sum(token[0].isupper() for token in long) >= 3 * len(long)


def _caseless(token: str) -> bool:
    """Whether the token's script has no capitals (Arabic, Hindi, Korean, ...): there, rarity stands in for them."""
    return not token.isascii() and not token[0].isupper() and not token[0].islower() and token[0].isalpha()


def _stem(word: str) -> str:
    """Words of one root meet: the first seven letters, enough to tell words apart, few enough to shed endings."""
    return word[:7]


def _number(token: str) -> int:
    digits = "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in token)
    plain = digits.replace(",", "").replace(".", "") if _THOUSANDS.fullmatch(digits) else digits.replace(",", ".")
    return _hash(f"# {plain}")


def _number_prior(token: str) -> int:
    """Small counts and years are everywhere, exact figures are not; learned frequencies take over from there."""
    if "." in token or "," in token:
        return 3 * STEP
    if len(token) == 4 and token[:2] in ("19", "20"):
        return STEP
    return (STEP, 2 * STEP, 3 * STEP)[min(len(token), 3) - 1]


def _is_place(entity: Entity) -> bool:
    """Whether an entity is a place; one of a record that tells no type was nothing else."""
    return entity.type in ("", "place", "country", "region")


def _entity_prior(entity: Entity) -> int:
    """A country stands in every tenth article, others in every thousandth: guesses that learning corrects."""
    if entity.id.startswith("country:"):
        return STEP
    return TOWN_PRIOR if entity.id.startswith("place:") else 3 * STEP


def _hash(text: str) -> int:
    return int(xxhash.xxh32_intdigest(text.encode("utf-8", "surrogatepass")))
