"""What kind of piece an article is (opinion, fact check, live blog, paywalled, ...), and whose copy it is.

Only what the publisher says counts: types and flags in markup, names of sections, the address, what stands in front of
a title. No guess from the text: a label is seldom wrong and sometimes missing. Words come from
reference_data/labels.toml. Read `LabelWords`, then `labels`, then `wire_credit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote, urlsplit

from state_schemas.articles import Label
from udfs.reference_faults import Fault, default_folder, load, parse_toml
from udfs.sections import fold_term

FILE = "labels.toml"
# schema.org types that say what a piece is, wherever on the page its article is described.
_TYPES: dict[str, Label] = {
    "opinionnewsarticle": "opinion",
    "claimreview": "fact_check",
    "liveblogposting": "live",
    "advertisercontentarticle": "sponsored",
    "imagegallery": "gallery",
    "mediagallery": "gallery",
}
# A gallery or video within an article makes it none: these count only where no article is described.
_ONLY_ALONE = frozenset(("imagegallery", "mediagallery"))
_PLAIN = frozenset(("videoobject", "webpage", "videogallery"))
_LABELS: tuple[Label, ...] = get_args(Label)
_WORDED = frozenset(label for label in _LABELS if label not in ("paywalled", "wire"))
_KEYS = frozenset(("sections", "phrases", "titles", "exact", "hosts"))
_SEPARATORS = re.compile(r"\s*(?:[/|>»:]|\s[-–—]\s)\s*")
_FRONT_END = r"\s*(?:[:：|｜•»>]|\s[-–—]|[-–—]\s)\s*\S"
# A dateline and its credit stand in front of the text, or a credit alone behind it.
_FRONT_CHARS = 160
_BACK_CHARS = 120
_CREDIT = re.compile(r"[(\[【（/「『]\s*([^()\[\]【】（）「」『』/]{2,60})\s*[)\]】）/」』]")
_WIRED_FROM = re.compile(r"^\s*[（(【]?([\u4e00-\u9fff]{2,3}[社网網]\S{0,14}?)\d{1,2}日?\S{0,4}?[电電讯訊]")
_PLACE_AND_SIGN = re.compile(r"^\s*[【(（［\[]([^】)）］\]\s]{3,20})[】)）］\]]")
_DATELINE = re.compile(r"^[^.!?。]{2,70}?[,:]?\s*(?:[-–—]{1,2}|:)\s*([^\s:–—-][^:–—\n]{1,39}?)\s*[-–—]{1,2}\s")
_BYLINE_PARTS = re.compile(r"\s*[/,|&+;·]\s*|\s+[-–—]\s+|\s+(?:and|und|y|et|e|en|og|och|with|mit|con|avec|via)\s+")
_BYLINE_LEAD = re.compile(
    r"^(?:by|von|par|por|di|da|door|av|af|source|quelle|fuente|fonte|kaynak|источник|джерело|المصدر|来源|來源|出典)\s*:?\s+",
    re.IGNORECASE,
)
_SOURCE_LINE = re.compile(
    r"^(?:source|sources|quelle|quellen|fuente|fonte|kilde|källa|lähde|źródło|zdroj|forrás|sursa|kaynak|источник"
    r"|джерело|πηγή|מקור|المصدر|स्रोत|sumber|nguồn|来源|來源|出典|출처)\s*[:：]\s*(.{2,60})$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class LabelWords:
    """labels.toml turned round. sections, phrases: folded word -> label; front, back: what a title opens or ends with.

    agencies: folded name -> (id, whether the name is the agency's alone); own: host -> agency.
    """

    sections: dict[str, Label] = field(default_factory=dict)
    phrases: dict[str, Label] = field(default_factory=dict)
    hosts: dict[str, Label] = field(default_factory=dict)
    front: tuple[tuple[Label, re.Pattern[str]], ...] = ()
    back: tuple[tuple[Label, re.Pattern[str]], ...] = ()
    agencies: dict[str, tuple[str, bool]] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)

    def agency(self, name: str, *, alone: bool = True) -> str:
        """The agency that `name` is, whole, or empty. alone: nothing else stands beside it."""
        found = self.agencies.get(_sign(name))
        return found[0] if found and (found[1] or alone) else ""


def labels(
    url: str,
    section: str,
    types: Iterable[str],
    paywalled: bool,
    words: LabelWords | None = None,
    *,
    title: str = "",
    kinds: Iterable[str] = (),
) -> tuple[Label, ...]:
    """The labels that markup, section, address and title of an article state, each once, sorted.

    url: canonical; section: as stated, several with " / " between; types: schema.org types of the article; kinds: what
    else the page says of its kind: "type:LiveBlogPosting", "genre:Opinion", "flag:opinion" (`kinds.kinds_of`).
    words: the installation's own where None.
    """
    words = words or installed_words()
    found: set[Label] = set()
    stated = {kind.lower() for kind in types}
    named: list[str] = [section, *section.split(" / ")]
    for kind in kinds:
        what, _, value = kind.partition(":")
        if what == "type":
            stated.add(value.lower())
        elif what == "flag" and value in _LABELS:
            found.add(value)
        else:
            named.append(value)
    article = any(kind.endswith(("article", "posting", "report")) for kind in stated)
    found.update(_TYPES[kind] for kind in stated if kind in _TYPES and not (article and kind in _ONLY_ALONE))
    if stated & {"videoobject", "videogallery"} and stated <= _PLAIN:
        found.add("video")
    found.update(_named(named, words))
    found.update(_addressed(url, words))
    found.update(label for label, pattern in (*words.front, *words.back) if pattern.search(title))
    if paywalled:
        found.add("paywalled")
    return tuple(sorted(found))


def _named(names: Iterable[str], words: LabelWords) -> Iterator[Label]:
    """What stated sections and genres mean: whole, or the parts of "News / Opinion"."""
    for name in names:
        for part in dict.fromkeys((name, *_SEPARATORS.split(name))):
            key = fold_term(part)
            label = words.sections.get(key) or words.phrases.get(key)
            if label:
                yield label


def _addressed(url: str, words: LabelWords) -> Iterator[Label]:
    """What the path's segments before the article's own and the host's parts mean."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    for segment in parts.path.split("/")[1:-1]:
        if label := words.sections.get(fold_term(unquote(segment))):
            yield label
    pieces = host.split(".")
    for number in range(len(pieces) - 1):
        if label := words.hosts.get(".".join(pieces[number:])):
            yield label
        if number < len(pieces) - 2 and (label := words.sections.get(fold_term(pieces[number]))):
            yield label


def wire_credit(authors: Iterable[str], body: str, words: LabelWords | None = None, url: str = "") -> str:
    """The agency that a byline, a dateline or a credit line names, or empty: the original of a copy.

    Empty on the agency's own site, which copies nobody. A text that only speaks of an agency names none: a credit
    stands alone in brackets near the front or the end, or behind a place and before a dash.
    """
    words = words or installed_words()
    found = next(_credits(list(authors), body, words), "")
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    return "" if found and _owner(host, words) == found else found


def _credits(authors: list[str], body: str, words: LabelWords) -> Iterator[str]:
    for author in authors:
        name = _BYLINE_LEAD.sub("", author)
        bracket = _CREDIT.search(name)
        parts = [part for part in _BYLINE_PARTS.split(name) if part]
        for part in dict.fromkeys((name, *((bracket[1],) if bracket else ()), *parts)):
            # A sign of two letters beside a person's name may be initials, or a part of the person's own.
            if agency := words.agency(part, alone=part == name or len(parts) > 1):
                yield agency
    front, back = body[:_FRONT_CHARS], body[-_BACK_CHARS:]
    yield from _east_asian(front, words)
    for text, first in ((front, True), (back, False)):
        for match in _CREDIT.finditer(text):
            # Behind a text, a credit ends it; "(Reuters)" in the middle of a last sentence is one's source.
            if not first and text[match.end() :].strip(" .。\n"):
                continue
            # "The Associated Press (AP) plans": an abbreviation is explained.
            if first and any(words.agency(" ".join(text[: match.start()].split()[-n:])) for n in (1, 2, 3)):
                continue
            for part in _BYLINE_PARTS.split(match[1]):
                if agency := words.agency(part):
                    yield agency
    if (dateline := _DATELINE.match(front)) and (agency := words.agency(dateline[1], alone=False)):
        yield agency
    for match in _SOURCE_LINE.finditer(back):
        if agency := words.agency(match[1].rstrip(" ."), alone=False):
            yield agency


def _east_asian(front: str, words: LabelWords) -> Iterator[str]:
    """Credits written together with the place: 新华社马尼拉11月30日电, 【マニラ共同】, (마닐라=연합뉴스)."""
    if match := _WIRED_FROM.match(front):
        yield from (words.agency(match[1][:length]) for length in (4, 3) if words.agency(match[1][:length]))
    if match := _PLACE_AND_SIGN.match(front):
        sign = match[1].rpartition("=")[2]
        yield from (words.agency(sign[-length:]) for length in (5, 4, 3, 2) if words.agency(sign[-length:]))


def agency_named(text: str) -> str:
    """The agency that a short text is the name of, alone or among others ("dpa/AFP"); else empty."""
    parts = re.split(r"\s*[/,|&+]\s*|\s+-\s+", text)
    return next((found for part in parts if (found := installed_words().agency(part))), "")


def _owner(host: str, words: LabelWords) -> str:
    pieces = host.split(".")
    return next((words.own[name] for n in range(len(pieces) - 1) if (name := ".".join(pieces[n:])) in words.own), "")


def _sign(name: str) -> str:
    """An agency's name as it is compared: folded, without points of abbreviation and the mark of a service's city."""
    return fold_term(name.strip(" .:@©").replace(".", " ").replace("/", " "))


def parse_labels(text: str, faults: list[Fault]) -> LabelWords:
    """The words of labels.toml; what is wrong is appended to `faults`."""
    document = parse_toml(FILE, text, faults) or {}
    agencies = document.pop("agencies", {})
    found = LabelWords(agencies={}, own={})
    front: list[tuple[Label, re.Pattern[str]]] = []
    back: list[tuple[Label, re.Pattern[str]]] = []
    for name, table in document.items():
        label = next((one for one in _WORDED if one == name), None)
        if label is None or not _lists(table, _KEYS):
            faults.append(Fault(FILE, 0, name, f"must be a label with lists of words: {', '.join(sorted(_KEYS))}"))
            continue
        for index, key in ((found.sections, "sections"), (found.phrases, "phrases")):
            for word in table.get(key, ()):
                owner = index.setdefault(fold_term(word), label)
                if owner != label:
                    faults.append(Fault(FILE, 0, name, f"{word!r} is a word of {owner} too"))
        found.hosts.update(dict.fromkeys(table.get("hosts", ()), label))
        front += ((label, pattern) for pattern in _fronts(table.get("titles", ()), table.get("exact", ())))
        if table.get("titles"):
            back.append((label, re.compile(rf"\s[|｜]\s*(?:{_any(table['titles'])})\s*$", re.IGNORECASE)))
    for name, table in agencies.items():
        if not _lists(table, frozenset(("names", "shared", "hosts"))):
            faults.append(Fault(FILE, 0, f"agencies.{name}", "must hold lists of words: names, shared, hosts"))
            continue
        for key, whole in (("names", True), ("shared", False)):
            for word in table.get(key, ()):
                other = found.agencies.setdefault(_sign(word), (name, whole))[0]
                if other != name:
                    faults.append(Fault(FILE, 0, f"agencies.{name}", f"{word!r} is a name of {other} too"))
        found.own.update(dict.fromkeys(table.get("hosts", ()), name))
    return LabelWords(found.sections, found.phrases, found.hosts, tuple(front), tuple(back), found.agencies, found.own)


def _lists(table: Any, keys: frozenset[str]) -> bool:
    return isinstance(table, dict) and all(
        key in keys and isinstance(words, list) and all(isinstance(word, str) and fold_term(word) for word in words)
        for key, words in table.items()
    )


def _fronts(titles: Iterable[str], exact: Iterable[str]) -> Iterator[re.Pattern[str]]:
    bracketed = r"^\s*[\[【（(「〈《<＜]\s*(?:{0})\s*[\]】）)」〉》>＞]"
    if titles:
        yield re.compile(rf"^\s*(?:{_any(titles)}){_FRONT_END}|{bracketed.format(_any(titles))}", re.IGNORECASE)
    if exact:
        yield re.compile(rf"^\s*(?:{_any(exact)}){_FRONT_END}|{bracketed.format(_any(exact))}")


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(word).replace(r"\ ", r"[\s-]") for word in sorted(words, key=len, reverse=True))


def load_labels(folder: Path) -> LabelWords:
    """The words of a folder of reference data. Raises ReferenceDataError."""
    return load(folder / FILE, parse_labels)


@cache
def installed_words() -> LabelWords:
    """The words of the installation's own reference data, read once a process."""
    return load_labels(default_folder())
