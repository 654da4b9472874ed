"""The documents and the command line say the same: every command is in them, every command in them exists, links lead
somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import cli.main

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md")))
# Links to files of this checkout; what has a scheme is somewhere else.
LINK = re.compile(r"\]\((?![a-z]+:)([^)\s#]+)(#[^)\s]*)?\)")


def tree(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every command below the group, groups left out."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from tree(command, (*path, name))
            if command.invoke_without_command:
                yield (*path, name)
        else:
            yield (*path, name)


def command(path: tuple[str, ...]) -> click.Command:
    found: click.Command = cli.main.broadsheet
    for name in path:
        assert isinstance(found, click.Group)
        below = found.get_command(click.Context(found), name)
        assert below is not None
        found = below
    return found


def code(text: str) -> list[str]:
    """What stands in backticks and in indented or fenced blocks, a piece a line, spaces made one."""
    pieces = re.findall(r"`([^`\n]+)`", text)
    pieces += [line for line in text.splitlines() if line.startswith("    ")]
    for block in re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        pieces += block.splitlines()
    return [" ".join(piece.split()) for piece in pieces]


@pytest.fixture(scope="module")
def commands() -> set[tuple[str, ...]]:
    return set(tree(cli.main.broadsheet))


@pytest.fixture(scope="module")
def pieces() -> list[str]:
    return [piece for document in DOCUMENTS for piece in code(document.read_text("utf-8"))]


def test_every_command_is_documented(commands: set[tuple[str, ...]], pieces: list[str]) -> None:
    def named(path: tuple[str, ...]) -> bool:
        # Once `broadsheet` was said, a table names the others without it: `jobs stop NAME`.
        word = re.compile(rf"(^|broadsheet ){' '.join(path)}($|[ \]])")
        return any(word.search(piece) for piece in pieces)

    # A path of one word needs `broadsheet` before it: `live` alone may mean anything.
    missing = [
        path
        for path in sorted(commands)
        if not (named(path) if len(path) > 1 else any(f"broadsheet {path[0]}" in piece for piece in pieces))
    ]
    assert missing == []


def test_every_documented_command_exists(commands: set[tuple[str, ...]], pieces: list[str]) -> None:
    groups = {path[0] for path in commands if len(path) > 1}
    unknown = []
    for piece in pieces:
        for words in re.findall(r"(?:^|[(\s/])broadsheet ((?:[a-z][a-z-]*(?: |$)){1,2})", piece):
            path = tuple(words.split())
            # Of a group's name alone, or before an option, nothing more is said; a command's argument is no command.
            if path[:1] not in commands and path not in commands and not (len(path) == 1 and path[0] in groups):
                unknown.append(piece)
    assert unknown == []


def test_every_documented_option_exists(commands: set[tuple[str, ...]], pieces: list[str]) -> None:
    unknown = []
    for piece in pieces:
        for words, rest in re.findall(r"(?:^|[(\s/])broadsheet ((?:[a-z][a-z-]*(?: |$)){1,2})([^#]*)", piece):
            path = tuple(words.split())
            path = path if path in commands else path[:1]
            if path in commands:
                known = {name for each in command(path).params for name in (*each.opts, *each.secondary_opts)}
                unknown += [f"{' '.join(path)} {name}" for name in re.findall(r"--[a-z-]+", rest) if name not in known]
    assert unknown == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_a_file(document: Path) -> None:
    links = [target for target, _ in LINK.findall(document.read_text("utf-8"))]
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_documents_named_in_words_exist() -> None:
    named = {
        (document.name, name)
        for document in DOCUMENTS
        for name in re.findall(r"docs/[a-z-]+\.md", document.read_text("utf-8"))
    }
    assert {(document, name) for document, name in named if not (ROOT / name).exists()} == set()


def test_every_document_is_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        document = waiting.pop()
        if document in seen or document.suffix != ".md" or not document.exists():
            continue
        seen.add(document)
        text = document.read_text("utf-8")
        waiting += [(document.parent / target).resolve() for target, _ in LINK.findall(text)]
        waiting += [ROOT / name for name in re.findall(r"docs/[a-z-]+\.md", text)]
    assert set((ROOT / "docs").glob("*.md")) - seen == set()
