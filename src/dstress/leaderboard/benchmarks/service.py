"""Benchmarks in the database and among the files: made here or submitted whole, and opened by whoever checks or scores.

The gold lies in one archive among the private files. A server or worker unpacks it once, into a folder of its own.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from sqlalchemy import ColumnElement, delete, func, or_, select
from sqlalchemy.orm import Session

from dstress.corpora import EMBEDDED
from dstress.corpora import store as corpora
from dstress.errors import DstressError
from dstress.leaderboard.benchmarks.package import Package, Plan, pack_package, require_known, unpack_package
from dstress.leaderboard.benchmarks.results import SUITE_TABLE, View, views_of
from dstress.leaderboard.files import Files
from dstress.leaderboard.tables import (
    DELETED,
    DONE,
    FAILED,
    Benchmark,
    Collection,
    JudgingRound,
    Membership,
    NotAllowed,
    NotThere,
    Role,
    Submission,
    System,
    User,
    now,
    record,
)
from dstress.runs.suites import Suite
from dstress.runs.suites import load as load_suite

Row = TypeVar("Row", JudgingRound, Collection)
MOST_PER_DAY = 1000
BUDGET_DAYS, EXACT_COSTS = 100, 10


class BenchmarkTerms(NamedTuple):
    """What an organiser says of a benchmark beside what it is made of."""

    title: str
    about: str = ""
    daily_limit: int = 5
    deadline: datetime | None = None
    view: str = ""


def add_benchmark(
    db: Session, plan: Plan, terms: BenchmarkTerms, by: User | None, package: Package | None = None
) -> Benchmark:
    """A benchmark that is still to be made, or one that is there; then `save_package` must follow."""
    if package is None:
        require_known(load_suite(plan.suite), plan.metrics, plan.conventions)  # told now, not by the worker
    slug = re.sub(r"[^a-z0-9]+", "-", terms.title.casefold()).strip("-")[:80] or "benchmark"
    taken = set(db.scalars(select(Benchmark.slug).where(Benchmark.slug.startswith(slug))))
    numbered = (f"{slug}-{number}" for number in range(2, len(taken) + 2))
    slug = next(name for name in (slug, *numbered) if name not in taken)
    benchmark = Benchmark(slug=slug, plan=msgspec.to_builtins(plan), created_by=by.id if by else None)
    if package is not None:
        benchmark.summary, benchmark.state, benchmark.finished_at = summarise(package), DONE, now()
    db.add(benchmark)
    change_terms(db, benchmark, terms, by)
    return benchmark


def change_terms(db: Session, benchmark: Benchmark, terms: BenchmarkTerms, by: User | None) -> None:
    """Set what may change while systems compete: words, deadline, limit, the view that is shown first."""
    if not terms.title:
        raise DstressError("a benchmark needs a title")
    if not 1 <= terms.daily_limit <= MOST_PER_DAY:
        raise DstressError(f"{terms.daily_limit} submissions a day cannot be", fix=f"1 to {MOST_PER_DAY}")
    if terms.view and benchmark.summary and terms.view not in views_of_benchmark(benchmark):
        raise DstressError(f"there is no view {terms.view!r}", fix=", ".join(views_of_benchmark(benchmark)))
    benchmark.title, benchmark.about, benchmark.view = terms.title, terms.about, terms.view
    benchmark.daily_limit, benchmark.deadline = terms.daily_limit, terms.deadline
    db.flush()
    record(db, by, "benchmark.terms", benchmark.slug, limit=terms.daily_limit)


def known_corpora() -> list[str]:
    """What a page may make something of, by split. Never a path, by which it could read the server's own files."""
    manifests = [(name, corpora.read_manifest(name)) for name in corpora.stored_names()]
    stored = [f"{name}:{split}" for name, manifest in manifests if manifest for split in manifest.splits]
    return list(dict.fromkeys((f"{EMBEDDED}:test", f"{EMBEDDED}:dev", *stored)))


def require_benchmark(db: Session, slug: str, owner: User | None = None) -> Benchmark:
    """A benchmark by its name in addresses; with an owner, a refusal to whoever may not change it."""
    benchmark = db.scalar(select(Benchmark).where(Benchmark.slug == slug, Benchmark.state != DELETED))
    if benchmark is None:
        raise NotThere("There is no such benchmark.")
    if owner:
        require_right(owner, benchmark)
    return benchmark


def list_benchmarks(db: Session) -> Sequence[Benchmark]:
    """All benchmarks, the newest first."""
    return db.scalars(select(Benchmark).where(Benchmark.state != DELETED).order_by(Benchmark.id.desc())).all()


def may_change(user: User | None, owned: Benchmark | Collection) -> bool:
    """Whether something is the person's to change: its organiser's, or an admin's. A round is its benchmark's."""
    if user is None:
        return False
    return user.has(Role.ADMIN) or (user.id == owned.created_by and user.has(Role.ORGANISER))


def require_right(user: User, owned: Benchmark | Collection) -> None:
    """Refuse whoever may not change it."""
    if not may_change(user, owned):
        raise NotAllowed(f"this {type(owned).__name__.lower()} is another organiser's")


def require(db: Session, kind: type[Row], number: int, owner: User | None = None) -> Row:
    """A round or a collection, or nothing to see; with an owner, a refusal of whoever may not change it."""
    row = db.get(kind, number)
    if row is None:
        raise NotThere
    if owner:
        require_right(owner, row.benchmark if isinstance(row, JudgingRound) else row)
    return row


def delete_benchmark(db: Session, files: Files, benchmark: Benchmark, by: User) -> None:
    """Forget a benchmark on which nothing is published, with its files, rounds, and what teams submitted."""
    db.refresh(benchmark, with_for_update=True)
    if benchmark.lease and benchmark.leased_until and benchmark.leased_until > now():
        raise DstressError("the benchmark is being made", fix="wait until that has ended")
    if count_submissions(db, benchmark, published=True):
        raise DstressError("systems are published on this benchmark", fix="what others may cite stays")
    submitted = db.scalars(select(Submission.file).join(System).where(System.benchmark_id == benchmark.id)).all()
    gone = [*submitted, *(public_file(benchmark.id, layout) for layout in benchmark.summary.get("layouts", {}))]
    record(db, by, "benchmark.delete", benchmark.slug, title=benchmark.title, submissions=len(submitted))
    for table in (JudgingRound, System):  # what belongs to them goes with them
        db.execute(delete(table).where(table.benchmark_id == benchmark.id))
    benchmark.plan, benchmark.summary = {}, {}
    benchmark.state, benchmark.title, benchmark.about = DELETED, "deleted benchmark", ""
    benchmark.slug, benchmark.created_by = f"deleted/{benchmark.id}", None  # no address has this
    db.commit()  # a row whose file is gone would be worse than a file without a row
    for name in (*gone, _private_file(benchmark.id)):
        files.delete(name)
    shutil.rmtree(_unpacked(files, benchmark.id), ignore_errors=True)


def views_of_benchmark(benchmark: Benchmark) -> dict[str, View]:
    """Its leaderboards; none while it is being made."""
    suite = benchmark.summary.get("suite")
    return views_of(msgspec.convert(suite, Suite)) if suite else {}


def first_view(benchmark: Benchmark) -> str:
    """The leaderboard to show first: what the organiser says, else the suite's with averages, else the first metric."""
    views = views_of_benchmark(benchmark)
    if benchmark.view in views:
        return benchmark.view
    has_averages = SUITE_TABLE in views and views[SUITE_TABLE].averages
    return SUITE_TABLE if has_averages else next(name for name in views if name != SUITE_TABLE)


def summarise(package: Package) -> dict[str, Any]:
    """What anybody may know of a benchmark."""
    return {
        "suite": msgspec.to_builtins(package.suite),
        "corpus": package.gold.manifest.tracked,
        "licence": package.key.licence,
        "conventions": list(package.key.conventions),
        "variants": list(package.gold.variants),
        "parts": len(package.key.parts),
        "dialogues": len(package.key.cases),
        "turns": sum(len(case.asked) for case in package.key.cases),
        "original_dialogues": sum(case.variant == package.gold.variants[0] for case in package.key.cases),
        "tables": sorted(package.gold.database.tables) if package.gold.database else [],
        "floors": package.key.floors,
        "layouts": {name: path.stat().st_size for name, path in package.archives.items()},
    }


def save_package(files: Files, benchmark_id: int, package: Package) -> None:
    """Keep a benchmark among the files."""
    for layout, path in package.archives.items():
        with path.open("rb") as stream:
            files.save(public_file(benchmark_id, layout), stream)
    with tempfile.TemporaryFile() as packed:
        pack_package(package, packed)
        packed.seek(0)
        files.save(_private_file(benchmark_id), packed)


def public_file(benchmark_id: int, layout: str) -> str:
    """Where the inputs in a layout lie."""
    return f"benchmarks/{benchmark_id}/public/{layout}.zip"


def _private_file(benchmark_id: int) -> str:
    return f"benchmarks/{benchmark_id}/package.zip"


def _unpacked(files: Files, benchmark_id: int) -> Path:
    return files.cache / f"benchmark-{benchmark_id}"


def open_package(files: Files, benchmark_id: int) -> Package:
    """A benchmark's gold and key, unpacked on this machine where it was not yet."""
    folder = _unpacked(files, benchmark_id)
    if not folder.is_dir():
        files.cache.mkdir(parents=True, exist_ok=True)
        unpacked = Path(tempfile.mkdtemp(dir=files.cache, prefix=".part-"))
        try:
            with files.local(_private_file(benchmark_id)) as archive:
                unpack_package(archive, unpacked)
            unpacked.rename(folder)
        except OSError:  # somebody else was faster
            if not folder.is_dir():
                raise
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
    return Package(folder)


def count_submissions(db: Session, benchmark: Benchmark, *, published: bool = False) -> int:
    """How many files of answers a benchmark has, or of how many anybody may see the numbers."""
    query = select(func.count(Submission.id)).join(System).where(System.benchmark_id == benchmark.id)
    if published:
        query = query.where(Submission.published_at.is_not(None), Submission.withdrawn_at.is_(None))
    return db.scalar(query) or 0


def list_submissions(db: Session, user: User, benchmark: Benchmark | None = None) -> Sequence[Submission]:
    """What a person's teams have submitted, the newest first."""
    own = select(Membership.team_id).where(Membership.user_id == user.id)
    query = select(Submission).join(System).where(System.team_id.in_(own)).order_by(Submission.id.desc())
    return db.scalars(query.where(System.benchmark_id == benchmark.id) if benchmark else query).all()


def left_today(db: Session, benchmark: Benchmark, user: User, team_id: int) -> int:
    """How many submissions a team has left today; those of a person count in all of that person's teams."""
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    made = select(func.count(Submission.id)).join(System).where(*_of_entrant(benchmark, user, team_id))
    return benchmark.daily_limit - (db.scalar(made.where(Submission.created_at >= midnight)) or 0)


def information_left(db: Session, benchmark: Benchmark, user: User, team_id: int) -> int:
    """What a team may still learn of a benchmark's gold: rounded numbers of a submission cost 1, exact ones 10 more.

    Counted like the day's submissions. All is as much as 100 days' submissions.
    """
    counts = select(func.count(Submission.id), func.count(Submission.shown_at)).join(System)
    rounded, exact = db.execute(counts.where(*_of_entrant(benchmark, user, team_id))).one()
    return BUDGET_DAYS * benchmark.daily_limit - int(rounded) - EXACT_COSTS * int(exact)


def _of_entrant(benchmark: Benchmark, user: User, team_id: int) -> Sequence[ColumnElement[bool]]:
    """Which submissions are to a benchmark by a team, or by a person for any team; those that failed told nothing."""
    entrant = or_(System.team_id == team_id, Submission.submitted_by == user.id)
    return System.benchmark_id == benchmark.id, entrant, Submission.state != FAILED
