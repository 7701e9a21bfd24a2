"""A small benchmark with two scored and published systems, made once and put into any test's database."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from dstress.leaderboard.benchmarks.answers import read_answers, take_fingerprint
from dstress.leaderboard.benchmarks.package import Package, Plan
from dstress.leaderboard.benchmarks.results import Scored, score_answers
from dstress.leaderboard.benchmarks.service import BenchmarkTerms, add_benchmark, save_package
from dstress.leaderboard.database import Database
from dstress.leaderboard.files import open_files
from dstress.leaderboard.jobs import stored_result
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import DONE, Submission, System, Team, User, now
from tests.leaderboard.benchmarks.packages import answer, make_package


class Entered(NamedTuple):
    """The numbers of what is in the database."""

    benchmark: int
    submissions: dict[str, int]


@cache
def _package() -> Package:
    return make_package(Path(mkdtemp(prefix="dstress-test-")) / "made", ("typos(rate=0.2)",), limit=8)


@cache
def _scored(tracker: str) -> tuple[Path, Scored]:
    path = answer(_package(), tracker, _package().path.parent / tracker)
    return path, score_answers(_package(), read_answers(_package(), path))


def enter_systems(
    database: Database, settings: Settings, by: User | None, systems: Mapping[str, str] | None = None
) -> Entered:
    """A person's benchmark with systems by name, each what a tracker answers."""
    files, package, entered = open_files(settings), _package(), {}
    with database.session() as db:
        plan = Plan("quick", "reminder:test", "Small")
        benchmark = add_benchmark(db, plan, BenchmarkTerms("Small benchmark"), by, package)
        save_package(files, benchmark.id, package)
        for name, tracker in (systems or {"Rules": "rules", "Empty": "empty"}).items():
            path, scored = _scored(tracker)
            answers = read_answers(package, path)
            submission = Submission(
                version=1, state=DONE, published_at=now(), file=f"submissions/{tracker}.jsonl", file_name=path.name,
                size=1, format=answers.format, fingerprint=take_fingerprint(package, answers).tobytes(),
                system=System(benchmark=benchmark, team=Team(name=f"Team {name}", slug=name.lower()), name=name),
            )  # fmt: skip
            submission.result = stored_result(0, scored.packed(), "test")
            with path.open("rb") as stream:
                files.save(submission.file, stream)
            db.add(submission)
            db.flush()
            entered[name] = submission.id
        return Entered(benchmark.id, entered)
