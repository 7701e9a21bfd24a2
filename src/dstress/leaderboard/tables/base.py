"""What every table shares: the declarative base, times in UTC, and names for constraints that migrations can use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from sqlalchemy import DateTime, Dialect, MetaData, String, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, mapped_column


def now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)


class UtcTime(TypeDecorator[datetime]):
    """A time with its zone, also in SQLite, which forgets zones."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """The base of every table."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: UtcTime}  # noqa: RUF012 - SQLAlchemy reads it as it is


Key = Annotated[int, mapped_column(primary_key=True)]
"""A table's own number for a row."""
Line = Annotated[str, mapped_column(String(200))]
"""A name or an address: one line that a person typed."""
Digest = Annotated[str, mapped_column(String(64), unique=True)]
"""The SHA-256 of a secret, which is all that is kept of it."""
