"""How a fault of the reference data is told: file, line, entry, reason. Knows no file's content and decides nothing.

The readers beside it (editions, sections, weights, feed_list) append to one list of faults, so that a check shows all
of them at once; who cannot work with faulty data raises ReferenceDataError.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with one entry of one file. line: from 1; 0 where it concerns the file as a whole."""

    file: str
    line: int
    entry: str
    reason: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.entry}: {self.reason}" if self.entry else f"{place}: {self.reason}"


class ReferenceDataError(ValueError):
    """The reference data cannot be used. Mend the named file; `broadsheet config check` lists every fault."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{faults[0]}{more}")
        self.faults = faults


def default_folder() -> Path:
    """reference_data/ beside the packages."""
    return Path(__file__).resolve().parent.parent / "reference_data"


def read_text(path: Path, faults: list[Fault]) -> str | None:
    """The file's text, or None and one fault."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        faults.append(Fault(path.name, 0, "", f"is missing in {path.parent}"))
    except UnicodeDecodeError as error:
        faults.append(Fault(path.name, 0, "", f"is not UTF-8 at byte {error.start}"))
    except OSError as error:
        faults.append(Fault(path.name, 0, "", f"cannot be read: {error.strerror}"))
    return None


def load(path: Path, parse: Callable[[str, list[Fault]], T]) -> T:
    """What `parse` makes of the file's text. Raises ReferenceDataError where that or the reading finds a fault."""
    faults: list[Fault] = []
    text = read_text(path, faults)
    found = parse(text, faults) if text is not None else None
    if faults or found is None:
        raise ReferenceDataError(tuple(faults))
    return found


def parse_toml(file: str, text: str, faults: list[Fault]) -> dict[str, Any] | None:
    """The document, or None and one fault that carries the parser's line and column."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        faults.append(Fault(file, 0, "", f"is not TOML: {error}"))
        return None


def line_of(text: str, needle: str, start: int = 0) -> int:
    """First line, from 1, on which `needle` begins at or after the character `start`; 0 if none does."""
    position = text.find(needle, start)
    return text.count("\n", 0, position) + 1 if position >= 0 else 0
