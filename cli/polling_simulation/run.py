"""One simulation from its wishes to its report; feeds are dealt to processes, each with its share of the budget."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cli.polling_simulation import schedules
from cli.polling_simulation.engine import Engine, Outcome
from cli.polling_simulation.figures import Measured, between, peak_minute, span
from cli.polling_simulation.publishers import Feed, draw
from cli.polling_simulation.world import DAY_MS, NewsEvent, SampledFeed, World, news_events, sample, tier_sizes
from udfs.poll.policy import PollPolicy

BOOTSTRAPS = 100


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is to be simulated. sample: feeds really simulated, 0 for all. budget_per_s: polls, of all feeds."""

    feeds: int
    days: int
    sample: int
    seed: int
    budget_per_s: float
    warm_up_days: float
    processes: int
    policy: PollPolicy
    others: bool = True


@dataclass(slots=True)
class Part:
    """What one process brings back."""

    feeds: list[Feed]
    outcomes: list[Outcome]
    minutes: NDArray[np.float64]
    late: float
    cpu_s: float


def simulate(wishes: Wishes, say: Callable[[str], None]) -> tuple[dict[str, object], list[Outcome]]:
    """The report (for JSON, see docs/polling-simulation.md), and the outcomes of our own schedule."""
    world = World()
    began = time.monotonic()
    audits = audit_polls_per_second(wishes)
    chosen = sample(wishes.feeds, wishes.sample, wishes.seed, world)
    events = news_events(wishes.days, wishes.seed, world)
    say(f"{len(chosen)} feeds stand for {wishes.feeds}; {wishes.days} days ...")
    # Dealt like cards, so that each process has its share of every tier.
    dealt = [chosen[n :: wishes.processes] for n in range(wishes.processes)]
    parts = _parts([part for part in dealt if part], events, wishes, world)
    outcomes = [outcome for part in parts for outcome in part.outcomes]
    minutes = np.sum([part.minutes for part in parts], axis=0)
    say(f"polled in {time.monotonic() - began:.0f} s; other schedules ...")

    begin, end = span(wishes.days, wishes.warm_up_days)
    with_pushes = Measured([one for one in outcomes if not one.shadow], begin, end)
    alone = Measured([one for one in outcomes if one.shadow or not one.feed.hub], begin, end)
    report: dict[str, object] = {
        "feeds": wishes.feeds,
        "sample": len(chosen),
        "days": wishes.days,
        "warm_up_days": wishes.warm_up_days,
        "seed": wishes.seed,
        "budget": wishes.budget_per_s,
        "audit_polls_per_second": audits,
        **with_pushes.figures(),
        "peak_minute_polls_per_second": peak_minute(minutes, begin),
        "held_back_share": sum(part.late for part in parts) / max(float(minutes.sum()), 1e-9),
    }
    own = alone.figures()
    report["without_pushes"] = own
    report["without_pushed_feeds"] = Measured([one for one in outcomes if not one.feed.hub], begin, end).figures()
    report["pushed_feeds"] = Measured(
        [one for one in outcomes if one.feed.hub and not one.shadow], begin, end
    ).figures()
    if wishes.warm_up_days:
        first = Measured([one for one in outcomes if not one.shadow], 0, begin, phase=0)
        report["warm_up"] = first.figures()
    report["spread"] = _spread(with_pushes, wishes.seed)
    if wishes.others:
        feeds = [feed for part in parts for feed in part.feeds]
        report |= _others(feeds, alone, own, wishes, world)
    report["cpu_seconds"] = sum(part.cpu_s for part in parts)
    report["seconds"] = time.monotonic() - began
    return report, outcomes


def audit_polls_per_second(wishes: Wishes) -> float:
    """What the audited feeds take of the budget; they are left out of the simulation, and of its figures."""
    policy, sizes = wishes.policy, tier_sizes(wishes.feeds, World())
    audited = sizes["top"] / policy.audit_authoritative if policy.audit_authoritative else 0.0
    audited += (sizes["busy"] + sizes["tail"]) / policy.audit_tail if policy.audit_tail else 0.0
    return audited * 1000 / policy.audit_ms


def _spread(measured: Measured, seed: int) -> dict[str, list[float]]:
    """How far the headlines move when other feeds are drawn, tier by tier: 90 % of the samples lie between."""
    found: dict[str, list[float]] = {"polls_per_second": [], "mean_delay_s": [], "top_delay_p90_s": []}
    for drawn in measured.redrawn(BOOTSTRAPS, seed):
        polls, mean = measured.summed(drawn)
        found["polls_per_second"].append(polls)
        found["mean_delay_s"].append(mean)
        found["top_delay_p90_s"].append(measured.p90(drawn[measured.tier[drawn] == 0]))
    return {name: between(values) for name, values in found.items()}


def _ratios(ours: Measured, fixed: Measured, seed: int) -> list[float]:
    """The same for the ratio of mean delays at equal polls; both have the same feeds in the same order."""
    ratios = []
    for drawn in ours.redrawn(BOOTSTRAPS, seed):
        polls, mean = ours.summed(drawn)
        fixed_polls, fixed_mean = fixed.summed(drawn)
        # A fixed schedule's delay is in proportion to its interval.
        ratios.append(fixed_mean * fixed_polls / polls / mean)
    return between(ratios)


def _others(
    feeds: list[Feed], alone: Measured, own: dict[str, object], wishes: Wishes, world: World
) -> dict[str, object]:
    """The other schedules' figures, and ours without pushes against the best fixed one of equal polls."""
    begin, end = span(wishes.days, wishes.warm_up_days)
    catalogue = schedules.Catalogue(feeds, wishes.days)
    made = float(str(own["polls_per_second"]))
    total = sum(feed.about.weight for feed in feeds)
    top = sum(feed.about.weight for feed in feeds if feed.about.tier == "top")
    rules: dict[str, schedules.Rule] = {
        f"fixed_{n}_min": schedules.fixed(n * schedules.MINUTE_MS) for n in (1, 5, 15, 30)
    }
    rules["miniflux"], rules["commafeed"] = schedules.miniflux, schedules.commafeed
    runs = {
        name: schedules.run(catalogue, rule, wishes.warm_up_days, wishes.seed, world) for name, rule in rules.items()
    }

    def equal(rule: schedules.Rule) -> tuple[schedules.Run, float]:
        return schedules.at_budget(catalogue, rule, made, wishes.days, wishes.warm_up_days, wishes.seed, world)

    factors = {}
    even_ms = 1000 * total / made
    rest = max(made - top / 60, made / 10)
    for name, rule in {
        "fixed_equal_budget": schedules.fixed(even_ms),
        "fixed_two_tier_equal_budget": schedules.by_tier(60_000, 1000 * (total - top) / rest),
        "miniflux_equal_budget": schedules.miniflux,
        "commafeed_equal_budget": schedules.commafeed,
    }.items():
        runs[name], factors[name] = equal(rule)
    measured = {name: Measured(run.outcomes, begin, end) for name, run in runs.items()}
    found: dict[str, dict[str, object]] = {}
    for name, one in measured.items():
        found[name] = one.figures() | {"peak_minute_polls_per_second": peak_minute(runs[name].minutes, begin)}
        if name in factors:
            found[name]["interval_factor"] = factors[name]
    best = float(str(found["fixed_equal_budget"]["mean_delay_s"]))
    two = float(str(found["fixed_two_tier_equal_budget"]["mean_delay_s"]))
    ours = float(str(own["mean_delay_s"]))
    return {
        "schedules": found,
        "fixed_equal_budget_interval_s": even_ms / 1000 * factors["fixed_equal_budget"],
        "best_fixed_mean_delay_s": best,
        "ratio": best / ours if ours else 0.0,
        "ratio_spread": _ratios(alone, measured["fixed_equal_budget"], wishes.seed),
        "two_tier_ratio": two / ours if ours else 0.0,
    }


def _parts(dealt: list[list[SampledFeed]], events: list[NewsEvent], wishes: Wishes, world: World) -> list[Part]:
    if len(dealt) == 1:
        return [_part(dealt[0], events, wishes, world)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(dealt), mp_context=context) as pool:
        waiting = [pool.submit(_part, part, events, wishes, world) for part in dealt]
        return [one.result() for one in waiting]


def _part(chosen: list[SampledFeed], events: list[NewsEvent], wishes: Wishes, world: World) -> Part:
    began = time.process_time()
    feeds = [draw(about, wishes.days, wishes.seed, events, world) for about in chosen]
    share = sum(about.weight for about in chosen) / wishes.feeds
    engine = Engine(
        feeds=feeds,
        # A feed that is asked every minute to be watched, and stands for hundreds, would tell of nothing but itself.
        policy=replace(wishes.policy, audit_authoritative=0, audit_tail=0),
        world=world,
        days=wishes.days,
        warm_up_days=wishes.warm_up_days,
        seed=wishes.seed,
        budget_per_s=(wishes.budget_per_s - audit_polls_per_second(wishes)) * share,
    )
    outcomes = engine.run()
    return Part(feeds, outcomes, engine.minutes, engine.late, time.process_time() - began)


__all__ = ["DAY_MS", "Wishes", "simulate"]
