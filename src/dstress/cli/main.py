"""The door of the command line: finds the verb, and turns a person's mistakes into one clear message."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import threading
import traceback
import warnings
from typing import Any

import click

from dstress._version import __version__
from dstress.errors import DstressError, shorten, unknown
from dstress.text.tables import read_table

GROUPS: dict[str, dict[str, str]] = read_table(__package__, "verbs.toml")
"""Group -> verb -> its line in the help. Each verb is a module, imported only when it is called."""
VERBS = [verb for group in GROUPS.values() for verb in group]
_SCORING = ("score", "compare", "versions", "gate", "rescore")

EXAMPLES = """
\b
Examples
  dstress demo
  dstress run quick --tracker rules --corpus reminder:test
  dstress score preds.json --gold multiwoz21:test
  dstress corpora add multiwoz21 MultiWOZ_2.1.zip
  dstress corpora show multiwoz21
  dstress stress multiwoz21:test --with "typos(rate=0.1)" --out stressed
  dstress list conventions
"""


class LazyGroup(click.Group):
    """A group whose verbs are imported when they are called, so that `dstress --help` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return VERBS

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        if name in _SCORING:  # in its small matrix products the threads of numpy only wait for each other
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        command = getattr(importlib.import_module(f"dstress.cli.{name}"), "command")  # noqa: B009
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, VERBS)) + 2
        for group, verbs in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(verb.ljust(width - 2), about) for verb, about in verbs.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            ctx.fail(unknown("verb", args[0], VERBS).problem)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(__version__, prog_name="dstress")
def cli() -> None:
    """Stress tests for dialogue state trackers."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Exit codes: 0 fine, 1 a gate failed, 2 the input or the call is wrong."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter is no reason to stop
    warnings.formatwarning = lambda message, *_, **__: _without_secrets(f"warning: {message}\n")
    sys.excepthook = lambda *error: sys.stderr.write(_without_secrets("".join(traceback.format_exception(*error))))
    _end_on_signals()
    try:
        outcome: Any = cli.main(args=arguments, prog_name="dstress", standalone_mode=False)
    except DstressError as error:
        _fail(error.text)
    except click.exceptions.Abort as error:
        number = error.__cause__.args[0] if error.__cause__ and error.__cause__.args else signal.SIGINT
        _fail("interrupted; nothing was left half-done", code=128 + number)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        click.echo(shorten(_without_secrets(shown.getvalue())), err=True, nl=False)
        sys.exit(2)
    except BrokenPipeError:
        # Somebody piped us into `head`. Point stdout elsewhere, or Python complains once more while it closes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except SystemExit as error:
        if "_DSTRESS_COMPLETE" in os.environ or isinstance(error.__context__, BrokenPipeError):
            raise  # click's way to end where a shell asks for names, or where a pipe was closed
        # Not ours: a component's own code was called, and what was asked for is not done, whatever it says.
        _fail(f"a component ended the process: exit({error.code!r})")
    except OSError as error:
        _fail(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "))
    sys.exit(outcome if isinstance(outcome, int) else 0)


def _end_on_signals() -> None:
    """End on SIGTERM and SIGHUP as on Ctrl-C, so that workers and programs end with us; not where `nohup` is asked."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt(number)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, interrupt)


def _without_secrets(text: str) -> str:
    from dstress.storage.secrets import redact_text  # not before something is said: help answers at once

    return redact_text(text)


def _fail(message: str, code: int = 2) -> None:
    from dstress.cli.output import printable

    click.echo(f"{click.style('error', fg='red', bold=True)}: {shorten(printable(message))}", err=True)
    sys.exit(code)
