"""The numbers of the poll stage, each with its unit and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


@dataclass(frozen=True, slots=True)
class PollPolicy:
    """Bounds and rates of polling. ms unless said otherwise; design section 3 where no other source is named."""

    # Interval. Miniflux asks every 60 min by default, CommaFeed every 5 min and, going by the mean gap, up to a day.
    floor_authoritative_ms: int = MINUTE_MS
    floor_tail_ms: int = 5 * MINUTE_MS
    ceiling_ms: int = HOUR_MS
    # Waiting, summed over items, that a poll must end to be made. At 20 s a feed of 30 items an hour is polled every
    # 1.2 min, one of two every 4.5 min, one of a tenth every 20 min (docs/decisions.md, "The interval").
    poll_worth_ms: int = 20_000
    soon_share: float = 0.5  # of the interval, at the instant of a new item: news comes in runs
    soon_ms: int = 15 * MINUTE_MS  # in which that has decayed to 1/e
    jitter: float = 0.1  # share of an interval or back-off, from a hash of the feed id and the number of the poll
    leased_ms: int = 15 * MINUTE_MS  # backstop poll while a WebSub lease is verified
    lease_ceiling_ms: int = 14 * DAY_MS  # a hub that goes silent must not be trusted longer
    hint_floors: float = 2.0  # floors that max-age, ttl and the like can lengthen an interval to: they are often wrong
    lease_floor_ms: int = HOUR_MS  # a hub that grants seconds would be asked again at every poll
    push_floor_ms: int = MINUTE_MS // 2  # between two polls of one feed that pushes ask for: requirement D8
    floor_slack: float = 0.1  # of a floor, left to the fetcher's clock: requests do not take equally long to reach it
    burst_ms: int = HOUR_MS  # a burst signal makes a feed priority for so long

    # Subscriptions (WebSub).
    lease_wish_ms: int = 10 * DAY_MS  # the recommendation's example; hubs grant 5 to 10 days as a rule
    renew_share: float = 2 / 3  # of a lease, then it is asked for again
    subscribe_after_ms: int = 10_000  # push must have read the subscription before the hub asks about it
    verification_ms: int = 15 * MINUTE_MS  # a hub that took a request asks back within it
    hub_retry_ms: int = HOUR_MS  # after a failure, doubled each time
    hub_retry_ceiling_ms: int = 7 * DAY_MS
    push_misses: int = 3  # items that polls found and no push told, in a row: the hub went silent

    # Rate of new items.
    rate_half_life_h: float = 168.0  # of the overall rate: a week, so that no weekday weighs much more than another
    prior_h: float = 6.0  # hours of observation that the prior weighs as much as
    rhythm_half_life_weeks: float = 3.0  # of the counts by hour of the week: a new rhythm is learnt in a month
    rhythm_day_items: float = 2.0  # observed items that the overall rate weighs in the rate of an hour of the day
    rhythm_week_items: float = 8.0  # and that one in the rate of an hour of the week
    rhythm_beside: float = 0.5  # weight of the hours before and after: a rush is not always on time
    # Items an hour. By their own dates 26 captured feeds of large publishers bring 0.3 in the median, 2.9 at most:
    # one of which nothing is known is asked rather too often than too late.
    prior_authoritative: float = 1.0
    prior_tail: float = 0.1
    first_document_h: float = 24.0  # hours of observation that a first document's own dates weigh at most
    rhythm_spread_ms: int = 3 * HOUR_MS  # between the oldest and newest date of a document that tells of a rhythm

    # Failures.
    backoff_ceiling_ms: int = DAY_MS
    backoff_rest_ms: int = 30 * MINUTE_MS  # where it rests on the way there,
    backoff_rest_failures: int = 15  # until so many failures in a row: some six hours
    retry_after_ceiling_ms: int = DAY_MS  # a publisher's mistake in the unit must not end a feed
    sick_after: int = 5  # failures in a row
    lost_ms: int = HOUR_MS  # a release without an answer is asked again
    moved_held_ms: int = 7 * DAY_MS  # a permanent redirect to another host is believed then (lion-reader: 7 days)

    # Validators.
    unmodified_run: int = 20  # 304s in a row, then one request without validators
    useless_after: int = 5  # new validators in a row without new items

    # Items.
    remembered: int = 200  # items, or those of the last document where these are more
    overrun_share: float = 0.25  # of the time that a document's items last, after one without a known item
    rechecks_a_poll: int = 10  # pages asked for again because their entry changed
    restless_share: float = 0.5  # of the known items whose guid, time or page is new: these tell nothing here
    late_ms: int = 10 * MINUTE_MS  # an item dated so long before the last poll without it came late, or is dated back
    page_patience_ms: int = 6 * HOUR_MS  # since it was found; then the entry alone serves
    pages_held: int = 1_000  # of one feed; as many as a document may have entries
    children_a_poll: int = 5  # sitemaps of an index: the newest hold the news
    remembered_index: int = 2_000  # items of an index's sitemaps, two news sitemaps of full length
    recheck_links: int = 50  # pages of one signal

    # Audit: feeds asked every minute, to see what their schedule misses. Some 200 of 5,000 and 200 of 195,000.
    audit_authoritative: int = 25  # one in so many; 0: none
    audit_tail: int = 1_000
    audit_ms: int = MINUTE_MS
    audit_remembered: int = 200  # items of a feed waiting for their poll

    # Shards and the global budget.
    tick_ms: int = 1_000
    clock_jump_ms: int = MINUTE_MS  # a clock that much behind what it was has leapt; less is its correction
    shards: int = 256  # MapStates; measured: 160,000 due feeds in 11 s, against 350 a second with a key a feed
    budget_per_s: float = 400.0  # polls, of all shards; 200,000 feeds at their intervals make about 320
    budget_saved_s: float = 5.0  # of unspent budget that a shard may keep

    def floor_ms(self, tier: str) -> int:
        """The shortest interval of a tier."""
        return self.floor_authoritative_ms if tier == "authoritative" else self.floor_tail_ms
