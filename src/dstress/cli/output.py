"""How verbs speak: JSON, and tables that are pleasant in a terminal and plain in a pipe.

Rich is imported when something is printed: a script that asks for JSON need not wait for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click
import msgspec

from dstress.cli.options import Declared, option
from dstress.cli.progress import waiting
from dstress.errors import shorten
from dstress.reports.tables import Table, latex, markdown
from dstress.storage.atomic import replacing
from dstress.storage.secrets import redact_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from dstress.reports.charts import Plot

_STDOUT = "output to stdout"
"""Where a command remembers which option writes to stdout."""
_MOST_NOTES = 100


class OutputPath(click.Path):
    """A file to write. One that cannot be written is told at once, and not after an hour's work or half of the files.

    A page or a plot is no text for stdout, so `-` is only for those that say so.
    """

    def __init__(self, *, stdout: bool = False) -> None:
        super().__init__(dir_okay=False, writable=True, allow_dash=stdout, path_type=str if stdout else Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if os.fspath(value) == "-":
            if not self.allow_dash:
                self.fail("a page or a plot goes into a file, not to stdout")
            if ctx and ctx.meta.setdefault(_STDOUT, param) is not param:
                self.fail("another output goes to stdout already: give a file to one of them")
            return value
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        existing = next(folder for folder in (path, *path.absolute().parents) if os.access(folder, os.F_OK))
        if existing != path and not (existing.is_dir() and os.access(existing, os.W_OK)):
            self.fail(f"{os.fspath(path)!r} cannot be written: {os.fspath(existing)!r} is no folder to write into")
        return self.coerce_path_result(path)


_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {127: 0x2421}
_UNSHOWN = dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)


def printable(text: str) -> str:
    """A text that only shows: names and values come from files, and some characters would command the terminal.

    It shows no secret either: a tracker's error may quote one.
    """
    return redact_text(text).translate(_PICTURES | _UNSHOWN)


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


def _write(text: str, file: str) -> None:
    """Write a text, whole or not at all; `-` is standard output."""
    if file == "-":
        click.echo(printable(text), nl=False)
        return
    with replacing(Path(file)) as out:
        out.write(text.encode())


class OutputFiles(NamedTuple):
    """Where `--json`, `--csv`, `--latex` and `--markdown` write; None where they were not given."""

    json: str | None
    csv: str | None = None
    latex: str | None = None
    markdown: str | None = None

    def write(
        self,
        content: Any,
        tables: Sequence[Table] = (),
        remarks: Sequence[str] = (),
        data: Mapping[str, Table] | None = None,
    ) -> bool:
        """Write content as JSON, tables and remarks as Markdown and LaTeX; tells whether any of it was asked for.

        CSV gets `data`, tables by name, where there are such: the first into the file, each other one beside it.
        """
        if self.json:
            _write(msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n", self.json)
        if self.markdown:
            _write("\n".join([*map(markdown, tables), *(f"{remark}\n" for remark in remarks)]), self.markdown)
        if self.latex:
            comments = "".join(f"% {remark}\n" for remark in remarks)
            _write("\n".join([*map(latex, tables), *([comments] if comments else [])]), self.latex)
        if self.csv:
            _write_csv(data or {str(n): table for n, table in enumerate(tables, start=1)}, self.csv)
        return any(self)

    def show(
        self,
        content: Any,
        tables: Sequence[Table] = (),
        remarks: Sequence[str] = (),
        data: Mapping[str, Table] | None = None,
        notes: Iterable[str] = (),
    ) -> bool:
        """Write what was asked for; where nothing was, print tables, remarks and notes, and tell so."""
        if self.write(content, tables, remarks, data):
            return False
        print_all(tables, remarks, notes)
        return True


_FORMS = {
    "json": option(
        "--json",
        metavar="[FILE]",
        type=OutputPath(stdout=True),
        is_flag=False,
        flag_value="-",
        help="write JSON to FILE, or to stdout without FILE",
    )
} | {
    form: option(
        f"--{form}",
        metavar="FILE",
        type=OutputPath(stdout=True),
        help=f"write the table as {what}; - is stdout",
    )
    for form, what in (("csv", "CSV, plain numbers"), ("latex", "LaTeX (booktabs)"), ("markdown", "Markdown"))
}


def _writing(*forms: str) -> Any:
    """Declare the parameter `files` of a verb, which may be told to write in these forms."""

    def take(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_files(*context: click.Context, **parameters: Any) -> Any:
            files = OutputFiles(*(parameters.pop(f"{form}_file") for form in forms))
            return command(*context, files=files, **parameters)

        decorated: Callable[..., Any] = with_files
        for form in forms:
            decorated = _FORMS[form].decorator(f"{form}_file")(decorated)
        return decorated

    return Declared(lambda name: take)


json_option, table_options = _writing("json"), _writing(*OutputFiles._fields)
"""What a verb that prints takes, and one that prints a table."""


def _write_csv(tables: Mapping[str, Table], file: str) -> None:
    """A CSV file holds one table, so `scores.csv` comes with `scores-slots.csv`; no plain file, the first alone."""
    (_, first), *others = tables.items()
    _write(first.to_csv(), file)
    for name, table in others if file != "-" and Path(file).is_file() else []:
        if table.rows:
            table.to_csv(Path(file).with_stem(f"{Path(file).stem}-{name}"))


_LEAST = 12
"""So many letters of a line of text stay together in a narrow terminal."""


def make_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> RichTable:
    """A table in the house style: names to the left, numbers (`#`-columns) to the right; no cell is read as markup.

    In a narrow terminal texts wrap, but for the first column, which says what a row is, as long as there is room for
    it; numbers and intervals never do.
    """
    from rich.markup import escape
    from rich.table import Table as RichTable

    table, rows = RichTable(header_style="bold", box=None, pad_edge=False), list(rows)
    widths = _widths(columns, rows)
    if _total(widths) > (room := console().width):
        widths = _widths(columns, rows, room)
    for number, column in enumerate(columns):
        is_number = column.startswith("#")
        width = widths[number] if is_number or not number else None
        side: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(escape(column.lstrip("#")), justify=side, width=width, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int | None = None) -> list[int]:
    """How wide each column is; with little room, how wide it is at least: the first one gets what others leave."""
    from rich.cells import cell_len

    full, least = [], []
    for number, column in enumerate(columns):
        head = column.lstrip("#")
        cells = max((cell_len(line) for row in rows for line in row[number].splitlines()), default=0)
        full.append(max(cells, cell_len(head)))
        words = [cells, *map(cell_len, head.split())] if column.startswith("#") else [_LEAST]
        least.append(min(full[-1], max(words)))
    if room is None:
        return full
    left = max(_LEAST, min(room // 2, room - 2 - max(least[1:], default=0)))
    return [min(full[0], left), *least[1:]]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def print_table(table: Table) -> None:
    """A table on the console, its caption below. What is too wide goes on below, with the first column again."""
    from rich.markup import escape

    room, blocks = console().width, [[0]]
    widths = _widths(table.columns, table.rows, room)
    for column in range(1, len(widths)):
        if len(blocks[-1]) > 1 and _total([widths[one] for one in (*blocks[-1], column)]) > room:
            blocks.append([0])
        blocks[-1].append(column)
    for block in blocks:
        part = [[row[column] for column in block] for row in table.rows]
        console().print(
            make_table([table.columns[column] for column in block], part), *[""] * (block is not blocks[-1])
        )
    console().print(f"[dim]{escape(table.caption)}[/dim]\n" if table.caption else "")


def print_all(tables: Iterable[Table], remarks: Iterable[str] = (), notes: Iterable[str] = ()) -> None:
    """Print tables, what is to be said about them, and notes."""
    for table in tables:
        print_table(table)
    for remark in remarks:
        console().print(remark, markup=False)
    print_notes(notes)


def print_notes(notes: Iterable[str]) -> None:
    """Things to know about what was just shown; a server may send any number of them."""
    from rich.markup import escape

    notes = list(notes)
    more = len(notes) - _MOST_NOTES
    for note in notes[:_MOST_NOTES] + ([f"{more:,} more"] if more > 0 else []):
        console().print(f"[yellow]note[/yellow]: {escape(shorten(note))}")


def draw_plots(plots: Iterable[Plot], folder: Path) -> None:
    """Draw plots into a folder, and say how many files there are."""
    from dstress.reports.charts import export

    with waiting("drawing"):
        written = [file for plot in plots for file in export(plot, folder)]
    click.echo(f"{len(written)} files in {folder}", err=True)
