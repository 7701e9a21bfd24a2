"""Where a system answers, what judges and systems said to each other, and the language that a worker writes best."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Systems have no address until their teams say one, and people no language until they do."""
    op.add_column("users", sa.Column("locale", sa.String(20), nullable=False, server_default=""))
    op.add_column("systems", sa.Column("address", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "conversations",
        sa.Column("item_id", sa.Integer, sa.ForeignKey("judging_items.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("turns", sa.JSON, nullable=False),
    )


def downgrade() -> None:
    """Take all of it away."""
    op.drop_column("users", "locale")
    op.drop_table("conversations")
    op.drop_column("systems", "address")
