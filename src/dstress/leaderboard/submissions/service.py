"""Answers that teams submit: checked at once, counted, kept, and shown to nobody else until they are published."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dstress.errors import DstressError
from dstress.leaderboard.accounts.service import find_membership
from dstress.leaderboard.benchmarks import service as benchmarks
from dstress.leaderboard.benchmarks.answers import read_answers, take_fingerprint
from dstress.leaderboard.benchmarks.service import EXACT_COSTS, information_left
from dstress.leaderboard.files import Files
from dstress.leaderboard.judging.conversation import checked_address
from dstress.leaderboard.judging.service import has_judged
from dstress.leaderboard.tables import (
    DONE,
    FAILED,
    AuditEntry,
    Benchmark,
    Membership,
    NotThere,
    Plots,
    Submission,
    System,
    User,
    now,
    record,
)
from dstress.predictions import formats

NEAR_SHARE = 0.02
"""Answers that may differ in a near copy: whoever changes so few may want to read gold from what the score does."""
NEAR_COPIES = 3
"""Near copies that are taken in `_WATCHED`."""
REFUSALS = 10
"""Times a day that a person's answers to a benchmark may be refused as copies: that tells which slots count where."""
_REFUSED_COPY, _REFUSED_NEAR_COPY = "submission.refuse_copy", "submission.refuse_near_copy"
_WATCHED = timedelta(days=7)
_ENDINGS = re.compile(r"(?:\.[a-z0-9]{1,8}){1,2}$")
_LONGEST_NAME = 180
"""Bytes of a file's name: a disk takes 255, and its folder may be long."""


class SubmissionError(DstressError):
    """Answers that are not taken, whatever they say: too late, too many, too much alike."""


class Upload(NamedTuple):
    """A file of answers as it comes; without a format, it is found out from what is inside."""

    content: IO[bytes]
    name: str
    format: str = ""


class Entrant(NamedTuple):
    """Who hands in, and for which system."""

    user: User
    team_id: int
    system: str
    about: str = ""


def submit(db: Session, files: Files, benchmark: Benchmark, entrant: Entrant, upload: Upload) -> Submission:
    """Take answers in, or say why not. Reading them takes a while, and no transaction is held meanwhile."""
    if upload.format and upload.format not in formats:
        raise DstressError(f"no format {upload.format!r} is known", fix=f"one of {', '.join(formats.usable())}")
    _require_place(db, benchmark, entrant)
    db.commit()
    name = _file_name(upload.name)  # kept and shown as it was: its ending says what is inside
    ending = match[0] if (match := _ENDINGS.search(name.lower())) else ""
    file = f"submissions/{secrets.token_hex(16)}{ending}"
    with tempfile.TemporaryDirectory(prefix="dstress-") as folder:
        path = Path(folder) / name
        with path.open("wb") as out:
            shutil.copyfileobj(upload.content, out)
        package = benchmarks.open_package(files, benchmark.id)
        answers = read_answers(package, path, upload.format)
        fingerprint = take_fingerprint(package, answers)
        size = path.stat().st_size
        with path.open("rb") as stream:
            files.save(file, stream)
    try:
        # One at a time: two at once would both count as the last of the day, also of one person in two teams.
        db.refresh(benchmark, with_for_update=True)
        _require_place(db, benchmark, entrant)
        _require_own_work(db, benchmark, entrant, fingerprint)
        key = {"benchmark_id": benchmark.id, "team_id": entrant.team_id, "name": entrant.system}
        system = db.scalar(select(System).filter_by(**key)) or System(**key)
        system.about = entrant.about or system.about or ""
        latest = db.scalar(select(func.max(Submission.version)).where(Submission.system_id == system.id))
        submission = Submission(
            system=system,
            version=1 + (latest or 0),
            submitted_by=entrant.user.id,
            file=file,
            file_name=name,
            size=size,
            format=answers.format,
            notes=answers.notes,
            fingerprint=fingerprint.tobytes(),
        )
        db.add(submission)
        db.flush()
        left = information_left(db, benchmark, entrant.user, entrant.team_id)
        record(db, entrant.user, "submission.make", str(submission.id), benchmark=benchmark.slug, information_left=left)
        db.commit()
    except BaseException:
        db.rollback()
        files.delete(file)
        raise
    return submission


def _file_name(sent: str) -> str:
    """A file's name as it was, without the folder that some browsers put before it, and what does not show."""
    name = "".join(letter for letter in sent.replace("\\", "/").rpartition("/")[2] if letter.isprintable())
    shortened = name.encode("utf-8", "replace")[-_LONGEST_NAME:].decode("utf-8", "ignore")
    return shortened.strip(". ") or "answers"


def _require_place(db: Session, benchmark: Benchmark, entrant: Entrant) -> None:
    """Refuse answers that come too late, are too many today, or are of another's team or of one that has seen gold."""
    find_membership(db, entrant.user, entrant.team_id)
    if not entrant.system:
        raise SubmissionError("a system needs a name")
    if not benchmark.is_open:
        reason = "the deadline is over" if benchmark.state == DONE else "it is still being made"
        raise SubmissionError(f"{benchmark.title} takes no answers", fix=reason)
    if has_judged(db, benchmark, entrant.team_id):
        fix = "the items of a round show what the gold says: whoever has had a seat cannot compete"
        raise SubmissionError(f"a member of your team has judged on {benchmark.title}", fix=fix)
    if benchmarks.left_today(db, benchmark, entrant.user, entrant.team_id) < 1:
        limit = f"{benchmark.daily_limit} submissions a day" if benchmark.daily_limit > 1 else "one submission a day"
        raise SubmissionError(f"{limit} are all there are, and they are used up", fix="the day ends at midnight UTC")
    refusals = select(func.count(AuditEntry.id)).where(
        AuditEntry.user_id == entrant.user.id,
        AuditEntry.action.in_((_REFUSED_COPY, _REFUSED_NEAR_COPY)),
        AuditEntry.target == benchmark.slug,
        AuditEntry.at > now() - timedelta(days=1),
    )
    if (db.scalar(refusals) or 0) >= REFUSALS:
        raise SubmissionError(
            f"{REFUSALS} of your files were refused as copies within a day",
            fix="submit what a system answers, tomorrow",
        )
    if information_left(db, benchmark, entrant.user, entrant.team_id) <= EXACT_COSTS:
        _refuse_to_tell_more(db, entrant.user, benchmark, entrant.team_id)


def _refuse_to_tell_more(db: Session, user: User, benchmark: Benchmark, team_id: int) -> NoReturn:
    record(db, user, "submission.refuse_information", benchmark.slug, team=team_id)
    db.commit()  # the log keeps it, though nothing else comes of it
    budget = benchmarks.BUDGET_DAYS * benchmark.daily_limit
    raise SubmissionError(
        f"your team has learnt as much of {benchmark.title} as it may",
        fix=f"a submission costs 1 of {budget}, publishing one costs {EXACT_COSTS} more",
    )


def _require_own_work(db: Session, benchmark: Benchmark, entrant: Entrant, answers: NDArray[np.uint32]) -> None:
    """Refuse the same answers again, and many that are nearly the same; every near copy goes into the log.

    Whoever handed them in: a second account is quickly made.
    """
    columns = (Submission.id, Submission.fingerprint, Submission.created_at, System.team_id)
    query = select(*columns).join(System).where(System.benchmark_id == benchmark.id, Submission.state != FAILED)
    # Those that nobody sent are the baselines of the example, which everybody may try.
    same = query.where(Submission.fingerprint == answers.tobytes(), Submission.submitted_by.is_not(None)).limit(1)
    if other := db.execute(same).first():
        record(db, entrant.user, _REFUSED_COPY, benchmark.slug, team=entrant.team_id)
        db.commit()  # the log keeps it, though nothing else comes of it
        whose = f"of submission {other.id}" if other.team_id == entrant.team_id else "that somebody has submitted"
        raise SubmissionError(f"these are the answers {whose}, as far as they count")
    near = []
    for other in db.execute(query.where(Submission.created_at > now() - _WATCHED).order_by(Submission.id)):
        if len(other.fingerprint) == answers.nbytes:
            earlier = np.frombuffer(other.fingerprint, np.uint32).reshape(answers.shape)
            different = np.count_nonzero(earlier != answers, axis=1)
            if np.any((different > 0) & (different <= max(1, NEAR_SHARE * answers.shape[1]))):
                near.append(other.id)
    if near:
        refused = len(near) >= NEAR_COPIES
        action = _REFUSED_NEAR_COPY if refused else "submission.near_copy"
        record(db, entrant.user, action, benchmark.slug, near=near, team=entrant.team_id)
        if refused:
            db.commit()
            raise SubmissionError(
                f"no more than {100 * NEAR_SHARE:g} % of the answers differ from {len(near)} earlier submissions",
                fix="what a benchmark's gold says cannot be found out by trying; submit what a system answers",
            )


def require_submission(db: Session, user: User, submission_id: int) -> Submission:
    """A submission of one's own teams; others do not even learn that it exists."""
    own = select(Membership.team_id).where(Membership.user_id == user.id)
    query = select(Submission).join(System).where(Submission.id == submission_id, System.team_id.in_(own))
    submission = db.scalar(query)
    if submission is None:
        raise NotThere("There is no such submission of yours.")
    return submission


def set_address(db: Session, user: User, system_id: int, address: str) -> None:
    """Say where a system of a person's team answers; empty takes it away."""
    system = db.get(System, system_id)
    if system is None or db.get(Membership, (user.id, system.team_id)) is None:
        raise NotThere("There is no such system of yours.")
    system.address = checked_address(address)
    record(db, user, "system.address", str(system_id), address=system.address)


def publish(db: Session, user: User, submission: Submission) -> None:
    """Show a submission's numbers to everybody."""
    if submission.state != DONE or submission.withdrawn_at:
        raise SubmissionError("only what is scored, and not withdrawn, can be published")
    benchmark, team_id = submission.system.benchmark, submission.system.team_id
    db.refresh(benchmark, with_for_update=True)
    left = information_left(db, benchmark, user, team_id)
    if not submission.shown_at:
        left -= EXACT_COSTS
        if left < 0:
            _refuse_to_tell_more(db, user, benchmark, team_id)
    submission.published_at = now()
    submission.shown_at = submission.shown_at or submission.published_at
    submission.plots = submission.plots or Plots()
    record(db, user, "submission.publish", str(submission.id), benchmark=benchmark.slug, information_left=left)


def hide(db: Session, user: User, submission: Submission) -> None:
    """Make a submission's numbers the team's own again."""
    submission.published_at = None
    record(db, user, "submission.hide", str(submission.id))


def withdraw(db: Session, user: User, submission: Submission) -> None:
    """Take a submission back for good. It still counts for its day: otherwise gold could be asked without end."""
    submission.published_at, submission.withdrawn_at = None, now()
    record(db, user, "submission.withdraw", str(submission.id))
