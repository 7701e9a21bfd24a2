"""When a submission was published for the first time, and the plots of those that were."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """What is published now was first published then, and a worker draws its plots."""
    op.add_column("submissions", sa.Column("shown_at", sa.DateTime))
    op.execute("update submissions set shown_at = published_at")
    op.create_table(
        "plots",
        sa.Column("id", sa.Integer, sa.ForeignKey("submissions.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("drawings", sa.LargeBinary),
        sa.Column("state", sa.String(20), nullable=False, index=True),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("lease", sa.String(64)),
        sa.Column("leased_until", sa.DateTime),
        sa.Column("finished_at", sa.DateTime),
        sa.Column("problem", sa.Text, nullable=False),
    )
    op.execute(
        "insert into plots (id, state, attempts, problem) "
        "select id, 'waiting', 0, '' from submissions where published_at is not null"
    )


def downgrade() -> None:
    """Take both away."""
    op.drop_table("plots")
    op.drop_column("submissions", "shown_at")
