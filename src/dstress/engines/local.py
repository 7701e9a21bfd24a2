"""This machine: in the same process, or shared out over worker processes that may hang or die."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from dstress.engines.base import DONE, ERROR, READY, RESULT, Backlog, Engine, Job, Task, cores, pack, read_reply, reply
from dstress.errors import DstressError

_CHANCES = 2
"""How often the same piece may cost a worker its life."""
_JOB, _PIECE = b"j", b"p"
"""What a message to a worker begins with."""
_THREADS = "OMP_NUM_THREADS"
_LONGEST = 10**6
"""Seconds: the system takes no more, and "not a number" is never below."""


class Local(Engine):
    """Batches on this machine; `workers` processes, each with a copy of the job.

    Without a `timeout` one worker works in this very process, unless it is to be `isolated`: a job that may end its
    process then costs a worker and not the run. With a `timeout` a worker that takes longer over a piece is
    stopped and replaced, and the piece is split until the turn on which it hangs is found. Workers are spawned, since
    a process that shows progress has threads, and those do not survive a fork.
    """

    def __init__(self, workers: int = 1, timeout: float | None = None, isolated: bool = False) -> None:
        if workers < 1:
            raise DstressError(f"{workers} workers can do nothing", fix="give at least 1")
        if timeout is not None and not 0 < timeout < _LONGEST:
            raise DstressError(f"a timeout of {timeout} seconds is none", fix="give seconds, or leave it out")
        self.workers, self.timeout, self.isolated = workers, timeout, isolated
        self._kept: list[_Worker] | None = None

    def process(self, job: Job, pieces: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Results as they come."""
        if self.workers > 1 or self.timeout is not None or self.isolated:
            yield from _Pool(self, job, pieces).results()
            return
        job.open()
        try:
            for number, piece in enumerate(pieces):
                yield from ((number, result) for result in job.stream(piece))
        finally:
            job.close()

    @contextlib.contextmanager
    def joined(self) -> Iterator[None]:
        """Keep processes from one job to the next: starting one and importing torch takes seconds."""
        if self._kept is not None:
            yield
            return
        kept: list[_Worker] = []
        self._kept = kept
        try:
            yield
        finally:
            self._kept = None
            for worker in kept:
                worker.stop()

    def hire(self, job: bytes) -> _Worker:
        """A process for a packed job: one that is kept, or else a new one."""
        while self._kept:
            worker = self._kept.pop()
            if worker.process.is_alive():
                break
            worker.stop()
        else:
            worker = _Worker(max(1, cores() // self.workers))
        worker.begin(job)
        return worker

    def release(self, worker: _Worker) -> None:
        """Keep a process for the next job, or end it: one that is at work, or where nobody keeps any."""
        if self._kept is None or worker.task is not None:
            worker.stop()
        else:
            self._kept.append(worker)


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        # Each has a share of the cores: else each would use all for its numbers, and wait for others. Libraries look
        # at this when they are imported, which a script may do at its head, before any line of ours.
        is_ours = _THREADS not in os.environ
        os.environ.setdefault(_THREADS, str(threads))
        self.process.start()
        if is_ours:
            del os.environ[_THREADS]
        theirs.close()
        self.task: Task | None = None
        self.deadline: float | None = None
        self.ready = False

    def begin(self, job: bytes) -> None:
        """Send another job, which is opened with its first piece."""
        self.ready = False
        self._send(_JOB + job)

    def assign(self, task: Task, timeout: float | None) -> None:
        self.task = task
        self.start_clock(timeout)
        self._send(_PIECE + pack(task.piece))

    def _send(self, message: bytes) -> None:
        # A worker that died takes nothing; its end is seen by whoever waits for it.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send_bytes(message)

    def start_clock(self, timeout: float | None) -> None:
        """From now on the piece may take so long; a worker that is still loading its model has all the time."""
        self.deadline = time.monotonic() + timeout if self.ready and timeout is not None else None

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class _Pool:
    """Workers, and what is left to do."""

    def __init__(self, engine: Local, job: Job, pieces: Iterable[Any]) -> None:
        self.engine, self.timeout, self.backlog = engine, engine.timeout, Backlog(job, pieces, _CHANCES)
        self.sent = pack(job)
        self.opened = False
        self.unopened = 0
        self.workers = [engine.hire(self.sent) for _ in range(engine.workers)]

    def results(self) -> Iterator[tuple[int, Any]]:
        try:
            while True:
                for worker in self.workers:
                    if worker.task is None and (task := self.backlog.take()):
                        worker.assign(task, self.timeout)
                busy = [worker for worker in self.workers if worker.task]
                if not busy:
                    return
                # Wait for workers that have answered, died, or taken too long.
                deadlines = [worker.deadline for worker in busy if worker.deadline is not None]
                timeout = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
                readable = set(wait([worker.pipe for worker in busy], timeout))
                now = time.monotonic()
                for worker in busy:
                    if worker.pipe in readable or (worker.deadline is not None and worker.deadline <= now):
                        yield from self._collect(worker)
        finally:
            for worker in self.workers:
                self.engine.release(worker)

    def _collect(self, worker: _Worker) -> Iterator[tuple[int, Any]]:
        """What a worker has to say; one that died or hangs is replaced, and its piece tried again."""
        task, reason = worker.task, "it took too long"
        if task is None:
            return
        if worker.pipe.poll():
            try:
                content = worker.pipe.recv_bytes()
            except (EOFError, ConnectionResetError):
                reason = "the worker process died"
            else:
                kind, value = read_reply(content)
                if kind == READY:
                    worker.ready = self.opened = True
                    worker.start_clock(self.timeout)
                elif kind == DONE:
                    worker.task = None
                else:
                    yield task.number, value
                return
        worker.stop()
        self.unopened += not worker.ready
        if not self.opened and self.unopened >= _CHANCES:
            raise DstressError(
                f"the worker process ended before it could begin, with exit status {worker.process.exitcode}",
                fix="look at what is loaded there, a tracker's `prepare`; memory may have run out",
            )
        self.workers[self.workers.index(worker)] = self.engine.hire(self.sent)
        yield from self.backlog.lose(task, reason)


def _end_with_parent() -> None:
    """Nobody waits for a worker whose parent is gone, however it went; it may be in the middle of a long piece."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def _work(pipe: Connection) -> None:
    """A worker's life: take a job, open it with its first piece, do pieces until nobody asks any more."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    packed, job = b"", None
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            message = pipe.recv_bytes()
            kind, content = message[:1], message[1:]
            if kind == _JOB:
                packed, job = content, None
                continue
            try:
                if job is None:
                    unopened: Job = pickle.loads(packed)
                    unopened.open()
                    job = unopened
                    pipe.send_bytes(reply(READY))
                for result in job.stream(pickle.loads(content)):
                    pipe.send_bytes(reply(RESULT, result))
                pipe.send_bytes(reply(DONE))
            except DstressError as error:
                pipe.send_bytes(reply(ERROR, error))
            except Exception as error:
                error.add_note("in a worker process:\n" + traceback.format_exc())
                pipe.send_bytes(reply(ERROR, error))
