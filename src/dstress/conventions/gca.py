"""The comparison of the FGA and GCA repositories: sets of (slot, value) as they are written."""

from __future__ import annotations

from dstress.conventions.base import Convention
from dstress.conventions.labels import NO_VALUE


class Gca(Convention):
    """Equality letter by letter; `none` is no value, on either side."""

    name = "gca"

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return () if values[:1] == (NO_VALUE,) else values

    def predicted(self, slot: str, value: str) -> str | None:
        return None if value == NO_VALUE else value
