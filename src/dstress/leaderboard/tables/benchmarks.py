"""Benchmarks, systems, and what was handed in. A row that is to be worked on is its own place in the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from dstress.leaderboard.tables.accounts import Team, User
from dstress.leaderboard.tables.base import Base, Key, Line, now

WAITING, DONE, FAILED = "waiting", "done", "failed"
"""The states of work: accepted and not done yet, done once and for all, or given up."""
DELETED = "deleted"
"""A benchmark of which only the row is left: workers keep what they unpacked by its number, which no other may get."""


class Work:
    """The columns of a row that a worker does something with. Who holds the lease may finish it, and nobody else."""

    state: Mapped[str] = mapped_column(String(20), default=WAITING, index=True)
    attempts: Mapped[int] = mapped_column(default=0)
    lease: Mapped[str | None] = mapped_column(String(64))
    leased_until: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    problem: Mapped[str] = mapped_column(Text, default="")
    """Why it failed, for people to read."""


class Benchmark(Work, Base):
    """What systems are measured by. The gold lies in the files, and only a worker reads it."""

    __tablename__ = "benchmarks"

    id: Mapped[Key]
    slug: Mapped[str] = mapped_column(String(100), unique=True)
    title: Mapped[Line]
    about: Mapped[str] = mapped_column(Text, default="")
    plan: Mapped[dict[str, Any]] = mapped_column(JSON)
    """What it is made of: suite, corpus, seed, metrics, conventions."""
    summary: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    """What anybody may know of it: licence, counts, layouts, conventions, the suite's table."""
    view: Mapped[str] = mapped_column(String(100), default="")
    """The leaderboard that is shown first; empty: the suite's table if it has averages, else its first metric."""
    daily_limit: Mapped[int] = mapped_column(default=5)
    deadline: Mapped[datetime | None]
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[datetime] = mapped_column(default=now)

    systems: Mapped[list[System]] = relationship(back_populates="benchmark", cascade="all, delete-orphan")


class System(Base):
    """A tracker of a team on a benchmark; its submissions are its versions."""

    __tablename__ = "systems"
    __table_args__ = (UniqueConstraint("benchmark_id", "team_id", "name"),)

    id: Mapped[Key]
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id", ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
    name: Mapped[Line]
    about: Mapped[str] = mapped_column(Text, default="")
    created_at: Mapped[datetime] = mapped_column(default=now)

    benchmark: Mapped[Benchmark] = relationship(back_populates="systems")
    team: Mapped[Team] = relationship()
    submissions: Mapped[list[Submission]] = relationship(back_populates="system", cascade="all, delete-orphan")


class Submission(Work, Base):
    """One file of answers. Its numbers are the team's own until they are published."""

    __tablename__ = "submissions"
    __table_args__ = (UniqueConstraint("system_id", "version"),)

    id: Mapped[Key]
    system_id: Mapped[int] = mapped_column(ForeignKey("systems.id", ondelete="CASCADE"))
    version: Mapped[int]
    submitted_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[datetime] = mapped_column(default=now, index=True)
    file: Mapped[str] = mapped_column(String(200))
    """Where the answers lie among the files."""
    file_name: Mapped[Line]
    size: Mapped[int]
    format: Mapped[str] = mapped_column(String(40))
    notes: Mapped[list[str]] = mapped_column(JSON, default=list)
    fingerprint: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)
    """A number for each answer, by which near copies are known."""
    published_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]

    system: Mapped[System] = relationship(back_populates="submissions")
    sender: Mapped[User | None] = relationship()
    result: Mapped[StoredResult | None] = relationship(back_populates="submission", cascade="all, delete-orphan")


class StoredResult(Base):
    """What a submission has reached; its key is the submission's, so that there is never a second one."""

    __tablename__ = "results"

    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"), primary_key=True)
    results: Mapped[bytes] = mapped_column(LargeBinary)
    statistics: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)
    version: Mapped[str] = mapped_column(String(40))
    """The dstress that scored."""
    worker: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(default=now)

    submission: Mapped[Submission] = relationship(back_populates="result")
