"""A press of any size for load and fault tests: N articles of invented events, built from a seed and word lists. Pure.

The same count, hosts, seed and words give the same press. Shares of the articles: a quarter open a new event, two
fifths are other newsrooms' own words on it, a quarter are copies and a tenth variants. Outlets of one event are dealt
different sentences, and draw the same names and numbers from its facts.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from services.press.content import JSON_LD_SHAPES, SAMPLE_DIR, Article, ContentError, Feed, Press, Publisher, build

WORDS_FILE = SAMPLE_DIR / "generator.toml"
PARTS = ("lead", "fact1", "fact2", "fact3")
GENERAL = ("quote", "response", "background", "next")


@dataclass(frozen=True, slots=True)
class GeneratorPolicy:
    """Shares of the articles, which leave the rest to first reports, and how the press is spread.

    The shares are those of the load that the line is tested with; own_wordings is what the word lists have for a kind.
    """

    other_originals: float = 0.40
    copies: float = 0.25
    variants: float = 0.10
    own_wordings: int = 4  # original texts of one event at most
    event_spread: float = 0.12  # an event's articles fall within this share of the whole time


def load_words(file: Path = WORDS_FILE) -> dict[str, Any]:
    """The word lists. Raises ContentError where the file cannot be read."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ContentError(f"{file}: {error}") from error


def generate(
    count: int,
    hosts: int,
    seed: int,
    minutes: float,
    words: Mapping[str, Any],
    policy: GeneratorPolicy = GeneratorPolicy(),
) -> Press:
    """`count` articles of `hosts` publishers, evenly spread over `minutes` of press time. count, hosts: 1 or more."""
    rng = random.Random(f"press {seed}")
    publishers = [_publisher(number) for number in range(1, hosts + 1)]
    if hosts == 1:  # nobody to copy from
        policy = replace(policy, copies=0.0)
    others, copies, variants = (
        int(count * share) for share in (policy.other_originals, policy.copies, policy.variants)
    )
    firsts = max(count - others - copies - variants, -(-(count - copies - variants) // policy.own_wordings))
    others = count - copies - variants - firsts
    drafts: list[tuple[float, Article]] = []
    rooms: list[int] = []  # one entry for each further original that an event has wordings for
    events = []
    for number in range(firsts):
        event = _Event(f"g{number + 1:05d}", rng, words, publishers)
        events.append(event)
        start = number / firsts * (1 - policy.event_spread)
        drafts.append((start, event.original()))
        rooms += [number] * (policy.own_wordings - 1)
    rng.shuffle(rooms)
    for number in rooms[:others]:
        start = number / firsts * (1 - policy.event_spread)
        drafts.append((start + rng.random() * policy.event_spread / 2, events[number].original()))
    for repeat, amount in ((_copy, copies), (_variant, variants)):
        originals = [draft for draft in drafts if draft[1].kind == "original"]
        for number in range(amount):
            at, source = rng.choice(originals)
            later = at + rng.random() * policy.event_spread / 2
            drafts.append((later, repeat(source, number, rng, publishers)))
    return build(publishers, _spread(drafts, minutes * 60), {event.id: event.summary for event in events})


def _spread(drafts: list[tuple[float, Article]], seconds: float) -> Iterator[Article]:
    """Even steps in the drafted order; a repeat always follows what it repeats."""
    ordered = sorted(drafts, key=lambda draft: (draft[0], draft[1].kind != "original", draft[1].id))
    for place, (_, article) in enumerate(ordered, 1):
        yield replace(article, published_s=place * seconds / len(ordered))


def _publisher(number: int) -> Publisher:
    name = f"h{number:03d}"
    kind = "atom" if number % 3 == 0 else "rss"
    return Publisher(
        id=name,
        name=f"Gazette {number}",
        host=f"{name}.localhost",
        country=("GB", "US", "AU", "IE")[number % 4],
        languages=("en",),
        authority=round(0.3 + 0.06 * (number % 11), 2),
        owner=f"Owner {(number + 1) // 2}",
        tagline="Generated for tests",
        json_ld=JSON_LD_SHAPES[number % len(JSON_LD_SHAPES)],
        feeds=(Feed("/feed.xml", kind, "en", full_text=number % 5 == 0),),
    )


class _Event:
    """One invented event: its facts, and the wordings that are still to be dealt."""

    def __init__(self, name: str, rng: random.Random, words: Mapping[str, Any], publishers: list[Publisher]) -> None:
        self.id = name
        self._rng = rng
        self._kind = rng.choice(words["kind"])
        self._facts = _facts(rng, words["names"], self._kind)
        self._dealt = {part: _shuffled(rng, self._kind[part]) for part in ("head", *PARTS)}
        self._dealt |= {part: _shuffled(rng, words["general"][part]) for part in GENERAL}
        self._newsrooms = _shuffled(rng, publishers)
        self._texts = 0
        self.summary = self._fill(self._kind["lead"][0])

    def original(self) -> Article:
        """The next newsroom's own text."""
        number = self._texts
        self._texts += 1
        parts = {part: self._fill(found[number % len(found)]) for part, found in self._dealt.items()}
        title = parts["head"][0].upper() + parts["head"][1:]
        identity = f"{self.id}-{number + 1}"
        order = [parts["fact1"] + " " + parts["fact2"], parts["quote"], parts["fact3"] + " " + parts["response"]]
        self._rng.shuffle(order)
        return Article(
            id=identity,
            event=self.id,
            publisher=self._newsrooms[number % len(self._newsrooms)].id,
            language="en",
            path=f"/{self._kind['section']}/{_slug(title)}-{identity}",
            title=title,
            lede=parts["lead"],
            paragraphs=(*order, parts["background"] + " " + parts["next"]),
            author=f"{self._rng.choice(self._writers)}",
            section=self._kind["section"],
            published_s=0.0,
        )

    @property
    def _writers(self) -> tuple[str, ...]:
        return ("Staff", "Newsdesk", f"{self._facts['last']} Reporter", "Our correspondent")

    def _fill(self, sentence: str) -> str:
        filled = sentence.format_map(self._facts)
        return filled[0].upper() + filled[1:]


def _facts(rng: random.Random, names: Mapping[str, list[str]], kind: Mapping[str, Any]) -> dict[str, str]:
    def pick(key: str) -> str:
        return rng.choice(names[key])

    org, rival = rng.sample(names["org_start"], 2)
    return {
        "place": pick("place_start") + pick("place_end"),
        "region": pick("region"),
        "org": f"{org} {pick('org_end')}",
        "rival": f"{rival} {pick('org_end')}",
        "person": f"{pick('first')} {pick('last')}",
        "rival_person": f"{pick('first')} {pick('last')}",
        "last": pick("last"),
        "role": rng.choice(kind["role"]),
        "thing": rng.choice(kind["thing"]),
        "n": str(rng.randint(12, 990)),
        "m": str(rng.randint(3, 97)),
        "sum": f"£{rng.randint(11, 989) / 10} million",
        "day": pick("day"),
    }


def _copy(source: Article, number: int, rng: random.Random, publishers: list[Publisher]) -> Article:
    """Another publisher's print, at times with a dateline."""
    other = rng.choice([publisher for publisher in publishers if publisher.id != source.publisher])
    identity = f"{source.id}-c{number}"
    dateline = rng.choice(("", "", "(Agencies) —", f"{other.name.upper()} —"))
    return replace(
        source,
        id=identity,
        publisher=other.id,
        path=f"/agency/{identity}",
        kind="copy",
        repeats=source.id,
        lede=f"{dateline} {source.lede}".strip(),
    )


def _variant(source: Article, number: int, rng: random.Random, publishers: list[Publisher]) -> Article:
    """The same publisher's AMP or print page; after the first of each, a numbered print page."""
    form = rng.choice(("amp", "amp", "print"))
    return replace(
        source,
        id=f"{source.id}-v{number}",
        path=f"/{form}/{source.id}-v{number}",
        kind="variant",
        repeats=source.id,
        form=form,
    )


def _shuffled(rng: random.Random, found: list[Any]) -> list[Any]:
    return rng.sample(found, len(found))


def _slug(title: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", title.lower())[:7])
