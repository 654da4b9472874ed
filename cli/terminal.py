"""Publishers' words for a terminal: no escape sequence, no bidi override and no console markup of theirs is obeyed."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.markup import escape

from udfs.articles.characters import clean_line


def console() -> Console:
    """Standard output; a file or pipe gets lines wide enough for whole addresses."""
    return Console() if sys.stdout.isatty() else Console(width=220)


def plain(text: str, limit: int = 500) -> str:
    """One line that rich prints as it stands. limit: characters."""
    return escape(clean_line(text, limit))
