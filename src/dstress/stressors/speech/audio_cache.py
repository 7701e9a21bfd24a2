"""What was spoken and heard, kept by content: the same words under the same conditions are never spoken twice.

Two SQLite files, which several processes may use at once and which a crash leaves whole: hypotheses, which are tiny,
and clean audio, which is not, and of which no more than `MOST_AUDIO` bytes are kept.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from dstress.errors import DstressError
from dstress.stressors.speech.voice import Samples

MOST_AUDIO = 256_000_000
"""About three hours of speech. What comes later is spoken anew each time, which costs a fraction of hearing it."""

_PATIENCE = 60.0
_KEYS_AT_ONCE = 500


def content_key(*parts: object) -> bytes:
    """The name of a piece of work: a hash of all that its result depends on."""
    return blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=16).digest()


class BlobCache:
    """A table from content keys to bytes, in a file that processes share. It survives being sent to another process."""

    def __init__(self, path: Path, most_bytes: int | None = None) -> None:
        self.path, self.most_bytes = path, most_bytes
        self._connection: sqlite3.Connection | None = None

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "most_bytes": self.most_bytes, "_connection": None}

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Those of the keys that are there."""
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            marks = ",".join("?" * len(some))
            found.update(self._query(f"SELECT key, value FROM kept WHERE key IN ({marks})", some))
        return found

    def put(self, new: Mapping[bytes, bytes]) -> None:
        """Keep some more, unless the file is full."""
        if self.most_bytes is not None:
            [(pages,)] = self._query("PRAGMA page_count")
            [(page_size,)] = self._query("PRAGMA page_size")
            if pages * page_size >= self.most_bytes:
                return
        with self._opened() as connection, connection:
            connection.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?)", new.items())

    def close(self) -> None:
        """Give the file back; it opens again when it is needed."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        self.close()

    def _query(self, query: str, values: Sequence[bytes] = ()) -> list[tuple[Any, ...]]:
        with self._opened() as connection:
            return connection.execute(query, values).fetchall()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The file. What goes wrong with it is an error that names it."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            yield self._connection
        except sqlite3.Error as error:
            self.close()
            raise DstressError(
                f"the cache cannot be used: {error}",
                where=str(self.path),
                fix="if no other dstress is at work, delete the file; it is made again, at the cost of time alone",
            ) from error

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_PATIENCE)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        return connection


def pack_audio(audio: Samples) -> bytes:
    """Audio as bytes: differences between neighbours, high bytes apart from low ones, compress best."""
    differences = np.diff(audio, prepend=np.int16(0)).astype("<i2")
    return zlib.compress(differences.view(np.uint8).reshape(-1, 2).T.tobytes(), 1)


def unpack_audio(content: bytes) -> Samples:
    """The audio again, to the bit; sums wrap as the differences did."""
    planes = np.frombuffer(zlib.decompress(content), np.uint8).reshape(2, -1)
    return np.cumsum(np.ascontiguousarray(planes.T).view("<i2")[:, 0], dtype=np.int16)
