"""Which lines of a page are the article's running text. A function of the lines alone: no clock, nothing remembered.

The steps: find the long plain lines; find the one block that holds nearly all of them; keep its lines but for what is
furniture by name, is link, or stands where only furniture stands; put the standfirst, which pages set above, before.
Names are weighed by length against the page itself and never believed alone: furniture that holds most of the page's
running text is the article.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from lxml import html

from udfs.articles.blocks import Block, Line, read_blocks
from udfs.articles.text import folded


@dataclass(frozen=True, slots=True)
class ProsePolicy:
    """Shares are of characters. Each value: the best of a few tried on half the captured pages, checked on the rest."""

    plain_chars: int = 80  # a line this long with little link is running text until the contrary is seen
    plain_links: float = 0.3
    most: float = 0.75  # of the running text around it: the article's block holds this much
    about_share: float = 0.35  # furniture by name with this much of the running text is the article's own block
    apart_share: float = 0.6
    flow_share: float = 0.1  # a kind of block with this much of the running text is the article's kind of paragraph
    link_share: float = 0.5  # a line with more link than this leads elsewhere
    flow_link_share: float = 0.8  # and one of the flow
    labelled_share: float = 0.4  # with a label before it, so much link suffices
    rival_share: float = 0.2  # a second article on the page is one with a heading of its own and this much text
    headline_chars: int = 20  # a line of link this long may be another article's headline
    teaser_share: float = 0.6  # of a kind of block: more of them under such headlines, and they are teasers
    standfirst_chars: int = 40
    standfirst_lines: int = 3
    label_chars: int = 40  # a shorter line that ends no sentence and is no paragraph of the flow is a label


PROSE = ProsePolicy()
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_PARAGRAPHS = frozenset(("p", "li", "blockquote", "pre", "dd"))
_CELLS = frozenset(("td", "th", "tr", "table", "tbody", "thead"))
_ENDS = re.compile(r"[.!?…。！？؟।:»”\"“」』]['\"»”’)\]]*$")
_STANDFIRST = re.compile(
    r"(?<![a-z])(?:lead\w*|lede|intro\w*|standfirst|stand-first|summary|teaser\w*|excerpt|sub-?titles?|sub-?line"
    r"|sub-?head(?:ing|line)?|deck|dek|strapline|abstract|desc\w*|epigraph|sapo|chapo|chapeau|vorspann|ingress|perex"
    r"|entradilla|bajada|occhiello|sottotitolo|spot|sumario|synopsis|kurzfassung|dachzeile)(?![a-z])"
)
# "Read also: ...", "See here | ...": a label before a link.
_LABELLED = re.compile(r"[^|:»>▶►→]{0,40}[|:»>▶►→]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Prose:
    """The text, a line a paragraph. share: of the page's running text that it holds, 0 to 1.

    signs: short lines at its beginning and end that are no part of it: bylines, places, agencies' signs.
    """

    text: str
    share: float = 0.0
    signs: tuple[str, ...] = ()


def prose_of(root: html.HtmlElement, title: str, description: str = "", policy: ProsePolicy = PROSE) -> Prose:
    """The running text below `root`. title, description: what the page states, to find heading and standfirst by."""
    blocks, lines = read_blocks(root)
    return prose_in(blocks, lines, title, description, policy)


def prose_in(blocks: list[Block], lines: list[Line], title: str, description: str, policy: ProsePolicy) -> Prose:
    """The same of blocks already read."""
    heading = folded(title)
    free = _free_of_furniture(blocks, lines, heading, policy)
    plain = [line.size if open_ and _is_plain(line, policy) else 0 for line, open_ in zip(lines, free, strict=True)]
    total = sum(plain)
    if not total:
        return Prose("")
    holder = _holder(blocks, lines, _common(blocks, lines, plain, policy), heading, policy)
    kept, signs = _kept(blocks, lines, free, plain, holder, heading, policy)
    if not kept:
        return Prose("")
    share = sum(plain[number] for number in kept) / total
    above = _standfirst(blocks, lines, kept, heading, folded(description), policy)
    return Prose(
        "\n".join(lines[number].text for number in (*above, *kept)),
        share,
        tuple(lines[number].text for number in signs),
    )


def _is_plain(line: Line, policy: ProsePolicy) -> bool:
    return (
        line.size >= policy.plain_chars
        and line.linked < policy.plain_links * len(line.text)
        and line.tag not in _HEADINGS
    )


def _free_of_furniture(blocks: list[Block], lines: list[Line], heading: str, policy: ProsePolicy) -> list[bool]:
    """For each line, whether nothing around it is furniture, nor it itself one of a list of other articles' teasers.

    Furniture by name that has much of the page's running text, or the article's own heading, is none. A line that comes
    three times is a template's.
    """
    total = 0
    shares: Counter[tuple[str, str]] = Counter()
    texts: Counter[str] = Counter()
    for line in lines:
        if _is_plain(line, policy):
            total += line.size
            for name in set(line.furniture):
                shares[name] += line.size
        if line.size >= policy.label_chars:
            texts[line.text] += 1
    bounds = {"apart": policy.apart_share * total, "about": policy.about_share * total}
    furniture = {name: shares[name] < bounds[name[1]] or not total for line in lines for name in line.furniture}
    for line in lines:
        if line.tag == "h1" and line.furniture and folded(line.text) == heading:
            furniture |= dict.fromkeys(line.furniture, False)
    free = [texts[line.text] < 3 and not any(furniture[name] for name in line.furniture) for line in lines]
    teasers = _teasers(blocks, lines, free, policy)
    return [open_ and _kind_of(blocks, line.block) not in teasers for line, open_ in zip(lines, free, strict=True)]


def _teasers(
    blocks: list[Block], lines: list[Line], free: list[bool], policy: ProsePolicy
) -> set[tuple[str, str, str]]:
    """The kinds of block whose lines mostly follow a line of link: each link is the headline of another article."""
    counts: Counter[tuple[str, str, str]] = Counter()
    headed: Counter[tuple[str, str, str]] = Counter()
    for number, line in enumerate(lines):
        if free[number] and _is_plain(line, policy):
            kind = _kind_of(blocks, line.block)
            counts[kind] += 1
            for before in reversed(lines[max(0, number - 3) : number]):
                if _is_plain(before, policy):
                    break
                if before.size >= policy.headline_chars and before.linked > policy.link_share * len(before.text):
                    headed[kind] += 1
                    break
    return {kind for kind, count in counts.items() if count > 2 and headed[kind] > policy.teaser_share * count}


def _common(blocks: list[Block], lines: list[Line], plain: list[int], policy: ProsePolicy) -> list[int]:
    """`plain` without lines of the page's rarer kinds: messages for subscribers, boxes. As it is if most are rare."""
    sizes: Counter[tuple[str, str, str]] = Counter()
    kinds = [_kind_of(blocks, line.block) if size else None for line, size in zip(lines, plain, strict=True)]
    for kind, size in zip(kinds, plain, strict=True):
        if kind:
            sizes[kind] += size
    total = sum(plain)
    common = [
        size if kind and sizes[kind] >= policy.flow_share * total else 0
        for kind, size in zip(kinds, plain, strict=True)
    ]
    return common if sum(common) * 2 > total else plain


def _holder(blocks: list[Block], lines: list[Line], plain: list[int], heading: str, policy: ProsePolicy) -> int:
    """The number of the smallest block that holds most of the running text of each block around it."""
    sums = [0]
    for count in plain:
        sums.append(sums[-1] + count)
    children: dict[int, list[int]] = {}
    for number, block in enumerate(blocks):
        if sums[block.end] > sums[block.first]:
            children.setdefault(block.parent, []).append(number)

    def weight(number: int) -> int:
        return sums[blocks[number].end] - sums[blocks[number].first]

    holder = 0
    while inner := children.get(holder):
        best = max(inner, key=weight)
        if weight(best) < policy.most * weight(holder):
            rivals = [one for one in inner if weight(one) >= policy.rival_share * weight(holder)]
            headed = [one for one in rivals if _headings_in(blocks[one], lines)]
            if len(headed) < 2:
                break
            best = next((one for one in headed if heading in _headings_in(blocks[one], lines)), headed[0])
        if blocks[best].tag in _PARAGRAPHS:
            break
        holder = best
    return holder


def _headings_in(block: Block, lines: list[Line]) -> list[str]:
    return [folded(line.text) for line in lines[block.first : block.end] if line.tag == "h1"]


def _kept(
    blocks: list[Block],
    lines: list[Line],
    free: list[bool],
    plain: list[int],
    holder: int,
    heading: str,
    policy: ProsePolicy,
) -> tuple[list[int], list[int]]:
    """The numbers of the holder's lines that are the article's, and of the signs around them."""
    inside = range(blocks[holder].first, blocks[holder].end)
    kinds = [_kind_of(blocks, lines[number].block) for number in inside]
    kind_at = dict(zip(inside, kinds, strict=True))
    total = sum(plain[number] for number in inside)
    flow = _flow(plain, kind_at, total, policy)
    flowing = {lines[number].block for number in inside if plain[number]}
    cells = sum(plain[number] for number in inside if lines[number].tag in _CELLS) > policy.about_share * total
    spans = [number for number in inside if plain[number] and kind_at[number] in flow]
    first, last = (spans[0], spans[-1]) if spans else (inside.start, inside.stop)
    chosen: set[int] = set()
    for number in inside:
        line = lines[number]
        flows = kind_at[number] in flow
        links = policy.flow_link_share if flows else policy.link_share
        if not free[number] or line.linked > links * len(line.text) or line.tag == "h1":
            continue
        if line.tag in _CELLS and not cells:
            continue
        if line.linked > policy.labelled_share * len(line.text) and _LABELLED.match(line.text):
            continue
        label = line.size < policy.label_chars and not _ENDS.search(line.text)
        if line.tag in _HEADINGS:
            good = number < last and folded(line.text) != heading
        elif flows:
            good = True
        elif line.tag in _PARAGRAPHS:
            good = bool(plain[number]) or (first < number < last and not (label and line.tag != "li"))
        else:
            good = first < number < last and (bool(plain[number]) or (line.block in flowing and not label))
        if good:
            chosen.add(number)
    signs = _signs([number for number in inside if number in chosen], lines, policy)
    chosen -= signs
    kept = [
        number for number in inside if number in chosen and _leads_on(number, blocks, lines, free, chosen, inside.stop)
    ]
    return kept, sorted(signs)


def _signs(chosen: list[int], lines: list[Line], policy: ProsePolicy) -> set[int]:
    """Labels before the first and after the last sentence: bylines, places, agencies' signs."""
    found = set()
    for numbers in (chosen, chosen[::-1]):
        for number in numbers:
            line = lines[number]
            if line.tag not in _HEADINGS:
                if line.size >= policy.label_chars or _ENDS.search(line.text):
                    break
                found.add(number)
    return found


def _leads_on(
    number: int, blocks: list[Block], lines: list[Line], free: list[bool], chosen: set[int], stop: int
) -> bool:
    """A heading counts only where what it heads was kept; furniture between them is looked past within one block."""
    if lines[number].tag not in _HEADINGS:
        return True
    passed = False
    for after in range(number + 1, stop):
        if lines[after].tag in _HEADINGS and after in chosen:
            continue
        if free[after]:
            together = blocks[lines[after].block].parent == blocks[lines[number].block].parent
            return after in chosen and (together or not passed)
        passed = True
    return False


def _kind_of(blocks: list[Block], number: int) -> tuple[str, str, str]:
    """Blocks of one kind have one tag, names and surrounding's names: content systems print them from one template."""
    block = blocks[number]
    around = blocks[block.parent] if block.parent >= 0 else block
    return block.tag, block.names, around.names


def _flow(
    plain: list[int], kind_at: dict[int, tuple[str, str, str]], total: int, policy: ProsePolicy
) -> set[tuple[str, str, str]]:
    """The kinds of block that carry the text. A kind with a single line carries it only where that is most of it."""
    sizes: Counter[tuple[str, str, str]] = Counter()
    counts: Counter[tuple[str, str, str]] = Counter()
    for number, kind in kind_at.items():
        sizes[kind] += plain[number]
        counts[kind] += plain[number] > 0
    return {
        kind
        for kind, size in sizes.items()
        if size >= policy.flow_share * total and (counts[kind] > 1 or size > policy.most * total)
    }


def _standfirst(
    blocks: list[Block], lines: list[Line], kept: list[int], heading: str, description: str, policy: ProsePolicy
) -> list[int]:
    """The numbers of the standfirst's lines: above the text, below the heading, and not in the text already."""
    start = kept[0]
    top = next((number for number in range(start - 1, -1, -1) if lines[number].tag == "h1"), -1)
    begun = {folded(lines[number].text)[: policy.standfirst_chars] for number in kept[:3]}
    found: list[int] = []
    for number in range(max(top + 1, start - 60), start):
        line = lines[number]
        if line.size < policy.standfirst_chars or line.linked > policy.plain_links * len(line.text):
            continue
        text = folded(line.text)
        if text == heading or text[: policy.standfirst_chars] in begun or any(k == "apart" for _, k in line.furniture):
            continue
        stated = bool(description) and (text[:60] in description or description[:60] in text)
        named = bool(_STANDFIRST.search(_CAMEL.sub("-", blocks[line.block].names).lower()))
        sentence = top >= 0 and line.tag != "li" and _ENDS.search(line.text) and line.size >= policy.plain_chars
        if stated or (top >= 0 and (named or sentence)):
            found.append(number)
            begun.add(text[: policy.standfirst_chars])
    return found[: policy.standfirst_lines]
