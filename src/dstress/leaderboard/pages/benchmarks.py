"""Benchmarks for everybody: what there is, what to download, who leads, and how it came to that."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Form, HTTPException, Path, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session
from starlette.responses import Response, StreamingResponse

from dstress.errors import DstressError
from dstress.leaderboard import benchmark_store
from dstress.leaderboard.access import Db, Organiser, Visitor, get_files, get_settings
from dstress.leaderboard.accounts import teams_of
from dstress.leaderboard.benchmark_store import BenchmarkTerms
from dstress.leaderboard.benchmarks.package import Plan
from dstress.leaderboard.boards import Board, board_content, board_table, load_board, load_history
from dstress.leaderboard.fields import FormLine, Line, Text
from dstress.leaderboard.files import pieces
from dstress.leaderboard.rendering import redirect, render, templates
from dstress.leaderboard.submissions import left_today, list_submissions
from dstress.leaderboard.tables.accounts import User
from dstress.leaderboard.tables.benchmarks import DONE, Benchmark
from dstress.metrics.measures import measure_of
from dstress.reports.numbers import PAGE
from dstress.runs.folder import Cell
from dstress.spec import parse_list
from dstress.suites.base import names as suite_names

router = APIRouter()
Slug = Annotated[str, Path(max_length=100)]
Choice = Annotated[str, Query(max_length=200)]
_Whole = Annotated[int, Field(ge=0, le=2**31 - 1)]


class BoardChoice(BaseModel):
    """Which leaderboard, and ordered by what; empty is as the organiser wants it."""

    view: Choice = ""
    convention: Choice = ""
    by: Choice = ""


class PageChoice(BoardChoice):
    """The same; `q` keeps the systems and teams whose names have it."""

    q: Choice = ""


class TermsForm(BaseModel):
    """What an organiser says of a benchmark."""

    title: Line
    about: Text = ""
    view: Line = ""
    daily_limit: int = 5
    deadline: Line = ""

    def terms(self) -> BenchmarkTerms:
        """The same, read."""
        return BenchmarkTerms(self.title, self.about, self.daily_limit, _read_deadline(self.deadline), self.view)


class PlanForm(TermsForm):
    """The same, and what it is to be made of."""

    suite: Line
    corpus: Line
    metrics: Line = ""
    conventions: Line = ""
    limit: _Whole = 0
    seed: _Whole = 1

    def plan(self) -> Plan:
        """What it is made of, read."""
        if self.suite not in suite_names() or self.corpus not in benchmark_store.known_corpora():
            raise DstressError("choose a suite and a corpus from the lists")
        wanted, judged = (tuple(parse_list(text)) if text else () for text in (self.metrics, self.conventions))
        return Plan(self.suite, self.corpus, self.title, self.seed, self.limit, metrics=wanted, conventions=judged)


Chosen = Annotated[BoardChoice, Query()]


@router.get("/")
def show_first(request: Request, user: Visitor, db: Db) -> Response:
    """All benchmarks, each with its leaders."""
    found = [(benchmark, _leaders(db, benchmark)) for benchmark in benchmark_store.list_benchmarks(db)]
    return render(request, "benchmarks/first.html.j2", user, benchmarks=found, **_words())


def _leaders(db: Session, benchmark: Benchmark) -> Board | None:
    return load_board(db, benchmark) if benchmark.state == DONE else None


def _words() -> dict[str, Any]:
    """How templates show numbers."""
    return {"show_value": show_value, "show_interval": show_interval, "is_open": benchmark_store.is_open, "PAGE": PAGE}


def show_value(cell: Cell | None) -> str:
    """A cell's number in its unit, without the unit."""
    if cell is None or cell.score is None:
        return PAGE.unknown
    return PAGE.measured(cell.score.value, measure_of(cell.metric).unit)


def show_interval(cell: Cell | None) -> str:
    """Where a cell's number lies."""
    if cell is None or cell.score is None:
        return ""
    return PAGE.measured_interval(cell.score.low, cell.score.high, measure_of(cell.metric).unit)


def require_benchmark(db: Session, slug: str) -> Benchmark:
    """A benchmark by its address, or nothing to see."""
    found = benchmark_store.find_benchmark(db, slug)
    if found is None:
        raise HTTPException(404, "There is no such benchmark.")
    return found


def _require_board(db: Session, slug: str, chosen: BoardChoice) -> Board:
    benchmark = require_benchmark(db, slug)
    if benchmark.state != DONE:
        raise HTTPException(404, "The benchmark is not ready yet.")
    return load_board(db, benchmark, chosen.view, chosen.convention, chosen.by)


@router.get("/benchmarks/new")
def show_new(request: Request, user: Organiser, db: Db) -> Response:
    """The form for a new benchmark."""
    return _new_form(request, user, {})


def _new_form(request: Request, user: User, given: dict[str, Any], problem: str = "") -> Response:
    values = {
        "suites": list(suite_names()),
        "corpora": benchmark_store.known_corpora(),
        "given": defaultdict(str, given),
    }
    return render(request, "benchmarks/new.html.j2", user, status=400 if problem else 200, problem=problem, **values)


@router.post("/benchmarks/new")
def make_benchmark(request: Request, user: Organiser, db: Db, form: Annotated[PlanForm, Form()]) -> Response:
    """Take the order; a worker makes the benchmark."""
    try:
        benchmark = benchmark_store.add_benchmark(db, form.plan(), form.terms(), user)
    except DstressError as error:
        db.rollback()
        return _new_form(request, user, form.model_dump(), str(error))
    return redirect(f"/benchmarks/{benchmark.slug}", "The order is taken.")


def _read_deadline(text: str) -> datetime | None:
    """A time as forms and people write it, UTC."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise DstressError(f"{text!r} is no time", fix="write it as 2027-05-31 or 2027-05-31T23:59, in UTC") from None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


@router.get("/benchmarks/{slug}")
def show_benchmark(
    request: Request, user: Visitor, db: Db, slug: Slug, chosen: Annotated[PageChoice, Query()]
) -> Response:
    """A benchmark and its leaderboard."""
    benchmark = require_benchmark(db, slug)
    values: dict[str, Any] = {"benchmark": benchmark, "board": None, "q": chosen.q, "own": [], "left": None}
    if benchmark.state == DONE:
        board = load_board(db, benchmark, chosen.view, chosen.convention, chosen.by)
        kept = [one for one in board.standings if chosen.q.casefold() in f"{one.system}\n{one.team}".casefold()]
        values["board"] = board._replace(standings=kept)
        if user:
            values["own"] = list_submissions(db, user, benchmark)[:5]
            values["left"] = max(
                (left_today(db, benchmark, user, team.id) for team in teams_of(db, user)), default=None
            )
    if is_mine := benchmark_store.may_change(user, benchmark):
        published = benchmark_store.count_submissions(db, benchmark, published=True)
        values |= {"published": published, "handed_in": benchmark_store.count_submissions(db, benchmark)}
    return render(request, "benchmarks/benchmark.html.j2", user, is_mine=is_mine, **values, **_words())


@router.get("/benchmarks/{slug}/state")
def tell_state(user: Visitor, db: Db, slug: Slug) -> dict[str, str]:
    """Whether it is ready, for a page that waits."""
    return {"state": require_benchmark(db, slug).state}


@router.post("/benchmarks/{slug}/terms")
def change_terms(user: Organiser, db: Db, slug: Slug, form: Annotated[TermsForm, Form()]) -> Response:
    """Set words, deadline and limit anew."""
    benchmark_store.change_terms(db, require_own(db, slug, user), form.terms(), user)
    return redirect(f"/benchmarks/{slug}", "The terms are set.")


def require_own(db: Session, slug: str, user: User) -> Benchmark:
    """A benchmark that the person may change, or a refusal."""
    benchmark = require_benchmark(db, slug)
    if not benchmark_store.may_change(user, benchmark):
        raise HTTPException(403, "this benchmark is another organiser's")
    return benchmark


@router.post("/benchmarks/{slug}/delete")
def delete_benchmark(request: Request, user: Organiser, db: Db, slug: Slug, name: FormLine) -> Response:
    """Forget a benchmark; its name, written once more, says that it is meant."""
    benchmark = require_own(db, slug, user)
    if name != slug:
        raise DstressError(f"{name!r} is not the benchmark's name", fix=f"write {slug} to delete it")
    title = benchmark.title
    benchmark_store.delete_benchmark(db, get_settings(request), get_files(request), benchmark, user)
    return redirect("/", f"{title} is deleted.")


@router.get("/benchmarks/{slug}/inputs/{layout}.zip")
def download_inputs(request: Request, user: Visitor, db: Db, slug: Slug, layout: Slug) -> Response:
    """The public inputs in a layout."""
    return send_inputs(request, require_benchmark(db, slug), layout)


def send_inputs(request: Request, benchmark: Benchmark, layout: str) -> Response:
    """The archive as a download."""
    if layout not in benchmark.summary.get("layouts", {}):
        raise HTTPException(404, "There are no inputs in this layout.")
    stream = get_files(request).open(benchmark_store.public_file(benchmark.id, layout))
    headers = {
        "Content-Disposition": f'attachment; filename="{benchmark.slug}-{layout}.zip"',
        "Content-Length": str(benchmark.summary["layouts"][layout]),
    }
    return StreamingResponse(pieces(stream), media_type="application/zip", headers=headers)


@router.get("/benchmarks/{slug}/history")
def show_history(request: Request, user: Visitor, db: Db, slug: Slug, chosen: Chosen) -> Response:
    """Who led when."""
    board = _require_board(db, slug, chosen)
    values: dict[str, Any] = {"board": board, "milestones": load_history(db, board), "benchmark": board.benchmark}
    return render(request, "benchmarks/history.html.j2", user, **values, **_words())


@router.get("/benchmarks/{slug}/leaderboard.json")
def export_json(user: Visitor, db: Db, slug: Slug, chosen: Chosen) -> Response:
    """The leaderboard for programs."""
    content = msgspec.json.encode(board_content(_require_board(db, slug, chosen)))
    return Response(content, media_type="application/json")


@router.get("/benchmarks/{slug}/leaderboard.csv")
def export_csv(user: Visitor, db: Db, slug: Slug, chosen: Chosen) -> Response:
    """The leaderboard for spreadsheets."""
    board = _require_board(db, slug, chosen)
    headers = {"Content-Disposition": f'attachment; filename="{slug}-{board.view.name}.csv"'}
    return Response(board_table(board).to_csv(), media_type="text/csv", headers=headers)


@router.get("/benchmarks/{slug}/badges/{system_id}.svg")
def draw_badge(user: Visitor, db: Db, slug: Slug, system_id: Annotated[int, Path(ge=1, le=2**31 - 1)]) -> Response:
    """A system's place and number, for its own page."""
    board = _require_board(db, slug, BoardChoice())
    one = next((one for one in board.standings if one.system_id == system_id), None)
    if one is None:
        raise HTTPException(404, "There is no such system on this board.")
    texts = (board.benchmark.title[:40], f"#{one.row.rank} · {board.by} {show_value(one.row.cells[0])}")
    drawn = (
        templates()
        .get_template("benchmarks/badge.svg.j2")
        .render(texts=texts, widths=[18 + 6.6 * len(t) for t in texts])
    )
    return Response(drawn, media_type="image/svg+xml", headers={"Cache-Control": "max-age=300"})
