"""What Python and notebooks show of a card, a run, a comparison, a corpus, a dialogue: a line of text, tables as HTML.

A class names the function that makes its tables, `module:function`, as registries name components: so whatever stands
above `reports` can be shown without importing it.
"""

from __future__ import annotations

import importlib
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from dstress.errors import unknown


class Displayed:
    """Something that is best seen as tables; the first of them says the most."""

    __slots__ = ()
    _tabled_by: ClassVar[str]

    @property
    def tables(self) -> dict[str, Any]:
        """Its tables by name, each a `dstress.reports.tables.Table`."""
        module, _, function = self._tabled_by.partition(":")
        return dict(getattr(importlib.import_module(module), function)(self))

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
