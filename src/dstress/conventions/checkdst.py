"""CheckDST's comparison of belief states."""

from __future__ import annotations

from dstress.conventions.base import Convention

_READ_AS = {"centre": "center"} | {f"{stars}-star": str(stars) for stars in range(6)}


class CheckDst(Convention):
    """Equality letter by letter; `centre` is `center` and `3-star` is `3`, in any slot and on both sides."""

    name = "checkdst"

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_READ_AS.get(value, value) for value in values)

    def predicted(self, slot: str, value: str) -> str | None:
        return _READ_AS.get(value, value)
