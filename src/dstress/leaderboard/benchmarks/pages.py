"""Benchmarks for everybody: what there is, what to download, who leads, and how it came to that."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from fastapi import APIRouter, Form, Query, Request
from pydantic import Field, StringConstraints
from sqlalchemy.orm import Session
from starlette.responses import Response

from dstress.errors import DstressError
from dstress.leaderboard.accounts.service import teams_of
from dstress.leaderboard.benchmarks import api, service
from dstress.leaderboard.benchmarks.api import BoardChoice, TermsForm
from dstress.leaderboard.benchmarks.board import Board, board_content, board_table, load_board, load_history
from dstress.leaderboard.benchmarks.package import Plan
from dstress.leaderboard.benchmarks.scatter import draw_scatter
from dstress.leaderboard.benchmarks.service import require_benchmark
from dstress.leaderboard.tables import DONE, NotThere, User
from dstress.leaderboard.web.access import Db, Id, Organiser, Stored, Visitor
from dstress.leaderboard.web.fields import Choice, FormLine, Line, Slug
from dstress.leaderboard.web.rendering import redirect, render, show_value, templates
from dstress.runs.suites.base import names as suite_names
from dstress.spec import parse_list

router = APIRouter()
_Whole = Annotated[int, Field(ge=0, le=2**31 - 1)]


class PageChoice(BoardChoice):
    """Which leaderboard; `q` keeps the systems and teams whose names have it, `hide` leaves columns out."""

    q: Choice = ""
    hide: Annotated[tuple[Annotated[str, StringConstraints(max_length=200)], ...], Field(max_length=100)] = ()

    def address(self, **changes: object) -> str:
        """The page with another choice. A view has columns of its own: what was said of others is forgotten."""
        chosen = self.model_dump(exclude_defaults=True)
        if "view" in changes:
            chosen = {name: text for name, text in chosen.items() if name not in ("by", "hide")}
        kept = {name: text for name, text in (chosen | changes).items() if text}
        return f"?{urlencode(kept, doseq=True)}#board"

    def toggled(self, label: str) -> str:
        """The page with one column more, or one less."""
        others = [name for name in self.hide if name != label]
        return self.address(hide=others if label in self.hide else [*others, label])


class PlanForm(TermsForm):
    """What an organiser says of a new benchmark, and what it is to be made of."""

    suite: Line
    corpus: Line
    metrics: Line = ""
    conventions: Line = ""
    limit: _Whole = 0
    seed: _Whole = 1

    def plan(self) -> Plan:
        """What it is made of, read."""
        if self.suite not in suite_names() or self.corpus not in service.known_corpora():
            raise DstressError("choose a suite and a corpus from the lists")
        metrics, conventions = (tuple(parse_list(text)) if text else () for text in (self.metrics, self.conventions))
        return Plan(
            self.suite, self.corpus, self.title, self.seed, self.limit, metrics=metrics, conventions=conventions
        )


Chosen = Annotated[BoardChoice, Query()]


@router.get("/")
def show_first(request: Request, user: Visitor, db: Db) -> Response:
    """All benchmarks, each with its leaders."""
    boards = [
        (benchmark, load_board(db, benchmark) if benchmark.state == DONE else None)
        for benchmark in service.list_benchmarks(db)
    ]
    return render(request, "benchmarks/first.html.j2", user, benchmarks=boards)


@router.get("/benchmarks/new")
def show_new(request: Request, user: Organiser, db: Db) -> Response:
    """The form for a new benchmark."""
    return _new_form(request, user, {})


@router.post("/benchmarks/new")
def make_benchmark(request: Request, user: Organiser, db: Db, form: Annotated[PlanForm, Form()]) -> Response:
    """Take the order; a worker makes the benchmark."""
    try:
        benchmark = service.add_benchmark(db, form.plan(), form.terms(), user)
    except DstressError as error:
        db.rollback()
        return _new_form(request, user, form.model_dump(), str(error))
    return redirect(f"/benchmarks/{benchmark.slug}", "The order is taken.")


def _new_form(request: Request, user: User, filled: dict[str, Any], problem: str = "") -> Response:
    values = {"suites": list(suite_names()), "corpora": service.known_corpora(), "filled": defaultdict(str, filled)}
    return render(request, "benchmarks/new.html.j2", user, status=400 if problem else 200, problem=problem, **values)


@router.get("/benchmarks/{slug}")
def show_benchmark(
    request: Request, user: Visitor, db: Db, slug: Slug, chosen: Annotated[PageChoice, Query()]
) -> Response:
    """A benchmark and its leaderboard."""
    benchmark = require_benchmark(db, slug)
    values: dict[str, Any] = {"benchmark": benchmark, "board": None, "chosen": chosen, "own": [], "left": None}
    if benchmark.state == DONE:
        board = load_board(db, benchmark, chosen.view, chosen.convention, chosen.by)
        values |= {"board": board, "scatter": draw_scatter(board)}
        if user:
            values["own"] = service.list_submissions(db, user, benchmark)[:5]
            left = (service.left_today(db, benchmark, user, team.id) for team in teams_of(db, user))
            values["left"] = max(left, default=None)
    if is_mine := service.may_change(user, benchmark):
        published = service.count_submissions(db, benchmark, published=True)
        values |= {"published": published, "handed_in": service.count_submissions(db, benchmark)}
    return render(request, "benchmarks/benchmark.html.j2", user, is_mine=is_mine, **values)


@router.get("/benchmarks/{slug}/state")
def tell_state(user: Visitor, db: Db, slug: Slug) -> dict[str, str]:
    """Whether it is ready, for a page that waits."""
    return {"state": require_benchmark(db, slug).state}


@router.post("/benchmarks/{slug}/terms")
def change_terms(user: Organiser, db: Db, slug: Slug, form: Annotated[TermsForm, Form()]) -> Response:
    """Set words, deadline and limit anew."""
    service.change_terms(db, require_benchmark(db, slug, user), form.terms(), user)
    return redirect(f"/benchmarks/{slug}", "The terms are set.")


@router.post("/benchmarks/{slug}/delete")
def delete_benchmark(user: Organiser, db: Db, files: Stored, slug: Slug, name: FormLine) -> Response:
    """Forget a benchmark; its name, written once more, says that it is meant."""
    benchmark = require_benchmark(db, slug, user)
    if name != slug:
        raise DstressError(f"{name!r} is not the benchmark's name", fix=f"write {slug} to delete it")
    title = benchmark.title
    service.delete_benchmark(db, files, benchmark, user)
    return redirect("/", f"{title} is deleted.")


router.add_api_route("/benchmarks/{slug}/inputs/{layout}.zip", api.download_inputs, response_class=Response)


@router.get("/benchmarks/{slug}/history")
def show_history(request: Request, user: Visitor, db: Db, slug: Slug, chosen: Chosen) -> Response:
    """Who led when."""
    board = _require_board(db, slug, chosen)
    values: dict[str, Any] = {"board": board, "milestones": load_history(db, board), "benchmark": board.benchmark}
    return render(request, "benchmarks/history.html.j2", user, **values)


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
def draw_badge(user: Visitor, db: Db, slug: Slug, system_id: Id) -> Response:
    """A system's place and number, for its own page."""
    board = _require_board(db, slug, BoardChoice())
    standing = next((place for place in board.standings if place.published.system_id == system_id), None)
    if standing is None:
        raise NotThere("There is no such system on this board.")
    texts = (board.benchmark.title[:40], f"#{standing.row.rank} · {board.by} {show_value(standing.row.cells[0])}")
    widths = [18 + 6.6 * len(text) for text in texts]
    drawn = templates().get_template("benchmarks/badge.svg.j2").render(texts=texts, widths=widths)
    return Response(drawn, media_type="image/svg+xml", headers={"Cache-Control": "max-age=300"})


def _require_board(db: Session, slug: str, chosen: BoardChoice) -> Board:
    benchmark = require_benchmark(db, slug)
    if benchmark.state != DONE:
        raise NotThere("The benchmark is not ready yet.")
    return load_board(db, benchmark, chosen.view, chosen.convention, chosen.by)
