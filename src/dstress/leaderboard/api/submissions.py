"""Submissions for programs: hand in, ask how far it is, publish, hide, withdraw."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Request
from pydantic import BaseModel
from sqlalchemy.orm import Session

from dstress.leaderboard import accounts, limits, submissions
from dstress.leaderboard.access import UPLOAD_SLOT, Db, Id, SignedIn
from dstress.leaderboard.boards import load_result
from dstress.leaderboard.fields import Line
from dstress.leaderboard.pages.benchmarks import Choice, Slug, require_benchmark
from dstress.leaderboard.pages.submissions import MULTIPART, UPLOADS, AnswersForm, receive, require_submission
from dstress.leaderboard.submissions import Entrant, SubmissionError
from dstress.leaderboard.tables.accounts import Team, User
from dstress.leaderboard.tables.benchmarks import Submission

router = APIRouter(tags=["submissions"])
Action = Literal["publish", "hide", "withdraw"]


class SubmissionFacts(BaseModel):
    """A submission of one's own team."""

    id: int
    benchmark: str
    system: str
    team: str
    version: int
    state: str
    """`waiting`, `done` or `failed`."""
    problem: str
    notes: list[str]
    created_at: datetime
    published_at: datetime | None
    withdrawn_at: datetime | None


def facts_of(submission: Submission) -> SubmissionFacts:
    """A submission as programs see it."""
    system = submission.system
    return SubmissionFacts(
        id=submission.id,
        benchmark=system.benchmark.slug,
        system=system.name,
        team=system.team.slug,
        version=submission.version,
        state=submission.state,
        problem=submission.problem,
        notes=submission.notes,
        created_at=submission.created_at,
        published_at=submission.published_at,
        withdrawn_at=submission.withdrawn_at,
    )


class ProgramForm(AnswersForm):
    """Answers, for a team by its slug; without one, for the only team there is."""

    team: Line = ""


@router.post("/benchmarks/{slug}/submissions", status_code=201, dependencies=[UPLOAD_SLOT])
def hand_in(
    request: Request, user: SignedIn, db: Db, slug: Slug, form: Annotated[ProgramForm, MULTIPART]
) -> SubmissionFacts:
    """Hand answers in. They are checked at once, with the messages of `dstress score`, and scored by a worker."""
    limits.count(db, f"upload:{user.id}", UPLOADS)
    entrant = Entrant(user, _team(db, user, form.team).id, form.system, form.about)
    return facts_of(receive(request, db, require_benchmark(db, slug), entrant, form))


def _team(db: Session, user: User, slug: str) -> Team:
    """The team of this name in addresses; without one, the only team there is."""
    teams = accounts.teams_of(db, user)
    if slug:
        teams = [team for team in teams if team.slug == slug or team.name == slug]
    if len(teams) == 1:
        return teams[0]
    if slug:
        raise SubmissionError(f"you are in no team {slug!r}", fix="GET /api/v1/account names your teams")
    if not teams:
        raise SubmissionError("you are in no team yet", fix="make one on the page Teams")
    raise SubmissionError("you are in several teams", fix=f"say which: {', '.join(team.slug for team in teams)}")


@router.get("/submissions")
def list_submissions(user: SignedIn, db: Db) -> list[SubmissionFacts]:
    """What one's teams have handed in, the newest first."""
    return [facts_of(submission) for submission in submissions.list_submissions(db, user)]


@router.get("/submissions/{submission_id}")
def show_submission(user: SignedIn, db: Db, submission_id: Id) -> SubmissionFacts:
    """How far a submission is."""
    return facts_of(require_submission(db, user, submission_id))


@router.get("/submissions/{submission_id}/scores")
def show_scores(user: SignedIn, db: Db, submission_id: Id, convention: Choice = "") -> dict[str, Any]:
    """What a submission has reached: a run's `scores.json` without what names gold, and the cells of each view."""
    result = load_result(db, require_submission(db, user, submission_id), convention)
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(result)) if result else {}
    return found


@router.post("/submissions/{submission_id}/{action}")
def change_submission(user: SignedIn, db: Db, submission_id: Id, action: Action) -> SubmissionFacts:
    """Publish a submission, hide it again, or withdraw it for good."""
    submission = require_submission(db, user, submission_id)
    {"publish": submissions.publish, "hide": submissions.hide, "withdraw": submissions.withdraw}[action](
        db, user, submission
    )
    return facts_of(submission)
