"""What a user writes of a feed (a CSV row, options) as a Source, or why it is none. Pure: no Kafka, no DNS."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass

from connectors.addresses import AddressPolicy, parse, url_refusal
from state_schemas.ids import feed_id
from state_schemas.sources import Origin, Source, SourceKind

# A row may have `kind` beside them: feed (the default), sitemap or front.
COLUMNS = ("feed_url", "publisher_id", "publisher_name", "country", "language", "category", "authority", "owner")

# The prior from which on a publisher's feeds are polled every minute rather than every five (docs/sources.md).
AUTHORITATIVE = 0.6

_KINDS: dict[str, SourceKind] = {"feed": "feed", "sitemap": "sitemap", "front": "front"}

_REFUSALS = {
    "scheme_refused": "must begin with http:// or https://",
    "url_malformed": "is no address",
    "credentials_in_url": "must not carry a user name or password",
    "port_refused": "must use port 80 or 443",
    "private_address": "names an address that is not of the public internet",
    "address_literal": "must name a host, not an IP address",
}


@dataclass(frozen=True, slots=True)
class RowFault:
    """A row that cannot be imported. row: its number, 1 is the header's."""

    row: int
    reason: str


def read_rows(text: str, registered_ms: int, *, gateway: str = "") -> tuple[list[Source], list[RowFault]]:
    """The feeds of a CSV text, and the faults of the other rows, both in order.

    gateway: as in the settings; with one, host names lead to it and need be none of the internet. Raises csv.Error.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = [name.strip() for name in next(reader, [])]
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        return [], [RowFault(1, f"the header must be {','.join(COLUMNS)}; it has no {', '.join(missing)}")]
    good: list[Source] = []
    bad: list[RowFault] = []
    lines: dict[str, int] = {}
    while True:
        number = reader.line_num + 1
        fields = next(reader, None)
        if fields is None:
            return good, bad
        if not any(field.strip() for field in fields):
            continue
        if len(fields) != len(header):
            bad.append(RowFault(number, f"{len(fields)} fields where the header has {len(header)}"))
            continue
        found = source_of(dict(zip(header, fields, strict=True)), registered_ms, gateway=gateway)
        if isinstance(found, str):
            bad.append(RowFault(number, found))
        elif (first := lines.setdefault(found.feed_id, number)) != number:
            bad.append(RowFault(number, f"{found.url} stands in row {first} already"))
        else:
            good.append(found)


def source_of(row: Mapping[str, str], registered_ms: int, *, gateway: str = "") -> Source | str:
    """The feed of one row (keys: COLUMNS, `kind` beside them), or why there is none, in one line naming the field."""
    values = {name: row[name].strip() for name in COLUMNS}
    url = values["feed_url"]
    if reason := url_fault(url, gateway):
        return f"feed_url {_shown(url)} {reason}"
    try:
        authority = float(values["authority"] or "0.3")
    except ValueError:
        authority = -1.0
    if not 0 <= authority <= 1:
        return f"authority {_shown(values['authority'])} must be a number from 0 to 1"
    country, language = values["country"].upper(), values["language"].lower()
    if country and not (len(country) == 2 and country.isascii() and country.isalpha()):
        return f"country {_shown(country)} must be a code of two letters (ISO 3166), or empty"
    base = language.partition("-")[0]
    if language and not (2 <= len(base) <= 3 and base.isascii() and base.isalpha()):
        return f"language {_shown(language)} must be a code such as en, or empty"
    kind = _KINDS.get(row.get("kind", "").strip().lower() or "feed")
    if kind is None:
        return f"kind {_shown(row['kind'])} must be feed, sitemap or front"
    category = values["category"].lower()
    parsed = parse(url)
    publisher = values["publisher_id"] or (parsed.host or "" if parsed else "")
    if any(character.isspace() for character in publisher) or len(publisher) > 200:
        return f"publisher_id {_shown(publisher)} must be one word"
    return Source(
        feed_id=feed_id(url),
        url=url,
        origin=Origin(
            publisher=publisher,
            name=values["publisher_name"] or publisher,
            # Codes that say "not known" are left out: what is not known may be found out later.
            country="" if country == "ZZ" else country,
            language="" if base == "und" else base,
            category="" if category == "general" else category,
            authority=authority,
            owner=values["owner"],
        ),
        kind=kind,
        tier="authoritative" if authority >= AUTHORITATIVE else "tail",
        registered_ms=registered_ms,
    )


def url_fault(url: str, gateway: str) -> str:
    """Why no feed at this address is ever asked; empty if one may be."""
    parsed = parse(url)
    if parsed is None or not url:
        return _REFUSALS["url_malformed"]
    refusal = url_refusal(parsed, AddressPolicy(gateway=bool(gateway)))
    return "" if refusal is None else _REFUSALS.get(refusal, refusal)


def _shown(value: str) -> str:
    return repr(value if len(value) <= 100 else value[:97] + "...")
