"""Work that takes a while: scoring answers, making benchmarks, drawing plots. Workers do each job exactly once.

The row of a submission is the truth, and the queue is made of such rows: a worker leases one that waits, or whose
lease has run out. A lease is prolonged while the work goes on. A result is written in the one transaction that ends
the lease, so that a worker that was taken for dead, or a second one, writes nothing. So a kill -9 anywhere loses
nothing and scores nothing twice.
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
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import or_, select, update
from sqlalchemy.exc import OperationalError, ProgrammingError, SQLAlchemyError

from dstress import engines
from dstress._version import __version__
from dstress.engines import Engine, Local
from dstress.errors import DstressError
from dstress.leaderboard.benchmarks.answers import read_answers
from dstress.leaderboard.benchmarks.floors import add_floors
from dstress.leaderboard.benchmarks.package import Plan, create_package
from dstress.leaderboard.benchmarks.results import score_answers
from dstress.leaderboard.benchmarks.service import open_package, save_package, summarise
from dstress.leaderboard.database import Database
from dstress.leaderboard.files import Files, open_files
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.submissions.plots import draw_plots
from dstress.leaderboard.tables import DONE, FAILED, WAITING, Benchmark, Plots, StoredResult, Submission, now, record

LEASE = timedelta(seconds=15)
_PROLONG_EVERY = LEASE.total_seconds() / 3
ATTEMPTS = 5
"""Times that a job is begun before it is given up."""
_PAUSE = timedelta(minutes=1)
"""Before the second try after an error; each later pause is four times as long, and all of them over an hour."""
_POLL = 0.3
"""Seconds between two looks for work."""
_YIELD = 10
"""How far a worker beside a server lets the server go first: people wait for pages, and not for scores."""
_log = logging.getLogger(__name__)

Kind = type[Submission] | type[Benchmark] | type[Plots]
_KINDS: tuple[Kind, ...] = (Submission, Benchmark, Plots)


class Job(NamedTuple):
    """A row that was leased."""

    kind: Kind
    id: int
    lease: str
    attempt: int


class JobStore:
    """The rows that wait to be worked on, and how they are leased and finished."""

    def __init__(self, settings: Settings, database: Database | None = None, engine: Engine | None = None) -> None:
        self.settings, self.engine, self.scoring = settings, engine or Local(), _Scoring(settings)
        self.database = database or Database(settings.database_url)
        self.files: Files = open_files(settings)

    def claim(self) -> Job | None:
        """Lease the first row that waits; None if there is nothing to do."""
        for kind in _KINDS:
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
                    return Job(kind, waiting.id, lease, waiting.attempts + 1)
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

    def put_back(self, job: Job) -> None:
        """Let a job that failed wait: the store may be away for a while. After the last try there is no pause."""
        pause = _PAUSE * 4 ** (job.attempt - 1) if job.attempt < ATTEMPTS else timedelta()
        with self.database.session() as db:
            db.execute(_held(job).values(lease=None, leased_until=now() + pause))

    def retry(self) -> int:
        """Let every job that failed be done again from its first try; tells how many there are."""
        again: dict[str, Any] = {"state": WAITING, "problem": "", "attempts": 0}
        again |= dict.fromkeys(("lease", "leased_until", "finished_at"))
        with self.database.session() as db:
            count = sum(_rows(db.execute(update(kind).where(kind.state == FAILED).values(**again))) for kind in _KINDS)
            record(db, None, "jobs.retry", str(count))
        return count

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

    After an error somebody begins anew after a pause: a database or a store may be away for a while.
    """
    act: Callable[[JobStore, Job], bool] = {Submission: _score, Benchmark: _make, Plots: _draw}[job.kind]
    with store.prolonging(job):
        try:
            return act(store, job)
        except Exception:  # not for people to read: it may name gold
            _log.exception("job %s %s failed", job.kind.__tablename__, job.id)
            with suppress(SQLAlchemyError):  # then the lease runs out
                store.put_back(job)
            return False


def _score(store: JobStore, job: Job) -> bool:
    with store.database.session(write=False) as db:
        submission = db.get_one(Submission, job.id)
        piece = _Piece(submission.system.benchmark_id, submission.file, submission.file_name, submission.format)
    ((_, packed),) = store.engine.process(store.scoring, [piece])
    return store.finish(job, result=stored_result(job.id, packed, job.lease))


class _Piece(NamedTuple):
    """What must be known of a submission to score it."""

    benchmark: int
    file: str
    file_name: str
    format: str


class _Scoring(engines.Job):
    """Scoring as work for an engine: whoever does it reaches the files, and never the database."""

    def __init__(self, settings: Settings) -> None:
        self.settings = replace(settings, database="", smtp="")

    def open(self) -> None:
        """Reach the files."""
        self.files = open_files(self.settings)

    def run(self, piece: _Piece) -> dict[str, bytes]:
        """Score one submission."""
        package = open_package(self.files, piece.benchmark)
        with self.files.local(piece.file) as path:
            answers = read_answers(package, path.rename(path.with_name(piece.file_name)), piece.format)
        return score_answers(package, answers).packed()


def stored_result(submission_id: int, packed: dict[str, bytes], worker: str) -> StoredResult:
    """The row of a result."""
    return StoredResult(submission_id=submission_id, **packed, version=__version__, worker=worker)


def _make(store: JobStore, job: Job) -> bool:
    with store.database.session(write=False) as db:
        plan = msgspec.convert(db.get_one(Benchmark, job.id).plan, Plan)
    with tempfile.TemporaryDirectory(prefix="dstress-") as folder:
        try:
            package = create_package(Path(folder) / "package", plan)
            add_floors(package)
        except DstressError as error:  # not where: that is a place on this machine
            return store.finish(job, " ".join(filter(None, (error.problem, error.fix))))
        save_package(store.files, job.id, package)
        return store.finish(job, summary=summarise(package))


def _draw(store: JobStore, job: Job) -> bool:
    with store.database.session(write=False) as db:
        results = db.get_one(StoredResult, job.id).results
    return store.finish(job, drawings=draw_plots(results))


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
    stopped = threading.Event()
    if parent:
        os.nice(_YIELD)

    def work_on() -> None:
        # A server that was killed cannot end its workers: they see that they are nobody's.
        while not stopped.is_set() and (not parent or os.getppid() == parent):
            try:
                job = store.claim()
            except Exception:  # the database may be away for a while
                _log.exception("no job could be claimed")
                job = None
            if job is None:
                stopped.wait(_POLL)
            else:
                done = work(store, job)
                _log.info("job %s %s %s", job.kind.__tablename__, job.id, "done" if done else "lost")

    with store.engine.joined(), ThreadPoolExecutor(at_once) as pool:
        signal.signal(signal.SIGTERM, lambda *_: stopped.set())  # only now: Ray has put a handler of its own
        wait([pool.submit(work_on) for _ in range(at_once)])
