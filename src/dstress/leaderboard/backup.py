"""Everything a server keeps, in one zip: every table as lines of JSON, and every file.

The tables do not depend on the kind of database, so that a backup of SQLite restores into PostgreSQL. A backup of an
older revision is restored at that revision and then migrated, as its server would have been.
"""

from __future__ import annotations

import base64
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from alembic.migration import MigrationContext
from sqlalchemy import Connection, DateTime, LargeBinary, MetaData, Table, func, insert, select, text

from dstress._version import __version__
from dstress.errors import DstressError
from dstress.leaderboard.database import Database
from dstress.leaderboard.files import Files, check_name
from dstress.leaderboard.tables.base import now
from dstress.storage.atomic import replacing

_MANIFEST = "manifest.json"
_FORMAT = 1
_BATCH = 500
OnProgress = Callable[[str, int], None]


class Contents(NamedTuple):
    """What a backup has: when it was made, at which revision, rows by table, and the number of files."""

    made_at: str
    revision: str
    rows: dict[str, int]
    files: int


def back_up(database: Database, files: Files, path: Path, on_progress: OnProgress = lambda *_: None) -> Contents:
    """Write a backup while the server runs: the tables as they are at one moment, then the files."""
    rows: dict[str, int] = {}
    with (
        replacing(path) as out,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=5) as archive,
        database.engine.execution_options(**_one_moment(database)).connect() as connection,
    ):
        revision = MigrationContext.configure(connection).get_current_revision()
        if revision is None:
            raise DstressError("there is nothing to back up", where=database.engine.url.render_as_string())
        for table in _tables(connection):
            rows[table.name] = _write_table(connection, table, archive)
            on_progress(table.name, rows[table.name])
        count = 0
        for name in files.names():
            with files.open(name) as stream, archive.open(f"files/{name}", "w", force_zip64=True) as member:
                shutil.copyfileobj(stream, member)
            count += 1
            on_progress("files", count)
        contents = Contents(now().isoformat(timespec="seconds"), revision, rows, count)
        manifest = {"format": _FORMAT, "dstress": __version__} | contents._asdict()
        archive.writestr(_MANIFEST, json.dumps(manifest, indent=2))
    return contents


def restore(database: Database, files: Files, path: Path, on_progress: OnProgress = lambda *_: None) -> Contents:
    """Fill an empty server from a backup. One that has rows or files is left alone."""
    try:
        with zipfile.ZipFile(path) as archive:
            contents = _read_manifest(archive, path)
            if next(files.names(), None) is not None:
                raise DstressError("there are files already", where=str(path), fix="restore into an empty server")
            database.migrate(contents.revision)
            with database.engine.begin() as connection:
                for table in _tables(connection):
                    _read_table(connection, table, archive, path)
                    on_progress(table.name, contents.rows.get(table.name, 0))
            database.migrate()
            names = [name for name in archive.namelist() if name.startswith("files/")]
            for count, name in enumerate(names, start=1):
                with archive.open(name) as member:
                    files.save(check_name(name.removeprefix("files/")), member)
                on_progress("files", count)
    except (zipfile.BadZipFile, EOFError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DstressError(f"the backup is damaged: {error}", where=str(path)) from None
    return contents


def _one_moment(database: Database) -> dict[str, Any]:
    """What makes all tables be read as of one moment."""
    postgresql = database.engine.dialect.name == "postgresql"
    return {"isolation_level": "REPEATABLE READ"} if postgresql else {"dstress_write": False}


def _tables(connection: Connection) -> list[Table]:
    """The tables as they are in the database, each after those that it points to."""
    found = MetaData()
    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != "alembic_version"]


def _write_table(connection: Connection, table: Table, archive: zipfile.ZipFile) -> int:
    count = 0
    with archive.open(f"tables/{table.name}.jsonl", "w", force_zip64=True) as member:
        asked = select(table).order_by(*table.primary_key.columns)
        for row in connection.execution_options(yield_per=_BATCH).execute(asked):
            values = {name: _as_json(value) for name, value in row._mapping.items()}
            member.write(json.dumps(values, ensure_ascii=False).encode() + b"\n")
            count += 1
    return count


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _read_table(connection: Connection, table: Table, archive: zipfile.ZipFile, path: Path) -> None:
    if connection.scalar(select(func.count()).select_from(table)):
        fix = "restore into an empty database"
        raise DstressError(f"the database has rows in {table.name} already", where=str(path), fix=fix)
    batch: list[dict[str, Any]] = []
    for row in _lines(archive, table):
        batch.append(row)
        if len(batch) == _BATCH:
            connection.execute(insert(table), batch)
            batch = []
    if batch:
        connection.execute(insert(table), batch)
    if connection.dialect.name == "postgresql" and "id" in table.columns:
        place = connection.dialect.identifier_preparer.format_table(table)
        last = f"select setval(pg_get_serial_sequence(:name, 'id'), coalesce(max(id), 0) + 1, false) from {place}"
        connection.execute(text(last), {"name": table.name})


def _lines(archive: zipfile.ZipFile, table: Table) -> Iterator[dict[str, Any]]:
    readers: dict[str, Callable[[Any], Any]] = {}
    for column in table.columns:
        if isinstance(column.type, DateTime):
            readers[column.name] = datetime.fromisoformat
        elif isinstance(column.type, LargeBinary):
            readers[column.name] = base64.b64decode
    with archive.open(f"tables/{table.name}.jsonl") as member:
        for line in member:
            row = json.loads(line)
            row |= {name: read(row[name]) for name, read in readers.items() if row.get(name) is not None}
            yield row


def _read_manifest(archive: zipfile.ZipFile, path: Path) -> Contents:
    try:
        manifest = json.loads(archive.read(_MANIFEST))
    except KeyError:
        raise DstressError("this is no backup of a server", where=str(path)) from None
    if manifest["format"] != _FORMAT:
        raise DstressError("a newer dstress made this backup", where=str(path), fix=f"use {manifest['dstress']}")
    return Contents(manifest["made_at"], manifest["revision"], manifest["rows"], manifest["files"])
