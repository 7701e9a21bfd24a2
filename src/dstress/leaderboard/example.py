"""The example of a first start: a small benchmark on the embedded corpus, with baseline systems on its board."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sqlalchemy import select

from dstress.leaderboard.benchmarks.answers import read_answers, take_fingerprint
from dstress.leaderboard.benchmarks.package import Package, Plan, create_package
from dstress.leaderboard.benchmarks.results import score_answers
from dstress.leaderboard.benchmarks.service import BenchmarkTerms, add_benchmark, save_package
from dstress.leaderboard.benchmarks.tracking import track_inputs
from dstress.leaderboard.jobs import JobStore, stored_result
from dstress.leaderboard.tables import DONE, Benchmark, Plots, Submission, System, Team, now
from dstress.trackers import create

TITLE = "Reminder, quick look"
TEAM = "Baselines of dstress"
_ABOUT = (
    "An example to try the platform with: a few dialogues of the embedded corpus, as they are and as people type, "
    "stumble, cut short and ramble. The baselines need no training."
)
PLAN = Plan("quick", "reminder:test", TITLE, limit=12, conventions=("exact", "trade"))
BASELINES = {
    "Rules": ("rules", "Reads the schema and nothing else."),
    "Rules, values counted": ("rules(train=reminder:train)", "The same, with the training split's values."),
    "Empty": ("empty", "Answers nothing: what a state's empty turns are worth."),
}


def add_example(store: JobStore) -> bool:
    """Put the example onto a server that has no benchmark; all of it or nothing. Tells whether it did."""
    with store.database.session(write=False) as db:
        if db.scalar(select(Benchmark.id).limit(1)) is not None:
            return False
    with tempfile.TemporaryDirectory(prefix="dstress-") as folder:
        package = create_package(Path(folder) / "package", PLAN)
        answered = {name: _answer(package, name, spec, Path(folder)) for name, (spec, _) in BASELINES.items()}
        with store.database.session() as db:
            if db.scalar(select(Benchmark.id).limit(1)) is not None:  # another process was faster
                return False
            benchmark = add_benchmark(db, PLAN, BenchmarkTerms(TITLE, _ABOUT, view="jga"), None, package)
            team = db.scalar(select(Team).where(Team.name == TEAM)) or Team(name=TEAM, slug="baselines-of-dstress")
            db.add(team)
            db.flush()
            save_package(store.files, benchmark.id, package)
            for name, (path, submission) in answered.items():
                submission.system = System(benchmark=benchmark, team=team, name=name, about=BASELINES[name][1])
                with path.open("rb") as stream:
                    store.files.save(submission.file, stream)
                db.add(submission)
    return True


def _answer(package: Package, name: str, spec: str, folder: Path) -> tuple[Path, Submission]:
    """A baseline's answers, and the row that they make: scored and published."""
    path = folder / f"{spec.partition('(')[0]}{len(name)}.jsonl"
    (corpus,) = package.inputs.values()
    track_inputs(corpus, {case.id: list(case.asked) for case in package.key.cases}, create(spec), path)
    answers = read_answers(package, path)
    submission = Submission(
        version=1,
        state=DONE,
        finished_at=now(),
        published_at=now(),
        shown_at=now(),
        file=f"submissions/{path.name}",
        file_name=path.name,
        size=path.stat().st_size,
        format=answers.format,
        notes=answers.notes,
        fingerprint=take_fingerprint(package, answers).tobytes(),
        plots=Plots(),
    )
    submission.result = stored_result(0, score_answers(package, answers).packed(), "example")
    return path, submission
