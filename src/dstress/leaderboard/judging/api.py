"""Human evaluation for programs: rounds, one's own items and answers, verdicts."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Request
from pydantic import AliasPath, BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from dstress.leaderboard.benchmarks.board import verdict_of
from dstress.leaderboard.benchmarks.service import require, require_benchmark
from dstress.leaderboard.judging import service
from dstress.leaderboard.judging.service import RoundPlan, require_seat
from dstress.leaderboard.tables import JudgingRound, NotThere
from dstress.leaderboard.web.access import (
    Db,
    Id,
    Judge,
    Organiser,
    Places,
    SignedIn,
    Stored,
    Visitor,
    get_settings,
)
from dstress.leaderboard.web.fields import Line, Text

router = APIRouter(prefix="/judging/rounds", tags=["judging"])
Number = Annotated[int, Path(ge=1, le=100_000)]


class NewRound(RoundPlan):
    """A round to draw; `benchmark` is the name in its address."""

    benchmark: Line


class Round(BaseModel):
    """A round; its verdict once it is closed."""

    id: int
    title: str
    kind: str
    seats: int
    closed: bool
    verdict: dict[str, Any] | None = None


def facts_of(db: Session, round_: JudgingRound) -> Round:
    """A round as programs see it."""
    facts = Round(id=round_.id, title=round_.title, kind=round_.kind, seats=round_.seats, closed=bool(round_.closed_at))
    if verdict := verdict_of(round_):
        names = service.subject_names(db, round_)
        facts.verdict = {
            "subjects": {names.get(label, label): msgspec.to_builtins(of) for label, of in verdict.variants.items()},
            "agreement": verdict.agreement,
            "items": verdict.items,
            "missing": verdict.missing,
        }
    return facts


CONVERSATION_SLOT = Depends(Places(4), scope="function")
"""A system may take long to answer, and readers need threads too."""


def private_hosts(request: Request) -> list[str]:
    """The hosts with private addresses that the server's owner lets judges talk to."""
    names = get_settings(request).private_hosts.casefold().split(",")
    return [name.strip() for name in names if name.strip()]


class Item(BaseModel):
    """One turn as a judge sees it, with the judge's own answers: a `Place`."""

    model_config = ConfigDict(from_attributes=True)

    number: int
    shown: dict[str, str] = Field(validation_alias=AliasPath("item", "shown"))
    questions: list[str] = Field(validation_alias=AliasPath("item", "questions"))
    answers: dict[str, bool]


class Answers(BaseModel):
    """Yes, no, or null to clear; what is not given stays."""

    model_config = ConfigDict(extra="forbid")

    human_like: bool | None = None
    correct: bool | None = None
    appropriate: bool | None = None
    success: bool | None = None
    appropriate_talk: bool | None = None


@router.get("")
def list_rounds(user: SignedIn, db: Db) -> list[Round]:
    """All rounds, the newest first."""
    return [facts_of(db, round_) for round_ in db.scalars(select(JudgingRound).order_by(JudgingRound.id.desc()))]


@router.post("", status_code=201)
def make_round(user: Organiser, db: Db, files: Stored, form: NewRound) -> Round:
    """Draw a round."""
    return facts_of(db, service.start_round(db, files, require_benchmark(db, form.benchmark), form, user))


@router.get("/{round_id}")
def show_round(user: Visitor, db: Db, round_id: Id) -> Round:
    """A closed round with its verdict; an open one to whoever is signed in."""
    round_ = require(db, JudgingRound, round_id)
    if not round_.closed_at and user is None:
        raise NotThere
    return facts_of(db, round_)


@router.post("/{round_id}/close")
def close_round(user: Organiser, db: Db, round_id: Id) -> Round:
    """Count the votes."""
    round_ = require(db, JudgingRound, round_id, user)
    service.close_round(db, round_, user)
    return facts_of(db, round_)


@router.post("/{round_id}/seat")
def take_seat(user: Judge, db: Db, round_id: Id) -> dict[str, int]:
    """Sit down to judge; says which seat."""
    return {"seat": service.take_seat(db, require(db, JudgingRound, round_id), user).seat}


@router.get("/{round_id}/items")
def list_items(user: Judge, db: Db, round_id: Id) -> list[Item]:
    """All items in this judge's order, with this judge's answers."""
    return [Item.model_validate(place) for place in service.places_of(db, require_seat(db, round_id, user))]


@router.put("/{round_id}/items/{number}")
def answer_item(user: Judge, db: Db, round_id: Id, number: Number, answers: Answers) -> Item:
    """Answer, or clear an answer."""
    seat = require_seat(db, round_id, user)
    service.give_answers(db, seat, service.require_place(db, seat, number), answers.model_dump(exclude_unset=True))
    return Item.model_validate(service.require_place(db, seat, number))


class Utterance(BaseModel):
    """What a judge says to a system."""

    text: Text


@router.post("/{round_id}/items/{number}/say", dependencies=[CONVERSATION_SLOT])
def say(
    request: Request, user: Judge, db: Db, files: Stored, round_id: Id, number: Number, said: Utterance
) -> list[dict[str, str]]:
    """Say something to the system of an item; gives the conversation so far."""
    seat = require_seat(db, round_id, user)
    place = service.require_place(db, seat, number)
    return service.say(db, files, seat, place, said.text, private_hosts(request)).turns
