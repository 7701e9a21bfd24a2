"""Benchmarks for programs: what there is, its inputs and leaderboard; and new ones, handed in whole."""

from __future__ import annotations

import shutil
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request, UploadFile
from pydantic import BaseModel
from starlette.responses import Response

from dstress.leaderboard import benchmark_store, limits
from dstress.leaderboard.access import Db, Organiser, Visitor, get_files, get_settings
from dstress.leaderboard.benchmarks.archive import unpack_package
from dstress.leaderboard.benchmarks.package import Plan
from dstress.leaderboard.boards import board_content, load_board
from dstress.leaderboard.limits import Limit
from dstress.leaderboard.pages.benchmarks import Chosen, Slug, TermsForm, require_benchmark, require_own, send_inputs
from dstress.leaderboard.pages.submissions import MULTIPART
from dstress.leaderboard.tables.base import now
from dstress.leaderboard.tables.benchmarks import DONE, Benchmark

router = APIRouter(prefix="/benchmarks", tags=["benchmarks"])
_MADE = Limit(20, 3600)


class BenchmarkFacts(BaseModel):
    """What anybody may know of a benchmark."""

    slug: str
    title: str
    about: str
    state: str
    """`waiting` while it is being made, `done`, or `failed`."""
    problem: str
    is_open: bool
    deadline: datetime | None
    daily_limit: int
    licence: str
    corpus: str
    suite: str
    variants: list[str]
    conventions: list[str]
    layouts: list[str]
    views: list[str]
    """Its leaderboards, the one that is shown first first."""
    dialogues: int
    turns: int


def facts_of(benchmark: Benchmark) -> BenchmarkFacts:
    """A benchmark as programs see it."""
    known, views = benchmark.summary, benchmark_store.views_of_benchmark(benchmark)
    first = benchmark_store.first_view(benchmark) if views else ""
    return BenchmarkFacts(
        slug=benchmark.slug,
        title=benchmark.title,
        about=benchmark.about,
        state=benchmark.state,
        problem=benchmark.problem,
        is_open=benchmark_store.is_open(benchmark),
        deadline=benchmark.deadline,
        daily_limit=benchmark.daily_limit,
        licence=known.get("licence", ""),
        corpus=known.get("corpus", ""),
        suite=known.get("suite", {}).get("title", ""),
        variants=known.get("variants", []),
        conventions=known.get("conventions", []),
        layouts=list(known.get("layouts", {})),
        views=sorted(views, key=lambda view: view != first),
        dialogues=known.get("dialogues", 0),
        turns=known.get("turns", 0),
    )


@router.get("")
def list_benchmarks(user: Visitor, db: Db) -> list[BenchmarkFacts]:
    """All benchmarks, the newest first."""
    return [facts_of(benchmark) for benchmark in benchmark_store.list_benchmarks(db)]


@router.get("/{slug}")
def show_benchmark(user: Visitor, db: Db, slug: Slug) -> BenchmarkFacts:
    """One benchmark."""
    return facts_of(require_benchmark(db, slug))


@router.get("/{slug}/inputs/{layout}", response_class=Response)
def download_inputs(request: Request, user: Visitor, db: Db, slug: Slug, layout: Slug) -> Response:
    """The public inputs in a layout, as a zip."""
    return send_inputs(request, require_benchmark(db, slug), layout)


@router.get("/{slug}/leaderboard")
def show_leaderboard(user: Visitor, db: Db, slug: Slug, chosen: Chosen) -> dict[str, Any]:
    """The leaderboard: systems in order, scores with intervals, and the p-value of each against the one above."""
    benchmark = require_benchmark(db, slug)
    if benchmark.state != DONE:
        return {}
    return board_content(load_board(db, benchmark, chosen.view, chosen.convention, chosen.by))


@router.delete("/{slug}")
def delete_benchmark(request: Request, user: Organiser, db: Db, slug: Slug) -> dict[str, str]:
    """Forget a benchmark on which nothing is published, with its files and what teams handed in."""
    benchmark = require_own(db, slug, user)
    benchmark_store.delete_benchmark(db, get_settings(request), get_files(request), benchmark, user)
    return {"deleted": slug}


class PackageForm(TermsForm):
    """A benchmark that `dstress benchmark create` has made, gold and all, as a zip; and its terms."""

    package: UploadFile


@router.post("", status_code=201)
def add_benchmark(request: Request, user: Organiser, db: Db, form: Annotated[PackageForm, MULTIPART]) -> BenchmarkFacts:
    """Take a benchmark in whole."""
    limits.count(db, f"benchmark:{user.id}", _MADE)
    with tempfile.TemporaryDirectory(prefix="dstress-") as folder:
        archive = Path(folder) / "package.zip"
        with archive.open("wb") as out:
            shutil.copyfileobj(form.package.file, out)
        made = unpack_package(archive, Path(folder) / "unpacked")
        manifest = made.gold.manifest
        plan, terms = Plan("", manifest.corpus, form.title, manifest.seed, manifest.limit, manifest.draw), form.terms()
        benchmark = benchmark_store.add_benchmark(db, plan, terms, user)
        benchmark.summary, benchmark.state, benchmark.finished_at = benchmark_store.summarise(made), DONE, now()
        benchmark_store.change_terms(db, benchmark, terms, user)  # now it is known which views there are
        benchmark_store.save_package(get_files(request), benchmark.id, made)
    return facts_of(benchmark)
