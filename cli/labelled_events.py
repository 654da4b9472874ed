"""Labelled event files as the parse stage would hand them on, and the writers' decisions about them.

A file holds one JSON object a line: id, title, text, lang, published_at, url, publisher, cluster. Two articles are
about one event exactly when their cluster is equal. Encoding, places and signatures are those of the parse stage;
decisions are those of the production writers, one a language.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cli.errors import UserError
from connectors.settings import Endpoints
from state_schemas.articles import Article, Tick
from state_schemas.codec import pack_text, pack_vector
from state_schemas.ids import article_id
from state_schemas.languages import known_language
from udfs.articles.encoder import EncoderError, encoder_input, load_encoder
from udfs.articles.entities import load_entity_finder
from udfs.articles.signatures import SignaturePolicy, signature, words
from udfs.stories.ledger import Read
from udfs.stories.policy import ClusterModel, ClusterPolicy
from udfs.stories.writer import Judge, LanguageWriter

# Without times articles follow each other so closely that nothing expires and no hour passes.
_START_MS = 1_700_000_000_000
_STEP_MS = 1_000
_NEEDED = ("id", "title", "text", "cluster")


@dataclass(frozen=True, slots=True)
class Labelled:
    """An article and the event it is about."""

    article: Article
    event: str


def read_labelled(path: Path, *, use_times: bool) -> list[tuple[dict[str, Any], int]]:
    """The file's rows with their instants in ms UTC, in time order (file order where dates are missing).

    Raises UserError on a file that cannot be read, naming the line.
    """
    rows: list[tuple[dict[str, Any], int]] = []
    at_ms = _START_MS
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                row = json.loads(line)
                missing = [name for name in _NEEDED if not isinstance(row, dict) or row.get(name) is None]
                if missing:
                    raise UserError(f"{path}, line {number}: no {' and no '.join(missing)}")
                stamp = row.get("published_at") if use_times else None
                at_ms = _instant_ms(stamp) if stamp else at_ms + (0 if use_times else _STEP_MS)
                rows.append((row, at_ms))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: {error}") from None
    except ValueError as error:
        raise UserError(f"{path}, line {number}: {error}") from None
    if not rows:
        raise UserError(f"{path}: no article in it")
    return sorted(rows, key=lambda entry: entry[1])


def _instant_ms(stamp: str) -> int:
    instant = datetime.fromisoformat(str(stamp))
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return int(instant.timestamp() * 1000)


def as_articles(
    rows: Iterable[tuple[dict[str, Any], int]], endpoints: Endpoints, progress: Callable[[int], None] = lambda _: None
) -> Iterator[Labelled]:
    """Encode and sign each row as the parse stage does. Raises UserError where the encoder is not built."""
    try:
        encoder = load_encoder(endpoints.encoder, Path(endpoints.encoder_folder))
    except EncoderError as error:
        raise UserError(str(error)) from None
    finder = load_entity_finder(endpoints.reference_data_folder())
    policy = SignaturePolicy()
    for number, (row, at_ms) in enumerate(rows):
        title, text = str(row["title"]), str(row["text"])
        language = known_language(str(row.get("lang") or "und"))
        signed = signature(text, policy)
        given = encoder_input(title, text, language)
        yield Labelled(
            Article(
                article_id=article_id(f"{number} {row['id']}"),
                language=language,
                version=1,
                event="new",
                canonical_url=str(row.get("url") or row["id"]),
                # An unnamed publisher is nobody's second article.
                publisher=str(row.get("publisher") or f"unnamed-{number}"),
                title=title,
                first_seen_ms=at_ms,
                decided_ms=at_ms,
                parser_version="labelled",
                body=pack_text(text),
                words=words(text),
                entities=finder.entities(title, "", text, language, ""),
                content_hash=signed.content_hash,
                minhash=signed.minhash,
                embedding=pack_vector(encoder.encode([given])[0]) if given else b"",
                encoder_version=encoder.model_version,
            ),
            str(row["cluster"]),
        )
        progress(number + 1)


@dataclass(frozen=True, slots=True)
class Assigned:
    """Where an article ended, and whether it was ever elsewhere."""

    story: str
    event: str
    stable: bool


def assign(
    labelled: Sequence[Labelled], model: ClusterModel, policy: ClusterPolicy, judge: Judge | None = None
) -> list[Assigned]:
    """What the production writers decide about the articles, in their order; a tick stands before each."""
    stored: dict[str, dict[tuple[str, str], bytes]] = {}
    writers: dict[str, LanguageWriter] = {}
    stories: dict[str, list[str]] = {}
    for entry in labelled:
        language = entry.article.language
        writer = writers.get(language)
        if writer is None:
            rows = stored.setdefault(language, {})
            writer = writers[language] = LanguageWriter(language, model, policy, _reader(rows), judge)
        for record in (Tick(language=language, decided_ms=entry.article.decided_ms), entry.article):
            decision = writer.decide(record)
            for name, key, value in decision.puts:
                if value is None:
                    stored[language].pop((name, key), None)
                else:
                    stored[language][name, key] = value
            for change in decision.changes:
                if change.article is not None:
                    stories.setdefault(change.article.article_id, []).append(change.story.story_id)
    return [
        Assigned(stories[entry.article.article_id][-1], entry.event, len(set(stories[entry.article.article_id])) == 1)
        for entry in labelled
    ]


def _reader(rows: dict[tuple[str, str], bytes]) -> Read:
    return lambda name, key: rows.get((name, key))
