"""Plain equality: the yardstick that the scripts' conventions are compared with."""

from __future__ import annotations

from dstress.conventions.base import Convention


class Exact(Convention):
    """Equality with any accepted gold value, after lower case and single spaces. Nothing else is forgiven."""

    name = "exact"

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_plain(value) for value in values))

    def predicted(self, slot: str, value: str) -> str | None:
        return _plain(value)


def _plain(value: str) -> str:
    return " ".join(value.lower().split())
