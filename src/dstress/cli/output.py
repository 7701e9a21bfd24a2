"""How verbs speak: JSON, tables that are pleasant in a terminal and plain in a pipe, and progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from dstress.reports.tables import Table as Content
from dstress.reports.tables import latex as as_latex
from dstress.reports.tables import markdown as as_markdown
from dstress.writing import replacing

json_option = click.option(
    "--json",
    "json_file",
    metavar="[FILE]",
    is_flag=False,
    flag_value="-",
    help="write JSON to FILE, or to the screen without FILE",
)
"""`--json` on every verb that prints."""

_PLAIN_EVERY = 5.0


def console() -> Console:
    """Standard output; wide and without colour when it is piped, so that nothing is cut or escaped."""
    piped = not sys.stdout.isatty()
    return Console(width=160 if piped else None, highlight=False, soft_wrap=piped)


def write_json(content: Any, file: str) -> None:
    """Write content as indented JSON, whole or not at all; `-` is standard output."""
    data = msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
    if file == "-":
        click.echo(data.decode(), nl=False)
        return
    with replacing(Path(file)) as out:
        out.write(data)


def table(*columns: str, title: str = "") -> Table:
    """A table in the house style: names to the left, numbers (`#`-columns) to the right."""
    made = Table(title=title or None, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        numeric = column.startswith("#")
        made.add_column(column.lstrip("#"), justify="right" if numeric else "left", no_wrap=numeric)
    return made


@contextmanager
def counting(what: str) -> Iterator[Callable[[str, int], None]]:
    """Progress over something whose end is not known: a live line in a terminal, a line now and then in a pipe."""
    if sys.stderr.isatty():
        columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TextColumn(what), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as live:
            task = live.add_task("")

            def show(label: str, done: int) -> None:
                live.update(task, description=label, completed=done)

            yield show
        return
    yield _plain(what)


@contextmanager
def downloading(label: str) -> Iterator[Callable[[int, int], None]]:
    """Progress over bytes."""
    from rich.progress import DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    if not sys.stderr.isatty():
        show = _plain("bytes")
        yield lambda done, total: show(label, done)
        return
    columns = (TextColumn(label), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as live:
        task = live.add_task("", total=None)
        yield lambda done, total: live.update(task, completed=done, total=total or None)


def _plain(what: str) -> Callable[[str, int], None]:
    last = time.monotonic()

    def show(label: str, done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _PLAIN_EVERY:
            last = time.monotonic()
            click.echo(f"{label}: {done:,} {what}", err=True)

    return show


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--markdown FILE` and `--latex FILE` on a verb that prints a table; `-` is the screen."""
    for name, form in (("--latex", "LaTeX (booktabs)"), ("--markdown", "Markdown")):
        command = click.option(name, metavar="FILE", help=f"write the table as {form}; - is the screen")(command)
    return command


def write_tables(tables: list[Content], markdown_file: str | None, latex_file: str | None) -> bool:
    """Write tables where they were asked for; tells whether they were."""
    for file, written in ((markdown_file, as_markdown), (latex_file, as_latex)):
        if file:
            write_text("\n".join(map(written, tables)), file)
    return bool(markdown_file or latex_file)


def write_text(text: str, file: str) -> None:
    """Write text, whole or not at all; `-` is standard output."""
    if file == "-":
        click.echo(text, nl=False)
        return
    with replacing(Path(file)) as out:
        out.write(text.encode())


def print_table(content: Content) -> None:
    """A table on the console, its caption below."""
    shown = table(*content.columns)
    for row in content.rows:
        shown.add_row(*map(escape, row))
    console().print(shown)
    console().print(f"[dim]{escape(content.caption)}[/dim]\n" if content.caption else "")


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner with the time that has passed, for work over a second; silent in a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import SpinnerColumn

    columns = (SpinnerColumn(), TextColumn(what), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as live:
        live.add_task("", total=None)
        yield
