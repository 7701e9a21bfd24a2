"""What a model has said before, on disk: a run that is killed, resumed or scored again pays for nothing twice.

One SQLite file in the data home, shared by all processes. A response is there whole or not at all. Beside it stands
what each purse has spent: the processes of one run share one.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dstress.errors import DstressError
from dstress.storage.lock import only_one
from dstress.storage.secrets import redact

_PATIENCE = 60.0
"""Seconds to wait while another process writes."""
_TABLES = """
CREATE TABLE IF NOT EXISTS responses (key TEXT PRIMARY KEY, model TEXT NOT NULL, reply BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS spending (purse TEXT PRIMARY KEY, tokens INTEGER NOT NULL, money REAL NOT NULL);
"""
_ADD = """
INSERT INTO spending VALUES (?, ?, ?)
ON CONFLICT (purse) DO UPDATE SET tokens = tokens + excluded.tokens, money = money + excluded.money
"""


class Spent(NamedTuple):
    """What was paid so far."""

    tokens: int = 0
    money: float = 0.0


def key_of(base_url: str, body: bytes, version: str = "") -> str:
    """The name of a response: the endpoint, the model, the prompt and every parameter (`body`), and the version."""
    return hashlib.sha256(b"\0".join((base_url.encode(), version.encode(), body))).hexdigest()


class SharedDatabase:
    """A SQLite file that several threads and processes use at once; `tables` makes what it holds."""

    repair = "make room on the disk if it is full; a file that is damaged can be moved away"

    def __init__(self, path: Path, tables: str, what: str = "cache") -> None:
        self.path, self.what = path, what
        self._lock = threading.Lock()
        with self._naming_the_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None)
            # With a write-ahead log readers do not wait for writers. Power loss may cost the last rows, no more.
            # One process at a time turns it on: SQLite does not wait for another that does, but fails.
            with only_one(path.with_suffix(".lock")):
                self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.executescript(tables)

    def execute(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows that a query gives."""
        with self._naming_the_file(), self._lock:
            return self._file.execute(query, values).fetchall()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        """What goes wrong with the file, as an error that names it."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise DstressError(
                f"the {self.what} cannot be used: {error}", where=str(self.path), fix=self.repair
            ) from error


class ResponseCache(SharedDatabase):
    """The file of responses, and of what was spent on them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _TABLES, "cache of responses")

    def get(self, key: str) -> bytes | None:
        """The response, if it is there."""
        rows = self.execute("SELECT reply FROM responses WHERE key = ?", (key,))
        return bytes(rows[0][0]) if rows else None

    def put(self, key: str, model: str, reply: bytes) -> None:
        """Keep a response."""
        self.execute("INSERT OR REPLACE INTO responses VALUES (?, ?, ?)", (key, model, redact(reply)))

    def spend(self, purse: str, cost: Spent) -> None:
        """Note down what a response cost, also one that cannot be used."""
        self.execute(_ADD, (purse, *cost))

    def spent(self, purse: str) -> Spent:
        """What a purse has spent."""
        rows = self.execute("SELECT tokens, money FROM spending WHERE purse = ?", (purse,))
        return Spent(*rows[0]) if rows else Spent()
