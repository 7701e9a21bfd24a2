"""Benchmarks in the database and among the files: made here or handed in whole, and opened by whoever checks or scores.

The gold lies in one archive among the private files. A server or worker unpacks it once, into a folder of its own.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from dstress.corpora import EMBEDDED
from dstress.corpora import store as corpora
from dstress.errors import DstressError
from dstress.leaderboard.audit import record
from dstress.leaderboard.benchmarks.answers import public_turns
from dstress.leaderboard.benchmarks.archive import pack_package, require_known, unpack_package
from dstress.leaderboard.benchmarks.package import Package, Plan
from dstress.leaderboard.benchmarks.results import SUITE_TABLE, View, views_of
from dstress.leaderboard.files import Files
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables.accounts import Role, User
from dstress.leaderboard.tables.base import now
from dstress.leaderboard.tables.benchmarks import DELETED, DONE, Benchmark, Submission, System
from dstress.leaderboard.tables.judging import JudgingRound
from dstress.suites import Suite
from dstress.suites import load as load_suite

MOST_PER_DAY = 1000


class BenchmarkTerms(NamedTuple):
    """What an organiser says of a benchmark beside what it is made of."""

    title: str
    about: str = ""
    daily_limit: int = 5
    deadline: datetime | None = None
    view: str = ""


def add_benchmark(db: Session, plan: Plan, terms: BenchmarkTerms, by: User | None) -> Benchmark:
    """A benchmark that is still to be made; one without a suite was made elsewhere, and is handed in whole."""
    if plan.suite:
        require_known(load_suite(plan.suite), plan.metrics, plan.conventions)  # told now, not by the worker
    slug = re.sub(r"[^a-z0-9]+", "-", terms.title.casefold()).strip("-")[:80] or "benchmark"
    taken = set(db.scalars(select(Benchmark.slug).where(Benchmark.slug.startswith(slug))))
    free = next(name for number in range(1, len(taken) + 2) if (name := _numbered(slug, number)) not in taken)
    benchmark = Benchmark(slug=free, plan=msgspec.to_builtins(plan), created_by=by.id if by else None)
    db.add(benchmark)
    change_terms(db, benchmark, terms, by)
    return benchmark


def _numbered(slug: str, number: int) -> str:
    return slug if number == 1 else f"{slug}-{number}"


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


def find_benchmark(db: Session, slug: str) -> Benchmark | None:
    """A benchmark by its name in addresses."""
    return db.scalar(select(Benchmark).where(Benchmark.slug == slug, Benchmark.state != DELETED))


def list_benchmarks(db: Session) -> Sequence[Benchmark]:
    """All benchmarks, the newest first."""
    return db.scalars(select(Benchmark).where(Benchmark.state != DELETED).order_by(Benchmark.id.desc())).all()


def may_change(user: User | None, benchmark: Benchmark) -> bool:
    """Whether a benchmark is the person's to change: its organiser's, or an admin's."""
    if user is None:
        return False
    return user.has(Role.ADMIN) or (user.id == benchmark.created_by and user.has(Role.ORGANISER))


def delete_benchmark(db: Session, settings: Settings, files: Files, benchmark: Benchmark, by: User) -> None:
    """Forget a benchmark on which nothing is published, with its files, rounds, and what teams handed in."""
    db.refresh(benchmark, with_for_update=True)
    if benchmark.leased_until and benchmark.leased_until > now():
        raise DstressError("the benchmark is being made", fix="wait until that has ended")
    if count_submissions(db, benchmark, published=True):
        raise DstressError("systems are published on this benchmark", fix="what others may cite stays")
    handed_in = [submission for system in benchmark.systems for submission in system.submissions]
    gone = [submission.file for submission in handed_in]
    gone += [public_file(benchmark.id, layout) for layout in benchmark.summary.get("layouts", {})]
    record(db, by, "benchmark.delete", benchmark.slug, title=benchmark.title, submissions=len(handed_in))
    db.execute(delete(JudgingRound).where(JudgingRound.benchmark_id == benchmark.id))
    benchmark.systems, benchmark.plan, benchmark.summary = [], {}, {}
    benchmark.state, benchmark.title, benchmark.about = DELETED, "deleted benchmark", ""
    benchmark.slug, benchmark.created_by = f"deleted/{benchmark.id}", None  # no address has this
    db.commit()  # a row whose file is gone would be worse than a file without a row
    for name in (*gone, _private_file(benchmark.id)):
        files.delete(name)
    shutil.rmtree(_unpacked(settings, benchmark.id), ignore_errors=True)


def count_submissions(db: Session, benchmark: Benchmark, *, published: bool = False) -> int:
    """How many files of answers a benchmark has, or of how many anybody may see the numbers."""
    query = select(func.count(Submission.id)).join(System).where(System.benchmark_id == benchmark.id)
    if published:
        query = query.where(Submission.published_at.is_not(None), Submission.withdrawn_at.is_(None))
    return db.scalar(query) or 0


def is_open(benchmark: Benchmark) -> bool:
    """Whether answers are taken."""
    return benchmark.state == DONE and (benchmark.deadline is None or now() < benchmark.deadline)


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
    whole = [case for case in package.key.cases if case.variant == package.gold.variants[0]]
    return {
        "suite": msgspec.to_builtins(package.suite),
        "corpus": package.gold.manifest.tracked,
        "licence": package.key.licence,
        "conventions": list(package.key.conventions),
        "variants": list(package.gold.variants),
        "parts": len(package.key.parts),
        "dialogues": len(package.key.cases),
        "turns": public_turns(package),
        "original_dialogues": len(whole),
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


def _unpacked(settings: Settings, benchmark_id: int) -> Path:
    return settings.folder / "cache" / f"benchmark-{benchmark_id}"


def open_package(settings: Settings, files: Files, benchmark_id: int) -> Package:
    """A benchmark's gold and key, unpacked on this machine where it was not yet."""
    folder = _unpacked(settings, benchmark_id)
    cache = folder.parent
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        unpacked = Path(tempfile.mkdtemp(dir=cache, prefix=".part-"))
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
