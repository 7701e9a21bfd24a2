"""Benchmarks, systems, submissions and results."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "benchmarks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("slug", sa.String(100), nullable=False, unique=True),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("plan", sa.JSON, nullable=False),
        sa.Column("summary", sa.JSON, nullable=False),
        sa.Column("view", sa.String(100), nullable=False),
        sa.Column("daily_limit", sa.Integer, nullable=False),
        sa.Column("deadline", sa.DateTime),
        sa.Column("created_by", sa.Integer, sa.ForeignKey("users.id", ondelete="SET NULL")),
        sa.Column("created_at", sa.DateTime, nullable=False),
        *_work(),
    )
    op.create_table(
        "systems",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("benchmark_id", sa.Integer, sa.ForeignKey("benchmarks.id", ondelete="CASCADE"), nullable=False),
        sa.Column("team_id", sa.Integer, sa.ForeignKey("teams.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.UniqueConstraint("benchmark_id", "team_id", "name"),
    )
    op.create_table(
        "submissions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("system_id", sa.Integer, sa.ForeignKey("systems.id", ondelete="CASCADE"), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("submitted_by", sa.Integer, sa.ForeignKey("users.id", ondelete="SET NULL")),
        sa.Column("created_at", sa.DateTime, nullable=False, index=True),
        sa.Column("file", sa.String(200), nullable=False),
        sa.Column("file_name", sa.String(200), nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("format", sa.String(40), nullable=False),
        sa.Column("notes", sa.JSON, nullable=False),
        sa.Column("fingerprint", sa.LargeBinary, nullable=False),
        sa.Column("published_at", sa.DateTime),
        sa.Column("withdrawn_at", sa.DateTime),
        *_work(),
        sa.UniqueConstraint("system_id", "version"),
    )
    submission = sa.ForeignKey("submissions.id", ondelete="CASCADE")
    op.create_table(
        "results",
        sa.Column("submission_id", sa.Integer, submission, primary_key=True),
        sa.Column("results", sa.LargeBinary, nullable=False),
        sa.Column("statistics", sa.LargeBinary, nullable=False),
        sa.Column("version", sa.String(40), nullable=False),
        sa.Column("worker", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
    )


def _work() -> list[sa.Column[object]]:
    return [
        sa.Column("state", sa.String(20), nullable=False, index=True),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("lease", sa.String(64)),
        sa.Column("leased_until", sa.DateTime),
        sa.Column("finished_at", sa.DateTime),
        sa.Column("problem", sa.Text, nullable=False),
    ]


def downgrade() -> None:
    """Take the tables away."""
    for name in ("results", "submissions", "systems", "benchmarks"):
        op.drop_table(name)
