"""Jobs: each exactly once, whoever dies when."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import func, select

from dstress.leaderboard import accounts
from dstress.leaderboard.benchmark_store import BenchmarkTerms, add_benchmark, open_package
from dstress.leaderboard.benchmarks.package import Plan
from dstress.leaderboard.database import Database
from dstress.leaderboard.jobs import JobStore, work
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.submissions import Entrant, Upload, submit
from dstress.leaderboard.tables.accounts import Role
from dstress.leaderboard.tables.benchmarks import DONE, Benchmark, StoredResult
from tests.leaderboard.packages import answer


@pytest.fixture
def store(settings: Settings, app: object, database: Database) -> JobStore:
    return JobStore(settings, database)


def test_a_benchmark_is_made_and_a_submission_scored(store: JobStore, database: Database, tmp_path: Path) -> None:
    with database.session() as db:
        organiser = accounts.add_user(db, "o@example.org", "O", Role.ORGANISER)
        team = accounts.make_team(db, organiser, "Team")
        add_benchmark(db, Plan("quick", "reminder:test", "Small", limit=2), BenchmarkTerms("Small"), organiser)
    job = store.claim()
    assert job is not None and job.kind is Benchmark
    assert store.claim() is None
    assert work(store, job)
    with database.session() as db:
        benchmark = db.scalar(select(Benchmark))
        assert benchmark is not None
        assert (benchmark.state, benchmark.slug, benchmark.summary["licence"]) == (
            DONE,
            "small",
            "Apache-2.0, like dstress itself",
        )
        package = open_package(store.settings, store.files, benchmark.id)
        path = answer(package, "rules", tmp_path / "rules")
        entrant = Entrant(organiser, team.id, "Rules")
        submit(db, store.settings, store.files, benchmark, entrant, Upload(path, "rules.jsonl"))
    job = store.claim()
    assert job is not None
    assert work(store, job)
    assert not work(store, job)  # a second worker with the same row comes too late
    with database.session() as db:
        assert db.scalar(select(func.count()).select_from(StoredResult)) == 1
