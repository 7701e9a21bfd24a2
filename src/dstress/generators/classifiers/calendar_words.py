"""The words of `calendar.toml`."""

from __future__ import annotations

from functools import cache

from dstress.text.tables import read_table


@cache
def listed(name: str) -> tuple[str, ...]:
    """A list of the table: `weekdays`, `months`, `telling` or `relative`."""
    return tuple(read_table(__package__, "calendar.toml")[name])
