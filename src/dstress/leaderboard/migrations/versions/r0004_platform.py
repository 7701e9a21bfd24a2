"""The platform's tables before the first release: accounts, benchmarks, rounds of judging, collections."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables, each after those that it points to."""
    _make_accounts()
    _make_benchmarks()
    _make_rounds()
    _make_collections()


def _make_accounts() -> None:
    op.create_table(
        "users",
        _id(),
        _line("email", 254, nullable=True, unique=True),
        _line("name"),
        _line("password_hash", nullable=True),
        *_times("created_at"),
        *_times("deleted_at", "disabled_at", nullable=True),
    )
    op.create_table("user_roles", _to("users.id", primary_key=True), _line("role", 20, primary_key=True))
    op.create_table("teams", _id(), _line("name", unique=True), _line("slug", 100, unique=True), *_times("created_at"))
    keys = _to("users.id", primary_key=True), _to("teams.id", primary_key=True, index=True)
    op.create_table("memberships", *keys, *_columns(sa.Boolean, "is_owner"), *_times("joined_at"))
    op.create_table(
        "invitations",
        *_secret("expires_at"),
        _line("role", 20, nullable=True),
        _to("teams.id", nullable=True),
        _line("note"),
        _by("invited_by"),
        _by("used_by"),
        *_times("used_at", nullable=True),
    )
    used = _times("used_at", nullable=True)
    op.create_table("password_resets", *_secret("expires_at"), _to("users.id", index=True), *used)
    seen = _times("expires_at", "seen_at", "revoked_at", nullable=True)
    op.create_table("tokens", *_secret(), _to("users.id", index=True), _line("name"), _line("hint", 8), *seen)
    op.create_table(
        "web_sessions",
        *_secret("seen_at", "expires_at"),
        _to("users.id", index=True),
        _line("agent"),
        _line("address", 64),
    )
    op.create_table(
        "audit",
        _id(),
        *_times("at", index=True),
        _by("user_id", index=True),
        _line("action", 60),
        _line("target"),
        _line("address", 64),
        *_columns(sa.JSON, "details"),
    )
    op.create_table(
        "rate_limits",
        _line("key", 120, primary_key=True),
        *_columns(sa.Integer, "window", primary_key=True),
        *_columns(sa.Integer, "count"),
    )


def _make_benchmarks() -> None:
    op.create_table(
        "benchmarks",
        _id(),
        _line("slug", 100, unique=True),
        _line("title"),
        _line("view", 100),
        *_columns(sa.Text, "about"),
        *_columns(sa.JSON, "plan", "summary"),
        *_columns(sa.Integer, "daily_limit"),
        *_times("deadline", nullable=True),
        *_made(),
        *_work(),
    )
    op.create_table(
        "systems",
        _id(),
        _to("benchmarks.id"),
        _to("teams.id", index=True),
        _line("name"),
        *_columns(sa.Text, "about"),
        *_times("created_at"),
        sa.UniqueConstraint("benchmark_id", "team_id", "name"),
    )
    op.create_table(
        "submissions",
        _id(),
        _to("systems.id"),
        *_columns(sa.Integer, "version", "size"),
        _by("submitted_by"),
        *_times("created_at", index=True),
        *_times("published_at", "withdrawn_at", nullable=True),
        _line("file"),
        _line("file_name"),
        _line("format", 40),
        *_columns(sa.JSON, "notes"),
        *_columns(sa.LargeBinary, "fingerprint"),
        *_work(),
        sa.UniqueConstraint("system_id", "version"),
    )
    op.create_table(
        "results",
        _to("submissions.id", primary_key=True),
        *_columns(sa.LargeBinary, "results", "statistics"),
        _line("version", 40),
        _line("worker", 64),
        *_times("created_at"),
    )


def _make_rounds() -> None:
    op.create_table(
        "judging_rounds",
        _id(),
        _to("benchmarks.id", index=True),
        _line("title"),
        _line("kind", 20),
        *_columns(sa.JSON, "plan"),
        *_columns(sa.Integer, "seats"),
        *_made(),
        *_times("closed_at", nullable=True),
        *_columns(sa.JSON, "verdict", nullable=True),
    )
    op.create_table(
        "judging_subjects",
        _to("judging_rounds.id", "round_id", primary_key=True),
        _line("label", primary_key=True),
        _to("submissions.id", nullable=True, index=True),
    )
    op.create_table(
        "judging_items",
        _id(),
        _to("judging_rounds.id", "round_id"),
        *_columns(sa.Integer, "number"),
        *_columns(sa.JSON, "shown", "questions", "subjects", "place"),
        sa.UniqueConstraint("round_id", "number"),
    )
    op.create_table(
        "judging_seats",
        _to("judging_rounds.id", "round_id", primary_key=True),
        *_columns(sa.Integer, "seat", primary_key=True),
        _to("users.id", index=True),
        *_times("taken_at"),
        sa.UniqueConstraint("round_id", "user_id"),
    )
    op.create_table(
        "judging_answers",
        _to("judging_items.id", "item_id", primary_key=True),
        _to("users.id", primary_key=True, index=True),
        _line("question", 40, primary_key=True),
        *_columns(sa.Boolean, "answer"),
        *_times("answered_at"),
    )


def _make_collections() -> None:
    op.create_table(
        "collections",
        _id(),
        _line("title"),
        _line("kind", 20),
        _line("corpus"),
        *_columns(sa.Text, "licence"),
        *_columns(sa.JSON, "plan"),
        *_made(),
        *_times("closed_at", nullable=True),
    )
    op.create_table(
        "collection_tasks",
        _id(),
        _to("collections.id"),
        _line("key"),
        *_columns(sa.JSON, "content"),
        *_columns(sa.Integer, "wanted"),
        sa.UniqueConstraint("collection_id", "key"),
    )
    op.create_table(
        "assignments",
        _id(),
        _to("collection_tasks.id", "task_id"),
        *_columns(sa.Integer, "place"),
        _to("users.id", index=True),
        *_times("taken_at"),
        *_times("done_at", nullable=True),
        sa.UniqueConstraint("task_id", "place"),
        sa.UniqueConstraint("task_id", "user_id"),
    )
    op.create_table(
        "collected_answers",
        _id(),
        _to("assignments.id"),
        _to("users.id", index=True),
        _line("name"),
        *_columns(sa.Text, "text"),
        _line("state", 20, index=True),
        _by("vetted_by"),
        *_times("vetted_at", nullable=True),
        sa.UniqueConstraint("assignment_id", "name"),
    )


def _columns(kind: Any, *names: str, **options: Any) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, **{"nullable": False} | options) for name in names]


def _line(name: str, length: int = 200, **options: Any) -> sa.Column[Any]:
    return _columns(sa.String(length), name, **options)[0]


def _times(*names: str, **options: Any) -> list[sa.Column[Any]]:
    return _columns(sa.DateTime, *names, **options)


def _to(key: str, name: str = "", *, nullable: bool = False, **options: Any) -> sa.Column[Any]:
    """What belongs to a row, and goes with it: by default `user_id` to `users.id`."""
    points = sa.ForeignKey(key, ondelete="CASCADE")
    return sa.Column(name or key.replace("s.id", "_id"), sa.Integer, points, nullable=nullable, **options)


def _by(name: str, **options: Any) -> sa.Column[Any]:
    """Who did something; what was done stays when they go."""
    return sa.Column(name, sa.Integer, sa.ForeignKey("users.id", ondelete="SET NULL"), **options)


def _id() -> sa.Column[Any]:
    return sa.Column("id", sa.Integer, primary_key=True)


def _secret(*times: str) -> list[sa.Column[Any]]:
    return [_id(), _line("digest", 64, unique=True), *_times("created_at", *times)]


def _made() -> list[sa.Column[Any]]:
    return [_by("created_by"), *_times("created_at")]


def _work() -> list[sa.Column[Any]]:
    states = [_line("state", 20, index=True), _line("lease", 64, nullable=True)]
    times = _times("leased_until", "finished_at", nullable=True)
    return [*states, *times, *_columns(sa.Integer, "attempts"), *_columns(sa.Text, "problem")]


def downgrade() -> None:
    """Take them away."""
    tables = sa.MetaData()
    tables.reflect(op.get_bind(), only=lambda name, _: name != "alembic_version")
    tables.drop_all(op.get_bind())
