"""Pages of submissions, which are the team's own until they are published, and of systems, as far as a person may see.

A system's page has its versions, and the views of the report that reveal nothing of gold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from dstress.errors import DstressError, shorten
from dstress.leaderboard.accounts.service import make_team, teams_of
from dstress.leaderboard.benchmarks import service as benchmarks
from dstress.leaderboard.benchmarks.board import floors_of, load_result
from dstress.leaderboard.benchmarks.results import SUITE_TABLE, unpack
from dstress.leaderboard.submissions import service
from dstress.leaderboard.submissions.api import ACTIONS, UPLOADS, Action, AnswersForm, receive
from dstress.leaderboard.submissions.plots import Drawing
from dstress.leaderboard.submissions.service import require_submission
from dstress.leaderboard.tables import DONE, Benchmark, Membership, NotThere, Submission, System, User
from dstress.leaderboard.web import limits
from dstress.leaderboard.web.access import UPLOAD_SLOT, Db, Id, SignedIn, Stored, Visitor
from dstress.leaderboard.web.fields import MULTIPART, Choice, FormLine, Line, Slug
from dstress.leaderboard.web.rendering import redirect, render
from dstress.predictions import UnknownFormatError, formats
from dstress.reports.numbers import PAGE
from dstress.reports.score_tables import tasks
from dstress.reports.tables import Table
from dstress.reports.views import cards, headline, slots
from dstress.runs.folder import Scores
from dstress.scoring.metrics.measures import measure_of
from dstress.scoring.scorecard import Scorecard

router = APIRouter()
_DONE = {
    "publish": "Published: everybody can see it now.",
    "hide": "Hidden: only your team can see it.",
    "withdraw": "Withdrawn.",
}


class PageForm(AnswersForm):
    """Answers by a page: for one of one's teams, or for a new one."""

    team: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    new_team: Line = ""


@router.get("/benchmarks/{slug}/submit")
def show_form(request: Request, user: SignedIn, db: Db, slug: Slug) -> Response:
    """The form to hand answers in."""
    return _form(request, db, user, benchmarks.require_benchmark(db, slug), {})


def _form(
    request: Request,
    db: Session,
    user: User,
    benchmark: Benchmark,
    filled: dict[str, Any],
    problem: DstressError | None = None,
) -> Response:
    teams = teams_of(db, user)
    values = {
        "benchmark": benchmark,
        "teams": teams,
        "left": {team.id: benchmarks.left_today(db, benchmark, user, team.id) for team in teams},
        "filled": defaultdict(str, filled),
        "problem": _one_line(problem) if problem else "",
        "nearest": problem.nearest if isinstance(problem, UnknownFormatError) else "",
        "formats": {name: formats.summary(name) for name in formats.usable()},
    }
    return render(request, "submissions/new.html.j2", user, status=400 if problem else 200, **values)


@router.post("/benchmarks/{slug}/submit", dependencies=[UPLOAD_SLOT])
def hand_in(
    request: Request, user: SignedIn, db: Db, files: Stored, slug: Slug, form: Annotated[PageForm, MULTIPART]
) -> Response:
    """Check the answers and take them in; what is wrong with them stands on the same page."""
    limits.count(db, f"upload:{user.id}", UPLOADS)
    benchmark = benchmarks.require_benchmark(db, slug)
    try:
        team = form.team or make_team(db, user, form.new_team).id
        submission = receive(files, user, db, slug, team, form)
    except DstressError as error:
        db.rollback()
        return _form(request, db, user, benchmark, form.model_dump(exclude={"answers"}), error)
    return redirect(f"/submissions/{submission.id}", "The answers are taken. They will be scored in a moment.")


def _one_line(error: DstressError) -> str:
    """What is wrong with an upload, in the words of the page: its reader has a form, and no command line."""
    if isinstance(error, UnknownFormatError):
        nearest = f"The nearest is {error.nearest}: {error.lacks}." if error.nearest else "It is empty."
        return shorten(f"{error.where} is in no format that can be read here. {nearest}".replace("\n", " "))
    head = f"{error.where}: {error.problem}" if error.where else f"{error.problem[:1].upper()}{error.problem[1:]}"
    fix = f" {error.fix[:1].upper()}{error.fix[1:]}" if error.fix else ""
    return shorten(f"{head}.{fix}{'' if fix.endswith('?') or not fix else '.'}".replace("\n", " "))


@router.get("/submissions")
def show_own(request: Request, user: SignedIn, db: Db) -> Response:
    """All that one's teams have submitted."""
    return render(request, "submissions/list.html.j2", user, submissions=benchmarks.list_submissions(db, user))


@router.get("/submissions/{submission_id}")
def show_submission(request: Request, user: SignedIn, db: Db, submission_id: Id) -> Response:
    """How far it is, and what it has reached."""
    submission = require_submission(db, user, submission_id)
    left = benchmarks.information_left(db, submission.system.benchmark, user, submission.system.team_id)
    values: dict[str, Any] = {"submission": submission, "result": load_result(db, submission), "left": left}
    values["floors"] = submission.system.benchmark.summary.get("floors", {})
    return render(request, "submissions/submission.html.j2", user, **values)


@router.get("/submissions/{submission_id}/state")
def tell_state(user: SignedIn, db: Db, submission_id: Id) -> dict[str, str]:
    """How far it is, for a page that waits."""
    return {"state": require_submission(db, user, submission_id).state}


@router.post("/submissions/{submission_id}/{action}")
def change_submission(user: SignedIn, db: Db, submission_id: Id, action: Action) -> Response:
    """Onto the leaderboard, off it again, or taken back for good."""
    ACTIONS[action](db, user, require_submission(db, user, submission_id))
    return redirect(f"/submissions/{submission_id}", _DONE[action])


# Systems.


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
    versions = [row for row in db.scalars(query) if own or (row.published_at and not row.withdrawn_at)]
    scored = [row for row in versions if row.state == DONE and not row.withdrawn_at]
    chosen = next((row for row in scored if row.version == version or not version), None)
    if system is None or not versions or (version and chosen is None):
        raise NotThere("There is no such system.")
    return Seen(system, versions, chosen)


@router.get("/systems/{system_id}")
def show_system(request: Request, user: Visitor, db: Db, system_id: Id, choice: Chosen) -> Response:
    """A version of a system: the newest that is published; for its team, any."""
    seen = _see(db, user, system_id, choice.version)
    is_own = user is not None and db.get(Membership, (user.id, seen.system.team_id)) is not None
    values: dict[str, Any] = seen._asdict() | {"report": None, "convention": "", "is_own": is_own}
    values["conventions"] = seen.system.benchmark.summary.get("conventions", [])
    if seen.chosen and (result := load_result(db, seen.chosen, choice.convention)):
        floors = floors_of(seen.system.benchmark, SUITE_TABLE)
        values |= {"report": _report(result.scores, floors), "convention": result.scores.convention}
    return render(request, "systems/system.html.j2", user, **values)


@router.post("/systems/{system_id}/address")
def set_address(user: SignedIn, db: Db, system_id: Id, address: FormLine = "") -> Response:
    """Say where a system of one's own team answers, for judges who talk to it."""
    service.set_address(db, user, system_id, address)
    return redirect(f"/systems/{system_id}", "Saved." if address else "The address is gone.")


@router.get("/systems/{system_id}/plots")
def show_plots(request: Request, user: Visitor, db: Db, system_id: Id, choice: Chosen) -> Response:
    """The plots of the report, once a worker has drawn them."""
    seen = _see(db, user, system_id, choice.version)
    plots = seen.chosen.plots if seen.chosen else None
    if plots is None:
        raise NotThere("Plots are drawn once a submission is published.")
    drawn = unpack(plots.drawings, dict[str, list[Drawing]]) if plots.drawings else {}
    if choice.convention and drawn and choice.convention not in drawn:
        raise NotThere("There is no such convention.")
    drawings = drawn[choice.convention or next(iter(drawn))] if drawn else []
    return render(request, "systems/plots.html.j2", user, system=seen.system, drawings=drawings, state=plots.state)


def _report(scores: Scores, floors: Mapping[str, float]) -> dict[str, Any]:
    """What the report says of scores, as far as it names no gold; floors are of columns of the suite's table."""
    scorecards = scores.variants
    original = next(iter(scorecards.values()))
    metric = next(iter(original.metrics))
    unit = measure_of(metric).unit
    slices = {}
    for name in dict.fromkeys(name for card in scorecards.values() for name in card.slices if name != "slot"):
        by_variant = {variant: card.slices[name] for variant, card in scorecards.items() if name in card.slices}
        keys = dict.fromkeys(key for by_key in by_variant.values() for key in by_key)
        rows = [
            (key, *(PAGE.measured((by_key.get(key) or {}).get(metric), unit) for by_key in by_variant.values()))
            for key in keys
        ]
        slices[name] = Table((name, *(f"#{variant}" for variant in by_variant)), rows)
    return {
        "cards": cards(scores, {variant: variant for variant in scorecards}),
        "headline": headline(scores),
        "tasks": tasks(scores, PAGE, floors=floors),
        "aspects": tasks(scores, PAGE, by="aspect", floors=floors),
        "floors": floors,
        "metrics": _metrics(scorecards),
        "slots": slots(scores),
        "slices": slices,
        "metric": metric,
        "signature": original.signature,
    }


def _metrics(scorecards: Mapping[str, Scorecard]) -> Table:
    """A row for each metric: inform, success and BLEU too, of which the suite's table may show only the sum."""
    names = dict.fromkeys(metric for card in scorecards.values() for metric in card.metrics)
    rows = []
    for name in names:
        unit = measure_of(name).unit
        values = (card.metrics[name].value if name in card.metrics else None for card in scorecards.values())
        rows.append((name, *(PAGE.measured(value, unit) for value in values)))
    return Table(("metric", *(f"#{variant}" for variant in scorecards)), rows)
