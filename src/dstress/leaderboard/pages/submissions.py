"""Handing in answers, and what becomes of them. All of it is the team's own until it is published."""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Request, UploadFile
from pydantic import BaseModel, Field, StringConstraints
from sqlalchemy.orm import Session
from starlette.responses import Response

from dstress.errors import DstressError
from dstress.leaderboard import accounts, limits, submissions
from dstress.leaderboard.access import UPLOAD_SLOT, Db, Id, SignedIn, get_files, get_settings
from dstress.leaderboard.boards import load_result
from dstress.leaderboard.fields import Line, Text
from dstress.leaderboard.limits import Limit
from dstress.leaderboard.pages.benchmarks import Slug, require_benchmark, show_interval, show_value
from dstress.leaderboard.rendering import redirect, render
from dstress.leaderboard.submissions import Entrant, Upload, plain_name
from dstress.leaderboard.tables.accounts import User
from dstress.leaderboard.tables.benchmarks import Benchmark, Submission
from dstress.predictions import formats

router = APIRouter()
UPLOADS = Limit(60, 3600)
"""Files that a person may have checked in an hour, taken or not."""


class AnswersForm(BaseModel):
    """What is handed in, by a page or a program."""

    answers: UploadFile
    system: Line
    about: Text = ""
    format: Annotated[str, StringConstraints(max_length=40)] = ""


class PageForm(AnswersForm):
    """The same by a page: for one of one's teams, or for a new one."""

    team: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    new_team: Line = ""


MULTIPART = Form(media_type="multipart/form-data")


@router.get("/benchmarks/{slug}/submit")
def show_form(request: Request, user: SignedIn, db: Db, slug: Slug) -> Response:
    """The form to hand answers in."""
    return _form(request, db, user, require_benchmark(db, slug), {})


def _form(
    request: Request, db: Session, user: User, benchmark: Benchmark, given: dict[str, Any], problem: str = ""
) -> Response:
    teams = accounts.teams_of(db, user)
    left = {team.id: submissions.left_today(db, benchmark, user, team.id) for team in teams}
    values = {
        "benchmark": benchmark,
        "teams": teams,
        "left": left,
        "given": defaultdict(str, given),
        "problem": problem,
    }
    status = 400 if problem else 200
    return render(request, "submissions/new.html.j2", user, status=status, formats=list(formats.usable()), **values)


@router.post("/benchmarks/{slug}/submit", dependencies=[UPLOAD_SLOT])
def hand_in(request: Request, user: SignedIn, db: Db, slug: Slug, form: Annotated[PageForm, MULTIPART]) -> Response:
    """Check the answers and take them in; what is wrong with them stands on the same page."""
    limits.count(db, f"upload:{user.id}", UPLOADS)
    benchmark = require_benchmark(db, slug)
    try:
        team = form.team or accounts.make_team(db, user, form.new_team).id
        made = receive(request, db, benchmark, Entrant(user, team, form.system, form.about), form)
    except DstressError as error:
        db.rollback()
        return _form(request, db, user, benchmark, form.model_dump(exclude={"answers"}), str(error))
    return redirect(f"/submissions/{made.id}", "The answers are taken. They will be scored in a moment.")


def receive(request: Request, db: Session, benchmark: Benchmark, entrant: Entrant, form: AnswersForm) -> Submission:
    """Take an upload in, from a page or a program."""
    if form.format and form.format not in formats:
        raise DstressError(f"no format {form.format!r} is known", fix=f"one of {', '.join(formats.usable())}")
    name = plain_name(form.answers.filename or "")
    with tempfile.TemporaryDirectory(prefix="dstress-") as folder:
        path = Path(folder) / name
        with path.open("wb") as out:
            shutil.copyfileobj(form.answers.file, out)
        upload = Upload(path, name, form.format)
        return submissions.submit(db, get_settings(request), get_files(request), benchmark, entrant, upload)


@router.get("/submissions")
def show_own(request: Request, user: SignedIn, db: Db) -> Response:
    """All that one's teams have handed in."""
    return render(request, "submissions/list.html.j2", user, submissions=submissions.list_submissions(db, user))


def require_submission(db: Session, user: User, submission_id: int) -> Submission:
    """A submission of one's own teams; others do not even learn that it exists."""
    found = submissions.find_submission(db, user, submission_id)
    if found is None:
        raise HTTPException(404, "There is no such submission of yours.")
    return found


@router.get("/submissions/{submission_id}")
def show_submission(request: Request, user: SignedIn, db: Db, submission_id: Id) -> Response:
    """How far it is, and what it has reached."""
    submission = require_submission(db, user, submission_id)
    values: dict[str, Any] = {"submission": submission, "result": load_result(db, submission)}
    values |= {"show_value": show_value, "show_interval": show_interval}
    return render(request, "submissions/submission.html.j2", user, **values)


@router.get("/submissions/{submission_id}/state")
def tell_state(user: SignedIn, db: Db, submission_id: Id) -> dict[str, str]:
    """How far it is, for a page that waits."""
    return {"state": require_submission(db, user, submission_id).state}


@router.post("/submissions/{submission_id}/publish")
def publish(user: SignedIn, db: Db, submission_id: Id) -> Response:
    """Onto the leaderboard."""
    submissions.publish(db, user, require_submission(db, user, submission_id))
    return redirect(f"/submissions/{submission_id}", "Published: everybody can see it now.")


@router.post("/submissions/{submission_id}/hide")
def hide(user: SignedIn, db: Db, submission_id: Id) -> Response:
    """Off the leaderboard."""
    submissions.hide(db, user, require_submission(db, user, submission_id))
    return redirect(f"/submissions/{submission_id}", "Hidden: only your team can see it.")


@router.post("/submissions/{submission_id}/withdraw")
def withdraw(user: SignedIn, db: Db, submission_id: Id) -> Response:
    """Taken back for good."""
    submissions.withdraw(db, user, require_submission(db, user, submission_id))
    return redirect(f"/submissions/{submission_id}", "Withdrawn.")
