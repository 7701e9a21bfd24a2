"""Collections: tasks for workers, who has taken which, what they wrote, and what became of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from dstress.leaderboard.tables.base import Base, Key, Line, now

PENDING, ACCEPTED, REJECTED = "pending", "accepted", "rejected"
"""What vetting says of an answer."""


class Collection(Base):
    """What is collected over a corpus: rewrites of its user turns, or paraphrases of its schema."""

    __tablename__ = "collections"

    id: Mapped[Key]
    title: Mapped[Line]
    kind: Mapped[str] = mapped_column(String(20))
    """`rewrites` or `elements`."""
    corpus: Mapped[Line]
    licence: Mapped[str] = mapped_column(Text, default="")
    plan: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    closed_at: Mapped[datetime | None]

    tasks: Mapped[list[CollectionTask]] = relationship(
        back_populates="collection", cascade="all, delete-orphan", passive_deletes=True
    )


class CollectionTask(Base):
    """A piece of work for one person at a time; `wanted` people shall do it."""

    __tablename__ = "collection_tasks"
    __table_args__ = (UniqueConstraint("collection_id", "key"),)

    id: Mapped[Key]
    collection_id: Mapped[int] = mapped_column(ForeignKey("collections.id", ondelete="CASCADE"))
    key: Mapped[Line]
    content: Mapped[dict[str, Any]] = mapped_column(JSON)
    wanted: Mapped[int] = mapped_column(default=1)

    collection: Mapped[Collection] = relationship(back_populates="tasks")


class Assignment(Base):
    """A task that a worker has taken. `place` is one of the task's `wanted` ones, so that never too many have it."""

    __tablename__ = "assignments"
    __table_args__ = (UniqueConstraint("task_id", "place"), UniqueConstraint("task_id", "user_id"))

    id: Mapped[Key]
    task_id: Mapped[int] = mapped_column(ForeignKey("collection_tasks.id", ondelete="CASCADE"))
    place: Mapped[int]
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    taken_at: Mapped[datetime] = mapped_column(default=now)
    done_at: Mapped[datetime | None]

    task: Mapped[CollectionTask] = relationship()
    answers: Mapped[list[CollectedAnswer]] = relationship(
        back_populates="assignment", cascade="all, delete-orphan", passive_deletes=True
    )


class CollectedAnswer(Base):
    """One thing that a worker wrote, and whether it may be used."""

    __tablename__ = "collected_answers"
    __table_args__ = (UniqueConstraint("assignment_id", "name"),)

    id: Mapped[Key]
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[Line]
    """The kind of rewrite, or the schema's element."""
    text: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(20), default=PENDING, index=True)
    vetted_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    vetted_at: Mapped[datetime | None]

    assignment: Mapped[Assignment] = relationship(back_populates="answers")
