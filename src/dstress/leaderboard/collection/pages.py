"""Collecting: tasks for workers, vetting and exports for organisers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from markupsafe import Markup, escape
from pydantic import BaseModel, Field
from sqlalchemy import select
from starlette.responses import JSONResponse, Response

from dstress.corpora import load
from dstress.leaderboard.benchmarks.service import known_corpora, may_change, require
from dstress.leaderboard.collection import api, service
from dstress.leaderboard.collection.elements import original_texts
from dstress.leaderboard.collection.rewrites import KINDS, WORDINGS, RewriteTask
from dstress.leaderboard.collection.service import CollectionPlan, require_own
from dstress.leaderboard.tables import ACCEPTED, PENDING, REJECTED, Assignment, Collection, User
from dstress.leaderboard.web.access import Db, Id, Organiser, SignedIn, Worker
from dstress.leaderboard.web.fields import clean_text
from dstress.leaderboard.web.rendering import redirect, render

router = APIRouter(prefix="/collecting")
_SHOWN = 60
"""Answers on a page of the vetting queue."""


@router.get("")
def show_collections(request: Request, user: SignedIn, db: Db) -> Response:
    """What is being collected."""
    query = select(Collection).order_by(Collection.closed_at.is_not(None), Collection.id.desc())
    collections = db.scalars(query).all()
    progress = {collection.id: service.progress_of(db, collection) for collection in collections}
    return render(request, "collecting/collections.html.j2", user, collections=collections, progress=progress)


@router.get("/new")
def show_new(request: Request, user: Organiser) -> Response:
    """The form for a collection."""
    return render(request, "collecting/new.html.j2", user, corpora=known_corpora())


@router.post("/new")
def make_collection(user: Organiser, db: Db, plan: Annotated[CollectionPlan, Form()]) -> Response:
    """Make the tasks."""
    collection = service.start_collection(db, plan, user)
    return redirect(f"/collecting/{collection.id}", "The tasks are there. Workers can take them.")


@router.get("/{collection_id}")
def show_collection(request: Request, user: SignedIn, db: Db, collection_id: Id) -> Response:
    """How far a collection is, and what a person can do for it."""
    collection = require(db, Collection, collection_id)
    values: dict[str, Any] = {"wordings": WORDINGS[collection.kind], "progress": service.progress_of(db, collection)}
    values |= {"collection": collection, "is_mine": may_change(user, collection)}
    values["misfit"] = service.misfit(db, collection, user)
    return render(request, "collecting/collection.html.j2", user, **values)


@router.post("/{collection_id}/close")
def close_collection(user: Organiser, db: Db, collection_id: Id) -> Response:
    """Hand out no more tasks."""
    service.close_collection(db, require(db, Collection, collection_id, user), user)
    return redirect(f"/collecting/{collection_id}", "No more tasks are handed out.")


@router.post("/{collection_id}/take")
def take_task(user: Worker, db: Db, collection_id: Id) -> Response:
    """Get something to do."""
    taken = service.take_task(db, require(db, Collection, collection_id), user)
    if taken is None:
        return redirect(f"/collecting/{collection_id}", "There is nothing left for you here. Thank you.")
    return redirect(f"/collecting/tasks/{taken.id}")


@router.get("/tasks/{assignment_id}")
def show_task(request: Request, user: Worker, db: Db, assignment_id: Id) -> Response:
    """What is to be written."""
    assignment = require_own(db, user, assignment_id)
    texts = {answer.name: answer.text for answer in assignment.answers}
    names = service.read_task(assignment.task).names
    return _task_page(request, user, assignment, {name: texts.get(key, "") for name, key in names.items()}, {})


def _task_page(
    request: Request, user: User, assignment: Assignment, texts: dict[str, str], problems: dict[str, str]
) -> Response:
    task, kind = service.read_task(assignment.task), assignment.task.collection.kind
    values: dict[str, Any] = {"assignment": assignment, "task": task, "texts": texts, "problems": problems}
    values |= {"wordings": WORDINGS[kind], "marked": _mark_values(task) if isinstance(task, RewriteTask) else ""}
    return render(request, f"collecting/{kind}.html.j2", user, status=422 if problems else 200, **values)


def _mark_values(task: RewriteTask) -> Markup:
    """The utterance with the words that must stay marked."""
    text, shown, place = task.utterance.text, Markup(), 0
    for start, end in task.spans:
        shown += escape(text[place:start]) + Markup("<mark>") + escape(text[start:end]) + Markup("</mark>")
        place = end
    return shown + escape(text[place:])


async def read_texts(request: Request) -> dict[str, str]:
    """What a worker wrote: fields whose name begins with `text `, by what comes after it."""
    form = await request.form(max_fields=api.MOST_TEXTS)
    texts = {name.removeprefix("text "): text for name, text in form.items() if name.startswith("text ")}
    try:
        return {name: clean_text(text[:20_000]) for name, text in texts.items() if isinstance(text, str)}
    except ValueError as error:
        raise HTTPException(422, str(error)) from None


Texts = Annotated[dict[str, str], Depends(read_texts)]


@router.post("/tasks/{assignment_id}")
def hand_in(request: Request, user: Worker, db: Db, assignment_id: Id, texts: Texts) -> Response:
    """Keep what was written, or say what is wrong with it."""
    assignment = require_own(db, user, assignment_id)
    if problems := service.hand_in(assignment, texts):
        return _task_page(request, user, assignment, texts, problems)
    collection = assignment.task.collection
    following = None if collection.closed_at else service.take_task(db, collection, user)
    if following is None:
        return redirect(f"/collecting/{collection.id}", "Thank you. There is nothing left for you here.")
    return redirect(f"/collecting/tasks/{following.id}", "Thank you. Here is the next one.")


@router.post("/tasks/{assignment_id}/check")
def check_texts(user: Worker, db: Db, assignment_id: Id, texts: Texts) -> Response:
    """What is wrong so far, for the page to show as a person types."""
    task = service.read_task(require_own(db, user, assignment_id).task)
    return JSONResponse({"problems": task.problems(texts)})


@router.post("/tasks/{assignment_id}/back")
def give_back(user: Worker, db: Db, assignment_id: Id) -> Response:
    """Leave the task to somebody else."""
    assignment = require_own(db, user, assignment_id)
    collection_id = assignment.task.collection_id
    service.give_back(db, assignment)
    return redirect(f"/collecting/{collection_id}", "The task is given back.")


@router.get("/{collection_id}/vetting")
def show_queue(request: Request, user: Organiser, db: Db, collection_id: Id, state: str = PENDING) -> Response:
    """What waits for vetting, each beside its original."""
    collection = require(db, Collection, collection_id, user)
    state = state if state in (PENDING, ACCEPTED, REJECTED) else PENDING
    originals = original_texts(load(collection.corpus).schema) if collection.kind == "elements" else {}
    groups: dict[tuple[int, str], dict[str, Any]] = {}
    for answer in service.list_answers(db, collection, state, _SHOWN):
        task, element = service.read_task(answer.assignment.task), ""
        if isinstance(task, RewriteTask):
            title, original = f"{task.dialogue.id}, turn {task.turn}", _mark_values(task)
        else:
            element = answer.name
            name, described = originals.get((task.service, element), (element, ""))
            kind = "name" if task.asked == "names" else "description"
            title = f"{task.service}: {kind} of {element.split(' ')[0]} {name}"
            original = escape(f"{name}: {described}")
        group: dict[str, Any] = {"title": title, "original": original, "answers": []}
        groups.setdefault((answer.assignment.task_id, element), group)["answers"].append(answer)
    if collection.kind == "rewrites":  # in the order in which they were asked for
        for group in groups.values():
            group["answers"].sort(key=lambda answer: KINDS.index(answer.name))
    values: dict[str, Any] = {
        "collection": collection,
        "groups": list(groups.values()),
        "state": state,
        "wordings": WORDINGS["rewrites"],
    }
    progress = service.progress_of(db, collection)
    return render(request, "collecting/vetting.html.j2", user, progress=progress, **values)


class Vetted(BaseModel):
    """Answers, and what becomes of them."""

    answer: list[Annotated[int, Field(ge=1, le=2**31 - 1)]] = Field(max_length=_SHOWN)
    state: Literal["accepted", "rejected", "pending"]


@router.post("/{collection_id}/vetting")
def vet(user: Organiser, db: Db, collection_id: Id, form: Annotated[Vetted, Form()]) -> Response:
    """Accept, reject, or put back into the queue."""
    count = service.vet(db, require(db, Collection, collection_id, user), form.answer, form.state, user)
    left_out = "" if count == len(form.answer) else " Your own are left to somebody else."
    return redirect(f"/collecting/{collection_id}/vetting", f"{count} {form.state}.{left_out}")


router.add_api_route("/{collection_id}/export", api.export, response_class=Response)
