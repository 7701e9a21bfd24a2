"""Words that no recogniser may give, since nobody wants them in a corpus by accident."""

from __future__ import annotations

from functools import cache

from dstress.text.tables import read_table


@cache
def excluded_prefixes() -> tuple[str, ...]:
    """What such words begin with."""
    return tuple(read_table(__package__, "unheard.toml")["unheard"])
