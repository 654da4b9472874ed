"""`broadsheet config`: is the reference data right? One line a fault, with file, line and reason; exit status 2."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.errors import UserError
from connectors.settings import Endpoints, SettingsError

if TYPE_CHECKING:
    from udfs.reference_faults import Fault


@click.group()
def config() -> None:
    """Check the reference data: editions, sections, weights, feeds."""


@config.command()
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.pass_context
def check(context: click.Context, folder: Path | None) -> None:
    """Read every file of the reference data and say what is wrong, one line a fault.

    FOLDER is the one to check; left out: BROADSHEET_REFERENCE_DATA, or the checkout's own reference_data/.
    Exit status: 0 when all is right, 2 when anything is not.
    """
    folder = _configured() if folder is None else folder
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder: name the one that holds editions.toml")
    faults: list[Fault] = []
    good = [line for reader in (_pages, _feeds, _publishers, _words, _others) for line in reader(folder, faults)]
    for fault in faults:
        click.echo(str(fault), err=True)
    if faults:
        click.echo(f"broadsheet: {len(faults)} fault{'s' if len(faults) > 1 else ''} in {folder}", err=True)
        context.exit(2)
    for line in good:
        click.echo(line)


def _configured() -> Path:
    try:
        return Endpoints.from_mapping(os.environ).reference_data_folder()
    except SettingsError as error:
        raise UserError(str(error)) from error


def _pages(folder: Path, faults: list[Fault]) -> list[str]:
    """editions.toml, sections.toml and weights.toml, which are checked against each other."""
    from udfs.editions import ReferenceDataError, load_reference

    try:
        data = load_reference(folder)
    except ReferenceDataError as error:
        faults.extend(error.faults)
        return []
    languages = {edition.language for edition in data.editions}
    terms = sum(len(words) for section in data.sections for words in section.terms.values())
    return [
        f"editions.toml: {len(data.editions)} editions in {len(languages)} languages",
        f"sections.toml: {len(data.sections)} sections, {terms} terms",
        "weights.toml: complete",
    ]


def _feeds(folder: Path, faults: list[Fault]) -> list[str]:
    from udfs.feed_list import FILE, parse_feeds
    from udfs.reference_faults import read_text

    text = read_text(folder / FILE, faults)
    if text is None:
        return []
    feeds = parse_feeds(text, faults)
    publishers = {feed.publisher_id for feed in feeds}
    countries = {feed.country for feed in feeds}
    languages = {feed.language for feed in feeds}
    return [
        f"{FILE}: {len(feeds)} feeds of {len(publishers)} publishers in {len(countries)} countries "
        f"and {len(languages)} languages"
    ]


def _publishers(folder: Path, faults: list[Fault]) -> list[str]:
    from udfs.articles.overrides import FILE, parse_overrides
    from udfs.reference_faults import read_text

    if not (folder / FILE).exists():
        return []
    text = read_text(folder / FILE, faults)
    if text is None:
        return []
    found = parse_overrides(text, faults)
    return [f"{FILE}: what is known of {len(found.by_host)} publishers' pages"]


def _words(folder: Path, faults: list[Fault]) -> list[str]:
    """topics.toml, labels.toml and the section classifier."""
    from udfs.articles import labels, section_model, topics
    from udfs.reference_faults import read_text

    good: list[str] = []
    text = read_text(folder / topics.FILE, faults)
    if text is not None:
        good.append(f"{topics.FILE}: {len(topics.parse_subtopics(text, faults))} topics")
    text = read_text(folder / labels.FILE, faults)
    if text is not None:
        words = labels.parse_labels(text, faults)
        agencies = {name for name, _ in words.agencies.values()}
        good.append(f"{labels.FILE}: {len(words.sections)} words, {len(agencies)} agencies")
    try:
        good.append(f"{section_model.FILE}: {section_model.load_section_model(folder).version}")
    except (section_model.SectionModelError, OSError) as error:
        faults.append(Fault(section_model.FILE, 0, "", str(error)))
    return good


def _others(folder: Path, faults: list[Fault]) -> list[str]:
    """The stages' own files: that they can be read at all. Their content is checked by the stage that uses it."""
    from udfs.reference_faults import parse_toml, read_text

    checked = {"editions.toml", "sections.toml", "weights.toml", "publishers.toml"}
    checked |= {"topics.toml", "labels.toml", "section_model.toml"}
    good: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.name in checked or path.suffix not in {".toml", ".txt"}:
            continue
        before = len(faults)
        text = read_text(path, faults)
        if text is not None and path.suffix == ".toml":
            parse_toml(path.name, text, faults)
        if len(faults) == before:
            good.append(f"{path.name}: can be read")
    return good
