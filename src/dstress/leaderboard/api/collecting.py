"""Collecting for programs: collections, tasks, the check of what was written, and exports."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response, StreamingResponse

from dstress.leaderboard import limits
from dstress.leaderboard.access import Db, Id, Organiser, SignedIn, Worker
from dstress.leaderboard.collection import store
from dstress.leaderboard.collection.rewrites import RewriteTask
from dstress.leaderboard.fields import Line, Text
from dstress.leaderboard.files import pieces
from dstress.leaderboard.tables.collection import Assignment, Collection

router = APIRouter(prefix="/collections", tags=["collecting"])


class NewCollection(BaseModel):
    """What shall be collected."""

    kind: store.Kind
    corpus: Line
    title: Line = ""
    turns: int = Field(100, ge=1, le=store.MOST_TURNS)
    workers: int = Field(1, ge=1, le=store.MOST_WORKERS)
    seed: int = Field(1, ge=0, le=2**31 - 1)


class CollectionState(BaseModel):
    """A collection, and how far it is."""

    id: int
    title: str
    kind: str
    corpus: str
    licence: str
    closed: bool
    tasks_wanted: int
    tasks_done: int
    answers: dict[str, int]


class Task(BaseModel):
    """A task in hand; `asks` is what a worker sees, `names` are what is to be written."""

    id: int
    asks: dict[str, Any]
    names: list[str]


class Written(BaseModel):
    """What was written, by name."""

    texts: dict[Line, Text] = Field(max_length=400)


@router.get("")
def list_collections(user: SignedIn, db: Db) -> list[CollectionState]:
    """All collections, the newest first."""
    return [_state(db, one) for one in db.scalars(select(Collection).order_by(Collection.id.desc()))]


@router.post("", status_code=201)
def make_collection(user: Organiser, db: Db, wanted: NewCollection) -> CollectionState:
    """Make a collection with its tasks."""
    limits.count(db, f"collection:{user.id}", store.NEW_COLLECTIONS)
    return _state(db, store.start_collection(db, store.CollectionPlan(**wanted.model_dump()), user))


@router.post("/{collection_id}/tasks")
def take_task(user: Worker, db: Db, collection_id: Id) -> Task | None:
    """The task in hand, or the next one; null where nothing is left."""
    taken = store.take_task(db, store.find_collection(db, collection_id), user)
    return _task(taken) if taken else None


@router.post("/tasks/{assignment_id}/check")
def check_texts(user: Worker, db: Db, assignment_id: Id, written: Written) -> dict[str, str]:
    """What is wrong with what was written, by name; empty where nothing is."""
    return store.find_problems(store.read_task(store.find_own(db, user, assignment_id).task), written.texts)


@router.post("/tasks/{assignment_id}")
def hand_in(user: Worker, db: Db, assignment_id: Id, written: Written) -> dict[str, str]:
    """Hand in; gives what is wrong, and nothing is kept where anything is."""
    return store.hand_in(store.find_own(db, user, assignment_id), written.texts)


@router.get("/{collection_id}/export")
def export(user: Organiser, db: Db, collection_id: Id) -> Response:
    """What was accepted: a pool of paraphrases in TOML, or a zip of rewrites and stressed corpora."""
    made = store.export(db, store.find_collection(db, collection_id))
    return StreamingResponse(pieces(made.content), media_type=made.kind, headers=made.headers)


def _state(db: Session, found: Collection) -> CollectionState:
    progress = store.progress_of(db, found)
    return CollectionState(
        id=found.id,
        title=found.title,
        kind=found.kind,
        corpus=found.corpus,
        licence=found.licence,
        closed=bool(found.closed_at),
        tasks_wanted=progress.wanted,
        tasks_done=progress.done,
        answers=progress.answers,
    )


def _task(taken: Assignment) -> Task:
    """What a worker may see: of a turn the words and none of its labels, of a service nothing that is asked for."""
    task = store.read_task(taken.task)
    if isinstance(task, RewriteTask):
        turns = [{"system": turn.system, "user": turn.user} for turn in task.dialogue.turns]
        asks: dict[str, Any] = {"dialogue": turns, "keep": list(task.kept)}
        return Task(id=taken.id, asks=asks, names=list(store.names_of(task)))
    fields = ("kind", "shown", "example", "values")
    prompts = [{name: getattr(prompt, name) for name in fields} for prompt in task.prompts]
    asks = {"asked": task.asked, "about": task.about, "prompts": prompts}
    return Task(id=taken.id, asks=asks, names=list(store.names_of(task)))
