"""A table as Markdown, LaTeX (booktabs), HTML, CSV or a DataFrame, from the same rows that the console shows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from dstress.errors import MissingExtraError
from dstress.storage.atomic import replacing

_SPECIAL = re.compile(r"[&%$#_{}~^\\|<>]")
_MARKS = re.compile(r"[\\|`*]|<(?=[A-Za-z/!?])|\](?=[(\[])|&(?=#?\w+;)")
_WRITTEN = {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


class Table(msgspec.Struct):
    """Rows of text under named columns; a column whose name starts with `#` holds numbers.

    `records` are the same rows as plain values, for whoever goes on reckoning: shares are fractions, an interval is two
    numbers. Without them the text is all there is.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    records: Sequence[Mapping[str, Any]] = ()

    def is_number(self, column: int) -> bool:
        """Whether a column is set to the right."""
        return self.columns[column].startswith("#")

    @property
    def names(self) -> list[str]:
        """The columns' names as they are shown."""
        return [column.lstrip("#") for column in self.columns]

    @property
    def data(self) -> Sequence[Mapping[str, Any]]:
        """What CSV and pandas get of each row."""
        return self.records or [dict(zip(self.names, row, strict=True)) for row in self.rows]

    def to_csv(self, path: str | Path | None = None) -> str:
        """The rows as CSV, full numbers under a line of names; with a path, the file is written as well."""
        out = io.StringIO()
        names = list(dict.fromkeys(name for record in self.data for name in record)) or self.names
        writer = csv.DictWriter(out, names, lineterminator="\n")
        writer.writeheader()
        for record in self.data:
            # NaN is written as nothing; it is the one value that is not itself.
            writer.writerow({name: "" if value != value else value for name, value in record.items()})
        if path is not None:
            with replacing(Path(path)) as file:
                file.write(out.getvalue().encode())
        return out.getvalue()

    def to_pandas(self) -> Any:
        """The rows as a DataFrame."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("pandas is not installed", fix="pip install 'dstress[notebook]'") from None
        return pandas.DataFrame(list(self.data), columns=None if self.data else self.names)

    def _repr_html_(self) -> str:
        """What a notebook shows. All that the table holds is escaped: values and names come from data."""
        style = "vertical-align: top; white-space: pre-line; padding: 0 0.6em; text-align"
        sides = ["right" if self.is_number(column) else "left" for column in range(len(self.columns))]

        def row(tag: str, cells: Sequence[str]) -> str:
            shown = zip(cells, sides, strict=True)
            made = (f'<{tag} style="{style}: {side}">{escape(cell)}</{tag}>' for cell, side in shown)
            return f"<tr>{''.join(made)}</tr>"

        caption = f'<caption style="caption-side: bottom; text-align: left">{escape(self.caption)}</caption>'
        body = "".join(row("td", cells) for cells in self.rows)
        head = f"<thead>{row('th', self.names)}</thead>"
        return f"<table>{caption if self.caption else ''}{head}<tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        return f"Table({', '.join(self.names)}; {len(self.rows):,} rows)"


def markdown(table: Table) -> str:
    """The table for a README or an issue."""
    lines = [_row(table.names)]
    lines.append(_row(["---:" if table.is_number(column) else "---" for column in range(len(table.columns))]))
    lines += [_row(row) for row in table.rows]
    caption = [f"\n{escape_markdown(table.caption)}"] if table.caption else []
    return "\n".join([*lines, *caption]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escape_markdown, cells))} |"


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is: in one cell, and neither as marks, nor as a link, nor as HTML."""
    return _MARKS.sub(r"\\\g<0>", " ".join(text.splitlines()))


def latex(table: Table) -> str:
    """The table for a paper; needs the package booktabs."""
    alignment = "".join("r" if table.is_number(column) else "l" for column in range(len(table.columns)))
    body = [" & ".join(map(escape_latex, row)) + r" \\" for row in table.rows]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        " & ".join(map(escape_latex, table.names)) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if table.caption:
        lines.append(rf"\caption{{{escape_latex(table.caption)}}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def escape_latex(text: str) -> str:
    """Text with LaTeX's special characters written out."""
    return _SPECIAL.sub(lambda match: _WRITTEN.get(match[0], "\\" + match[0]), text)
