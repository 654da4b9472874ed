"""`broadsheet sources discover`: find the feeds, news sitemaps and hubs of a site, show them and register them.

The site is asked by site_survey.py; here what it found becomes rows, records and lines.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
from yarl import URL

from cli.errors import UserError
from cli.source_rows import COLUMNS, source_of, url_fault
from connectors.settings import Endpoints
from state_schemas.codec import encode_record
from state_schemas.sources import Source

if TYPE_CHECKING:
    from cli.site_survey import Survey
    from udfs.feeds.candidates import LeftOut
    from udfs.feeds.offers import Offer

# With a gateway every host is this machine's own, and need not be spared.
GATEWAY_GAP_MS = 20

_LANGUAGE = re.compile(r"[a-z]{2,3}(?=$|[-_])", re.IGNORECASE)
_FOUND = {
    "given": "given",
    "link": "declared by the page",
    "header": "declared by the Link header",
    "anchor": "linked by the page",
    "directory": "listed on a page of feeds",
    "robots": "named by robots.txt",
    "index": "named by a sitemap index",
    "place": "at a usual place",
    "navigation": "linked by the navigation",
}
_REASONS = {
    "comment_feed": "comments, not articles",
    "duplicate": "the same",
    "section_has_feed": "a feed of this section is there",
    "registered": "registered already",
    "html_not_feed": "a page, no feed",
    "front_without_articles": "hardly any links to articles",
    "sitemap_without_news": "no news sitemap",
    "not_a_news_sitemap": "no news sitemap",
    "robots_disallowed": "robots.txt does not allow it",
    "host_busy": "not asked any more, the host wants long pauses",
    "retry_after": "not asked any more, the host wants to be left alone",
    "breaker_open": "not asked any more, the host failed too often",
    "out_of_time": "not asked any more",
    "out_of_requests": "not asked any more",
    "out_of_bytes": "not asked any more",
    "too_many_links": "not asked",
    "too_many_hosts": "not asked",
    "private_address": "not an address of the public internet",
}


@click.command()
@click.argument("url")
@click.option("--publisher", help="Publisher id.  [default: the site's host name]")
@click.option("--name", default="", help="Publisher's name.  [default: the site's own name]")
@click.option("--country", default="", help="ISO 3166 alpha-2 code.  [default: as the site's address and page say]")
@click.option("--language", default="", help="Language code.  [default: each feed's own, else the page's]")
@click.option("--category", default="", help="One of the sections, or empty.")
@click.option("--authority", default="0.3", show_default=True, help="Prior from 0 to 1; 0.6 and more is polled faster.")
@click.option("--owner", default="", help="Who owns the publisher, where known.")
@click.option("--fronts", is_flag=True, help="Also the section pages of the navigation that have no feed.")
@click.option("--dry-run", is_flag=True, help="Only show what is there; register nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
def discover(url: str, *, fronts: bool, dry_run: bool, as_json: bool, **about: str | None) -> None:
    """Find the feeds, news sitemaps and hubs of the site at URL, and register them.

    URL is the site's front page, or a feed. Asks the site at most 40 times within a minute, as its robots.txt allows.
    What is registered already stays as it is.
    """
    from cli import sources

    endpoints = sources._endpoints()
    url = url.strip() if "://" in url else f"https://{url.strip()}"
    if reason := url_fault(url, endpoints.gateway):
        raise UserError(f"{url} {reason}")
    if not urlsplit(url).path:
        # Two spellings of one front page would be registered as two.
        url = str(URL(url, encoded=True).with_path("/", encoded=True, keep_query=True))
    wanted = {key: value or "" for key, value in about.items()}
    # What is wrong with an option is said before the site is asked, not after.
    checked = source_of(_row(url, wanted), 0, gateway=endpoints.gateway)
    if isinstance(checked, str):
        raise UserError(checked)
    # The broker before the site: one that is down would make a minute's questions vain.
    known = {} if dry_run else sources._registered(endpoints)
    found = _surveyed(url, endpoints, fronts)
    if not found.offers:
        raise UserError(_nothing(url, found))
    records, left = _records(found, wanted, endpoints, known, sources._now_ms())
    if records and not dry_run:
        sources._send(endpoints, [record for _, record in records])
    if as_json:
        click.echo(json.dumps(_as_json(found, records, left, registered=not dry_run)))
        return
    for offer, record in records:
        click.echo(f"{record.feed_id} {record.url}: {'found' if dry_run else 'registered'}, {record.tier}")
        click.echo(f"  {_described(offer, record)}")
    guessed = sum(1 for one in left if _is_miss(one))
    for one in left:
        if not _is_miss(one):
            reason = _REASONS.get(one.reason, one.reason.replace("_", " "))
            detail = f" ({one.detail})" if one.detail and one.reason not in ("html_not_feed", "comment_feed") else ""
            click.echo(f"left out {one.url}: {reason}{detail}")
    if guessed:
        click.echo(f"{guessed} usual places without a feed")
    click.echo(_summary(records, found, dry_run=dry_run))


def _surveyed(url: str, endpoints: Endpoints, fronts: bool) -> Survey:
    """Ask the site. Raises UserError."""
    # Imported here: parsers of HTML and XML and an HTTP client, which the other commands of `sources` do without.
    from cli.site_survey import SurveyClient, SurveyError, SurveyPolicy, survey
    from services.fetcher.fetching import Fetching
    from services.fetcher.policy import FetchPolicy
    from services.fetcher.settings import FetcherSettings
    from udfs import sections
    from udfs.articles.canonical import load_tracking_parameters
    from udfs.profiles import ProfileError, policy
    from udfs.sections import SectionTerms, parse_sections

    async def ask() -> Survey:
        bounds = SurveyPolicy()
        client = SurveyClient(
            bounds, limits.http(settings.ports), user_agent=settings.user_agent(), gateway=endpoints.gateway
        )
        try:
            return await survey(url, Fetching(limits, client), client, tracking, terms, fronts=fronts, bounds=bounds)
        finally:
            await client.close()

    settings = FetcherSettings.from_mapping(os.environ)
    folder = endpoints.reference_data_folder()
    try:
        limits = policy(FetchPolicy, "fetcher", endpoints.profile, folder)
        terms = SectionTerms(parse_sections((folder / sections.FILE).read_text("utf-8"), (), []))
        tracking = load_tracking_parameters(folder / "tracking_parameters.txt")
    except ProfileError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from None
    if endpoints.gateway:
        limits = replace(limits, host_gap_ms=min(limits.host_gap_ms, GATEWAY_GAP_MS))
    try:
        return asyncio.run(ask())
    except SurveyError as error:
        raise UserError(str(error)) from None


def _records(
    found: Survey, about: dict[str, str], endpoints: Endpoints, known: dict[str, Source], now_ms: int
) -> tuple[list[tuple[Offer, Source]], list[LeftOut]]:
    """The offers with their records, and all that was left out, those registered already and not accepted among it."""
    from udfs.feeds.candidates import LeftOut, address_key

    ids = {address_key(source.url): source.feed_id for source in known.values()}
    records: list[tuple[Offer, Source]] = []
    left = list(found.left_out)
    for offer in found.offers:
        if registered := next((ids[key] for key in sorted(offer.seen) if key in ids), ""):
            left.append(LeftOut(offer.url, offer.via, "registered", registered))
            continue
        record = source_of(_row(offer.url, about, found, offer), now_ms, gateway=endpoints.gateway)
        if isinstance(record, str):
            left.append(LeftOut(offer.url, offer.via, "not_accepted", record))
        else:
            records.append((offer, record))
    return records, left


def _row(url: str, about: dict[str, str], found: Survey | None = None, offer: Offer | None = None) -> dict[str, str]:
    """A row as an import would have it: what the user says, else what the feed says, else what the page says."""
    site = urlsplit(found.facts.url if found else url).hostname or ""
    row = dict.fromkeys(COLUMNS, "") | {
        "feed_url": url,
        "publisher_id": about["publisher"] or site.removeprefix("www."),
        "publisher_name": about["name"],
        **{key: about[key] for key in ("country", "language", "category", "authority", "owner")},
    }
    if found is not None and offer is not None:
        title = next((each.title for each in found.offers if each.kind == "feed" and each.title), "")
        row["publisher_name"] = row["publisher_name"] or found.facts.name or title
        row["country"] = row["country"] or found.facts.country
        said = _LANGUAGE.match(offer.language)
        row["language"] = row["language"] or (said.group() if said else "") or found.facts.language
        row["kind"] = offer.kind
    return row


def _described(offer: Offer, record: Source) -> str:
    origin = record.origin
    newest = f", newest {_day(offer.newest_ms)}" if offer.newest_ms is not None else ""
    count = f"{offer.entries} entry" if offer.entries == 1 else f"{offer.entries} entries"
    parts = [
        f"{offer.format.replace('_', ' ')}, {count}{newest}, {_FOUND[offer.via]}",
        f'"{offer.title}"' if offer.title else "",
        " ".join(part for part in (origin.publisher, origin.country, origin.language) if part),
        f"hub {offer.hub}" if offer.hub else "",
        f"self {offer.topic}" if offer.topic and offer.topic != record.url else "",
    ]
    return "; ".join(part for part in parts if part)


def _day(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return "in no year"


def _is_miss(one: LeftOut) -> bool:
    """Whether it is a guess that came to nothing, which is no news."""
    return one.via == "place" and one.reason not in ("duplicate", "registered", "not_accepted")


def _nothing(url: str, found: Survey) -> str:
    given = next((one for one in found.left_out if one.via == "given"), None)
    reason = f"; the page itself: {_REASONS.get(given.reason, given.reason.replace('_', ' '))}" if given else ""
    short = next((one for one in found.left_out if one.reason.startswith("out_of_")), None)
    ended = f"; not all was asked: {short.detail}" if short and short is not given else ""
    return f"{url}: no feed, news sitemap or front page was found in {found.spent} requests{reason}{ended}"


def _summary(records: list[tuple[Offer, Source]], found: Survey, *, dry_run: bool) -> str:
    count = f"{len(records)} source" if len(records) == 1 else f"{len(records)} sources"
    return f"{count} {'found, nothing registered' if dry_run else 'registered'}; {found.spent} requests"


def _as_json(
    found: Survey, records: list[tuple[Offer, Source]], left: list[LeftOut], *, registered: bool
) -> dict[str, Any]:
    facts = found.facts
    return {
        "site": {
            "url": facts.url,
            "name": facts.name,
            "language": facts.language,
            "country": facts.country,
            "hub": facts.hub,
            "self": facts.topic,
        },
        "sources": [
            {
                "source": json.loads(encode_record(record)),
                "format": offer.format,
                "found": offer.via,
                "title": offer.title,
                "entries": offer.entries,
                "newest_ms": offer.newest_ms,
                "hub": offer.hub,
                "self": offer.topic,
            }
            for offer, record in records
        ],
        "left_out": [{"url": one.url, "found": one.via, "reason": one.reason, "detail": one.detail} for one in left],
        "requests": found.spent,
        "bytes": found.received_bytes,
        "registered": registered,
    }
