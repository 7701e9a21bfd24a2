"""Answers of a tracker, a line each, appended as they come: what a killed run finds again.

The file is only ever added to, until every turn has its answer; then it is put into the corpus's order, in one step, so
that it has the same bytes whoever answered first. A line that was torn by a crash or a full disk is not trusted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from dstress.errors import UNREADABLE_JSON
from dstress.predictions.base import Prediction
from dstress.storage.atomic import replacing
from dstress.storage.secrets import redact

_SYNC_EVERY = 1.0
"""Seconds after which what was written is pushed through to the disk: a power cut costs no more."""

_PREDICTION = msgspec.json.Decoder(Prediction)


class Journal:
    """The answers to one variant of a corpus."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.turns = 0
        """How many turns have an answer or a failure."""
        self._places: dict[str, dict[int, tuple[int, int]]] = {}
        self._failed: set[tuple[str, int]] = set()
        self._file: IO[bytes] | None = None
        self._synced = 0.0
        self._end = 0
        if path.exists():
            self._read()

    def _read(self) -> None:
        with self.path.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                self._note(line)
                self._end += len(line)

    def _note(self, line: bytes) -> None:
        """Remember where an answer stands; a later one to the same turn counts, and what cannot be read does not."""
        try:
            answer = _PREDICTION.decode(line)
        except UNREADABLE_JSON:
            return
        places = self._places.setdefault(answer.dialogue, {})
        self.turns += answer.turn not in places
        places[answer.turn] = (self._end, len(line))
        key = (answer.dialogue, answer.turn)
        (self._failed.add if answer.failed else self._failed.discard)(key)

    def done(self, dialogue: str) -> frozenset[int]:
        """The turns of a dialogue that have an answer that did not fail."""
        return frozenset(turn for turn in self._places.get(dialogue, ()) if (dialogue, turn) not in self._failed)

    @property
    def failed(self) -> int:
        """How many turns have no answer but a failure."""
        return len(self._failed)

    @property
    def answered(self) -> int:
        """How many turns have an answer."""
        return self.turns - self.failed

    def answers(self, dialogue: str) -> dict[int, Prediction]:
        """A dialogue's answers by turn."""
        places = self._places.get(dialogue, {})
        if not places:
            return {}
        self._flush()
        with self.path.open("rb") as file:
            return {turn: _PREDICTION.decode(_at(file, place)) for turn, place in sorted(places.items())}

    def add(self, lines: bytes) -> None:
        """Append answers, each a line."""
        file = self._opened()
        for line in redact(lines).splitlines(keepends=True):
            file.write(line)
            self._note(line)
            self._end += len(line)
        file.flush()
        if time.monotonic() - self._synced > _SYNC_EVERY:
            os.fsync(file.fileno())
            self._synced = time.monotonic()

    def settle(self, order: Iterable[tuple[str, int]]) -> None:
        """Put the answers into the corpus's order, in one step; a failed turn keeps its failure."""
        self.close()
        if not self.path.exists():
            with replacing(self.path):
                return
        with self.path.open("rb") as file, replacing(self.path) as out:
            places = (self._places.get(dialogue, {}).get(turn) for dialogue, turn in order)
            for place in places:
                if place is not None:
                    out.write(_at(file, place))
        self.__init__(self.path)  # type: ignore[misc]

    def close(self) -> None:
        """Close the file; it is opened again by the next answer."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __iter__(self) -> Iterator[Prediction]:
        self._flush()
        places = sorted(place for turns in self._places.values() for place in turns.values())
        with self.path.open("rb") as file:
            for place in places:
                yield _PREDICTION.decode(_at(file, place))

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("r+b" if self.path.exists() else "w+b")
            # Whatever lies behind the last whole line was torn.
            self._file.truncate(self._end)
            self._file.seek(self._end)
        return self._file

    def _flush(self) -> None:
        if self._file is not None:
            self._file.flush()


def _at(file: IO[bytes], place: tuple[int, int]) -> bytes:
    file.seek(place[0])
    return file.read(place[1])
