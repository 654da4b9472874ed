"""What a document brings: pages to ask for, what to remember, what to count, and whether something was missed.

No clock, no I/O. A sitemap index has no items itself; its children are asked for in its name, and theirs are its items.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from state_schemas.fetching import Entry, FetchRequest, FetchResult
from state_schemas.ids import hash64, hash64_hex
from state_schemas.polling import FeedState, pack_seen, unpack_seen
from udfs.articles.canonical import site
from udfs.feeds.document import Child, FeedError, ParsedFeed
from udfs.feeds.identity import page_address
from udfs.poll.actions import Action, Ask, Decision, Found, SetAside
from udfs.poll.items import announcement, difference, link_hash
from udfs.poll.pages import ask_again, ask_page, host_of, retract
from udfs.poll.policy import DAY_MS, HOUR_MS, PollPolicy
from udfs.poll.rate import first_observed, observed, within


@dataclass(frozen=True, slots=True)
class Taken:
    """state: the next row. changes: new and changed items. wait_ms: the interval that follows from an overrun (no item
    of the last document is in this one, so that some were never seen), or None."""

    state: FeedState
    actions: tuple[Action, ...]
    found: Found
    changes: int = 0
    wait_ms: int | None = None


def take_items(
    state: FeedState, document: ParsedFeed, now_ms: int, policy: PollPolicy, *, count: bool, child: bool = False
) -> Taken:
    """Ask for the pages of new and changed entries, and remember them. count: they count into the rate.

    child: the document is one of a sitemap index's.
    """
    first = not state.seen and not state.document_items
    found = difference(
        state.seen,
        document.entries,
        policy,
        trust_stamps=not state.stamps_useless,
        trust_titles=document.format != "front",
        one_of_several=child,
    )
    actions = _ask_pages(state, document, found.new, (*found.announced, *found.changed), now_ms)
    retractions, seen = _retractions(state, document, found.seen, now_ms, policy)
    actions += retractions
    came = (*found.new, *found.announced)
    overran = (
        count
        and not first
        and not child
        and found.overlap == 0
        and len(document.entries) > 1
        and state.document_items > 1
    )
    wait = _overrun_wait(state, document, now_ms, policy) if overran else None
    told = Found(0)
    if count:
        stamps = [entry.published_ms or entry.updated_ms for entry in came]
        if first and not child:
            stamps = [entry.published_ms or entry.updated_ms for entry in document.entries]
            state = first_observed(state, stamps, now_ms, policy)
        elif child:
            # The first look at a sitemap shows days of news; only what is of this hour tells of a rate.
            recent = [at for at in stamps if at is not None and now_ms - HOUR_MS <= at <= now_ms]
            state = observed(state, recent, now_ms, policy)
            told = Found(len(recent))
        else:
            late, delays = _delays(state, found.new, now_ms, policy)
            told = Found(len(came), late=late, delays_ms=delays, overran=overran, pushed=state.pushed)
            state = observed(state, stamps, now_ms, policy)
    state = replace(
        state,
        seen=seen,
        document_items=len(document.entries) or state.document_items,
        overruns=state.overruns + overran,
        guids_useless=state.guids_useless or document.guids_repeat or found.guids_restless,
        stamps_useless=state.stamps_useless or found.stamps_restless,
    )
    return Taken(state, tuple(actions), told, len(came) + len(found.changed), wait)


def _ask_pages(
    state: FeedState, document: ParsedFeed, new: tuple[Entry, ...], changed: tuple[Entry, ...], now_ms: int
) -> list[Action]:
    """A request for each page, once, in document order."""
    actions: list[Action] = []
    asked: set[str] = set()
    known = {entry.identity for entry in changed}
    wanted = known | {entry.identity for entry in new}
    for entry in document.entries if wanted else ():
        if entry.identity not in wanted:
            continue
        recheck = entry.identity in known
        if not entry.link:
            # A known one that changed was set aside when it was new.
            if not recheck:
                actions.append(SetAside("entry_without_link", state.source.feed_id, entry.title, entry))
            continue
        page = page_address(entry.link)
        if page not in asked:
            asked.add(page)
            actions.append(ask_page(state, entry, document.language, now_ms, recheck=recheck))
    return actions


def ask_announced(state: FeedState, links: tuple[str, ...], now_ms: int, policy: PollPolicy) -> Decision:
    """Ask for the pages that a delivery named and that are not known, before others; their entries follow by the poll.

    Once the feed lists such a page it is asked for again with its entry, for the article may need what that says.
    """
    remembered = unpack_seen(state.seen)
    known = {item.link for item in remembered}
    fresh = tuple(link for link in links if announcement(link).link not in known)
    whole = sum(1 for item in remembered if item.whole)
    # What the feed lists stays remembered, however many pages pushes name before the next poll sorts them out.
    room = max(0, policy.remembered_index + policy.recheck_links - whole)
    asks = ask_again(state, fresh, now_ms, policy, announced=True)[:room]
    if not asks:
        return state, ()
    items = [*(announcement(ask.request.url) for ask in asks), *remembered]
    whole += len(asks)
    most = max(policy.remembered, len(remembered), whole)
    return replace(state, seen=pack_seen(items[:most], whole)), asks


def _retractions(
    state: FeedState, document: ParsedFeed, seen: bytes, now_ms: int, policy: PollPolicy
) -> tuple[list[Action], bytes]:
    """What the publisher withdrew (RFC 6721), of what this feed listed before: nobody withdraws another's articles.

    The page must be one that was remembered, or its address the identity itself. A page of another site is asked for
    again instead: a feed may list whose pages it likes. A page that is still listed lost an id alone. What is withdrawn
    is forgotten: it is told once, and new should it come back. seen: as it would be remembered; the second value is
    what is left of it.
    """
    listed_now = {entry.identity for entry in document.entries}
    pages_now = {page_address(entry.link) for entry in document.entries if entry.link}
    deleted = [deletion for deletion in document.deleted if hash64_hex(deletion.ref) not in listed_now]
    if not deleted:
        return [], seen
    remembered = unpack_seen(state.seen)
    identities, links = {item.identity for item in remembered}, {item.link for item in remembered if item.link}
    actions: list[Action] = []
    forgotten: set[int] = set()
    for deletion in deleted:
        identity = hash64(deletion.ref)
        named = deletion.ref if deletion.ref.startswith(("http://", "https://")) else ""
        if page_address(deletion.link or named) in pages_now:
            continue
        if deletion.link and link_hash(deletion.link) in links:
            actions += _withdrawn(state, deletion.link, now_ms, policy)
            forgotten |= {identity, link_hash(deletion.link)}
        elif named and (identity in identities or link_hash(named) in links):
            actions += _withdrawn(state, named, now_ms, policy)
            forgotten |= {identity, link_hash(named)}
        elif identity in identities:
            actions.append(SetAside("deletion_without_page", state.source.feed_id, deletion.ref[:200]))
            forgotten.add(identity)
    left = [item for item in unpack_seen(seen) if item.identity not in forgotten and item.link not in forgotten]
    return actions, pack_seen(left, sum(1 for item in left if item.whole))


def _withdrawn(state: FeedState, link: str, now_ms: int, policy: PollPolicy) -> tuple[Action, ...]:
    own = {_site(address) for address in (state.source.url, state.address) if address}
    return (retract(state, link, now_ms),) if _site(link) in own else ask_again(state, (link,), now_ms, policy)


def _site(address: str) -> str:
    return site(f"http://{host_of(address)}/")


def _delays(state: FeedState, new: tuple[Entry, ...], now_ms: int, policy: PollPolicy) -> tuple[int, tuple[int, ...]]:
    """How many new items came late, and the delays (ms) of those whose own time is believed."""
    if state.stamps_useless or not state.last_success_ms:
        return 0, ()
    ages = [now_ms - entry.published_ms for entry in new if entry.published_ms is not None]
    believed = now_ms - state.last_success_ms + policy.late_ms
    return sum(1 for age in ages if age > believed), tuple(age for age in ages if 0 <= age <= believed)


def _overrun_wait(state: FeedState, document: ParsedFeed, now_ms: int, policy: PollPolicy) -> int:
    """A fraction of the time that a document's items last: of the span of their own dates, or since the last poll."""
    spans = [now_ms - (state.last_success_ms or state.rated_ms)]
    dated = sorted(at for entry in document.entries if (at := entry.published_ms) is not None and at <= now_ms)
    if len(dated) == len(document.entries) and dated[-1] > dated[0]:
        spans.append(dated[-1] - dated[0])
    return within(policy.overrun_share * min(spans), policy.floor_ms(state.source.tier), policy.ceiling_ms)


# ---------------------------------------------------------------- sitemap indexes


def ask_children(
    state: FeedState, children: tuple[Child, ...], request_id: str, now_ms: int, policy: PollPolicy
) -> tuple[FeedState, list[Action]]:
    """Ask for the sitemaps of an index that changed since they were last asked for, the newest first.

    Where an index gives no times, its first and last sitemaps: sites add new ones at either end. One that gives a mere
    date may change until that day has ended everywhere.
    """
    dated = sorted(
        ((child.modified_ms, child.url) for child in children if child.modified_ms is not None), reverse=True
    )
    if dated:
        wanted = [url for at, url in dated if at > state.children_ms or _may_change(at, now_ms)]
        wanted = wanted[: policy.children_a_poll]
        state = replace(state, children_ms=max(state.children_ms, min(dated[0][0], now_ms)))
    else:
        half = policy.children_a_poll // 2 or 1
        urls = [child.url for child in children]
        wanted = list(dict.fromkeys([*urls[:half], *urls[-half:]]))
    asks: list[Action] = []
    for url in wanted:
        host = host_of(url)
        if not host:
            continue
        request = FetchRequest(
            request_id=f"{request_id}/{hash64_hex(url)}",
            kind="feed",
            url=url,
            host=host,
            feed_id=state.source.feed_id,
            origin=state.source.origin,
            requested_ms=now_ms,
        )
        asks.append(Ask(request, state.urgent))
    return state, asks


def _may_change(modified_ms: int, now_ms: int) -> bool:
    """Whether a `lastmod` stays true of later changes: midnight stands for a date, whose day ends last at UTC-12."""
    return modified_ms % DAY_MS == 0 and now_ms < modified_ms + DAY_MS + 12 * HOUR_MS


def changes_unseen(children: tuple[Child, ...], now_ms: int) -> bool:
    """Whether sitemaps of an index may change while it stays as it is: it gives no times, or the date of today."""
    dated = [child.modified_ms for child in children if child.modified_ms is not None]
    return bool(children) and (not dated or any(_may_change(at, now_ms) for at in dated))


def read_anew(state: FeedState) -> FeedState:
    """The row as if its last document had never been read: the next one comes whole."""
    return replace(state, etag="", last_modified="", body_hash=0)


def is_child_of(state: FeedState, result: FetchResult) -> bool:
    """Whether an answer is that to a request of `ask_children`."""
    return "/" in result.request_id and result.request_id.startswith(f"{state.source.feed_id}-")


def take_child(state: FeedState, document: ParsedFeed | FeedError | None, now_ms: int, policy: PollPolicy) -> Decision:
    """The items of one sitemap of an index; the schedule stays the index's own."""
    if isinstance(document, FeedError):
        return state, (SetAside(document.reason, state.source.feed_id, document.detail),)
    if document is None:
        return state, ()
    if document.children:
        detail = f"{len(document.children)} sitemaps below a sitemap of the index"
        return state, (SetAside("sitemap_index_nested", state.source.feed_id, detail),)
    taken = take_items(state, document, now_ms, policy, count=True, child=True)
    return taken.state, (*taken.actions, taken.found)
