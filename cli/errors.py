"""The one way a command tells its user that something is wrong: one line, exit status 2, no traceback."""

from __future__ import annotations

from typing import IO, Any

import click


class UserError(click.ClickException):
    """What is wrong and what to do about it, in one line."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"broadsheet: {self.message}", err=True, file=file)
