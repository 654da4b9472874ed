"""The register holds what the topics say now: replaced, removed and beyond its bounds."""

from __future__ import annotations

from dataclasses import replace

from services.push.policy import PushPolicy
from services.push.register import Register
from state_schemas.ids import feed_id
from state_schemas.sources import Origin, Publisher, Source, Subscription, Tier

POLICY = PushPolicy()
HASHES = tuple(f"{number:064x}" for number in range(1, 7))


def subscription(feed: str, token: str, **more: object) -> Subscription:
    return Subscription(
        feed_id=feed, topic=f"https://{feed}.example/", hub="h", callback_token=token, secret="s", **more
    )  # type: ignore[arg-type]


def source(
    url: str, publisher: str = "p", tier: Tier = "tail", registered_ms: int = 0, removed: bool = False
) -> Source:
    origin = Origin(publisher=publisher)
    return Source(feed_id=feed_id(url), url=url, origin=origin, tier=tier, registered_ms=registered_ms, removed=removed)


def test_a_subscription_is_found_by_its_token_until_another_takes_its_place() -> None:
    register = Register(POLICY)
    register.apply(subscription("f", "t1"))
    found = register.callback("t1")
    assert found is not None
    assert (found.feed_id, found.topic, found.state) == ("f", "https://f.example/", "pending")
    register.apply(subscription("f", "t1", state="verified"))
    assert register.callback("t1").state == "verified"  # type: ignore[union-attr]
    register.apply(subscription("f", "t2"))
    assert register.callback("t1") is None
    assert register.callback("t2") is not None
    register.apply(subscription("f", "t2", removed=True))
    assert register.callback("t2") is None
    assert register.sizes()["subscriptions"] == 0


def test_a_token_that_two_feeds_have_is_the_last_ones() -> None:
    register = Register(POLICY)
    register.apply(subscription("f", "t"))
    register.apply(subscription("g", "t"))
    register.apply(subscription("f", "u"))
    assert register.callback("t").feed_id == "g"  # type: ignore[union-attr]


def test_secrets_print_as_stars() -> None:
    register = Register(POLICY)
    register.apply(Subscription(feed_id="f", topic="t", hub="h", callback_token="token-of-f", secret="very-secret"))
    assert "very-secret" not in repr(register.callback("token-of-f"))
    assert "token-of-f" not in repr(register.callback("token-of-f"))


def test_keys_of_a_publisher() -> None:
    register = Register(POLICY)
    assert register.key_hashes("p") == ()
    register.apply(Publisher(publisher="p", ping_keys=(HASHES[0], "not hex", "ab")))
    assert register.key_hashes("p") == (bytes.fromhex(HASHES[0]),)
    register.apply(Publisher(publisher="p", ping_keys=HASHES))
    assert register.key_hashes("p") == tuple(map(bytes.fromhex, HASHES[-4:]))
    for ends in (Publisher(publisher="p", ping_keys=HASHES, blocked=True), Publisher(publisher="p", removed=True)):
        register.apply(Publisher(publisher="p", ping_keys=HASHES))
        register.apply(ends)
        assert register.key_hashes("p") == ()


def test_a_feed_is_named_by_its_id_or_address_and_only_its_own_publisher_may_name_it() -> None:
    register = Register(POLICY)
    register.apply(source("https://p.example/a", "p"))
    mine = feed_id("https://p.example/a")
    assert register.feeds("p", mine) == register.feeds("p", "https://p.example/a") == (mine,)
    assert register.feeds("q", mine) == ()
    assert register.feeds("p", "https://p.example/b") == ()
    register.apply(source("https://p.example/a", "q"))
    assert register.feeds("p", mine) == register.feeds("p") == ()
    assert register.feeds("q") == (mine,)
    register.apply(source("https://p.example/a", "q", removed=True))
    assert register.feeds("q") == ()
    assert register.sizes()["feeds"] == 0


def test_main_feeds_are_the_authoritative_ones_else_the_first_registered() -> None:
    register = Register(POLICY)
    tail = [source(f"https://p.example/{number}", registered_ms=100 - number) for number in range(8)]
    for each in tail:
        register.apply(each)
    assert register.feeds("p") == tuple(each.feed_id for each in tail[:2:-1])
    best = source("https://p.example/best", tier="authoritative", registered_ms=500)
    register.apply(best)
    assert register.feeds("p") == (best.feed_id,)


def test_what_is_beyond_the_bounds_is_left_out_and_counted() -> None:
    register = Register(replace(POLICY, subscriptions=2, publishers=2, feeds=2))
    for number in range(3):
        register.apply(subscription(f"f{number}", f"t{number}"))
        register.apply(Publisher(publisher=f"p{number}", ping_keys=HASHES[:1]))
        register.apply(source(f"https://p.example/{number}"))
    assert register.sizes() == {"subscriptions": 2, "publishers": 2, "feeds": 2, "left_out": 3}
    register.apply(subscription("f0", "t0", state="verified"))
    assert register.callback("t0").state == "verified"  # type: ignore[union-attr]
