"""Every number of the fetch tier, with unit and source."""

from __future__ import annotations

from dataclasses import dataclass

from connectors.http import HttpPolicy


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """Bounds of politeness, size, time and memory. A profile may change any of them."""

    # ------------------------------------------------------------ politeness, for each host
    host_requests: int = 2  # at once; scrapy 8, Nutch 1, news-crawl 1, browsers 6
    # Between two starts: a second as the host sees it, and what the way there may vary by.
    host_gap_ms: int = 1_050  # Nutch 5,000, news-crawl 1,000, scrapy 0
    crawl_delay_cap_ms: int = 30_000  # robots.txt's own wish; beyond it a host could never be read (Bing caps at 30 s)
    patience_ms: int = 30_000  # what cannot start within it is deferred: design, section 4
    breaker_failures: int = 3  # in a row, before the host is left alone
    backoff_base_ms: int = 30_000  # doubles with each opening
    backoff_ceiling_ms: int = 1_800_000  # a publisher that is back is read again within half an hour
    page_attempts: int = 3  # a page is handed back this often on 429 or 503, then its entry serves

    # ------------------------------------------------------------ known pages, checked again
    missing_ms: int = 600_000  # between the two answers 404 that retract an article: a deployment is over by then
    unmodified_run: int = 8  # 304s in a row, then one request without validators: half-hourly, that is in four hours
    pages: int = 150_000  # remembered, 560 bytes each: 85 MB; 100 minutes at 25 pages a second, re-checks renew theirs

    # ------------------------------------------------------------ robots.txt (RFC 9309)
    robots_kept_ms: int = 86_400_000  # 2.4: not more than 24 hours
    robots_retry_ms: int = 60_000  # after 5xx or none; the RFC names no time
    robots_bytes: int = 512_000  # 2.5: at least 500 KiB are parsed
    robots_hosts: int = 20_000  # held in memory, the oldest go first

    # ------------------------------------------------------------ sizes, bytes after decompression
    feed_bytes: int = 5 * 1024 * 1024  # as many as the reader takes (udfs/feeds/document.py)
    page_bytes: int = 5 * 1024 * 1024  # the largest of 139 captured pages is 3 MiB

    # ------------------------------------------------------------ one request, seconds: see HttpPolicy
    connect_s: float = 5.0
    read_s: float = 10.0
    total_s: float = 20.0
    robots_total_s: float = 10.0
    max_redirects: int = 5

    # ------------------------------------------------------------ the process
    # Requests at once, from their start until the broker has their result: 256 slow hosts hold up nobody (scrapy 16).
    running: int = 512
    buffered: int = 2_000  # requests held, waiting for a host or running; then nothing is read but what is urgent
    buffered_urgent: int = 2_500  # with urgent ones; then nothing is read
    buffered_bytes: int = 64 * 1024 * 1024  # of their records: entries with full text are large
    floors: int = 500_000  # feeds whose last request is remembered: all of one fetcher's share
    commit_ms: int = 1_000  # between commits of offsets: what a crash repeats
    stop_s: float = 3.0  # running requests may still end; the whole stop stays under 5 s

    def http(self, ports: tuple[int, ...]) -> HttpPolicy:
        """The part of it that the client needs."""
        return HttpPolicy(
            connect_s=self.connect_s,
            read_s=self.read_s,
            total_s=self.total_s,
            max_redirects=self.max_redirects,
            ports=ports,
        )
