"""People, teams, and what lets them in: sessions, tokens, invitations; beside them the audit log and rate limits."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from dstress.leaderboard.tables.base import Base, Digest, Key, Line, now


class Role(StrEnum):
    """What a person may do. Everybody is a member; an admin may do everything."""

    ADMIN = "admin"
    ORGANISER = "organiser"
    MEMBER = "member"
    JUDGE = "judge"
    WORKER = "worker"


class User(Base):
    """A person. A deleted one keeps the row, without name, address or password, so that results keep their maker."""

    __tablename__ = "users"

    id: Mapped[Key]
    email: Mapped[str | None] = mapped_column(String(254), unique=True)
    """In lower case; None once the account is deleted."""
    name: Mapped[Line]
    password_hash: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]
    disabled_at: Mapped[datetime | None]

    granted: Mapped[list[UserRole]] = relationship(cascade="all, delete-orphan", lazy="selectin")
    memberships: Mapped[list[Membership]] = relationship(back_populates="user", cascade="all, delete-orphan")

    @property
    def roles(self) -> frozenset[Role]:
        """The roles, `member` always among them."""
        return frozenset({Role.MEMBER, *(Role(row.role) for row in self.granted)})

    def has(self, role: Role) -> bool:
        """Whether the person may do what a role may."""
        return role in self.roles or Role.ADMIN in self.roles


class UserRole(Base):
    """A role that a person was given."""

    __tablename__ = "user_roles"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    role: Mapped[str] = mapped_column(String(20), primary_key=True)


class Team(Base):
    """Who submits: one person or several under one name."""

    __tablename__ = "teams"

    id: Mapped[Key]
    name: Mapped[str] = mapped_column(String(200), unique=True)
    slug: Mapped[str] = mapped_column(String(100), unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)

    memberships: Mapped[list[Membership]] = relationship(back_populates="team", cascade="all, delete-orphan")


class Membership(Base):
    """A person in a team; an owner invites and removes others."""

    __tablename__ = "memberships"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True, index=True)
    is_owner: Mapped[bool] = mapped_column(default=False)
    joined_at: Mapped[datetime] = mapped_column(default=now)

    user: Mapped[User] = relationship(back_populates="memberships")
    team: Mapped[Team] = relationship(back_populates="memberships")


class Invitation(Base):
    """A link that lets one person sign up, take on a role, or join a team; good once."""

    __tablename__ = "invitations"

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

    __tablename__ = "password_resets"

    id: Mapped[Key]
    digest: Mapped[Digest]
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class Token(Base):
    """A personal token for programs, shown once and kept as a hash."""

    __tablename__ = "tokens"

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

    __tablename__ = "web_sessions"

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


class RateLimit(Base):
    """How often something was done in the window that began at a time."""

    __tablename__ = "rate_limits"

    key: Mapped[str] = mapped_column(String(120), primary_key=True)
    window: Mapped[int] = mapped_column(primary_key=True)
    count: Mapped[int]
