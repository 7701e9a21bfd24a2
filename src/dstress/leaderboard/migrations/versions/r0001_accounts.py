"""People, teams, sessions, tokens, invitations, the audit log and the rate limits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "users",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("email", sa.String(254), unique=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("password_hash", sa.String(200)),
        _time("created_at"),
        _time("deleted_at", nullable=True),
        _time("disabled_at", nullable=True),
    )
    op.create_table("user_roles", _user(primary_key=True), sa.Column("role", sa.String(20), primary_key=True))
    op.create_table(
        "teams",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("slug", sa.String(100), nullable=False, unique=True),
        _time("created_at"),
    )
    team = sa.ForeignKey("teams.id", ondelete="CASCADE")
    op.create_table(
        "memberships",
        _user(primary_key=True),
        sa.Column("team_id", sa.Integer, team, primary_key=True, index=True),
        sa.Column("is_owner", sa.Boolean, nullable=False),
        _time("joined_at"),
    )
    _make_ways_in()
    _make_records()


def _make_ways_in() -> None:
    someone = "users.id"
    op.create_table(
        "invitations",
        *_secret(),
        sa.Column("role", sa.String(20)),
        sa.Column("team_id", sa.Integer, sa.ForeignKey("teams.id", ondelete="CASCADE")),
        sa.Column("invited_by", sa.Integer, sa.ForeignKey(someone, ondelete="SET NULL")),
        sa.Column("note", sa.String(200), nullable=False),
        _time("created_at"),
        _time("expires_at"),
        _time("used_at", nullable=True),
        sa.Column("used_by", sa.Integer, sa.ForeignKey(someone, ondelete="SET NULL")),
    )
    op.create_table(
        "password_resets",
        *_secret(),
        _user(index=True),
        _time("created_at"),
        _time("expires_at"),
        _time("used_at", nullable=True),
    )
    op.create_table(
        "tokens",
        *_secret(),
        _user(index=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("hint", sa.String(8), nullable=False),
        _time("created_at"),
        _time("expires_at", nullable=True),
        _time("seen_at", nullable=True),
        _time("revoked_at", nullable=True),
    )
    op.create_table(
        "web_sessions",
        *_secret(),
        _user(index=True),
        sa.Column("agent", sa.String(200), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        _time("created_at"),
        _time("seen_at"),
        _time("expires_at"),
    )


def _make_records() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.DateTime, nullable=False, index=True),
        sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id", ondelete="SET NULL"), index=True),
        sa.Column("action", sa.String(60), nullable=False),
        sa.Column("target", sa.String(200), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("details", sa.JSON, nullable=False),
    )
    op.create_table(
        "rate_limits",
        sa.Column("key", sa.String(120), primary_key=True),
        sa.Column("window", sa.Integer, primary_key=True),
        sa.Column("count", sa.Integer, nullable=False),
    )


def _time(name: str, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime, nullable=nullable)


def _secret() -> tuple[sa.Column[int], sa.Column[str]]:
    return sa.Column("id", sa.Integer, primary_key=True), sa.Column(
        "digest", sa.String(64), nullable=False, unique=True
    )


def _user(*, primary_key: bool = False, index: bool = False) -> sa.Column[int]:
    owner = sa.ForeignKey("users.id", ondelete="CASCADE")
    return sa.Column("user_id", sa.Integer, owner, primary_key=primary_key, index=index, nullable=False)


def downgrade() -> None:
    """Take them away."""
    for table in ("rate_limits", "audit", "web_sessions", "tokens", "password_resets", "invitations"):
        op.drop_table(table)
    for table in ("memberships", "teams", "user_roles", "users"):
        op.drop_table(table)
