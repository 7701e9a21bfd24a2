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
from typing import IO, Literal, NamedTuple

import msgspec
from fastapi import HTTPException
from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from dstress.corpora import load
from dstress.errors import DstressError, unknown
from dstress.leaderboard.audit import record
from dstress.leaderboard.benchmark_store import known_corpora
from dstress.leaderboard.benchmarks.package import licence_of
from dstress.leaderboard.collection.elements import (
    Accepted,
    ElementTask,
    ambiguous_elements,
    element_problems,
    make_element_tasks,
    make_pool,
)
from dstress.leaderboard.collection.rewrites import (
    KINDS,
    RewriteTask,
    Rewritten,
    draw_rewrite_tasks,
    rewrite_problem,
    rewrite_tables,
    write_rewritten,
)
from dstress.leaderboard.limits import Limit
from dstress.leaderboard.tables.accounts import User
from dstress.leaderboard.tables.base import now
from dstress.leaderboard.tables.collection import (
    ACCEPTED,
    PENDING,
    REJECTED,
    Assignment,
    CollectedAnswer,
    Collection,
    CollectionTask,
)

Kind = Literal["rewrites", "elements"]
MOST_TURNS, MOST_WORKERS = 2000, 50
NEW_COLLECTIONS = Limit(20, 3600)
"""How many an organiser may start in an hour."""
_TAKEN_FOR = timedelta(hours=2)


class CollectionPlan(msgspec.Struct, frozen=True):
    """What is asked for. SGD-X had about 10 paraphrases of each element; RADDLE one rewrite of a kind a turn."""

    kind: Kind
    corpus: str
    title: str
    turns: int = 100
    """Of rewrites: how many turns are drawn."""
    workers: int = 1
    """How many people do each task."""
    seed: int = 1
    ambiguous: tuple[str, ...] | None = None
    """Of elements: the ids whose description is shown as an example; left out, those that mean two things."""


def start_collection(db: Session, plan: CollectionPlan, by: User) -> Collection:
    """Make a collection with its tasks. The corpus is read before any transaction begins."""
    if plan.corpus not in (known := known_corpora()):
        raise unknown("corpus of this server", plan.corpus, known)
    if not (1 <= plan.turns <= MOST_TURNS and 1 <= plan.workers <= MOST_WORKERS):
        raise DstressError("too much to ask for", fix=f"1 to {MOST_TURNS} turns, 1 to {MOST_WORKERS} people a task")
    corpus = load(plan.corpus)
    contents: dict[str, RewriteTask | ElementTask]
    if plan.kind == "rewrites":
        tasks = draw_rewrite_tasks(corpus, plan.turns, plan.seed)
        contents = {f"{task.dialogue.id} {task.turn}": task for task in tasks}
    else:
        shown = ambiguous_elements(corpus.schema) if plan.ambiguous is None else plan.ambiguous
        contents = {f"{task.service} {task.asked}": task for task in make_element_tasks(corpus.schema, shown)}
    if not contents:
        raise DstressError(f"{plan.corpus} has nothing to ask people about", fix="choose another corpus")
    made = Collection(title=plan.title or f"{plan.kind} of {plan.corpus}", kind=plan.kind, corpus=plan.corpus)
    made.licence, made.plan, made.created_by = licence_of(corpus), msgspec.to_builtins(plan), by.id
    made.tasks = [
        CollectionTask(key=key[-200:], content=msgspec.to_builtins(task), wanted=plan.workers)
        for key, task in contents.items()
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
    if task.collection.kind == "rewrites":
        return msgspec.convert(task.content, RewriteTask)
    return msgspec.convert(task.content, ElementTask)


def take_task(db: Session, collection: Collection, user: User) -> Assignment | None:
    """The task that a worker has in hand, else a new one; None where there is nothing left for this worker."""
    own = (
        select(Assignment)
        .join(CollectionTask)
        .where(CollectionTask.collection_id == collection.id, Assignment.user_id == user.id)
    )
    mine = list(db.scalars(own.options(joinedload(Assignment.task))))
    if open_one := next((one for one in mine if not one.done_at), None):
        return open_one
    if collection.closed_at:
        raise DstressError("this collection is closed", fix="choose another one")
    late = select(Assignment.id).join(CollectionTask).where(CollectionTask.collection_id == collection.id)
    late = late.where(Assignment.done_at.is_(None), Assignment.taken_at < now() - _TAKEN_FOR)
    db.execute(delete(Assignment).where(Assignment.id.in_(late)))
    seen = {_subject(collection, one.task.key) for one in mine}
    places: dict[int, set[int]] = {}
    of_all = select(Assignment.task_id, Assignment.place).join(CollectionTask)
    for task_id, place in db.execute(of_all.where(CollectionTask.collection_id == collection.id)):
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


def find_collection(db: Session, collection_id: int) -> Collection:
    """A collection, or an answer that there is none."""
    found = db.get(Collection, collection_id)
    if found is None:
        raise HTTPException(404)
    return found


def find_own(db: Session, user: User, assignment_id: int) -> Assignment:
    """A worker's own task; to everybody else there is none."""
    query = select(Assignment).where(Assignment.id == assignment_id, Assignment.user_id == user.id)
    found = db.scalar(query.options(joinedload(Assignment.task).joinedload(CollectionTask.collection)))
    if found is None:
        raise HTTPException(404)
    return found


def names_of(task: RewriteTask | ElementTask) -> dict[str, str]:
    """What is to be written: the name that a worker meets -> the one that we keep.

    An element is a number to the worker: its own name is what they must not see.
    """
    if isinstance(task, RewriteTask):
        return {kind: kind for kind in KINDS}
    return {str(number): prompt.key for number, prompt in enumerate(task.prompts, start=1)}


def find_problems(task: RewriteTask | ElementTask, texts: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with what was written so far, by name. The same check as a worker types and as they hand in."""
    if isinstance(task, ElementTask):
        names = names_of(task)
        problems = element_problems(task, {key: texts.get(name, "") for name, key in names.items()})
        return {name: problems[key] for name, key in names.items() if key in problems}
    found = {kind: rewrite_problem(task, kind, texts.get(kind, "")) for kind in KINDS}
    return {kind: problem for kind, problem in found.items() if problem}


def hand_in(assignment: Assignment, texts: Mapping[str, str]) -> dict[str, str]:
    """Keep what a worker wrote, for vetting; gives the problems, and keeps nothing, where there are any."""
    task = read_task(assignment.task)
    if assignment.done_at:
        raise DstressError("this task is handed in already", fix="take another one")
    if problems := find_problems(task, texts):
        return problems
    assignment.answers = [
        CollectedAnswer(user_id=assignment.user_id, name=key[:200], text=" ".join(texts[name].split()))
        for name, key in names_of(task).items()
    ]
    assignment.done_at = now()
    return {}


def give_back(db: Session, assignment: Assignment) -> None:
    """Leave a task to somebody else."""
    if assignment.done_at:
        raise DstressError("this task is handed in already")
    db.delete(assignment)


class Progress(NamedTuple):
    """How far a collection is: assignments that are wanted and done, and answers by what vetting says of them."""

    wanted: int
    done: int
    answers: dict[str, int]


def progress_of(db: Session, collection: Collection) -> Progress:
    """How far a collection is."""
    wanted = select(func.coalesce(func.sum(CollectionTask.wanted), 0))
    tasks = CollectionTask.collection_id == collection.id
    done = select(func.count(Assignment.id)).join(CollectionTask).where(tasks, Assignment.done_at.is_not(None))
    states = select(CollectedAnswer.state, func.count()).join(Assignment).join(CollectionTask).where(tasks)
    counts = {row[0]: row[1] for row in db.execute(states.group_by(CollectedAnswer.state))}
    answers = {state: counts.get(state, 0) for state in (PENDING, ACCEPTED, REJECTED)}
    return Progress(int(db.scalar(wanted.where(tasks)) or 0), db.scalar(done) or 0, answers)


def list_answers(db: Session, collection: Collection, state: str, most: int | None = None) -> Sequence[CollectedAnswer]:
    """What was written and has a state, in the order of tasks and names."""
    query = (
        select(CollectedAnswer)
        .join(Assignment)
        .join(CollectionTask)
        .where(CollectionTask.collection_id == collection.id, CollectedAnswer.state == state)
        .order_by(CollectionTask.id, CollectedAnswer.name, CollectedAnswer.id)
        .options(joinedload(CollectedAnswer.assignment).joinedload(Assignment.task))
    )
    return db.scalars(query.limit(most)).all()


def vet(db: Session, collection: Collection, answer_ids: Sequence[int], state: str, by: User) -> int:
    """Accept or reject answers; nobody vets their own. Gives how many it was."""
    query = (
        select(CollectedAnswer)
        .join(Assignment)
        .join(CollectionTask)
        .where(CollectionTask.collection_id == collection.id, CollectedAnswer.id.in_(answer_ids))
        .where(CollectedAnswer.user_id != by.id)
    )
    found = list(db.scalars(query))
    for answer in found:
        answer.state, answer.vetted_by, answer.vetted_at = state, by.id, now()
    if found:
        record(db, by, f"collection.{state}", str(collection.id), answers=[one.id for one in found])
    return len(found)


class Export(NamedTuple):
    """A file to download, as a stream that whoever sends it closes."""

    content: IO[bytes]
    name: str
    kind: str

    @property
    def headers(self) -> dict[str, str]:
        """How a browser shall take it."""
        return {"Content-Disposition": f'attachment; filename="{self.name}"', "Cache-Control": "no-store"}


def export(db: Session, collection: Collection) -> Export:
    """What was accepted: a pool that `schema_variant(pool=FILE)` composes from, or rewrites with their corpora."""
    found = [(answer, read_task(answer.assignment.task)) for answer in list_answers(db, collection, ACCEPTED)]
    db.commit()  # what follows takes a while
    if collection.kind == "elements":
        accepted = [Accepted(t.service, one.name, t.asked, one.text) for one, t in found if isinstance(t, ElementTask)]
        pool = make_pool(accepted, load(collection.corpus).schema)
        licence = "".join(f"# {line}\n" for line in _about(collection).splitlines())
        content = io.BytesIO(licence.encode() + msgspec.toml.encode(pool))
        return Export(content, f"pool-{collection.id}.toml", "application/toml")
    rewritten = [
        Rewritten(task.dialogue.id, task.turn, answer.name, answer.text)
        for answer, task in found
        if isinstance(task, RewriteTask)
    ]
    return Export(_pack_rewrites(collection, rewritten), f"rewrites-{collection.id}.zip", "application/zip")


def _pack_rewrites(collection: Collection, rewritten: Sequence[Rewritten]) -> IO[bytes]:
    """Tables for the stressor `rewrites`, and the stressed corpora that they make, which may be large."""
    out = tempfile.TemporaryFile()  # noqa: SIM115 - whoever sends it closes it
    with tempfile.TemporaryDirectory(prefix="dstress-") as unpacked, zipfile.ZipFile(out, "w") as archive:
        folder = Path(unpacked)
        write_rewritten(load(collection.corpus), rewrite_tables(rewritten), folder)
        archive.writestr("LICENCE.txt", _about(collection))
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            archive.write(path, path.relative_to(folder).as_posix(), zipfile.ZIP_DEFLATED)
    out.seek(0)
    return out


def _about(collection: Collection) -> str:
    licence = collection.licence or "see the corpus"
    return f"{collection.title}\nmade from {collection.corpus}, whose licence is: {licence}\n"
