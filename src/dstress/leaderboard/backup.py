"""Everything a server keeps, in one zip: every table as lines of JSON, and every file.

The tables do not depend on the kind of database, so that a backup of SQLite restores into PostgreSQL. A backup of an
older revision is restored at that revision and then migrated, as its server would have been.
"""

from __future__ import annotations

import base64
import json
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, DateTime, LargeBinary, MetaData, Table, func, insert, select, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from dstress._version import __version__
from dstress.errors import DstressError
from dstress.leaderboard.database import Database, migration_config
from dstress.leaderboard.files import Files, check_name
from dstress.leaderboard.tables import now
from dstress.storage.atomic import replacing

_MANIFEST = "manifest.json"
_FORMAT = 1
_BATCH = 500
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    NotImplementedError,
    OverflowError,
    RecursionError,
    SQLAlchemyError,
)
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
    is_postgresql = database.engine.dialect.name == "postgresql"
    # All tables are read as of one moment.
    one_moment: dict[str, Any] = {"isolation_level": "REPEATABLE READ"} if is_postgresql else {"dstress_write": False}
    with (
        replacing(path) as out,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=5) as archive,
        database.engine.execution_options(**one_moment).connect() as connection,
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
    """Fill an empty server from a backup: all of it, or nothing. One that has rows or files is left alone."""
    saved: list[str] = []
    try:
        with zipfile.ZipFile(path) as archive:
            contents = _verify(archive, path)
            if next(files.names(), None) is not None:
                raise DstressError("there are files already", where=str(path), fix="restore into an empty server")
            database.migrate(contents.revision)
            with database.engine.begin() as connection:  # the rows are there only once all files are
                for table in _tables(connection):
                    _read_table(connection, table, archive, path)
                    on_progress(table.name, contents.rows[table.name])
                for name in _file_names(archive):
                    with archive.open(f"files/{name}") as member:
                        saved.append(name)
                        files.save(name, member)
                    on_progress("files", len(saved))
    except BaseException as error:
        for name in saved:
            files.delete(name)
        if isinstance(error, _DAMAGED) and not isinstance(error, OperationalError):
            reason = str(error).partition("\n")[0]  # what follows in an error of the database has rows
            raise DstressError(f"the backup is damaged: {reason}", where=str(path)) from None
        raise
    database.migrate()
    return contents


def _verify(archive: zipfile.ZipFile, path: Path) -> Contents:
    """Read all of an archive before anything of it is written: checksums, rows, files, and that none is missing."""
    contents = _read_manifest(archive, path)
    if damaged := archive.testzip():
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {damaged!r}")
    rows = {}
    for name in contents.rows:
        with archive.open(f"tables/{name}.jsonl") as member:
            rows[name] = sum(1 for _ in map(dict, map(json.loads, member)))
    if rows != contents.rows or len(_file_names(archive)) != contents.files:
        raise ValueError("rows or files are missing")
    return contents


def _file_names(archive: zipfile.ZipFile) -> list[str]:
    return [check_name(name.removeprefix("files/")) for name in archive.namelist() if name.startswith("files/")]


def _tables(connection: Connection) -> list[Table]:
    """The tables as they are in the database, each after those that it points to."""
    metadata = MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name != "alembic_version"]


def _write_table(connection: Connection, table: Table, archive: zipfile.ZipFile) -> int:
    count = 0
    with archive.open(f"tables/{table.name}.jsonl", "w", force_zip64=True) as member:
        asked = select(table).order_by(*table.primary_key.columns)
        for row in connection.execution_options(yield_per=_BATCH).execute(asked):
            member.write(msgspec.json.encode(dict(row._mapping)) + b"\n")  # bytes as base64
            count += 1
    return count


def _read_table(connection: Connection, table: Table, archive: zipfile.ZipFile, path: Path) -> None:
    if connection.scalar(select(func.count()).select_from(table)):
        fix = "restore into an empty database"
        raise DstressError(f"the database has rows in {table.name} already", where=str(path), fix=fix)
    rows = _lines(archive, table)
    while batch := list(islice(rows, _BATCH)):
        connection.execute(insert(table), batch)
    if connection.dialect.name == "postgresql" and "id" in table.columns:
        place = connection.dialect.identifier_preparer.format_table(table)
        last = f"select setval(pg_get_serial_sequence(:name, 'id'), coalesce(max(id), 0) + 1, false) from {place}"
        connection.execute(text(last), {"name": table.name})


def _lines(archive: zipfile.ZipFile, table: Table) -> Iterator[dict[str, Any]]:
    kinds = ((DateTime, datetime.fromisoformat), (LargeBinary, base64.b64decode))
    readers = {column.name: read for column in table.columns for kind, read in kinds if isinstance(column.type, kind)}
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
    newer = DstressError("a newer dstress made this backup", where=str(path), fix=f"use {manifest['dstress']}")
    if manifest["format"] != _FORMAT:
        raise newer
    contents = msgspec.convert([manifest[field] for field in Contents._fields], Contents)
    try:
        ScriptDirectory.from_config(migration_config()).get_revision(contents.revision)
    except CommandError:
        raise newer from None
    return contents
