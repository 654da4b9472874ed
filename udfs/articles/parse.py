"""From one piece of raw evidence to what identity decides on: extraction, language, places, topics, labels, in order.

No Flink, no state, no clock. `parse_raw` is the whole way; what it needs loaded is in `Reader`. The extractor is passed
in: the killable child in the job, plain calls in tests and benches.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from state_schemas.articles import Article
from state_schemas.codec import DecodeError, unpack_bytes
from state_schemas.fetching import Body, RawItem
from state_schemas.ids import article_id
from udfs.articles.canonical import (
    TrackingParameters,
    answering_site,
    clean,
    identity_form,
    load_tracking_parameters,
    site,
)
from udfs.articles.entities import load_entity_finder
from udfs.articles.events import Alias, Reading, Reinstatement, Retraction
from udfs.articles.extract import Extraction, Rejection, extract_entry, extract_page
from udfs.articles.kinds import sections_of
from udfs.articles.labels import labels, load_labels, wire_credit
from udfs.articles.language import LanguageReader
from udfs.articles.overrides import NO_OVERRIDES, Overrides
from udfs.articles.policy import ArticlesPolicy
from udfs.articles.signatures import words
from udfs.articles.topics import TopicWords, load_subtopics, subtopics, topics
from udfs.editions import load_reference
from udfs.sections import SectionTerms

PARSER_VERSION = "2"
_ARTICLE_ID = re.compile("[0-9a-f]{32}")

# The zstd frame that evidence/{sha256} holds, or None where it is not there. Raises where the store does not answer.
EvidenceOf = Callable[[str], bytes | None]


class Extractor(Protocol):
    """Page or entry to fields; a rejection says why not."""

    def page(self, raw: RawItem, body: bytes) -> Extraction | Rejection: ...

    def entry(self, raw: RawItem, rejected: str = "") -> Extraction | Rejection: ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """Extraction by plain calls: for pages that are trusted, or whose reader may hang."""

    tracking: TrackingParameters
    overrides: Overrides = NO_OVERRIDES

    def page(self, raw: RawItem, body: bytes) -> Extraction | Rejection:
        return extract_page(raw, body, self.tracking, self.overrides)

    def entry(self, raw: RawItem, rejected: str = "") -> Extraction | Rejection:
        return extract_entry(raw, self.tracking, rejected)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What identity decides on. aside: why the page was set aside though its feed's entry serves, else None.

    aliases: other addresses under which the article was read.
    """

    event: Reading | Retraction | Reinstatement
    aside: Rejection | None = None
    aliases: tuple[Alias, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """No article came of it: reason is a code for `quarantine`.

    left_alone: a known page, checked again without its entry, shows no article now (a wall, a notice): its article
    stays as it is, and the next check may find it. No evidence of anything, and met again at every check.
    """

    reason: str
    detail: str = ""
    left_alone: bool = False


# Reasons that are the page's fault or ours, worth keeping the evidence of, even where the entry stands in for the page.
_SET_ASIDE = frozenset(
    {"extract_timed_out", "extract_crashed", "extract_out_of_memory", "extract_failed", "page_too_large"}
    | {"body_undecodable", "body_too_large", "evidence_missing"}
)


class Reader:
    """Everything `parse_raw` reads from: about 150 MB, loaded in 2 to 3 s. Make one an operator, in open()."""

    def __init__(self, reference_data: Path, policy: ArticlesPolicy | None = None) -> None:
        self.policy = policy or ArticlesPolicy()
        self.tracking = load_tracking_parameters(reference_data / "tracking_parameters.txt")
        self.languages = LanguageReader()
        self.entities = load_entity_finder(reference_data)
        self.topic_words = TopicWords(
            SectionTerms(load_reference(reference_data).sections).section_of,
            load_subtopics(reference_data),
            self.entities.gazetteer,
        )
        self.label_words = load_labels(reference_data)


def parse_raw(raw: RawItem, reader: Reader, extractor: Extractor, evidence: EvidenceOf) -> Parsed | Rejected:
    """The event that a piece of raw evidence is, or why it is none."""
    if raw.kind in ("retraction", "reinstatement"):
        return _command(raw, reader)
    found: Extraction | Rejection = Rejection(reason=raw.reason or "no_page")
    aside = None
    if raw.kind == "page":
        body = _body(raw.body, reader.policy, evidence)
        found = body if isinstance(body, Rejection) else extractor.page(raw, body)
    if isinstance(found, Rejection):
        page = found
        found = extractor.entry(raw, page.reason) if raw.entry else page
        if isinstance(found, Rejection):
            # The page's own fault says more than that its entry does not serve either.
            reason = page.reason if raw.kind == "page" else found.reason
            left_alone = _alone(raw) and reason not in _SET_ASIDE
            return Rejected(reason, page.detail or found.detail, left_alone)
        aside = page if page.reason in _SET_ASIDE else None
    try:
        reading = _reading(raw, found, reader)
        return Parsed(reading, aside, _aliases(raw, reading, reader))
    except MemoryError:
        raise
    except Exception as error:
        # A fault of ours that this one item meets: were it to fail the task, the item would be read again for ever.
        return Rejected("reading_failed", f"{type(error).__name__}: {error}"[:500])


def _command(raw: RawItem, reader: Reader) -> Parsed | Rejected:
    address = raw.final_url or raw.url
    article = raw.article_id if _ARTICLE_ID.fullmatch(raw.article_id) else _id_at(address, reader)
    if not article:
        return Rejected("url_invalid", raw.url[:500])
    if raw.kind == "retraction" and not raw.by_operator and not raw.article_id:
        inside = clean(address, reader.tracking)
        if inside is None or answering_site(address) != site(inside):
            # An archive or a counter that has no such address any more says nothing of the page inside.
            return Rejected("retraction_elsewhere", raw.url[:500])
    found_ms = raw.found_ms or raw.fetched_ms
    if raw.kind == "reinstatement":
        return Parsed(Reinstatement(article_id=article, read_ms=raw.fetched_ms, found_ms=found_ms))
    return Parsed(
        Retraction(
            article_id=article,
            read_ms=raw.fetched_ms,
            found_ms=found_ms,
            reason=raw.reason or "gone",
            publisher=raw.origin.publisher,
            by_operator=raw.by_operator,
            url=raw.url,
            forwarded=bool(raw.article_id),
        )
    )


def _id_at(url: str, reader: Reader) -> str:
    """The id of an article whose canonical URL an address is; empty for an address that is none."""
    address = clean(url, reader.tracking)
    return "" if address is None else article_id(identity_form(address))


def _aliases(raw: RawItem, reading: Reading, reader: Reader) -> tuple[Alias, ...]:
    """Addresses of the article's own site: who leads his readers to another's article cannot take that back."""
    own, its_site = reading.article.article_id, site(reading.article.canonical_url)
    asked = (url for url in (raw.url, raw.final_url) if url and answering_site(url) == its_site)
    met = dict.fromkeys(_id_at(url, reader) for url in asked)
    return tuple(Alias(article_id=one, leads_to=own, read_ms=raw.fetched_ms) for one in met if one not in ("", own))


def _alone(raw: RawItem) -> bool:
    """Whether it is a known page, checked again without its feed's entry."""
    return raw.recheck and raw.entry is None


def _body(body: Body | None, policy: ArticlesPolicy, evidence: EvidenceOf) -> bytes | Rejection:
    if body is None:
        return Rejection(reason="body_missing")
    if body.size > policy.max_page_bytes:
        return Rejection(reason="page_too_large", detail=f"{body.size} bytes")
    packed = evidence(body.evidence) if body.evidence else body.zstd
    if packed is None:
        return Rejection(reason="evidence_missing", detail=body.evidence)
    try:
        unpacked = unpack_bytes(packed) if packed else b""
    except DecodeError as error:
        return Rejection(reason=error.reason, detail=error.detail)
    if len(unpacked) > policy.max_page_bytes:
        return Rejection(reason="page_too_large", detail=f"{len(unpacked)} bytes")
    return unpacked


def _reading(raw: RawItem, found: Extraction, reader: Reader) -> Reading:
    origin = raw.origin
    text = found.body or found.lede
    language = reader.languages.language(
        found.title,
        text,
        page="" if found.from_entry else found.language,
        entry=raw.entry.language if raw.entry else "",
        origin=origin.language,
    )
    url, country = found.canonical_url, origin.country
    stated = sections_of(found.section, found.kinds)
    about = topics(url, stated, found.keywords, origin.category, language, reader.topic_words, country)
    credit = wire_credit(found.authors, found.body or found.lede, reader.label_words, url)
    article = Article(
        article_id=article_id(identity_form(found.canonical_url)),
        language=language,
        version=0,
        event="new",
        canonical_url=found.canonical_url,
        publisher=origin.publisher,
        title=found.title,
        first_seen_ms=raw.found_ms or raw.fetched_ms,
        decided_ms=0,
        parser_version=PARSER_VERSION,
        publisher_name=origin.name,
        owner=origin.owner,
        country=origin.country,
        authority=origin.authority,
        lede=found.lede,
        words=words(found.body),
        authors=found.authors,
        image=found.image,
        section=found.section,
        keywords=found.keywords,
        topics=about,
        subtopics=subtopics(url, stated, found.keywords, reader.topic_words, country, about),
        entities=reader.entities.entities(
            found.title, found.lede, found.body, language, origin.country, found.mentions
        ),
        labels=labels(
            url, found.section, found.types, found.paywalled, reader.label_words, title=found.title, kinds=found.kinds
        ),
        wire_credit=credit,
        published_ms=found.published_ms,
        modified_ms=found.modified_ms,
        found_ms=raw.found_ms or raw.fetched_ms,
        from_entry=found.from_entry,
        asked_url=raw.url,
        feed_id=raw.feed_id,
        source_url=_source(raw),
        noindex=found.noindex or origin.noindex,
        max_snippet=found.max_snippet if found.max_snippet is not None else origin.max_snippet,
        max_image_preview=found.max_image_preview,
        links=found.links,
        credits=found.credits,
        corrections=found.corrections,
        sources=found.sources | ({"rejected": found.rejected} if found.rejected else {}),
    )
    by_others = _by_others(raw, found)
    return Reading(
        article=article,
        body=found.body,
        read_ms=raw.fetched_ms,
        from_page=not found.from_entry and not by_others,
        alone=_alone(raw),
        by_others=by_others,
    )


def _by_others(raw: RawItem, found: Extraction) -> bool:
    """Whether another site than the article's own tells of it: a feed of another publisher, or who serves a copy."""
    own = site(found.canonical_url)
    if found.from_entry:
        # Publishers go by the name of their site. One that does not is another to all its articles alike.
        return answering_site(f"http://{raw.origin.publisher}/") != own
    return own not in (answering_site(raw.final_url or raw.url), answering_site(raw.url))


def _source(raw: RawItem) -> str:
    """The original publisher that an aggregating feed names, as an http(s) address."""
    source = raw.entry.source_url if raw.entry else ""
    try:
        return source if urlsplit(source).scheme in ("http", "https") else ""
    except ValueError:
        return ""
