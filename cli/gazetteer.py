"""`broadsheet gazetteer`: builds the file of people's and organisations' names, and shows what is in it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import click

from cli.errors import UserError
from connectors.settings import Endpoints, SettingsError


@click.group()
def gazetteer() -> None:
    """The names of people and organisations that articles are linked by."""


@gazetteer.command()
@click.argument("source", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Default: the reference data's.")
@click.option("--least", default=5, show_default=True, type=click.IntRange(0), help="Wikipedias an item must be in.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
def build(source: Path, output: Path | None, least: int, as_json: bool) -> None:
    """Build the gazetteer from SOURCE, a Wikidata JSON dump (.json, .json.gz, .json.bz2) or a table of names.

    A table has id, type, language, name and, where known, weight, parted by tabs. The seed's names are always in.
    """
    from udfs.articles.entities import NAMES_FILE, SEED_FILE
    from udfs.articles.name_index import NameBuilder, NameIndex
    from udfs.articles.name_sources import Reading, lines_of, table_names, wikidata_names

    folder = _folder()
    target = output or folder / NAMES_FILE
    reading, builder, told = Reading(), NameBuilder(), 0
    dump = ".json" in source.suffixes
    try:
        seed = table_names(lines_of(folder / SEED_FILE), Reading())
        lines = lines_of(source)
        listed = wikidata_names(lines, least, reading) if dump else table_names(lines, reading)
        for rows in (seed, listed):
            for row in rows:
                told += builder.add(row.id, row.type, row.name, row.weight)
                if told % 500_000 == 0:
                    click.echo(f"\r{told:,} names", nl=False, err=True)
        if not reading.kept:
            raise UserError(f"{source}: no name in it ({_reasons(reading.left_out)})")
        builder.write(target)
    except UnicodeDecodeError:
        raise UserError(f"{source}: not UTF-8") from None
    except EOFError:
        raise UserError(f"{source}: ends in the middle") from None
    except OSError as error:
        raise UserError(f"{error.filename or source}: {error.strerror or error}") from None
    names = NameIndex.open(target).names  # each once, in whatever language and case it came
    found = {
        "file": str(target),
        "bytes": target.stat().st_size,
        "entities": builder.entities,
        "names": names,
        "left_out": dict(reading.left_out),
    }
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(f"{target}: {names:,} names of {builder.entities:,} entities, {found['bytes']:,} bytes")
    if reading.left_out:
        click.echo(f"left out: {_reasons(reading.left_out)}")


@gazetteer.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--name", "asked", multiple=True, help="Show who is called so.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
def check(file: Path | None, asked: tuple[str, ...], as_json: bool) -> None:
    """Open FILE (by default what the parse job reads) and say how many names it has and how fast it loads."""
    from udfs.articles.entities import load_names
    from udfs.articles.name_index import NameIndex, NamesError, key_of

    folder = _folder()
    began = time.process_time()
    try:
        index = NameIndex.open(file) if file else load_names(folder)
    except NamesError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"{error.filename or file}: {error.strerror or error}") from None
    seconds = time.process_time() - began
    keys = [key_of(name)[0] for name in asked]
    called = dict(zip(asked, index.look_up(keys), strict=True))
    if as_json:
        shown = {
            name: [{"id": one.id, "type": one.type, "weight": one.weight} for one in called[name]] for name in called
        }
        found = {"names": index.names, "entities": index.entities, "load_seconds": round(seconds, 4), "called": shown}
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    click.echo(f"{index.names:,} names of {index.entities:,} entities, loaded in {seconds:.3f} s")
    for name, entities in called.items():
        told = ", ".join(f"{one.id} ({one.type}, {one.weight:.2f})" for one in entities)
        click.echo(f"{name}: {told or 'nobody'}")


def _folder() -> Path:
    try:
        return Endpoints.from_mapping(os.environ).reference_data_folder()
    except SettingsError as error:
        raise UserError(str(error)) from None


def _reasons(left_out: dict[str, int]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in sorted(left_out.items())) or "it is empty"
