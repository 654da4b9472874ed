"""`broadsheet`: a group whose subcommands are loaded only when called, so that --help stays quick."""

from __future__ import annotations

import atexit
import importlib
import os
import sys

import click

from cli.errors import UserError
from connectors.settings import SettingsError

# name -> (module, attribute, one line of help shown without loading the module)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "stack": ("cli.stack", "stack", "Start, stop and watch the embedded stack."),
    "sources": ("cli.sources", "sources", "Add, import, list and watch feeds."),
    "publishers": ("cli.publishers", "publishers", "List publishers, make keys for their pings, send one."),
    "jobs": ("cli.jobs", "jobs", "Submit, stop and list the Flink jobs."),
    "articles": ("cli.articles", "articles", "Take articles back, and see their versions."),
    "pages": ("cli.pages", "pages", "Show published pages, go back to an earlier version."),
    "press": ("cli.press", "press", "Serve the sample press, or captured feeds and pages."),
    "demo": ("cli.demo", "demo", "The whole line on the sample press, on this machine."),
    "live": ("cli.live", "live", "The whole line on the real internet."),
    "quarantine": ("cli.quarantine", "quarantine", "Show what was set aside, and why."),
    "config": ("cli.config", "config", "Check the reference data."),
    "gazetteer": ("cli.gazetteer", "gazetteer", "Build and check the names of people and organisations."),
    "replay": ("cli.replay", "replay", "Decide anew, with today's code, what Kafka still keeps."),
    "eval": ("cli.eval", "evaluate", "Measure quality on labelled data."),
    "train": ("cli.train", "train", "Fit models to labelled data."),
    "simulate": ("cli.simulate", "simulate", "Decisions over simulated publishers, in virtual time."),
    "bench": ("cli.bench", "bench", "Measure a stage on this machine."),
}


class LazyGroup(click.Group):
    """Looks a subcommand up in COMMANDS and imports its module only then."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[2]) for name, entry in COMMANDS.items()])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="broadsheet", prog_name="broadsheet")
def broadsheet() -> None:
    """Reads the whole press and turns it into one clean, ranked page of stories."""


def main() -> None:
    """Run the command and end with its status."""
    try:
        _run()
    except SystemExit as end:
        if "obstore" not in sys.modules:
            raise
        # The object store's client has threads of its own, and one that wakes while the interpreter is taken down
        # aborts the process (status 134 instead of the command's own, on a busy machine).
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)


def _run() -> None:
    """The command; a user's error is one line and status 2, an interruption status 130. Raises SystemExit."""
    try:
        status = broadsheet(standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.Abort:
        sys.exit(130)
    except KeyboardInterrupt:
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:
        path = error.ctx.command_path if error.ctx else "broadsheet"
        click.echo(f"broadsheet: {path} needs a command (see `{path} --help`)", err=True)
        sys.exit(2)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "broadsheet"
        click.echo(f"broadsheet: {error.format_message()} (see `{path} --help`)", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except SettingsError as error:
        UserError(str(error)).show()
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        # Our own fault, but a traceback is of no use to a user: the line, and where to get the rest.
        if os.environ.get("BROADSHEET_TRACEBACK"):
            raise
        UserError(f"{type(error).__name__}: {error} (set BROADSHEET_TRACEBACK=1 for the whole trace)").show()
        sys.exit(2)
