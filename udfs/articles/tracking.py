"""Which query parameters say only how a reader came to a page, never which page it is. Rules from a file, no I/O else.

The list is `reference_data/tracking_parameters.txt`, a rule a line:

    name              left out on every site
    name*             every name that begins so
    name=value        left out with this value only; value* for a beginning, or one of the shapes below
    name@host         any of these, on that host and those below it only
    !name@host        kept there, whatever the other rules say

Shapes: `<hex>` 16 or more hexadecimal digits, with a digit and a letter among them (a session, never an article's
number); `<word>` anything but a bare number. Names and values are compared in lower case, percent-decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from udfs.articles.hosts import names_above

_HEX = re.compile(r"(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{16,}")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one scope. values: name -> what its value may be; kept: names no rule takes away here."""

    exact: frozenset[str] = frozenset()
    beginnings: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()

    def drops(self, name: str, value: str) -> bool:
        """Whether a parameter goes; both in lower case and decoded."""
        if name in self.exact or name.startswith(self.beginnings):
            return True
        return any(_fits(value, wanted) for wanted in self.values.get(name, ()))


@dataclass(frozen=True, slots=True)
class TrackingParameters:
    """The whole list: the rules of every site, and those of some hosts."""

    everywhere: Rules
    hosts: Mapping[str, Rules] = field(default_factory=dict)

    def scopes(self, host: str) -> tuple[Rules, ...]:
        """The rules that hold on a host: its own, those of the names above it, those of every site."""
        found = (self.hosts.get(name) for name in names_above(host))
        return (*(rules for rules in found if rules), self.everywhere)


def dropped(name: str, value: str, scopes: tuple[Rules, ...]) -> bool:
    """Whether a parameter (lower case, decoded) is left out where these scopes hold."""
    if len(scopes) > 1 and any(name in rules.kept for rules in scopes):
        return False
    return any(rules.drops(name, value) for rules in scopes)


def load_tracking_parameters(path: Path) -> TrackingParameters:
    """The list in `reference_data/tracking_parameters.txt`. Raises ValueError on a line that is no rule."""
    return tracking_parameters(path.read_text("utf-8").splitlines())


def tracking_parameters(lines: Iterable[str]) -> TrackingParameters:
    """Rules, one a line, in the form above; blank lines and those that start with # are skipped."""
    scopes: dict[str, list[str]] = {"": []}
    for line in lines:
        rule = line.strip().lower()
        if rule and not rule.startswith("#"):
            what, _, host = rule.partition("@")
            if not what.strip("!*") or what[0] in "*=" or (what.startswith("!") and not host) or " " in rule:
                raise ValueError(f"no rule for tracking parameters: {line.strip()!r}")
            scopes.setdefault(host, []).append(what)
    built = {host: _rules(rules) for host, rules in scopes.items()}
    return TrackingParameters(everywhere=built.pop(""), hosts=built)


def _rules(lines: Iterable[str]) -> Rules:
    exact, beginnings, kept = set(), set(), set()
    values: dict[str, list[str]] = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if name.startswith("!"):
            kept.add(name[1:])
        elif equals:
            values.setdefault(name, []).append(value)
        elif name.endswith("*"):
            beginnings.add(name[:-1])
        else:
            exact.add(name)
    return Rules(
        exact=frozenset(exact),
        beginnings=tuple(sorted(beginnings)),
        values={name: tuple(wanted) for name, wanted in values.items()},
        kept=frozenset(kept),
    )


def _fits(value: str, wanted: str) -> bool:
    if wanted == "<hex>":
        return _HEX.fullmatch(value) is not None
    if wanted == "<word>":
        return not value.isdigit()
    return value.startswith(wanted[:-1]) if wanted.endswith("*") else value == wanted
