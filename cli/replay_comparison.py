"""What a replay changed: the last state of each article, before and after, field by field. Pure; knows no Kafka.

Articles are held against each other by id, then, where an id is on one side alone, by the address they were asked at:
another canonical URL is a changed field of an article, not one gone and one new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import msgspec

from state_schemas.articles import Article, Removed
from state_schemas.codec import DecodeError, unpack_text

_MAX_SHOWN_CHARS = 160

_FIELDS: dict[str, Callable[[Article], Any]] = {
    "title": lambda article: article.title,
    "lede": lambda article: article.lede,
    "body": lambda article: _body(article),
    "language": lambda article: article.language,
    "canonical": lambda article: article.canonical_url,
    "labels": lambda article: sorted(article.labels),
    "entities": lambda article: sorted(entity.id for entity in article.entities),
    "topics": lambda article: list(article.topics),
    "authors": lambda article: list(article.authors),
    "published": lambda article: article.published_ms,
    "modified": lambda article: article.modified_ms,
    "image": lambda article: article.image,
    "section": lambda article: article.section,
    "keywords": lambda article: list(article.keywords),
    "wire_credit": lambda article: article.wire_credit,
    "from_entry": lambda article: article.from_entry,
    "noindex": lambda article: article.noindex,
    "max_snippet": lambda article: article.max_snippet,
}
# In this order changes are told; removed: a tombstone is the last word.
FIELDS: tuple[str, ...] = (*_FIELDS, "removed")


class _State(msgspec.Struct, array_like=True):
    """version: the last one met. url: the address asked for. values: by FIELDS, a tombstone's are None."""

    version: int
    url: str
    values: list[Any]


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one article. url: its canonical URL before, else after. Values shortened for reading."""

    field: str
    url: str
    before: str
    after: str


@dataclass
class Comparison:
    """What there is to tell. fields: how many articles differ in each; examples: at most so many a field."""

    articles_before: int = 0
    articles_after: int = 0
    articles_new: int = 0
    articles_gone: int = 0
    articles_same: int = 0
    articles_changed: int = 0
    fields: Counter[str] = field(default_factory=Counter)
    examples: list[Change] = field(default_factory=list)


class Snapshot:
    """The last state of each article of a log: some 1 KB an article, packed. Feed it every record."""

    def __init__(self) -> None:
        self._states: dict[str, bytes] = {}
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(_State).decode

    def __len__(self) -> int:
        return len(self._states)

    def add(self, record: Article | Removed) -> None:
        """Take one version; one that is not above what is known is ignored, as every consumer does."""
        known = self.get(record.article_id)
        if isinstance(record, Removed):
            # The tombstone in the old language of an article that moved comes with its own version in the new one.
            if record.reason == "language_changed" or (known and record.version <= known.version):
                return
            values = [*(known.values[:-1] if known else [None] * len(_FIELDS)), True]
            state = _State(record.version, known.url if known else "", values)
        else:
            if known and record.version <= known.version:
                return
            values = [*(read(record) for read in _FIELDS.values()), False]
            state = _State(record.version, record.asked_url, values)
        self._states[record.article_id] = self._encode(state)

    def get(self, article_id: str) -> _State | None:
        """The state of an article, or None."""
        data = self._states.get(article_id)
        return self._decode(data) if data is not None else None

    def ids(self) -> set[str]:
        """Of all articles."""
        return set(self._states)


def compared(before: Snapshot, after: Snapshot, examples: int) -> Comparison:
    """The difference of two logs. examples: how many to show a field."""
    found = Comparison(len(before), len(after))
    pairs = {article: article for article in before.ids() & after.ids()}
    alone = after.ids() - before.ids()
    by_url = {state.url: article for article in sorted(alone) if (state := after.get(article)) and state.url}
    for article in sorted(before.ids() - after.ids()):
        state = before.get(article)
        match = by_url.pop(state.url, None) if state and state.url else None
        if match is None:
            found.articles_gone += 1
        else:
            pairs[article] = match
            alone.discard(match)
    found.articles_new = len(alone)
    shown: Counter[str] = Counter()
    for old_id, new_id in sorted(pairs.items()):
        old, new = before.get(old_id), after.get(new_id)
        assert old is not None
        assert new is not None
        differing = [at for at in range(len(FIELDS)) if old.values[at] != new.values[at]]
        if old.values[-1] or new.values[-1]:
            # What it said before it was taken back is nobody's any more.
            differing = [] if old.values[-1] == new.values[-1] else [len(FIELDS) - 1]
        found.articles_changed += bool(differing)
        found.articles_same += not differing
        for at in differing:
            name = FIELDS[at]
            found.fields[name] += 1
            if shown[name] < examples:
                shown[name] += 1
                url = old.values[_CANONICAL] or new.values[_CANONICAL] or old_id
                found.examples.append(Change(name, url, _shown(old.values[at]), _shown(new.values[at])))
    return found


_CANONICAL = FIELDS.index("canonical")


def _body(article: Article) -> str:
    """The beginning of a body, its length and its hash: enough to tell and to see a difference."""
    try:
        text = unpack_text(article.body)
    except DecodeError:
        return "undecodable"
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{len(text)} characters, {digest}: {text[:60]}" if text else ""


def _shown(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN_CHARS else line[:_MAX_SHOWN_CHARS] + "…"
