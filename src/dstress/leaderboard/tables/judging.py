"""Rounds of human evaluation: what is judged, by whom, and what each judge said."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from dstress.leaderboard.tables.base import Base, Key, Line, now
from dstress.leaderboard.tables.benchmarks import Benchmark


class JudgingRound(Base):
    """Turns that a few people judge. `verdict` is there once the round is closed."""

    __tablename__ = "judging_rounds"

    id: Mapped[Key]
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id", ondelete="CASCADE"), index=True)
    title: Mapped[Line]
    kind: Mapped[str] = mapped_column(String(20))
    """`systems` or `data`."""
    plan: Mapped[dict[str, Any]] = mapped_column(JSON)
    seats: Mapped[int]
    """How many people judge every item."""
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    closed_at: Mapped[datetime | None]
    verdict: Mapped[dict[str, Any] | None] = mapped_column(JSON)

    benchmark: Mapped[Benchmark] = relationship()
    items: Mapped[list[JudgingItem]] = relationship(
        cascade="all, delete-orphan", order_by="JudgingItem.number", passive_deletes=True
    )
    subjects: Mapped[list[JudgingSubject]] = relationship(cascade="all, delete-orphan", passive_deletes=True)
    judges: Mapped[list[JudgingSeat]] = relationship(
        cascade="all, delete-orphan", order_by="JudgingSeat.seat", passive_deletes=True
    )


class JudgingSubject(Base):
    """What a round compares: gold, a submission, or a variant of the corpus. Judges do not learn it."""

    __tablename__ = "judging_subjects"

    round_id: Mapped[int] = mapped_column(ForeignKey("judging_rounds.id", ondelete="CASCADE"), primary_key=True)
    label: Mapped[str] = mapped_column(String(200), primary_key=True)
    submission_id: Mapped[int | None] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"), index=True)


class JudgingItem(Base):
    """One turn as judges see it. `subjects` are the labels that it stands for, `place` is where it is from."""

    __tablename__ = "judging_items"
    __table_args__ = (UniqueConstraint("round_id", "number"),)

    id: Mapped[Key]
    round_id: Mapped[int] = mapped_column(ForeignKey("judging_rounds.id", ondelete="CASCADE"))
    number: Mapped[int]
    shown: Mapped[dict[str, str]] = mapped_column(JSON)
    questions: Mapped[list[str]] = mapped_column(JSON)
    subjects: Mapped[list[str]] = mapped_column(JSON)
    place: Mapped[dict[str, Any]] = mapped_column(JSON)


class JudgingSeat(Base):
    """A judge's place in a round: there are only so many, and nobody has two."""

    __tablename__ = "judging_seats"
    __table_args__ = (UniqueConstraint("round_id", "user_id"),)

    round_id: Mapped[int] = mapped_column(ForeignKey("judging_rounds.id", ondelete="CASCADE"), primary_key=True)
    seat: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    taken_at: Mapped[datetime] = mapped_column(default=now)


class JudgingAnswer(Base):
    """What one judge says to one question about one item."""

    __tablename__ = "judging_answers"

    item_id: Mapped[int] = mapped_column(ForeignKey("judging_items.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True)
    question: Mapped[str] = mapped_column(String(40), primary_key=True)
    answer: Mapped[bool]
    answered_at: Mapped[datetime] = mapped_column(default=now)
