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
from sqlalchemy import select
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
from dstress.leaderboard.tables.accounts import User
from dstress.leaderboard.tables.base import now
from dstress.leaderboard.tables.benchmarks import DONE, Benchmark
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
    return db.scalar(select(Benchmark).where(Benchmark.slug == slug))


def list_benchmarks(db: Session) -> Sequence[Benchmark]:
    """All benchmarks, the newest first."""
    return db.scalars(select(Benchmark).order_by(Benchmark.id.desc())).all()


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


def open_package(settings: Settings, files: Files, benchmark_id: int) -> Package:
    """A benchmark's gold and key, unpacked on this machine where it was not yet."""
    cache = settings.folder / "cache"
    folder = cache / f"benchmark-{benchmark_id}"
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
