"""Collections, their tasks, and what workers wrote."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "collections",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("corpus", sa.String(200), nullable=False),
        sa.Column("licence", sa.Text, nullable=False),
        sa.Column("plan", sa.JSON, nullable=False),
        sa.Column("created_by", sa.Integer, sa.ForeignKey("users.id", ondelete="SET NULL")),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.Column("closed_at", sa.DateTime),
    )
    op.create_table(
        "collection_tasks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("collection_id", sa.Integer, _to("collections.id"), nullable=False),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("content", sa.JSON, nullable=False),
        sa.Column("wanted", sa.Integer, nullable=False),
        sa.UniqueConstraint("collection_id", "key"),
    )
    op.create_table(
        "assignments",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("task_id", sa.Integer, _to("collection_tasks.id"), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("user_id", sa.Integer, _to("users.id"), nullable=False, index=True),
        sa.Column("taken_at", sa.DateTime, nullable=False),
        sa.Column("done_at", sa.DateTime),
        sa.UniqueConstraint("task_id", "place"),
        sa.UniqueConstraint("task_id", "user_id"),
    )
    op.create_table(
        "collected_answers",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("assignment_id", sa.Integer, _to("assignments.id"), nullable=False),
        sa.Column("user_id", sa.Integer, _to("users.id"), nullable=False, index=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("state", sa.String(20), nullable=False, index=True),
        sa.Column("vetted_by", sa.Integer, sa.ForeignKey("users.id", ondelete="SET NULL")),
        sa.Column("vetted_at", sa.DateTime),
        sa.UniqueConstraint("assignment_id", "name"),
    )


def _to(column: str) -> sa.ForeignKey:
    return sa.ForeignKey(column, ondelete="CASCADE")


def downgrade() -> None:
    """Take the tables away."""
    for name in ("collected_answers", "assignments", "collection_tasks", "collections"):
        op.drop_table(name)
