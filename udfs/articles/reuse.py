"""What a publisher allows to be shown of an article: robots metas, X-Robots-Tag, data-nosnippet, its own record.

The strictest of all that are addressed to everybody or to us wins. Rules for news search engines bind us too, for that
is what we are. A function of its input alone; whether a rule is obeyed is up to ranking (`noindex`, images) and to
whoever shows a snippet (`max_snippet`).
Source: Google Search Central, "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from connectors.headers import date_ms
from udfs.articles.traits import squeezed

# Names that robots rules are addressed to and that we answer to; "robots" and "*" mean everybody.
AGENTS = ("robots", "*", "broadsheet", "broadsheetbot", "googlebot", "googlebot-news")
_SIZES = ("none", "standard", "large")
# Directives whose value follows a colon: any other word before a colon is the name of an agent.
_VALUED = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})
# Shorter texts occur on their own by chance, characters without spaces.
_MIN_WITHHELD_CHARS = 12
_MAX_RULES_CHARS = 8_192
_HEADER_END = re.compile(r"[\r\n]+")
_WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d{1,9}")


@dataclass(frozen=True, slots=True)
class Reuse:
    """noindex: not to be listed. max_snippet: characters, None for no limit, never negative.

    max_image_preview: "none", "standard", "large", or "" where nothing is said.
    """

    noindex: bool = False
    max_snippet: int | None = None
    max_image_preview: str = ""


def reuse_of(
    meta: Mapping[str, Sequence[str]],
    x_robots_tag: str,
    read_ms: int,
    *,
    noindex: bool = False,
    max_snippet: int | None = None,
) -> Reuse:
    """The strictest of the page's metas, its header and the source's own record (`noindex`, `max_snippet`).

    meta: lower-case name -> contents. x_robots_tag: repeated headers joined by a line end or ", ". read_ms: when the
    page was read, which `unavailable_after` is held against. A directive that cannot be read is none.
    """
    rules = [rule for agent in AGENTS for content in meta.get(agent, ()) for rule in _directives(content, scoped=False)]
    for header in _HEADER_END.split(x_robots_tag[:_MAX_RULES_CHARS]):
        rules += _directives(header, scoped=True)
    snippets = [] if max_snippet is None or max_snippet < 0 else [max_snippet]
    images = []
    for name, value in rules:
        if name in ("noindex", "none"):
            noindex = True
        elif name == "nosnippet":
            snippets.append(0)
        elif name == "noimageindex":
            images.append("none")
        elif name == "max-snippet" and _NUMBER.fullmatch(value) and int(value) >= 0:  # -1: no limit
            snippets.append(int(value))
        elif name == "max-image-preview" and value in _SIZES:
            images.append(value)
        elif name == "unavailable_after":
            until_ms = _instant_ms(value)
            noindex = noindex or (until_ms is not None and until_ms <= read_ms)
    return Reuse(noindex, min(snippets, default=None), min(images, key=_SIZES.index, default=""))


def quotable(text: str, withheld: Sequence[str]) -> str:
    """The lines of `text` that may be quoted: none that stands in, or holds, a part marked data-nosnippet.

    The body itself keeps them: it is compared and searched for signatures, and never shown.
    """
    hidden = _hidden(withheld)
    if not hidden:
        return text
    return "\n".join(line for line in text.split("\n") if not _is_hidden(squeezed(line), hidden))


def may_quote(line: str, withheld: Sequence[str]) -> bool:
    """Whether a line may be shown, wherever the page states it again: in its description, in its feed."""
    hidden = _hidden(withheld)
    return not hidden or not _is_hidden(squeezed(line), hidden)


def _hidden(withheld: Iterable[str]) -> list[str]:
    return [dense for part in withheld if len(dense := squeezed(part)) >= _MIN_WITHHELD_CHARS]


def _is_hidden(dense: str, hidden: Iterable[str]) -> bool:
    dense = dense.removesuffix("…").removesuffix("...")
    if not dense:
        return False
    return any((len(dense) >= _MIN_WITHHELD_CHARS and dense in part) or part in dense for part in hidden)


def _directives(rules: str, *, scoped: bool) -> Iterator[tuple[str, str]]:
    """(name, value) of each directive meant for us, lower case. scoped: a name and a colon may begin those for others,
    up to the next such name."""
    ours = True
    pieces = rules[:_MAX_RULES_CHARS].split(",")
    at = 0
    while at < len(pieces):
        piece = pieces[at].strip()
        at += 1
        name, colon, value = (part.strip() for part in piece.partition(":"))
        name = name.lower()
        if scoped and colon and name not in _VALUED:
            ours = name in AGENTS
            # Several directives may be for one agent, and its first may have a value of its own.
            name, colon, value = (part.strip() for part in value.partition(":"))
            name = name.lower()
        if name == "unavailable_after" and _WEEKDAY.fullmatch(value) and at < len(pieces):
            value = f"{value},{pieces[at]}"  # a date in the form of RFC 850 or RFC 5322 has a comma of its own
            at += 1
        if ours and name:
            # Spaces are no separators in the specification, and are used as such.
            for word in name.split() if not colon else (name,):
                yield word, value.lower() if name != "unavailable_after" else value


def _instant_ms(value: str) -> int | None:
    """A date of RFC 822, RFC 850 or ISO 8601, ms UTC."""
    found = date_ms(value)
    if found is not None:
        return found
    try:
        moment = datetime.fromisoformat(value.strip().replace(" ", "T", 1) if value[:1].isdigit() else value)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
