"""This machine: in the same process, or shared out over worker processes that may hang or die."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, Literal

from dstress.engines.base import Engine, Job, Task, cores, pack
from dstress.errors import DstressError

_CHANCES = 2
"""How often the same piece may cost a worker its life."""
_READY = "ready"
"""What a worker says when its job is open; results are bytes."""
_LONGEST = 10**6
"""Seconds: the system takes no more, and "not a number" is never below."""


class Local(Engine):
    """Batches on this machine; `workers` processes, each with a copy of the job.

    Without a `timeout` one worker works in this very process, unless it is to be `isolated`: a job that may end its
    process then costs a worker and not the run. With a `timeout` a worker that takes longer over a piece is
    stopped and replaced, and the piece is split until the turn on which it hangs is found. Workers are spawned, since
    a process that shows progress has threads, and those do not survive a fork; a process without any may fork, which
    takes no time and gives the job as it is.
    """

    def __init__(
        self,
        workers: int = 1,
        timeout: float | None = None,
        start: Literal["spawn", "fork"] = "spawn",
        isolated: bool = False,
    ) -> None:
        if workers < 1:
            raise DstressError(f"{workers} workers can do nothing", fix="give at least 1")
        if timeout is not None and not 0 < timeout < _LONGEST:
            raise DstressError(f"a timeout of {timeout} seconds is none", fix="give seconds, or leave it out")
        self.workers, self.timeout, self.start, self.isolated = workers, timeout, start, isolated

    def process(self, job: Job, pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Results as they come."""
        if self.workers == 1 and self.timeout is None and not self.isolated:
            return _run_here(job, pieces)
        return _Pool(job, self.workers, self.timeout, self.start).results(pieces)


def _run_here(job: Job, pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    job.open()
    try:
        for number, piece in enumerate(pieces):
            yield number, job.run(piece)
    finally:
        job.close()


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, job: bytes | Job, threads: int) -> None:
        context: Any = multiprocessing.get_context("fork" if isinstance(job, Job) else "spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, job, threads), daemon=True)
        self.process.start()
        theirs.close()
        self.task: Task | None = None
        self.deadline: float | None = None
        self.ready = False

    def assign(self, task: Task, timeout: float | None) -> None:
        self.task = task
        self.start_clock(timeout)
        # A worker that died takes nothing; its end is seen by whoever waits for it.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send_bytes(task.piece)

    def start_clock(self, timeout: float | None) -> None:
        """From now on the piece may take so long; a worker that is still loading its model has all the time."""
        self.deadline = time.monotonic() + timeout if self.ready and timeout is not None else None

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class _Pool:
    """Workers, what they are busy with, and what is left to do."""

    def __init__(self, job: Job, workers: int, timeout: float | None, start: str) -> None:
        self.job, self.timeout = job, timeout
        self.given: bytes | Job = job if start == "fork" else pack(job)
        self.opened = False
        self.unopened = 0
        self.threads = max(1, cores() // workers)
        self.workers = [_Worker(self.given, self.threads) for _ in range(workers)]
        self.again: deque[Task] = deque()

    def results(self, pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        tasks = (Task(number, piece, _CHANCES) for number, piece in enumerate(pieces))
        try:
            while self._assign_tasks(tasks):
                for worker in self._wait_for_workers():
                    yield from self._collect(worker)
        finally:
            for worker in self.workers:
                worker.stop()

    def _assign_tasks(self, tasks: Iterator[Task]) -> bool:
        """Give every idle worker something to do; whether anybody is at work."""
        for worker in self.workers:
            if worker.task is None:
                task = self.again.popleft() if self.again else next(tasks, None)
                if task is not None:
                    worker.assign(task, self.timeout)
        return any(worker.task for worker in self.workers)

    def _wait_for_workers(self) -> list[_Worker]:
        """Workers that have answered, died, or taken too long."""
        busy = [worker for worker in self.workers if worker.task]
        deadlines = [worker.deadline for worker in busy if worker.deadline is not None]
        timeout = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
        readable = set(wait([worker.pipe for worker in busy], timeout))
        now = time.monotonic()
        return [w for w in busy if w.pipe in readable or (w.deadline is not None and w.deadline <= now)]

    def _collect(self, worker: _Worker) -> Iterator[tuple[int, bytes]]:
        task = worker.task
        if task is None:
            return
        reason = "it took too long"
        if worker.pipe.poll():
            try:
                answer = pickle.loads(worker.pipe.recv_bytes())
            except (EOFError, ConnectionResetError):
                reason = "the worker process died"
            else:
                if isinstance(answer, BaseException):
                    raise answer
                if answer == _READY:
                    worker.ready = self.opened = True
                    worker.start_clock(self.timeout)
                    return
                worker.task = None
                yield task.number, answer
                return
        yield from self._replace(worker, task, reason)

    def _replace(self, worker: _Worker, task: Task, reason: str) -> Iterator[tuple[int, bytes]]:
        """Replace a worker; try its piece again in parts, and give up on a smallest part that costs another."""
        worker.stop()
        self.unopened += not worker.ready
        if not self.opened and self.unopened >= _CHANCES:
            raise DstressError(
                f"the worker process ended before it could begin, with exit status {worker.process.exitcode}",
                fix="look at what is loaded there, a tracker's `prepare`; memory may have run out",
            )
        self.workers[self.workers.index(worker)] = _Worker(self.given, self.threads)
        parts = self.job.parts(task.piece)
        if len(parts) > 1:
            self.again.extend(Task(task.number, part, _CHANCES) for part in parts)
        elif task.chances > 1:
            self.again.append(Task(task.number, task.piece, task.chances - 1))
        else:
            result = self.job.lost(task.piece, reason)
            if result is None:
                raise DstressError(
                    f"{reason}, again and again, on the same piece of work",
                    fix="run it with one worker to see why; memory may have run out",
                )
            yield task.number, result


def _end_with_parent() -> None:
    """Nobody waits for a worker whose parent is gone, however it went; it may be in the middle of a long piece."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(pipe: Connection, job: bytes | Job, threads: int) -> None:
    """A worker's life: open the job, do pieces until nobody asks any more."""
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # else each would use all, and wait for the others
    opened: Job | None = None
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            piece = pipe.recv_bytes()
            try:
                if opened is None:
                    opened = pickle.loads(job) if isinstance(job, bytes) else job
                    opened.open()
                    pipe.send_bytes(pack(_READY))
                answer: Any = opened.run(piece)
            except DstressError as error:
                answer = error
            except Exception as error:
                error.add_note("in a worker process:\n" + traceback.format_exc())
                answer = error
            pipe.send_bytes(pack(answer))
