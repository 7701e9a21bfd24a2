"""Work that takes a while: scoring answers, and making benchmarks. Done by worker processes, each job exactly once.

The row of a submission is the truth, and the queue is made of such rows: huey's consumer asks this storage for the next
job, which leases a row that waits or whose lease has run out. A lease is prolonged while the work goes on. A result is
written in the one transaction that ends the lease, so that a worker that was taken for dead, or a second one, writes
nothing. So a kill -9 anywhere loses nothing and scores nothing twice.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from huey.api import Huey
from huey.consumer import Consumer
from huey.storage import BlackHoleStorage
from sqlalchemy import or_, select, update
from sqlalchemy.exc import OperationalError, ProgrammingError

from dstress import engines
from dstress._version import __version__
from dstress.engines import Engine, Local
from dstress.errors import DstressError
from dstress.leaderboard.benchmark_store import open_package, save_package, summarise
from dstress.leaderboard.benchmarks.answers import read_answers
from dstress.leaderboard.benchmarks.package import Plan, create_package
from dstress.leaderboard.benchmarks.results import Scored, pack_results, pack_statistics, score_answers
from dstress.leaderboard.database import Database
from dstress.leaderboard.files import Files, open_files
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables.base import now
from dstress.leaderboard.tables.benchmarks import DONE, FAILED, WAITING, Benchmark, StoredResult, Submission

LEASE = timedelta(seconds=15)
_PROLONG_EVERY = LEASE.total_seconds() / 3
ATTEMPTS = 5
"""Workers that a job may cost before it is given up."""
_POLL = 0.3
"""Seconds between two looks for work."""
_YIELD = 10
"""How far a worker beside a server lets the server go first: people wait for pages, and not for scores."""
_log = logging.getLogger(__name__)

Kind = type[Submission] | type[Benchmark]


class Job(NamedTuple):
    """A row that was leased."""

    kind: Kind
    id: int
    lease: str


class JobStore:
    """The rows that wait to be worked on, and how they are leased and finished."""

    def __init__(self, settings: Settings, database: Database | None = None, engine: Engine | None = None) -> None:
        self.settings, self.engine, self.scoring = settings, engine or Local(), _Scoring(settings)
        self.database = database or Database(settings.database_url)
        self.files: Files = open_files(settings)

    def claim(self) -> Job | None:
        """Lease the first row that waits; None if there is nothing to do."""
        for kind in (Submission, Benchmark):
            free = (kind.state == WAITING, or_(kind.leased_until.is_(None), kind.leased_until < now()))
            with self.database.session(write=False) as db:
                waiting = db.execute(select(kind.id, kind.attempts).where(*free).order_by(kind.id).limit(1)).first()
            if waiting is None:
                continue
            lease = f"{socket.gethostname()[:30]}/{os.getpid()}/{secrets.token_hex(8)}"
            with self.database.session() as db:
                taken = update(kind).where(kind.id == waiting.id, *free)
                if waiting.attempts >= ATTEMPTS:
                    problem = f"the work was begun {ATTEMPTS} times and never ended; the worker's log says why"
                    db.execute(taken.values(state=FAILED, problem=problem, finished_at=now()))
                    continue
                values = {"lease": lease, "leased_until": now() + LEASE, "attempts": kind.attempts + 1}
                if _rows(db.execute(taken.values(values))):
                    return Job(kind, waiting.id, lease)
        return None

    def await_tables(self) -> None:
        """Wait until the server has made the tables, for a minute at most."""
        for _ in range(120):
            try:
                with self.database.session(write=False) as db:
                    db.execute(select(Submission.id).limit(1))
                    return
            except (OperationalError, ProgrammingError) as error:
                problem = str(error.orig)
                time.sleep(0.5)
        raise DstressError(f"the database is not ready: {problem}", fix="begin `dstress serve`, or `... migrate`")

    @contextmanager
    def prolonging(self, job: Job) -> Iterator[None]:
        """Keep a lease while the work goes on."""
        ended = threading.Event()

        def prolong() -> None:
            while not ended.wait(_PROLONG_EVERY):
                with self.database.session() as db:
                    db.execute(_held(job).values(leased_until=now() + LEASE))

        thread = threading.Thread(target=prolong, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def finish(self, job: Job, problem: str = "", result: Any = None, **values: Any) -> bool:
        """End a job, with its result in the same transaction; False, and nothing is written, if the lease was lost."""
        state = FAILED if problem else DONE
        ended = {"state": state, "problem": problem, "lease": None, "leased_until": None, "finished_at": now()}
        with self.database.session() as db:
            if not _rows(db.execute(_held(job).values(**ended, **values))):
                _log.warning("job %s %s was done by somebody else", job.kind.__tablename__, job.id)
                return False
            if result is not None:
                db.add(result)
        return True


def _rows(done: Any) -> int:
    """How many rows a statement changed."""
    return int(done.rowcount)


def _held(job: Job) -> Any:
    return update(job.kind).where(job.kind.id == job.id, job.kind.lease == job.lease, job.kind.state == WAITING)


def work(store: JobStore, job: Job) -> bool:
    """Do one job; tells whether it was this worker that finished it.

    After an error the lease runs out, and somebody begins anew: a database or a store may be away for a while.
    """
    act: Callable[[JobStore, Job], bool] = _score if job.kind is Submission else _make
    with store.prolonging(job):
        try:
            return act(store, job)
        except Exception:  # not for people to read: it may name gold
            _log.exception("job %s %s failed", job.kind.__tablename__, job.id)
            return False


def _score(store: JobStore, job: Job) -> bool:
    with store.database.session(write=False) as db:
        submission = db.get_one(Submission, job.id)
        system = submission.system
        handed_in = _HandedIn(
            system.benchmark_id, system.name, submission.file, submission.file_name, submission.format
        )
    ((_, packed),) = store.engine.process(store.scoring, [msgspec.msgpack.encode(handed_in)])
    return store.finish(job, result=stored_result(job.id, msgspec.msgpack.decode(packed, type=_Packed), job.lease))


class _HandedIn(NamedTuple):
    """What must be known of a submission to score it."""

    benchmark: int
    system: str
    file: str
    file_name: str
    format: str


class _Packed(NamedTuple):
    """What is kept of a submission's numbers."""

    results: bytes
    statistics: bytes


class _Scoring(engines.Job):
    """Scoring as work for an engine: whoever does it reaches the files, and never the database."""

    def __init__(self, settings: Settings) -> None:
        self.settings = replace(settings, database="", smtp="")

    @cached_property
    def _files(self) -> Files:
        return open_files(self.settings)

    def run(self, piece: bytes) -> bytes:
        """Score one submission."""
        handed_in = msgspec.msgpack.decode(piece, type=_HandedIn)
        package = open_package(self.settings, self._files, handed_in.benchmark)
        with self._files.local(handed_in.file) as path:
            answers = read_answers(package, path.rename(path.with_name(handed_in.file_name)), handed_in.format)
        return msgspec.msgpack.encode(pack_scored(score_answers(package, answers, handed_in.system)))


def pack_scored(scored: Scored) -> _Packed:
    """What a submission has reached, as it is kept."""
    return _Packed(pack_results(scored.results), pack_statistics(scored.statistics))


def stored_result(submission_id: int, packed: _Packed, worker: str) -> StoredResult:
    """The row of a result."""
    return StoredResult(submission_id=submission_id, **packed._asdict(), version=__version__, worker=worker)


def _make(store: JobStore, job: Job) -> bool:
    with store.database.session(write=False) as db:
        plan = msgspec.convert(db.get_one(Benchmark, job.id).plan, Plan)
    with tempfile.TemporaryDirectory(prefix="dstress-") as folder:
        try:
            package = create_package(Path(folder) / "package", plan)
        except DstressError as error:  # not where: that is a place on this machine
            return store.finish(job, " ".join(filter(None, (error.problem, error.fix))))
        save_package(store.files, job.id, package)
        return store.finish(job, summary=summarise(package))


class _Queue(BlackHoleStorage):  # type: ignore[misc]  # huey has no types
    """The queue that huey's consumer reads: rows of the database, which only this class turns into tasks."""

    def __init__(self, name: str, store: JobStore, **options: Any) -> None:
        super().__init__(name, **options)
        self.store = store
        self.message: Callable[[Job], Any] = lambda job: None

    def dequeue(self) -> Any:
        """The next job as huey's message; None to ask again later."""
        job = self.store.claim()
        return None if job is None else self.message(job)


_KINDS: dict[str, Kind] = {"submissions": Submission, "benchmarks": Benchmark}


def run_worker(
    settings: Settings,
    parent: int = 0,
    begin: Callable[[JobStore], object] = lambda store: None,
    engine: Engine | None = None,
    at_once: int = 1,
) -> None:
    """Work until SIGTERM, or until the process that began this one is gone; what has been begun is ended first.

    `begin` is done before the first job, once the tables are there. `at_once` jobs are given to the engine at a time.
    """
    store = JobStore(settings, engine=engine)
    store.await_tables()
    begin(store)
    queue = Huey("dstress", results=False, storage_class=_Queue, store=store)

    @queue.task()  # type: ignore[untyped-decorator]
    def do(kind: str, row: int, lease: str) -> None:
        done = work(store, Job(_KINDS[kind], row, lease))
        _log.info("job %s %s %s", kind, row, "done" if done else "lost")

    queue.storage.message = lambda job: queue.serialize_task(do.s(job.kind.__tablename__, job.id, job.lease))
    if parent:
        os.nice(_YIELD)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with store.engine.joined():
        Consumer(queue, workers=at_once, periodic=False, max_delay=_POLL, backoff=1.2, graceful_signal="TERM").run()


def _end_with(parent: int) -> None:
    """A server that was killed cannot end its workers; they see that they are nobody's."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
