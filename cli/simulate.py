"""`broadsheet simulate`: the deciders of production in virtual time, over simulated worlds. Touches no network."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from cli.errors import UserError

# Feeds that take three to four minutes over 14 days on two cores.
DEFAULT_SAMPLE = 850


@click.group()
def simulate() -> None:
    """Decisions over simulated publishers, in virtual time."""


@simulate.command()
@click.option("--feeds", default=200_000, show_default=True, type=click.IntRange(10, 10_000_000))
@click.option("--days", default=14, show_default=True, type=click.IntRange(1, 90))
@click.option(
    "--sample",
    "wanted",
    default=str(DEFAULT_SAMPLE),
    show_default=True,
    metavar="N|all",
    help="Feeds really simulated; each stands for several. 0 or all: every feed (hours).",
)
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0))
@click.option("--budget", default=320.0, show_default=True, type=click.FloatRange(0.001), help="Polls a second.")
@click.option("--warm-up-days", default=7.0, show_default=True, type=click.FloatRange(0), help="Not counted.")
@click.option("--processes", default=2, show_default=True, type=click.IntRange(1, 64))
@click.option("--policy", "changes", multiple=True, metavar="NAME=VALUE", help="A field of PollPolicy; repeatable.")
@click.option("--ours-only", is_flag=True, help="Without the other schedules.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
def polling(
    feeds: int,
    days: int,
    wanted: str,
    seed: int,
    budget: float,
    warm_up_days: float,
    processes: int,
    changes: tuple[str, ...],
    ours_only: bool,
    as_json: bool,
) -> None:
    """When news is found, and at how many polls, beside fixed intervals and other readers' rules.

    A weighted sample of feeds stands for all, unless --sample all is given; figures count from --warm-up-days on.
    """
    from cli.polling_simulation.engine import with_values
    from cli.polling_simulation.run import Wishes
    from cli.polling_simulation.run import simulate as run
    from udfs.poll.policy import PollPolicy

    if warm_up_days > days - 0.5:
        raise UserError(f"--warm-up-days {warm_up_days:g} leaves nothing of {days} days to measure")
    if wanted != "all" and not wanted.isdigit():
        raise UserError(f"--sample {wanted}: a number of feeds, or all")
    size = 0 if wanted == "all" else int(wanted)
    try:
        policy = with_values(PollPolicy(), dict(_change(one) for one in (f"budget_per_s={budget}", *changes)))
    except KeyError as error:
        raise UserError(f"--policy: PollPolicy has no field {error}") from None
    wishes = Wishes(
        feeds=feeds,
        days=days,
        sample=min(size, feeds),
        seed=seed,
        budget_per_s=policy.budget_per_s,
        warm_up_days=warm_up_days,
        processes=processes,
        policy=policy,
        others=not ours_only,
    )
    report, _ = run(wishes, lambda line: click.echo(line, err=True))
    if as_json:
        click.echo(json.dumps(report))
    else:
        _show(report)


def _change(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise UserError(f"--policy {text}: NAME=NUMBER is wanted") from None


def _show(report: dict[str, object]) -> None:
    console = Console(highlight=False, width=max(150, Console().width))
    console.print(
        f"{report['sample']} simulated feeds stand for {report['feeds']} (a weighted sample; seed {report['seed']}); "
        f"days {report['warm_up_days']:g} to {report['days']}"
    )
    table = Table(
        "schedule", "feeds", "polls/s", "304", "waste", "nothing new", "p50 s", "p90 s", "p99 s", "mean s", "lost"
    )
    _rows(table, "ours", report)
    for name in ("without_pushes", "without_pushed_feeds", "pushed_feeds", "warm_up"):
        if name in report:
            _rows(table, f"ours, {name.replace('_', ' ')}", report[name], tiers=name == "without_pushes")
    schedules = report.get("schedules", {})
    assert isinstance(schedules, dict)
    for name, figures in schedules.items():
        _rows(table, name.replace("_", " "), figures)
    console.print(table)
    spread = report["spread"]
    assert isinstance(spread, dict)
    for name, (low, high) in spread.items():
        console.print(f"{name}: 90 % of resampled samples between {low:.3g} and {high:.3g}")
    console.print(
        f"peak minute {report['peak_minute_polls_per_second']:.0f} polls/s of {report['budget']:g}; "
        f"{report['held_back_share']:.1%} of polls held back by the budget"
    )
    if schedules:
        console.print(
            f"mean delay without pushes {_figure(report['without_pushes'], 'mean_delay_s'):.0f} s, best single fixed "
            f"interval at as many polls {report['best_fixed_mean_delay_s']:.0f} s: {report['ratio']:.2f} times as long "
            f"({' to '.join(f'{end:.2f}' for end in _pair(report['ratio_spread']))} in resampled samples; two fixed "
            f"intervals: {report['two_tier_ratio']:.2f})"
        )


def _pair(ends: object) -> list[float]:
    assert isinstance(ends, list)
    return ends


def _figure(figures: object, name: str) -> float:
    assert isinstance(figures, dict)
    return float(figures[name])


def _rows(table: Table, name: str, figures: object, *, tiers: bool = True) -> None:
    assert isinstance(figures, dict)
    for tier in ("all", "top", "busy", "tail") if tiers else ("all",):
        one = figures if tier == "all" else figures[tier]
        table.add_row(
            name if tier == "all" else "",
            tier,
            f"{one['polls_per_second']:.1f}",
            f"{one['not_modified_share']:.1%}",
            f"{one['waste']:.1%}",
            f"{one['found_nothing_share']:.1%}",
            *(f"{one[key]:.0f}" for key in ("delay_p50_s", "delay_p90_s", "delay_p99_s", "mean_delay_s")),
            f"{one['overrun_share']:.2%}",
        )
