"""How verbs speak: JSON, and tables that are pleasant in a terminal and plain in a pipe.

Rich is imported when something is printed: a script that asks for JSON need not wait for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from dstress.reports.tables import Table as Content
from dstress.reports.tables import latex as as_latex
from dstress.reports.tables import markdown as as_markdown
from dstress.storage.atomic import replacing

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

json_option = click.option(
    "--json",
    "json_file",
    metavar="[FILE]",
    is_flag=False,
    flag_value="-",
    help="write JSON to FILE, or to the screen without FILE",
)
"""`--json` on every verb that prints."""


def console() -> Console:
    """Standard output; wide and without colour when it is piped, so that nothing is cut or escaped."""
    from rich.console import Console

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
    from rich.table import Table

    made = Table(title=title or None, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        numeric = column.startswith("#")
        made.add_column(column.lstrip("#"), justify="right" if numeric else "left", no_wrap=numeric)
    return made


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
    from rich.markup import escape

    shown = table(*content.columns)
    for row in content.rows:
        shown.add_row(*map(escape, row))
    console().print(shown)
    console().print(f"[dim]{escape(content.caption)}[/dim]\n" if content.caption else "")


def print_notes(notes: Iterable[str]) -> None:
    """Things to know about what was just shown."""
    from rich.markup import escape

    for note in notes:
        console().print(f"[yellow]note[/yellow]: {escape(note)}")
