"""What is known of single publishers: which statement of theirs to believe, where their text stands. Never guessed.

`reference_data/publishers.toml`, a table a site; docs/extraction.md has the format. Nothing here is needed for a page
to be read: an override mends what the general rules cannot know.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from lxml import etree

from udfs.articles.dates import DateOrder
from udfs.reference_faults import Fault, load, parse_toml

FILE = "publishers.toml"
# Where a field can come from, by field, in the default order of trust. docs/extraction.md says why.
ORDER: dict[str, tuple[str, ...]] = {
    "title": ("og", "json_ld", "page", "microdata", "meta", "entry"),
    "lede": ("json_ld", "og", "meta", "microdata", "entry", "page"),
    "authors": ("json_ld", "meta", "og", "microdata", "page", "entry"),
    "image": ("og", "json_ld", "meta", "microdata", "entry"),
    "section": ("json_ld", "og", "meta", "microdata"),
    "keywords": ("json_ld", "og", "meta", "microdata", "entry"),
    "published": ("json_ld", "meta", "microdata", "page", "entry"),
    "modified": ("json_ld", "meta", "microdata"),
}
_PATHS = ("body", "strip")
_KEYS = (*ORDER, *_PATHS, "date_order")
_MAX_PATHS = 20


@dataclass(frozen=True, slots=True)
class Override:
    """One publisher's. orders: field -> sources, best first; a field with none is left empty. body, strip: XPath."""

    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    body: tuple[str, ...] = ()
    strip: tuple[str, ...] = ()
    date_order: DateOrder = ""

    def order(self, name: str) -> tuple[str, ...]:
        """The sources of a field, best first."""
        return self.orders.get(name, ORDER[name])


NONE = Override()


@dataclass(frozen=True, slots=True)
class Overrides:
    """All publishers', by host."""

    by_host: dict[str, Override] = field(default_factory=dict)

    def of(self, host: str) -> Override:
        """The override of a host: its own, else that of the nearest domain above it, else none."""
        labels = host.lower().split(".")
        for start in range(len(labels) - 1):
            found = self.by_host.get(".".join(labels[start:]))
            if found is not None:
                return found
        return NONE


NO_OVERRIDES = Overrides()


def load_overrides(folder: Path) -> Overrides:
    """Those of a folder of reference data; none where the file is absent. Raises ReferenceDataError."""
    return load(folder / FILE, parse_overrides) if (folder / FILE).exists() else Overrides()


def parse_overrides(text: str, faults: list[Fault]) -> Overrides:
    """The overrides of a document; each thing wrong with it is added to `faults`."""
    document = parse_toml(FILE, text, faults)
    found: dict[str, Override] = {}
    for host, table in (document or {}).items():
        headed = re.search(rf"""^\[ *["']?{re.escape(host)}["']? *\]""", text, re.MULTILINE)
        told = _Table(host, text.count("\n", 0, headed.start()) + 1 if headed else 0, faults)
        if not isinstance(table, dict):
            told.fault("is no table")
            continue
        if "." not in host or host != host.lower().strip(". ") or "/" in host:
            told.fault('is no host name: write "daily.example", in small letters')
        for key in table:
            if key not in _KEYS:
                told.fault(f"{key} is no key: known are {', '.join(_KEYS)}")
        found[host] = Override(
            orders={name: told.sources(name, table[name]) for name in ORDER if name in table},
            body=told.paths("body", table.get("body", [])),
            strip=told.paths("strip", table.get("strip", [])),
            date_order=told.date_order(table.get("date_order", "")),
        )
    return Overrides(found)


@dataclass(frozen=True, slots=True)
class _Table:
    host: str
    line: int
    faults: list[Fault]

    def fault(self, reason: str) -> None:
        self.faults.append(Fault(FILE, self.line, self.host, reason))

    def sources(self, name: str, value: Any) -> tuple[str, ...]:
        if value == "none" and name != "title":
            return ()
        known = ORDER[name]
        if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
            self.fault(f'{name} is no list of sources, nor "none", which a title cannot be')
            return known
        wrong = [one for one in value if one not in known]
        if wrong:
            self.fault(f"{name}: {wrong[0]} is no source of it: known are {', '.join(known)}")
        if name == "title" and not set(value) & {"page", "og", "json_ld"}:
            self.fault("title: an article must have one: name page, og or json_ld")
        return tuple(one for one in value if one in known)

    def paths(self, name: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or len(value) > _MAX_PATHS or not all(isinstance(one, str) for one in value):
            self.fault(f"{name} is no list of at most {_MAX_PATHS} XPath expressions")
            return ()
        good = []
        for path in value:
            try:
                found = etree.XPath(path)(etree.Element("html"))
            except etree.XPathError as error:
                self.fault(f"{name}: {path} is no XPath: {error}")
                continue
            if not isinstance(found, list):
                self.fault(f"{name}: {path} selects no elements")
                continue
            good.append(path)
        return tuple(good)

    def date_order(self, value: Any) -> DateOrder:
        for known in get_args(DateOrder):
            if known == value:
                return known  # type: ignore[no-any-return]
        self.fault("date_order is neither day_first nor month_first")
        return ""
