"""Rounds of human evaluation."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "judging_rounds",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("benchmark_id", sa.Integer, _to("benchmarks.id"), nullable=False, index=True),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("plan", sa.JSON, nullable=False),
        sa.Column("seats", sa.Integer, nullable=False),
        sa.Column("created_by", sa.Integer, sa.ForeignKey("users.id", ondelete="SET NULL")),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.Column("closed_at", sa.DateTime),
        sa.Column("verdict", sa.JSON),
    )
    op.create_table(
        "judging_subjects",
        sa.Column("round_id", sa.Integer, _to("judging_rounds.id"), primary_key=True),
        sa.Column("label", sa.String(200), primary_key=True),
        sa.Column("submission_id", sa.Integer, _to("submissions.id"), index=True),
    )
    op.create_table(
        "judging_items",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("round_id", sa.Integer, _to("judging_rounds.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("shown", sa.JSON, nullable=False),
        sa.Column("questions", sa.JSON, nullable=False),
        sa.Column("subjects", sa.JSON, nullable=False),
        sa.Column("place", sa.JSON, nullable=False),
        sa.UniqueConstraint("round_id", "number"),
    )
    op.create_table(
        "judging_seats",
        sa.Column("round_id", sa.Integer, _to("judging_rounds.id"), primary_key=True),
        sa.Column("seat", sa.Integer, primary_key=True),
        sa.Column("user_id", sa.Integer, _to("users.id"), nullable=False, index=True),
        sa.Column("taken_at", sa.DateTime, nullable=False),
        sa.UniqueConstraint("round_id", "user_id"),
    )
    op.create_table(
        "judging_answers",
        sa.Column("item_id", sa.Integer, _to("judging_items.id"), primary_key=True),
        sa.Column("user_id", sa.Integer, _to("users.id"), primary_key=True, index=True),
        sa.Column("question", sa.String(40), primary_key=True),
        sa.Column("answer", sa.Boolean, nullable=False),
        sa.Column("answered_at", sa.DateTime, nullable=False),
    )


def _to(column: str) -> sa.ForeignKey:
    return sa.ForeignKey(column, ondelete="CASCADE")


def downgrade() -> None:
    """Take the tables away."""
    for name in ("answers", "seats", "items", "subjects", "rounds"):
        op.drop_table(f"judging_{name}")
