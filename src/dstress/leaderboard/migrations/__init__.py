"""Alembic's place: how tables came to be what they are, a revision a file in `versions/`."""
