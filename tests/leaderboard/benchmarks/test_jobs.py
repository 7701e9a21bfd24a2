"""Jobs: each exactly once, whoever dies when."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import func, select, update

from dstress.cli.main import cli
from dstress.errors import DstressError
from dstress.leaderboard.benchmarks.package import Plan
from dstress.leaderboard.benchmarks.service import BenchmarkTerms, add_benchmark
from dstress.leaderboard.database import Database
from dstress.leaderboard.jobs import ATTEMPTS, LEASE, JobStore, work
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import DONE, FAILED, WAITING, Benchmark, StoredResult, Submission, now
from tests.leaderboard.clients import Client

HandIn = Callable[..., Any]


def _expire(database: Database) -> None:
    """As if every worker were dead for a while."""
    with database.session() as db:
        db.execute(update(Submission).values(leased_until=now() - LEASE))


def test_a_leased_job_is_nobody_elses(
    member: Client, hand_in: HandIn, answers: dict[str, Path], store: JobStore
) -> None:
    hand_in(member, answers["rules"])
    assert store.claim() is not None
    assert store.claim() is None


def test_what_a_dead_worker_held_is_done_once(
    member: Client, hand_in: HandIn, answers: dict[str, Path], store: JobStore, database: Database
) -> None:
    hand_in(member, answers["rules"])
    dead = store.claim()
    _expire(database)
    second = store.claim()
    assert dead is not None and second is not None and dead.lease != second.lease
    assert work(store, second)
    assert not work(store, dead)  # it was not dead after all, and comes too late
    with database.session(write=False) as db:
        (kept,) = db.scalars(select(StoredResult))
        assert kept.worker == second.lease
        assert db.scalars(select(Submission)).one().state == DONE


def test_a_job_that_kills_its_workers_is_given_up(
    member: Client, hand_in: HandIn, answers: dict[str, Path], store: JobStore, database: Database
) -> None:
    hand_in(member, answers["rules"])
    for _ in range(ATTEMPTS):
        assert store.claim() is not None
        _expire(database)
    assert store.claim() is None
    with database.session(write=False) as db:
        row = db.scalars(select(Submission)).one()
        assert (row.state, f"{ATTEMPTS} times" in row.problem) == (FAILED, True)


def test_a_long_job_keeps_its_lease(
    member: Client,
    hand_in: HandIn,
    answers: dict[str, Path],
    store: JobStore,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dstress.leaderboard.jobs._PROLONG_EVERY", 0.05)
    hand_in(member, answers["rules"])
    job = store.claim()
    assert job is not None
    _expire(database)
    with store.prolonging(job):
        deadline = now() + LEASE
        while now() < deadline:
            with database.session(write=False) as db:
                if (db.scalars(select(Submission)).one().leased_until or now()) > now():
                    break
    assert store.claim() is None


@pytest.mark.slow
@pytest.mark.parametrize("error", [OSError("the disk is away"), DstressError("a secret of gold's")])
def test_after_an_error_somebody_begins_anew(
    member: Client,
    hand_in: HandIn,
    answers: dict[str, Path],
    store: JobStore,
    do_work: Callable[[], int],
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    """What passes by itself costs nothing; what does not is given up, and tells nothing of gold."""

    def broken(*_: object) -> None:
        raise error

    hand_in(member, answers["rules"])
    with monkeypatch.context() as patch:
        patch.setattr("dstress.leaderboard.jobs.score_answers", broken)
        assert do_work() == 0
        _expire(database)
    assert do_work() == 1
    hand_in(member, answers["empty"])
    monkeypatch.setattr("dstress.leaderboard.jobs.score_answers", broken)
    for _ in range(ATTEMPTS + 1):
        assert do_work() == 0
        _expire(database)
    with database.session(write=False) as db:
        first, second = db.scalars(select(Submission).order_by(Submission.id))
        assert (first.state, second.state) == (DONE, FAILED)
        assert "secret" not in second.problem


def test_a_store_that_is_away_for_an_hour_costs_no_submission(
    member: Client,
    hand_in: HandIn,
    answers: dict[str, Path],
    store: JobStore,
    do_work: Callable[[], int],
    database: Database,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(*_: object) -> None:
        raise OSError("the store is away")

    hand_in(member, answers["rules"])
    with monkeypatch.context() as patch:
        patch.setattr("dstress.leaderboard.jobs.open_package", away)
        pauses = []
        for _ in range(ATTEMPTS - 1):
            assert do_work() == 0
            with database.session(write=False) as db:
                row = db.scalars(select(Submission)).one()
                assert (row.state, row.lease) == (WAITING, None)
                pauses.append(round(((row.leased_until or now()) - now()).total_seconds() / 60))
            _expire(database)
        assert pauses == [1, 4, 16, 64]
        assert do_work() == 0
    with database.session(write=False) as db:
        assert db.scalars(select(Submission.state)).one() == FAILED
    options = ["--folder", str(settings.folder), "--database", settings.database]
    retried = CliRunner().invoke(cli, ["serve", *options, "jobs", "retry"], catch_exceptions=False)
    assert "1 failed jobs" in retried.stderr
    assert do_work() == 1
    with database.session(write=False) as db:
        row = db.scalars(select(Submission)).one()
        assert (row.state, row.problem) == (DONE, "")


def test_a_benchmark_that_cannot_be_made_says_why(store: JobStore, do_work: Callable[[], int]) -> None:
    with store.database.session() as db:
        add_benchmark(db, Plan("quick", "nonsense:test", "None"), BenchmarkTerms("None"), None)
    assert do_work() == 1
    with store.database.session(write=False) as db:
        row = db.scalars(select(Benchmark)).one()
        assert (row.state, "nonsense" in row.problem) == (FAILED, True)


def test_many_workers_share_the_work(
    member: Client, hand_in: HandIn, answers: dict[str, Path], store: JobStore, database: Database
) -> None:
    """Every row is claimed by exactly one of several that ask at once."""
    hand_in(member, answers["rules"])
    with database.session() as db:
        (first,) = db.scalars(select(Submission))
        values = {
            c.name: getattr(first, c.name) for c in Submission.__table__.columns if c.name not in ("id", "version")
        }
        db.add_all([Submission(**values, version=number) for number in range(2, 12)])
    with ThreadPoolExecutor(4) as pool:
        claimed = [job for job in pool.map(lambda _: store.claim(), range(40)) if job]
    rest = []
    while job := store.claim():
        rest.append(job)
    ids = [job.id for job in (*claimed, *rest)]
    assert sorted(ids) == sorted(set(ids))
    assert len(ids) == 11
    with database.session(write=False) as db:
        assert db.scalar(select(func.count()).where(Submission.state == WAITING)) == 11
