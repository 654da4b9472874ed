"""Every number of the push service, with unit and source."""

from __future__ import annotations

from dataclasses import dataclass

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class PushPolicy:
    """Bounds of what the internet may ask of it. A profile may change any of them."""

    # ------------------------------------------------------------ subscriptions (WebSub)
    lease_ceiling_s: int = 14 * DAY_S  # a hub that goes silent must not be trusted longer; hubs grant 5 to 10 days
    lease_default_s: int = DAY_S  # where a hub says none, or no number above 0: asked for again within the day
    challenge_chars: int = 1_024  # hubs send 20 to 128

    # ------------------------------------------------------------ deliveries
    body_bytes: int = 1024 * 1024  # a hub sends what is new, 5 to 20 KB; the largest of 26 captured feeds is 980 KB
    links: int = 20  # of a delivery; the poll beside it finds the rest
    link_chars: int = 2_048  # the longest URL that browsers and sitemaps agree on
    replay_ms: int = 600_000  # hubs repeat within minutes; later the worst is one more poll
    replays: int = 100_000  # deliveries remembered, some 300 bytes each: 30 MB

    # ------------------------------------------------------------ pings
    ping_gap_ms: int = 30_000  # between two polls that one publisher's pings ask for: requirement D8
    ping_feeds: int = 5  # main feeds that a ping without a feed stands for
    ping_skew_ms: int = 300_000  # a publisher's clock may be off by it; AWS and Slack allow as much
    nonces: int = 200_000  # remembered for twice the skew, some 300 bytes each: 60 MB; then pings are refused

    # ------------------------------------------------------------ rates: a second, and at once after a silence
    # By address: whatever names no known callback. By callback and by publisher: all that is theirs.
    address_rate: float = 10.0
    address_burst: int = 100
    callback_rate: float = 2.0  # a feed of one item a minute is the busiest captured
    callback_burst: int = 60
    publisher_rate: float = 0.5
    publisher_burst: int = 20
    addresses: int = 50_000  # remembered, some 250 bytes each; whoever is forgotten has a full bucket again

    # ------------------------------------------------------------ connections
    header_s: float = 10.0  # for a whole request line and its headers, and for an idle connection: nginx 60, Apache 20
    body_s: float = 10.0  # for a whole body
    connections: int = 2_000  # at once
    address_connections: int = 200  # of one address that is no proxy of ours: hubs use tens
    held_bytes: int = 64 * 1024 * 1024  # of bodies being read, all connections together; then 503

    # ------------------------------------------------------------ Kafka
    ack_s: float = 4.0  # then the answer is 503, and the hub comes again; hubs wait 5 to 30 s
    waiting: int = 4_000  # signals on their way: two seconds at 2,000 a second; then 503 at once

    # ------------------------------------------------------------ memory of the topics
    subscriptions: int = 500_000  # some 700 bytes each
    feeds: int = 1_000_000  # some 250 bytes each
    publishers: int = 200_000  # some 300 bytes each

    # ------------------------------------------------------------ the process
    stop_s: float = 2.0  # signals under way may still be acknowledged; the whole stop stays under 5 s
