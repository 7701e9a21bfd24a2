"""Human evaluation: rounds, a judge's items one at a time, and the verdict."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast, get_args

from fastapi import APIRouter, Form, Request
from pydantic import BaseModel
from sqlalchemy import func, select
from sqlalchemy.orm import joinedload
from starlette.responses import Response

from dstress.leaderboard.benchmarks.board import verdict_of
from dstress.leaderboard.benchmarks.service import list_benchmarks, may_change, require
from dstress.leaderboard.judging import service
from dstress.leaderboard.judging.api import CONVERSATION_SLOT, Number, Utterance, private_hosts
from dstress.leaderboard.judging.service import RoundPlan, RoundSize, require_seat
from dstress.leaderboard.tables import DONE, Benchmark, JudgingItem, JudgingRound, JudgingSeat, NotThere, Role
from dstress.leaderboard.web.access import Db, Id, Judge, Organiser, SignedIn, Stored, Visitor
from dstress.leaderboard.web.fields import Line
from dstress.leaderboard.web.rendering import redirect, render
from dstress.studies.human_check.questions import Kind, questions

router = APIRouter(prefix="/judging")
Choice = Literal["yes", "no", ""]


class RoundForm(RoundSize):
    """What an organiser asks for. `choice` is a benchmark's number, the kind, and the version of the corpus."""

    choice: Line


class ItemForm(BaseModel):
    """A judge's answers to one item; what is not answered is empty."""

    human_like: Choice = ""
    correct: Choice = ""
    appropriate: Choice = ""
    success: Choice = ""
    appropriate_talk: Choice = ""


@router.get("")
def show_rounds(request: Request, user: SignedIn, db: Db) -> Response:
    """All rounds, those that wait for judges first."""
    query = select(JudgingRound).options(joinedload(JudgingRound.benchmark)).order_by(JudgingRound.id.desc())
    values: dict[str, Any] = {
        name: {row[0]: row[1] for row in db.execute(select(column, func.count()).group_by(column))}
        for name, column in (("taken", JudgingSeat.round_id), ("items", JudgingItem.round_id))
    }
    values |= {
        "rounds": sorted(db.scalars(query), key=lambda round_: round_.closed_at is not None),
        "mine": set(db.scalars(select(JudgingSeat.round_id).where(JudgingSeat.user_id == user.id))),
    }
    return render(request, "judging/rounds.html.j2", user, **values)


@router.get("/new")
def show_new(request: Request, user: Organiser, db: Db) -> Response:
    """The form for a round."""
    benchmarks = [
        benchmark for benchmark in list_benchmarks(db) if benchmark.state == DONE and may_change(user, benchmark)
    ]
    entered = {benchmark.id for benchmark in benchmarks if service.top_submissions(db, benchmark, 1)}
    spoken = {benchmark.id for benchmark in benchmarks if service.has_address(db, benchmark)}
    values: dict[str, Any] = {"benchmarks": benchmarks, "entered": entered, "spoken": spoken, "plan": RoundSize()}
    return render(request, "judging/new.html.j2", user, **values)


@router.post("/new")
def make_round(user: Organiser, db: Db, files: Stored, form: Annotated[RoundForm, Form()]) -> Response:
    """Draw a round."""
    number, kind, variant = (*form.choice.split(" ", 2), "", "")[:3]
    benchmark = db.get(Benchmark, int(number)) if number.isdecimal() and len(number) < 10 else None
    if benchmark is None or kind not in get_args(Kind):
        raise NotThere
    plan = RoundPlan(kind=cast(Kind, kind), variant=variant, **form.model_dump(exclude={"choice"}))
    round_ = service.start_round(db, files, benchmark, plan, user)
    return redirect(f"/judging/{round_.id}", "The round is there. Judges can take their seats.")


@router.get("/{round_id}")
def show_round(request: Request, user: Visitor, db: Db, round_id: Id) -> Response:
    """A round: its verdict for everybody once it is closed; before that, how far it is for those who take part."""
    round_ = require(db, JudgingRound, round_id)
    if not round_.closed_at and not (user and (user.has(Role.JUDGE) or user.has(Role.ORGANISER))):
        raise NotThere
    is_mine = may_change(user, round_.benchmark)
    seat = service.seat_of(db, round_, user) if user else None
    places = service.places_of(db, seat) if seat else []
    asked = {name for item in round_.items for name in item.questions}
    values: dict[str, Any] = {
        "round": round_,
        "is_mine": is_mine,
        "seat": seat,
        "done": sum(place.is_done for place in places),
        "next": service.next_unanswered(places),
        "items": len(round_.items),
        "answers": sum(len(item.questions) for item in round_.items) if is_mine else 0,
        "progress": service.progress(db, round_),
        "verdict": verdict_of(round_),
        "names": service.subject_names(db, round_) if round_.closed_at else {},
        "asked": {name: question for name, question in questions(round_.kind).items() if name in asked},
    }
    return render(request, "judging/round.html.j2", user, **values)


@router.post("/{round_id}/seat")
def take_seat(user: Judge, db: Db, round_id: Id) -> Response:
    """Sit down to judge."""
    round_ = require(db, JudgingRound, round_id)
    place = service.next_unanswered(service.places_of(db, service.take_seat(db, round_, user)))
    return redirect(f"/judging/{round_id}/{place.number}" if place else f"/judging/{round_id}")


@router.post("/{round_id}/free")
def free_seat(user: Organiser, db: Db, round_id: Id, seat: Annotated[int, Form(ge=1, le=100)]) -> Response:
    """Take a seat from a judge."""
    service.free_seat(db, require(db, JudgingRound, round_id, user), seat, user)
    return redirect(f"/judging/{round_id}", "The seat is free.")


@router.post("/{round_id}/close")
def close_round(user: Organiser, db: Db, round_id: Id) -> Response:
    """Count the votes."""
    service.close_round(db, require(db, JudgingRound, round_id, user), user)
    return redirect(f"/judging/{round_id}", "The round is closed.")


@router.post("/{round_id}/clear")
def clear_answers(user: Judge, db: Db, round_id: Id) -> Response:
    """Forget all answers of one's own."""
    service.clear_answers(db, require_seat(db, round_id, user))
    return redirect(f"/judging/{round_id}", "Your answers are cleared.")


@router.get("/{round_id}/{number}")
def show_item(request: Request, user: Judge, db: Db, round_id: Id, number: Number) -> Response:
    """One item, with what this judge has said of it."""
    seat = require_seat(db, round_id, user)
    places = service.places_of(db, seat)
    if number > len(places):
        raise NotThere
    coming = service.next_unanswered(places, number)
    values: dict[str, Any] = {
        "round": seat.round,
        "place": places[number - 1],
        "total": len(places),
        "done": sum(place.is_done for place in places),
        "coming": coming if coming and coming.number != number else None,
        "asked": questions(seat.round.kind),
        "conversation": service.conversation_of(db, seat, places[number - 1]),
        "longest": service.LONGEST_UTTERANCE,
        "most": service.MOST_TURNS,
    }
    return render(request, "judging/item.html.j2", user, **values)


@router.post("/{round_id}/{number}")
def answer_item(user: Judge, db: Db, round_id: Id, number: Number, form: Annotated[ItemForm, Form()]) -> Response:
    """Keep the answers, and go on to the next item without one; a question that is left open is cleared."""
    seat = require_seat(db, round_id, user)
    place, choices = service.require_place(db, seat, number), form.model_dump()
    answers = {name: None if not choices[name] else choices[name] == "yes" for name in place.item.questions}
    service.give_answers(db, seat, place, answers)
    coming = service.next_unanswered(service.places_of(db, seat), number)
    if coming is None:
        return redirect(f"/judging/{round_id}", "Everything is answered. You can still change answers.")
    return redirect(f"/judging/{round_id}/{coming.number}")


@router.post("/{round_id}/{number}/say", dependencies=[CONVERSATION_SLOT])
def say(
    request: Request,
    user: Judge,
    db: Db,
    files: Stored,
    round_id: Id,
    number: Number,
    form: Annotated[Utterance, Form()],
) -> Response:
    """Say something to the system of an item, and show what it answers."""
    seat = require_seat(db, round_id, user)
    service.say(db, files, seat, service.require_place(db, seat, number), form.text, private_hosts(request))
    return redirect(f"/judging/{round_id}/{number}#say")


@router.post("/{round_id}/{number}/again")
def start_again(user: Judge, db: Db, round_id: Id, number: Number) -> Response:
    """Forget a conversation and begin it anew."""
    seat = require_seat(db, round_id, user)
    service.start_again(db, seat, service.require_place(db, seat, number))
    return redirect(f"/judging/{round_id}/{number}")
