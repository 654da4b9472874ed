"""Captured feeds and pages served again under their own host names, byte for byte: a Site over a folder. No HTTP.

The folder holds `feeds/*.xml` with `feeds/MANIFEST.tsv` (file, host, entries, title, language) and `pages/` with
`pages/truth.jsonl` (file, url, title, country, publisher, published_at). A feed's true address is not known, so it
stands at `/_captured/FILE` of its host; every host with pages has a feed that lists them, `/_captured/pages.xml`.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import escape

from services.press import feeds
from services.press.content import ContentError
from services.press.site import NOT_FOUND, Answer

PREFIX = "/_captured/"
PAGES_FEED = "pages.xml"
# Folder names of the captured pages that are not the country's ISO 3166 code.
_COUNTRIES = {"uk": "GB", "ind": "IN", "isl": "IS"}
_LANG = re.compile(rb"<html[^>]*?\slang=[\"']?([A-Za-z]{2,3})", re.IGNORECASE)
_CHARSET = re.compile(rb"charset=[\"']?([\w-]+)", re.IGNORECASE)
_LANG_WITHIN = 8192  # bytes of a page looked at for its language


@dataclass(frozen=True, slots=True)
class CapturedPage:
    """One page. file: relative to pages/. url: the address it was captured from."""

    file: str
    url: str
    title: str
    country: str
    publisher: str
    published_ms: int | None

    @property
    def address(self) -> tuple[str, str, str]:
        """(host, path, query), decoded, so that equal addresses written differently meet."""
        parts = urlsplit(self.url)
        return (parts.hostname or "", unquote(parts.path) or "/", unquote(parts.query))


@dataclass(frozen=True, slots=True)
class CapturedFeed:
    """One feed. file: relative to feeds/. language: two letters, or und."""

    file: str
    host: str
    entries: int
    title: str
    language: str
    country: str


@dataclass(frozen=True)
class CapturedSite:
    """The Site over `directory`. Raises ContentError on first use where the folder is not of that form."""

    directory: Path

    @cached_property
    def feeds(self) -> tuple[CapturedFeed, ...]:
        try:
            with (self.directory / "feeds" / "MANIFEST.tsv").open(encoding="utf-8", newline="") as lines:
                rows = list(csv.DictReader(lines, delimiter="\t"))
            return tuple(_feed(row) for row in rows)
        except OSError as error:
            raise ContentError(f"{error.filename}: {error.strerror}") from error
        except (KeyError, ValueError) as error:
            raise ContentError(f"{self.directory}/feeds/MANIFEST.tsv: {error}") from error

    @cached_property
    def pages(self) -> tuple[CapturedPage, ...]:
        truth = self.directory / "pages" / "truth.jsonl"
        try:
            return tuple(_page(json.loads(line)) for line in truth.read_text(encoding="utf-8").splitlines() if line)
        except OSError as error:
            raise ContentError(f"{error.filename}: {error.strerror}") from error
        except (KeyError, ValueError) as error:
            raise ContentError(f"{truth}: {error}") from error

    @cached_property
    def _by_address(self) -> dict[tuple[str, str, str], CapturedPage]:
        # The first capture of an address counts; a later one of the same address cannot be reached over HTTP.
        return {page.address: page for page in reversed(self.pages)}

    @cached_property
    def _by_path(self) -> dict[tuple[str, str], set[CapturedPage]]:
        found: dict[tuple[str, str], set[CapturedPage]] = defaultdict(set)
        for page in self._by_address.values():
            found[page.address[:2]].add(page)
        return found

    @cached_property
    def _by_host(self) -> dict[str, list[CapturedPage]]:
        found: dict[str, list[CapturedPage]] = defaultdict(list)
        for page in self.pages:
            if self._by_address[page.address] is page:
                found[page.address[0]].append(page)
        return dict(found)

    @cached_property
    def hosts(self) -> frozenset[str]:
        return frozenset({feed.host for feed in self.feeds} | set(self._by_host))

    def answer(self, scheme: str, host: str, path: str, query: str, now_ms: int) -> Answer | None:
        if host not in self.hosts:
            return None
        if path.startswith(PREFIX):
            return self._feed_answer(host, unquote(path.removeprefix(PREFIX)))
        page = self.find(host, path, query)
        if page is None:
            return NOT_FOUND
        body = self._read("pages", page.file)
        return Answer(200, body, f"text/html; charset={charset(body)}")

    def find(self, host: str, path: str, query: str) -> CapturedPage | None:
        """The page of that exact address, or the only one of that path where the query differs."""
        decoded = unquote(path) or "/"
        exact = self._by_address.get((host, decoded, unquote(query)))
        if exact is not None:
            return exact
        same_path = self._by_path.get((host, decoded), set())
        return next(iter(same_path)) if len(same_path) == 1 else None

    def status(self, now_ms: int) -> dict[str, Any]:
        return {
            "feeds": len(self.feeds),
            "feed_entries": sum(feed.entries for feed in self.feeds),
            "pages": len(self.pages),
            "page_addresses": len(self._by_address),
            "hosts": len(self.hosts),
        }

    def sources(self, suffix: str) -> Iterator[tuple[str, ...]]:
        """https addresses, as captured: the fetcher is told the gateway. suffix has no part in them."""
        for feed in self.feeds:
            name = feed.title or feed.host
            yield _row(feed.host, feed.file, name, feed.country, feed.language)
        for host, found in self._by_host.items():
            yield _row(host, PAGES_FEED, found[0].publisher or host, found[0].country, self._language(found))

    def _feed_answer(self, host: str, file: str) -> Answer:
        if file == PAGES_FEED and host in self._by_host:
            return Answer(200, pages_feed(host, self._by_host[host]), feeds.RSS)
        if not any(feed.host == host and feed.file == file for feed in self.feeds):
            return NOT_FOUND
        body = self._read("feeds", file)
        # No charset: the document's own XML declaration says it.
        kind = "application/atom+xml" if b"<feed" in body[:2048] else "application/rss+xml"
        return Answer(200, body, kind)

    def _read(self, folder: str, file: str) -> bytes:
        data = (self.directory / folder / file).read_bytes()
        return gzip.decompress(data) if file.endswith(".gz") else data

    def _language(self, found: list[CapturedPage]) -> str:
        """What most pages of a host declare, or und."""
        declared = Counter(
            match[1].decode().lower()
            for page in found
            if (match := _LANG.search(self._read("pages", page.file)[:_LANG_WITHIN]))
        )
        return declared.most_common(1)[0][0] if declared else "und"


def charset(body: bytes) -> str:
    """What to declare for these bytes: UTF-8 where they are valid, else what the page says, else windows-1252."""
    try:
        body.decode()
    except UnicodeDecodeError:
        match = _CHARSET.search(body[:_LANG_WITHIN])
        return match[1].decode().lower() if match else "windows-1252"
    return "utf-8"


def pages_feed(host: str, found: list[CapturedPage]) -> bytes:
    """An RSS feed that lists the captured pages of a host by address, title and date; the text is on the page alone."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<rss version="2.0"><channel><title>{escape(found[0].publisher or host)}</title>',
        f"<link>https://{host}/</link><description>Captured pages of {host}</description>",
    ]
    for page in found:
        date = f"<pubDate>{feeds.rfc822(page.published_ms)}</pubDate>" if page.published_ms is not None else ""
        lines.append(
            f"<item><title>{escape(page.title)}</title><link>{escape(page.url)}</link>"
            f'<guid isPermaLink="false">{escape(page.file)}</guid>{date}</item>'
        )
    lines += ["</channel></rss>", ""]
    return "\n".join(lines).encode()


def _row(host: str, file: str, name: str, country: str, language: str) -> tuple[str, ...]:
    publisher = host.removeprefix("www.")
    return (f"https://{host}{PREFIX}{file}", publisher, name, country, language, "general", "0.5", "")


def _feed(row: dict[str, str]) -> CapturedFeed:
    declared = (row["language"] or "").lower().split("-")
    region = declared[1].upper() if len(declared) > 1 and len(declared[1]) == 2 else "ZZ"
    return CapturedFeed(
        row["file"], row["host"], int(row["entries"]), row["title"].strip(), declared[0] or "und", region
    )


def _page(truth: dict[str, Any]) -> CapturedPage:
    folder = str(truth.get("country") or "")
    return CapturedPage(
        file=truth["file"],
        url=truth["url"],
        title=str(truth.get("title") or truth["url"]),
        country=_COUNTRIES.get(folder, folder.upper() or "ZZ"),
        publisher=str(truth.get("publisher") or ""),
        published_ms=_instant(truth.get("published_at")),
    )


def _instant(text: str | None) -> int | None:
    """ms UTC of an ISO time; a time without a zone is UTC; None where there is none."""
    if not text:
        return None
    when = datetime.fromisoformat(text)
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
