"""A benchmark is deleted by its organiser or an admin, with all its files; where something is published, it stays."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fastapi import FastAPI
from sqlalchemy import select

from dstress.cli.main import cli
from dstress.errors import DstressError
from dstress.leaderboard.benchmarks.package import Plan
from dstress.leaderboard.benchmarks.service import BenchmarkTerms, add_benchmark, require_benchmark
from dstress.leaderboard.database import Database
from dstress.leaderboard.files import open_files
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import AuditEntry, JudgingRound, Role, StoredResult, Submission, System, now
from tests.leaderboard.browsing import listening
from tests.leaderboard.clients import Client

AddClient = Callable[..., Client]


@pytest.fixture
def owner(database: Database, benchmark: str, add_client: AddClient) -> Client:
    """The organiser whose benchmark it is."""
    client = add_client("Olga", Role.ORGANISER)
    with database.session() as db:
        require_benchmark(db, benchmark).created_by = client.user.id
    return client


@pytest.mark.slow
def test_a_benchmark_goes_with_its_files_rounds_and_submissions(
    owner: Client,
    member: Client,
    benchmark: str,
    answers: dict[str, Path],
    hand_in: Callable[..., Any],
    do_work: Callable[[], int],
    database: Database,
    settings: Settings,
) -> None:
    hand_in(member, answers["rules"])
    do_work()
    assert owner.submit("/judging/new", choice="1 data typos", turns="2", seats="1", top="1", seed="1").is_redirect
    assert list(open_files(settings).names()) and any((settings.folder / "cache").iterdir())
    page = owner.get(f"/benchmarks/{benchmark}").text
    assert "Delete the benchmark" in page and "1 submission" in page
    refused = owner.submit(f"/benchmarks/{benchmark}/delete", name="another")
    assert refused.status_code == 400 and f"write {benchmark} to delete it" in refused.text
    assert owner.submit(f"/benchmarks/{benchmark}/delete", name=benchmark).headers["location"] == "/"
    assert list(open_files(settings).names()) == [] and not any((settings.folder / "cache").iterdir())
    for address in (f"/benchmarks/{benchmark}", "/systems/1", "/submissions/1", "/judging/1"):
        assert owner.get(address).status_code == member.get(address).status_code == 404
    assert "deleted benchmark" not in owner.get("/").text + owner.get("/judging/new").text
    assert owner.get("/api/v1/benchmarks").json() == []
    with database.session() as db:
        assert not any(db.scalars(select(table)).all() for table in (System, Submission, StoredResult, JudgingRound))
        entry = db.scalar(select(AuditEntry).where(AuditEntry.action == "benchmark.delete"))
        assert entry is not None and entry.user_id == owner.user.id  # type: ignore[union-attr]
        assert (entry.target, entry.details) == (benchmark, {"title": "Small", "submissions": 1})
        new = add_benchmark(db, Plan("quick", "reminder:test", "Small"), BenchmarkTerms("Small"), None)
        assert (new.slug, new.id) == (benchmark, 2)  # the name is free again, the number is not


def test_what_is_published_stays_and_a_board_forgets_what_was_hidden(
    owner: Client,
    member: Client,
    benchmark: str,
    answers: dict[str, Path],
    hand_in: Callable[..., Any],
    do_work: Callable[[], int],
    program: Callable[[Client], Client],
) -> None:
    hand_in(member, answers["rules"])
    do_work()
    member.submit("/submissions/1/publish")
    assert "Delete the benchmark" not in owner.get(f"/benchmarks/{benchmark}").text
    refused = program(owner).delete(f"/api/v1/benchmarks/{benchmark}")
    assert (refused.status_code, refused.json()["problem"]) == (400, "systems are published on this benchmark")
    member.submit("/submissions/1/hide")
    assert program(owner).delete(f"/api/v1/benchmarks/{benchmark}").json() == {"deleted": benchmark}


def test_it_is_nobody_elses_to_delete(
    owner: Client, add_client: AddClient, benchmark: str, program: Callable[[Client], Client]
) -> None:
    other, admin = add_client("Other", Role.ORGANISER), add_client("Root", Role.ADMIN)
    assert other.submit(f"/benchmarks/{benchmark}/delete", name=benchmark).status_code == 403
    assert program(other).delete(f"/api/v1/benchmarks/{benchmark}").status_code == 403
    assert "Delete the benchmark" not in other.get(f"/benchmarks/{benchmark}").text
    assert admin.submit(f"/benchmarks/{benchmark}/delete", name=benchmark).headers["location"] == "/"


def test_one_that_is_being_made_is_waited_for(owner: Client, database: Database, benchmark: str) -> None:
    with database.session() as db:
        found = require_benchmark(db, benchmark)
        found.lease, found.leased_until = "a worker", now() + timedelta(minutes=1)
    refused = owner.submit(f"/benchmarks/{benchmark}/delete", name=benchmark)
    assert refused.status_code == 400 and "the benchmark is being made" in refused.text


def test_the_command_asks_first(
    owner: Client,
    app: FastAPI,
    benchmark: str,
    program: Callable[[Client], Client],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = program(owner).headers["authorization"].removeprefix("Bearer ")
    monkeypatch.setenv("DSTRESS_TOKEN", token)
    with listening(app) as site:
        order = ["benchmark", "delete", f"{site}/benchmarks/{benchmark}"]
        kept = CliRunner().invoke(cli, order, input="n\n")
        assert kept.exit_code == 1 and "Delete 'Small'" in kept.output
        gone = CliRunner().invoke(cli, order, input="y\n")
        assert gone.exit_code == 0 and "Small is deleted" in gone.output
        again = CliRunner().invoke(cli, [*order, "--yes"])
        assert isinstance(again.exception, DstressError) and "no such benchmark" in str(again.exception)
