"""The contract of an engine: pieces of a job done somewhere, by somebody, however often a worker is lost.

A job is opened once in each worker (a model is loaded once) and then given pieces. Pieces and results are anything that
can be pickled; in this process they stay what they are. Pieces do not depend on each other, so whoever does them, in
whatever order, the results are the same.
"""

from __future__ import annotations

import os
import pickle
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import cloudpickle

from dstress.errors import DstressError
from dstress.storage.secrets import hide_too, secrets_read


class Job(ABC):
    """Work that can be shared out. It travels to its workers packed, before it is opened."""

    def open(self) -> None:
        """Load what is needed, in the worker."""
        return

    @abstractmethod
    def run(self, piece: Any) -> Any:
        """Do one piece."""

    def stream(self, piece: Any) -> Iterator[Any]:
        """Do one piece, and give what is done of it as it comes: each part is a result."""
        yield self.run(piece)

    def close(self) -> None:
        """Let go of what was loaded."""
        return

    def parts(self, piece: Any) -> list[Any]:
        """The piece in smaller ones, to find the part on which a worker hangs or dies; one part: it is the smallest."""
        return [piece]

    def lost(self, piece: Any, reason: str) -> Any:
        """The result of a smallest piece that no worker survived; None if the job cannot go on without it."""
        return None


def pack(thing: object) -> bytes:
    """A job or a piece for its workers, or what a worker has to say, for `pickle.loads`.

    Classes that no file holds, such as a tracker of a notebook's cell, travel with their definition.
    """
    try:
        return bytes(cloudpickle.dumps(thing))
    except Exception as error:  # whatever refuses to be pickled
        raise DstressError(
            f"the work cannot be sent to another process: {type(error).__name__}: {error}",
            fix="open files, locks and connections in prepare(), not in the constructor; or use one worker",
        ) from error


READY, RESULT, DONE, ERROR = "ready", "result", "done", "error"
"""What a worker says: its job is open, here is a result, the piece is done, or what went wrong."""


def reply(kind: str, value: object = None) -> bytes:
    """What a worker has to say, and which secrets it has read: its results and its errors may quote them."""
    return pack((kind, value, secrets_read()))


def read_reply(content: bytes) -> tuple[str, Any]:
    """What a worker said; an error is raised. This process hides the same secrets from then on."""
    kind, value, secrets = pickle.loads(content)
    hide_too(secrets)
    if kind == ERROR:
        raise value
    return kind, value


def cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # pragma: no cover - only Linux says which cores
        return os.cpu_count() or 1


class Task(NamedTuple):
    """A piece to be done, its number, and how many workers it may still cost."""

    number: int
    piece: Any
    chances: int


class Backlog:
    """The pieces of a job that are still to be done: first those that cost a worker, then new ones.

    A lost piece is tried again in parts, to find the one that is at fault; a `patient` backlog tries it whole first.
    """

    def __init__(self, job: Job, pieces: Iterable[Any], chances: int, *, patient: bool = False) -> None:
        self.job, self.chances, self.patient = job, chances, patient
        self._new = (Task(number, piece, chances) for number, piece in enumerate(pieces))
        self._again: deque[Task] = deque()

    def take(self) -> Task | None:
        """The next piece to do; None where nothing is left for now."""
        return self._again.popleft() if self._again else next(self._new, None)

    def put_back(self, task: Task) -> None:
        """Do a piece as soon as a worker is free."""
        self._again.append(task)

    def lose(self, task: Task, reason: str) -> Iterator[tuple[int, Any]]:
        """Put a piece that cost a worker back; give up on a smallest part that has cost enough of them."""
        parts = self.job.parts(task.piece)
        if len(parts) > 1 and not (self.patient and task.chances > 1):
            self._again.extend(Task(task.number, part, self.chances) for part in parts)
        elif task.chances > 1:
            self._again.append(task._replace(chances=task.chances - 1))
        else:
            result = self.job.lost(task.piece, reason)
            if result is None:
                raise DstressError(
                    f"{reason}, again and again, on the same piece of work",
                    fix="run it with one worker to see why; memory may have run out",
                )
            yield task.number, result


class Engine(ABC):
    """Where jobs are done."""

    workers: int = 1
    """How many work at once; 0 where nobody knows."""

    @abstractmethod
    def process(self, job: Job, pieces: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Results as they come, each with its piece's number; a piece that is split or streamed has several results."""

    def joined(self) -> AbstractContextManager[None]:
        """Whatever it takes to reach the workers, kept over several jobs; `process` does so by itself for one."""
        return nullcontext()

    def in_order(self, job: Job, pieces: Iterable[Any]) -> Iterator[Any]:
        """Results in the order of their pieces, for jobs whose pieces are never split."""
        waiting: dict[int, Any] = {}
        due = 0
        for number, result in self.process(job, pieces):
            waiting[number] = result
            while due in waiting:
                yield waiting.pop(due)
                due += 1
