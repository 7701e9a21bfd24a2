"""Rounds of human evaluation over a benchmark: drawn and blinded, judged by a few people each for themselves, closed.

A judge takes a seat of a round and judges every item of it, in an order of their own. Their answers are theirs: nobody
sees them before the round is closed, and then only in the majorities. Items show what the gold says: whoever competes
on the benchmark gets no seat and sees none, and whoever has had a seat cannot compete.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

import msgspec
from pydantic import BaseModel, Field
from sqlalchemy import String, cast, delete, func, or_, select
from sqlalchemy.orm import Session

from dstress.errors import DstressError, unknown
from dstress.leaderboard.benchmarks.answers import lead_back, read_answers
from dstress.leaderboard.benchmarks.board import load_board
from dstress.leaderboard.benchmarks.package import Package
from dstress.leaderboard.benchmarks.service import open_package, require, require_right
from dstress.leaderboard.database import upsert_into
from dstress.leaderboard.files import Files
from dstress.leaderboard.judging.conversation import ask_system, draw_goals
from dstress.leaderboard.tables import (
    DONE,
    AuditEntry,
    Benchmark,
    Conversation,
    JudgingAnswer,
    JudgingItem,
    JudgingRound,
    JudgingSeat,
    JudgingSubject,
    Membership,
    NotAllowed,
    NotThere,
    Submission,
    System,
    User,
    now,
    record,
)
from dstress.leaderboard.web import limits
from dstress.leaderboard.web.fields import Line
from dstress.leaderboard.web.limits import Limit
from dstress.llm.post import Unanswered
from dstress.runs.suites.base import ORIGINAL
from dstress.studies.human_check.questions import Kind, questions
from dstress.studies.human_check.sheets import Item, choose_variants, draw_items, find_variants
from dstress.studies.human_check.systems import Outcome, draw_outcomes
from dstress.studies.human_check.verdict import Sheet, judge

_NEW_ROUNDS = Limit(20, 3600)
"""How many an organiser may draw in an hour."""
_SEAT_TAKEN = "judging.seat"
_HISTORY = 2
"""Turns before the one that is judged."""
MOST_TURNS, LONGEST_UTTERANCE = 40, 500
"""Of a conversation, and letters of what a judge says in a turn of it."""
_UTTERANCES = Limit(600, 3600)
"""How much a judge may say in an hour."""
_WITH_SYSTEMS = ("systems", "conversations")


class RoundSize(BaseModel):
    """How much is judged. CoCo had 100 turns and three judges (Li et al. 2021, section 5.3)."""

    turns: int = Field(default=100, ge=1, le=500)
    seats: int = Field(default=3, ge=1, le=9)
    top: int = Field(default=3, ge=1, le=20)
    """Of systems: how many of those that lead the benchmark's first board."""
    seed: int = Field(default=1, ge=0, le=2**31 - 1)


class RoundPlan(RoundSize):
    """What a round is drawn from."""

    kind: Kind = "systems"
    variant: Line = ORIGINAL
    """The version of the corpus: of systems, the one that they answered; of data, the stressor beside the original."""


def start_round(db: Session, files: Files, benchmark: Benchmark, plan: RoundPlan, by: User) -> JudgingRound:
    """Draw a round. Reading answers takes a while, and no transaction is held meanwhile."""
    require_right(by, benchmark)  # its items show what the gold says
    limits.count(db, f"round:{by.id}", _NEW_ROUNDS)
    if benchmark.state != DONE:
        raise NotThere("there is no such benchmark")
    if plan.variant not in benchmark.summary.get("variants", ()):
        raise unknown("version of the corpus", plan.variant, benchmark.summary.get("variants", ()))
    submissions = top_submissions(db, benchmark, plan.top) if plan.kind in _WITH_SYSTEMS else []
    if plan.kind in _WITH_SYSTEMS and not submissions:
        raise DstressError("there is no system to judge", fix="a round is for systems that are on the leaderboard")
    if plan.kind == "conversations":
        submissions = [submission for submission in submissions if submission.system.address]
        if not submissions:
            fix = "a team says on the page of its system where it answers"
            raise DstressError("no system on the leaderboard has an address at which it can be talked to", fix=fix)
    db.commit()
    package, spoken = open_package(files, benchmark.id), plan.kind == "conversations"
    if spoken:
        items = _draw_conversations(package, submissions, plan)
    else:
        items = _draw_data(package, plan) if plan.kind == "data" else _draw_systems(package, files, submissions, plan)
    if not items:
        raise DstressError("no turn can be judged", fix="draw from another version of the corpus")
    for number, item in enumerate(items, start=1):
        item.number = number
    ids = {str(submission.id): submission.id for submission in submissions}
    labels = dict.fromkeys(label for item in items for label in item.subjects)
    made = JudgingRound(
        benchmark_id=benchmark.id,
        title=f"{benchmark.title}: {plan.kind}{'' if spoken else f' on {plan.variant}'}"[:200],
        kind=plan.kind,
        plan=plan.model_dump(),
        seats=plan.seats,
        created_by=by.id,
        items=items,
        subjects=[JudgingSubject(label=label, submission_id=ids.get(label)) for label in labels],
    )
    db.add(made)
    db.flush()
    record(db, by, "judging.start", str(made.id), benchmark=benchmark.slug)
    return made


def _draw_systems(
    package: Package, files: Files, submissions: Iterable[Submission], plan: RoundPlan
) -> list[JudgingItem]:
    answers = {}
    for submission in submissions:
        with files.local(submission.file) as path:
            read = read_answers(package, path, submission.format)
        answers[str(submission.id)] = {
            (answer.dialogue, answer.turn): answer for answer in lead_back(package, read, plan.variant)
        }
    dialogues = package.gold.variant(plan.variant).dialogues()
    drawn = draw_outcomes(dialogues, answers, plan.turns, plan.seed, _HISTORY)
    return [_item(outcome, outcome.questions, systems) for outcome, systems in drawn]


def _draw_data(package: Package, plan: RoundPlan) -> list[JudgingItem]:
    """Turns as they are and under a stressor: CoCo's own evaluation."""
    variants = choose_variants(find_variants(package.gold.path), [plan.variant] if plan.variant != ORIGINAL else [])
    items = draw_items(variants, plan.turns, plan.seed, _HISTORY)
    return [_item(item, questions("data"), [item.variant]) for item in items]


def _draw_conversations(package: Package, submissions: Iterable[Submission], plan: RoundPlan) -> list[JudgingItem]:
    """Every system for each goal."""
    original = package.gold.variant(ORIGINAL)
    goals = draw_goals(original.dialogues(), package.gold.database, plan.turns, plan.seed)
    return [
        JudgingItem(
            shown={"goal": goal}, questions=list(questions("conversations")), subjects=[str(submission.id)], place={}
        )
        for goal in goals
        for submission in submissions
    ]


def _item(turn: Outcome | Item, asked: Iterable[str], subjects: Iterable[str]) -> JudgingItem:
    shown = {name: getattr(turn, name, "") for name in ("history", "system", "user", "goal", "response")}
    place = {"dialogue": turn.dialogue, "turn": turn.turn}
    return JudgingItem(shown=shown, questions=list(asked), subjects=list(subjects), place=place)


def top_submissions(db: Session, benchmark: Benchmark, top: int) -> list[Submission]:
    """The systems that lead the benchmark's first board."""
    standings = load_board(db, benchmark).standings[:top]
    return [db.get_one(Submission, standing.row.entry.key) for standing in standings]


def has_address(db: Session, benchmark: Benchmark) -> bool:
    """Whether a system on the leaderboard can be talked to."""
    published = (Submission.published_at.is_not(None), Submission.withdrawn_at.is_(None))
    query = select(System.id).join(Submission).where(System.benchmark_id == benchmark.id, *published)
    return db.scalar(query.where(System.address != "").limit(1)) is not None


def require_seat(db: Session, round_id: int, user: User) -> JudgingSeat:
    """The person's seat in a round, or a refusal."""
    seat = seat_of(db, require(db, JudgingRound, round_id), user)
    if seat is None:
        raise NotAllowed("take a seat in the round first")
    _require_outsider(db, seat.round, user)  # who had none when they sat down may have joined a team since
    return seat


def seat_of(db: Session, round_: JudgingRound, user: User) -> JudgingSeat | None:
    """A person's seat in a round."""
    return db.scalar(select(JudgingSeat).where(JudgingSeat.round_id == round_.id, JudgingSeat.user_id == user.id))


def take_seat(db: Session, round_: JudgingRound, user: User) -> JudgingSeat:
    """Give a judge a free seat; the one they have, if they have one."""
    db.refresh(round_.benchmark, with_for_update=True)  # one at a time, with submissions too
    _require_outsider(db, round_, user)
    if seat := seat_of(db, round_, user):
        return seat
    _require_open(round_)
    taken = set(db.scalars(select(JudgingSeat.seat).where(JudgingSeat.round_id == round_.id)))
    free = {*range(1, round_.seats + 1)} - taken
    if not free:
        raise DstressError("all seats of this round are taken", fix="wait for another round")
    seat = JudgingSeat(round=round_, seat=min(free), user_id=user.id)
    db.add(seat)
    record(db, user, _SEAT_TAKEN, str(round_.id))
    return seat


def _require_outsider(db: Session, round_: JudgingRound, user: User) -> None:
    """Refuse whoever competes: in a team that has a system, or by having submitted for one that they have left."""
    own = select(Membership.team_id).where(Membership.user_id == user.id)
    competes = or_(System.team_id.in_(own), Submission.submitted_by == user.id)
    entered = select(System.id).outerjoin(Submission).where(System.benchmark_id == round_.benchmark_id, competes)
    if db.scalar(entered.limit(1)) is not None:
        raise DstressError(
            "you or your team has a system on this benchmark", fix="judges are people who do not compete"
        )


def has_judged(db: Session, benchmark: Benchmark, team_id: int) -> bool:
    """Whether a member of a team has ever had a seat over a benchmark; the log keeps those that were freed."""
    members = select(Membership.user_id).where(Membership.team_id == team_id)
    # With the time, since SQLite gives a deleted round's number again.
    is_seat = (AuditEntry.target == cast(JudgingRound.id, String)) & (AuditEntry.at >= JudgingRound.created_at)
    seats = select(AuditEntry.id).join(JudgingRound, is_seat).where(JudgingRound.benchmark_id == benchmark.id)
    seats = seats.where(AuditEntry.action == _SEAT_TAKEN, AuditEntry.user_id.in_(members))
    return db.scalar(seats.limit(1)) is not None


def free_seat(db: Session, round_: JudgingRound, number: int, by: User) -> None:
    """Take a seat from a judge who does not go on; what they answered goes too."""
    _require_open(round_)
    seat = db.get(JudgingSeat, (round_.id, number))
    if seat:
        clear_answers(db, seat)
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


def places_of(db: Session, seat: JudgingSeat) -> list[Place]:
    """All items of a round in the order of a seat, with what its judge has said so far."""
    items = list(seat.round.items)
    Random(f"{seat.round_id} {seat.seat}").shuffle(items)
    answers: dict[int, dict[str, bool]] = {item.id: {} for item in items}
    for row in db.scalars(select(JudgingAnswer).where(JudgingAnswer.user_id == seat.user_id)):
        if row.item_id in answers:  # the person may judge in other rounds too
            answers[row.item_id][row.question] = row.answer
    return [Place(number, item, answers[item.id]) for number, item in enumerate(items, start=1)]


def require_place(db: Session, seat: JudgingSeat, number: int) -> Place:
    """One of a seat's items."""
    places = places_of(db, seat)
    if number > len(places):
        raise NotThere
    return places[number - 1]


def next_unanswered(places: Sequence[Place], after: int = 0) -> Place | None:
    """The next item that lacks an answer, from the one after a number on and round to it again."""
    return next((place for place in (*places[after:], *places[:after]) if not place.is_done), None)


def conversation_of(db: Session, seat: JudgingSeat, place: Place) -> Conversation | None:
    """What a judge and the system of an item have said so far."""
    return db.get(Conversation, (place.item.id, seat.user_id))


def say(db: Session, files: Files, seat: JudgingSeat, place: Place, text: str, allowed: Sequence[str]) -> Conversation:
    """Say something to the system of an item, and keep what it answers, or that it does not.

    An answer takes a while, and no transaction is held meanwhile.
    """
    _require_open(seat.round)
    if seat.round.kind != "conversations":
        raise DstressError("nobody answers in this round", fix="it is of turns, which are read and judged")
    text = " ".join(text.split())
    if not text or len(text) > LONGEST_UTTERANCE:
        raise DstressError("say something", fix=f"in no more than {LONGEST_UTTERANCE} letters")
    limits.count(db, f"say:{seat.user_id}", _UTTERANCES)
    key = (place.item.id, seat.user_id)
    if conversation_of(db, seat, place) is None:
        db.add(Conversation(item_id=key[0], user_id=key[1], name=f"d{secrets.token_hex(8)}", turns=[]))
        db.flush()
    conversation = db.get_one(Conversation, key)
    before, name = list(conversation.turns), conversation.name
    if len(before) >= MOST_TURNS:
        raise DstressError(f"a conversation has at most {MOST_TURNS} turns", fix="judge it as it is")
    (subject,) = place.item.subjects
    submission, benchmark_id = db.get(Submission, int(subject)), seat.round.benchmark_id
    address = submission.system.address if submission else ""
    db.commit()

    turn = {"user": text, "system": "", "failed": ""}
    try:
        if not address:
            raise Unanswered("unreachable")
        schema = open_package(files, benchmark_id).gold.variant(ORIGINAL).schema
        said = [(each["user"], each["system"]) for each in before]
        turn["system"] = ask_system(address, schema, name, said, text, allowed)
    except Unanswered as problem:  # its kind alone: the details may tell of the server's own network
        turn["failed"] = problem.category

    conversation = db.get_one(Conversation, key, with_for_update=True, populate_existing=True)
    if len(conversation.turns) != len(before):
        raise DstressError("you said something else meanwhile", fix="look at the conversation, and go on")
    conversation.turns = [*before, turn]
    return conversation


def start_again(db: Session, seat: JudgingSeat, place: Place) -> None:
    """Forget the conversation of an item, and what was said of it."""
    give_answers(db, seat, place, dict.fromkeys(place.item.questions))
    db.execute(delete(Conversation).where(Conversation.item_id == place.item.id, Conversation.user_id == seat.user_id))


def give_answers(db: Session, seat: JudgingSeat, place: Place, answers: Mapping[str, bool | None]) -> None:
    """Keep a judge's answers to an item; None clears one."""
    _require_open(seat.round)
    is_answer = any(answer is not None for answer in answers.values())
    if seat.round.kind == "conversations" and is_answer and not conversation_of(db, seat, place):
        raise DstressError("nothing was said yet", fix="talk to the system first, then judge it")
    for question, answer in answers.items():
        if question not in place.item.questions:
            raise unknown("question", question, place.item.questions)
        key = {"item_id": place.item.id, "user_id": seat.user_id, "question": question}
        if answer is None:
            db.execute(delete(JudgingAnswer).filter_by(**key))
            continue
        row = upsert_into(db, JudgingAnswer).values(**key, answer=answer, answered_at=now())
        db.execute(row.on_conflict_do_update(index_elements=list(key), set_={"answer": answer, "answered_at": now()}))


def clear_answers(db: Session, seat: JudgingSeat) -> None:
    """Forget all that a judge said in a round."""
    _require_open(seat.round)
    items = select(JudgingItem.id).where(JudgingItem.round_id == seat.round_id)
    for table in (JudgingAnswer, Conversation):
        db.execute(delete(table).where(table.user_id == seat.user_id, table.item_id.in_(items)))


def _require_open(round_: JudgingRound) -> None:
    if round_.closed_at:
        raise DstressError("this round is closed", fix="its result is on its page")


def progress(db: Session, round_: JudgingRound) -> dict[int, int]:
    """How many answers each seat has given."""
    own = (JudgingAnswer.item_id == JudgingItem.id) & (JudgingAnswer.user_id == JudgingSeat.user_id)
    query = select(JudgingSeat.seat, func.count(JudgingAnswer.item_id))
    query = query.join(JudgingItem, JudgingItem.round_id == JudgingSeat.round_id).outerjoin(JudgingAnswer, own)
    counts = db.execute(query.where(JudgingSeat.round_id == round_.id).group_by(JudgingSeat.seat))
    return {row[0]: row[1] for row in counts}


def close_round(db: Session, round_: JudgingRound, by: User) -> None:
    """Close a round for good: majorities, intervals and agreement. Judges are numbered, not named."""
    _require_open(round_)
    by_question: dict[str, dict[str, list[str]]] = {name: {} for name in questions(round_.kind)}
    for item in round_.items:
        for question in item.questions:
            for subject in item.subjects:
                by_question[question].setdefault(subject, []).append(str(item.id))
    sheets: dict[str, Sheet] = {}
    for seat in db.scalars(select(JudgingSeat).where(JudgingSeat.round_id == round_.id).order_by(JudgingSeat.seat)):
        places = places_of(db, seat)
        sheets[f"judge {seat.seat}"] = {str(place.item.id): place.answers for place in places if place.answers}
    if not any(sheets.values()):
        raise DstressError("nobody has judged anything yet", fix="close the round when its judges are done")
    verdict = judge(sheets, {name: subjects for name, subjects in by_question.items() if subjects})
    round_.verdict, round_.closed_at = msgspec.to_builtins(verdict), now()
    record(db, by, "judging.close", str(round_.id))


def subject_names(db: Session, round_: JudgingRound) -> dict[str, str]:
    """What a closed round calls each subject; systems of one name have their submission's number too."""
    names = {subject.label: subject.label for subject in round_.subjects}
    submitted = [subject for subject in round_.subjects if subject.submission_id]
    for subject in submitted:
        submission = db.get_one(Submission, subject.submission_id)
        is_shown = submission.published_at and not submission.withdrawn_at
        names[subject.label] = submission.system.name if is_shown else "a system that is not published"
    uses = Counter(names.values())
    for subject in submitted:
        if uses[names[subject.label]] > 1:
            names[subject.label] += f" (submission {subject.submission_id})"
    return names
