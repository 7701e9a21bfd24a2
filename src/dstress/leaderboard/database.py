"""The database: SQLite by default, PostgreSQL by address, one code for both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session

from dstress.errors import DstressError, MissingExtraError

_BUSY = 30.0
"""Seconds that a writer waits for another one in SQLite."""
_MIGRATING = 0x64737472
"""The number of the lock that processes which start together wait for."""


class Database:
    """An engine and the sessions on it. One object for a process; a worker in another process makes its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _make_engine(url)

    @contextmanager
    def session(self, *, write: bool = True) -> Iterator[Session]:
        """A session that commits at the end, and rolls back on an error.

        A transaction begins with the first statement, and anew with the first one after a commit. SQLite lets one
        writer in at a time; one that will write waits its turn at its first statement, since had it read first, it
        could be refused in the middle. So do slow work before that statement, or after a commit.
        """
        with Session(self.engine.execution_options(dstress_write=write), expire_on_commit=False) as session:
            yield session
            session.commit()

    def migrate(self, revision: str = "head") -> None:
        """Bring the tables to a revision, from scratch or from any older one; one process at a time."""
        # One transaction around all revisions: Alembic would commit after each on SQLite, and let another process in.
        with self.engine.begin() as connection:
            if connection.dialect.name == "postgresql":  # SQLite lets nobody else in once a transaction has begun
                connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
            config = migration_config()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def upsert_into(db: Session, table: Any) -> Any:
    """An insert that takes `on_conflict_do_update`, which SQLAlchemy has for each kind of database by itself."""
    return (postgresql if db.get_bind().dialect.name == "postgresql" else sqlite).insert(table)


def migration_config() -> Config:
    """Alembic's configuration; the connection is added by whoever uses it."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    return config


def _make_engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
    except ArgumentError:
        fix = "for example sqlite:///platform.db or postgresql+psycopg://user@host/name"
        raise DstressError("the database's address cannot be read", where="settings", fix=fix) from None
    if parsed.drivername in ("postgres", "postgresql"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() == "postgresql":
        if find_spec("psycopg") is None:
            raise MissingExtraError("PostgreSQL needs psycopg", fix="pip install 'dstress[postgres]'")
        return create_engine(parsed, pool_size=20, max_overflow=30, pool_pre_ping=True)
    if parsed.get_backend_name() != "sqlite":
        raise DstressError(f"no database of the kind {parsed.get_backend_name()!r}", fix="use sqlite or postgresql")
    if parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(parsed, pool_size=20, max_overflow=30, connect_args={"timeout": _BUSY})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, record: object) -> None:
    connection.isolation_level = None  # we begin transactions ourselves, below
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("dstress_write", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
