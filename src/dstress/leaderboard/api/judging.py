"""Human evaluation for programs: rounds, one's own items and answers, verdicts."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, HTTPException, Path, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from dstress.analysis.human_check.questions import Kind
from dstress.leaderboard import limits, rounds
from dstress.leaderboard.access import Db, Id, Judge, Organiser, SignedIn, Visitor, get_files, get_settings
from dstress.leaderboard.audit import record
from dstress.leaderboard.benchmark_store import find_benchmark
from dstress.leaderboard.fields import Line
from dstress.leaderboard.tables.benchmarks import DONE
from dstress.leaderboard.tables.judging import JudgingRound
from dstress.leaderboard.verdicts import verdict_of

router = APIRouter(prefix="/judging/rounds", tags=["judging"])
Number = Annotated[int, Path(ge=1, le=100_000)]


class NewRound(BaseModel):
    """A round to draw; `benchmark` is the name in its address."""

    benchmark: Line
    kind: Kind = "systems"
    variant: Line = "original"
    turns: int = Field(100, ge=1, le=rounds.MOST_TURNS)
    seats: int = Field(3, ge=1, le=rounds.MOST_SEATS)
    top: int = Field(3, ge=1, le=20)
    seed: int = Field(1, ge=0, le=2**31 - 1)


class Round(BaseModel):
    """A round; its verdict once it is closed."""

    id: int
    title: str
    kind: str
    seats: int
    closed: bool
    verdict: dict[str, Any] | None = None


class Item(BaseModel):
    """One turn as a judge sees it, with the judge's own answers."""

    number: int
    shown: dict[str, str]
    questions: list[str]
    answers: dict[str, bool]


class Answers(BaseModel):
    """Yes, no, or null to clear; what is not given stays."""

    model_config = ConfigDict(extra="forbid")

    human_like: bool | None = None
    correct: bool | None = None
    appropriate: bool | None = None


@router.get("")
def list_rounds(user: SignedIn, db: Db) -> list[Round]:
    """All rounds, the newest first."""
    return [_content(db, one) for one in db.scalars(select(JudgingRound).order_by(JudgingRound.id.desc()))]


@router.post("", status_code=201)
def make_round(request: Request, user: Organiser, db: Db, wanted: NewRound) -> Round:
    """Draw a round."""
    limits.count(db, f"round:{user.id}", rounds.NEW_ROUNDS)
    benchmark = find_benchmark(db, wanted.benchmark)
    if benchmark is None or benchmark.state != DONE:
        raise HTTPException(404, "there is no such benchmark")
    plan = rounds.RoundPlan(wanted.kind, wanted.turns, seed=wanted.seed, seats=wanted.seats, variant=wanted.variant)
    chosen = rounds.top_submissions(db, benchmark, wanted.top) if wanted.kind == "systems" else []
    made = rounds.start_round(db, get_settings(request), get_files(request), benchmark, plan, chosen)
    made.created_by = user.id
    record(db, user, "judging.start", str(made.id), benchmark=benchmark.slug)
    return _content(db, made)


@router.get("/{round_id}")
def show_round(user: Visitor, db: Db, round_id: Id) -> Round:
    """A closed round with its verdict; an open one to whoever is signed in."""
    found = rounds.find_round(db, round_id)
    if not found.closed_at and user is None:
        raise HTTPException(404)
    return _content(db, found)


@router.post("/{round_id}/close")
def close_round(user: Organiser, db: Db, round_id: Id) -> Round:
    """Count the votes."""
    found = rounds.find_round(db, round_id)
    rounds.close_round(db, found, user)
    return _content(db, found)


@router.post("/{round_id}/seat")
def take_seat(user: Judge, db: Db, round_id: Id) -> dict[str, int]:
    """Sit down to judge; says which seat."""
    return {"seat": rounds.take_seat(db, rounds.find_round(db, round_id), user).seat}


@router.get("/{round_id}/items")
def list_items(user: Judge, db: Db, round_id: Id) -> list[Item]:
    """All items in this judge's order, with this judge's answers."""
    found, seat = rounds.require_seat(db, round_id, user)
    return [_item(place) for place in rounds.places_of(db, found, seat)]


@router.put("/{round_id}/items/{number}")
def answer_item(user: Judge, db: Db, round_id: Id, number: Number, answers: Answers) -> Item:
    """Answer, or clear an answer."""
    found, seat = rounds.require_seat(db, round_id, user)
    places = rounds.places_of(db, found, seat)
    if number > len(places):
        raise HTTPException(404)
    rounds.give_answers(db, places[number - 1], seat, answers.model_dump(exclude_unset=True))
    return _item(rounds.places_of(db, found, seat)[number - 1])


def _item(place: rounds.Place) -> Item:
    item = place.item
    return Item(number=place.number, shown=item.shown, questions=item.questions, answers=place.answers)


def _content(db: Session, found: JudgingRound) -> Round:
    content = Round(id=found.id, title=found.title, kind=found.kind, seats=found.seats, closed=bool(found.closed_at))
    if verdict := verdict_of(found):
        names = rounds.subject_names(db, found)
        content.verdict = {
            "subjects": {names.get(label, label): msgspec.to_builtins(of) for label, of in verdict.variants.items()},
            "agreement": verdict.agreement,
            "items": verdict.items,
            "missing": verdict.missing,
        }
    return content
