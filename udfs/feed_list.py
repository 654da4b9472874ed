"""What a list of feeds holds: reads reference_data/feeds.csv, and any file of the same form, purely.

A row says where a feed is, who publishes it and what may be assumed before anything has been read: facts and a prior,
never a judgement of an article. docs/reference-data.md holds the rule for `authority`.
"""

from __future__ import annotations

import csv
import io
import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from state_schemas.languages import LANGUAGES
from udfs.editions import COUNTRIES
from udfs.reference_faults import Fault
from udfs.sections import SECTION_IDS

FILE = "feeds.csv"
HEADER = ("feed_url", "publisher_id", "publisher_name", "country", "language", "category", "authority", "owner")
PUBLISHER_ID = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
OWNER = re.compile(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*)?")


@dataclass(frozen=True, slots=True)
class ListedFeed:
    """One row. category: a section id. authority: the publisher's prior, 0 to 1. owner: slug, empty if none known."""

    feed_url: str
    publisher_id: str
    publisher_name: str
    country: str
    language: str
    category: str
    authority: float
    owner: str


def parse_feeds(text: str, faults: list[Fault], file: str = FILE) -> tuple[ListedFeed, ...]:
    """The rows that are right, in order; a row with a fault is left out, and the fault names its line and address.

    The rows of one publisher must agree on country, authority and owner; its name may differ, as services in other
    languages have their own.
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    feeds: list[ListedFeed] = []
    seen: dict[str, int] = {}
    publishers: dict[str, ListedFeed] = {}
    line = 1
    try:
        header = next(reader, [])
        if tuple(header) != HEADER:
            faults.append(Fault(file, 1, "", f"the header must be {','.join(HEADER)}"))
            return ()
        line = reader.line_num + 1
        for row in reader:
            if row:
                feed, reasons = _feed(row)
                if feed is not None:
                    reasons += _disagreements(feed, line, seen, publishers)
                faults.extend(Fault(file, line, row[0], reason) for reason in reasons)
                if feed is not None and not reasons:
                    feeds.append(feed)
            line = reader.line_num + 1
    except csv.Error as error:
        faults.append(Fault(file, line, "", f"is not CSV: {error}"))
    return tuple(feeds)


def _feed(row: list[str]) -> tuple[ListedFeed | None, list[str]]:
    """A feed, or None and the reasons why the row is none."""
    if len(row) != len(HEADER):
        return None, [f"{len(row)} fields where there must be {len(HEADER)}"]
    url, publisher, name, country, language, category, authority, owner = row
    reasons = []
    if reason := _reason_against_url(url):
        reasons.append(reason)
    if not PUBLISHER_ID.fullmatch(publisher):
        reasons.append(f"publisher_id {publisher!r} must be lower-case letters, digits, dots and hyphens")
    if not name.strip() or name != name.strip():
        reasons.append("publisher_name must be a name without spaces around it")
    if country not in COUNTRIES:
        reasons.append(f"country {country!r} is not an ISO 3166-1 alpha-2 code")
    if language not in LANGUAGES:
        reasons.append(f"language {language!r} is not in the table of languages")
    if category not in SECTION_IDS:
        reasons.append(f"category {category!r} is none of {', '.join(SECTION_IDS)}")
    if not re.fullmatch(r"0\.\d{1,3}|1(?:\.0{1,3})?", authority):
        reasons.append(f"authority {authority!r} must be a decimal from 0 to 1")
    if not OWNER.fullmatch(owner):
        reasons.append(f"owner {owner!r} must be a slug or empty")
    if reasons:
        return None, reasons
    return ListedFeed(url, publisher, name, country, language, category, float(authority), owner), []


def _reason_against_url(url: str) -> str:
    """Why no feed can stand at this address; empty if one can. Only the form is judged: nothing is looked up."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "feed_url is not an address"
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not host:
        return "feed_url must be an http or https address"
    if re.search(r"\s", url) or parts.fragment or parts.username is not None or not url.isascii():
        return "feed_url must be ASCII, without spaces, fragment or credentials"
    if port not in {None, 80, 443}:
        return f"feed_url names port {port}: publishers serve feeds at 80 and 443"
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "" if "." in host.strip(".") else f"feed_url: {host!r} is no public host name"
    return "feed_url must name a host, not an IP address"


def _disagreements(feed: ListedFeed, line: int, seen: dict[str, int], publishers: dict[str, ListedFeed]) -> list[str]:
    """What the row has in conflict with the rows before it, which `seen` and `publishers` hold."""
    address = urlsplit(feed.feed_url)._replace(scheme="").geturl().rstrip("/")
    first = seen.setdefault(address, line)
    if first != line:
        return [f"stands in line {first} already"]
    known = publishers.setdefault(feed.publisher_id, feed)
    return [
        f"{key} of {feed.publisher_id} was {getattr(known, key)!r} before"
        for key in ("country", "authority", "owner")
        if getattr(known, key) != getattr(feed, key)
    ]
