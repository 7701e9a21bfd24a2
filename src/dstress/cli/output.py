"""How verbs speak: JSON, and tables that are pleasant in a terminal and plain in a pipe.

Rich is imported when something is printed: a script that asks for JSON need not wait for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from dstress.reports.tables import Table, latex, markdown
from dstress.storage.atomic import replacing

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

SEEDS = click.IntRange(0, 2**63 - 1)
"""What `--seed` takes."""


class FiniteRange(click.FloatRange):
    """A range without "not a number", which is neither above nor below anything."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number", param, ctx) if number != number else number


def max_failed_option(default: float) -> Callable[[Any], Any]:
    """`--max-failed`, in percent."""
    text = "percent of turns that may have no answer"
    return click.option("--max-failed", type=FiniteRange(0, 100), default=default, show_default=True, help=text)


COUNTS = click.IntRange(0, 2**31 - 1)
"""What `--limit` and `--draw` take; 0 is all."""


_SCREEN = "output on the screen"
"""Where a command remembers which option writes to the screen."""


class OutputPath(click.Path):
    """A file to write. One that cannot be written is told at once, and not after an hour's work or half of the files.

    A page or a plot is no text for the screen, so `-` is only for those that say so.
    """

    def __init__(self, *, screen: bool = False) -> None:
        super().__init__(dir_okay=False, writable=True, allow_dash=screen, path_type=str if screen else Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if os.fspath(value) == "-":
            if not self.allow_dash:
                self.fail("a page or a plot goes into a file, not to the screen")
            if ctx and ctx.meta.setdefault(_SCREEN, param) is not param:
                self.fail("the screen is taken by another output: two of them there could be read by nobody")
            return value
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        there = next(folder for folder in (path, *path.absolute().parents) if os.access(folder, os.F_OK))
        if there != path and not (there.is_dir() and os.access(there, os.W_OK)):
            self.fail(f"{os.fspath(path)!r} cannot be written: {os.fspath(there)!r} is no folder to write into")
        return self.coerce_path_result(path)


PLOTS = click.Path(file_okay=False, writable=True, path_type=Path)
"""What `--plots` takes."""
json_option = click.option(
    "--json",
    "json_file",
    metavar="[FILE]",
    type=OutputPath(screen=True),
    is_flag=False,
    flag_value="-",
    help="write JSON to FILE, or to the screen without FILE",
)
"""`--json` on every verb that prints."""


_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {127: 0x2421}
_UNSHOWN = dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)


def printable(text: str) -> str:
    """A text that only shows: names and values come from files, and some characters would command the terminal."""
    return text.translate(_PICTURES | _UNSHOWN)


def console() -> Console:
    """Standard output; wide and without colour when it is piped, so that nothing is cut or escaped."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Shown(Console):
        """A console that prints no control character but its own."""

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else segment._replace(text=printable(segment.text))

    piped = not sys.stdout.isatty()
    return Shown(width=160 if piped else None, highlight=False, soft_wrap=piped)


def write_json(content: Any, file: str) -> None:
    """Write content as indented JSON, whole or not at all; `-` is standard output."""
    _write(msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n", file)


def _write(text: str, file: str) -> None:
    if file == "-":
        click.echo(printable(text), nl=False)
        return
    with replacing(Path(file)) as out:
        out.write(text.encode())


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--markdown FILE`, `--latex FILE` and `--csv FILE` on a verb that prints a table; `-` is the screen."""
    for option, form in (("--csv", "CSV, plain numbers"), ("--latex", "LaTeX (booktabs)"), ("--markdown", "Markdown")):
        parameter = f"{option.lstrip('-')}_file"
        text = f"write the table as {form}; - is the screen"
        command = click.option(option, parameter, metavar="FILE", type=OutputPath(screen=True), help=text)(command)
    return command


class OutputFiles(NamedTuple):
    """Where `--json`, `--markdown`, `--latex` and `--csv` write; None where they were not given."""

    json: str | None
    markdown: str | None
    latex: str | None
    csv: str | None

    def write(
        self,
        content: Any,
        tables: Sequence[Table],
        remarks: Sequence[str] = (),
        data: Mapping[str, Table] | None = None,
    ) -> bool:
        """Write content as JSON, tables and remarks as Markdown and LaTeX; tells whether any of it was asked for.

        CSV gets `data`, tables by name, where there are such: the first into the file, each other one beside it.
        """
        if self.json:
            write_json(content, self.json)
        if self.markdown:
            _write("\n".join([*map(markdown, tables), *(f"{remark}\n" for remark in remarks)]), self.markdown)
        if self.latex:
            comments = "".join(f"% {remark}\n" for remark in remarks)
            _write("\n".join([*map(latex, tables), *([comments] if comments else [])]), self.latex)
        if self.csv:
            _write_csv(data or {str(n): table for n, table in enumerate(tables, start=1)}, self.csv)
        return any(self)


def _write_csv(tables: Mapping[str, Table], file: str) -> None:
    """A CSV file holds one table, so `scores.csv` comes with `scores-slots.csv`; no plain file, the first alone."""
    (_, first), *others = tables.items()
    _write(first.to_csv(), file)
    for name, table in others if file != "-" and Path(file).is_file() else []:
        if table.rows:
            table.to_csv(Path(file).with_stem(f"{Path(file).stem}-{name}"))


def make_table(*columns: str) -> RichTable:
    """An empty table in the house style: names to the left, numbers (`#`-columns) to the right."""
    from rich.table import Table as RichTable

    table = RichTable(header_style="bold", box=None, pad_edge=False)
    for column in columns:
        is_number = column.startswith("#")
        table.add_column(column.lstrip("#"), justify="right" if is_number else "left", no_wrap=is_number)
    return table


def print_table(table: Table) -> None:
    """A table on the console, its caption below."""
    from rich.markup import escape

    shown = make_table(*table.columns)
    for row in table.rows:
        shown.add_row(*map(escape, row))
    console().print(shown)
    console().print(f"[dim]{escape(table.caption)}[/dim]\n" if table.caption else "")


def print_notes(notes: Iterable[str]) -> None:
    """Things to know about what was just shown."""
    from rich.markup import escape

    for note in notes:
        console().print(f"[yellow]note[/yellow]: {escape(note)}")
