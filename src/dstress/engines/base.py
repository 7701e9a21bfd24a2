"""The contract of an engine: pieces of a job done somewhere, by somebody, however often a worker is lost.

A job is opened once in each worker (a model is loaded once) and then given pieces, which are bytes, as are the results.
Pieces do not depend on each other, so whoever does them, in whatever order, the results are the same.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import cloudpickle

from dstress.errors import DstressError


class Job(ABC):
    """Work that can be shared out. It travels to its workers packed, before it is opened."""

    def open(self) -> None:
        """Load what is needed, in the worker."""
        return

    @abstractmethod
    def run(self, piece: bytes) -> bytes:
        """Do one piece."""

    def close(self) -> None:
        """Let go of what was loaded."""
        return

    def parts(self, piece: bytes) -> list[bytes]:
        """The piece in smaller ones, to find the part on which a worker hangs or dies; one part: it is the smallest."""
        return [piece]

    def lost(self, piece: bytes, reason: str) -> bytes | None:
        """The result of a smallest piece that no worker survived; None if the job cannot go on without it."""
        return None


def pack(thing: object) -> bytes:
    """A job for its workers, or what a worker has to say, for `pickle.loads`.

    Classes that no file holds, such as a tracker of a notebook's cell, travel with their definition.
    """
    try:
        return bytes(cloudpickle.dumps(thing))
    except Exception as error:  # whatever refuses to be pickled
        raise DstressError(
            f"the work cannot be sent to another process: {type(error).__name__}: {error}",
            fix="open files, locks and connections in prepare(), not in the constructor; or use one worker",
        ) from error


def cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # pragma: no cover - only Linux says which cores
        return os.cpu_count() or 1


class Task(NamedTuple):
    """A piece to be done, its number, and how many workers it may still cost."""

    number: int
    piece: bytes
    chances: int


class Engine(ABC):
    """Where jobs are done."""

    @abstractmethod
    def process(self, job: Job, pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Results as they come, each with its piece's number; a piece that had to be split has several results."""

    def joined(self) -> AbstractContextManager[None]:
        """Whatever it takes to reach the workers, kept over several jobs; `process` does so by itself for one."""
        return nullcontext()

    def in_order(self, job: Job, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Results in the order of their pieces, for jobs whose pieces are never split."""
        waiting: dict[int, bytes] = {}
        due = 0
        for number, result in self.process(job, pieces):
            waiting[number] = result
            while due in waiting:
                yield waiting.pop(due)
                due += 1
