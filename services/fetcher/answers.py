"""What the line is told of a request's end: the records for feeds.fetched, items.raw and quarantine. Pure.

Whose fault it is decides the outcome: an answer of the server, a refusal to ask, a host that must be left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from msgspec.structs import replace

from connectors.headers import date_ms, fresh_ms, retry_after_ms
from connectors.http import REDIRECTS, HttpError, HttpRefusedError, Response
from services.fetcher.gate import Ended, Throttled
from services.fetcher.hosts import DeferredError
from services.fetcher.policy import FetchPolicy
from state_schemas.fetching import Body, FetchRequest, FetchResult, Outcome, RawItem

# How a request ended: an answer, no answer, or not now.
Got = Response | HttpError | DeferredError


@dataclass(frozen=True, slots=True)
class Unsent:
    """How a re-check ended that nobody need hear of: the page is as it was, or could not be had this time."""

    outcome: Outcome
    reason: str


# What parsing needs of a page's headers.
PAGE_HEADERS = ("content-type", "x-robots-tag", "content-language", "last-modified", "date", "link")
HEADER_CHARS = 8_192

# Reasons whose evidence an operator should see: hostile or broken, not merely absent.
SET_ASIDE = frozenset(
    {
        "address_literal",
        "body_too_large",
        "body_undecodable",
        "credentials_in_url",
        "decompression_bomb",
        "encoding_unknown",
        "fetcher_fault",
        "port_refused",
        "private_address",
        "redirect_insecure",
        "redirect_malformed",
        "response_malformed",
        "scheme_refused",
        "too_many_redirects",
        "url_malformed",
    }
)
# Failures that say the host, not the page, is in trouble.
HOST_FAULTS = frozenset({"timed_out", "dns_failed", "connect_failed", "tls_failed", "connection_lost"})

# As browsers sniff (WHATWG MIME Sniffing, 7.1): a first tag of HTML, after space, an XML declaration and comments.
_HTML = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|title|script)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_VAGUE_TYPES = frozenset(
    {"", "text/plain", "application/octet-stream", "text/xml", "application/xml", "unknown/unknown"}
)


def is_html(content_type: str, body: bytes) -> bool:
    """Whether a page is one: by its type, or by its first kilobyte where the type says nothing."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in ("text/html", "application/xhtml+xml"):
        return True
    return kind in _VAGUE_TYPES and _HTML.match(body[:1024]) is not None


def host_verdict(got: Got, received_ms: int) -> Ended:
    """What the end of a request says of the host that was asked last."""
    if isinstance(got, Response):
        wait = _retry_after(got, received_ms)
        if got.status == 429 or (got.status == 503 and wait is not None):
            return Throttled(wait)
        return "failed" if got.status >= 500 else "answered"
    if isinstance(got, HttpError):
        return "failed" if got.reason in HOST_FAULTS else "answered"
    return "unasked"


def feed_result(request: FetchRequest, got: Got, body: Body | None, now_ms: int) -> FetchResult:
    """The answer to a feed request. body: of a Response that has one."""
    if isinstance(got, DeferredError):
        return _result(request, "deferred", now_ms, reason=got.reason, not_before_ms=got.until_ms)
    if isinstance(got, HttpError):
        outcome: Outcome = "refused" if isinstance(got, HttpRefusedError) else "failed"
        return _result(request, outcome, now_ms, reason=got.reason, detail=_clean(got.detail), status=got.status)
    outcome, reason = _outcome(got, body)
    headers = got.headers
    return _result(
        request,
        outcome,
        now_ms,
        reason=reason,
        status=got.status,
        final_url=got.final_url,
        moved_to=got.final_url if got.moved else "",
        etag=headers.get("etag", "")[:HEADER_CHARS],
        last_modified=headers.get("last-modified", "")[:HEADER_CHARS],
        date_ms=date_ms(headers.get("date", "")),
        retry_after_ms=_retry_after(got, now_ms),
        max_age_ms=fresh_ms(headers, now_ms),
        link_header=headers.get("link", "")[:HEADER_CHARS],
        body=body if outcome == "fetched" else None,
        elapsed_ms=got.elapsed_ms,
    )


def hub_result(request: FetchRequest, got: Got, now_ms: int) -> FetchResult:
    """The answer to a request to a hub: only whether it took the form. A redirect that would drop the form is the end
    of it: the hub has moved, and its publisher must say where to."""
    if not isinstance(got, Response):
        return feed_result(request, got, None, now_ms)
    reason = "" if 200 <= got.status < 300 else f"status_{got.status}"
    if got.status in REDIRECTS:
        reason = "hub_redirected"
    outcome: Outcome = "gone" if got.status == 410 else "failed" if reason else "fetched"
    return _result(
        request,
        outcome,
        now_ms,
        reason="gone" if outcome == "gone" else reason,
        status=got.status,
        final_url=got.final_url,
        moved_to=got.final_url if got.moved else "",
        date_ms=date_ms(got.headers.get("date", "")),
        retry_after_ms=_retry_after(got, now_ms),
        elapsed_ms=got.elapsed_ms,
    )


def page_answer(
    request: FetchRequest,
    got: Got,
    body: Body | None,
    now_ms: int,
    policy: FetchPolicy,
    *,
    html: bool,
    conditional: bool = False,
    known: bool = False,
) -> RawItem | FetchResult | Unsent:
    """The answer to a page request: evidence for parsing, or the request itself where it must come again.

    html: whether the body is a page. conditional: it was asked for with validators. known: a re-check whose body is
    the one that was last sent.
    """
    if isinstance(got, DeferredError):
        return _handed_back(request, got.reason, got.until_ms, now_ms)
    if isinstance(got, HttpError):
        if got.reason == "robots_unreachable":
            # The rules may be had again in a minute, and an article is worth more than its entry.
            return _handed_back(request, got.reason, now_ms + policy.robots_retry_ms, now_ms)
        outcome: Outcome = "refused" if isinstance(got, HttpRefusedError) else "failed"
        return _without_page(request, outcome, got.reason, now_ms, detail=_clean(got.detail), status=got.status)
    if got.status in (429, 503) and request.attempt + 1 < policy.page_attempts:
        wait = _retry_after(got, now_ms)
        until = now_ms + (policy.backoff_base_ms if wait is None else wait)
        return _handed_back(request, f"status_{got.status}", until, now_ms)
    found = {name: got.headers[name][:HEADER_CHARS] for name in PAGE_HEADERS if name in got.headers}
    facts = {"status": got.status, "final_url": got.final_url, "headers": found}
    if got.status == 404 and request.recheck:
        # One may be a slip of the publisher's system; what is still missing after a while was taken back.
        missing_ms = request.missing_ms or now_ms
        until = missing_ms + policy.missing_ms
        if not request.missing_ms or now_ms < until:
            return _handed_back(replace(request, missing_ms=missing_ms), "status_404", until, now_ms)
        return _item(request, "retraction", now_ms, reason="status_404", **facts)
    outcome, reason = _outcome(got, body)
    if outcome == "not_modified" and conditional:
        return Unsent(outcome, "")
    if outcome == "not_modified":
        outcome, reason = "failed", "status_304"  # nobody asked for it, so nothing is known to be as it was
    if outcome == "gone":
        return _item(request, "retraction", now_ms, reason=reason, **facts)
    if outcome == "fetched" and html:
        return Unsent("not_modified", "body_known") if known else _item(request, "page", now_ms, body=body, **facts)
    if outcome == "fetched":
        outcome, reason, facts["detail"] = "failed", "not_html", found.get("content-type", "")
    return _without_page(request, outcome, reason, now_ms, **facts)


def retractions(item: RawItem) -> tuple[RawItem, ...]:
    """A retraction by each address that the article may be known by: where the request ended, and the one asked for.

    A site may lead the readers of what it took back to a notice. What was never met under an address stays so.
    """
    if item.final_url in ("", item.url):
        return (item,)
    return item, replace(item, final_url=item.url)


def set_aside_reason(got: Got) -> str:
    """The reason under which the end of a request also goes to quarantine; empty for none."""
    return got.reason if isinstance(got, HttpError) and got.reason in SET_ASIDE else ""


def _outcome(response: Response, body: Body | None) -> tuple[Outcome, str]:
    if 200 <= response.status < 300:
        return ("fetched", "") if body is not None and body.size else ("failed", "body_empty")
    if response.status == 304:
        return "not_modified", ""
    if response.status == 410:
        return "gone", "gone"
    return "failed", f"status_{response.status}"


def _retry_after(response: Response, received_ms: int) -> int | None:
    return retry_after_ms(response.headers.get("retry-after", ""), response.headers.get("date", ""), received_ms)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:500]


def _result(asked: FetchRequest, outcome: Outcome, now_ms: int, **more: object) -> FetchResult:
    return FetchResult(
        request_id=asked.request_id,
        feed_id=asked.feed_id,
        kind=asked.kind,
        url=asked.url,
        outcome=outcome,
        fetched_ms=now_ms,
        **more,  # type: ignore[arg-type]
    )


def _handed_back(request: FetchRequest, reason: str, until_ms: int, now_ms: int) -> FetchResult:
    return _result(request, "deferred", now_ms, reason=reason, not_before_ms=until_ms, request=request)


def _without_page(
    request: FetchRequest, outcome: Outcome, reason: str, now_ms: int, **more: object
) -> RawItem | Unsent:
    """The entry serves. A re-check without one leaves the article as it is."""
    if request.recheck and request.entry is None:
        return Unsent(outcome, reason)
    return _item(request, "entry", now_ms, reason=reason, **more)


def _item(request: FetchRequest, kind: str, now_ms: int, **more: object) -> RawItem:
    return RawItem(
        kind=kind,  # type: ignore[arg-type]
        url=request.url,
        origin=request.origin,
        found_ms=request.found_ms,
        fetched_ms=now_ms,
        feed_id=request.feed_id,
        request_id=request.request_id,
        entry=request.entry,
        recheck=request.recheck,
        **more,  # type: ignore[arg-type]
    )
