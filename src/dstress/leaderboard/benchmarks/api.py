"""Benchmarks for programs: what there is, its inputs and leaderboard; and new ones, submitted whole."""

from __future__ import annotations

import shutil
import tempfile
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, UploadFile
from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from dstress.errors import DstressError
from dstress.leaderboard.benchmarks import service
from dstress.leaderboard.benchmarks.board import board_content, load_board
from dstress.leaderboard.benchmarks.package import Plan, unpack_package
from dstress.leaderboard.benchmarks.service import BenchmarkTerms, require_benchmark
from dstress.leaderboard.files import pieces
from dstress.leaderboard.tables import DONE, Benchmark, NotThere
from dstress.leaderboard.web import limits
from dstress.leaderboard.web.access import Db, Organiser, Stored, Visitor
from dstress.leaderboard.web.fields import MULTIPART, Choice, Line, Slug, Text
from dstress.leaderboard.web.limits import Limit

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
    """A benchmark as programs see it; what is known of its data comes once it is made."""
    summary, views = benchmark.summary, service.views_of_benchmark(benchmark)
    first = service.first_view(benchmark) if views else ""
    own = ("slug", "title", "about", "state", "problem", "is_open", "deadline", "daily_limit")
    nothing = {"licence": "", "corpus": "", "variants": [], "conventions": [], "dialogues": 0, "turns": 0}
    return BenchmarkFacts(
        **{name: getattr(benchmark, name) for name in own},
        **{name: summary.get(name, default) for name, default in nothing.items()},
        suite=summary.get("suite", {}).get("title", ""),
        layouts=list(summary.get("layouts", {})),
        views=sorted(views, key=lambda view: view != first),
    )


class BoardChoice(BaseModel):
    """Which leaderboard, and ordered by what; empty is as the organiser wants it."""

    view: Choice = ""
    convention: Choice = ""
    by: Choice = ""


class TermsForm(BaseModel):
    """What an organiser says of a benchmark."""

    title: Line
    about: Text = ""
    view: Line = ""
    daily_limit: int = 5
    deadline: Line = ""
    """A time as forms and people write it, UTC; a day without a time means its end."""

    def terms(self) -> BenchmarkTerms:
        """The same, read."""
        deadline = None
        if self.deadline:
            try:
                deadline = datetime.fromisoformat(self.deadline)
                if len(self.deadline) <= len("2027-05-31"):
                    deadline = datetime.combine(deadline, time(23, 59, 59))
                deadline = deadline.astimezone(UTC) if deadline.tzinfo else deadline.replace(tzinfo=UTC)
            except (ValueError, OverflowError):
                fix = "write it as 2027-05-31 or 2027-05-31T23:59, in UTC"
                raise DstressError(f"{self.deadline!r} is no time", fix=fix) from None
        return BenchmarkTerms(self.title, self.about, self.daily_limit, deadline, self.view)


class PackageForm(TermsForm):
    """A benchmark that `dstress benchmark create` has made, gold and all, as a zip; and its terms."""

    package: UploadFile


@router.get("")
def list_benchmarks(user: Visitor, db: Db) -> list[BenchmarkFacts]:
    """All benchmarks, the newest first."""
    return [facts_of(benchmark) for benchmark in service.list_benchmarks(db)]


@router.get("/{slug}")
def show_benchmark(user: Visitor, db: Db, slug: Slug) -> BenchmarkFacts:
    """One benchmark."""
    return facts_of(require_benchmark(db, slug))


@router.get("/{slug}/inputs/{layout}", response_class=Response)
def download_inputs(user: Visitor, db: Db, files: Stored, slug: Slug, layout: Slug) -> Response:
    """The public inputs in a layout, as a zip."""
    benchmark = require_benchmark(db, slug)
    if layout not in benchmark.summary.get("layouts", {}):
        raise NotThere("There are no inputs in this layout.")
    stream = files.open(service.public_file(benchmark.id, layout))
    headers = {
        "Content-Disposition": f'attachment; filename="{benchmark.slug}-{layout}.zip"',
        "Content-Length": str(benchmark.summary["layouts"][layout]),
    }
    return StreamingResponse(pieces(stream), media_type="application/zip", headers=headers)


@router.get("/{slug}/leaderboard")
def show_leaderboard(user: Visitor, db: Db, slug: Slug, chosen: Annotated[BoardChoice, Query()]) -> dict[str, Any]:
    """The leaderboard: systems in order, scores with intervals, and the p-value of each against the one above."""
    benchmark = require_benchmark(db, slug)
    if benchmark.state != DONE:
        return {}
    return board_content(load_board(db, benchmark, chosen.view, chosen.convention, chosen.by))


@router.delete("/{slug}")
def delete_benchmark(user: Organiser, db: Db, files: Stored, slug: Slug) -> dict[str, str]:
    """Forget a benchmark on which nothing is published, with its files and what teams submitted."""
    service.delete_benchmark(db, files, require_benchmark(db, slug, user), user)
    return {"deleted": slug}


@router.post("", status_code=201)
def add_benchmark(user: Organiser, db: Db, files: Stored, form: Annotated[PackageForm, MULTIPART]) -> BenchmarkFacts:
    """Take a benchmark in whole."""
    limits.count(db, f"benchmark:{user.id}", _MADE)
    with tempfile.TemporaryDirectory(prefix="dstress-") as folder:
        archive = Path(folder) / "package.zip"
        with archive.open("wb") as out:
            shutil.copyfileobj(form.package.file, out)
        made = unpack_package(archive, Path(folder) / "unpacked")
        manifest = made.gold.manifest
        plan = Plan("", manifest.corpus, form.title, manifest.seed, manifest.limit, manifest.draw)
        benchmark = service.add_benchmark(db, plan, form.terms(), user, made)
        service.save_package(files, benchmark.id, made)
    return facts_of(benchmark)
