"""The tables of the database, and the audit log that every change writes into.

They are in one module because they point to each other: a verdict to what was submitted, and all of it to people.
A change here needs a revision in `migrations/versions`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from sqlalchemy import (
    JSON,
    DateTime,
    Dialect,
    ForeignKey,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, declared_attr, mapped_column, relationship

from dstress.errors import DstressError
from dstress.studies.human_check.questions import Kind


class NotThere(DstressError):
    """A row that is not there, or is another's: whoever asks is told the same."""

    status = 404

    def __init__(self, problem: str = "There is no such page.") -> None:
        super().__init__(problem)


class NotAllowed(DstressError):
    """Something that only others may do."""

    status = 403


def now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)


class UtcTime(TypeDecorator[datetime]):
    """A time with its zone, also in SQLite, which forgets zones."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """The base of every table."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: UtcTime}  # noqa: RUF012 - SQLAlchemy reads it as it is

    @declared_attr.directive
    def __tablename__(cls) -> str:  # noqa: N805 - SQLAlchemy calls it with the class
        """The plural of the class's name: `user_roles` of `UserRole`."""
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        return name if name.endswith("s") else f"{name}s"


Key = Annotated[int, mapped_column(primary_key=True)]
"""A table's own number for a row."""
Line = Annotated[str, mapped_column(String(200))]
"""A name or an address: one line that a person typed."""
Digest = Annotated[str, mapped_column(String(64), unique=True)]
"""The SHA-256 of a secret, which is all that is kept of it."""


class Role(StrEnum):
    """What a person may do. Everybody is a member; an admin may do everything."""

    ADMIN = "admin"
    ORGANISER = "organiser"
    MEMBER = "member"
    JUDGE = "judge"
    WORKER = "worker"


class User(Base):
    """A person. A deleted one keeps the row, without name, address or password, so that results keep their maker."""

    id: Mapped[Key]
    email: Mapped[str | None] = mapped_column(String(254), unique=True)
    """In lower case; None once the account is deleted."""
    name: Mapped[Line]
    locale: Mapped[str] = mapped_column(String(20), default="")
    """The language that a person writes best, and where it is spoken: `en-GB`; empty where they have not said."""
    password_hash: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]
    disabled_at: Mapped[datetime | None]

    granted: Mapped[list[UserRole]] = relationship(cascade="all, delete-orphan", lazy="selectin")

    @property
    def roles(self) -> frozenset[Role]:
        """The roles, `member` always among them."""
        return frozenset({Role.MEMBER, *(Role(row.role) for row in self.granted)})

    def has(self, role: Role) -> bool:
        """Whether the person may do what a role may."""
        return role in self.roles or Role.ADMIN in self.roles


class UserRole(Base):
    """A role that a person was given."""

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    role: Mapped[str] = mapped_column(String(20), primary_key=True)


class Team(Base):
    """Who submits: one person or several under one name."""

    id: Mapped[Key]
    name: Mapped[str] = mapped_column(String(200), unique=True)
    slug: Mapped[str] = mapped_column(String(100), unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Membership(Base):
    """A person in a team; an owner invites and removes others."""

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True, index=True)
    is_owner: Mapped[bool] = mapped_column(default=False)
    joined_at: Mapped[datetime] = mapped_column(default=now)

    user: Mapped[User] = relationship()
    team: Mapped[Team] = relationship()


class Invitation(Base):
    """A link that lets one person sign up, take on a role, or join a team; good once."""

    id: Mapped[Key]
    digest: Mapped[Digest]
    role: Mapped[str | None] = mapped_column(String(20))
    team_id: Mapped[int | None] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    invited_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    note: Mapped[Line] = mapped_column(default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    used_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))


class PasswordReset(Base):
    """A link to set a new password; good once and for an hour."""

    id: Mapped[Key]
    digest: Mapped[Digest]
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class Token(Base):
    """A personal token for programs, shown once and kept as a hash."""

    id: Mapped[Key]
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[Line]
    digest: Mapped[Digest]
    hint: Mapped[str] = mapped_column(String(8))
    """Its last letters, by which a person knows it again."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime | None]
    seen_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]

    user: Mapped[User] = relationship()


class WebSession(Base):
    """A browser in which a person is signed in; the cookie holds the secret, this row its hash."""

    id: Mapped[Key]
    digest: Mapped[Digest]
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    agent: Mapped[Line] = mapped_column(default="")
    address: Mapped[str] = mapped_column(String(64), default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    seen_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]

    user: Mapped[User] = relationship()


class AuditEntry(Base):
    """Who did what, when, and from where. Rows are only ever added."""

    __tablename__ = "audit"

    id: Mapped[Key]
    at: Mapped[datetime] = mapped_column(default=now, index=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"), index=True)
    action: Mapped[str] = mapped_column(String(60))
    """A noun and a verb: `token.revoke`."""
    target: Mapped[Line] = mapped_column(default="")
    address: Mapped[str] = mapped_column(String(64), default="")
    details: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)


def record(db: Session, user: User | None, action: str, target: str = "", *, address: str = "", **details: Any) -> None:
    """Note an action such as `token.revoke`; it is kept if, and only if, what was done is."""
    entry = AuditEntry(user_id=user.id if user else None, action=action, target=target[:200], details=details)
    entry.address = address[:64]
    db.add(entry)


class RateLimit(Base):
    """How often something was done in the window that began at a time."""

    key: Mapped[str] = mapped_column(String(120), primary_key=True)
    window: Mapped[int] = mapped_column(primary_key=True)
    count: Mapped[int]


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

    @property
    def is_open(self) -> bool:
        """Whether answers are taken."""
        return self.state == DONE and (self.deadline is None or now() < self.deadline)


class System(Base):
    """A tracker of a team on a benchmark; its submissions are its versions."""

    __table_args__ = (UniqueConstraint("benchmark_id", "team_id", "name"),)

    id: Mapped[Key]
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id", ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
    name: Mapped[Line]
    about: Mapped[str] = mapped_column(Text, default="")
    address: Mapped[str] = mapped_column(Text, default="")
    """Where it answers, for judges who talk to it; only its team sees it."""
    created_at: Mapped[datetime] = mapped_column(default=now)

    benchmark: Mapped[Benchmark] = relationship()
    team: Mapped[Team] = relationship()


class Submission(Work, Base):
    """One file of answers. Its numbers are the team's own until they are published."""

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
    shown_at: Mapped[datetime | None]
    """When it was published for the first time: its team knows its exact numbers, also once it is hidden again."""
    withdrawn_at: Mapped[datetime | None]

    system: Mapped[System] = relationship()
    sender: Mapped[User | None] = relationship()
    result: Mapped[StoredResult | None] = relationship(cascade="all, delete-orphan")
    plots: Mapped[Plots | None] = relationship(cascade="all, delete-orphan")


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


class Plots(Work, Base):
    """The plots of a published submission's report. A worker draws them: that takes longer than a page may."""

    id: Mapped[int] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"), primary_key=True)
    drawings: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    """What `submissions.plots.draw_plots` made; None until then."""


class JudgingRound(Base):
    """Turns that a few people judge. `verdict` is there once the round is closed."""

    id: Mapped[Key]
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id", ondelete="CASCADE"), index=True)
    title: Mapped[Line]
    kind: Mapped[Kind] = mapped_column(String(20))
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


class JudgingSubject(Base):
    """What a round compares: gold, a submission, or a variant of the corpus. Judges do not learn it."""

    round_id: Mapped[int] = mapped_column(ForeignKey("judging_rounds.id", ondelete="CASCADE"), primary_key=True)
    label: Mapped[str] = mapped_column(String(200), primary_key=True)
    submission_id: Mapped[int | None] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"), index=True)


class JudgingItem(Base):
    """One turn as judges see it. `subjects` are the labels that it stands for, `place` is where it is from."""

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

    __table_args__ = (UniqueConstraint("round_id", "user_id"),)

    round_id: Mapped[int] = mapped_column(ForeignKey("judging_rounds.id", ondelete="CASCADE"), primary_key=True)
    seat: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    taken_at: Mapped[datetime] = mapped_column(default=now)

    round: Mapped[JudgingRound] = relationship()


class JudgingAnswer(Base):
    """What one judge says to one question about one item."""

    item_id: Mapped[int] = mapped_column(ForeignKey("judging_items.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True)
    question: Mapped[str] = mapped_column(String(40), primary_key=True)
    answer: Mapped[bool]
    answered_at: Mapped[datetime] = mapped_column(default=now)


class Conversation(Base):
    """What one judge and the system of an item said to each other."""

    item_id: Mapped[int] = mapped_column(ForeignKey("judging_items.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True)
    name: Mapped[str] = mapped_column(String(40))
    """The dialogue's id, by which a system knows it again."""
    turns: Mapped[list[dict[str, str]]] = mapped_column(JSON)
    """`user`, and `system` or why there is none, `failed`."""


PENDING, ACCEPTED, REJECTED = "pending", "accepted", "rejected"
"""What vetting says of an answer."""


class Collection(Base):
    """What is collected over a corpus: rewrites of its user turns, or paraphrases of its schema."""

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

    __table_args__ = (UniqueConstraint("collection_id", "key"),)

    id: Mapped[Key]
    collection_id: Mapped[int] = mapped_column(ForeignKey("collections.id", ondelete="CASCADE"))
    key: Mapped[Line]
    content: Mapped[dict[str, Any]] = mapped_column(JSON)
    wanted: Mapped[int] = mapped_column(default=1)

    collection: Mapped[Collection] = relationship(back_populates="tasks")


class Assignment(Base):
    """A task that a worker has taken. `place` is one of the task's `wanted` ones, so that never too many have it."""

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
