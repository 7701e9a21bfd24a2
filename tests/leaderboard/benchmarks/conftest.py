"""A benchmark that is ready, teams, and files of answers, for tests of what becomes of submissions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dstress.leaderboard.benchmarks.package import Package
from tests.leaderboard.benchmarks.packages import answer, make_package
from tests.parts import is_there

if not is_there("server"):
    collect_ignore_glob = ["test_[!p]*.py"]
else:
    from dstress.leaderboard.accounts import service as accounts
    from dstress.leaderboard.benchmarks.package import Plan
    from dstress.leaderboard.benchmarks.service import BenchmarkTerms, add_benchmark, save_package, summarise
    from dstress.leaderboard.database import Database
    from dstress.leaderboard.jobs import JobStore, work
    from dstress.leaderboard.settings import Settings
    from dstress.leaderboard.tables import DONE, User, now
    from tests.leaderboard.clients import Client


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """A small benchmark, of which each server gets a copy."""
    return make_package(tmp_path_factory.mktemp("benchmark") / "b", conventions=("exact", "trade"))


@pytest.fixture(scope="session")
def answers(package: Package, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What two trackers answer."""
    folder = tmp_path_factory.mktemp("answers")
    return {name: answer(package, name, folder / name) for name in ("rules", "empty")}


@pytest.fixture
def store(settings: Settings, database: Database) -> JobStore:
    """The work that a worker of the server would find."""
    return JobStore(settings, database)


@pytest.fixture
def benchmark(store: JobStore, package: Package) -> str:
    """The address of a benchmark that is ready."""
    with store.database.session() as db:
        row = add_benchmark(db, Plan("quick", "reminder:test", "Small"), BenchmarkTerms("Small"), None)
        row.summary, row.state, row.finished_at = summarise(package), DONE, now()
        save_package(store.files, row.id, package)
        return row.slug


@pytest.fixture
def add_team(database: Database) -> Callable[[Client, str], int]:
    """Puts the person at a client into a new team."""

    def add(client: Client, name: str) -> int:
        with database.session() as db:
            return accounts.make_team(db, db.get_one(User, client.user.id), name).id  # type: ignore[union-attr]

    return add


@pytest.fixture
def hand_in(
    benchmark: str, add_team: Callable[[Client, str], int], program: Callable[[Client], Client]
) -> Callable[..., Any]:
    """Hands a file in by the API; the person gets a team with the first one."""

    def send(client: Client, path: Path, system: str = "Mine", name: str = "") -> Any:
        asking = program(client)
        if not asking.get("/api/v1/account").json()["teams"]:
            add_team(client, f"Team of {client.user.name}")  # type: ignore[union-attr]
        with path.open("rb") as stream:
            files = {"answers": (name or path.name, stream)}
            return asking.post(f"/api/v1/benchmarks/{benchmark}/submissions", data={"system": system}, files=files)

    return send


@pytest.fixture
def do_work(store: JobStore) -> Callable[[], int]:
    """Does all that waits, as a worker does, and tells how much it was."""

    def do() -> int:
        done = 0
        while job := store.claim():
            done += work(store, job)
        return done

    return do
