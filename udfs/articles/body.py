"""The running text of a page, and whether it is an article's. A function of the page alone: nothing is remembered.

`prose.py` finds the text among the page's lines. Where that is little, trafilatura, the plain paragraphs and the
`articleBody` of the page's JSON-LD are asked too. The text is then freed of echoes, consent notices and the title.
"""

from __future__ import annotations

import re
from copy import deepcopy

from lxml import html
from trafilatura import bare_extraction
from trafilatura.settings import Document

from udfs.articles.page import Page
from udfs.articles.prose import prose_of
from udfs.articles.text import clean_text, folded, text_of_element, text_of_html

# Below this a text found by the extractor is weighed against the page's own paragraphs, characters.
_SHORT_CHARS = 250
# Elements of a page so small that the extractors' statistics say little.
_SMALL_ELEMENTS = 400
# A line this long that comes twice is an echo of the extractor or of the page; shorter ones may be a refrain.
_ECHO_CHARS = 40
# A longer paragraph that mentions cookies is about them.
_NOTICE_CHARS = 600

# What only consent notices say, by language; matched in case-folded text. One of these condemns a short paragraph.
_CONSENT = re.compile(
    r"store and(?:/or)? access information on (?:a|your) device|we and our (?:[\d,.]+ )?(?:\w+ )?partners"
    r"|we (?:\w+ )?use cookies|uses cookies to|your (?:privacy|cookie|consent) (?:choices|preferences|settings)"
    r"|manage (?:your )?(?:consent|cookie)|accept all(?: cookies)?$|legitimate interest"
    r"|cookies? (?:policy|notice|settings)|wir (?:und unsere (?:\d+ )?partner|verwenden cookies|nutzen cookies)"
    r"|verwendet cookies|informationen auf einem gerät (?:zu )?speichern|mit werbung und tracking"
    r"|datenschutzeinstellungen"
    r"|nous utilisons des cookies|utilise des cookies|nos partenaires (?:stockons|utilisons)"
    r"|gérer (?:mes|vos) (?:choix|cookies)"
    r"|(?:usamos|utilizamos) cookies|nosotros y nuestros (?:\d+ )?socios|utiliza cookies"
    r"|almacenar .{0,40}en un dispositivo"
    r"|utilizziamo (?:i )?cookie|noi e i nostri (?:\d+ )?partner|usamos cookies|nós e (?:os )?nossos parceiros"
    r"|wij (?:en onze partners|gebruiken cookies)|używamy (?:plików )?cookie|my i nasi partnerzy|çerezler(?:i)? kullan"
    r"|vi (?:och våra|og våre|og vores) partner|använder cookies|bruker (?:informasjonskapsler|cookies)|bruger cookies"
    r"|мы используем (?:файлы )?cookie|использует (?:файлы )?cookie"
    r"|クッキー(?:を|の)使用|cookieを使用|使用cookie|쿠키를 사용",
    re.IGNORECASE,
)
# A word of each of these: a text without any is not searched line by line.
_CONSENT_HINT = re.compile(
    "cookie|partner|legitimate interest|consent|privacy|gerät|tracking|datenschutz|gérer|dispositivo|socios|parceiros"
    "|çerez|informasjonskapsler|クッキー|쿠키",
    re.IGNORECASE,
)
# Pages that stand in an article's place.
_BOT_CHECK = re.compile(
    r"verify (?:that )?you are (?:a )?human|are you a robot|checking your browser"
    r"|enable javascript and cookies to continue"
    r"|unusual traffic from your|access (?:to this page has been )?denied|just a moment\.\.\."
    r"|please complete the security check"
    r"|attention required! \| cloudflare|pardon our interruption|request unsuccessful\. incapsula",
    re.IGNORECASE,
)


def body_text(page: Page, title: str, article_body: str) -> tuple[str, str]:
    """The article's text, a line a paragraph, and its source ("page", "json_ld"), both empty where there is none.

    article_body: `articleBody` of the page's JSON-LD, used where the page itself shows much less. The tree of `page`
    is used up.
    """
    root = page.tree.find("body")
    described = page.first("og:description", "description", "twitter:description")
    text = _tidy(prose_of(root, title, described).text, title) if root is not None else ""
    stated = ""
    if len(article_body) > 2 * max(len(text), _SHORT_CHARS // 2):
        stated = _tidy(text_of_html(article_body), title)
    if len(stated) > 2 * len(text):
        return stated, "json_ld"
    if len(text) < _SHORT_CHARS:
        text = max(text, _second_opinion(page.tree, title), key=len)
    return text, "page" if text else ""


def _second_opinion(tree: html.HtmlElement, title: str) -> str:
    """What a page of little text yields by other ways: plain paragraphs of a small page, trafilatura on any."""
    small = tree.xpath("count(//*)") < _SMALL_ELEMENTS
    paragraphs = _tidy(_paragraphs(deepcopy(tree)), title) if small else ""
    document = bare_extraction(
        tree, with_metadata=False, deduplicate=False, include_comments=False, include_tables=False
    )
    found = _tidy(document.text or "" if isinstance(document, Document) else "", title)
    return max(found, paragraphs, key=len)


def is_consent_notice(text: str) -> bool:
    """Whether a text, as a whole, asks for consent: most of its paragraphs do, by length."""
    if not _CONSENT_HINT.search(text):
        return False
    lines = [line for line in text.split("\n") if line]
    consent = sum(len(line) for line in lines if _CONSENT.search(line))
    return bool(lines) and consent * 2 > sum(map(len, lines))


def is_bot_check(title: str, text: str) -> bool:
    """Whether a page, short as they are, is a test for robots or a refusal."""
    return len(text) < 1_500 and bool(_BOT_CHECK.search(f"{title}\n{text}"))


def _tidy(text: str, title: str) -> str:
    """Cleaned, without consent paragraphs, echoes and a first line that repeats the title."""
    kept: list[str] = []
    seen: set[str] = set()
    heading = folded(title)
    text = clean_text(text)
    suspect = bool(_CONSENT_HINT.search(text))
    for number, line in enumerate(text.split("\n")):
        line = line.removeprefix("- ").strip()
        if not line or (suspect and len(line) < _NOTICE_CHARS and _CONSENT.search(line)):
            continue
        same = folded(line)
        if (number < 3 and same == heading) or (kept and line == kept[-1]):
            continue
        if len(line) >= _ECHO_CHARS:
            if same in seen:
                continue
            seen.add(same)
        kept.append(line)
    return "\n".join(kept)


def _paragraphs(tree: html.HtmlElement) -> str:
    """The text of the page's main part without its furniture; for pages too short for the extractor's statistics."""
    for element in tree.xpath(
        "//nav|//header[not(ancestor::article)]|//footer|//aside|//form|//button|//figure|//dialog"
    ):
        if element.getparent() is not None:
            element.drop_tree()
    for name in ("article", "main"):
        part = tree.find(f".//{name}")
        if part is not None and len(text := text_of_element(part)) > 10:
            return text
    return "\n".join(text_of_element(p) for p in tree.iter("p"))
