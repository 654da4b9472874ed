"""The lines of a page in reading order, each with what its markup says of it: where it stands, how much of it is link.

Decides nothing about what is article: that is `prose.py`. A function of the tree alone, which it leaves as it was.
A line is a run of text between two block boundaries, spaces made one. Scripts, forms, navigation, figures and other
elements that never hold running text are not entered at all.
"""

from __future__ import annotations

import re

from lxml import html

_BLOCK_TAGS = """
    address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4
    h5 h6 header hgroup hr li main ol p pre section summary table tbody td tfoot th thead tr ul
"""
_NEVER_TAGS = """
    script style noscript template iframe object svg math head nav button select textarea input label figure figcaption
    audio video canvas picture dialog menu map area embed option datalist
"""
_NEVER = frozenset(_NEVER_TAGS.split())
_BLOCKS = frozenset(_BLOCK_TAGS.split()) - _NEVER
# By their tags alone; some systems wrap the whole page in one of them.
_APART_TAGS = frozenset(("aside", "footer", "form", "fieldset"))
# Never furniture as a whole, whatever classes a theme gives them.
_FRAMES = frozenset(("html", "body", "main", "article"))

# What themes and content systems call things that stand in or beside an article and are no part of it: words of class
# and id names, two in a row ("+"), or their beginnings ("-"). `apart` has running text of its own, which is another's;
# `about` is about the article.
_APART = """
    related- recommend- recirc- outbrain taboola trending popular mostread most+read meist- masleido comment comments
    commentlist disqus kommentar- comentario comentarios commentaire commentaires reactie reacties yorum- komentar-
    newsletter- cookie cookies consent gdpr read+more read+also read+next also+read more+on more+news more+stories
    more+from readmore sidebar footer promo promos sponsor- advert adverts advertis- adslot breadcrumb breadcrumbs toc
    table+of disclaimer feedback skip+link skip+links skiplink skiplinks
"""
_ABOUT = """
    ad ads banner teaser teasers share sharing social- subscri- signup sign+up login tag tags taglist topic topics
    keyword keywords byline bylines author authors bio dateline timestamp timestamps date meta caption captions credit
    credits copyright menu navigation nav toolbar pagination pager modal popup overlay tooltip gallery slideshow
    carousel video videos player widget widgets box boxen infobox factbox poll quiz print hidden sr+only sronly
    visually+hidden visuallyhidden screen+reader screenreader- card cards pull+quote pull+quotes pullquote pullquotes
    pull+right pull+left embed embeds cta playlist photo photos image images img imgs foto fotos bild- picture
    pictures
"""
_KINDS: dict[str, str] = {}
_BEGINNINGS: dict[str, tuple[str, ...]] = {}
for _kind, _names in (("apart", _APART), ("about", _ABOUT)):
    _KINDS |= dict.fromkeys((name for name in _names.split() if name[-1] != "-"), _kind)
    _BEGINNINGS[_kind] = tuple(name[:-1] for name in _names.split() if name[-1] == "-")
# A word of a name: "mediaInfo", "media-info" and "media_info" have two.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
# "print:hidden", "px-[3px]": what a class does on some screens says nothing of what it holds.
_UTILITIES = re.compile(r"\S*[:\[]\S*")
# Longer names are generated ones, and searching them costs.
_MAX_NAME_CHARS = 600


class Block:
    """A block element. parent: number of the one around it, -1 of none; its lines: `first` up to `end`."""

    __slots__ = ("end", "first", "names", "parent", "tag")

    def __init__(self, tag: str, names: str, parent: int, first: int) -> None:
        self.tag = tag
        self.names = names
        self.parent = parent
        self.first = first
        self.end = first


# Scripts whose letters say as much as two and a half Latin ones.
_DENSE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


class Line:
    """One line. linked: characters inside links. size: characters, as many as a translation into Latin letters has.

    block: number of the nearest block around it.
    furniture: (names, kind) of each element around it that by its names is furniture.
    """

    __slots__ = ("block", "furniture", "linked", "size", "tag", "text")

    def __init__(self, text: str, linked: int, tag: str, block: int, furniture: tuple[tuple[str, str], ...]) -> None:
        self.text = text
        self.size = len(text) if text.isascii() else len(text) + 3 * len(_DENSE.findall(text)) // 2
        self.linked = min(linked, len(text))
        self.tag = tag
        self.block = block
        self.furniture = furniture

    def __repr__(self) -> str:
        return f"Line({self.tag}, {self.text[:60]!r})"


def read_blocks(root: html.HtmlElement) -> tuple[list[Block], list[Line]]:
    """The blocks below `root`, itself first, outer before inner, and the lines in order."""
    reader = _Reader()
    reader.enter(root, False)
    return reader.blocks, reader.lines


class _Reader:
    """One pass over a tree. The parser bounds its depth at 256, so recursion is bounded too."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.lines: list[Line] = []
        self._pieces: list[str] = []
        self._linked = 0
        self._block = -1
        self._furniture: tuple[tuple[str, str], ...] = ()
        self._kinds: dict[str, str] = {}

    def enter(self, element: html.HtmlElement, in_link: bool) -> None:
        """Read one block element, which is of no kind that is never entered."""
        tag = element.tag
        self._flush()
        before = (self._block, self._furniture)
        names = f"{element.get('class') or ''} {element.get('id') or ''}"
        block = Block(tag, names, self._block, len(self.lines))
        self._block = len(self.blocks)
        self.blocks.append(block)
        if tag in _APART_TAGS:
            self._furniture = (*self._furniture, (tag, "apart"))
        if tag not in _FRAMES and names != " " and len(names) < _MAX_NAME_CHARS and (kind := self._kind(names)):
            self._furniture = (*self._furniture, (names, kind))
        self._inside(element, in_link)
        self._flush()
        block.end = len(self.lines)
        self._block, self._furniture = before

    def _inside(self, element: html.HtmlElement, in_link: bool) -> None:
        text = element.text
        if text:
            self._pieces.append(text)
            if in_link:
                self._linked += len(text)
        breaks = 0
        for child in element:
            tag = child.tag
            if tag in _BLOCKS:
                self.enter(child, in_link)
            elif tag == "br":
                breaks += 1
                # Two in a row are a paragraph's end, as old pages write it; one is a space.
                if breaks == 2:
                    self._flush()
                self._pieces.append(" ")
            elif tag.__class__ is str and tag not in _NEVER:
                self._inside(child, in_link or tag == "a")
            tail = child.tail
            if tail:
                self._pieces.append(tail)
                if in_link:
                    self._linked += len(tail)
                if breaks and not tail.isspace():
                    breaks = 0

    def _flush(self) -> None:
        pieces = self._pieces
        if pieces:
            text = " ".join((pieces[0] if len(pieces) == 1 else "".join(pieces)).split())
            if text:
                tag = self.blocks[self._block].tag
                self.lines.append(Line(text, self._linked, tag, self._block, self._furniture))
            self._pieces = []
            self._linked = 0

    def _kind(self, names: str) -> str:
        kind = self._kinds.get(names)
        if kind is None:
            kind = self._kinds[names] = _kind_of_names(names)
        return kind


def _kind_of_names(names: str) -> str:
    """The kind of furniture that class and id names speak of, the first found; empty for none."""
    if ":" in names or "[" in names:
        names = _UTILITIES.sub("", names)
    before = ""
    for word in _WORD.findall(names):
        word = word.lower()
        kind = _KINDS.get(word) or (_KINDS.get(f"{before}+{word}") if before else None)
        if kind:
            return kind
        for kind, beginnings in _BEGINNINGS.items():
            if word.startswith(beginnings):
                return kind
        if word.endswith("box"):
            return "about"
        before = word
    return ""
