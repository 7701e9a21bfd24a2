"""One system: its versions, and the views of the report that tell nothing of gold."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from dstress.leaderboard.access import Db, Id, Visitor
from dstress.leaderboard.benchmarks.results import unpack_results
from dstress.leaderboard.boards import load_result
from dstress.leaderboard.pages.benchmarks import Choice
from dstress.leaderboard.rendering import render
from dstress.leaderboard.tables.accounts import Membership, User
from dstress.leaderboard.tables.benchmarks import DONE, StoredResult, Submission, System
from dstress.metrics.measures import measure_of
from dstress.reports.charts import NARROW, WIDE, draw_adaptive_svg
from dstress.reports.numbers import PAGE
from dstress.reports.plots import make_plots
from dstress.reports.tables import Table
from dstress.reports.views import cards, headline, slots, tasks
from dstress.runs.folder import Scores

router = APIRouter(prefix="/systems")


class Drawing(NamedTuple):
    """A plot for wide and for narrow screens."""

    title: str
    wide: str
    narrow: str


class SystemChoice(BaseModel):
    """Which version, and under which convention; 0 and empty are the newest and the benchmark's first."""

    version: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    convention: Choice = ""


Chosen = Annotated[SystemChoice, Query()]


class Seen(NamedTuple):
    """A system as a person may see it: its versions, and the one that is shown."""

    system: System
    versions: list[Submission]
    chosen: Submission | None


def _see(db: Session, user: User | None, system_id: int, version: int) -> Seen:
    """Of others' systems what is published and not withdrawn; of one's own team's, everything."""
    system = db.get(System, system_id)
    own = system is not None and user is not None and db.get(Membership, (user.id, system.team_id)) is not None
    query = select(Submission).where(Submission.system_id == system_id).order_by(Submission.version.desc())
    seen = [one for one in db.scalars(query) if own or (one.published_at and not one.withdrawn_at)]
    scored = [one for one in seen if one.state == DONE and not one.withdrawn_at]
    shown = next((one for one in scored if one.version == version or not version), None)
    if system is None or not seen or (version and shown is None):
        raise HTTPException(404, "There is no such system.")
    return Seen(system, seen, shown)


@router.get("/{system_id}")
def show_system(request: Request, user: Visitor, db: Db, system_id: Id, choice: Chosen) -> Response:
    """A version of a system: the newest that is published; for its team, any."""
    seen = _see(db, user, system_id, choice.version)
    values: dict[str, Any] = seen._asdict() | {"report": None, "convention": ""}
    values["conventions"] = seen.system.benchmark.summary.get("conventions", [])
    if seen.chosen and (result := load_result(db, seen.chosen, choice.convention)):
        values |= {"report": _report(result.scores), "convention": result.scores.convention}
    return render(request, "systems/system.html.j2", user, PAGE=PAGE, **values)


@router.get("/{system_id}/plots")
def show_plots(request: Request, user: Visitor, db: Db, system_id: Id, choice: Chosen) -> Response:
    """The plots of the report, which take longer to draw than the page can wait."""
    seen = _see(db, user, system_id, choice.version)
    stored = db.get(StoredResult, seen.chosen.id) if seen.chosen else None
    if stored is None:
        raise HTTPException(404, "There are no plots yet.")
    results = unpack_results(stored.results)
    if choice.convention and choice.convention not in results:
        raise HTTPException(404, "There is no such convention.")
    drawings = _drawings(stored.results, choice.convention or next(iter(results)))
    return render(request, "systems/plots.html.j2", user, system=seen.system, drawings=drawings)


def _report(scores: Scores) -> dict[str, Any]:
    """What the report says of scores, as far as it names no gold."""
    metric = next(iter(next(iter(scores.variants.values())).metrics))
    sliced = {
        name: {variant: card.slices[name] for variant, card in scores.variants.items() if name in card.slices}
        for name in dict.fromkeys(name for card in scores.variants.values() for name in card.slices)
        if name != "slot"
    }
    return {
        "cards": cards(scores, {variant: variant for variant in scores.variants}),
        "headline": headline(scores),
        "tasks": tasks(scores),
        "slots": slots(scores),
        "slices": {name: _slice(name, by_variant, metric) for name, by_variant in sliced.items()},
        "metric": metric,
        "signature": next(iter(scores.variants.values())).signature,
    }


def _slice(name: str, by_variant: dict[str, Any], metric: str) -> Table:
    """A metric of every key of a slice, a column for each variant."""
    keys, unit = dict.fromkeys(key for found in by_variant.values() for key in found), measure_of(metric).unit
    rows = [
        (key, *(PAGE.measured((found.get(key) or {}).get(metric), unit) for found in by_variant.values()))
        for key in keys
    ]
    return Table((name, *(f"#{variant}" for variant in by_variant)), rows)


@lru_cache(maxsize=64)
def _drawings(packed: bytes, convention: str) -> list[Drawing]:
    """The plots of the report. By what they are made of: results never change."""
    plots = make_plots(unpack_results(packed)[convention].scores)
    return [
        Drawing(plot.title, *(draw_adaptive_svg(plot, layout, is_linked=False) for layout in (WIDE, NARROW)))
        for plot in plots.values()
    ]
