"""What Python and notebooks show of a card, a run, a comparison, a corpus, a dialogue: a line of text, tables as HTML.

The modules that make tables import the classes that they show, so they are found by the type of what is shown, and
imported when it is shown.
"""

from __future__ import annotations

import importlib
from functools import singledispatch
from html import escape
from pathlib import Path
from typing import Any

from dstress.errors import unknown

NOTE = "; "
"""In the name of a step, parts it from what may change on the way: `tracking: original; 8,123 tokens`."""
_MAKERS = ("dstress.reports.dialogues", "dstress.reports.score_tables", "dstress.pipeline.tables")
"""The modules that register with `make_tables`, but for those that are imported with the class itself."""


@singledispatch
def make_tables(shown: object) -> dict[str, Any]:
    """Make the tables of something by name, each a `dstress.reports.tables.Table`."""
    raise TypeError(f"nothing makes tables of a {type(shown).__name__}")


class Displayed:
    """Something that is best seen as tables; the first of them says the most."""

    __slots__ = ()

    @property
    def tables(self) -> dict[str, Any]:
        """Its tables by name, each a `dstress.reports.tables.Table`."""
        for module in _MAKERS:
            if make_tables.dispatch(type(self)) is make_tables.dispatch(object):
                importlib.import_module(module)
        return make_tables(self)

    def to_pandas(self, table: str = "") -> Any:
        """A table, by default the first, as a DataFrame of plain numbers; shares are fractions. Needs pandas."""
        return self._table(table).to_pandas()

    def to_csv(self, path: str | Path | None = None, table: str = "") -> str:
        """A table, by default the first, as CSV of plain numbers; with a path it is written there, too."""
        return str(self._table(table).to_csv(path))

    def _table(self, name: str) -> Any:
        tables = self.tables
        if name and name not in tables:
            raise unknown("table", name, tables)
        return tables[name or next(iter(tables))]

    def _repr_html_(self) -> str:
        (_, first), *others = self.tables.items()
        folded = (
            f"<details><summary>{escape(name)}</summary>{table._repr_html_()}</details>"
            for name, table in others
            if table.rows
        )
        return f"<div><div>{escape(repr(self))}</div>{first._repr_html_()}{''.join(folded)}</div>"
