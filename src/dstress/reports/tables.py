"""A table as Markdown or as LaTeX (booktabs), from the same rows that the console shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

_SPECIAL = re.compile(r"[&%$#_{}~^\\|<>]")
_WRITTEN = {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


class Table(msgspec.Struct):
    """Rows of text under named columns; a column whose name starts with `#` holds numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def is_number(self, column: int) -> bool:
        """Whether a column is set to the right."""
        return self.columns[column].startswith("#")

    @property
    def names(self) -> list[str]:
        """The columns' names as they are shown."""
        return [column.lstrip("#") for column in self.columns]


def markdown(table: Table) -> str:
    """The table for a README or an issue."""
    lines = [_row(table.names)]
    lines.append(_row(["---:" if table.is_number(column) else "---" for column in range(len(table.columns))]))
    lines += [_row([cell.replace("|", "\\|") for cell in row]) for row in table.rows]
    caption = [f"\n{table.caption}"] if table.caption else []
    return "\n".join([*lines, *caption]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


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
