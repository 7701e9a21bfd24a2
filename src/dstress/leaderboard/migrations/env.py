"""Run by Alembic: brings the connection that it was given to the revision that was asked for."""

from __future__ import annotations

from alembic import context

from dstress.leaderboard.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite alters a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
