"""Answers that teams hand in: checked at once, counted, kept, and shown to nobody else until they are published."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session, undefer

from dstress.errors import DstressError
from dstress.leaderboard.accounts import find_membership
from dstress.leaderboard.audit import record
from dstress.leaderboard.benchmark_store import is_open, open_package
from dstress.leaderboard.benchmarks.answers import read_answers, take_fingerprint
from dstress.leaderboard.files import Files
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables.accounts import Membership, Team, User
from dstress.leaderboard.tables.base import now
from dstress.leaderboard.tables.benchmarks import DONE, FAILED, Benchmark, Submission, System

NEAR_SHARE = 0.02
"""Answers that may differ in a near copy: whoever changes so few may want to read gold from what the score does."""
NEAR_COPIES = 3
"""Near copies that are taken in `_WATCHED`."""
_WATCHED = timedelta(days=7)
_ENDINGS = re.compile(r"(?:\.[a-z0-9]{1,8}){1,2}$")
_UNSAFE = re.compile(r"[^A-Za-z0-9._ -]+")


class SubmissionError(DstressError):
    """Answers that are not taken, whatever they say: too late, too many, too much alike."""


class Upload(NamedTuple):
    """A file of answers as it came."""

    path: Path
    name: str
    format: str = ""


class Entrant(NamedTuple):
    """Who hands in, and for which system."""

    user: User
    team_id: int
    system: str
    about: str = ""


def plain_name(name: str) -> str:
    """A file's own name as it may be kept and shown: its ending says what is inside."""
    return _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2]).strip(". ")[-120:] or "answers"


def submit(
    db: Session, settings: Settings, files: Files, benchmark: Benchmark, entrant: Entrant, upload: Upload
) -> Submission:
    """Take answers in, or say why not. Reading them takes a while, and no transaction is held meanwhile."""
    _require_place(db, benchmark, entrant)
    db.commit()
    package = open_package(settings, files, benchmark.id)
    answers = read_answers(package, upload.path, upload.format)
    fingerprint = take_fingerprint(package, answers)
    ending = found[0] if (found := _ENDINGS.search(upload.name.lower())) else ""
    file = f"submissions/{secrets.token_hex(16)}{ending}"
    with upload.path.open("rb") as stream:
        files.save(file, stream)
    try:
        db.scalar(select(Team).where(Team.id == entrant.team_id).with_for_update())  # one at a time, or two would count
        _require_place(db, benchmark, entrant)
        _require_own_work(db, benchmark, entrant, fingerprint)
        system = _system(db, benchmark, entrant)
        latest = db.scalar(select(func.max(Submission.version)).where(Submission.system_id == system.id))
        submission = Submission(
            system=system,
            version=1 + (latest or 0),
            submitted_by=entrant.user.id,
            file=file,
            file_name=upload.name,
            size=upload.path.stat().st_size,
            format=answers.format,
            notes=answers.notes,
            fingerprint=fingerprint.tobytes(),
        )
        db.add(submission)
        db.flush()
        record(db, entrant.user, "submission.make", str(submission.id), benchmark=benchmark.slug)
        db.commit()
    except BaseException:
        db.rollback()
        files.delete(file)
        raise
    return submission


def _require_place(db: Session, benchmark: Benchmark, entrant: Entrant) -> None:
    """Refuse answers that come too late, are too many today, or are of somebody else's team."""
    find_membership(db, entrant.user, entrant.team_id)
    if not entrant.system:
        raise SubmissionError("a system needs a name")
    if not is_open(benchmark):
        raise SubmissionError(f"{benchmark.title} takes no answers", fix=_why_closed(benchmark))
    if left_today(db, benchmark, entrant.user, entrant.team_id) < 1:
        limit = f"{benchmark.daily_limit} submissions a day" if benchmark.daily_limit > 1 else "one submission a day"
        raise SubmissionError(f"{limit} are all there are, and they are used up", fix="the day ends at midnight UTC")


def _why_closed(benchmark: Benchmark) -> str:
    return "the deadline is over" if benchmark.state == DONE else "it is still being made"


def left_today(db: Session, benchmark: Benchmark, user: User, team_id: int) -> int:
    """How many submissions a team has left today; those of a person count in all of that person's teams."""
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    made = _of_entrant(select(func.count(Submission.id)), benchmark, user, team_id).where(
        Submission.created_at >= midnight, Submission.state != FAILED
    )
    return benchmark.daily_limit - (db.scalar(made) or 0)


def _of_entrant(query: Select[Any], benchmark: Benchmark, user: User, team_id: int) -> Select[Any]:
    who = or_(System.team_id == team_id, Submission.submitted_by == user.id)
    return query.join(System).where(System.benchmark_id == benchmark.id, who)


def _require_own_work(db: Session, benchmark: Benchmark, entrant: Entrant, answers: NDArray[np.uint32]) -> None:
    """Refuse the same answers again, and many that are nearly the same; every near copy goes into the log."""
    query = _of_entrant(select(Submission), benchmark, entrant.user, entrant.team_id)
    near = []
    for other in db.scalars(query.options(undefer(Submission.fingerprint)).order_by(Submission.id)):
        known = np.frombuffer(other.fingerprint, np.uint32)
        different = int(np.count_nonzero(known != answers)) if known.shape == answers.shape else len(answers)
        if not different and other.state != FAILED:
            raise SubmissionError(f"these are the answers of submission {other.id}, word for word")
        if different < NEAR_SHARE * len(answers) and now() - other.created_at < _WATCHED:
            near.append(other.id)
    if near:
        refused = len(near) >= NEAR_COPIES
        action = "submission.refuse_near_copy" if refused else "submission.near_copy"
        record(db, entrant.user, action, benchmark.slug, near=near, team=entrant.team_id)
        if refused:
            db.commit()  # the log keeps it, though nothing else comes of it
            raise SubmissionError(
                f"fewer than {100 * NEAR_SHARE:g} % of the answers differ from {len(near)} earlier submissions",
                fix="what a benchmark's gold says cannot be found out by trying; hand in what a system answers",
            )


def _system(db: Session, benchmark: Benchmark, entrant: Entrant) -> System:
    of_name = (System.benchmark_id == benchmark.id, System.team_id == entrant.team_id, System.name == entrant.system)
    system = db.scalar(select(System).where(*of_name))
    if system is None:
        system = System(benchmark_id=benchmark.id, team_id=entrant.team_id, name=entrant.system)
        db.add(system)
    if entrant.about:
        system.about = entrant.about
    db.flush()
    return system


def find_submission(db: Session, user: User | None, submission_id: int) -> Submission | None:
    """A submission of the person's teams; to everybody else there is none."""
    if user is None:
        return None
    own = select(Membership.team_id).where(Membership.user_id == user.id)
    return db.scalar(select(Submission).join(System).where(Submission.id == submission_id, System.team_id.in_(own)))


def list_submissions(db: Session, user: User, benchmark: Benchmark | None = None) -> Sequence[Submission]:
    """What a person's teams have handed in, the newest first."""
    own = select(Membership.team_id).where(Membership.user_id == user.id)
    query = select(Submission).join(System).where(System.team_id.in_(own)).order_by(Submission.id.desc())
    return db.scalars(query.where(System.benchmark_id == benchmark.id) if benchmark else query).all()


def publish(db: Session, user: User, submission: Submission) -> None:
    """Show a submission's numbers to everybody."""
    if submission.state != DONE or submission.withdrawn_at:
        raise SubmissionError("only what is scored, and not withdrawn, can be published")
    submission.published_at = now()
    record(db, user, "submission.publish", str(submission.id))


def hide(db: Session, user: User, submission: Submission) -> None:
    """Make a submission's numbers the team's own again."""
    submission.published_at = None
    record(db, user, "submission.hide", str(submission.id))


def withdraw(db: Session, user: User, submission: Submission) -> None:
    """Take a submission back for good. It still counts for its day: otherwise gold could be asked without end."""
    submission.published_at, submission.withdrawn_at = None, now()
    record(db, user, "submission.withdraw", str(submission.id))
