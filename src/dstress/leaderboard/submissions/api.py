"""Submissions for programs: submit, ask how far it is, publish, hide, withdraw."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, UploadFile
from pydantic import AliasPath, BaseModel, ConfigDict, Field, StringConstraints
from sqlalchemy.orm import Session

from dstress.leaderboard.accounts.service import teams_of
from dstress.leaderboard.benchmarks.board import load_result
from dstress.leaderboard.benchmarks.service import list_submissions as list_own
from dstress.leaderboard.benchmarks.service import require_benchmark
from dstress.leaderboard.files import Files
from dstress.leaderboard.submissions import service
from dstress.leaderboard.submissions.service import Entrant, SubmissionError, Upload, require_submission
from dstress.leaderboard.tables import Submission, Team, User
from dstress.leaderboard.web import limits
from dstress.leaderboard.web.access import UPLOAD_SLOT, Db, Id, SignedIn, Stored
from dstress.leaderboard.web.fields import MULTIPART, Choice, Line, Slug, Text
from dstress.leaderboard.web.limits import Limit

router = APIRouter(tags=["submissions"])
UPLOADS = Limit(60, 3600)
"""Files that a person may have checked in an hour, taken or not."""
Action = Literal["publish", "hide", "withdraw"]
ACTIONS = {"publish": service.publish, "hide": service.hide, "withdraw": service.withdraw}


class SubmissionFacts(BaseModel):
    """A submission of one's own team."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    benchmark: str = Field(validation_alias=AliasPath("system", "benchmark", "slug"))
    system: str = Field(validation_alias=AliasPath("system", "name"))
    team: str = Field(validation_alias=AliasPath("system", "team", "slug"))
    version: int
    state: str
    """`waiting`, `done` or `failed`."""
    problem: str
    notes: list[str]
    created_at: datetime
    published_at: datetime | None
    withdrawn_at: datetime | None


facts_of = SubmissionFacts.model_validate
"""A submission as programs see it."""


class AnswersForm(BaseModel):
    """What is submitted, by a page or a program."""

    answers: UploadFile
    system: Line
    about: Text = ""
    format: Annotated[str, StringConstraints(max_length=40)] = ""


class ProgramForm(AnswersForm):
    """Answers, for a team by its slug; without one, for the only team there is."""

    team: Line = ""


def receive(files: Files, user: User, db: Session, slug: str, team_id: int, form: AnswersForm) -> Submission:
    """Take an upload in, from a page or a program."""
    upload = Upload(form.answers.file, form.answers.filename or "", form.format)
    entrant = Entrant(user, team_id, form.system, form.about)
    return service.submit(db, files, require_benchmark(db, slug), entrant, upload)


@router.post("/benchmarks/{slug}/submissions", status_code=201, dependencies=[UPLOAD_SLOT])
def hand_in(
    user: SignedIn, db: Db, files: Stored, slug: Slug, form: Annotated[ProgramForm, MULTIPART]
) -> SubmissionFacts:
    """Hand answers in. They are checked at once, with the messages of `dstress score`, and scored by a worker."""
    limits.count(db, f"upload:{user.id}", UPLOADS)
    return facts_of(receive(files, user, db, slug, _choose_team(db, user, form.team).id, form))


def _choose_team(db: Session, user: User, slug: str) -> Team:
    """The team of this name in addresses; without one, the only team there is."""
    teams = teams_of(db, user)
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
    """What one's teams have submitted, the newest first."""
    return [facts_of(submission) for submission in list_own(db, user)]


@router.get("/submissions/{submission_id}")
def show_submission(user: SignedIn, db: Db, submission_id: Id) -> SubmissionFacts:
    """How far a submission is."""
    return facts_of(require_submission(db, user, submission_id))


@router.get("/submissions/{submission_id}/scores")
def show_scores(user: SignedIn, db: Db, submission_id: Id, convention: Choice = "") -> dict[str, Any]:
    """What a submission has reached: a run's `scores.json` without what names gold, the cells of each view, floors."""
    submission = require_submission(db, user, submission_id)
    result = load_result(db, submission, convention)
    scores: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(result)) if result else {}
    return scores | {"floors": submission.system.benchmark.summary.get("floors", {})} if scores else {}


@router.post("/submissions/{submission_id}/{action}")
def change_submission(user: SignedIn, db: Db, submission_id: Id, action: Action) -> SubmissionFacts:
    """Publish a submission, hide it again, or withdraw it for good."""
    submission = require_submission(db, user, submission_id)
    ACTIONS[action](db, user, submission)
    return facts_of(submission)
