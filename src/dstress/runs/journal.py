"""Answers of a tracker, a line each, appended as they come: what a killed run finds again.

The file is only ever added to, until every turn has its answer; then it is put into the corpus's order, in one step, so
that it has the same bytes whoever answered first. A line that was torn by a crash or a full disk is not trusted.

Until then each line ends with its checksum, so that an edit is noticed when the run is resumed. In the file that is in
order there are none, since the run's manifest has a hash of it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO
from zlib import crc32

import msgspec

from dstress.errors import UNREADABLE_JSON, DstressError
from dstress.predictions.base import Prediction
from dstress.storage.atomic import replacing
from dstress.storage.secrets import redact

_SYNC_EVERY = 1.0
"""Seconds after which what was written is pushed through to the disk: a power cut costs no more."""

_PREDICTION = msgspec.json.Decoder(Prediction)


_CHECKSUM = re.compile(rb',"check":"[0-9a-f]{8}"}\n\Z')


def _with_checksum(line: bytes) -> bytes:
    return line.removesuffix(b"}\n") + b',"check":"%08x"}\n' % crc32(line)


def _without_checksum(line: bytes) -> bytes:
    return _CHECKSUM.sub(b"}\n", line)


class _Key(msgspec.Struct):
    dialogue: str
    turn: int
    failed: str = ""


_KEY = msgspec.json.Decoder(_Key)


class Journal:
    """The answers to one variant of a corpus."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.turns = 0
        """How many turns have an answer or a failure."""
        self._places: dict[str, dict[int, tuple[int, int]]] = {}
        self._failed: set[tuple[str, int]] = set()
        self._file: IO[bytes] | None = None
        self._reader: IO[bytes] | None = None
        self._synced = 0.0
        # Bytes of the whole lines, then of a torn line behind them.
        self._end = self._torn = 0
        self._inode = 0
        self._checked = False
        if path.exists():
            with path.open("rb") as lines:
                self._inode = os.fstat(lines.fileno()).st_ino
                self._read(lines)

    def _read(self, lines: Iterable[bytes]) -> None:
        """Index the file; either all of its answers have a checksum or, in one that was put into order, none has."""
        unchecked = 0
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                self._torn = len(line)
                break
            with suppress(*UNREADABLE_JSON):  # what cannot be read is no answer
                self._note(_PREDICTION.decode(line), line)
                bare = _without_checksum(line)
                if bare == line:
                    unchecked = number
                elif line == _with_checksum(bare):
                    self._checked = True
                else:
                    raise self._edited(number)
            self._end += len(line)
        if self._checked and unchecked:
            raise self._edited(unchecked)

    def _edited(self, number: int) -> DstressError:
        return DstressError(
            "the answer has changed since the run wrote it",
            where=f"{self.path}, line {number}",
            fix="restore the line, or remove it and go on with `dstress run --resume`, which tracks the turn again",
        )

    def _note(self, answer: Prediction | _Key, line: bytes) -> None:
        """Remember where an answer stands; a later one to the same turn counts."""
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

    def is_current(self) -> bool:
        """Whether nobody else has written to the file or replaced it meanwhile."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return not self._end
        return (status.st_ino, status.st_size) == (self._inode, self._end + self._torn)

    def answers(self, dialogue: str) -> dict[int, Prediction]:
        """A dialogue's answers by turn."""
        places = sorted(self._places.get(dialogue, {}).items())
        return {turn: _PREDICTION.decode(self._at(place)) for turn, place in places}

    def lines(self, dialogue: str, turns: Iterable[int]) -> bytes:
        """The answers to some turns of a dialogue as they stand in the file."""
        places = self._places.get(dialogue, {})
        return b"".join(self._at(places[turn]) for turn in turns)

    def add(self, lines: bytes) -> None:
        """Append answers, each a line."""
        file = self.open()
        for answer in redact(lines).splitlines(keepends=True):
            line = _with_checksum(answer)
            file.write(line)
            self._note(_KEY.decode(line), line)
            self._end += len(line)
        file.flush()
        if time.monotonic() - self._synced > _SYNC_EVERY:
            os.fsync(file.fileno())
            self._synced = time.monotonic()

    def settle(self, order: Iterable[tuple[str, int]]) -> None:
        """Put the answers into the corpus's order, in one step; a failed turn keeps its failure."""
        self._rewrite(order, checked=False)

    def _rewrite(self, order: Iterable[tuple[str, int]], *, checked: bool) -> None:
        places: dict[str, dict[int, tuple[int, int]]] = {}
        end = 0
        with replacing(self.path) as out:
            for dialogue, turn in order:
                if (place := self._places.get(dialogue, {}).get(turn)) is not None:
                    line = redact(self._at(place))
                    line = _with_checksum(line) if checked else line
                    out.write(line)
                    places.setdefault(dialogue, {})[turn] = (end, len(line))
                    end += len(line)
        self.close()
        self._places, self._end, self._torn, self._inode = places, end, 0, self.path.stat().st_ino
        self._failed = {(dialogue, turn) for dialogue, turn in self._failed if turn in places.get(dialogue, {})}
        self.turns = sum(map(len, places.values()))
        self._checked = checked

    def close(self) -> None:
        """Close the file; it is opened again by the next who writes or reads."""
        for file in (self._file, self._reader):
            if file is not None:
                file.close()
        self._file = self._reader = None

    def __del__(self) -> None:
        self.close()

    def __iter__(self) -> Iterator[Prediction]:
        places = sorted(place for turns in self._places.values() for place in turns.values())
        with nullcontext(self._reader) if self._reader else self.path.open("rb") as file:
            for start, length in places:
                file.seek(start)
                yield _PREDICTION.decode(file.read(length))

    def open(self) -> IO[bytes]:
        """Open the file for answers to be added: from now on, each line has its checksum."""
        if self._file is None:
            if not self._checked:
                order = [(dialogue, turn) for dialogue, turns in self._places.items() for turn in turns]
                self._rewrite(order, checked=True)
            self._file = self.path.open("r+b")
            self._inode = os.fstat(self._file.fileno()).st_ino
            # Whatever lies behind the last whole line was torn.
            self._file.truncate(self._end)
            self._torn = 0
            self._file.seek(self._end)
        return self._file

    def _at(self, place: tuple[int, int]) -> bytes:
        if self._reader is None:
            self._reader = self.path.open("rb", buffering=0)
        self._reader.seek(place[0])
        return _without_checksum(self._reader.read(place[1]))
