"""What a page says about itself, read once from its markup: meta, links, JSON-LD blocks, headings. Decides nothing.

Reading order: bytes to text (the encoding), text to tree, tree to `Page`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from lxml import etree, html

# Python's codec for a label as browsers read it (WHATWG Encoding): a superset of the name's own standard.
_BROWSERS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "tis-620": "cp874",
}
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
_HEADER_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,200}\?>")
# Consent notices, by the names that consent tools and publishers give their containers.
_CONSENT_NAMES = re.compile(
    r"(?:^|[\s_-])(?:cmp\w{0,12}|consent\w{0,12}|cookies?\w{0,10}|gdpr\w{0,8}|didomi\w{0,12}|onetrust\w{0,12}|qc-cmp2?"
    r"|usercentrics\w{0,8}|cookiebot\w{0,8}|sp_message\w{0,12}|truste\w{0,8}|cybot\w{0,12}|borlabs\w{0,8})(?:$|[\s_-])",
    re.IGNORECASE,
)
# What any of them contains; most names contain none, and this is the cheaper search.
_CONSENT_HINT = re.compile("cmp|consent|cookie|gdpr|didomi|onetrust|usercentrics|sp_message|truste|cybot|borlabs", re.I)
# lxml.html chooses a class for each element by a call into Python, which costs as much as parsing. No form is ever
# submitted here: forms need no class of their own.
_ELEMENTS = etree.ElementDefaultClassLookup(element=html.HtmlElement, comment=html.HtmlComment)
_CONSENT_TAGS = ("div", "section", "aside", "dialog", "form", "footer", "header", "p", "span", "ul", "iframe")


@dataclass(frozen=True, slots=True)
class Page:
    """One page's own statements, raw. meta: lower-case name or property -> contents in order."""

    tree: html.HtmlElement
    meta: dict[str, list[str]] = field(default_factory=dict)
    canonicals: tuple[str, ...] = ()
    base: str = ""
    language: str = ""
    title: str = ""
    headings: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    json_ld: tuple[str, ...] = ()
    consent_removed: bool = False

    def first(self, *names: str) -> str:
        """The first non-empty content of the named metas, tried in order."""
        for name in names:
            for content in self.meta.get(name, ()):
                if content.strip():
                    return content.strip()
        return ""


def decoded(body: bytes, content_type: str = "") -> str:
    """The page's text: byte order mark, then header, then meta, as browsers do; text that is UTF-8 through and through
    is UTF-8 whatever was declared. A bad byte becomes U+FFFD and outvotes nothing."""
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    header = _HEADER_CHARSET.search(content_type)
    meta = _META_CHARSET.search(body[:4096])
    declared = _codec(header[1] if header else "") or _codec(meta[1].decode("ascii") if meta else "")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        if declared is None:
            # One bad byte in a long UTF-8 page is damage; bad from the first accented letter on is another encoding.
            sample = body[max(0, error.start - 65536) : error.start + 65536].decode("utf-8", "replace")
            good = sum(1 for char in sample if char > "\x7f" and char != "\ufffd")
            declared = "utf-8" if good > 8 * sample.count("\ufffd") else "cp1252"
    if declared.startswith("utf-16"):  # a page whose meta could be read as ASCII is not UTF-16
        declared = "utf-8"
    return body.decode(declared, "replace")


def _codec(label: str) -> str | None:
    try:
        name = codecs.lookup(label).name if label else ""
    except LookupError:
        return None
    return _BROWSERS.get(name, name) or None


def read_page(text: str) -> Page | None:
    """The page of a document's text; None where nothing of it can be parsed."""
    text = _XML_DECLARATION.sub("", text.replace("\x00", ""), count=1)
    if not text.strip():
        return None
    parser = html.HTMLParser(encoding="utf-8", collect_ids=False, remove_pis=True)
    parser.set_element_class_lookup(_ELEMENTS)
    try:
        # Bytes, for lxml refuses lone surrogates in a str.
        tree = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser, ensure_head_body=True)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None
    head = tree.find("head")
    meta: dict[str, list[str]] = {}
    canonicals: list[str] = []
    base = ""
    for element in tree.iter("meta", "link", "base"):
        if element.tag == "meta":
            name = (element.get("property") or element.get("name") or element.get("itemprop") or "").strip().lower()
            content = element.get("content") or ""
            if name and content:
                meta.setdefault(name, []).append(content)
            elif (element.get("http-equiv") or "").lower() == "content-language" and content:
                meta.setdefault("content-language", []).append(content)
        elif element.tag == "base":
            base = base or (element.get("href") or "").strip()
        elif len(canonicals) < 8 and "canonical" in (element.get("rel") or "").lower().split():
            # Only the head counts: embedded players carry links of their own in the body. A stray element makes
            # parsers close the head early, so a link before any text of the body counts as well.
            parent = element.getparent()
            if parent is head or (parent is not None and parent.tag == "body" and not _after_content(element)):
                canonicals.append((element.get("href") or "").strip())
    removed = _remove_consent(tree)
    title = tree.find(".//title")
    return Page(
        tree=tree,
        meta=meta,
        canonicals=tuple(canonicals),
        base=base,
        language=(
            tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang") or tree.get("xml:lang") or ""
        ),
        title="".join(map(str, title.itertext())) if title is not None else "",
        headings=tuple(" ".join(map(str, h1.itertext())) for h1 in _first(tree.iter("h1"), 3)),
        times=tuple(_times(tree)),
        json_ld=tuple(_blocks(tree)),
        consent_removed=removed,
    )


def _first(elements: Iterable[html.HtmlElement], count: int) -> list[html.HtmlElement]:
    return [element for element, _ in zip(elements, range(count), strict=False)]


def _times(tree: html.HtmlElement) -> Iterable[str]:
    """The first machine-readable times that are not those of other articles listed beside this one."""
    for time in _first(tree.iter("time"), 8):
        value = time.get("datetime")
        if value and next(time.iterancestors("aside", "nav", "footer", "li"), None) is None:
            yield value


def _blocks(tree: html.HtmlElement) -> Iterable[str]:
    for script in tree.iter("script"):
        if "ld+json" in (script.get("type") or "").lower() and script.text:
            yield script.text


def _after_content(element: html.HtmlElement) -> bool:
    """Whether anything but head elements stands before `element` among its siblings."""
    return any(
        sibling.tag not in ("meta", "link", "script", "style", "base", "title", "noscript")
        for sibling in element.itersiblings(preceding=True)
        if isinstance(sibling.tag, str)
    )


def _remove_consent(tree: html.HtmlElement) -> bool:
    """Take consent notices out of the tree: they are often the longest text on a page. True if there was one."""
    found = []
    told: dict[str, bool] = {}
    for element in tree.iter(*_CONSENT_TAGS):
        names = f"{element.get('id') or ''} {element.get('class') or ''}"
        if names not in told:
            told[names] = (
                len(names) <= 2_000 and bool(_CONSENT_HINT.search(names)) and bool(_CONSENT_NAMES.search(names))
            )
        if not told[names]:
            continue
        # A wrapper around the whole page may carry such a class too ("has-cookie-notice").
        if next(element.iter("article", "main", "h1"), None) is None:
            found.append(element)
    for element in found:
        parent = element.getparent()
        if parent is not None:
            element.drop_tree()
    return bool(found)
