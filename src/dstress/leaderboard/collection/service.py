"""Collections in the database: tasks that workers take, what they write, vetting, and what is exported in the end.

A worker who has seen a service's names gets no task to find names for it, and the other way round: paraphrasing is
blind (SGD-X, section 2.1). A task that was taken and not done for two hours goes back.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import IO, Any, Literal, NamedTuple

import msgspec
from pydantic import BaseModel, Field
from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from dstress.corpora import load
from dstress.errors import DstressError, unknown
from dstress.leaderboard.benchmarks.package import licence_of
from dstress.leaderboard.benchmarks.service import known_corpora
from dstress.leaderboard.collection import elements, rewrites
from dstress.leaderboard.collection.elements import ElementTask
from dstress.leaderboard.collection.rewrites import RewriteTask
from dstress.leaderboard.tables import (
    ACCEPTED,
    PENDING,
    REJECTED,
    Assignment,
    CollectedAnswer,
    Collection,
    CollectionTask,
    NotThere,
    User,
    now,
    record,
)
from dstress.leaderboard.web import limits
from dstress.leaderboard.web.fields import Line, Locales
from dstress.leaderboard.web.limits import Limit

_NEW_COLLECTIONS = Limit(20, 3600)
"""How many an organiser may start in an hour."""
_TAKEN_FOR = timedelta(hours=2)


class CollectionPlan(BaseModel):
    """What is asked for. SGD-X had about 10 paraphrases of each element; RADDLE one rewrite of a kind a turn."""

    kind: Literal["rewrites", "elements"]
    corpus: Line
    title: Line = ""
    turns: int = Field(default=100, ge=1, le=2000)
    """Of rewrites: how many turns are drawn."""
    workers: int = Field(default=1, ge=1, le=50)
    """How many people do each task."""
    seed: int = Field(default=1, ge=0, le=2**31 - 1)
    locales: Locales = ""
    """Who may take tasks: people who write one of these languages best; `en` stands for every `en-..`. Empty: all."""
    approval: int = Field(default=0, ge=0, le=100)
    """And of whose vetted answers at least so many percent were accepted. Whoever has none yet may begin."""


def start_collection(db: Session, plan: CollectionPlan, by: User) -> Collection:
    """Make a collection with its tasks. The corpus is read before any transaction begins."""
    limits.count(db, f"collection:{by.id}", _NEW_COLLECTIONS)
    if plan.corpus not in (corpora := known_corpora()):
        raise unknown("corpus of this server", plan.corpus, corpora)
    corpus = load(plan.corpus)
    tasks: Sequence[RewriteTask | ElementTask]
    if plan.kind == "rewrites":
        tasks = rewrites.draw_rewrite_tasks(corpus, plan.turns, plan.seed)
    else:
        tasks = elements.make_element_tasks(corpus.schema)
    if not tasks:
        raise DstressError(f"{plan.corpus} has nothing to ask people about", fix="choose another corpus")
    made = Collection(title=plan.title or f"{plan.kind} of {plan.corpus}", kind=plan.kind, corpus=plan.corpus)
    made.licence, made.plan, made.created_by = licence_of(corpus), plan.model_dump(), by.id
    made.tasks = [
        CollectionTask(key=task.key[-200:], content=msgspec.to_builtins(task), wanted=plan.workers) for task in tasks
    ]
    db.add(made)
    db.flush()
    record(db, by, "collection.start", str(made.id), corpus=plan.corpus)
    return made


def close_collection(db: Session, collection: Collection, by: User) -> None:
    """Hand out no more tasks; what was written can still be vetted."""
    collection.closed_at = collection.closed_at or now()
    record(db, by, "collection.close", str(collection.id))


def read_task(task: CollectionTask) -> RewriteTask | ElementTask:
    """What a task asks."""
    kind: type[RewriteTask | ElementTask] = RewriteTask if task.collection.kind == "rewrites" else ElementTask
    return msgspec.convert(task.content, kind)


def _of(collection: Collection, query: Any) -> Any:
    """The assignments of a collection, or what else a query selects with them."""
    return query.join(CollectionTask).where(CollectionTask.collection_id == collection.id)


def misfit(db: Session, collection: Collection, user: User) -> str:
    """Why a worker may not take tasks of a collection, by its criteria; empty where they may."""
    locales = [name for name in collection.plan.get("locales", "").split(", ") if name]
    if locales and not any(user.locale == name or user.locale.startswith(f"{name}-") for name in locales):
        return f"it is for people whose language is {' or '.join(locales)}; yours is on the page Account"
    wanted = collection.plan.get("approval", 0)
    rate = approval_rate(db, user) if wanted else None
    if rate is not None and 100 * rate < wanted:
        return f"it is for people of whose answers {wanted} % were accepted; of yours, {100 * rate:.0f} % were"
    return ""


def approval_rate(db: Session, user: User) -> float | None:
    """The share of a worker's vetted answers that were accepted, over all collections; None before the first."""
    states = select(CollectedAnswer.state, func.count()).where(CollectedAnswer.user_id == user.id)
    counts = {row[0]: row[1] for row in db.execute(states.group_by(CollectedAnswer.state))}
    vetted = counts.get(ACCEPTED, 0) + counts.get(REJECTED, 0)
    return counts.get(ACCEPTED, 0) / vetted if vetted else None


def take_task(db: Session, collection: Collection, user: User) -> Assignment | None:
    """The task that a worker has in hand, else a new one; None where there is nothing left for this worker."""
    own = _of(collection, select(Assignment)).where(Assignment.user_id == user.id)
    mine: list[Assignment] = list(db.scalars(own.options(joinedload(Assignment.task))))
    if in_hand := next((assignment for assignment in mine if not assignment.done_at), None):
        return in_hand
    if collection.closed_at:
        raise DstressError("this collection is closed", fix="choose another one")
    if reason := misfit(db, collection, user):
        raise DstressError("you cannot take tasks of this collection", fix=reason)
    late = _of(collection, select(Assignment.id)).where(Assignment.done_at.is_(None))
    db.execute(delete(Assignment).where(Assignment.id.in_(late.where(Assignment.taken_at < now() - _TAKEN_FOR))))
    seen = {_subject(collection, assignment.task.key) for assignment in mine}
    places: dict[int, set[int]] = {}
    for task_id, place in db.execute(_of(collection, select(Assignment.task_id, Assignment.place))):
        places.setdefault(task_id, set()).add(place)
    tasks = list(db.scalars(select(CollectionTask).where(CollectionTask.collection_id == collection.id)))
    Random(user.id).shuffle(tasks)  # so that workers begin at different ones
    for task in tasks:
        free = sorted(set(range(task.wanted)) - places.get(task.id, set()))
        for place in free if _subject(collection, task.key) not in seen else ():
            try:
                with db.begin_nested():
                    taken = Assignment(task_id=task.id, place=place, user_id=user.id)
                    db.add(taken)
            except IntegrityError:  # somebody was faster
                continue
            return taken
    return None


def _subject(collection: Collection, key: str) -> str:
    """What a worker must not meet twice: a service in either direction, or a turn."""
    return key.rpartition(" ")[0] if collection.kind == "elements" else key


def require_own(db: Session, user: User, assignment_id: int) -> Assignment:
    """A worker's own task; to everybody else there is none."""
    query = select(Assignment).where(Assignment.id == assignment_id, Assignment.user_id == user.id)
    assignment = db.scalar(query.options(joinedload(Assignment.task).joinedload(CollectionTask.collection)))
    if assignment is None:
        raise NotThere
    return assignment


def hand_in(assignment: Assignment, texts: Mapping[str, str]) -> dict[str, str]:
    """Keep what a worker wrote, for vetting; gives the problems, and keeps nothing, where there are any."""
    task = read_task(assignment.task)
    if assignment.done_at:
        raise DstressError("this task is submitted already", fix="take another one")
    if problems := task.problems(texts):
        return problems
    assignment.answers = [
        CollectedAnswer(user_id=assignment.user_id, name=key[:200], text=" ".join(texts[name].split()))
        for name, key in task.names.items()
    ]
    assignment.done_at = now()
    return {}


def give_back(db: Session, assignment: Assignment) -> None:
    """Leave a task to somebody else."""
    if assignment.done_at:
        raise DstressError("this task is submitted already")
    db.delete(assignment)


class Progress(NamedTuple):
    """How far a collection is: assignments that are wanted and done, and answers by what vetting says of them."""

    wanted: int
    done: int
    answers: dict[str, int]


def progress_of(db: Session, collection: Collection) -> Progress:
    """How far a collection is."""
    wanted = select(func.sum(CollectionTask.wanted)).where(CollectionTask.collection_id == collection.id)
    done = _of(collection, select(func.count(Assignment.id))).where(Assignment.done_at.is_not(None))
    states = _of(collection, select(CollectedAnswer.state, func.count()).join(Assignment))
    counts = {row[0]: row[1] for row in db.execute(states.group_by(CollectedAnswer.state))}
    answers = {state: counts.get(state, 0) for state in (PENDING, ACCEPTED, REJECTED)}
    return Progress(int(db.scalar(wanted) or 0), db.scalar(done) or 0, answers)


def list_answers(db: Session, collection: Collection, state: str, most: int | None = None) -> Sequence[CollectedAnswer]:
    """What was written and has a state, in the order of tasks and names."""
    query = _of(collection, select(CollectedAnswer).join(Assignment)).where(CollectedAnswer.state == state)
    query = query.order_by(CollectionTask.id, CollectedAnswer.name, CollectedAnswer.id).limit(most)
    return db.scalars(query.options(joinedload(CollectedAnswer.assignment).joinedload(Assignment.task))).all()


def vet(db: Session, collection: Collection, answer_ids: Sequence[int], state: str, by: User) -> int:
    """Accept or reject answers; nobody vets their own. Gives how many it was."""
    query = _of(collection, select(CollectedAnswer).join(Assignment))
    query = query.where(CollectedAnswer.id.in_(answer_ids), CollectedAnswer.user_id != by.id)
    answers = db.scalars(query).all()
    for answer in answers:
        answer.state, answer.vetted_by, answer.vetted_at = state, by.id, now()
    if answers:
        record(db, by, f"collection.{state}", str(collection.id), answers=[answer.id for answer in answers])
    return len(answers)


class Export(NamedTuple):
    """A file to download, as a stream that whoever sends it closes; `kind` is its media type."""

    content: IO[bytes]
    name: str
    kind: str


def export(db: Session, collection: Collection) -> Export:
    """What was accepted: a pool that `schema_variant(pool=FILE)` composes from, or rewrites with their corpora."""
    paraphrases, rewritten = [], []
    for answer in list_answers(db, collection, ACCEPTED):
        task = read_task(answer.assignment.task)
        if isinstance(task, ElementTask):
            paraphrases.append(elements.Accepted(task.service, answer.name, task.asked, answer.text))
        else:
            rewritten.append(rewrites.Rewritten(task.dialogue.id, task.turn, answer.name, answer.text))
    db.commit()  # what follows takes a while
    licence = collection.licence or "see the corpus"
    about = f"{collection.title}\nmade from {collection.corpus}, whose licence is: {licence}\n"
    corpus = load(collection.corpus)
    if collection.kind == "elements":
        head = "".join(f"# {line}\n" for line in about.splitlines())
        content = io.BytesIO(head.encode() + msgspec.toml.encode(elements.make_pool(paraphrases, corpus.schema)))
        return Export(content, f"pool-{collection.id}.toml", "application/toml")
    # Tables for the stressor `rewrites`, and the stressed corpora that they make, which may be large.
    out = tempfile.TemporaryFile()  # noqa: SIM115 - whoever sends it closes it
    with tempfile.TemporaryDirectory(prefix="dstress-") as folder, zipfile.ZipFile(out, "w") as archive:
        rewrites.write_rewritten(corpus, rewrites.rewrite_tables(rewritten), Path(folder))
        archive.writestr("LICENCE.txt", about)
        for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            archive.write(path, path.relative_to(folder).as_posix(), zipfile.ZIP_DEFLATED)
    out.seek(0)
    return Export(out, f"rewrites-{collection.id}.zip", "application/zip")
