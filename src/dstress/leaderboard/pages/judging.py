"""Human evaluation: rounds, a judge's items one at a time, and the verdict."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, HTTPException, Path, Request
from pydantic import BaseModel, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload
from starlette.responses import Response

from dstress.analysis.human_check.questions import Kind, questions
from dstress.leaderboard import limits, rounds
from dstress.leaderboard.access import Db, Id, Judge, Organiser, SignedIn, Visitor, get_files, get_settings
from dstress.leaderboard.audit import record
from dstress.leaderboard.benchmark_store import list_benchmarks
from dstress.leaderboard.fields import Line
from dstress.leaderboard.rendering import redirect, render
from dstress.leaderboard.tables.accounts import Role
from dstress.leaderboard.tables.benchmarks import DONE, Benchmark
from dstress.leaderboard.tables.judging import JudgingItem, JudgingRound, JudgingSeat
from dstress.leaderboard.verdicts import verdict_of
from dstress.reports.numbers import PAGE

router = APIRouter(prefix="/judging")
Number = Annotated[int, Path(ge=1, le=100_000)]
Choice = Literal["yes", "no", ""]


class RoundForm(BaseModel):
    """What an organiser asks for. `choice` is a benchmark's number, the kind, and the version of the corpus."""

    choice: Line
    turns: int = Field(ge=1, le=rounds.MOST_TURNS)
    seats: int = Field(ge=1, le=rounds.MOST_SEATS)
    top: int = Field(ge=1, le=20)
    seed: int = Field(ge=0, le=2**31 - 1)


class ItemForm(BaseModel):
    """A judge's answers to one item; what is not answered is empty."""

    human_like: Choice = ""
    correct: Choice = ""
    appropriate: Choice = ""


@router.get("")
def show_rounds(request: Request, user: SignedIn, db: Db) -> Response:
    """All rounds, those that wait for judges first."""
    query = select(JudgingRound).options(joinedload(JudgingRound.benchmark)).order_by(JudgingRound.id.desc())
    found = sorted(db.scalars(query), key=lambda one: one.closed_at is not None)
    mine = set(db.scalars(select(JudgingSeat.round_id).where(JudgingSeat.user_id == user.id)))
    taken = _counted(db, JudgingSeat.round_id)
    items = _counted(db, JudgingItem.round_id)
    values: dict[str, Any] = {"rounds": found, "mine": mine, "taken": taken, "items": items}
    return render(request, "judging/rounds.html.j2", user, **values)


def _counted(db: Session, column: Any) -> dict[int, int]:
    return {row[0]: row[1] for row in db.execute(select(column, func.count()).group_by(column))}


@router.get("/new")
def show_new(request: Request, user: Organiser, db: Db) -> Response:
    """The form for a round."""
    made = [one for one in list_benchmarks(db) if one.state == DONE]
    entered = {one.id for one in made if rounds.top_submissions(db, one, 1)}
    values: dict[str, Any] = {"benchmarks": made, "entered": entered, "plan": rounds.RoundPlan()}
    return render(request, "judging/new.html.j2", user, **values)


@router.post("/new")
def make_round(request: Request, user: Organiser, db: Db, form: Annotated[RoundForm, Form()]) -> Response:
    """Draw a round."""
    limits.count(db, f"round:{user.id}", rounds.NEW_ROUNDS)
    number, kind, variant = (*form.choice.split(" ", 2), "", "")[:3]
    benchmark = db.get(Benchmark, int(number)) if number.isdecimal() and len(number) < 10 else None
    if benchmark is None or benchmark.state != DONE or kind not in ("systems", "data"):
        raise HTTPException(404)
    chosen_kind: Kind = "data" if kind == "data" else "systems"
    plan = rounds.RoundPlan(chosen_kind, form.turns, seed=form.seed, seats=form.seats, variant=variant)
    chosen = rounds.top_submissions(db, benchmark, form.top) if kind == "systems" else []
    made = rounds.start_round(db, get_settings(request), get_files(request), benchmark, plan, chosen)
    made.created_by = user.id
    record(db, user, "judging.start", str(made.id), benchmark=benchmark.slug)
    return redirect(f"/judging/{made.id}", "The round is there. Judges can take their seats.")


@router.get("/{round_id}")
def show_round(request: Request, user: Visitor, db: Db, round_id: Id) -> Response:
    """A round: its verdict for everybody once it is closed; before that, how far it is for those who take part."""
    found = rounds.find_round(db, round_id)
    if not found.closed_at and not (user and (user.has(Role.JUDGE) or user.has(Role.ORGANISER))):
        raise HTTPException(404)
    seat = rounds.seat_of(db, found, user) if user else None
    places = rounds.places_of(db, found, seat) if seat else []
    wanted = {name for item in found.items for name in item.questions}
    asked = {name: one for name, one in questions(rounds.kind_of(found)).items() if name in wanted}
    values: dict[str, Any] = {
        "round": found,
        "seat": seat,
        "done": sum(place.is_done for place in places),
        "next": rounds.next_unanswered(places),
        "items": len(found.items),
        "answers": sum(len(item.questions) for item in found.items) if user and user.has(Role.ORGANISER) else 0,
        "progress": rounds.progress(db, found),
        "verdict": verdict_of(found),
        "names": rounds.subject_names(db, found) if found.closed_at else {},
        "asked": asked,
        "number": PAGE,
    }
    return render(request, "judging/round.html.j2", user, **values)


@router.post("/{round_id}/seat")
def take_seat(user: Judge, db: Db, round_id: Id) -> Response:
    """Sit down to judge."""
    found = rounds.find_round(db, round_id)
    place = rounds.next_unanswered(rounds.places_of(db, found, rounds.take_seat(db, found, user)))
    return redirect(f"/judging/{round_id}/{place.number}" if place else f"/judging/{round_id}")


@router.post("/{round_id}/free")
def free_seat(user: Organiser, db: Db, round_id: Id, seat: Annotated[int, Form(ge=1, le=100)]) -> Response:
    """Take a seat from a judge."""
    rounds.free_seat(db, rounds.find_round(db, round_id), seat, user)
    return redirect(f"/judging/{round_id}", "The seat is free.")


@router.post("/{round_id}/close")
def close_round(user: Organiser, db: Db, round_id: Id) -> Response:
    """Count the votes."""
    rounds.close_round(db, rounds.find_round(db, round_id), user)
    return redirect(f"/judging/{round_id}", "The round is closed.")


@router.post("/{round_id}/clear")
def clear_answers(user: Judge, db: Db, round_id: Id) -> Response:
    """Forget all answers of one's own."""
    found, seat = rounds.require_seat(db, round_id, user)
    rounds.clear_answers(db, found, seat)
    return redirect(f"/judging/{round_id}", "Your answers are cleared.")


@router.get("/{round_id}/{number}")
def show_item(request: Request, user: Judge, db: Db, round_id: Id, number: Number) -> Response:
    """One item, with what this judge has said of it."""
    found, seat = rounds.require_seat(db, round_id, user)
    places = rounds.places_of(db, found, seat)
    if number > len(places):
        raise HTTPException(404)
    coming = rounds.next_unanswered(places, number)
    values: dict[str, Any] = {
        "round": found,
        "place": places[number - 1],
        "total": len(places),
        "done": sum(place.is_done for place in places),
        "coming": coming if coming and coming.number != number else None,
        "asked": questions(rounds.kind_of(found)),
    }
    return render(request, "judging/item.html.j2", user, **values)


@router.post("/{round_id}/{number}")
def answer_item(user: Judge, db: Db, round_id: Id, number: Number, form: Annotated[ItemForm, Form()]) -> Response:
    """Keep the answers, and go on to the next item without one; a question that is left open is cleared."""
    found, seat = rounds.require_seat(db, round_id, user)
    places = rounds.places_of(db, found, seat)
    if number > len(places):
        raise HTTPException(404)
    given = form.model_dump()
    asked = {name: None if not given[name] else given[name] == "yes" for name in places[number - 1].item.questions}
    rounds.give_answers(db, places[number - 1], seat, asked)
    coming = rounds.next_unanswered(rounds.places_of(db, found, seat), number)
    if coming is None:
        return redirect(f"/judging/{round_id}", "Everything is answered. You can still change answers.")
    return redirect(f"/judging/{round_id}/{coming.number}")
