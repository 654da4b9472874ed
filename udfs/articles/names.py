"""Which people and organisations a text names: by a gazetteer, by what recurs, by what the publisher states.

A name of the gazetteer counts where it stands, longest first; a single word only inside a sentence, with a capital
where there are capitals, and apart from other capitals. What is in no gazetteer counts when it is a run of two to five
capitalised words that recurs, or a quotation that does. Decides nothing about places (`places.py`); which entities an
article keeps stands in `entities.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from udfs.articles.gazetteer import HANGUL, TOKEN, Gazetteer, fold, without_accents
from udfs.articles.name_index import Named, NameIndex
from udfs.articles.place_mentions import ARTICLES, OPENS, is_georgian, prepositions, title_case
from udfs.articles.signatures import UNSPACED

_LONGEST_RUN = 5  # words of an unlinked name; longer runs are headlines
_TWICE = 2  # mentions before an unlinked name counts
# Namesakes whose weights differ by less (decades of sitelinks) cannot be told apart.
_APART = 0.15
# Letters of a single word in a script without capitals before it counts.
_CASELESS_LETTERS = 4

_LINKING = """
    de del des di da do dos das du van von der den ter bin ibn al el la le of the for
"""
_CONNECTORS = frozenset(_LINKING.split())
_BEFORE_NAMES = """
    president prime minister chancellor senator governor mayor secretary king queen prince princess pope sir lord lady
    mr mrs ms dr prof professor judge justice sheriff captain coach general colonel ceo chief rep sen gov minister
    presidente ministro ministra alcalde gobernador rey reina señor señora président ministre maire madame monsieur
    präsident präsidentin kanzler kanzlerin minister ministerin herr frau bürgermeister papst prezydent premier minister
    президент министр премьер губернатор мэр господин παρ πρόεδρος πρωθυπουργός υπουργός başkan bakan cumhurbaşkanı
"""
_TITLES = frozenset(_BEFORE_NAMES.split())
_ORGANISED = """
    inc corp ltd llc plc gmbh ag sa spa bv nv oy ab group holdings bank university college institute ministry department
    council committee commission party union federation association league agency office court police army force times
    post tribune herald gazette news fc afc united club society foundation fund museum hospital airlines airways company
    universidad universidade université universität banco banque ministerio ministère ministério partido parti partei
    sindicato federación fédération asociación association bundesamt bundesministerium gesellschaft verein
    universität университет банк партия министерство университета uniwersytet partia ministerstwo üniversitesi bakanlığı
"""
_ORGANISATION_WORDS = frozenset(_ORGANISED.split())
_QUOTED = re.compile(r"[«“„\"「『]([^\W\d_][^«»“”„\"「」『』\n.!?。]{2,50}[^\W_])[»”“\"」』]")
_UNSPACED_CHARS = re.compile(rf"[{UNSPACED}]")


@dataclass(slots=True)
class FoundName:
    """A name met. spans: (which text, start, end)."""

    id: str
    name: str
    type: str
    spans: list[tuple[int, int, int]] = field(default_factory=list)
    opening: bool = False  # met at the beginning of sentences alone, where a capital says nothing


@dataclass(slots=True)
class _Text:
    number: int
    text: str
    tokens: list[re.Match[str]]
    words: list[str]
    shouting: bool

    def opens(self, at: int) -> bool:
        start = self.tokens[at].start()
        return bool(OPENS.search(self.text[max(0, start - 4) : start]))

    def together(self, at: int, size: int) -> bool:
        for index in range(at, at + size - 1):
            gap = self.text[self.tokens[index].end() : self.tokens[index + 1].start()]
            initial = gap == ". " and len(self.words[index]) <= 2
            if gap not in (" ", "-", "\u00a0", "'", "’", "&", " & ", "‐") and not initial:
                return False
        return True


class NameFinder:
    """Holds the gazetteer of names and, for endings and places, that of places."""

    def __init__(self, index: NameIndex, places: Gazetteer) -> None:
        self._index = index
        self._places = places

    def names(self, texts: Sequence[str], language: str, stated: frozenset[str] = frozenset()) -> list[FoundName]:
        """The names of the texts (title, lede, body). stated: ids that the publisher states, believed of namesakes."""
        read: list[_Text] = []
        for number, text in enumerate(texts):
            tokens = list(TOKEN.finditer(text))
            words = [fold(token[0]) for token in tokens]
            read.append(_Text(number, text, tokens, words, title_case(tokens, language)))
        small = {word for one in read for token, word in zip(one.tokens, one.words, strict=True) if token[0].islower()}
        found: dict[str, FoundName] = {}
        for one in read:
            self._linked(one, language, small, stated, found)
            if _UNSPACED_CHARS.search(one.text):
                self._unspaced(one, stated, found)
        taken = {span for name in found.values() for span in name.spans}
        self._runs(read, language, small, taken, found)
        self._quoted(read, taken, found)
        self._surnames(read, language, found)
        return list(found.values())

    def _linked(
        self, one: _Text, language: str, small: set[str], stated: frozenset[str], found: dict[str, FoundName]
    ) -> None:
        starts = [at for at, token in enumerate(one.tokens) if not token[0][0].islower() or is_georgian(token[0][0])]
        forms = [(one.words[at], at) for at in starts]
        if starts and self._places.has_forms(language, one.words[starts[0]]):
            forms += [(base, at) for at in starts for base in self._places.bases(one.words[at], language)]
        asked: list[tuple[str, int, int]] = []
        for (first, at), longest in zip(forms, self._index.longest([form for form, _ in forms]), strict=True):
            for size in range(1, min(longest, len(one.words) - at) + 1):
                if size > 1 and not one.together(at, size):
                    break
                asked.append((" ".join((first, *one.words[at + 1 : at + size])), at, size))
                if size > 1 and len(forms) > len(starts):
                    rest = one.words[at + 1 : at + size - 1]
                    last = self._places.bases(one.words[at + size - 1], language)
                    asked += [(" ".join((first, *rest, end)), at, size) for end in last]
        best: dict[int, tuple[int, Named]] = {}
        for (_, at, size), named in zip(asked, self._index.look_up([key for key, _, _ in asked]), strict=True):
            chosen = _meant(named, stated)
            if chosen and (at not in best or size > best[at][0]) and self._stands_alone(one, at, size, small):
                best[at] = (size, chosen)
        end = 0
        for at, (size, chosen) in sorted(best.items()):
            if at >= end:
                _add(found, chosen.id, chosen.type, one, one.tokens[at].start(), one.tokens[at + size - 1].end())
                end = at + size

    def _stands_alone(self, one: _Text, at: int, size: int, small: set[str]) -> bool:
        """Whether a single word is a name here: several are."""
        token = one.tokens[at][0]
        if size > 1:
            return True
        if token[0].lower() == token[0].upper() or is_georgian(token[0]):
            return len(token) >= (2 if HANGUL.match(token) else _CASELESS_LETTERS)
        if one.words[at] in small or one.shouting:
            return False
        before = at > 0 and one.together(at - 1, 2) and one.tokens[at - 1][0][0].isupper() and not one.opens(at - 1)
        after = at + 1 < len(one.tokens) and one.together(at, 2) and one.tokens[at + 1][0][0].isupper()
        return not (before and one.words[at - 1] not in _TITLES) and not after and not one.opens(at)

    def _unspaced(self, one: _Text, stated: frozenset[str], found: dict[str, FoundName]) -> None:
        text = one.text
        starts = [match.start() for match in _UNSPACED_CHARS.finditer(text)]
        known = self._index.starting([text[at : at + 2] for at in starts])
        starts = [at for at, there in zip(starts, known, strict=True) if there]
        known = self._index.starting([text[at : at + 3] for at in starts])
        asked = []
        for at, longer in zip(starts, known, strict=True):
            for size in range(2, 13 if longer else 3):
                if at + size <= len(text):
                    asked.append((text[at : at + size], at))
        best: dict[int, tuple[int, Named]] = {}
        for (key, at), named in zip(asked, self._index.look_up([key for key, _ in asked]), strict=True):
            chosen = _meant(named, stated)
            if chosen and len(key) > best.get(at, (0, chosen))[0]:
                best[at] = (len(key), chosen)
        end = 0
        for at, (size, chosen) in sorted(best.items()):
            if at >= end:
                _add(found, chosen.id, chosen.type, one, at, at + size)
                end = at + size

    def _runs(
        self,
        read: list[_Text],
        language: str,
        small: set[str],
        taken: set[tuple[int, int, int]],
        found: dict[str, FoundName],
    ) -> None:
        """Runs of capitalised words that recur."""
        met: dict[str, FoundName] = {}
        covered = {(number, at) for number, start, end in taken for at in range(start, end)}
        for one in read:
            if one.shouting:
                continue
            for at, size in _capital_runs(one):
                start, stop = at, at + size
                opening = one.opens(at)
                # "So I went": the pronoun; Elizabeth I opens a sentence more rarely.
                stop -= language == "en" and opening and size == 2 and one.words[at + 1] == "i"
                while start < stop and (
                    one.words[start] in _TITLES
                    or (start == at and opening and (one.words[start] in small or one.words[start] in ARTICLES))
                ):
                    start += 1
                # "Actor Ravi Sharma met ...": of three words that open a sentence the first tells what he is.
                start += start == at and opening and stop - start > 2
                if not 1 < stop - start <= _LONGEST_RUN or (one.number, one.tokens[start].start()) in covered:
                    continue
                key = " ".join(one.words[start:stop])
                if key in self._places.spaced or any(word in small for word in (one.words[start], one.words[stop - 1])):
                    continue
                identity = unlinked_id(key)
                opens_only = start == at and opening and (identity not in met or met[identity].opening)
                name = _add(met, identity, "", one, one.tokens[start].start(), one.tokens[stop - 1].end())
                name.opening = opens_only
        alone = {one.words[at] for one in read if not one.shouting for at in _lone_capitals(one)}
        last = {identity: fold(list(TOKEN.finditer(name.name))[-1][0]) for identity, name in met.items()}
        # "Según Ibarra" at a sentence's beginning is Carmen Ibarra again, where the text names her in full.
        full = {last[identity] for identity, name in met.items() if not name.opening}
        echoes = {last[identity] for identity, name in met.items() if name.opening} & full
        for identity, name in met.items():
            word = last[identity]
            if name.opening and word in echoes:
                continue
            again = (word in alone or word in echoes) and language != "de" and word not in _TITLES | _ORGANISATION_WORDS
            if len(name.spans) >= _TWICE or again:
                words = [fold(match[0]) for match in TOKEN.finditer(name.name)]
                organised = any(word in _ORGANISATION_WORDS for word in words)
                name.type = "organisation" if organised else "person" if again and len(words) < 4 else "other"
                found[identity] = name

    def _quoted(self, read: list[_Text], taken: set[tuple[int, int, int]], found: dict[str, FoundName]) -> None:
        """Quotations of several words, or of several characters without spaces, that recur."""
        met: dict[str, FoundName] = {}
        for one in read:
            for match in _QUOTED.finditer(one.text):
                key = " ".join(fold(word[0]) for word in TOKEN.finditer(match[1])) or match[1]
                several = " " in key or _UNSPACED_CHARS.match(match[1])
                if several and key.count(" ") < _LONGEST_RUN and not match[1][0].islower():
                    _add(met, unlinked_id(key), "other", one, match.start(1), match.end(1))
        for identity, name in met.items():
            if len(name.spans) >= _TWICE and not taken.intersection(name.spans):
                found.setdefault(identity, name)

    def _surnames(self, read: list[_Text], language: str, found: dict[str, FoundName]) -> None:
        """A person's last word, alone, is the person again."""
        last: dict[str, FoundName] = {}
        for name in found.values():
            words = [fold(match[0]) for match in TOKEN.finditer(name.name)]
            if name.type == "person" and len(words) > 1:
                last.setdefault(words[-1], name)
        if not last:
            return
        covered = {(number, at) for name in found.values() for number, start, end in name.spans for at in (start, end)}
        for one in read:
            for at, (token, word) in enumerate(zip(one.tokens, one.words, strict=True)):
                if word not in last or token[0].islower():
                    continue
                if word in self._places.spaced and at and one.words[at - 1] in prepositions(language):
                    continue  # Denzel Washington, in Washington
                name = last[word]
                if (one.number, token.start()) not in covered and (one.number, token.end()) not in covered:
                    name.spans.append((one.number, token.start(), token.end()))


def unlinked_id(key: str) -> str:
    """The id of a name that is linked to nothing: its folded words, the same with and without accents."""
    return "name:" + without_accents(key).replace(" ", "_")


def _meant(named: tuple[Named, ...], stated: frozenset[str]) -> Named | None:
    """Of namesakes the one that the publisher states, or the best known by far."""
    for one in named:
        if one.id in stated:
            return one
    if len(named) > 1 and named[0].weight - named[1].weight < _APART:
        return None
    return named[0] if named else None


def _add(found: dict[str, FoundName], identity: str, kind: str, one: _Text, start: int, end: int) -> FoundName:
    name = found.get(identity)
    if name is None:
        name = found[identity] = FoundName(identity, " ".join(one.text[start:end].split()), kind)
    name.spans.append((one.number, start, end))
    return name


def _lone_capitals(one: _Text) -> list[int]:
    """The capitalised words that are part of no run, or have only a title before them."""
    inside: set[int] = set()
    for start, size in _capital_runs(one):
        inside.update(range(start, start + size - (size == 2 and one.words[start] in _TITLES)))
    return [at for at, token in enumerate(one.tokens) if token[0][0].isupper() and at not in inside]


def _capital_runs(one: _Text) -> list[tuple[int, int]]:
    """(first token, number of tokens) of the runs of capitalised words; small words may link two of them."""
    runs: list[tuple[int, int]] = []
    at, tokens = 0, one.tokens
    while at < len(tokens):
        if not tokens[at][0][0].isupper():
            at += 1
            continue
        end = at + 1
        while end < len(tokens) and one.together(end - 1, 2):
            if tokens[end][0][0].isupper():
                end += 1
                continue
            ahead = end
            while ahead < len(tokens) and ahead < end + 2 and one.words[ahead] in _CONNECTORS:
                ahead += 1
            if ahead == end or ahead >= len(tokens) or not tokens[ahead][0][0].isupper():
                break
            if not one.together(end - 1, ahead - end + 2):
                break
            end = ahead + 1
        if end - at > 1:
            runs.append((at, end - at))
        at = end
    return runs
