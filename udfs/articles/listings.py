"""Pages that lead to articles and are none: home pages, section fronts, pages of a tag or an author, search results.

Judged by what the page calls itself, by its address and by its links: headlines that lead away, with little prose of
its own. A page that is certainly an article is a list only where it describes several articles, none of them itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

from udfs.articles import json_ld
from udfs.articles.canonical import identity_form, is_home_page
from udfs.articles.no_article_phrases import SEARCH_TITLES
from udfs.articles.page import Page
from udfs.articles.text import folded
from udfs.articles.traits import Traits, squeezed

# Articles that a page describes in JSON-LD, each with a headline of its own: an article describes itself, and its live
# blog's or its site's latest at most.
_MANY_NODES = 4
# Addresses that headlines on the page lead to. Articles have as many beside their text, so this never counts alone.
_FEW_HEADLINES, _MANY_HEADLINES = 3, 8
# Prose: characters in lines that are no links and end as sentences do.
_PROSE_LINE_CHARS = 80
_LITTLE_PROSE, _SOME_PROSE = 500, 1_500
_SENTENCE_ENDS = tuple(".!?…\"'”»。！？」』؟।")

_COLLECTIONS = frozenset({"collectionpage", "searchresultspage", "profilepage", "contactpage", "aboutpage"})
_AUTHOR_SEGMENTS = """
    author authors autor autores autoren auteur auteurs autore autori forfatter kirjoittaja yazar yazarlar profile
    profiles journalist journalists redakteur contributor contributors byline people staff автор авторы автори
"""
_TAG_SEGMENTS = """
    tag tags topic topics thema themen tema temas sujet sujets theme themes dossier dossiers etiqueta etiquetas
    argomento argomenti onderwerp emne amne aihe tagi temat konu etiket keyword keywords category categories kategorie
    kategori categoria categorias rubrik rubrique rubriques section sections archive archives archiv тег теги тема темы
"""
_SEARCH_SEGMENTS = """
    search suche recherche buscar busca busqueda ricerca zoeken szukaj sok sog haku hledat kereses cautare ara arama
    поиск пошук pesquisa results resultados
"""
_AUTHORS, _TAGS, _SEARCHES = (
    frozenset(segments.split()) for segments in (_AUTHOR_SEGMENTS, _TAG_SEGMENTS, _SEARCH_SEGMENTS)
)
_QUERIES = frozenset({"q", "query", "s", "search", "suche", "recherche", "keyword", "keywords", "buscar", "text", "k"})
_SEARCH_TITLES = tuple(folded(phrase) for phrase in re.split(r"[;\n]", SEARCH_TITLES) if phrase.strip())
_SLUG_WORDS = re.compile(r"[-_+.\s]+")
_DIGITS = re.compile(r"\d{4,}")
_DENSE_SLUG_CHARS = 8
# /2026/11/30/storm, /20261130/storm
_DATED = re.compile(r"/(?:19|20)\d\d[/-]?(?:0?[1-9]|1[0-2])(?:[/-]?[0-3]?\d)?/[^/\d][^/]*/?$")


def listing(page: Page, nodes: Sequence[json_ld.Node], traits: Traits, text: str, url: str, *, certain: bool) -> str:
    """home_page, search_page, author_page, tag_page or section_front for a page of links; else empty.

    url: cleaned. certain: it calls itself a dated article and has some text, or its feed announced its title.
    """
    if _describes_others(page, nodes, url):
        return _kind(page, nodes, url)
    if certain:
        return ""
    named = _is_search(page, url) or bool(_types(nodes) & _COLLECTIONS) or page.first("og:type").lower() == "profile"
    own = json_ld.article_node(nodes) is not None or bool(page.first("article:published_time"))
    if is_home_page(url) and not own:
        return "home_page"
    if named and not own and (traits.linked >= _FEW_HEADLINES or _prose(text, traits) < _LITTLE_PROSE):
        return _kind(page, nodes, url)
    if own or looks_like_article(url):
        return ""
    prose = _prose(text, traits)
    in_list = bool(set(_segments(url)) & (_AUTHORS | _TAGS | _SEARCHES))
    if traits.linked >= (_FEW_HEADLINES if in_list else _MANY_HEADLINES) and prose < _SOME_PROSE:
        return _kind(page, nodes, url)
    return ""


def looks_like_article(url: str) -> bool:
    """Whether the last part of an address names one piece, as slugs, numbers and dates do, and no section."""
    segments = _segments(url)
    if not segments:
        return False
    last = re.sub(r"\.(?:html?|php|aspx?|jsp|ece|cms)$", "", segments[-1])
    if _DIGITS.search(last) or len([word for word in _SLUG_WORDS.split(last) if word]) >= 4:
        return True
    return (not last.isascii() and len(last) >= _DENSE_SLUG_CHARS) or bool(_DATED.search(urlsplit(url).path))


def _describes_others(page: Page, nodes: Sequence[json_ld.Node], url: str) -> bool:
    articles: dict[str, json_ld.Node] = {}
    for node in nodes:
        headline = json_ld.string(node.get("headline")) or json_ld.string(node.get("name"))
        if headline and any(kind in _ARTICLES for kind in json_ld.types(node)):
            articles.setdefault(folded(headline), node)
    if len(articles) < _MANY_NODES:
        return False
    own = identity_form(url)
    titles = [folded(title) for title in (page.first("og:title"), page.title, *page.headings[:1]) if title]
    return not any(
        any(headline in title or title in headline for title in titles) or own in set(_addresses(node))
        for headline, node in articles.items()
    )


_ARTICLES = frozenset(json_ld.ARTICLE_TYPES)


def _addresses(node: json_ld.Node) -> Iterable[str]:
    for name in ("url", "@id", "mainEntityOfPage"):
        value = node.get(name)
        value = value.get("@id") or value.get("url") if isinstance(value, dict) else value
        if isinstance(value, str) and "://" in value:
            yield identity_form(value.split("#")[0])


def _kind(page: Page, nodes: Sequence[json_ld.Node], url: str) -> str:
    types = _types(nodes)
    segments = set(_segments(url))
    if is_home_page(url):
        return "home_page"
    if "searchresultspage" in types or _is_search(page, url):
        return "search_page"
    if "profilepage" in types or page.first("og:type").lower() == "profile" or segments & _AUTHORS:
        return "author_page"
    return "tag_page" if segments & _TAGS else "section_front"


def _is_search(page: Page, url: str) -> bool:
    """An address that asks, and a title that answers: "Results for the year" may be news."""
    query = {name.lower() for name, _ in parse_qsl(urlsplit(url).query)}
    if not (query & _QUERIES or set(_segments(url)) & _SEARCHES):
        return False
    titles = (folded(title) for title in (page.title, *page.headings[:1], page.first("og:title")))
    return any(phrase in title for title in titles for phrase in _SEARCH_TITLES)


def _types(nodes: Sequence[json_ld.Node]) -> set[str]:
    return {kind.lower() for node in nodes for kind in json_ld.types(node)}


def _prose(text: str, traits: Traits) -> int:
    """Characters in lines of a page's text that are sentences of its own."""
    if not traits.linked:
        return len(text)
    found = 0
    for line in text.split("\n"):
        long = len(line) >= _PROSE_LINE_CHARS or (not line.isascii() and len(line) >= _PROSE_LINE_CHARS // 2)
        if long and line.endswith(_SENTENCE_ENDS) and squeezed(line) not in traits.headlines:
            found += len(line)
    return found


def _segments(url: str) -> list[str]:
    return [unquote(part).lower() for part in urlsplit(url).path.split("/") if part]
