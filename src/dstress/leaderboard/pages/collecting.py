"""Collecting: tasks for workers, vetting and exports for organisers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from markupsafe import Markup, escape
from pydantic import BaseModel, Field
from sqlalchemy import select
from starlette.responses import JSONResponse, Response, StreamingResponse

from dstress.corpora import load
from dstress.leaderboard import limits
from dstress.leaderboard.access import Db, Id, Organiser, SignedIn, Worker
from dstress.leaderboard.api.collecting import NewCollection
from dstress.leaderboard.benchmark_store import known_corpora
from dstress.leaderboard.collection import store
from dstress.leaderboard.collection.elements import ElementTask, original_texts
from dstress.leaderboard.collection.rewrites import RewriteTask
from dstress.leaderboard.collection.wording import wordings
from dstress.leaderboard.fields import clean_text
from dstress.leaderboard.files import pieces
from dstress.leaderboard.rendering import redirect, render
from dstress.leaderboard.tables.accounts import User
from dstress.leaderboard.tables.collection import ACCEPTED, PENDING, REJECTED, Assignment, Collection

router = APIRouter(prefix="/collecting")
_SHOWN = 60
"""Answers on a page of the vetting queue."""
_MOST_FIELDS = 400


@router.get("")
def show_collections(request: Request, user: SignedIn, db: Db) -> Response:
    """What is being collected."""
    found = db.scalars(select(Collection).order_by(Collection.closed_at.is_not(None), Collection.id.desc())).all()
    progress = {one.id: store.progress_of(db, one) for one in found}
    return render(request, "collecting/collections.html.j2", user, collections=found, progress=progress)


@router.get("/new")
def show_new(request: Request, user: Organiser) -> Response:
    """The form for a collection."""
    return render(request, "collecting/new.html.j2", user, corpora=known_corpora())


@router.post("/new")
def make_collection(user: Organiser, db: Db, form: Annotated[NewCollection, Form()]) -> Response:
    """Make the tasks."""
    limits.count(db, f"collection:{user.id}", store.NEW_COLLECTIONS)
    made = store.start_collection(db, store.CollectionPlan(**form.model_dump()), user)
    return redirect(f"/collecting/{made.id}", "The tasks are there. Workers can take them.")


@router.get("/{collection_id}")
def show_collection(request: Request, user: SignedIn, db: Db, collection_id: Id) -> Response:
    """How far a collection is, and what a person can do for it."""
    found = store.find_collection(db, collection_id)
    told = wordings("rewrites" if found.kind == "rewrites" else "elements")
    progress = store.progress_of(db, found)
    return render(request, "collecting/collection.html.j2", user, collection=found, told=told, progress=progress)


@router.post("/{collection_id}/close")
def close_collection(user: Organiser, db: Db, collection_id: Id) -> Response:
    """Hand out no more tasks."""
    store.close_collection(db, store.find_collection(db, collection_id), user)
    return redirect(f"/collecting/{collection_id}", "No more tasks are handed out.")


@router.post("/{collection_id}/take")
def take_task(user: Worker, db: Db, collection_id: Id) -> Response:
    """Get something to do."""
    taken = store.take_task(db, store.find_collection(db, collection_id), user)
    if taken is None:
        return redirect(f"/collecting/{collection_id}", "There is nothing left for you here. Thank you.")
    return redirect(f"/collecting/tasks/{taken.id}")


@router.get("/tasks/{assignment_id}")
def show_task(request: Request, user: Worker, db: Db, assignment_id: Id) -> Response:
    """What is to be written."""
    found = store.find_own(db, user, assignment_id)
    kept = {answer.name: answer.text for answer in found.answers}
    names = store.names_of(store.read_task(found.task))
    return _task_page(request, user, found, {name: kept.get(key, "") for name, key in names.items()}, {})


def _task_page(
    request: Request, user: User, found: Assignment, texts: dict[str, str], problems: dict[str, str]
) -> Response:
    task = store.read_task(found.task)
    values: dict[str, Any] = {"assignment": found, "task": task, "texts": texts, "problems": problems}
    if isinstance(task, RewriteTask):
        values |= {"told": wordings("rewrites"), "marked": _mark_values(task)}
    else:
        values |= {"told": wordings("elements")}
    template = "rewrites" if isinstance(task, RewriteTask) else "elements"
    status = 422 if problems else 200
    return render(request, f"collecting/{template}.html.j2", user, status=status, **values)


def _mark_values(task: RewriteTask) -> Markup:
    """The utterance with the words that must stay marked."""
    text, shown, place = task.utterance.text, Markup(), 0
    for start, end in task.spans:
        shown += escape(text[place:start]) + Markup("<mark>") + escape(text[start:end]) + Markup("</mark>")
        place = end
    return shown + escape(text[place:])


async def read_texts(request: Request) -> dict[str, str]:
    """What a worker wrote: fields whose name begins with `text `, by what comes after it."""
    form = await request.form(max_fields=_MOST_FIELDS)
    found = {name.removeprefix("text "): text for name, text in form.items() if name.startswith("text ")}
    try:
        return {name: clean_text(text[:20_000]) for name, text in found.items() if isinstance(text, str)}
    except ValueError as error:
        raise HTTPException(422, str(error)) from None


Texts = Annotated[dict[str, str], Depends(read_texts)]


@router.post("/tasks/{assignment_id}")
def hand_in(request: Request, user: Worker, db: Db, assignment_id: Id, texts: Texts) -> Response:
    """Keep what was written, or say what is wrong with it."""
    found = store.find_own(db, user, assignment_id)
    if problems := store.hand_in(found, texts):
        return _task_page(request, user, found, texts, problems)
    following = store.take_task(db, found.task.collection, user) if not found.task.collection.closed_at else None
    if following is None:
        return redirect(f"/collecting/{found.task.collection_id}", "Thank you. There is nothing left for you here.")
    return redirect(f"/collecting/tasks/{following.id}", "Thank you. Here is the next one.")


@router.post("/tasks/{assignment_id}/check")
def check_texts(user: Worker, db: Db, assignment_id: Id, texts: Texts) -> Response:
    """What is wrong so far, for the page to show as a person types."""
    problems = store.find_problems(store.read_task(store.find_own(db, user, assignment_id).task), texts)
    return JSONResponse({"problems": problems})


@router.post("/tasks/{assignment_id}/back")
def give_back(user: Worker, db: Db, assignment_id: Id) -> Response:
    """Leave the task to somebody else."""
    found = store.find_own(db, user, assignment_id)
    collection_id = found.task.collection_id
    store.give_back(db, found)
    return redirect(f"/collecting/{collection_id}", "The task is given back.")


@router.get("/{collection_id}/vetting")
def show_queue(request: Request, user: Organiser, db: Db, collection_id: Id, state: str = PENDING) -> Response:
    """What waits for vetting, each beside its original."""
    found = store.find_collection(db, collection_id)
    state = state if state in (PENDING, ACCEPTED, REJECTED) else PENDING
    originals = original_texts(load(found.corpus).schema) if found.kind == "elements" else {}
    groups: dict[tuple[int, str], dict[str, Any]] = {}
    for answer in store.list_answers(db, found, state, _SHOWN):
        task = store.read_task(answer.assignment.task)
        key = answer.assignment.task_id, answer.name if isinstance(task, ElementTask) else ""
        groups.setdefault(key, _original(task, answer.name, originals))["answers"].append(answer)
    told = wordings("rewrites")
    if found.kind == "rewrites":  # in the order in which they were asked for
        for group in groups.values():
            group["answers"].sort(key=lambda answer: list(told).index(answer.name))
    values: dict[str, Any] = {"collection": found, "groups": list(groups.values()), "state": state, "told": told}
    return render(request, "collecting/vetting.html.j2", user, progress=store.progress_of(db, found), **values)


def _original(
    task: RewriteTask | ElementTask, name: str, originals: dict[tuple[str, str], tuple[str, str]]
) -> dict[str, Any]:
    """What an answer stands beside: the utterance, or the element's own name and description."""
    if isinstance(task, RewriteTask):
        title = f"{task.dialogue.id}, turn {task.turn}"
        return {"title": title, "original": _mark_values(task), "answers": []}
    own, described = originals.get((task.service, name), (name, ""))
    title = f"{task.service}: {'name' if task.asked == 'names' else 'description'} of {name.split(' ')[0]} {own}"
    return {"title": title, "original": f"{own}: {described}", "answers": []}


class Vetted(BaseModel):
    """Answers, and what becomes of them."""

    answer: list[Annotated[int, Field(ge=1, le=2**31 - 1)]] = Field(max_length=_SHOWN)
    state: Literal["accepted", "rejected", "pending"]


@router.post("/{collection_id}/vetting")
def vet(user: Organiser, db: Db, collection_id: Id, form: Annotated[Vetted, Form()]) -> Response:
    """Accept, reject, or put back into the queue."""
    count = store.vet(db, store.find_collection(db, collection_id), form.answer, form.state, user)
    left_out = "" if count == len(form.answer) else " Your own are left to somebody else."
    return redirect(f"/collecting/{collection_id}/vetting", f"{count} {form.state}.{left_out}")


@router.get("/{collection_id}/export")
def export(user: Organiser, db: Db, collection_id: Id) -> Response:
    """What was accepted, as a file that dstress reads."""
    made = store.export(db, store.find_collection(db, collection_id))
    return StreamingResponse(pieces(made.content), media_type=made.kind, headers=made.headers)
