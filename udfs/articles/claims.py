"""Which of a page's own statements about its address is believed. No network, no state: a written rule over one page.

A page names its address in rel=canonical and og:url, rightly most of the time. Templates go wrong in known ways (the
front page, the section, one and the same article on every page, another site's address), and a wrong one merges
articles. The rules, in order, and what they cannot know: docs/canonical-urls.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote, urljoin, urlsplit

from udfs.articles.address_forms import is_article_like, is_date
from udfs.articles.canonical import answering_site, clean, identity_form, is_home_page, site
from udfs.articles.tracking import TrackingParameters

UrlSource = Literal["canonical", "og", "fetched"]
# Why a claim was not believed; in the order in which the rules are tried.
Refusal = Literal["", "several", "malformed", "elsewhere", "home", "front", "query_lost", "stranger"]

# What templates print where a value is missing, as the last part of a path.
_MISSING = frozenset({"undefined", "null", "none", "nan", "nil", "false", "true", "[object%20object]"})
_PLACEHOLDER = re.compile(r"\{\{|\$\{|<%|%7B%7B|\{%|\[object", re.IGNORECASE)
# A page that shows whatever article its query names.
_SCRIPT = re.compile(r"\.(?:php\d?|aspx?|jsp|jspx|cfm|cgi|do|dll|pl|phtml)$", re.IGNORECASE)
_SCRIPT_NAMES = frozenset(
    {"show", "view", "article", "articleview", "news", "newsview", "story", "read", "detail", "details", "item", "node"}
    | {"print", "post", "content", "page", "index", "articulo", "noticia", "nota", "artikel", "haber", "view.html"}
)
_NAMES_AN_ARTICLE = re.compile(
    r".*id$|id.*no$|idx|p|n|no|nr|num|a|art|artno|article|story|news|noticia|nota|item|key|seq|cod|code|ref|aid|newsno"
)
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_CANONICAL_LINK = re.compile(r"\brel\s{0,4}=\s{0,4}[\"']?[a-z ]{0,40}\bcanonical\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{5,}")


@dataclass(frozen=True, slots=True)
class Canonical:
    """The address of an article, and what it was taken from.

    elsewhere: a canonical of another site that the page claimed and that was not believed: at most a hint that this
    is a copy. refused: why the first claim that was not believed was not, or empty.
    """

    url: str
    source: UrlSource
    elsewhere: str = ""
    refused: Refusal = ""


@dataclass(frozen=True, slots=True)
class _Address:
    """One address, cleaned but in the form in which it was stated (AMP, mobile), and what of it is identity."""

    url: str
    identity: str


def canonical_url(
    fetched: str,
    tracking: TrackingParameters,
    *,
    canonical: str | Sequence[str] = "",
    og: str = "",
    base: str = "",
    main: str = "",
    asked: str = "",
    title: str = "",
) -> Canonical | None:
    """The address of the article on the page that was read at `fetched`.

    canonical: href of the rel=canonical link in the head, or of each of several; og: content of og:url; base: href of
    the base element; main: the page's address in JSON-LD (`stated_address`); asked: the address that was asked for
    before redirects; title: the page's, to be compared with slugs. All but `fetched` may be empty.
    None where not even `fetched` is an http(s) address.
    """
    own = _address(fetched, tracking)
    if own is None:
        return None
    base_url = (_joined(fetched, base) if base else "") or fetched
    links = [canonical] if isinstance(canonical, str) else list(canonical)[:8]
    canonicals = [_claimed(base_url, link, own, tracking) for link in links if link.strip()]
    og_claim = _claimed(base_url, og, own, tracking)
    main_claim = _claimed(base_url, main, own, tracking)
    asked_for = _address(asked, tracking) if asked else None
    if asked_for is not None and answering_site(asked) != site(asked_for.url):
        asked_for = None  # a counter or scanner sent the reader here, not the site whose address it had inside
    elsewhere = ""
    refused: Refusal = ""
    first, refusal = _one_of(canonicals, [own, asked_for, og_claim, main_claim])
    claims: tuple[tuple[_Address | None, Refusal, UrlSource, _Address | None], ...] = (
        (first, refusal, "canonical", og_claim),
        (og_claim, "malformed" if og.strip() and og_claim is None else "", "og", None),
    )
    for claim, refusal, source, second in claims:
        if claim is not None:
            refusal = _refusal(claim, own, asked_for, [w for w in (second, main_claim) if w], title)
            if refusal == "elsewhere":
                elsewhere = elsewhere or claim.url
            elif not refusal:
                return Canonical(_shown(claim, own, tracking), source, elsewhere, refused)
        refused = refused or refusal
    return Canonical(own.url, "fetched", elsewhere, refused)


def stated_address(node: Mapping[str, Any]) -> str:
    """The address that a JSON-LD article node gives for itself: mainEntityOfPage, else url; empty where none."""
    for name in ("mainEntityOfPage", "url"):
        value = node.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict):
            value = value.get("@id") or value.get("url")
        if isinstance(value, str) and value.strip().startswith(("http", "/")):
            return value.strip()
    return ""


def linked_canonical(header: str) -> str:
    """The target of rel=canonical in an HTTP Link header (RFC 8288, RFC 6596), empty where there is none."""
    for target, parameters in _LINK.findall(header[:4096]):
        if _CANONICAL_LINK.search(parameters):
            return str(target).strip()
    return ""


def _address(url: str, tracking: TrackingParameters) -> _Address | None:
    cleaned = clean(url, tracking, forms=False)
    return None if cleaned is None else _Address(cleaned, identity_form(cleaned))


def _claimed(base: str, claim: str, own: _Address, tracking: TrackingParameters) -> _Address | None:
    claim = claim.strip()
    if not claim or _PLACEHOLDER.search(claim[:2048]):
        return None
    host = (urlsplit(own.url).hostname or "").removeprefix("www.")
    if claim.lower().startswith((f"{host}/", f"www.{host}/")):  # a template that left out the scheme
        claim = "https://" + claim
    found = _address(_joined(base, claim), tracking)
    last = urlsplit(found.url).path.rpartition("/")[2].lower() if found else ""
    return None if last in _MISSING else found


def _joined(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference.strip())
    except ValueError:  # brackets that are no IPv6 address
        return ""


def _one_of(claims: list[_Address | None], others: list[_Address | None]) -> tuple[_Address | None, Refusal]:
    """The one canonical among several; where they differ, the first that another statement or the fetch agrees with."""
    found = [claim for claim in claims if claim is not None]
    if not found:
        return None, "malformed" if claims else ""
    if len({claim.identity for claim in found}) == 1:
        return found[0], ""
    known = {other.identity for other in others if other is not None}
    agreed = next((claim for claim in found if claim.identity in known), None)
    return agreed, "" if agreed else "several"


def _refusal(claim: _Address, own: _Address, asked: _Address | None, witnesses: list[_Address], title: str) -> Refusal:
    """Why a claim is not believed, or empty. witnesses: what else the page says of its address."""
    if claim.identity == own.identity:
        return ""
    if is_home_page(claim.url):
        return "" if is_home_page(own.url) else "home"
    if asked is not None and claim.identity == asked.identity:
        return ""  # the site itself sent the reader from there to here
    if site(claim.url) != site(own.url):
        return "elsewhere"
    if is_home_page(own.url):
        return ""
    seconded = any(witness.identity == claim.identity for witness in witnesses)
    if _is_front(claim, own, seconded):
        return "front"
    if _loses_the_query(claim, own):
        return "query_lost"
    return "stranger" if _is_stranger(claim, own, witnesses, title) else ""


def _is_front(claim: _Address, own: _Address, seconded: bool) -> bool:
    """A section, a topic, a day: no article's name in it, while the page's own address has one."""
    there, here = _segments(claim), _segments(own)
    if urlsplit(claim.url).query or not any(map(is_article_like, here)):
        return False
    if any(is_article_like(part) or (any(map(str.isdigit, part)) and not is_date(part)) for part in there):
        return False
    if here[: len(there)] == there:
        return any(map(is_article_like, here[len(there) :]))
    return not seconded


def _loses_the_query(claim: _Address, own: _Address) -> bool:
    """The same script without the parameter that names the article."""
    there, here = urlsplit(claim.url), urlsplit(own.url)
    if there.path.rstrip("/") != here.path.rstrip("/") or not here.query:
        return False
    last = here.path.rstrip("/").rpartition("/")[2].lower()
    if not _SCRIPT.search(last) and last.removesuffix(".html") not in _SCRIPT_NAMES:
        return False
    kept = set(there.query.split("&"))
    for pair in here.query.split("&"):
        name, _, value = pair.partition("=")
        if pair not in kept and _NAMES_AN_ARTICLE.fullmatch(name.lower()) and any(map(str.isdigit, value)):
            return True
    return False


def _is_stranger(claim: _Address, own: _Address, witnesses: Iterable[_Address], title: str) -> bool:
    """Another article: nothing of the page's own address is in it, and something on the page speaks for the own one."""
    there_path, here_path = _segments(claim), _segments(own)
    if _kin(claim, own) or here_path[: len(there_path)] == there_path:
        return False
    for witness in witnesses:
        if witness.identity == claim.identity:
            continue
        if witness.identity == own.identity or (_kin(witness, own) and not _kin(witness, claim)):
            return True
    words = _words(title)
    there, here = _slug_words(claim), _slug_words(own)
    return len(there) >= 3 and len(words & here) >= 2 and not words & there


def _kin(one: _Address, other: _Address) -> bool:
    """Whether two addresses name the same article by a number, or by most words of the slug."""
    if _numbers(one) & _numbers(other):
        return True
    a, b = _slug_words(one), _slug_words(other)
    return bool(a and b) and 2 * len(a & b) >= min(len(a), len(b))


def _segments(address: _Address) -> list[str]:
    return [part for part in urlsplit(address.url).path.split("/") if part]


def _numbers(address: _Address) -> set[str]:
    parts = urlsplit(address.url)
    return {number for number in _NUMBER.findall(parts.path + "?" + parts.query) if not is_date(number)}


def _slug_words(address: _Address) -> set[str]:
    segments = _segments(address)
    slug = next((part for part in reversed(segments) if is_article_like(part)), segments[-1] if segments else "")
    return {word for word in _words(unquote(slug)) if not word.isdigit()} - {"html", "htm", "php", "aspx"}


def _words(text: str) -> set[str]:
    """Words of three letters and more (two beyond ASCII), accents taken off, as slugs have them."""
    decomposed = unicodedata.normalize("NFKD", text[:2000].lower())
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return {word for word in re.findall(r"\w+", plain.replace("_", " ")) if len(word) >= 3 or not word.isascii()}


def _shown(claim: _Address, own: _Address, tracking: TrackingParameters) -> str:
    """A claim as readers get it: the form that is neither AMP nor print nor mobile where one is known to answer."""
    if claim.url == own.url:
        return own.url
    same = claim.identity == own.identity
    if same and clean(claim.url, tracking) != claim.url and clean(own.url, tracking) == own.url:
        return own.url
    host, own_host = (urlsplit(url).netloc.removeprefix("www.") for url in (claim.url, own.url))
    if claim.url.startswith("http://") and own.url.startswith("https://") and host == own_host:
        return "https://" + claim.url[7:]
    return claim.url
