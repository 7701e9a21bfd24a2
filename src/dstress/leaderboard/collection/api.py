"""Collecting for programs: collections, tasks, the check of what was written, and exports."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response, StreamingResponse

from dstress.leaderboard.benchmarks.service import require
from dstress.leaderboard.collection import service
from dstress.leaderboard.collection.service import CollectionPlan, require_own
from dstress.leaderboard.files import pieces
from dstress.leaderboard.tables import Collection
from dstress.leaderboard.web.access import Db, Id, Organiser, SignedIn, Worker
from dstress.leaderboard.web.fields import Line, Text

router = APIRouter(prefix="/collections", tags=["collecting"])
MOST_TEXTS = 400


class CollectionState(BaseModel):
    """A collection, and how far it is."""

    id: int
    title: str
    kind: str
    corpus: str
    licence: str
    closed: bool
    locales: str
    """Who may take tasks: those who write one of these languages best; empty is all."""
    approval: int
    """And of whose vetted answers so many percent were accepted."""
    tasks_wanted: int
    tasks_done: int
    answers: dict[str, int]


def _state(db: Session, collection: Collection) -> CollectionState:
    wanted, done, answers = service.progress_of(db, collection)
    return CollectionState(
        **{name: getattr(collection, name) for name in ("id", "title", "kind", "corpus", "licence")},
        closed=bool(collection.closed_at),
        locales=collection.plan.get("locales", ""),
        approval=collection.plan.get("approval", 0),
        tasks_wanted=wanted,
        tasks_done=done,
        answers=answers,
    )


class Task(BaseModel):
    """A task in hand; `asks` is what a worker sees, `names` are what is to be written."""

    id: int
    asks: dict[str, Any]
    names: list[str]


class Written(BaseModel):
    """What was written, by name."""

    texts: dict[Line, Text] = Field(max_length=MOST_TEXTS)


@router.get("")
def list_collections(user: SignedIn, db: Db) -> list[CollectionState]:
    """All collections, the newest first."""
    return [_state(db, collection) for collection in db.scalars(select(Collection).order_by(Collection.id.desc()))]


@router.post("", status_code=201)
def make_collection(user: Organiser, db: Db, plan: CollectionPlan) -> CollectionState:
    """Make a collection with its tasks."""
    return _state(db, service.start_collection(db, plan, user))


@router.post("/{collection_id}/tasks")
def take_task(user: Worker, db: Db, collection_id: Id) -> Task | None:
    """The task in hand, or the next one; null where nothing is left."""
    assignment = service.take_task(db, require(db, Collection, collection_id), user)
    if assignment is None:
        return None
    task = service.read_task(assignment.task)
    return Task(id=assignment.id, asks=task.asks, names=list(task.names))


@router.post("/tasks/{assignment_id}/check")
def check_texts(user: Worker, db: Db, assignment_id: Id, written: Written) -> dict[str, str]:
    """What is wrong with what was written, by name; empty where nothing is."""
    return service.read_task(require_own(db, user, assignment_id).task).problems(written.texts)


@router.post("/tasks/{assignment_id}")
def hand_in(user: Worker, db: Db, assignment_id: Id, written: Written) -> dict[str, str]:
    """Submit; gives what is wrong, and nothing is kept where anything is."""
    return service.hand_in(require_own(db, user, assignment_id), written.texts)


@router.get("/{collection_id}/export")
def export(user: Organiser, db: Db, collection_id: Id) -> Response:
    """What was accepted: a pool of paraphrases in TOML, or a zip of rewrites and stressed corpora."""
    made = service.export(db, require(db, Collection, collection_id, user))
    headers = {"Content-Disposition": f'attachment; filename="{made.name}"', "Cache-Control": "no-store"}
    return StreamingResponse(pieces(made.content), media_type=made.kind, headers=headers)
