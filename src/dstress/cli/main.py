"""The door of the command line: finds the verb, and turns a person's mistakes into one clear message."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click

from dstress._version import __version__
from dstress.errors import DstressError, unknown

VERBS = {
    "demo": "the whole flow on the embedded corpus, from nothing to a report",
    "score": "score a prediction file as every official script would",
    "run": "a whole suite: stress, track, score, report; survives anything",
    "report": "a page with every number, plot and example of a run",
    "view": "the runs of a folder in your browser: their numbers, their reports, any side by side",
    "rescore": "score a run anew without asking the tracker again",
    "shrink": "the smallest edit that still breaks the tracker of a run",
    "search": "the stressors and strengths that break a tracker most for what they change",
    "gate": "fail a release that is significantly less robust than the last",
    "stress": "break a corpus's words on purpose, keep its labels true",
    "counterfactual": "one turn at a time: another goal, its candidates, which filter rejects which",
    "versions": "one tracker over versions of the data: consistency, schema sensitivity",
    "train": "a tracker by a recipe, or the network that a stressor may use",
    "augment": "a training corpus with stressed versions of its dialogues, and no test value",
    "sample": "turns for people to judge, original and stressed, blinded; and the verdict",
    "diversity": "how varied a corpus is, and its stressed version beside it",
    "corpora": "add, list, show and check corpora",
    "convert": "a prediction file in another format",
    "compare": "two or more systems on the same gold: which differences are real",
    "explain": "what a tracker does wrong and what to mend first, in words with their numbers",
    "analyse": "what moves metrics that should not, and what each rewards",
    "list": "what there is: formats, conventions, importers ...",
    "cite": "BibTeX of dstress and of the papers that a run stands on",
    "serve": "the platform: benchmarks, submissions, a leaderboard, judging, collection",
    "benchmark": "make a benchmark for a platform, and see what a platform has",
    "submit": "hand a tracker's answers to a benchmark",
    "completion": "a script that completes commands in your shell",
}
"""Verb -> its line in the help. Each lives in a module of its own, imported only when it is called."""

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
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command = getattr(importlib.import_module(f"dstress.cli.{name}"), "command")  # noqa: B009
        if not isinstance(command, click.Command):
            return None
        if ctx is not None and ctx.resilient_parsing:  # a shell asks
            from dstress.cli.names import attach_completion

            attach_completion(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

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
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # a person's own `module:Class` is looked for where they are
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter is no reason to stop
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    _end_on_signals()
    try:
        with _no_sudden_end():
            outcome: Any = cli.main(args=arguments, prog_name="dstress", standalone_mode=False)
    except DstressError as error:
        _fail(str(error))
    except click.exceptions.Abort as error:
        number = error.__cause__.args[0] if error.__cause__ and error.__cause__.args else signal.SIGINT
        _fail("interrupted; nothing was left half-done", code=128 + number)
    except click.ClickException as error:
        error.show()
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


@contextmanager
def _no_sudden_end() -> Iterator[None]:
    """`os._exit` in code that we call is told like `sys.exit`; it would end us with any code, and nothing done."""
    leave, owner = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != owner:
            leave(status)  # a fork of somebody's, which ends as it should
        raise SystemExit(status)

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = leave


def _end_on_signals() -> None:
    """End on SIGTERM and SIGHUP as on Ctrl-C, so that workers and programs end with us; not where `nohup` is asked."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt(number)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, interrupt)


def _fail(message: str, code: int = 2) -> None:
    from dstress.cli.output import printable
    from dstress.storage.secrets import redact_text

    shown = printable(redact_text(message))
    click.echo(f"{click.style('error', fg='red', bold=True)}: {shown}", err=True)
    sys.exit(code)
