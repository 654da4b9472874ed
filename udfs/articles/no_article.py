"""Pages that are no article, and why: walls, checks, errors, lists and empty shells that stand in an article's place.

Two faults are weighed: an article refused is lost (its feed's entry may stand in), a front let through is one odd row.
So a page that says it is an article, with a date, and has some text is one, whatever it speaks of; so is one whose
title its feed announced. Only the rest is judged: by whole headings, by the share of its sentences that only walls say,
by its address, by its links. Reading order: `no_article`, then the rules in the order in which they are asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import unquote, urlsplit

from udfs.articles import json_ld
from udfs.articles.listings import listing
from udfs.articles.no_article_phrases import HEADINGS
from udfs.articles.no_article_sentences import CONSENT, CONSENT_HINTS, SENTENCES
from udfs.articles.page import Page
from udfs.articles.text import folded
from udfs.articles.traits import Traits


@dataclass(frozen=True, slots=True)
class NoArticlePolicy:
    """Bounds, in characters of the page's text where not said otherwise; set on the captured pages and samples."""

    sure_chars: int = 400  # with a date: an article. The shortest of 139 captured pages has 900
    announced_chars: int = 200  # with the title that the feed announced
    undeclared_chars: int = 200  # a page that does not call itself an article needs this much to be taken for one
    heading_chars: int = 1_500  # above it a heading that a wall has too is an article's
    part_heading_chars: int = 300  # the same for a part of the title, which may be a headline before a colon
    sentence_chars: int = 1_500  # no wall says more; articles about walls do
    sentence_share: float = 0.5  # of a text's characters, in sentences that only walls say
    short_share: float = 0.34  # the same of a text below undeclared_chars: two sentences, of which one says it
    shell_chars: int = 100  # of text in what a script should have filled


@dataclass(frozen=True, slots=True)
class Candidate:
    """A page as far as it was read. url: its canonical address; asked, final: where it was looked for and found.

    node: its article in JSON-LD, or {}. house: names of the publisher. announced: whether its feed's entry has the same
    title, None where there is no entry.
    """

    page: Page
    traits: Traits
    title: str
    text: str
    url: str
    asked: str
    final: str
    nodes: Sequence[json_ld.Node] = ()
    node: json_ld.Node = field(default_factory=dict)
    house: tuple[str, ...] = ()
    announced: bool | None = None

    @property
    def declared(self) -> bool:
        """Whether it calls itself an article in any way."""
        return bool(self.node) or self.dated or self.page.first("og:type").lower() in _ARTICLE_KINDS

    @property
    def dated(self) -> bool:
        """Whether it calls itself an article and says when it was published, or carries its text."""
        stated = ("datePublished", "dateCreated", "dateModified", "articleBody")
        return any(json_ld.string(self.node.get(name)) for name in stated) or bool(
            self.page.first("article:published_time", "og:published_time")
        )

    @property
    def described(self) -> bool:
        """Whether it has a lede of its own beside its text."""
        return bool(self.page.first("og:description", "description") or json_ld.string(self.node.get("description")))


_ARTICLE_KINDS = frozenset({"article", "news", "newsarticle", "video.other", "video.episode", "video", "blog"})
# Walls in front of an article that its own page describes: the text is theirs, title and lede are the article's.
_IN_FRONT = frozenset({"login_wall", "subscribe_page", "adblock_wall", "empty_shell", "region_wall"})

_CONSENT = re.compile(CONSENT)
_SENTENCE = re.compile(r"[.!?…]+(?=\s|$)|[。！？؟।\n]+")
_NOT_LETTERS = re.compile(r"[\W_]+")
# Words that stand before or after a wall's heading and mean nothing: "Oops! 404 - page not found".
_PADDING_WORDS = """
    error erreur fehler fout fel feil fejl virhe chyba hiba eroare hata ошибка помилка błąd erro errore http https oops
    ops ups uups hoppla hoppsan sorry désolé tut uns leid lo sentimos spiacenti desculpe whoops uh oh hups opps
    エラー 错误 錯誤 오류 خطأ code status
"""
_PADDING = frozenset(_PADDING_WORDS.split())
_NUMBERS = frozenset({"400", "401", "403", "404", "405", "406", "408", "410", "418", "429", "451", "500", "501", "502",
                      "503", "504", "520", "521", "522", "523", "524", "525", "1020"})  # fmt: skip
_OF_NUMBER = {"404": "soft_404", "410": "soft_404", "451": "region_wall", "403": "bot_check", "401": "login_wall"}
# What cuts a <title> into headline and site; a colon cuts headlines themselves.
_MAX_HEADING_CHARS = 2_000  # blanks and all
_TITLE_PARTS = re.compile(r"\s*[|¦｜»•·]\s*|\s+[-–—]\s+")

_CHALLENGERS = re.compile(
    r"captcha-delivery\.com|challenges\.cloudflare\.com|/_incapsula_resource|hcaptcha\.com|recaptcha|px-cloud\.net"
    r"|perimeterx|arkoselabs|funcaptcha|awswaf\.com|geetest|/_sec/cp_challenge|datadome|kpsdk|friendlycaptcha",
    re.IGNORECASE,
)
_PARKING = re.compile(
    r"sedoparking|parkingcrew|bodis\.com|hugedomains|afternic|parklogic|dan\.com/|sedo\.com|above\.com/|uniregistry",
    re.IGNORECASE,
)
_PDF = re.compile(r"\.pdf(?:$|[?#\s&])|application/pdf|/pdfjs/|viewer\.html\?file=", re.IGNORECASE)
# Where a request was sent on to, by a segment of the path.
_SENT_TO: dict[str, str] = {
    "login_wall": "login log-in signin sign-in sso anmelden connexion iniciar-sesion inloggen logga-in logowanie giris"
    " entrar register registrieren registration",
    "subscribe_page": "subscribe subscription subscriptions abo abonnement abonnieren suscripcion suscribete abbonati"
    " assine prenumerera paywall",
    "consent_wall": "consent privacy-gate privacygate cookie-wall cookiewall cookie-consent collectconsent",
    "soft_404": "404 404.html notfound not-found page-not-found error404 error-404 seite-nicht-gefunden",
    "error_page": "error error.html maintenance wartung 500 503",
    "bot_check": "captcha challenge robot-check validatecaptcha distil_r_captcha.html",
}
_SENT_TO_REASON = {segment: reason for reason, segments in _SENT_TO.items() for segment in segments.split()}
_CONSENT_HOSTS = ("consent.", "cmp.", "myprivacy.", "privacygate.", "cookiewall.")


def no_article(seen: Candidate, policy: NoArticlePolicy | None = None) -> str:
    """The reason why a page is no article, in snake_case, or empty where it is one.

    `of_the_article` says whether its text is a wall's. The reasons stand in docs/reuse-and-citations.md.
    """
    policy = policy or NoArticlePolicy()
    if not seen.title:
        found = _reason(seen, policy)
        return found if found not in ("", "no_article") else "no_title"
    return _reason(seen, policy)


def _reason(seen: Candidate, policy: NoArticlePolicy) -> str:
    size = len(seen.text)
    if size and is_consent_notice(seen.text):
        return "consent_wall"
    sure = seen.dated and size >= policy.sure_chars
    if many := listing(seen.page, seen.nodes, seen.traits, seen.text, seen.url, certain=sure or bool(seen.announced)):
        return many
    if sure or (seen.announced and size >= policy.announced_chars and not _prompted(seen.text, policy)):
        return ""
    return (
        _by_heading(seen, policy)
        or _by_sentences(seen, policy)
        or _by_address(seen)
        or _by_regret(seen, policy)
        or _by_markup(seen, policy)
        or _without_content(seen, policy)
    )


def of_the_article(text: str, policy: NoArticlePolicy | None = None) -> str:
    """`text`, or nothing where it is the words of a wall in front of the article: a log-in, a subscription."""
    return "" if _prompted(text, policy or NoArticlePolicy()) in _IN_FRONT else text


def is_consent_notice(text: str) -> bool:
    """Whether a text, as a whole, asks for consent: most of its paragraphs do, by length."""
    if not mentions_consent(text):
        return False
    lines = [line for line in text.split("\n") if line]
    consent = sum(len(line) for line in lines if asks_consent(line))
    return bool(lines) and consent * 2 > sum(map(len, lines))


def mentions_consent(text: str) -> bool:
    """Whether a text may hold a paragraph that asks for consent: cheap, and wrong only in saying yes."""
    low = text.lower()
    return any(hint in low for hint in CONSENT_HINTS)


def asks_consent(line: str) -> bool:
    """Whether a paragraph says what only consent notices say."""
    # Not by a pattern that ignores case: that is ten times as dear.
    low = line.lower()
    return any(hint in low for hint in CONSENT_HINTS) and bool(_CONSENT.search(low))


def _by_heading(seen: Candidate, policy: NoArticlePolicy) -> str:
    """A wall's whole title or heading over little text."""
    size = len(seen.text)
    if size >= policy.heading_chars or seen.announced or (seen.dated and seen.described):
        return ""
    for stated in (seen.title, *seen.page.headings[:2], seen.page.title, seen.page.first("og:title")):
        # Blanks once: a pattern would search a megabyte of them from each to the end.
        heading = " ".join(stated[:_MAX_HEADING_CHARS].split())
        if reason := _heading_reason(heading, seen.house):
            return reason
        parts = _TITLE_PARTS.split(heading)
        if size < policy.part_heading_chars and 1 < len(parts) <= 4:
            for part in parts:
                if reason := _heading_reason(part, seen.house):
                    return reason
    return ""


def _heading_reason(heading: str, house: Iterable[str]) -> str:
    if not heading or len(heading) > 200:
        return ""
    words = _words(heading)
    numbers = [word for word in words if word in _NUMBERS]
    kept = [word for word in words if word not in _PADDING and word not in _NUMBERS]
    reasons = _headings()
    for form in ("".join(kept), "".join(words)):
        if reason := reasons.get(form):
            return reason
    for name in house:  # "Just a moment... n.example"
        rest = "".join(kept).removesuffix("".join(_words(name)))
        if rest and (reason := reasons.get(rest)):
            return reason
    if not kept and numbers:
        return _OF_NUMBER.get(numbers[0], "error_page")
    return ""


def _by_regret(seen: Candidate, policy: NoArticlePolicy) -> str:
    """A heading that only regrets: "Oops!", "Error"."""
    if seen.announced or seen.declared or len(seen.text) >= policy.undeclared_chars:
        return ""
    words = _words(seen.title)
    return "error_page" if words and all(word in _PADDING for word in words) else ""


def _by_sentences(seen: Candidate, policy: NoArticlePolicy) -> str:
    reason = _prompted(seen.text, policy)
    if reason in _IN_FRONT and seen.declared and seen.described:
        return ""  # the article's own title and lede, behind it
    return reason


@cache
def _sentences(reason: str) -> re.Pattern[str]:
    phrases = (phrase.strip().casefold() for phrase in re.split(r"[;\n]", SENTENCES[reason]))
    return re.compile("|".join(re.escape(phrase) for phrase in phrases if phrase))


def _prompted(text: str, policy: NoArticlePolicy) -> str:
    """Whose words most of a short text are."""
    if not text or len(text) >= policy.sentence_chars:
        return ""
    bar = policy.short_share if len(text) < policy.undeclared_chars else policy.sentence_share
    for reason in SENTENCES:
        if _share(text, reason) >= bar:
            return reason
    return ""


def _share(text: str, reason: str) -> float:
    """The share of a text's characters that stands in sentences which only such walls say."""
    low = text.casefold().replace("’", "'")
    pattern = _sentences(reason)
    if not pattern.search(low):
        return 0.0
    sentences = [part.strip() for part in _SENTENCE.split(low)]
    return sum(len(part) for part in sentences if pattern.search(part)) / max(sum(map(len, sentences)), 1)


def _by_address(seen: Candidate) -> str:
    """A request that was sent on to a log-in, a shop, a notice."""
    if seen.declared or seen.final == seen.asked:
        return ""
    try:
        final, asked = urlsplit(seen.final), urlsplit(seen.asked)
    except ValueError:
        return ""
    if (final.hostname or "").startswith(_CONSENT_HOSTS) and final.hostname != asked.hostname:
        return "consent_wall"
    before = set(_segments(asked.path))
    for segment in _segments(final.path):
        if segment not in before and (reason := _SENT_TO_REASON.get(segment)):
            return reason
    return ""


def _by_markup(seen: Candidate, policy: NoArticlePolicy) -> str:
    """Little text, and a frame or script that says what the page is for."""
    if seen.declared or len(seen.text) >= policy.undeclared_chars:
        return ""
    for pattern, reason in ((_PDF, "pdf_viewer"), (_PARKING, "parked_domain"), (_CHALLENGERS, "bot_check")):
        if any(pattern.search(source) for source in seen.traits.sources):
            return reason
    return "login_wall" if seen.traits.passwords else ""


def _without_content(seen: Candidate, policy: NoArticlePolicy) -> str:
    size = len(seen.text)
    removed = seen.page.consent_removed
    if not size and removed and not seen.node:
        return "consent_wall"
    if not seen.declared and size < policy.shell_chars and (
        seen.traits.shell or (not size and _share(seen.traits.noscript, "empty_shell") > 0)
    ):  # fmt: skip
        return "empty_shell"
    if not seen.declared and size < policy.undeclared_chars:
        # Short notes exist, and have a heading.
        return "" if seen.page.headings and size > 10 and seen.announced is not False else "no_article"
    if not size and not seen.described:
        if removed:
            return "consent_wall"
        return "empty_shell" if seen.traits.shell else "media_only" if _is_media(seen) else "no_article"
    return ""


def _is_media(seen: Candidate) -> bool:
    kinds = {kind.lower() for node in seen.nodes for kind in json_ld.types(node)}
    return bool(kinds & {"videoobject", "imagegallery", "mediagallery", "audioobject"}) or seen.page.first(
        "og:type"
    ).lower().startswith("video")


@cache
def _headings() -> dict[str, str]:
    """Letters and digits of a heading -> its reason."""
    found: dict[str, str] = {}
    for reason, phrases in HEADINGS.items():
        for phrase in re.split(r"[;\n]", phrases):
            words = _words(phrase)
            for form in (words, [word for word in words if word not in _PADDING]):
                if form:
                    found.setdefault("".join(form), reason)
    return found


def _words(text: str) -> list[str]:
    text = _NOT_LETTERS.sub(" ", folded(text).replace("'", ""))
    return text.split()


def _segments(path: str) -> list[str]:
    return [unquote(part).lower() for part in path.split("/") if part]
