"""Where a system answers, and what judges and systems said to each other."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Systems have no address until their teams say one."""
    op.add_column("systems", sa.Column("address", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "conversations",
        sa.Column("item_id", sa.Integer, sa.ForeignKey("judging_items.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("turns", sa.JSON, nullable=False),
    )


def downgrade() -> None:
    """Take both away."""
    op.drop_table("conversations")
    op.drop_column("systems", "address")
