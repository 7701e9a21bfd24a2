"""Rounds of human evaluation over a benchmark: drawn and blinded, judged by a few people each for themselves, closed.

A judge takes a seat of a round and judges every item of it, in an order of their own. Their answers are theirs: nobody
sees them before the round is closed, and then only in the majorities. A judge whose team competes on the benchmark gets
no seat, since items show what the gold says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import msgspec
from fastapi import HTTPException
from sqlalchemy import delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dstress.analysis.human_check.questions import Kind, questions
from dstress.analysis.human_check.sheets import choose_variants, draw_items, find_variants
from dstress.analysis.human_check.systems import draw_outcomes
from dstress.analysis.human_check.verdict import Sheet, Verdict, judge
from dstress.errors import DstressError, unknown
from dstress.leaderboard.audit import record
from dstress.leaderboard.benchmark_store import open_package
from dstress.leaderboard.benchmarks.answers import lead_back, read_answers
from dstress.leaderboard.benchmarks.package import Package
from dstress.leaderboard.boards import load_board
from dstress.leaderboard.files import Files
from dstress.leaderboard.limits import Limit
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables.accounts import Membership, User
from dstress.leaderboard.tables.base import now
from dstress.leaderboard.tables.benchmarks import Benchmark, Submission, System
from dstress.leaderboard.tables.judging import (
    JudgingAnswer,
    JudgingItem,
    JudgingRound,
    JudgingSeat,
    JudgingSubject,
)
from dstress.suites.base import ORIGINAL

MOST_TURNS, MOST_SEATS = 500, 9
NEW_ROUNDS = Limit(20, 3600)
"""How many an organiser may draw in an hour."""


class RoundPlan(msgspec.Struct, frozen=True):
    """What a round is drawn from. CoCo had 100 turns and three judges (Li et al. 2021, section 5.3)."""

    kind: Kind = "systems"
    turns: int = 100
    history: int = 2
    seed: int = 1
    seats: int = 3
    variant: str = ORIGINAL
    """The version of the corpus: of systems, the one that they answered; of data, the stressor beside the original."""


class _Drawn(NamedTuple):
    shown: dict[str, str]
    questions: Sequence[str]
    subjects: Sequence[str]
    place: dict[str, Any]


def start_round(
    db: Session,
    settings: Settings,
    files: Files,
    benchmark: Benchmark,
    plan: RoundPlan,
    submissions: Sequence[Submission],
) -> JudgingRound:
    """Draw a round. Reading answers takes a while, and no transaction is held meanwhile."""
    if not (1 <= plan.turns <= MOST_TURNS and 1 <= plan.seats <= MOST_SEATS):
        raise DstressError("too many to judge", fix=f"1 to {MOST_TURNS} turns, 1 to {MOST_SEATS} judges")
    if plan.variant not in benchmark.summary.get("variants", ()):
        raise unknown("version of the corpus", plan.variant, benchmark.summary.get("variants", ()))
    if plan.kind == "systems" and not submissions:
        raise DstressError("there is no system to judge", fix="a round is for systems that are on the leaderboard")
    db.commit()
    package = open_package(settings, files, benchmark.id)
    drawn = _draw_data(package, plan) if plan.kind == "data" else _draw_systems(package, files, submissions, plan)
    if not drawn:
        raise DstressError("no turn can be judged", fix="draw from another version of the corpus")
    made = JudgingRound(
        benchmark_id=benchmark.id,
        title=f"{benchmark.title}: {'systems' if plan.kind == 'systems' else 'data'} on {plan.variant}"[:200],
        kind=plan.kind,
        plan=msgspec.to_builtins(plan),
        seats=plan.seats,
    )
    ids = {str(one.id): one.id for one in submissions}
    labels = dict.fromkeys(label for one in drawn for label in one.subjects)
    made.subjects = [JudgingSubject(label=label, submission_id=ids.get(label)) for label in labels]
    made.items = [JudgingItem(number=number, **one._asdict()) for number, one in enumerate(drawn, start=1)]
    db.add(made)
    db.flush()
    return made


def _draw_systems(package: Package, files: Files, submissions: Iterable[Submission], plan: RoundPlan) -> list[_Drawn]:
    answers = {}
    for submission in submissions:
        with files.local(submission.file) as path:
            read = read_answers(package, path, submission.format)
        answers[str(submission.id)] = {
            (answer.dialogue, answer.turn): answer for answer in lead_back(package, read, plan.variant)
        }
    dialogues = package.gold.dialogues(plan.variant)
    drawn = draw_outcomes(dialogues, answers, plan.turns, plan.seed, plan.history)
    return [_drawn(msgspec.structs.asdict(outcome), outcome.questions, systems) for outcome, systems in drawn]


def _draw_data(package: Package, plan: RoundPlan) -> list[_Drawn]:
    """Turns as they are and under a stressor: CoCo's own evaluation."""
    variants = choose_variants(find_variants(package.gold.path), [plan.variant] if plan.variant != ORIGINAL else [])
    items = draw_items(variants, plan.turns, plan.seed, plan.history)
    return [_drawn(msgspec.structs.asdict(item), tuple(questions("data")), [item.variant]) for item in items]


def _drawn(fields: dict[str, Any], asked: Sequence[str], subjects: Sequence[str]) -> _Drawn:
    shown = {name: fields.get(name, "") for name in ("history", "system", "user", "goal", "response")}
    return _Drawn(shown, list(asked), list(subjects), {"dialogue": fields["dialogue"], "turn": fields["turn"]})


def top_submissions(db: Session, benchmark: Benchmark, top: int) -> list[Submission]:
    """The systems that lead the benchmark's first board."""
    standings = load_board(db, benchmark).standings[:top]
    return [db.get_one(Submission, standing.row.entry.key) for standing in standings]


def find_round(db: Session, round_id: int) -> JudgingRound:
    """A round, or a page that says there is none."""
    found = db.get(JudgingRound, round_id)
    if found is None:
        raise HTTPException(404)
    return found


def require_seat(db: Session, round_id: int, user: User) -> tuple[JudgingRound, JudgingSeat]:
    """A round and the person's seat in it, or a refusal."""
    found = find_round(db, round_id)
    seat = seat_of(db, found, user)
    if seat is None:
        raise HTTPException(403, "take a seat in the round first")
    return found, seat


def is_competing(db: Session, round_: JudgingRound, user: User) -> bool:
    """Whether a person's team has a system on the benchmark."""
    own = select(Membership.team_id).where(Membership.user_id == user.id)
    entered = select(System.id).where(System.benchmark_id == round_.benchmark_id, System.team_id.in_(own))
    return db.scalar(entered.limit(1)) is not None


def seat_of(db: Session, round_: JudgingRound, user: User) -> JudgingSeat | None:
    """A person's seat in a round."""
    return db.scalar(select(JudgingSeat).where(JudgingSeat.round_id == round_.id, JudgingSeat.user_id == user.id))


def take_seat(db: Session, round_: JudgingRound, user: User) -> JudgingSeat:
    """Give a judge a free seat; the one they have, if they have one."""
    if found := seat_of(db, round_, user):
        return found
    _require_open(round_)
    if is_competing(db, round_, user):
        raise DstressError("your team has a system on this benchmark", fix="judges are people who do not compete")
    taken = set(db.scalars(select(JudgingSeat.seat).where(JudgingSeat.round_id == round_.id)))
    for number in sorted({*range(1, round_.seats + 1)} - taken):
        seat = JudgingSeat(round_id=round_.id, seat=number, user_id=user.id)
        try:
            with db.begin_nested():
                db.add(seat)
        except IntegrityError:  # somebody was faster
            continue
        record(db, user, "judging.seat", str(round_.id))
        return seat
    raise DstressError("all seats of this round are taken", fix="wait for another round")


def free_seat(db: Session, round_: JudgingRound, number: int, by: User) -> None:
    """Take a seat from a judge who does not go on; what they answered goes too."""
    _require_open(round_)
    seat = db.get(JudgingSeat, (round_.id, number))
    if seat:
        clear_answers(db, round_, seat)
        db.delete(seat)
        record(db, by, "judging.free", str(round_.id), seat=number)


class Place(NamedTuple):
    """An item as one judge meets it: `number` counts in this judge's order, `answers` are this judge's."""

    number: int
    item: JudgingItem
    answers: dict[str, bool]

    @property
    def is_done(self) -> bool:
        """Whether every question is answered."""
        return all(question in self.answers for question in self.item.questions)


def places_of(db: Session, round_: JudgingRound, seat: JudgingSeat) -> list[Place]:
    """All items of a round in the order of a seat, with what its judge has said so far."""
    items = list(db.scalars(select(JudgingItem).where(JudgingItem.round_id == round_.id).order_by(JudgingItem.number)))
    Random(f"{round_.id} {seat.seat}").shuffle(items)
    known = {item.id for item in items}
    answers: dict[int, dict[str, bool]] = {}
    for one in db.scalars(select(JudgingAnswer).where(JudgingAnswer.user_id == seat.user_id)):
        if one.item_id in known:
            answers.setdefault(one.item_id, {})[one.question] = one.answer
    return [Place(number, item, answers.get(item.id, {})) for number, item in enumerate(items, start=1)]


def next_unanswered(places: Sequence[Place], after: int = 0) -> Place | None:
    """The next item that lacks an answer, from the one after a number on and round to it again."""
    return next((place for place in (*places[after:], *places[:after]) if not place.is_done), None)


def give_answers(db: Session, place: Place, seat: JudgingSeat, given: Mapping[str, bool | None]) -> None:
    """Keep a judge's answers to an item; None clears one."""
    _require_open(db.get_one(JudgingRound, seat.round_id))
    for question, answer in given.items():
        if question not in place.item.questions:
            raise unknown("question", question, place.item.questions)
        key = {"item_id": place.item.id, "user_id": seat.user_id, "question": question}
        if answer is None:
            db.execute(delete(JudgingAnswer).filter_by(**key))
            continue
        insert = postgresql.insert if db.get_bind().dialect.name == "postgresql" else sqlite.insert
        row = insert(JudgingAnswer).values(**key, answer=answer, answered_at=now())
        db.execute(row.on_conflict_do_update(index_elements=list(key), set_={"answer": answer, "answered_at": now()}))


def clear_answers(db: Session, round_: JudgingRound, seat: JudgingSeat) -> None:
    """Forget all that a judge said in a round."""
    _require_open(round_)
    items = select(JudgingItem.id).where(JudgingItem.round_id == round_.id)
    db.execute(delete(JudgingAnswer).where(JudgingAnswer.user_id == seat.user_id, JudgingAnswer.item_id.in_(items)))


def _require_open(round_: JudgingRound) -> None:
    if round_.closed_at:
        raise DstressError("this round is closed", fix="its result is on its page")


def progress(db: Session, round_: JudgingRound) -> dict[int, int]:
    """How many answers each seat has given."""
    query = (
        select(JudgingSeat.seat, func.count(JudgingAnswer.item_id))
        .join(JudgingItem, JudgingItem.round_id == JudgingSeat.round_id)
        .outerjoin(
            JudgingAnswer,
            (JudgingAnswer.item_id == JudgingItem.id) & (JudgingAnswer.user_id == JudgingSeat.user_id),
        )
        .where(JudgingSeat.round_id == round_.id)
        .group_by(JudgingSeat.seat)
    )
    return {row[0]: row[1] for row in db.execute(query)}


def close_round(db: Session, round_: JudgingRound, by: User) -> Verdict:
    """Close a round for good: majorities, intervals and agreement. Judges are numbered, not named."""
    _require_open(round_)
    items = list(db.scalars(select(JudgingItem).where(JudgingItem.round_id == round_.id)))
    asked: dict[str, dict[str, list[str]]] = {}
    for item in items:
        for question in item.questions:
            for subject in item.subjects:
                asked.setdefault(question, {}).setdefault(subject, []).append(str(item.id))
    sheets: dict[str, Sheet] = {}
    for seat in db.scalars(select(JudgingSeat).where(JudgingSeat.round_id == round_.id).order_by(JudgingSeat.seat)):
        places = places_of(db, round_, seat)
        sheets[f"judge {seat.seat}"] = {str(place.item.id): place.answers for place in places if place.answers}
    if not any(sheets.values()):
        raise DstressError("nobody has judged anything yet", fix="close the round when its judges are done")
    in_order = {name: asked[name] for name in questions(kind_of(round_)) if name in asked}
    verdict = judge(sheets, in_order)
    round_.verdict, round_.closed_at = msgspec.to_builtins(verdict), now()
    record(db, by, "judging.close", str(round_.id))
    return verdict


def kind_of(round_: JudgingRound) -> Kind:
    """What a round judges."""
    return "data" if round_.kind == "data" else "systems"


def subject_names(db: Session, round_: JudgingRound) -> dict[str, str]:
    """What a closed round's page calls each subject: a system that is no longer published goes by its number."""
    names = {subject.label: subject.label for subject in round_.subjects}
    for subject in round_.subjects:
        if subject.submission_id:
            submission = db.get_one(Submission, subject.submission_id)
            is_shown = submission.published_at and not submission.withdrawn_at
            names[subject.label] = submission.system.name if is_shown else "a system that is not published"
    return names
