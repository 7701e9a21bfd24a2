"""What can be looked up: the tables behind a corpus's services, and a query that is quick however often it is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dstress.corpora.json_files import decode_part
from dstress.dialogue import DONTCARE
from dstress.storage.atomic import replacing
from dstress.storage.file_names import file_name

Row = dict[str, str]
"""One restaurant, train ...: column -> value."""

TABLE_ENDING = "_db.json"
"""A table's file is the service's name and this: a list of objects."""

_TABLE = msgspec.json.Decoder(list[dict[str, Any]])


class Database:
    """Rows by service. Columns are written small and without blanks: `arriveBy` and `entrance fee` lose theirs."""

    def __init__(self, tables: Mapping[str, Sequence[Row]]) -> None:
        self.tables = {service: tuple(rows) for service, rows in tables.items()}
        self._rows_with: dict[tuple[str, str], dict[str, int]] = {}

    def query(self, service: str, constraints: Mapping[str, str | Collection[str]]) -> list[Row]:
        """The rows with each constraint's value, or one of its values, in the order of the table.

        `dontcare` and columns that the table does not have leave all rows in; a service without a table has none.
        """
        rows = self.tables.get(service, ())
        matches = (1 << len(rows)) - 1  # a set of rows is a number with a bit for each
        for column, accepted_values in constraints.items():
            if accepted_values != DONTCARE and (rows_with := self._index(service, column)):
                accepted = 0
                for value in (accepted_values,) if isinstance(accepted_values, str) else accepted_values:
                    accepted |= rows_with.get(value, 0)
                matches &= accepted
        chosen = []
        while matches:
            lowest = matches & -matches
            chosen.append(rows[lowest.bit_length() - 1])
            matches ^= lowest
        return chosen

    def values(self, service: str, column: str) -> Collection[str]:
        """The distinct values of a column."""
        return self._index(service, column).keys()

    def write(self, folder: Path) -> dict[str, Path]:
        """Write each service's table into a folder; the paths by service."""
        paths = {service: folder / table_file(service) for service in self.tables}
        for service, rows in self.tables.items():
            with replacing(paths[service]) as out:
                out.write(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
        return paths

    def _index(self, service: str, column: str) -> dict[str, int]:
        """Each value of a column with the rows that have it, as the bits of a number."""
        if (service, column) not in self._rows_with:
            rows_with = self._rows_with[service, column] = dict[str, int]()
            for place, row in enumerate(self.tables.get(service, ())):
                if column in row:
                    rows_with[row[column]] = rows_with.get(row[column], 0) | 1 << place
        return self._rows_with[service, column]


def table_file(service: str) -> str:
    """What the file of the table behind a service is called."""
    return f"{file_name(service)}{TABLE_ENDING}"


def read_database(paths: Iterable[Path]) -> Database | None:
    """The tables of these files, which `Database.write` has written; None of none."""
    tables = {path.name.removesuffix(TABLE_ENDING): read_table(path.read_bytes(), str(path)) for path in paths}
    return Database(tables) if tables else None


def read_table(data: bytes, where: str) -> list[Row]:
    """A table's file: texts, numbers as text, lists of texts with `|` between; all else is left out."""
    return [
        {
            column.casefold().replace(" ", ""): text
            for column, value in row.items()
            if (text := _text(value)) is not None
        }
        for row in decode_part(_TABLE, data, where)
    ]


def _text(value: object) -> str | None:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "|".join(value)
    return str(value) if isinstance(value, str | int | float) else None
